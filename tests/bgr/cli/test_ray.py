"""Two workers of Ray write the same bytes as this process alone: predictions, vectors and triples."""

import json

import pytest

from bgr import predict as prediction
from bgr.collection import segments
from bgr.collection.collection import Collection
from bgr.collection.embedding import SentenceEncoder
from bgr.llm.replay import Replay
from bgr.models.state_cache import FactEncoder
from bgr.pipeline import BgrPipeline
from bgr.utils.ray_map import RayOptions

pytestmark = [pytest.mark.workflow, pytest.mark.alone]

RAY = ("--ray", "local", "--ray-workers", "2")


@pytest.fixture(scope="module", autouse=True)
def two_cores():
    """One start of Ray for all tests of the file, which the commands join."""
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def elsewhere(monkeypatch):
    """From now on this process loads no checkpoint and encodes nothing."""

    def call():
        monkeypatch.setattr(BgrPipeline, "from_pretrained", None)
        monkeypatch.setattr(SentenceEncoder, "__call__", None)

    return call


def test_predictions(bgr, pruned_checkpoint, tmp_path, monkeypatch, elsewhere):
    monkeypatch.setattr(prediction, "BATCH", 2)
    places = ["Paris", "Rome", "Persona", "Alpha"]
    Collection.build([f"{one} lies in place {n} ." for n, one in enumerate(places)], tmp_path / "films", encoder=None)
    lines = [{"id": n, "question": f"In which place lies {places[n % 4]} ?"} for n in range(9)]
    lines[4] = {"id": "bad"}
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.chdir(tmp_path)  # relative paths are those of this process
    words = ["predict", "--checkpoint", pruned_checkpoint, "--collection", "films", "--questions", "asked.jsonl"]
    assert bgr(*words, "--out", "alone.jsonl")[0] == 0
    elsewhere()
    assert bgr(*words, "--out", "ray.jsonl", *RAY)[:2] == (0, "ray.jsonl: 9 records, 1 with an error\n")
    assert (tmp_path / "ray.jsonl").read_bytes() == (tmp_path / "alone.jsonl").read_bytes()
    (tmp_path / "films" / "segment-000001" / "counts.npy").write_bytes(b"damaged")
    code, _, error = bgr(*words, "--out", "ray.jsonl", "--overwrite", *RAY)
    assert code == 1
    assert error.startswith("bgr predict: error: ")
    assert "counts.npy: " in error


def test_a_run_goes_on_with_and_without_workers(bgr, random_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(prediction, "BATCH", 2)
    lines = [{"id": n, "question": f"Where lies {n} ?", "facts": [f"{n} lies in Rome .", "Alpha ."]} for n in range(7)]
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, lines)))
    words = ["predict", "--checkpoint", random_checkpoint, "--questions", tmp_path / "asked.jsonl"]
    alone, both = tmp_path / "alone.jsonl", tmp_path / "both.jsonl"
    assert bgr(*words, "--out", alone)[0] == 0
    answer_all, calls = BgrPipeline.answer_all, []

    def interrupted(self, queries, **options):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return answer_all(self, queries, **options)

    with monkeypatch.context() as patch:
        patch.setattr(BgrPipeline, "answer_all", interrupted)
        assert bgr(*words, "--out", both)[0] == 130
    assert both.with_name("both.jsonl.part").read_bytes().count(b"\n") == 1 + 4
    assert bgr(*words, "--out", both, *RAY)[0] == 0
    assert both.read_bytes() == alone.read_bytes()


def test_vectors(bgr, encoder_folder, tmp_path, monkeypatch, elsewhere):
    monkeypatch.setattr(segments, "CHUNK", 10)
    texts = [
        {"id": f"p{n}", "title": "", "text": f"Fact {n % 40} . " + "Rome lies far away . " * (n % 9)} for n in range(50)
    ]
    for name, part in (("corpus", texts[:33]), ("more", texts[33:])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, part)))
    out = {}
    for name, words in (("alone", ()), ("ray", RAY)):
        folder, encoder = tmp_path / name, ("--encoder", encoder_folder)
        corpora = [("build", "--out", folder, "--corpus", tmp_path / "corpus.jsonl", "--half")]
        corpora += [("add", folder, "--corpus", tmp_path / "more.jsonl")]
        out[name] = [bgr("collection", *given, *encoder, *words)[1].replace(str(folder), "") for given in corpora]
        elsewhere()
    assert out["ray"] == out["alone"]
    files = {name: sorted(p.relative_to(tmp_path / name) for p in (tmp_path / name).rglob("*")) for name in out}
    assert files["ray"] == files["alone"]
    for file in files["ray"]:
        if (tmp_path / "ray" / file).is_file():
            assert (tmp_path / "ray" / file).read_bytes() == (tmp_path / "alone" / file).read_bytes()


def test_fact_states(random_checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr("bgr.models.state_cache.CHUNK", 2)
    facts = [f"Alpha has {n} people ." + " Rome lies far away ." * (n % 3) for n in range(9)]
    pipeline = BgrPipeline.from_pretrained(random_checkpoint)
    pipeline.keep_facts(facts, tmp_path / "alone")
    monkeypatch.setattr(FactEncoder, "__call__", None)
    pipeline.keep_facts(facts, tmp_path / "ray", ray=RayOptions(ray="local", ray_workers=2))
    files = {name: sorted((tmp_path / name).rglob("*.bin")) for name in ("alone", "ray")}
    assert len(files["ray"]) == 4
    for mine, theirs in zip(files["ray"], files["alone"], strict=True):
        assert mine.read_bytes() == theirs.read_bytes()


def test_triples(bgr, chat_server, tmp_path):
    def write(request):
        number = request["messages"][0]["content"].rsplit("number ", 1)[1].split(".")[0]
        return {"entities": [f"E{number}"], "triples": [[f"E{number}", "has", "one"], ["two", "parts"]][: int(number)]}

    passages = [{"title": f"Title {n}", "text": f"Text number {n}."} for n in range(6)]
    (tmp_path / "corpus.json").write_text(json.dumps(passages))
    words = ["collection", "triples", "extract", "--corpus", tmp_path / "corpus.json", "--batch", "2"]
    words += ["--llm", chat_server(write).spec]
    found = {}
    for name, more in (("alone", ()), ("ray", RAY)):
        code, out, _ = bgr(*words, "--out", tmp_path / f"{name}.json", *more, "--json")
        assert code == 0
        found[name] = json.loads(out)
        for counts in (found[name], found[name]["usage"]):
            counts.pop("seconds", None)
    assert found["ray"] == found["alone"]
    assert (tmp_path / "ray.json").read_bytes() == (tmp_path / "alone.json").read_bytes()
    (tmp_path / "ray.json.db").unlink()  # the replies suffice
    code, out, _ = bgr(*words, "--out", tmp_path / "ray.json", "--overwrite", *RAY, "--json")
    assert (code, json.loads(out)["usage"]["calls"]) == (0, 0)
    assert (tmp_path / "ray.json").read_bytes() == (tmp_path / "alone.json").read_bytes()
    kept = [Replay(tmp_path / f"{name}.json.replies.db", replay_only=True) for name in ("alone", "ray")]
    assert len(kept[0]) == len(kept[1]) == 6 + 4  # four replies have a triple of two parts, and are asked for again
