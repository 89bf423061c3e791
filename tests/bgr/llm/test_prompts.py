"""Prompts of a temporary package: placeholders, and a hash that every edit changes."""

import importlib

import pytest

from bgr.llm.prompts import Prompts, prompts_hash
from eval.run.passage_answers import prompt as reader_prompt

PACKAGES = ("bgr.gear", "bgr.prism", "bgr.bridgerag", "bgr.llm_graph", "bgr.multihop")


@pytest.fixture
def toy(tmp_path, monkeypatch):
    folder = tmp_path / f"toy_{tmp_path.name}"  # imported packages stay: each test has its own
    (folder / "prompts").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "prompts" / "ask.md").write_text("Ask {{what}} of {{whom}}, {not this}.\n\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return folder


def test_places_are_filled_in_one_pass(toy):
    prompt = Prompts(toy.name)
    assert prompt("ask", what="{{whom}} \\1", whom="you") == "Ask {{whom}} \\1 of you, {not this}."
    with pytest.raises(KeyError, match="whom"):
        prompt("ask", what="it")


def test_every_edit_changes_the_hash(toy):
    file = toy / "prompts" / "ask.md"
    text, found = file.read_text(), [prompts_hash(toy.name)]
    file.write_text(text + "Now.")
    found.append(prompts_hash(toy.name))
    file.rename(file.with_name("tell.md"))
    found.append(prompts_hash(toy.name))
    (toy / "prompts" / "more.md").write_text("")
    found.append(prompts_hash(toy.name))
    found += [prompts_hash(), prompts_hash(toy.name, "bgr.gear")]
    assert len(set(found)) == len(found)
    assert prompts_hash("bgr.gear", toy.name) == found[-1]
    (toy / "prompts" / "more.md").unlink()
    file.with_name("tell.md").rename(file)
    file.write_text(text)
    assert prompts_hash(toy.name) == found[0]


def test_the_prompts_that_ask_again_count(toy, monkeypatch):
    before = prompts_hash("bgr.gear")
    monkeypatch.setattr("bgr.llm.prompts.AGAIN", toy.name)
    assert prompts_hash("bgr.gear") != before


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_have_hashes_of_their_own(package):
    assert len({prompts_hash(one) for one in PACKAGES}) == len(PACKAGES)
    assert prompts_hash(package) != prompts_hash()


def test_no_place_of_the_reader_s_prompt_is_left():
    text = reader_prompt("answer", passages="P", question="Q")
    assert "{{" not in text
    assert "$" not in text
    assert "Here are the passages:\n\nP\n\nQuestion: Q\n" in text
