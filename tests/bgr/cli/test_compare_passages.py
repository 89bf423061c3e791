"""`bgr compare` on passages, from its arguments to its files, on a small invented corpus and an encoder made here."""

import json
from pathlib import Path

import pytest

from bgr.cli.compare import command
from bgr.cli.parser import execute
from bgr.collection.collection import Collection
from bgr.collection.corpus import Corpus, Passage
from bgr.collection.embedding import load_encoder
from bgr.data.multihop.load import load_multihop
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import BgrError
from bgr.pipeline import BgrPipeline
from bgr.retrievers.base import Query
from bgr.retrievers.llm_graph.forms import FORMS
from eval.systems.options import CompareOptions
from eval.systems.resources import Resources
from eval.systems.spec import LLM_GRAPHS

PEOPLE = {
    "Paris": "Paris is the capital of France .",
    "Rome": "Rome is the capital of Italy .",
    "Persona": "Persona was made in Sweden by Bergman .",
    "Alpha": "Alpha is the capital of Sweden .",
    "Radium": "Radium was discovered in Paris .",
}
TRIPLES = {
    "Paris": [["Paris", "capital of", "France"]],
    "Rome": [["Rome", "capital of", "Italy"]],
    "Persona": [["Persona", "made in", "Sweden"], ["Persona", "two parts"]],
    "Alpha": [["Alpha", "capital of", "Sweden"]],
    "Radium": [["Radium", "discovered in", "Paris"]],
}


def question(number, text, gold, answer):
    paragraphs = [
        {"idx": n, "title": title, "paragraph_text": body, "is_supporting": title in gold}
        for n, (title, body) in enumerate(PEOPLE.items())
    ]
    return {
        "id": f"{len(gold)}hop__{number}",
        "question": text,
        "answer": answer,
        "answer_aliases": [],
        "answerable": True,
        "paragraphs": paragraphs,
        "question_decomposition": [{} for _ in gold],
    }


@pytest.fixture
def files(tmp_path, encoder_folder):
    """The options that name the data, the triples and the encoder."""
    questions = [
        question(1, "What is the capital of the country where Persona was made ?", ["Persona", "Alpha"], "Alpha"),
        question(2, "Where was Radium discovered ?", ["Radium"], "Paris"),
        question(3, "Which city is the capital of Italy ?", ["Rome"], "Rome"),
    ]
    docs = [{"title": t, "text": body, "extracted_triples": TRIPLES[t]} for t, body in PEOPLE.items()]
    (tmp_path / "q.json").write_text(json.dumps(questions))
    (tmp_path / "t.json").write_text(json.dumps({"docs": docs}))
    data, triples = str(tmp_path / "q.json"), str(tmp_path / "t.json")
    return ["--data", data, "--openie", triples, "--encoder", str(encoder_folder), "--samples", "50"]


def compare(*arguments):
    execute("bgr compare", command(), [*map(str, arguments)])


def test_base_searches_and_naive(files, tmp_path, capsys):
    names = ["bm25", "dense", "hybrid", "bm25+naive", "dense+naive", "hybrid+naive", "hybrid+naive-plain"]
    compare(*files, "--systems", *names, "--out", tmp_path / "out", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads((tmp_path / "out" / "passages.json").read_text())
    assert list(found["systems"]) == names
    assert all(one["R@5"]["mean"] == 1 for one in found["systems"].values())  # the corpus has five passages
    assert found["systems"]["bm25"]["R@2"]["mean"] < 1
    assert (found["about"]["passages"], found["about"]["questions"]) == (5, 3)
    assert "5 triples of 6 rows" in found["about"]["triples"]
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert len(lines) == 3 * len(names)
    # the same command runs nothing again; one more system runs alone; a limit cuts questions
    compare(*files, "--systems", *names, "bm25+naive-plain", "--out", tmp_path / "out")
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["system"] for line in lines[3 * len(names) :]] == ["bm25+naive-plain"] * 3
    capsys.readouterr()
    compare(*files, "--systems", "bm25", "--limit", "2", "--out", tmp_path / "out", "--json")
    assert json.loads(capsys.readouterr().out)["systems"]["bm25"]["n"] == 2
    assert (tmp_path / "out" / "results.jsonl").read_text().splitlines() == lines


