"""The phrasing files are complete and well formed; the markup is expanded correctly."""

import datetime
import random
import re
import string

import pytest

from bgr.data.atlas.phrasing.nouns import NounPhrases, Piece
from bgr.data.atlas.phrasing.phrasebook import (
    OPERATOR_SLOTS,
    agree,
    date_text,
    fill,
    fill_articles,
    invert,
    number_text,
    phrasebook,
    sentence,
    trailing,
    value_text,
)
from bgr.data.atlas.question_tree import Condition, Description, Link
from bgr.data.kb.schema import Value

BOOK = phrasebook()
RELATIONS = [(p, d, entry) for p, ways in BOOK.relations.items() for d, entry in ways.items()]
NUMERIC = [key for key, entry in BOOK.attributes.items() if "more" in entry]
BOTH_WAYS = (
    "director", "screenwriter", "cast member", "genre", "original language", "country of origin", "production company",
    "capital", "official language", "currency", "continent", "located in region", "country", "time zone",
    "located in administrative region", "place served", "discoverer", "country of discovery",
    "contains element", "chemical family", "language used", "writing system", "language family", "macrolanguage",
)  # fmt: skip


def placeholders(template):
    return re.findall(r"\{([^{}]+)\}", template)


def different(templates):
    return len(set(templates))


def templates_of(entry):
    """All templates of a relation's direction or of an attribute, with their slots."""
    slots = "vp, post, noun, pre, ask, ask year, equal, greater, less, more, lower, most, least".split(", ")
    return [(slot, template) for slot in slots for template in entry.get(slot, [])]


def base_kinds(predicate, direction):
    """Kinds of {x}: the answers of the other direction. A border has one direction, between countries."""
    ways = BOOK.relations[predicate]
    return set(ways.get({"forward": "backward", "backward": "forward"}[direction], ways[direction])["kinds"])


def test_every_relation_of_the_vocabulary_has_both_directions():
    for predicate in BOTH_WAYS:
        assert set(BOOK.relations[predicate]) == {"forward", "backward"}
    # a border has no direction, so that one of the two is enough
    assert set(BOOK.relations["shares border with"]) == {"forward"}


@pytest.mark.parametrize(("predicate", "direction", "entry"), RELATIONS, ids=[f"{p}-{d}" for p, d, _ in RELATIONS])
def test_relation_templates(predicate, direction, entry):
    assert set(entry["kinds"]) <= set(BOOK.kinds)
    for slot in ("vp", "post", "noun", "ask"):
        templates = entry.get(slot, [])
        if slot in ("vp", "post") or templates:
            assert different(templates) >= 4, (predicate, direction, slot)
        assert all(placeholders(t) == ["x"] for t in templates)
    for template in entry["vp"]:
        assert "{subject}" in invert(template)
    assert all(t.endswith("?") for t in entry["ask"])


@pytest.mark.parametrize("key", list(BOOK.attributes))
def test_attribute_templates(key):
    entry = BOOK.attributes[key]
    assert different(BOOK.attribute(key, "ask")) >= 4
    for template in BOOK.attribute(key, "ask"):
        assert placeholders(template) == ["x"]
        assert template[-1] in "?."
    ops = ["equal", "greater", "less"] if key in NUMERIC or entry.get("time") else ["equal"]
    for slot in ops:
        assert different(BOOK.attribute(key, slot)) >= 4, slot
        for template in BOOK.attribute(key, slot):
            assert placeholders(template) == ["v"]
            assert "{subject}" in invert(template)
    if key in NUMERIC:
        for slot in ("more", "lower", "most", "least"):
            assert different(BOOK.attribute(key, slot)) >= 4, slot
            assert not any(placeholders(t) for t in BOOK.attribute(key, slot))
    if entry.get("time"):
        assert different(entry["ask year"]) >= 4


@pytest.mark.parametrize(
    ("name", "entry"),
    [(f"{p} {d}", entry) for p, d, entry in RELATIONS] + list(BOOK.attributes.items()),
    ids=[f"{p}-{d}" for p, d, _ in RELATIONS] + list(BOOK.attributes),
)
def test_templates_expand_without_markup_and_agree(name, entry):
    words = dict.fromkeys(("x", "v", "year", "number"), "Name")
    for slot, template in templates_of(entry):
        for plural in (False, True):
            text = fill(agree(template, plural), words)
            assert not set(text) & set("[]{}|"), (name, slot, template)
            assert text == " ".join(text.split()), (name, slot, template)
        if slot not in ("ask", "ask year", "pre"):
            assert not re.search(r"\b(its|it)\b", agree(template, plural=True)), (name, slot, template)
        if slot in ("vp", "equal", "greater", "less", "more", "lower", "most", "least"):
            assert fill(invert(template, "It"), words).split()[1] == "It", (name, slot, template)


