"""`bgr ablate wording` from a checkpoint to its report, over a small Atlas."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bgr.cli import main
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import read_questions
from bgr.data.reasongraphqa.io.dataset import load_split, write_dataset
from bgr.errors import DataError
from eval.ablations.options import AblateWordingOptions
from eval.ablations.wording import WordingStudy, reworded
from eval.run.significance import Interval
from tests.bgr.data.atlas.conftest import world


@pytest.fixture(scope="module")
def atlas(build_once):
    """A folder as of `bgr atlas`."""
    from bgr.data.atlas.sampler.sampler import sample_questions

    def make(folder):
        records = world()
        sampled = list(sample_questions(KnowledgeBase(records), count=200, seed=3, progress=False))
        (folder / "kb.json").write_text(json.dumps(records))
        (folder / "train.json").write_text(json.dumps(sampled))
        fields = [{name: one[name] for name in ("program", "answer")} for one in sampled]
        (folder / "paraphrases.json").write_text(
            json.dumps(
                [
                    {**one, "question": f"Tell me, {n}?", "id": f"p{n}", "paraphrase_of": f"train-{n:06d}"}
                    for n, one in enumerate(fields)
                ]
            )
        )

    return build_once("small-atlas", make)


@pytest.fixture(scope="module")
def make_data(atlas, word_encoder, build_once):
    """``make_data("wording")``: a dataset of the small Atlas with that split."""

    def make(split):
        def write(folder):
            built = build(
                KnowledgeBase.load(atlas / "kb.json"),
                list(read_questions(atlas).questions),
                word_encoder,
                Settings(split=split, candidates_min=5, candidates=8, unanswerable=0.2),
            )
            write_dataset(folder / "data", built.splits, [], {})

        return build_once(f"small-atlas-{split}", write) / "data"

    return make


@pytest.fixture(scope="module")
def data(make_data):
    return make_data("wording")


@pytest.mark.workflow
def test_both_wordings_are_asked(small_checkpoint, atlas, data, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["--checkpoint", small_checkpoint, "--data", data, "--kqapro", atlas, "--limit", "12", "--out", out]
    assert main(["ablate", "wording", *map(str, words), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / "wording.json").read_text())
    assert list(printed["wordings"]) == ["new", "known", "difference"]
    new, known, difference = (row["F1"]["mean"] for row in printed["wordings"].values())
    assert difference == pytest.approx(known - new)
    assert printed["wordings"]["new"]["exact"]["mean"] is None
    assert printed["about"]["questions"] + printed["about"]["without_known_words"] == 12
    assert "| difference |" in (out / "wording.md").read_text()


def test_only_the_words_of_the_questions_change(small_checkpoint, atlas, data, tmp_path):
    options = AblateWordingOptions(checkpoint=small_checkpoint, data=data, kqapro=atlas, out=tmp_path / "out")
    pairs, total = reworded(options)
    examples = load_split(data, "test")
    paraphrases = [one for one in examples if one.id.startswith("p")]
    assert len(pairs) > 0.8 * (total - len(paraphrases)) > 8
    assert (total, len(paraphrases)) == (len(examples), len(examples) / 2)
    assert not {one.id for pair in pairs for one in pair} & {one.id for one in paraphrases}
    for new, known in pairs:
        assert new.question != known.question
        assert (new.facts, new.graph, new.id) == (known.facts, known.graph, known.id)


def test_a_sheet_worded_by_hand_is_asked_in_phrasings_of_its_atlas(small_checkpoint, atlas, make_data, tmp_path):
    asked = load_split(make_data("test"), "test")
    sheet = [replace(one, question=f"Pray, {n}?") for n, one in enumerate(asked)]
    write_dataset(tmp_path / "sheet", {"train": [], "dev": [], "test": sheet}, [], {})
    given = {"checkpoint": small_checkpoint, "kqapro": atlas, "out": tmp_path / "out"}
    pairs, total = reworded(AblateWordingOptions(data=tmp_path / "sheet", **given))
    assert total == len(sheet)
    assert len(pairs) > 0.8 * total
    assert all(new.question.startswith("Pray, ") and not known.question.startswith("Pray, ") for new, known in pairs)
    unknown = [replace(one, program=()) for one in sheet]
    write_dataset(tmp_path / "unknown", {"train": [], "dev": [], "test": unknown}, [], {})
    with pytest.raises(DataError, match="no question of test can be asked"):
        reworded(AblateWordingOptions(data=tmp_path / "unknown", **given))


def test_the_table_has_percent_and_no_number_without_a_reader():
    row = [Interval(0.5, 0.4, 0.6), Interval(0.75, 0.7, 0.8), Interval(np.nan, np.nan, np.nan)]
    table = WordingStudy({"new": row}, {}).table()
    assert [list(row) for row in table.rows] == [["new", "50.0 [40.0, 60.0]", "75.0 [70.0, 80.0]", "–"]]


@pytest.mark.workflow
def test_what_does_not_fit_is_one_line(small_checkpoint, atlas, data, make_data, toy_data, tmp_path, capsys):
    given = {"--checkpoint": small_checkpoint, "--data": data, "--kqapro": atlas}
    bare = tmp_path / "bare"
    bare.mkdir()
    records = json.loads((atlas / "train.json").read_text())
    (bare / "kb.json").symlink_to(atlas / "kb.json")
    (bare / "train.json").write_text(json.dumps([{**one, "phrasings": []} for one in records]))
    for wrong, message in (
        ({"--data": make_data("random")}, "test has no new phrasings, allowed: `bgr data build --split wording`"),
        ({"--data": toy_data}, "is not one of"),
        ({"--kqapro": bare}, "phrasings is missing or empty, allowed: questions of `bgr atlas`"),
        ({"--kqapro": tmp_path / "none"}, "none"),
        ({"--checkpoint": tmp_path / "none"}, "none"),
    ):
        words = [str(word) for pair in {**given, **wrong}.items() for word in pair]
        assert main(["ablate", "wording", *words, "--out", str(tmp_path / "out")]) == 1
        error = capsys.readouterr().err.strip()
        assert message in error.splitlines()[-1]
        assert not (tmp_path / "out").exists()
