import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from bgr.cli import main
from bgr.collection.collection import Collection
from bgr.errors import BgrError, CheckpointError, DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.pipeline import MAX_FACTS, BgrPipeline
from bgr.retrievers.base import Query, RetrievalResult
from bgr.retrievers.graph_hop.checkpoint import Settings
from bgr.retrievers.graph_hop.export import export
from bgr.retrievers.graph_hop.fusion import Calibration, Fusion
from bgr.retrievers.graph_hop.options import ExportOptions
from bgr.utils.checksums import write_sums

FACTS = ["Paris lies in France .", "Rome lies in Italy .", "Persona was made in Sweden .", "Alpha has 3 people ."]
QUESTION = "In which country was Persona made ?"


def test_answers_with_a_graph_over_the_given_facts(small_checkpoint, capfd):
    found = BgrPipeline.from_pretrained(small_checkpoint).answer(QUESTION, FACTS)
    assert "%" not in capfd.readouterr().err  # no bars of transformers
    assert found.graph.nodes
    assert set(found.graph.nodes) <= set(range(len(FACTS)))
    assert 0 <= found.agreement <= 1
    assert (found.text, found.confidence, found.has_reader) == (None, None, False)
    record = json.loads(json.dumps(found.to_json()))
    assert [e["text"] for e in record["evidence"]] == [FACTS[n] for n in found.graph.order()]


def test_one_at_a_time_equals_a_batch(small_checkpoint):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    queries = [Query(QUESTION, FACTS), Query("How many people has Alpha ?", FACTS[1:]), Query(QUESTION, FACTS[:1])]
    together = pipeline.retrieve_directions(queries, batch_size=3)
    assert together == [pipeline.retrieve_directions([query])[0] for query in queries]


def test_equal_and_nested_facts_keep_their_identity(small_checkpoint):
    """The authors' code tells facts apart by string replacement."""
    found = BgrPipeline.from_pretrained(small_checkpoint).retrieve(
        [Query(QUESTION, ["Paris", "Paris lies in France", "Paris"])]
    )
    assert set(found[0].graph.nodes) <= {0, 1, 2}


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (Query(" ", FACTS), "query 0: the question is empty"),
        (Query(QUESTION, []), "query 0: there are no facts"),
        (Query(QUESTION, ["x"] * (MAX_FACTS + 1)), f"{MAX_FACTS + 1} facts, allowed: {MAX_FACTS}"),
    ],
)
def test_bad_queries(small_checkpoint, query, said):
    with pytest.raises(DataError, match=said):
        BgrPipeline.from_pretrained(small_checkpoint).retrieve([query])


def test_an_answer_draws_its_graph(small_checkpoint, tmp_path):
    found = BgrPipeline.from_pretrained(small_checkpoint).answer(QUESTION, FACTS)
    found.draw(tmp_path / "graph.html")
    page = (tmp_path / "graph.html").read_text()
    assert all(FACTS[n] in page for n in found.graph.nodes)
    found.draw(str(tmp_path / "graph.png"))
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(BgrError, match=r"graph\.gif: cannot draw \.gif, allowed"):
        found.draw(tmp_path / "graph.gif")
    with pytest.raises(BgrError, match="no evidence was found for 'In which country") as error:
        replace(found, graph=EvidenceGraph()).draw(tmp_path / "empty.png")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "empty.png").exists()


@pytest.mark.parametrize("half", [False, True])
def test_export_loads_and_reads_alike(small_checkpoint, tmp_path, half):
    export(ExportOptions(run=small_checkpoint, out=tmp_path / "out", half=half))
    first, second = BgrPipeline.from_pretrained(small_checkpoint), BgrPipeline.from_pretrained(tmp_path / "out")
    assert second.settings == first.settings
    if not half:
        assert second.answer(QUESTION, FACTS).graph == first.answer(QUESTION, FACTS).graph
    one, two = (pipeline.retrieve_directions([Query(QUESTION, FACTS)])[0] for pipeline in (first, second))
    for direction in ("forward", "backward"):
        # random weights tell the facts hardly apart: rounded ones may choose another
        odds, rounded = (getattr(found, direction).steps[()].odds for found in (one, two))
        assert rounded == pytest.approx(odds, abs=0.02)
    card = (tmp_path / "out" / "README.md").read_text()
    assert "`abc`" in card
    assert "| dev | forward | 0.500 |" in card