def test_a_collection_in_place_of_encoding(files, encoder_folder, tmp_path, told, capsys):
    data, openie = files[1], files[3]
    corpus = load_multihop(Path(data)).corpus
    words = ["--data", data, "--encoder", encoder_folder, "--samples", "50", "--limit", "2"]
    words += ["--systems", "bm25", "dense", "hybrid+naive", "--scope"]
    more = [*corpus, Passage("more", "Oxla", "Oxla is a river .")]
    for name, passages in (("same", corpus), ("larger", more)):
        folder = tmp_path / name
        # in the precision of a comparison; by default a collection is encoded in what is fast on the machine
        encoder = load_encoder(encoder_folder, precision="32")
        Collection.build(Corpus(passages), folder, encoder=encoder, triples=openie)
        for scope in ("corpus", "question") if name == "same" else ("question",):
            compare(*words, scope, "--collection", folder, "--out", tmp_path / f"{name}-{scope}")
            compare(*words, scope, "--openie", openie, "--out", tmp_path / f"encoded-{scope}")
            assert told(tmp_path / f"{name}-{scope}") == told(tmp_path / f"encoded-{scope}")
            keys = [
                {json.loads(line)["key"] for line in (tmp_path / f"{one}-{scope}" / "results.jsonl").open()}
                for one in (name, "encoded")
            ]
            assert keys[0] == keys[1]
    Collection.build(Corpus(list(corpus)[1:]), tmp_path / "less", encoder=encoder_folder)
    with pytest.raises(BgrError, match="less: does not hold passage"):
        compare(*words, "corpus", "--collection", tmp_path / "less", "--out", tmp_path / "out")


@pytest.fixture
def server(chat_server):
    """Answers every question with Alpha, finds one fact, and never finds the evidence sufficient."""

    def write(request):
        asked = request["messages"][-1]["content"]
        if "facts" in asked.rsplit("Reply", 1)[-1]:
            return {"facts": [["Persona", "made in", "Sweden"]]}
        return {"answer": "Alpha"} if "You answer a question from passages" in asked else {"oops": 1}

    return chat_server(write)


def test_language_model_reader_and_replay(files, tmp_path, server, capsys):
    """SyncGE, GEAR and a reader call a server on loopback; the replay cache gives the same lists without a call."""
    model = ["--llm", server.spec, "--reader", server.spec, "--replay", tmp_path / "replies.db"]
    systems = ["--systems", "bm25", "bm25+sync", "gear"]
    compare(*files, *model, *systems, "--out", tmp_path / "one", "--json")
    found = json.loads(capsys.readouterr().out)["systems"]
    made = server.calls
    assert made == sum(one["usage"]["calls"] for one in found.values()) > 6
    assert found["bm25"]["per_question"]["calls"] == 1
    assert all(one["QA EM"]["mean"] == pytest.approx(1 / 3) for one in found.values())
    assert found["gear"]["usage"]["failed"] >= 3  # its reason step got nothing that fits
    assert found["gear"]["rounds"][0]["n"] == 3
    assert [path.name for path in tmp_path.glob("replies.db*")] == ["replies.db"]  # closed, without a log beside it
    compare(*files, *model, *systems, "--replay-only", "--out", tmp_path / "two", "--json")
    again = json.loads(capsys.readouterr().out)["systems"]
    assert server.calls == made
    for name, one in found.items():
        assert again[name]["usage"]["calls"] == 0
        assert again[name]["usage"]["cached"] == one["usage"]["calls"] + one["usage"]["cached"]
        assert again[name]["R@2"] == one["R@2"]


