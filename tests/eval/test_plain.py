"""`bgr ablate plain`: the questions, the rates, and the command from a checkpoint to its report."""

import json
import math
import random
from types import SimpleNamespace

import pytest
import yaml

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.data.atlas import phrasing
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.errors import DataError
from bgr.metrics.answers import answer_match
from bgr.pipeline import BgrPipeline
from bgr.reader.reader import ReaderAnswer
from eval.ablations.plain import PlainAnswer, PlainStudy, ask_plain
from eval.ablations.plain_questions import Patterns, PlainQuestion, load_patterns, plain_questions
from training.questions.plain_questions import plain_patterns
from training.questions.unanswerable import PATTERNS as PATTERNS_OF_TRAINING

PATTERNS = Patterns(
    stated={
        "capital": ["capital of {}", "Which city is {}'s capital?"],
        "runtime": ["How long is {}?"],
        "director": ["Whose film is {}?"],
        "release date": ["Since when is {} out?"],
    },
    not_stated={"work": ["Who edited {}?", "Which song ends {}?"], "country": ["Who rules {}?"]},
)


def relation(name, other, direction="forward"):
    return {"relation": name, "object": other, "direction": direction, "qualifiers": {}}


def attribute(key, kind, value, **unit):
    return {"key": key, "value": {"type": kind, "value": value, **unit}, "qualifiers": {}}


def entity(name, concept, *statements):
    return {
        "name": name,
        "instanceOf": [concept],
        "relations": [one for one in statements if "relation" in one],
        "attributes": [one for one in statements if "key" in one],
    }


def records():
    """Films that are works, two of them of one name, and countries with a capital each."""
    minutes = attribute("runtime", "quantity", 85, unit="minute")
    found = {
        "p": entity("Persona", "film", minutes, relation("director", "b"), relation("director", "u")),
        "s1": entity("Solaris", "film", minutes),
        "s2": entity("solaris", "film", minutes),
        "o": entity("Opera", "film", attribute("release date", "date", "1995-05-19")),
        "b": entity("Bergman", "person"),
        # stored at the tail alone
        "u": entity("Ullmann", "person", relation("director", "o", "backward")),
    }
    for number in range(60):
        found[f"t{number}"] = entity(f"town {number}", "city")
        found[f"c{number}"] = entity(f"land {number}", "country", relation("capital", f"t{number}"))
    concepts = {"work": [], "film": ["work"], "person": [], "city": [], "country": []}
    return {
        "concepts": {name: {"name": name, "subclassOf": above} for name, above in concepts.items()},
        "entities": found,
    }


@pytest.fixture(scope="module")
def kb():
    return KnowledgeBase(records())


def of_group(questions, group):
    return [one for one in questions if one.group == group]


def test_the_answers_are_the_values_of_all_statements(kb):
    found = plain_questions(kb, PATTERNS, per=6, seed=0)
    assert {one.entity: one.answers for one in of_group(found, "director")} == {
        "Persona": ("Bergman", "Ullmann"),
        "Opera": ("Ullmann",),
    }
    [runtime] = of_group(found, "runtime")
    assert (runtime.text, runtime.answers) == ("How long is Persona?", ("85 minute",))
    [date] = of_group(found, "release date")
    assert date.answers == ("1995-05-19",)
    assert answer_match("May 19, 1995", date.answers[0])
    for one in of_group(found, "capital"):
        assert one.answers == (one.entity.replace("land", "town"),)
        assert one.text == one.pattern.replace("{}", one.entity)


def test_names_are_unique(kb):
    found = plain_questions(kb, PATTERNS, per=100, seed=0)
    assert not any("olaris" in one.text for one in found)
    # of a kind are the members of its sub-concepts, but no concept itself
    assert {one.entity for one in of_group(found, "work")} == {"Persona", "Opera"}
    assert all(one.answers == () for group in PATTERNS.not_stated for one in of_group(found, group))


def test_every_pattern_is_asked_as_often(kb):
    found = of_group(plain_questions(kb, PATTERNS, per=7, seed=0), "capital")
    assert [sum(one.pattern == pattern for one in found) for pattern in PATTERNS.stated["capital"]] == [7, 7]
    assert len({one.entity for one in found}) == 14


