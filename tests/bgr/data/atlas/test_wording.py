"""Choice and record of templates, and the short forms: merged links, phrases after the noun, superlatives."""

import random
import re
from collections import Counter
from dataclasses import replace

from bgr.data.atlas.phrasing.nouns import NounPhrases
from bgr.data.atlas.phrasing.phrasebook import BREVITY, LONG, Wordings, brevity, phrasebook
from bgr.data.atlas.phrasing.questions import Phrasing
from bgr.data.atlas.question_tree import Condition, Description, Draft, Link
from bgr.data.kb.schema import Value

BOOK = phrasebook()
SEEDS = range(150)


def named(kind, name):
    return Description(kind, (name,), name=name)


def films(*people, join="And", members=("F",), relation="director", **parts):
    links = tuple(Link(named("human", person), relation, "backward") for person in people)
    return Description("film", members, links=links, join=join, **parts)


def shorter_than(minutes):
    return Condition("runtime", "<", Value("quantity", minutes, "minute"))


def phrases(description, **arguments):
    return [NounPhrases(BOOK, random.Random(seed)).bare(description, **arguments) for seed in SEEDS]


def questions(draft):
    return [Phrasing(BOOK, random.Random(seed)).question(draft) for seed in SEEDS]


def test_shorter_templates_are_likelier():
    assert brevity(["[runs|run] {x}", "[was|were] in {x}", "to {x}"]) == [1, BREVITY, 1]


def test_a_long_text_comes_last_and_choices_are_recorded():
    wordings = Wordings(random.Random(0))
    templates = ["by {x}", "that {x} made"]
    chosen = Counter(wordings.short("t", templates, x="n" * LONG) for _ in range(1000))
    assert chosen["by {x}"] > 950
    assert set(wordings.used) <= {"t: by {x}", "t: that {x} made"}
    first = Counter(wordings.plain("u", ["a", "b", "c", "d"]) for _ in range(1000))
    assert first["a"] > first["b"] > first["d"] > 0
    asked = Counter(wordings.ask("v", ["What is the age of {x}?", "{x} has what age?", "How old is {x}?"], x="X")
                    for _ in range(1000))  # fmt: skip
    assert asked["What is the age of {x}?"] > asked["How old is {x}?"] > 5 * asked["{x} has what age?"]


def test_a_question_records_its_own_templates_only():
    phrasing = Phrasing(BOOK, random.Random(0))
    draft = Draft("QueryRelation", named("film", "Persona"), named("human", "Bibi Andersson"))
    other = Draft("Count", films("Ingmar Bergman", members=("F", "G")))
    for _ in range(50):
        phrasing.question(draft)
        [pattern] = phrasing.phrasings
        assert (
            pattern.removeprefix("strategies/query relation/patterns: ")
            in (BOOK.strategies["query relation"]["patterns"])
        )
        phrasing.question(other)
        assert {p.split("/")[0] for p in phrasing.phrasings} == {"strategies", "relations"}


def test_two_links_by_one_relation_are_named_together():
    single = phrases(films("Joel Coen", "Ethan Coen"))
    assert all(re.search(r"Joel Coen and Ethan Coen$", text) for text in single)
    # "films by A and B" could be films by one of the two
    several = phrases(films("Joel Coen", "Ethan Coen", members=("F", "G")), plural=True)
    assert all(text.endswith("both Joel Coen and Ethan Coen") for text in several)
    either = phrases(films("Joel Coen", "Ethan Coen", join="Or", members=("F", "G")), plural=True)
    assert all(re.search(r"Joel Coen or Ethan Coen$", text) for text in either)
    # a verb in the singular would follow both names
    cast = phrases(films("Liv Ullmann", "Max von Sydow", relation="cast member"))
    assert not any(re.search(r"(appears|plays|has)( in)?$", text) for text in cast)


def test_links_with_qualifiers_or_by_other_relations_are_not_merged():
    two = films("Ada", "Bo")
    role = ("object has role", "=", Value("string", "writer"))
    qualified = replace(two, links=(two.links[0], replace(two.links[1], qualifier=role)))
    mixed = replace(two, links=(two.links[0], replace(two.links[1], predicate="screenwriter")))
    assert not any("Ada and Bo" in text for text in phrases(mixed))
    assert not any("Ada and Bo" in text for text in phrases(qualified))


def test_names_that_contain_a_conjunction_are_paired():
    names = NounPhrases(BOOK, random.Random(0)).names
    assert names(["A", "B"], "and") == "A and B"
    assert names(["Crime and Punishment", "B"], "and") == "both Crime and Punishment and B"
    assert names(["A", "B"], "or", paired=True) == "either A or B"
    assert names(["A", "B", "C"], "or") == "A, B or C"


def test_most_filters_need_no_relative_clause():
    texts = phrases(films("Bo Lind").under(shorter_than(90), ("F",)))
    assert sum("with a" in text for text in texts) > len(texts) / 4
    assert sum(" that " in text for text in texts) < len(texts) / 2


def test_a_phrase_after_a_name_belongs_to_the_noun():
    dense = Condition("density", ">", Value("quantity", 3, "gram per cubic centimetre"))
    link = Link(named("compound", "lithium chloride"), "contains element", "forward")
    texts = phrases(Description("element", ("E",), links=(link,)).under(dense, ("E",)))
    assert not any("lithium chloride with" in text for text in texts)
    link = Link(named("human", "Bo Lind"), "discoverer", "backward")
    texts = phrases(Description("element", ("E",), links=(link,)).under(dense, ("E",)))
    assert any("Bo Lind with" in text for text in texts)


def test_a_kind_keeps_its_noun_within_a_question():
    a, b = films("Ada"), films("Bo")
    for text in questions(Draft("SelectBetween", a, b, key="runtime", op="greater")):
        assert len({noun for noun in ("film", "movie", "picture") if re.search(rf"\b{noun}s?\b", text)}) <= 1


def test_superlatives_select_the_right_end():
    several = films("Ada", members=("F", "G"))
    longest = questions(Draft("SelectAmong", several, key="runtime", op="largest"))
    shortest = questions(Draft("SelectAmong", several, key="runtime", op="smallest"))
    assert any(re.fullmatch(r"What is the longest (film|movie|picture|motion picture) .*\?", text) for text in longest)
    assert not any("shortest" in text for text in longest)
    assert not any("longest" in text for text in shortest)


def test_comparisons_may_be_asked_with_the_verb_first():
    draft = Draft("SelectBetween", named("film", "Persona"), named("film", "Heat"), key="runtime", op="greater")
    assert any(re.match(r"(Is|Does) Persona or Heat .*\?$", text) for text in questions(draft))


def test_a_condition_does_not_follow_a_description():
    described = films("Ada").under(shorter_than(90), ("F",))
    qualifier = ("review score by", Value("string", "Metacritic"))
    value = Value("quantity", 70)
    for subject in (named("film", "Heat"), described):
        for function in ("QueryAttrUnderCondition", "Verify"):
            draft = Draft(function, subject, key="review score", op=">", value=value, qualifier=qualifier)
            for text in questions(draft):
                assert "Metacritic" in text
                assert text.count("?") + text.count(".") == 1
                if function == "QueryAttrUnderCondition" and subject is described:
                    assert text.index("Metacritic") < text.index("Ada") or ", " in text
