"""`bgr ablate prism`, from its arguments to its files, on a small invented corpus and a server on loopback."""

import json

import pytest

from bgr.cli.ablate import command
from bgr.cli.parser import execute
from bgr.errors import BgrError
from bgr.llm.prompts import prompts_hash
from eval.ablations.prism_report import CONTEXTS

PEOPLE = {
    "Persona": ["Persona has two parts.", "It was made in Sweden."],
    "Alpha": ["Alpha is the capital of Sweden.", "It lies by the sea."],
    "Rome": ["Rome is the capital of Italy.", "It is old."],
}


def record(number, text, gold, answer):
    return {
        "_id": f"q{number}",
        "question": text,
        "answer": answer,
        "type": "bridge" if len(gold) > 1 else "single",
        "context": [[title, sentences] for title, sentences in PEOPLE.items()],
        "supporting_facts": gold,
    }


QUESTIONS = [
    record(1, "What is the capital of the country where Persona was made?", [["Persona", 1], ["Alpha", 0]], "Alpha"),
    record(2, "Which city is the capital of Italy?", [["Rome", 0]], "Rome"),
]


@pytest.fixture
def server(chat_server):
    """Takes the question apart, drafts [1, 1], adds [2, 0] and a sentence that does not exist, keeps everything, and
    answers Alpha."""

    def write(request):
        asked = request["messages"][0]["content"]
        if "several facts" in asked:
            return {"questions": ["Where was Persona made?", "What is the capital of it?"]}
        if "name the sentences that answer it" in asked:
            return {"evidence": [{"question": 1, "sentences": [[1, 1]]}]}
        if "was overlooked" in asked:
            return {"evidence": [{"question": 2, "sentences": [[2, 0]]}, {"question": 1, "sentences": [[9, 0]]}]}
        if "take out" in asked:
            return {"keep": [[1, 1], [2, 0]]}
        return {"answerable": True, "answer": "Alpha"}

    return chat_server(write)


@pytest.fixture
def data(tmp_path):
    (tmp_path / "q.json").write_text(json.dumps(QUESTIONS))
    return ["--data", tmp_path / "q.json"]


def ablate(*arguments):
    execute("bgr ablate", command(), ["prism", *map(str, arguments)])


NAMES = ["prism", "no-adder", "four-rounds", *CONTEXTS]


def test_variants_resumed_and_replayed(data, server, tmp_path, capsys):
    options = [
        *data,
        "--llm",
        server.spec,
        "--variants",
        *NAMES,
        "--replay",
        tmp_path / "replies.db",
        "--out",
        tmp_path / "out",
        "--json",
    ]
    ablate(*options)
    found = json.loads(capsys.readouterr().out)
    assert list(found["variants"]) == NAMES
    settings = found["about"]["settings"]
    assert [settings[name]["rounds"] for name in NAMES] == [3, 1, 4, 3, 3]
    text = (tmp_path / "out" / "prism.md").read_text()
    assert f"- prompts: {prompts_hash('bgr.prism')}\n- settings: " in text
    assert found == json.loads((tmp_path / "out" / "prism.json").read_text())
    means = {name: one["mean"] for name, one in found["variants"].items()}
    # the first question's evidence is its gold, the second's is not; both answers are Alpha
    prism = means["prism"]
    assert (prism["passage_precision"], prism["passage_recall"], prism["fact_f1"], prism["em"]) == (0.5, 0.5, 0.5, 0.5)
    assert prism["sentences_left"] == pytest.approx(2 / 6)
    assert prism["hallucinated"] == 3  # one in each round
    assert [means[name]["sentences"] for name in ("full-context", "oracle")] == [6, 1.5]
    assert len(found["variants"]["four-rounds"]["rounds"]) == 4
    made = server.calls
    assert made == sum(one["usage"]["calls"] for one in found["variants"].values())
    # nothing is run again; what another folder lacks comes from the cache
    ablate(*options)
    assert json.loads(capsys.readouterr().out) == found
    ablate(*options[:-3], "--replay-only", "--out", tmp_path / "two", "--json")
    again = json.loads(capsys.readouterr().out)["variants"]
    assert server.calls == made
    assert {name: one["mean"] for name, one in again.items()} == means
    assert all(one["usage"]["calls"] == 0 for one in again.values())


def test_other_gold_or_other_prompts_are_other_results(data, server, tmp_path, capsys, monkeypatch):
    out = tmp_path / "out"
    options = [*data, "--llm", server.spec, "--replay", tmp_path / "replies.db", "--out", out, "--json"]
    options += ["--variants", "oracle", "full-context"]

    def sentences():
        ablate(*options)
        found = json.loads(capsys.readouterr().out)["variants"]
        return [found[name]["mean"]["sentences"] for name in ("oracle", "full-context")]

    def lines():
        return len((out / "results.jsonl").read_text().splitlines())

    assert (sentences(), lines()) == ([1.5, 6], 4)
    assert (sentences(), lines()) == ([1.5, 6], 4)
    # the corpus is the same: only the gold changes, then only a context
    data[1].write_text(json.dumps([QUESTIONS[0], {**QUESTIONS[1], "supporting_facts": [["Rome", 0], ["Rome", 1]]}]))
    assert (sentences(), lines()) == ([2, 6], 8)
    shorter = {**QUESTIONS[1], "context": QUESTIONS[1]["context"][2:]}
    data[1].write_text(json.dumps([QUESTIONS[0], shorter]))
    assert (sentences(), lines()) == ([1.5, 4], 12)
    monkeypatch.setattr("bgr.llm.prompts.AGAIN", "bgr.multihop")
    assert (sentences(), lines()) == ([1.5, 4], 16)