def test_the_seed_decides(kb):
    first, again, other = (plain_questions(kb, PATTERNS, per=6, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert of_group(first, "capital") != of_group(other, "capital")
    # a predicate's questions do not depend on the other patterns
    alone = plain_questions(kb, Patterns({"capital": PATTERNS.stated["capital"]}, {}), per=6, seed=3)
    assert alone == of_group(first, "capital")


def test_questions_are_about_what_has_many_statements():
    given = records()
    for number in range(50, 60):
        given["entities"][f"c{number}"]["attributes"].append(attribute("area", "quantity", number))
    patterns = Patterns({"capital": ["capital of {}"]}, {})
    found = {
        one.entity for seed in range(40) for one in plain_questions(KnowledgeBase(given), patterns, per=8, seed=seed)
    }
    assert found == {f"land {number}" for number in (*range(30), *range(50, 60))}


def test_shipped_patterns():
    found = load_patterns()
    stated, other = ([one for texts in group.values() for one in texts] for group in (found.stated, found.not_stated))
    assert all(one.count("{") == one.count("}") == one.count("{}") == 1 for one in (*stated, *other))
    lower = [{one.lower() for one in group} for group in (stated, other)]
    assert not lower[0] & lower[1]
    assert len(lower[0]) == len(stated)
    assert min(map(len, (*found.stated.values(), *found.not_stated.values()))) >= 2


def test_no_training_asks_them():
    """The released weights learned to answer other words, and to refuse questions about other things."""
    refused = json.loads(PATTERNS_OF_TRAINING.read_text(encoding="utf-8"))
    learned = {one.lower() for texts in (*refused.values(), *plain_patterns().values()) for one in texts}
    found = load_patterns()
    asked = [*found.stated.values(), *found.not_stated.values()]
    assert learned.isdisjoint(one.lower() for texts in asked for one in texts)


def test_shipped_patterns_are_not_in_the_words_of_atlas():
    from importlib.resources import files

    attributes, relations = (
        yaml.safe_load(files(phrasing).joinpath(name).read_text(encoding="utf-8"))
        for name in ("attributes.yaml", "relations.yaml")
    )
    own = {one for way in relations.values() for each in way.values() for one in each.get("ask", ())}
    for each in attributes["attributes"].values():
        own |= {one for name in ("ask", "ask year") for one in each.get(name, ())}
        nouns = [] if each.get("generic") is False else each.get("nouns", [])
        own |= {one.replace("{a}", noun) for noun in nouns for one in attributes["generic"]["ask"]}
    own = {one.replace("{x}", "{}").lower() for one in own}
    assert "what is the population of {}?" in own
    found = load_patterns()
    asked = {one for group in (found.stated, found.not_stated) for texts in group.values() for one in texts}
    assert not {one.lower() for one in asked} & own
    # every predicate is one of Atlas
    assert set(found.stated) <= {*attributes["attributes"], *relations}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"concepts": {}, "entities": {}}, "kb.json: the knowledge base has no entities"),
        (
            {"concepts": {}, "entities": {"a": entity("A", "x")}},
            "can be asked about; allowed: capital, runtime, direct",
        ),
    ],
)
def test_a_knowledge_base_without_questions(given, said):
    with pytest.raises(DataError, match=said) as error:
        plain_questions(KnowledgeBase(given), PATTERNS, per=6, seed=0)
    assert "\n" not in str(error.value)


def said(text, confidence, *answers, group="g"):
    return PlainAnswer(PlainQuestion("q", "e", group, "{}", answers), text, confidence)