def test_a_server_that_counts_no_tokens(files, tmp_path, chat_server, capsys):
    """Tokens and cost are unknown, also on the screen and from the replay cache."""
    words = [*files, "--reader", chat_server(lambda _: {"answer": "Alpha"}, usage={}).spec, "--price", "1", "2"]
    words += ["--replay", tmp_path / "replies.db", "--systems", "bm25"]
    for name, options in (("one", ["--batch-size", "8"]), ("two", ["--replay-only"])):
        compare(*words, *options, "--out", tmp_path / name)
        out = capsys.readouterr().out
        assert "Replies without one: bm25 3 of 3." in " ".join(out.split())
        line = next(line for line in out.splitlines() if line.startswith("bm25 "))
        assert line.split()[-5:-1] == ["–", "–", "0", "–"]  # tokens, failed, cost


def test_bad_options_are_one_line(files, tmp_path, capsys):
    out = ["--out", str(tmp_path / "out")]
    for options, message in (
        (["--systems", "bm26"], "unknown system 'bm26', known: bm25, dense"),
        (["--systems", "bm25", "bm25"], "'bm25' is there twice"),
        (["--systems", "gear"], "gear asks a language model: give --llm"),
        (["--systems", "bm25", "--replay-only"], "--replay-only needs --replay"),
        (["--systems", "bm25", "--seed", "-1"], "--seed: -1: allowed: 0 or more"),
        (["--systems", "bm25", "--form", "squad"], "unknown form 'squad'"),
    ):
        with pytest.raises((BgrError, SystemExit)) as caught:
            compare(*files, *options, *out)
        assert message in f"{caught.value} {capsys.readouterr().err}"
        assert not (tmp_path / "out").exists()
    bare = files[:2]
    with pytest.raises(BgrError, match=r"bm25\+naive goes along triples: give --openie"):
        compare(*bare, "--systems", "bm25+naive", *out)


