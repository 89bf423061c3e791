"""Checks of sentences: each finds its problem and accepts sentences that only look similar."""

from __future__ import annotations

import json

import pytest

from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.checks.quality import MISSING, PAPER, quality_report
from bgr.data.reasongraphqa.construction.textual_database import TextualDatabase
from bgr.data.reasongraphqa.io.fact_records import FactRecord, FactSample, sample_facts
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer
from bgr.errors import DataError

NAMES = {"F": "America America", "P": "Elia Kazan", "L": "English", "I": "In & Out", "X": "eXistenZ", "G": "gold"}
NAMES |= {"Y": "Studio Ghibli", "S": "Spanish language", "W": "49th Who Never Was", "D": "Dil Se..", "N": "New York"}
NAMES |= {"E": "East Is East"}
NAMES |= {"Q": 'The "Q" :) Story'}
DIRECTOR = Fact("F", "director", tail="P")
RELEASE = Fact("F", "release date", Value.from_json({"type": "date", "value": "1963-12-15"}))
BY = ("review score by", Value("string", "Rotten Tomatoes"))
SCORE = Fact("F", "review score", Value("quantity", 80, "percent"), None, (BY,))
OSCARS = Fact("F", "number of Academy Awards", Value("quantity", 1))


def record(sentence: str, *facts: Fact) -> FactRecord:
    nodes = {node for fact in facts for node in (fact.head, fact.tail) if node}
    return FactRecord("F0", sentence, True, facts, {node: NAMES[node] for node in nodes})


def found(sentence: str, *facts: Fact) -> dict[str, str]:
    report = quality_report(FactSample((record(sentence, *facts),), 1, 0))
    return {check.name: check.examples[0].found for check in report.checks if check.count}


@pytest.mark.parametrize(
    ("sentence", "facts"),
    [
        ("America America was directed by Elia Kazan.", [DIRECTOR]),
        ("Directed by Elia Kazan, America America, a film released on December 15, 1963, was rated 80% on Rotten "
         "Tomatoes.", [DIRECTOR, RELEASE, SCORE]),
        ("America America came out in 1963 on 1963-12-15.", [RELEASE]),
        ("The Oscar tally of America America is 1.", [OSCARS]),
        ("America America received 1 Academy Award.", [OSCARS]),
        ("Kazan and Elia made it: America America is by Elia Kazan!", [DIRECTOR]),
        ("Elia Kazan acted in In & Out.", [Fact("I", "cast member", tail="P")]),
        ("49th Who Never Was was made in New York.", [Fact("W", "l", tail="N")]),
        ("In New York, New York, a city in New York, has 1 inhabitant.", [Fact("N", "in", Value("quantity", 1))]),
        ("The score of East Is East is 80%.", [Fact("E", "score", Value("quantity", 80, "percent"))]),
        ("Elia Kazan acted in Dil Se..", [Fact("D", "cast member", tail="P")]),
        ("America America won 2 Oscars.", [Fact("F", "number of Academy Awards", Value("quantity", 2))]),
        ("eXistenZ was directed by Elia Kazan.", [Fact("X", "director", tail="P")]),
        ('The "Q" :) Story was directed by Elia Kazan.', [Fact("Q", "director", tail="P")]),
        ("The film “America America” was directed by Elia Kazan (in English).", [DIRECTOR, Fact("F", "l", tail="L")]),
    ],
)  # fmt: skip
def test_good_sentences_pass(sentence, facts):
    assert found(sentence, *facts) == {}