@pytest.mark.parametrize(("predicate", "direction", "entry"), RELATIONS, ids=[f"{p}-{d}" for p, d, _ in RELATIONS])
def test_no_template_could_mean_another_relation(predicate, direction, entry):
    """The reader knows {x}, hence its kind, and from the noun the answer's kind, but not from a whole question."""
    base = base_kinds(predicate, direction)
    for other, way, rival in RELATIONS:
        if (other, way) == (predicate, direction) or not base & base_kinds(other, way):
            continue
        same_answers = set(entry["kinds"]) & set(rival["kinds"])
        here, there = ({(s == "ask", t) for s, t in templates_of(e)} for e in (entry, rival))
        assert not {t for is_question, t in here & there if is_question or same_answers}, (other, way)


SUBJECTS = (
    ("release date", "runtime", "box office", "review score", "number of reviews", "audience rating",
     "number of Academy Awards", "IMDb ID"),
    ("population", "area", "demonym", "ISO 3166-1 alpha-2 code", "calling code", "top-level domain"),
    ("elevation", "IATA code", "ICAO code"),
    ("state code", "FIPS code"),
    ("chemical symbol", "atomic number", "atomic mass", "density", "melting point", "boiling point", "group", "period",
     "block", "element series", "time of discovery"),
    ("molar mass", "chemical formula", "CAS number", "density", "melting point", "boiling point", "refractive index",
     "flash point", "autoignition temperature", "critical temperature", "IARC group"),
)  # fmt: skip


@pytest.mark.parametrize("keys", SUBJECTS, ids=["film", "country", "airport", "state", "element", "compound"])
def test_no_template_could_mean_another_attribute(keys):
    owners = {}
    for key in keys:
        slots = ("ask", "equal", "greater", "less", "more", "lower", "most", "least")
        times = BOOK.attributes[key].get("time")  # the value says whether it is before or after
        for slot in slots:
            for template in BOOK.attribute(key, slot):
                role = (key, "times" if times and slot in ("equal", "greater", "less") else slot)
                assert owners.setdefault(template, role) == role, template


def test_questions_are_plain():
    ornate = re.compile(r"\b(helm\w*|penn?ed|pen of|scenarist|does one|one pays|director's chair|soil|workshop)\b")
    tables = [t for _, _, entry in RELATIONS for _, t in templates_of(entry)]
    tables += [t for entry in BOOK.attributes.values() for _, t in templates_of(entry)]
    assert not [t for t in tables if ornate.search(t)]


def test_every_direction_is_asked_for_except_where_the_answers_differ_in_kind():
    assert [(p, d) for p, d, entry in RELATIONS if not entry["ask"]] == [("country", "backward")]


def test_qualifier_templates():
    for key, words in BOOK.qualifiers["conditions"].items():
        if key != "point in time":  # its only template is filled by years, each of which has four templates
            assert different(words["suffix"]) >= 4
        assert all(different(words[place]) >= 4 for place in words if place == "prefix")
        assert all(set(placeholders(t)) <= {"q", "time"} for templates in words.values() for t in templates)
    for slot in OPERATOR_SLOTS.values():
        assert different(BOOK.values["years"][slot]) >= 4 - (slot == "equal")
        assert different(BOOK.values["dates"][slot]) >= (1 if slot == "equal" else 4)  # a day has four formats
    for words in BOOK.qualifiers["attributes"].values():
        assert different(words["ask"]) >= 4
        assert all(len(set(placeholders(t)) & {"clause", "inverted"}) == 1 for t in words["ask"])
    for by_key in BOOK.qualifiers["relations"].values():
        for words in by_key.values():
            assert different(words["ask"]) >= 4
            assert all(sorted(placeholders(t)) == ["x", "y"] for t in words["ask"])


def test_strategy_patterns():
    known = {"np", "bare", "group", "head", "heads", "who", "vp", "best", "most", "a", "b", "x", "n", "names", "either",
             "inverted", "clause", "prefix", "suffix", "question"}  # fmt: skip
    for strategy, forms in BOOK.strategies.items():
        for form, patterns in forms.items():
            assert different(patterns) == len(patterns) >= 2, (strategy, form)
            assert all(p[-1] in "?." or p.endswith("{question}") for p in patterns)
            assert all(set(placeholders(p)) <= known for p in patterns)