def test_a_folder_of_something_else_is_left_alone(files, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(BgrError, match=r"exists already and holds no results\.jsonl"):
        compare(*files, "--systems", "bm25", "--out", other)
    assert (other / "thesis.txt").read_text() == "years of work"
    compare(*files, "--systems", "bm25", "--out", other, "--overwrite")
    assert not (other / "thesis.txt").exists()


def test_a_dataset_folder(toy_data, encoder_folder, tmp_path, capsys):
    words = ["--data", toy_data, "--encoder", encoder_folder, "--samples", "50", "--out", tmp_path / "out"]
    compare(*words, "--systems", "bm25", "dense", "--json")
    found = json.loads(capsys.readouterr().out)
    assert found["about"]["questions"] == 10
    assert list(found["systems"]["bm25"]["by"]["kind"]) == ["SC-MH"]
    with pytest.raises(BgrError, match="--corpus and --form are for published files"):
        compare(*words, "--form", "musique", "--systems", "dense")
    # bm25 finds graphs too, and then nothing of passages is asked for
    with pytest.raises(BgrError, match="--encoder is for passages, allowed there: --systems bm25 "):
        compare(*words, "--systems", "bm25")
    for option in (["--main", "dense"], ["--sweep", tmp_path]):
        with pytest.raises(BgrError, match=f"{option[0]} is for graphs"):
            compare(*words, "--systems", "dense", *option)
    with pytest.raises(BgrError, match="llm-edges is shown questions of the train split: give --split dev or test"):
        compare(*words, "--systems", "llm-edges", "--llm", "smollm2", "--split", "train")
    with pytest.raises(BgrError, match=r"nothing\.json: no such file or folder"):
        compare("--data", tmp_path / "nothing.json", "--systems", "bm25", "--out", tmp_path / "out")


ASKING = ("bm25+sync", "gear", "prism", "bridgerag", "bridgerag-p", *LLM_GRAPHS)


@pytest.fixture
def triples_of_facts(toy_data, tmp_path):
    """Made-up triples of the toy dataset's facts, in HippoRAG's form."""
    facts = dict.fromkeys(fact for example in load_split(toy_data, "test") for fact in example.facts)
    docs = [
        {"title": "", "text": one, "extracted_triples": [[one.split()[0], "is in", one.split()[-2]]]} for one in facts
    ]
    (tmp_path / "facts.json").write_text(json.dumps({"docs": docs}))
    return tmp_path / "facts.json"


def test_peers_and_settings_of_single_systems(files, tmp_path, schema_server, capsys):
    """IRCoT, HippoRAG and rerankers in the same table, and one method twice with other settings."""
    names = ["bm25+ircot", "hipporag", "hipporag+ircot", "bm25+rerank", "bm25+setr"]
    changed = ["hybrid+sync@score=text,link=base", "short=gear@rounds=1"]
    words = [*files, "--llm", schema_server.spec, "--replay", tmp_path / "replies.db", "--out", tmp_path / "out"]
    compare(*words, "--systems", *names, *changed, "--settings", "ircot", "ircot.steps=2", "--json")
    found = json.loads(capsys.readouterr().out)
    assert list(found["systems"]) == [*names, changed[0], "short"]
    settings = found["about"]["settings"]
    assert settings["bm25+ircot"]["ircot"]["steps"] == 2
    assert (settings[changed[0]]["gear"]["score"], settings["short"]["gear"]["rounds"]) == ("text", 1)
    assert settings["bm25+setr"]["rerank"]["form"] == "set"
    usage = {name: one["usage"]["calls"] + one["usage"]["cached"] for name, one in found["systems"].items()}
    assert usage["bm25+rerank"] == usage["bm25+setr"] == usage["hipporag"] == 3
    assert usage["bm25+ircot"] == 3 * 2
    assert all(one["usage"]["failed"] == 0 for one in found["systems"].values())
    groups = found["systems"]["hipporag"]["by"]["density"]  # all passages have one triple
    assert list(groups) == ["below 9"]


@pytest.mark.workflow
def test_every_system_over_the_facts_of_each_question(
    toy_data, triples_of_facts, encoder_folder, tmp_path, schema_server, told, capsys, pictures
):
    """Graphs, lists, language models and bounds are in one table; the replay cache alone gives the same results."""
    names = ["bm25", "dense", "hybrid", "random", *ASKING, "gold", "nothing"]
    words = ["--data", toy_data, "--encoder", encoder_folder, "--samples", "50", "--limit", "3", "--price", "1", "10"]
    words += ["--openie", triples_of_facts, "--llm", schema_server.spec, "--systems", *names, "--json"]
    words += ["--replay", tmp_path / "replies.db"]
    compare(*words, "--out", tmp_path / "one")
    found = json.loads(capsys.readouterr().out)
    assert found["about"]["scope"] == "question"
    systems = found["systems"]
    assert list(systems) == names
    assert systems["gold"]["GM"]["mean"] == systems["gold"]["F1"]["mean"] == 1
    assert systems["nothing"]["R"]["mean"] == 0
    assert all("GED" in one and "P" in one for one in systems.values())
    for name, one in systems.items():
        used = one["usage"]
        assert ((used["tokens_in"] > 0), used["failed"]) == (name in ASKING, 0), name
        assert one["per_question"]["cost"] == pytest.approx((used["tokens_in"] + 10 * used["tokens_out"]) / 3e6)
    assert systems["bridgerag"]["usage"]["calls"] + systems["bridgerag"]["usage"]["cached"] == 3 * 3
    made = schema_server.calls
    compare(*words, "--replay-only", "--out", tmp_path / "two")
    assert schema_server.calls == made
    first, second = told(tmp_path / "one"), told(tmp_path / "two")
    assert first.keys() == second.keys()
    for (name, id), one in first.items():
        assert second[name, id] == one, name
    # replies differ from prompt to prompt, so results do from question to question
    assert all(len({json.dumps(one) for (of, _), one in first.items() if of == name}) == 3 for name in ASKING)


@pytest.mark.parametrize("scope", ["question", "corpus"])
def test_prism_is_asked_for_no_answer_that_a_reader_replaces(files, tmp_path, chat_server, capsys, scope):
    said = {
        "questions": ["Who?"],
        "evidence": [{"question": 1, "sentences": [[1, 0]]}],
        "keep": [[1, 0]],
        "answerable": True,
        "answer": "Rome",
    }

    def write(request):
        return {name: said[name] for name in request["response_format"]["json_schema"]["schema"]["properties"]}

    spec = chat_server(write).spec
    words = [*files, "--llm", spec, "--systems", "prism", "--scope", scope, "--json"]
    calls = []
    for name, options in (("own", []), ("read", ["--reader", spec])):
        compare(*words, *options, "--out", tmp_path / name)
        steps = json.loads(capsys.readouterr().out)["systems"]["prism"]["steps"]
        calls.append({step: one["calls"] + one["cached"] for step, one in steps.items()})
    assert calls[0] == calls[1]  # of each step, including one answer for each question
    assert calls[1]["answer"] == 3


def test_one_price_is_of_one_model(files, tmp_path, schema_server, capsys):
    spec = schema_server.spec
    words = [*files, "--price", "1", "2", "--systems", "bm25", "--json"]
    with pytest.raises(BgrError, match="--price is of one model, and --reader other is another than --llm http"):
        compare(*words, "--llm", spec, "--reader", "other", "--out", tmp_path / "out")
    (tmp_path / "reader.json").write_text("no reader, but what says that there is one")
    with pytest.raises(BgrError, match=r"reader\.json"):  # one that was trained costs nothing
        compare(*words, "--llm", spec, "--reader", tmp_path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    for number, models in enumerate((["--reader", spec], ["--llm", spec, "--reader", spec])):
        compare(*words, *models, "--out", tmp_path / str(number))
        cost = json.loads(capsys.readouterr().out)["systems"]["bm25"]["per_question"]["cost"]
        assert cost == pytest.approx((7 + 2 * 3) / 1e6)


def test_a_budget_stops_the_run_and_more_goes_on(toy_data, encoder_folder, tmp_path, schema_server, capsys):
    words = ["--data", toy_data, "--encoder", encoder_folder, "--samples", "50", "--limit", "4", "--batch-size", "2"]
    words += ["--llm", schema_server.spec, "--replay", tmp_path / "replies.db", "--systems", "bridgerag"]
    words += ["--out", tmp_path / "out", "--concurrency", "1"]
    with pytest.raises(BgrError, match=r"budget: .* of 7 calls are used, and the next batch has 2"):
        compare(*words, "--max-calls", "7")
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 2
    with pytest.raises(BgrError, match="a limit on the cost requires the price"):
        compare(*words, "--max-cost", "1")
    compare(*words, "--max-calls", "20")
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 4
    assert set(schema_server.asked.values()) == {1}


@pytest.mark.parametrize("name", ["gold", "nothing", "bm25", "llm-edges"])
def test_a_folder_with_the_name_of_a_system_is_not_taken_for_it(files, tmp_path, name):
    """Otherwise a checkpoint in a folder of that name would have the scores of the gold evidence."""
    folder = tmp_path / name
    folder.mkdir()
    for text in (str(folder), f"{name}=random"):
        with pytest.raises(BgrError, match="would have the name of another system; give it its own: NAME=FOLDER"):
            compare(*files, "--systems", text, "--out", tmp_path / "out")


def test_old_results_stay_where_something_new_cannot_be_loaded(files, tmp_path):
    out = tmp_path / "out"
    compare(*files, "--systems", "bm25", "--out", out)
    before = (out / "results.jsonl").read_bytes()
    for wrong in (
        ["--systems", "prism", "--llm", tmp_path / "nothing"],
        ["--systems", "bm25", "--reader", tmp_path],
        ["--systems", tmp_path],
        ["--systems", "dense", "--encoder", tmp_path],
    ):
        with pytest.raises(BgrError):
            compare(*files, *wrong, "--out", out, "--overwrite")
        assert (out / "results.jsonl").read_bytes() == before


def test_the_seed_of_the_random_system_counts(toy_data, tmp_path, capsys):
    found = []
    for seed in (0, 1, 0):
        words = ["--data", toy_data, "--scope", "question", "--systems", "random", "--samples", "20", "--json"]
        compare(*words, "--seed", seed, "--out", tmp_path / "out")
        found.append(json.loads(capsys.readouterr().out)["systems"]["random"]["F1"]["mean"])
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == 20
    assert found[0] == found[2]


def test_questions_without_gold_that_have_answers(files, tmp_path, schema_server, capsys):
    path = tmp_path / "no_gold.json"
    path.write_text(json.dumps([question(1, "What is Rome ?", [], "Rome")]))
    words = ["--data", path, "--reader", schema_server.spec, "--systems", "bm25", "gold", "--samples", "20"]
    compare(*words, "--json", "--out", tmp_path / "out")
    found = json.loads(capsys.readouterr().out)["systems"]
    assert [one["QA EM"]["mean"] for one in found.values()] == [0, 0]
    assert (tmp_path / "out" / "traces.html").is_file()


def test_every_form_of_a_language_models_graphs_has_a_name():
    assert [f"llm-{name}" for name in FORMS] == list(LLM_GRAPHS)


def test_a_checkpoint_with_a_pruner_finds_its_candidates_hop_by_hop(
    files, pruned_checkpoint, random_checkpoint, tmp_path, capsys
):
    systems = [f"own={pruned_checkpoint}", f"given={random_checkpoint}"]
    compare(*files, "--systems", *systems, "--out", tmp_path / "out", "--json")
    used = json.loads(capsys.readouterr().out)["about"]["settings"]
    assert (used["own"]["base"], used["own"]["candidates"]) == ("hops", 200)
    assert "encoder" not in used["own"]
    assert (used["given"]["base"], used["given"]["candidates"]) == ("hybrid", 20)
    data = load_multihop(tmp_path / "q.json")
    pipeline = BgrPipeline.from_pretrained(pruned_checkpoint)
    collection = Collection.in_memory(data.corpus, encoder=None)
    expected = pipeline.over(collection).retrieve([Query(one.question) for one in data.questions])
    lines = map(json.loads, (tmp_path / "out" / "results.jsonl").read_text().splitlines())
    found = {line["id"]: line["passages"] for line in lines if line.get("system") == "own"}
    assert [found[one.id] for one in data.questions] == [
        [data.corpus[index].id for index in result.indices] for result in expected
    ]


def test_a_corpus_is_encoded_once_for_all_runs(files, tmp_path, monkeypatch, capsys):
    cache = tmp_path / "cache"
    monkeypatch.setenv("BGR_CACHE", str(cache))
    compare(*files, "--systems", "dense", "--out", tmp_path / "one")
    kept = {path.name: path.stat().st_mtime_ns for path in (cache / "vectors").iterdir()}
    assert kept
    compare(*files, "--systems", "hybrid", "--out", tmp_path / "two")
    assert {path.name: path.stat().st_mtime_ns for path in (cache / "vectors").iterdir()} == kept
    assert not (tmp_path / "one" / "vectors").exists()
    (cache / "file").touch()
    monkeypatch.setenv("BGR_CACHE", str(cache / "file"))
    with pytest.raises(BgrError, match=r"BGR_CACHE=.*file: vectors/ cannot be written: .*choose another folder"):
        compare(*files, "--systems", "dense", "--out", tmp_path / "three")


def test_vectors_of_a_server_are_of_one_run(files, tmp_path):
    class Server:
        """As `EmbeddingServer`, whose model is known by its name alone."""

    options = CompareOptions(data=files[1], systems=("dense",), out=tmp_path / "out")
    resources = Resources(options, load_multihop(tmp_path / "q.json"))
    assert resources._vectors_folder.name == "vectors"
    assert resources._vectors_folder.parent != tmp_path / "out"
    resources.encoder = Server()
    assert resources._vectors_folder == tmp_path / "out" / "vectors"
