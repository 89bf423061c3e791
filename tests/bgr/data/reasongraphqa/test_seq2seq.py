"""A verbalizer with a scripted model: selection, fallback to templates, counts and cache."""

from __future__ import annotations

import pytest

from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.construction.construct import Settings, build
from bgr.data.reasongraphqa.construction.questions import read_questions
from bgr.data.reasongraphqa.verbalize.seq2seq import Seq2seqVerbalizer
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer
from bgr.utils.cache import ChunkCache

RUNTIME = Fact("F2", "runtime", Value("quantity", 82, "minute"))
OTHER = Fact("F3", "runtime", Value("quantity", 83, "minute"))
DIRECTOR = Fact("F2", "director", None, "P0")


class Script:
    """Gives the scripted candidates of a line, else unfinished ones; records the lines of each call."""

    def __init__(self, **lines):
        self.calls = []
        self.lines = lines

    def __call__(self, lines):
        self.calls.append(list(lines))
        return [next((drawn for word, drawn in self.lines.items() if word in line), [None, None]) for line in lines]


def by_length(pairs):
    """A simple score: longer is better."""
    return [len(candidate) / 100 for candidate, _ in pairs]


def verbalizer(kb, script, folder=None, key=""):
    cache = ChunkCache(folder, "sentences") if folder else None
    return Seq2seqVerbalizer(Verbalizer(kb), script, by_length, cache=cache, key=key)


def test_the_score_decides_among_the_complete(kb):
    script = Script(
        runtime=[
            "The 2nd Winter runs 82 minutes",
            "The 2nd Winter runs for 82 minutes.",
            "The 2nd Winter, a long film.",
        ]
    )
    words = verbalizer(kb, script)
    assert words.sentence([RUNTIME]) == "The 2nd Winter runs for 82 minutes."
    assert words.counts([[RUNTIME]]) == {
        "units": 1,
        "by_the_model": 1,
        "by_templates": 0,
        "candidates": 3,
        "candidates_unfinished": 0,
        "candidates_incomplete": 1,
    }


def test_of_equal_scores_the_first_candidate_is_taken(kb):
    one, two = "The 2nd Winter runs 82 minutes!", "The 2nd Winter runs 82 minutes?"
    assert verbalizer(kb, Script(runtime=[one, two])).sentence([RUNTIME]) == one
    assert verbalizer(kb, Script(runtime=[two, one])).sentence([RUNTIME]) == two


def test_without_complete_candidates_the_template_is_used_and_counted(kb):
    words = verbalizer(kb, Script(runtime=["The 2nd Winter.", None]))
    assert words.sentence([RUNTIME]) == Verbalizer(kb).sentence([RUNTIME])
    counts = words.counts([[RUNTIME]])
    assert (counts["by_templates"], counts["candidates_unfinished"], counts["candidates_incomplete"]) == (1, 1, 1)


def test_prepared_units_are_verbalized_once_and_in_a_fixed_order(kb):
    scripts = Script(), Script()
    units = [[RUNTIME], [DIRECTOR], [OTHER], [RUNTIME, DIRECTOR]]
    for script, order in zip(scripts, (units, [*reversed(units), [RUNTIME]]), strict=True):
        words = verbalizer(kb, script)
        words.prepare(order)
        words.prepare(order)
        assert [words.sentence(unit) for unit in units] == [Verbalizer(kb).sentence(unit) for unit in units]
    assert scripts[0].calls == scripts[1].calls
    assert [len(call) for call in scripts[0].calls] == [4]


@pytest.mark.parametrize("facts", [[], [RUNTIME, OTHER], [RUNTIME] * 4])
def test_units_must_have_one_to_three_facts_of_one_head(kb, facts):
    with pytest.raises(ValueError, match="1 to 3 facts of one head"):
        verbalizer(kb, Script()).sentence(facts)


def test_the_cache_is_used_only_by_the_same_model(kb, tmp_path):
    said = "The 2nd Winter runs for 82 minutes."
    first = Script(runtime=[said])
    verbalizer(kb, first, tmp_path / "part", "a").prepare([[RUNTIME], [DIRECTOR]])
    for key, calls in (("a", 0), ("b", 1)):
        script = Script(runtime=["The 2nd Winter: 82 minutes."])
        words = verbalizer(kb, script, tmp_path / "part", key)
        words.prepare([[DIRECTOR], [RUNTIME]])
        assert len(script.calls) == calls
        assert (words.sentence([RUNTIME]) == said) == (key == "a")
        assert words.counts([[RUNTIME]])["by_the_model"] == 1


def test_a_damaged_chunk_is_verbalized_again_and_clear_removes_all(kb, tmp_path):
    folder = tmp_path / "part"
    verbalizer(kb, Script(), folder, "a").prepare([[RUNTIME]])
    [file] = folder.iterdir()
    for damaged in (file.read_bytes()[:-1], b"", file.read_bytes().replace(b"null", b'"no"')):
        file.write_bytes(damaged)
        script = Script()
        words = verbalizer(kb, script, folder, "a")
        words.prepare([[RUNTIME]])
        assert len(script.calls) == 1
    (folder / "mine.txt").write_text("keep")
    words.clear()
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_a_build_verbalizes_once_and_changes_only_sentences(kb, source, encoder):
    """The model copies its input, so every sentence is complete; questions and graphs do not change."""
    questions = read_questions(source).questions

    class Echo(Script):
        def __call__(self, lines):
            super().__call__(lines)
            return [[line] for line in lines]

    script = Echo()
    words = verbalizer(kb, script)
    plain = build(kb, questions, encoder, Settings())
    worded = build(kb, questions, encoder, Settings(), verbalizer=words)
    assert len(script.calls) == 1
    assert [unit.facts for unit in worded.database.units] == [unit.facts for unit in plain.database.units]
    assert {unit.sentence for unit in worded.database.units} == {
        words.line(unit.facts) for unit in worded.database.units
    }
    counts = words.counts(unit.facts for unit in worded.database.units)
    assert counts["by_the_model"] == counts["units"] == len(plain.database.units)
    for one, other in zip(plain.splits["train"], worded.splits["train"], strict=True):
        assert (one.question, one.answer, len(one.graph.edges)) == (
            other.question,
            other.answer,
            len(other.graph.edges),
        )