def test_agreement_and_inversion():
    assert agree("[runs|run] on", plural=True) == "run on"
    assert agree("[came|came|come] out") == "came out"
    assert invert("[runs|run] for {v}", "It") == "Does It run for {v}"
    assert invert("[came|came|come] out {v}", "It") == "Did It come out {v}"
    assert invert("[is a production|are productions] of {x}", "It") == "Is It a production of {x}"
    assert invert("[sets its|set their] prices in {x}", "It") == "Does It set its prices in {x}"
    assert invert("[has|have] {x} within its borders", "It") == "Does It have {x} within its borders"
    with pytest.raises(ValueError, match="forms"):
        invert("runs on")


def test_fill_is_safe_with_braces_and_brackets_in_names():
    assert fill("by {x} and {y}", {"x": "{y} [a|b]", "y": "Y"}) == "by {y} [a|b] and Y"


def test_counted_nouns_agree_with_their_value():
    assert fill("won {v} [Oscar]", {"v": "1"}) == "won 1 Oscar"
    assert fill("won {v} [Oscar]", {"v": "3"}) == "won 3 Oscars"
    assert fill("won more than {v} [Oscar]", {"v": "1"}) == "won more than 1 Oscars"


def test_articles_and_sentences():
    assert fill_articles("a(n) atomic weight, a(n) gross, a(n) 80-minute film") == (
        "an atomic weight, a gross, an 80-minute film"
    )
    assert sentence("which  film , then ?") == "Which film, then?"
    assert sentence("name the land with the suffix .bh .") == "Name the land with the suffix .bh."
    assert trailing("give {x} a part", "x") == 2
    assert trailing("made by {x}", "x") == 0


def test_numbers_keep_their_value():
    rng = random.Random(0)
    scale = {"million": 10**6, "billion": 10**9}
    for value in (7, 1850, 12_000, 1_250_000, 1_234_567, 2_000_000_000, 0.089, 55.845):
        for _ in range(20):
            text = number_text(value, rng)
            number, _, word = text.replace(",", "").partition(" ")
            assert float(number) * scale.get(word, 1) == pytest.approx(value, abs=1e-9)


def test_dates_are_written_in_several_ways():
    rng = random.Random(0)
    texts = {date_text(BOOK, datetime.date(1963, 2, 11), rng) for _ in range(60)}
    assert texts == {"11 February 1963", "February 11, 1963", "1963-02-11", "the 11th of February 1963"}
    year = {value_text(BOOK, "release date", Value("year", 1963), ">", rng) for _ in range(60)}
    assert "after 1963" in year
    assert len(year) == 4


def test_noun_phrases_nest_and_keep_names_out_of_the_middle():
    film = Description("film", ("F1",), name="Persona")
    maker = Description("human", ("P1",), links=(Link(film, "director", "forward"),))
    others = Description("film", ("F1", "F2"), links=(Link(maker, "director", "backward"),))
    early = others.under(Condition("release date", "<", Value("year", 1960)), ("F2",))
    for seed in range(200):
        text = NounPhrases(BOOK, random.Random(seed)).phrase(early)
        assert "Persona" in text
        assert text.startswith("the ")
        assert "1960" in text
        assert not re.search(r"[\[\]{}|]", text)


def test_article_of_names():
    phrases = NounPhrases(BOOK, random.Random(0))
    texts = {phrases.name("country", name) for name in ("Netherlands", "Marshall Islands", "France")}
    assert texts == {"the Netherlands", "the Marshall Islands", "France"}


def test_alternatives_stay_together():
    a, b = (Description("human", (n,), name=n) for n in "AB")
    links = (Link(a, "director", "backward"), Link(b, "director", "backward"))
    either = Description("film", ("F1", "F2"), links=links, join="Or")
    for seed in range(50):
        assert re.search(r"\bA\b.* or .*\bB\b", NounPhrases(BOOK, random.Random(seed)).bare(either, plural=True))


def test_a_piece_asks_and_states_the_same():
    piece = Piece("vp", "[lasts|last] over {v}", {"v": "120 minutes"})
    assert piece.text() == "lasts over 120 minutes"
    assert piece.question("Persona") == "Does Persona last over 120 minutes"


def test_templates_have_no_stray_markup():
    allowed = set(string.ascii_letters + string.digits + " .,:;?'-{}[]|()&%³²$/\"")
    for _, _, entry in RELATIONS:
        for slot in ("vp", "post", "noun", "ask"):
            assert all(set(t) <= allowed for t in entry.get(slot, []))