def test_the_card_has_the_metrics_of_several_datasets(small_checkpoint, tmp_path):
    trained_on = Settings.load(small_checkpoint).data_hash

    def metrics(name, data_hash, gm):
        about = {"data_hash": data_hash, "split": "test", "data": f"somewhere/{name}"}
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"about": about, "systems": {"fused": {"all": {"n": 1400, "gm": gm}}}}))
        return path

    own, other, again = metrics("own", trained_on, 0.9), metrics("other", "b" * 64, 0.5), metrics("more", trained_on, 0)
    run = {"run": small_checkpoint, "overwrite": True}
    export(ExportOptions(**run, out=tmp_path / "out", metrics=(own, other)))
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| test, n = 1,400 | fused | 0.900 |" in card
    assert "| test of other, n = 1,400 | fused | 0.500 |" in card
    assert BgrPipeline.from_pretrained(tmp_path / "out").settings.metrics["test of other"]["fused"]["gm"] == 0.5
    with pytest.raises(CheckpointError, match=r"more\.json: another file has metrics of test, too$"):
        export(ExportOptions(**run, out=tmp_path / "both", metrics=(own, again)))
    own.write_text('{"about": {}}')
    with pytest.raises(CheckpointError, match=r"own\.json: not a metrics\.json of bgr evaluate$"):
        export(ExportOptions(**run, out=tmp_path / "both", metrics=(own,)))
    assert not (tmp_path / "both").exists()


def test_calibration_is_kept_and_used(small_checkpoint, tmp_path):
    plain = Settings.load(small_checkpoint)
    assert plain.fusion == Fusion(threshold=plain.fused_threshold)
    numbers = {"slope": 2.0, "offset": -0.5, "unseen": -3.0}
    replace(plain, rule="fused", calibration={"backward": numbers}, fused_threshold=-1).save(small_checkpoint)
    export(ExportOptions(run=small_checkpoint, out=tmp_path / "out"))
    settings = BgrPipeline.from_pretrained(tmp_path / "out").settings
    assert settings.fusion == Fusion(backward=Calibration(2.0, -0.5, -3.0), threshold=-1)


def cut(path):
    path.write_bytes(path.read_bytes()[:200])


def other_width(path):
    from safetensors.torch import load_file, save_file

    tensors = load_file(path)
    tensors["matcher.of_fact.weight"] = torch.zeros(3, 3)
    save_file(tensors, path)


def unknown_field(path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "colour": 1}))


def bad_gamma(path):
    path.write_text(json.dumps({**json.loads(path.read_text()), "gammas": {"fused": 2}}))


def bad_calibration(**numbers):
    return lambda path: path.write_text(json.dumps({**json.loads(path.read_text()), "calibration": numbers}))