def test_answers_are_those_of_the_pipeline():
    questions = [PlainQuestion(f"q{n}", "e", "g", "{}", ("1",)) for n in range(2)]
    asked = []

    def answer_all(queries, *, collection, progress):
        asked.append(([one.question for one in queries], [one.candidates for one in queries], collection, progress))
        return [
            SimpleNamespace(text="1", confidence=0.5, evidence=[{"text": "a"}, {"text": "b"}]),
            SimpleNamespace(text=None, confidence=0.0, evidence=[]),
        ]

    found = ask_plain(SimpleNamespace(answer_all=answer_all), "texts", questions)
    assert asked == [(["q0", "q1"], [None, None], "texts", True)]
    assert [(one.text, one.confidence, one.evidence) for one in found] == [("1", 0.5, ("a", "b")), (None, 0.0, ())]


def slow_rates(answers):
    """Counts in plain loops: all questions, and those of each group."""
    found = {}
    for one in answers:
        for group in ("all", one.question.group):
            row = found.setdefault(group, {"n": 0})
            row["n"] += 1
            right = any(answer_match(one.text, each) for each in one.question.answers)
            sure = one.text is not None and one.confidence >= 0.8
            for name, value in (
                ("right", right),
                ("silent", one.text is None),
                ("wrong and sure", sure and not right),
                ("answered", one.text is not None),
                ("answered and sure", sure),
            ):
                row[name] = row.get(name, 0) + value
    return found


def test_rates_are_those_of_a_loop():
    draw = random.Random(5)
    answers = []
    for number in range(80):
        text = draw.choice(["112 minutes", "Rome", None])
        confidence = 0.0 if text is None else draw.choice([0.1, 0.79, 0.8, 0.99])
        gold = draw.choice([(), ("112 minute",), ("Paris", "Rome")])
        answers.append(said(text, confidence, *gold, group=f"{bool(gold)}{number % 3}"))
    study = PlainStudy(tuple(answers), {})
    found = study.to_json()
    for name, part in (("stated", study.stated), ("not_stated", study.not_stated)):
        slow = slow_rates(part)
        assert [row["group"] for row in found[name]] == list(slow)
        for row in found[name]:
            for score, value in row.items():
                if score not in ("group", "n"):
                    assert value == pytest.approx(slow[row["group"]][score] / row["n"])
    right = [one.confidence for one in study.stated if any(answer_match(one.text, a) for a in one.question.answers)]
    other = [one.confidence for one in study.not_stated]
    wins = sum((a > b) + (a == b) / 2 for a in right for b in other)
    assert found["auc"] == pytest.approx(wins / (len(right) * len(other)))


def test_tables_have_intervals_in_the_first_row():
    answers = (
        said("Rome", 0.9, "Rome", group="capital"),
        said("Rome", 0.9, "Paris", group="capital"),
        said(None, 0.0, "5", group="area"),
        said("Oslo", 0.8, group="city"),
        said(None, 0.0, group="city"),
    )
    stated, other = PlainStudy(answers, {}).tables()
    assert stated.header == ["predicate", "right", "silent", "wrong and sure", "n"]
    assert stated.rows[0][1] == "33.3 [0.0, 100.0]"
    assert stated.rows[1:] == [["capital", "50.0", "0.0", "50.0", "2"], ["area", "0.0", "100.0", "0.0", "1"]]
    assert other.rows[0] == ["all", "50.0 [0.0, 100.0]", "50.0 [0.0, 100.0]", "2"]
    assert other.rows[1] == ["city", "50.0", "50.0", "2"]
    assert PlainStudy(answers, {}).auc == 1.0


def test_an_unknown_confidence_is_not_taken_for_a_number():
    study = PlainStudy((said("Rome", None, "Paris"), said("Oslo", None)), {})
    stated, other = study.tables()
    assert [row[3] for row in stated.rows] == ["–", "–"]
    assert [row[2] for row in other.rows] == ["–", "–"]
    assert study.auc is None
    assert math.isnan(study.to_json()["stated"][0]["wrong and sure"])
    alone = PlainStudy((said("Rome", 0.9, "Rome"),), {})
    assert alone.tables()[1].rows == [["all", "–", "–", "0"]]
    assert alone.auc is None
    assert alone.line.endswith("–")


SENTENCES = ["paris is the capital of france .", "rome is the capital of italy .", "alpha is the capital of sweden ."]