@pytest.mark.parametrize(
    ("sentence", "name", "detail"),
    [
        ("America America was was directed by Elia Kazan.", "repeated words", "was was"),
        ("America America was made by was made by Elia Kazan.", "repeated words", "was made by was made by"),
        ("America America America America is by Elia Kazan.", "repeated words", "America America America America"),
        ("America America was directed by Elia Kazan Elia Kazan.", "repeated words", "Elia Kazan Elia Kazan"),
        ("America America is by Elia Kazan, is good, is by Elia Kazan.", "repeated clause", "is by elia kazan"),
        ("America America was directed by Elia.", MISSING, "Elia Kazan"),
        ("America America was directed by Elia Kazan in Berlin.", "added name", "Berlin"),
        ("America America was directed by Elia Kazan and Elia Smith-Jones.", "added name", "Smith-Jones"),
        ("America America was directed by Elia Kazan in 1962.", "added number", "1962"),
        ("America America was directed by Elia Kazan as “my own story”.", "added quotation", "“my own story”"),
        ("America America was directed by Elia Kazan", "wrong ending", "'Elia Kazan'"),
        ("America America was directed by Elia Kazan..", "wrong ending", "'ia Kazan..'"),
        ("was America America directed by Elia Kazan?", "no capital", "was"),
        ("America America was directed (by Elia Kazan.", "unbalanced", "("),
        ("America America was) directed by Elia Kazan.", "unbalanced", ")"),
        ('America America was directed by "Elia Kazan.', "unbalanced", '"'),
        ("America America was directed by Elia Kazan {when}.", "template left over", "{"),
        ("America America had a(n) director, Elia Kazan.", "template left over", "a(n)"),
        ("America America was directed by Elia Kazan <pad>.", "template left over", "<pad>"),
        ("America America was  directed by Elia Kazan.", "spacing", "'  '"),
        ("America America was directed, by Elia Kazan .", "spacing", "' .'"),
        ("America America is by Elia Kazan director director.", "repeated words", "director director"),
        ("America America is is by Elia Kazan.", "repeated words", "is is"),
        ("The the film America America is by Elia Kazan.", "repeated words", "The the"),
    ],
)
def test_each_defect_is_found_and_nothing_else(sentence, name, detail):
    assert found(sentence, DIRECTOR) == {name: detail}


def test_at_the_edge_of_a_name_capitals_count():
    studio, language = Fact("F", "production company", tail="Y"), Fact("F", "original language", tail="S")
    assert found("America America was made by the studio Studio Ghibli.", studio) == {}
    said = found("America America was made by Studio Ghibli Studio Ghibli.", studio)
    assert said == {"repeated words": "Studio Ghibli Studio Ghibli"}
    said = found("America America was shot in the Spanish language language.", language)
    assert said == {"repeated words": "language language"}


def test_a_repeated_number():
    found_at = found("America America was rated 80% 80% on Rotten Tomatoes.", SCORE)
    assert found_at == {"repeated words": "80% 80%"}
    people = Fact("F", "population", Value("quantity", 618150))
    assert found("America America has 618,150 618,150 people.", people) == {"repeated words": "618,150 618,150"}


def test_a_name_in_lower_case_does_not_open_a_sentence():
    assert found("gold is in English.", Fact("G", "original language", tail="L")) == {"no capital": "gold"}


def test_sentences_of_the_verbalizer_pass(kb):
    database = TextualDatabase(kb, Verbalizer(kb), [], joined_probability=0.5, seed=1)
    for node in kb.entities:
        for fact in database.facts_of(node):
            database.unit(fact)
    names = kb.names_by_id
    records = tuple(FactRecord(u.id, u.sentence, u.gold, u.facts, names_of(u.facts, names)) for u in database.units)
    assert len(records) > 100
    report = quality_report(FactSample(records, len(records), 0))
    assert [check.examples for check in report.checks if check.count] == []
    assert report.fluent == report.faithful == len(records)


def names_of(facts, names):
    return {node: names[node] for fact in facts for node in (fact.head, fact.tail) if node}


