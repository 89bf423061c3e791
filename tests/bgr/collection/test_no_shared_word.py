"""`bgr collection search` by words: texts without a word of the question are no hits."""

from __future__ import annotations

import json

import pytest

from bgr.cli import main
from bgr.collection.collection import Collection

TEXTS = ["Persona was made by Bergman.", "Bergman was born in Uppsala.", "An island."]


@pytest.fixture
def folder(tmp_path):
    return Collection.build(TEXTS, tmp_path / "index", encoder=None).folder


def test_only_texts_with_a_word_of_the_question(folder, capsys):
    assert main(["collection", "search", str(folder), "zzz", "Bergman", "--json"]) == 0
    out, error = capsys.readouterr()
    nothing, two = json.loads(out)
    assert (nothing["method"], nothing["passages"]) == ("bm25", [])
    assert [one["text"] for one in two["passages"]] == TEXTS[:2]
    assert error == "'zzz': no text shares a word with the question\n"
    assert main(["collection", "search", str(folder), "zzz"]) == 0
    assert capsys.readouterr().out == "zzz (bm25)\n"


@pytest.mark.parametrize("question", ["", "  \n"])
def test_a_blank_question_is_refused(folder, capsys, question):
    with pytest.raises(SystemExit, match="2"):
        main(["collection", "search", str(folder), "Bergman", question])
    assert "a question is empty" in capsys.readouterr().err
