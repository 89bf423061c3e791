"""SyncGE and GEAR through a real server: whole questions, and once more from the replay cache.

Takes MuSiQue's sample where ``BGR_MULTIHOP`` names its folder, else questions made up here; ``BGR_QUESTIONS`` of
them, 3 by default.
"""

import json
import os

import pytest

from bgr.cli import main

pytestmark = pytest.mark.slow

SYSTEMS = ["bm25", "bm25+sync", "bm25+gear"]


@pytest.fixture
def data(tmp_path, multihop_sample):
    """The options that name questions, passages and triples, and how many questions there are."""
    most = int(os.environ.get("BGR_QUESTIONS", "3"))
    if multihop_sample is not None:
        names = ("musique_train.json", "musique_train_corpus.json", "musique_train_openie_gpt35.json")
        files = [word for pair in zip(("--data", "--corpus", "--openie"), names, strict=True) for word in pair]
        words = [str(multihop_sample / word) if word.endswith(".json") else word for word in files]
        return [*words, "--limit", str(most)], most
    texts = {
        "Persona": "Persona is a film that was made in Sweden by Ingmar Bergman.",
        "Stockholm": "Stockholm is the capital of Sweden.",
        "Radium": "Radium was discovered by Marie Curie in Paris.",
    }
    triples = {
        "Persona": [["Persona", "made in", "Sweden"], ["Persona", "made by", "Ingmar Bergman"]],
        "Stockholm": [["Stockholm", "capital of", "Sweden"]],
        "Radium": [["Radium", "discovered by", "Marie Curie"], ["Radium", "discovered in", "Paris"]],
    }
    asked = {
        "What is the capital of the country where Persona was made?": ("Stockholm", ("Persona", "Stockholm")),
        "Who discovered radium?": ("Marie Curie", ("Radium",)),
        "Who made the film Persona?": ("Ingmar Bergman", ("Persona",)),
    }
    questions = [
        {
            "id": f"{len(gold)}hop__{number}",
            "question": question,
            "answer": answer,
            "answer_aliases": [],
            "paragraphs": [{"title": t, "paragraph_text": x, "is_supporting": t in gold} for t, x in texts.items()],
        }
        for number, (question, (answer, gold)) in enumerate(asked.items())
    ]
    docs = [{"title": t, "text": x, "extracted_triples": triples[t]} for t, x in texts.items()]
    (tmp_path / "q.json").write_text(json.dumps(questions))
    (tmp_path / "t.json").write_text(json.dumps({"docs": docs}))
    words = ["--data", str(tmp_path / "q.json"), "--openie", str(tmp_path / "t.json")]
    return [*words, "--limit", str(most)], min(most, len(questions))


def test_whole_questions_and_again_without_a_call(data, served_smollm2, told, tmp_path, capfd):
    words, count = data
    words = ["compare", *words, "--systems", *SYSTEMS, "--llm", served_smollm2, "--samples", "50", "--json"]
    words += ["--replay", str(tmp_path / "replies.db")]
    assert main([*words, "--out", str(tmp_path / "one")]) == 0
    first = json.loads(capfd.readouterr().out)["systems"]
    assert main([*words, "--replay-only", "--out", str(tmp_path / "two")]) == 0
    second = json.loads(capfd.readouterr().out)["systems"]
    assert told(tmp_path / "one") == told(tmp_path / "two")
    assert len(told(tmp_path / "one")) == count * len(SYSTEMS)
    for name in SYSTEMS[1:]:
        usage = first[name]["usage"]
        assert usage["calls"] + usage["cached"] >= count
        assert usage["tokens_in"] > 50 * count
        assert second[name]["usage"]["calls"] == 0
        # this server does not hold replies to a schema: what fails is counted, and ends nothing
        print(f"{name}: {usage['failed']} failed steps, {usage['calls']} calls, {count} questions")