class FirstWord:
    """A reader that says the first word of the evidence."""

    def answer(self, items, *, progress=False):
        return [
            ReaderAnswer(one.facts[one.graph.order()[0]].split()[0] if one.graph.nodes else None, 0.9) for one in items
        ]


@pytest.fixture
def places(pruned_checkpoint, tmp_path):
    """A checkpoint, a collection of three sentences, and a knowledge base that states them."""
    Collection.build(
        [{"id": f"p{n}", "title": "", "text": text} for n, text in enumerate(SENTENCES)],
        tmp_path / "texts",
        encoder=None,
    )
    entities = {}
    for text in SENTENCES:
        capital, *_, country, _ = text.split()
        entities |= {
            capital: entity(capital, "city"),
            country: entity(country, "country", relation("capital", capital)),
        }
    concepts = {name: {"name": name, "subclassOf": []} for name in ("city", "country")}
    (tmp_path / "atlas").mkdir()
    (tmp_path / "atlas" / "kb.json").write_text(json.dumps({"concepts": concepts, "entities": entities}))
    return {"--checkpoint": pruned_checkpoint, "--collection": tmp_path / "texts", "--kqapro": tmp_path / "atlas"}


def words(places, out):
    return ["ablate", "plain", *(str(word) for pair in places.items() for word in pair), "--out", str(out)]


def error_line(capsys):
    """The one line of the error; transformers shows bars before it."""
    printed = capsys.readouterr().err
    [line] = [one for one in printed.split("\n") if one and "Loading weights" not in one]
    return line


@pytest.fixture
def with_reader(monkeypatch):
    """The checkpoint has a reader."""
    load = BgrPipeline.from_pretrained

    def loaded(*given, **options):
        pipeline = load(*given, **options)
        pipeline.reader = FirstWord()
        return pipeline

    monkeypatch.setattr(BgrPipeline, "from_pretrained", loaded)


@pytest.mark.usefixtures("with_reader")
def test_from_a_checkpoint_to_the_report(places, tmp_path, capsys):
    out = tmp_path / "out"
    assert main([*words(places, out), "--per", "1", "--seed", "2", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / "plain.json").read_text())
    about = printed["about"]
    assert (about["sentences"], about["stated"], about["seed"], len(about["kb_hash"])) == (3, 3, 2, 64)
    stated = [one for one in printed["questions"] if one["answers"]]
    assert {one["group"] for one in stated} == {"capital"}
    assert {one["group"] for one in printed["questions"] if not one["answers"]} == {"city", "country"}
    assert about["not_stated"] == len(printed["questions"]) - 3
    for one in stated:
        assert one["right"] == (one["said"] == one["answers"][0])
        assert one["said"] == (one["evidence"][0].split()[0] if one["evidence"] else None)
        assert set(one["evidence"]) <= set(SENTENCES)
    assert any(one["said"] for one in stated)
    text = (out / "plain.md").read_text()
    assert "| capital |" in text
    assert "| country |" in text
    assert "AUC of the confidence" in text
    assert main([*words(places, out), "--per", "1", "--overwrite"]) == 0
    assert "written to" in capsys.readouterr().out


def test_a_checkpoint_without_reader_is_refused(places, tmp_path, capsys):
    assert main(words(places, tmp_path / "out")) == 1
    assert "the checkpoint has no reader to answer with; give one: --reader" in error_line(capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("with_reader")
@pytest.mark.parametrize("missing", ["--checkpoint", "--collection", "--kqapro", "--reader"])
def test_what_is_missing_is_one_line(missing, places, tmp_path, capsys):
    assert main(words({**places, missing: tmp_path / "none"}, tmp_path / "out")) == 1
    assert str(tmp_path / "none") in error_line(capsys)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("with_reader")
@pytest.mark.parametrize("entities", [{}, {"a": entity("A", "city")}])
def test_a_knowledge_base_without_questions_is_one_line(entities, places, tmp_path, capsys):
    file = places["--kqapro"] / "kb.json"
    file.write_text(json.dumps({"concepts": {}, "entities": entities}))
    assert main(words(places, tmp_path / "out")) == 1
    assert str(file) in error_line(capsys)