@pytest.mark.parametrize(
    ("name", "harm", "said"),
    [
        ("bgr.json", lambda p: p.unlink(), "bgr.json: no such file"),
        ("bgr.json", unknown_field, "unknown field 'colour'"),
        ("bgr.json", bad_gamma, "gammas.fused is 2, allowed: less than or equal to 1"),
        ("bgr.json", bad_calibration(up={}), "calibration.up is 'up', allowed: forward, backward"),
        ("bgr.json", bad_calibration(forward={"slop": 1}), "is 'slop', allowed: slope, offset, unseen"),
        ("bgr.json", bad_calibration(forward=1), "calibration.forward is 1, allowed: an object"),
        ("bgr.json", bad_calibration(backward={"slope": "1"}), "backward.slope is '1', allowed: a valid number"),
        ("bgr.json", bad_calibration(backward={"offset": 1e9}), "offset is 1000000000.0, allowed: .* equal to 100"),
        ("forward/model.safetensors", lambda p: p.unlink(), "forward/model.safetensors: no such file"),
        ("backward/config.json", lambda p: p.unlink(), "backward/config.json: no such file"),
        ("backward/model.safetensors", cut, "not a complete safetensors file"),
        ("forward/model.safetensors", other_width, r"matcher.of_fact.weight is \[3, 3\]"),
        ("tokenizer.json", lambda p: p.unlink(), "tokenizer.json: no such file"),
        ("backward", lambda p: (shutil.rmtree(p), shutil.copytree(p.parent / "forward", p)), "direction is 'forward'"),
    ],
)
def test_a_damaged_checkpoint_is_one_line(small_checkpoint, name, harm, said, capsys, tmp_path):
    harm(small_checkpoint / name)
    with pytest.raises(BgrError, match=said):
        BgrPipeline.from_pretrained(small_checkpoint)
    facts = tmp_path / "facts.txt"
    facts.write_text("\n".join(FACTS))
    assert main(["ask", "--checkpoint", str(small_checkpoint), "--facts", str(facts), QUESTION]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("bgr ask: error: ")


@pytest.fixture
def facts_file(tmp_path):
    path = tmp_path / "facts.txt"
    path.write_text("\n\n".join(FACTS) + "\n")
    return path


def test_ask_prints_the_tree_and_draws(small_checkpoint, facts_file, tmp_path, capsys):
    for name in ("graph.png", "graph.html"):
        command = ["ask", "--checkpoint", str(small_checkpoint), "--facts", str(facts_file), QUESTION]
        assert main([*command, "--draw", str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_size > 500
    out = capsys.readouterr().out
    assert QUESTION in out
    assert "holds no reader" in out


def test_ask_json_is_parsable_and_repeats(small_checkpoint, facts_file, capsys):
    command = ["ask", "--checkpoint", str(small_checkpoint), "--facts", str(facts_file), QUESTION, "--json"]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert main(command) == 0
    assert capsys.readouterr().out == first
    assert all(a >= ROOT for a, _, _ in json.loads(first)["edges"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        ("", "no facts; one fact a line"),
        (" \n\n", "no facts; one fact a line"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_ask_with_a_bad_facts_file(small_checkpoint, tmp_path, capsys, content, said):
    path = tmp_path / "bad.txt"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["ask", "--checkpoint", str(small_checkpoint), "--facts", str(path), QUESTION]) == 1
    error = capsys.readouterr().err.strip()
    assert said in error
    assert "bad.txt" in error
    assert len(error.splitlines()) == 1


def test_ask_refuses_unknown_drawings_before_any_work(small_checkpoint, facts_file, tmp_path, capsys):
    command = ["ask", "--checkpoint", str(small_checkpoint), "--facts", str(facts_file), QUESTION, "--draw"]
    assert main([*command, str(tmp_path / "graph.gif")]) == 1
    assert "allowed: .png, .svg, .html" in capsys.readouterr().err


def test_precision_is_the_callers(small_checkpoint):
    exact = BgrPipeline.from_pretrained(small_checkpoint, precision="32")
    half = BgrPipeline.from_pretrained(small_checkpoint, precision="bf16")
    (one,), (two,) = (p.retrieve_directions([Query(QUESTION, FACTS)]) for p in (exact, half))
    assert exact.precision == "32"
    assert half.precision == "bf16"
    assert one.forward.odds.keys() == two.forward.odds.keys()
    assert one.forward.odds != two.forward.odds
    assert [two.forward.odds[e] for e in one.forward.odds] == pytest.approx(list(one.forward.odds.values()), abs=0.1)
    with pytest.raises(ValueError, match=r"precision is '64', allowed: 32, bf16"):
        BgrPipeline.from_pretrained(small_checkpoint, precision="64")


@pytest.fixture
def small_reader(tmp_path):
    """A reader's folder with random weights."""
    from transformers import T5Config, T5ForConditionalGeneration

    from bgr.reader.seq2seq import ReaderSettings, Seq2seqReader
    from bgr.reader.slots import PLACEHOLDERS
    from training.seq2seq.data import word_tokenizer

    torch.manual_seed(5)
    words = ("question", "evidence", "made", "in", "which", "country", "was")
    tokenizer = word_tokenizer([*PLACEHOLDERS, *words])
    sizes = {"vocab_size": len(tokenizer), "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    model = T5ForConditionalGeneration(T5Config(decoder_start_token_id=0, **sizes))
    settings = ReaderSettings(slots=True, words=words, longest_answer=3)
    (tmp_path / "reader").mkdir()
    Seq2seqReader(model, tokenizer, settings, device="cpu", precision="32").save(tmp_path / "reader")
    return tmp_path / "reader"


@pytest.mark.parametrize("half", [False, True])
def test_an_exported_reader_answers(small_checkpoint, small_reader, tmp_path, half):
    export(ExportOptions(run=small_checkpoint, out=tmp_path / "out", reader=small_reader, half=half))
    found = BgrPipeline.from_pretrained(tmp_path / "out").answer(QUESTION, FACTS)
    assert found.graph.nodes
    assert isinstance(found.text, str)
    assert 0 < found.confidence <= 1
    assert found.to_json()["answer"] == found.text
    assert "| reader | t5, " in (tmp_path / "out" / "README.md").read_text()
    # an export of an export keeps it
    export(ExportOptions(run=tmp_path / "out", out=tmp_path / "again"))
    assert BgrPipeline.from_pretrained(tmp_path / "again").answer(QUESTION, FACTS).text == found.text


def test_ask_gives_the_answer(small_checkpoint, small_reader, tmp_path, capsys):
    facts = tmp_path / "facts.txt"
    facts.write_text("\n".join(FACTS))
    words = ["export", "--run", str(small_checkpoint), "--reader", str(small_reader), "--out", str(tmp_path / "out")]
    assert main(words) == 0
    ask = ["ask", "--facts", str(facts), QUESTION]
    capsys.readouterr()
    assert main([*ask, "--checkpoint", str(tmp_path / "out")]) == 0
    assert "(confidence 0." in capsys.readouterr().out
    assert main([*ask, "--checkpoint", str(small_checkpoint)]) == 0
    assert "not given: this checkpoint holds no reader" in capsys.readouterr().out


def test_no_evidence_is_not_answerable(small_checkpoint, small_reader, tmp_path, capsys):
    export(ExportOptions(run=small_checkpoint, out=tmp_path / "out", reader=small_reader))
    pipeline = BgrPipeline.from_pretrained(tmp_path / "out")
    pipeline._merged = lambda found: RetrievalResult(EvidenceGraph())
    found = pipeline.answer(QUESTION, FACTS)
    assert (found.text, found.confidence) == (None, 0.0)


def test_export_refuses_what_is_no_reader(small_checkpoint, tmp_path, capsys):
    words = ["export", "--run", str(small_checkpoint), "--reader", str(small_checkpoint), "--out", str(tmp_path / "x")]
    assert main(words) == 1
    assert "reader.json: no such file" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_a_collection_in_place_of_candidates(small_checkpoint):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    collection = Collection.in_memory([*FACTS, "It rains in Malmo ."], encoder=None)
    (found,) = pipeline.over(collection, search="bm25", count=2).retrieve([Query(QUESTION)])
    (hits,) = collection.bm25.search([QUESTION], 2)
    (given,) = pipeline.retrieve([Query(QUESTION, [collection.corpus[index].whole for index in hits.indices])])
    assert found.texts == given.texts
    assert set(found.graph.nodes) <= set(hits.indices.tolist())
    encoder = lambda texts: np.full((len(texts), 4), 0.5, dtype=np.float32)  # noqa: E731
    answer = pipeline.answer(QUESTION, Collection.in_memory(FACTS, encoder=encoder))
    assert set(answer.facts) == set(FACTS)


LONG = " ".join(["persona"] * 63)
"""One token more than the checkpoint reads, with the two special ones."""


def test_truncated_texts_are_named(small_checkpoint, tmp_path):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    whole, facts = " ".join(["persona"] * 62), [LONG, FACTS[0], LONG + " .", FACTS[1]]
    queries = [Query(LONG, FACTS), Query(whole, facts), Query(QUESTION, FACTS), Query(LONG, facts)]
    wanted = [(ROOT,), (0, 2), (), (ROOT, 0, 2)]
    assert [found.truncated for found in pipeline.retrieve(queries)] == wanted
    pipeline.keep_facts([*facts, *FACTS], tmp_path / "states")
    assert [found.truncated for found in pipeline.retrieve(queries)] == wanted
    assert pipeline.retrieve_directions(queries[:1])[0].merged("forward", 0.5).truncated == (ROOT,)


def test_truncated_texts_of_a_collection(small_checkpoint):
    collection = Collection.in_memory(["rome lies in italy .", LONG, "radium has people ."], encoder=None)
    two = BgrPipeline.from_pretrained(small_checkpoint).over(collection, search="bm25", count=1)
    assert [found.truncated for found in two.retrieve([Query("persona ?"), Query("radium ?")])] == [(1,), ()]
    assert two.retrieve([Query("radium ?", [FACTS[0], LONG])])[0].truncated == (1,)


def test_ask_warns_of_what_was_not_read(small_checkpoint, small_reader, tmp_path, capsys):
    export(ExportOptions(run=small_checkpoint, out=tmp_path / "out", reader=small_reader))
    settings = json.loads((tmp_path / "out" / "reader" / "reader.json").read_text())
    (tmp_path / "out" / "reader" / "reader.json").write_text(json.dumps({**settings, "most_tokens": 4}))
    write_sums(tmp_path / "out")
    (tmp_path / "facts.txt").write_text("\n".join([*FACTS, LONG]))
    words = ["--checkpoint", str(tmp_path / "out"), "--facts", str(tmp_path / "facts.txt")]
    assert main(["ask", LONG, *words]) == 0
    [warning] = [line for line in capsys.readouterr().out.splitlines() if "too long" in line]
    assert warning == "warning    too long, the end was not read: the question, 1 of 5 facts, the reader's input"
    assert main(["ask", LONG, *words, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["truncated"], record["reader_truncated"]) == ([-1, 4], True)
    (tmp_path / "facts.txt").write_text("\n".join(FACTS))
    assert main(["ask", QUESTION, "--checkpoint", str(small_checkpoint), *words[2:]]) == 0
    assert "too long" not in capsys.readouterr().out


def test_checkpoints_without_counts_load(small_checkpoint):
    path = small_checkpoint / "bgr.json"
    record = json.loads(path.read_text())
    assert record.pop("truncation") == {}
    path.write_text(json.dumps(record))
    assert Settings.load(small_checkpoint).truncation == {}
    path.write_text(json.dumps({**record, "truncation": {"facts": {"truncated": -1, "texts": 2}}}))
    with pytest.raises(CheckpointError, match=r"truncation\.facts\.truncated is -1"):
        Settings.load(small_checkpoint)


def test_the_call_takes_one_question_or_many(small_checkpoint):
    pipeline = BgrPipeline.from_pretrained(small_checkpoint)
    other = "How many people has Alpha ?"
    one, two = pipeline.answer(QUESTION, FACTS), pipeline.answer(other, FACTS)
    assert pipeline(QUESTION, FACTS) == one
    assert pipeline([QUESTION, other], FACTS) == [one, two]
    own = pipeline([QUESTION, other], [FACTS, FACTS[2:]])
    assert [found.facts for found in own] == [tuple(FACTS), tuple(FACTS[2:])]
    assert own[0] == one
    assert pipeline([], FACTS) == []
    collection = Collection.in_memory(FACTS, encoder=None)
    over = pipeline.over(collection, search="bm25")
    pipeline.search_over = lambda _: over.scope.search
    found = pipeline([QUESTION, other], collection)
    assert found == [pipeline(QUESTION, collection), pipeline(other, collection)]
    assert all(answer.documents for answer in found)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ([FACTS], "1 lists for 2 questions, allowed: one for each"),
        ([FACTS, "Rome lies in Italy ."], "some are sentences and some are lists"),
        ("Rome lies in Italy .", "is one string, allowed: a list of sentences"),
        ([], "query 0: there are no facts"),
        ([FACTS, []], "query 1: there are no facts"),
        ({"a set"}, "facts are a set; allowed: a list of texts, a list of them for each question, or a collection"),
    ],
)
def test_facts_that_do_not_fit_the_questions(small_checkpoint, facts, said):
    with pytest.raises(DataError, match=said):
        BgrPipeline.from_pretrained(small_checkpoint)([QUESTION, QUESTION], facts)