def test_candidates_of_a_search_and_the_tables_on_screen(data, server, tmp_path, capsys):
    options = ["--llm", server.spec, "--candidates", "bm25", "--k", "2", "--limit", "1"]
    options += ["--variants", "prism", "oracle"]
    ablate(*data, *options, "--out", tmp_path / "out")
    shown = capsys.readouterr().out
    assert "fact-P" in shown
    assert shown.count("oracle") == 2  # answers and cost
    lines = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [line["system"] for line in lines] == ["prism", "oracle"]
    assert len(lines[0]["trace"][0]["places"]) == 2


def test_gold_sentences_are_those_of_the_questions_with_a_corpus_file_too(server, tmp_path, capsys):
    """The corpus gives texts only, and a rule would cut these otherwise than the questions' file does."""
    people = {**PEOPLE, "Persona": ["Persona", " has two parts. It was made in Sweden."]}
    asked = {**QUESTIONS[0], "context": [[title, sentences] for title, sentences in people.items()]}
    corpus = [{"title": title, "text": " ".join(sentences)} for title, sentences in PEOPLE.items()]
    (tmp_path / "q.json").write_text(json.dumps([asked]))
    (tmp_path / "c.json").write_text(json.dumps(corpus))
    files = ["--data", tmp_path / "q.json", "--corpus", tmp_path / "c.json", "--llm", server.spec]
    ablate(*files, "--variants", "prism", "oracle", "--out", tmp_path / "out", "--json")
    means = {name: one["mean"] for name, one in json.loads(capsys.readouterr().out)["variants"].items()}
    assert (means["prism"]["fact_f1"], means["oracle"]["fact_f1"], means["oracle"]["sentences"]) == (1, 1, 2)
    texts = [json.loads(body)["messages"][0]["content"] for body in server.asked]
    assert any("[1, 1] has two parts. It was made in Sweden." in text for text in texts)
    assert any("Persona\nhas two parts. It was made in Sweden.\n" in text for text in texts)  # the oracle's


def test_what_does_not_fit_is_said_in_one_line(data, tmp_path, capsys):
    out = ["--llm", "none", "--out", tmp_path / "out"]
    for options, message in (
        (["--variants", "prsm"], "unknown variant 'prsm', known: four-rounds"),
        (["--variants", "prism", "prism"], "'prism' is there twice"),
        (["--replay-only"], "--replay-only needs --replay"),
    ):
        with pytest.raises((BgrError, SystemExit)) as caught:
            ablate(*data, *options, *out)
        assert message in f"{caught.value} {capsys.readouterr().err}"
    assert not (tmp_path / "out").exists()


def test_questions_that_read_alike_have_their_own_gold(data, server, tmp_path, told):
    twice = [QUESTIONS[0], {**QUESTIONS[0], "_id": "q9", "supporting_facts": [["Rome", 0]]}]
    data[1].write_text(json.dumps(twice))
    ablate(*data, "--llm", server.spec, "--variants", "oracle", "--out", tmp_path / "out")
    found = told(tmp_path / "out")
    first, second = found["oracle", "q1"]["sentences"], found["oracle", "q9"]["sentences"]
    assert len(second) == 1
    assert second[0] not in first


def test_gold_articles_are_no_candidates(tmp_path, server, encoder_folder, capsys):
    """MultiHop-RAG's questions come with their gold articles; PRISM searches its corpus or is refused."""
    articles = [{"title": t, "body": " ".join(s), "url": f"http://x/{t}"} for t, s in PEOPLE.items()]
    evidence = [{"url": "http://x/Persona", "fact": "It was made in Sweden."}]
    query = {"query": "Where was Persona made?", "answer": "Sweden", "question_type": "inference_query"}
    (tmp_path / "rag.json").write_text(json.dumps([{**query, "evidence_list": evidence}]))
    (tmp_path / "corpus.json").write_text(json.dumps(articles))
    words = ["--data", tmp_path / "rag.json", "--corpus", tmp_path / "corpus.json", "--llm", server.spec]
    words += ["--variants", "prism", "--out", tmp_path / "out"]
    with pytest.raises(BgrError, match=r"--candidates context: .* gold passages.*allowed: --candidates bm25"):
        execute("bgr ablate prism", command().commands["prism"], [*map(str, words)])
    assert not (tmp_path / "out").exists()
    words += ["--candidates", "bm25", "--settings", "prism", "prism.rounds=1", "--json"]
    execute("bgr ablate prism", command().commands["prism"], [*map(str, words)])
    found = json.loads(capsys.readouterr().out)
    assert found["about"]["settings"]["prism"]["rounds"] == 1