def test_the_report_counts_and_shows_three(tmp_path):
    bad = [record(f"America America was was {n}.", DIRECTOR) for n in range(5)]
    good = [record("America America is by Elia Kazan.", DIRECTOR), record("A sentence without triples in Rome.")]
    report = quality_report(FactSample((*bad, *good), 70, 3))
    checks = {check.name: check for check in report.checks}
    assert (checks["repeated words"].count, checks["repeated words"].share) == (5, 5 / 7)
    assert (checks[MISSING].checked, checks[MISSING].count, len(checks[MISSING].examples)) == (6, 5, 3)
    assert (report.facts, report.total, report.seed, report.gold, report.with_triples) == (7, 70, 3, 7, 6)
    assert (report.fluent, report.faithful) == (2, 1)
    assert (report.lengths.p95, report.lengths.longest, report.lengths.median) == (6, 6, 5)
    as_json = json.loads(json.dumps(report.to_json()))
    assert as_json["checks"][0]["share"] == 5 / 7
    assert as_json["paper"] == PAPER
    text = report.text()
    assert "7 of 70 facts (7 of them gold), seed 3" in text
    assert "paper, by hand: 98.3% of 2,000" in text
    assert "was was: America America was was 0." in text
    assert "1 facts have no triples" in text


BARE = {"head": "A", "name": "A", "predicate": "p"}
LINE = {"id": "F1", "sentence": "A is by B.", "gold": True,
        "facts": [{"head": "A", "name": "A", "predicate": "director", "tail": "B", "tail_name": "B"}]}  # fmt: skip


def write(folder, *lines):
    (folder / "facts.jsonl").write_text("".join(f"{line}\n" for line in lines))


def test_a_sample_depends_on_the_seed_and_equals_what_was_written(tmp_path, kb):
    database = TextualDatabase(kb, Verbalizer(kb), [], joined_probability=0.5, seed=1)
    for node in kb.entities:
        for fact in database.facts_of(node):
            database.unit(fact)
    write(tmp_path, *(json.dumps(unit.to_json(kb), ensure_ascii=False) for unit in database.units))
    everything = sample_facts(tmp_path, 10**6, 0)
    assert [(r.id, r.sentence, r.facts) for r in everything.records] == [
        (unit.id, unit.sentence, unit.facts) for unit in database.units
    ]
    first, again, other = (sample_facts(tmp_path, 20, seed) for seed in (0, 0, 1))
    assert first == again
    assert len(first.records) == len(other.records) == 20
    assert first.records != other.records
    assert first.total == len(database.units)
    assert [r.id for r in first.records] == sorted(r.id for r in first.records)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not valid JSON"),
        ("[]", "line 2: is [], allowed: an object"),
        (json.dumps({**LINE, "sentence": 3}), "line 2: sentence is 3, allowed: a text"),
        (json.dumps({**LINE, "sentence": " "}), "line 2: sentence is empty, allowed: a non-empty text"),
        (json.dumps({"id": "F1"}), "line 2: sentence is missing"),
        (json.dumps({**LINE, "facts": [BARE]}), "line 2: fact 0: value is missing"),
        (json.dumps({**LINE, "facts": [{**BARE, "value": 3}]}), "line 2: fact 0: value: is 3, allowed: an object"),
        (json.dumps({**LINE, "facts": "director"}), "line 2: facts is 'director', allowed: a list"),
        (json.dumps({**LINE, "facts": [{**LINE["facts"][0], "qualifiers": [["a"]]}]}), "fact 0: qualifier ['a'],"),
    ],
)  # fmt: skip
def test_a_damaged_line_is_named(tmp_path, line, message):
    write(tmp_path, json.dumps(LINE), line)
    with pytest.raises(DataError, match=r"facts\.jsonl: ") as caught:
        sample_facts(tmp_path, 10, 0)
    assert message in str(caught.value)


def test_no_facts(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        sample_facts(tmp_path, 10, 0)
    write(tmp_path)
    with pytest.raises(DataError, match="has no facts"):
        sample_facts(tmp_path, 10, 0)
    with pytest.raises(DataError, match="allowed: 1 or more"):
        sample_facts(tmp_path, 0, 0)
