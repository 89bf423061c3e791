"""Sentences for facts: complete, in English, the same for the same seed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bgr.data.kb.loading import FORWARD
from bgr.data.kb.schema import Fact, Value
from bgr.data.reasongraphqa.verbalize.templates import FORMS, default_forms, load_templates
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer, _finish, missing_parts

RUNTIME = Fact("F2", "runtime", Value("quantity", 82, "minute"))
DIRECTOR = Fact("F2", "director", tail="P2")
ORIGIN = Fact("F2", "country of origin", tail="C0")
SCORE = Fact(
    "F2", "review score", Value("quantity", 52, "percent"), None, (("review score by", Value("string", "Tomato")),)
)

ODD_PREDICATES = [
    "number of seasons", "educated at", "named after", "shares border with", "ISBN-13", "Freebase ID",
    "date of baptism", "candidacy in election", "has effect", "student of", "chairperson", "{odd}",
    "said to be the same as", "owner of",
]  # fmt: skip


def everything(kb):
    for node in kb.entities:
        relations = [statement for statement, direction in kb.relations(node) if direction == FORWARD]
        for statement in [*kb.attributes(node), *relations]:
            yield statement.fact(tuple((key, values[0]) for key, values in statement.qualifiers))


def test_every_fact_alone_and_joined_is_complete(kb):
    by_head: dict[str, list[Fact]] = {}
    for fact in everything(kb):
        by_head.setdefault(fact.head, []).append(fact)
    for seed in range(5):
        verbalizer = Verbalizer(kb, seed)
        for facts in by_head.values():
            for size in (1, 2, 3):
                for start in range(len(facts) - size + 1):
                    unit = facts[start : start + size]
                    sentence = verbalizer.sentence(unit)
                    assert missing_parts(kb, sentence, unit) == [], sentence
                    assert_is_sentence(sentence)


def assert_is_sentence(sentence: str) -> None:
    assert sentence.endswith(".")
    assert sentence[0].isupper() or not sentence[0].isalpha()
    assert not re.search(r"[{}]|\(s\)|a\(n\)|,,|,\.|  |\.\.$", sentence), sentence


def test_missing_parts_finds_what_is_left_out(kb):
    assert missing_parts(kb, "The 2nd Winter runs for 82 minutes.", [RUNTIME, DIRECTOR]) == ["Cai Moreau"]
    assert missing_parts(kb, "It runs for 83 minutes.", [RUNTIME]) == ["The 2nd Winter", "82 minute"]
    assert missing_parts(kb, "The 2nd Winter scored 52%.", [SCORE]) == ["Tomato"]


def test_sentences_vary_with_the_seed_and_are_reproducible(kb):
    said = [Verbalizer(kb, seed).sentence([DIRECTOR]) for seed in range(60)]
    assert len(set(said)) >= 6
    assert said == [Verbalizer(kb, seed).sentence([DIRECTOR]) for seed in range(60)]


def test_joined_facts_are_in_one_sentence(kb):
    said = {Verbalizer(kb, seed).sentence([RUNTIME, DIRECTOR, ORIGIN]) for seed in range(80)}
    assert all(sentence.count("The 2nd Winter") == 1 for sentence in said)
    assert any(", a " in sentence or ", an " in sentence for sentence in said)
    assert any(" which " in sentence for sentence in said)
    assert any(sentence.startswith(("Directed by", "Made in", "Produced", "With")) for sentence in said)


def test_joined_facts_occur_in_any_order(kb):
    said = [Verbalizer(kb, seed).sentence([RUNTIME, DIRECTOR]) for seed in range(60)]
    for fronts in (("Directed by", "Helmed by"), ("With a running time", "Running for", "At a length")):
        assert any(sentence.startswith(fronts) for sentence in said)


def test_a_sentence_has_one_to_three_facts_of_one_head(kb):
    with pytest.raises(ValueError, match="one head"):
        Verbalizer(kb).sentence([RUNTIME, Fact("F3", "director", tail="P0")])
    with pytest.raises(ValueError, match="1 to 3"):
        Verbalizer(kb).sentence([RUNTIME, DIRECTOR, ORIGIN, SCORE])


@pytest.mark.parametrize("predicate", ODD_PREDICATES)
def test_unknown_predicates_have_a_sound_default(kb, predicate):
    facts = [Fact("F2", predicate, Value("string", "Xyz")), Fact("F2", predicate, tail="P2")]
    for fact in facts:
        said = {Verbalizer(kb, seed).sentence([fact]) for seed in range(40)}
        assert len(said) >= 3
        for sentence in said:
            assert missing_parts(kb, sentence, [fact]) == []
            assert not re.search(r"\(s\)|a\(n\)|,,|,\.|  ", sentence)
        for seed in range(10):
            assert missing_parts(kb, Verbalizer(kb, seed).sentence([fact, RUNTIME]), [fact, RUNTIME]) == []


@pytest.mark.parametrize(
    ("predicate", "verb"),
    [
        ("number of seasons", "has {value} seasons"),
        ("educated by", "was educated by {value}"),
        ("owner of", "is an owner of {value}"),
        ("located on street", "is located on street {value}"),
        ("has effect", "has effect {value}"),
        ("Freebase ID", "has the Freebase ID {value}"),
        ("chairperson", "has {value} as chairperson"),
    ],
)
def test_shapes(predicate, verb):
    assert verb in default_forms(predicate)["verb"]


def test_unknown_qualifiers_are_verbalized(kb):
    fact = Fact("F2", "director", tail="P2", qualifiers=(("series ordinal", Value("string", "4")),))
    for seed in range(10):
        sentence = Verbalizer(kb, seed).sentence([fact])
        assert "series ordinal" in sentence
        assert missing_parts(kb, sentence, [fact]) == []


def test_names_are_verbatim_and_common_ones_open_a_sentence_in_upper_case(kb):
    fact = Fact("E0", "melting point", Value("quantity", 1337.33, "kelvin"))
    said = {Verbalizer(kb, seed).sentence([fact]) for seed in range(40)}
    assert "Gold melts at 1,337.33 kelvins." in said
    assert _finish("iron(III) oxide melts") == "Iron(III) oxide melts."
    assert _finish("eXistenZ(I) runs") == "eXistenZ(I) runs."


def test_templates_are_well_formed():
    templates = load_templates()
    for predicate, forms in templates.predicates.items():
        assert set(forms) == set(FORMS)
        assert len(forms["verb"]) + len(forms["sentence"]) >= 3, predicate
        for form, texts in forms.items():
            assert len(set(texts)) == len(texts), predicate
            for text in texts:
                slots = re.findall(r"\{(\w+)\}", text)
                assert set(slots) <= {"head", "value", "when", "kind"}, (predicate, text)
                assert sum(slot in ("value", "when") for slot in slots) == 1, (predicate, text)
                assert slots.count("head") == (form == "sentence"), (predicate, text)
                assert text.endswith(".") == (form == "sentence"), (predicate, text)
                assert form != "front" or text[0].islower(), (predicate, text)
    for key, phrases in templates.qualifiers.items():
        assert phrases, key
        assert all(re.findall(r"\{(\w+)\}", phrase) in (["value"], ["when"]) for phrase in phrases), key


@pytest.mark.workflow
def test_sentences_do_not_depend_on_the_hash_seed():
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from conftest import make_records\n"
        "from bgr.data.kb.knowledge_base import KnowledgeBase\n"
        "from bgr.data.reasongraphqa.construction.textual_database import TextualDatabase\n"
        "from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer\n"
        "kb = KnowledgeBase(make_records())\n"
        "db = TextualDatabase(kb, Verbalizer(kb), [], joined_probability=0.5, seed=1)\n"
        "print([db.unit(f).sentence for f in db.facts_of('F7') if db.unit(f)])\n"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
