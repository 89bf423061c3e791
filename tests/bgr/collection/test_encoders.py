"""Encoders with an instruction before queries, other poolings, and servers of embeddings on loopback."""

import contextlib
import json
import shutil
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch

from bgr.collection.collection import Collection
from bgr.collection.embedding import SentenceEncoder, load_encoder
from bgr.collection.embedding_server import EmbeddingServer, vectors_of
from bgr.collection.options import EncoderOptions, EncoderSpec, SearchOptions, UploadOptions
from bgr.collection.vectors import encode_queries
from bgr.errors import BgrError, CheckpointError, DataError
from bgr.utils.options import OptionsError

TEXTS = ["Paris is the capital of France .", "Rome", "Persona was made in Sweden by Bergman ."]


def reference(encoder, text, pooling):
    """The vector of one text by its definition, without padding."""
    ids = torch.tensor([encoder.tokenizer(text)["input_ids"]])
    with torch.inference_mode():
        states = encoder.model(input_ids=ids).last_hidden_state[0].float()
    vector = {"mean": states.mean(0), "cls": states[0], "last": states[-1]}[pooling]
    return (vector / vector.norm()).numpy()


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
def test_poolings_are_those_of_the_definition(encoder_folder, pooling):
    encoder = SentenceEncoder(encoder_folder, pooling=pooling)
    wanted = np.stack([reference(encoder, text, pooling) for text in TEXTS])
    assert encoder(TEXTS) == pytest.approx(wanted, abs=2e-2 if encoder.model.dtype == torch.bfloat16 else 1e-5)


@pytest.fixture
def folder(encoder_folder, tmp_path):
    """An encoder in the format of sentence-transformers, with last-token pooling and an instruction."""
    folder = shutil.copytree(encoder_folder, tmp_path / "encoder")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = {"word_embedding_dimension": 8, "pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    prompts = {"prompts": {"query": "Instruct: find . Query: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


def test_a_folder_says_pooling_and_prompt(folder):
    encoder = load_encoder(folder)
    assert (encoder.pooling, encoder.query_prefix) == ("last", "Instruct: find . Query: ")
    assert np.array_equal(encode_queries(encoder, TEXTS), encoder([f"Instruct: find . Query: {one}" for one in TEXTS]))
    other = load_encoder(EncoderSpec(folder, query_prefix="", pooling="mean"))
    assert (other.pooling, other.query_prefix) == ("mean", "")
    assert np.array_equal(encode_queries(other, TEXTS), other(TEXTS))
    assert len({encoder.identity(), other.identity(), load_encoder(EncoderSpec(folder, pooling="cls")).identity()}) == 3


def test_plain_encoders_keep_their_identity(encoder_folder):
    """Collections that exist stay valid."""
    assert SentenceEncoder(encoder_folder).identity() == SentenceEncoder(encoder_folder, query_prefix="").identity()


def test_another_pooling_is_refused(folder):
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(CheckpointError, match=r"pooling_mode_max_tokens; allowed"):
        load_encoder(folder)


def test_questions_of_a_collection_are_read_after_the_prefix(folder, tmp_path):
    spec = EncoderSpec(folder)
    collection = Collection.build(TEXTS, tmp_path / "made", encoder=spec)
    encoder = load_encoder(folder)
    (hits,) = collection.dense.search(["Rome"], 3)
    wanted = encoder.queries(["Rome"]) @ encoder(TEXTS).T
    assert hits.indices.tolist() == np.argsort(-wanted[0], kind="stable").tolist()
    Collection.open(tmp_path / "made", encoder=spec)
    with pytest.raises(DataError, match="encoder"):
        Collection.open(tmp_path / "made", encoder=EncoderSpec(folder, query_prefix="Other: "))


@pytest.fixture
def server(encode_words):
    """A server of embeddings; ``faults`` has answers to give first, and ``seen`` the inputs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            Handler.seen.append(body["input"])
            status, answer, headers = Handler.faults.pop(0) if Handler.faults else (200, None, {})
            if answer is None:
                rows = encode_words(body["input"]).tolist()
                data = [{"index": n, "embedding": [3 * x for x in row]} for n, row in enumerate(rows)]
                answer = json.dumps({"data": data[::-1], "model": body["model"]})
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(answer))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.encode())

        def log_message(self, *_):
            pass

    Handler.seen, Handler.faults = [], []
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    Handler.url = f"http://127.0.0.1:{httpd.server_port}/v1"
    yield Handler
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def encode_words():
    def encode(texts):
        rows = np.array([[len(text), text.count("a"), 1.0] for text in texts], dtype=np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return encode


def test_a_server_gives_unit_vectors_in_order(server, encode_words):
    encoder = EmbeddingServer(server.url, "m", batch=2, query_prefix="query: ")
    texts = [*TEXTS, TEXTS[0]]
    assert encoder(texts) == pytest.approx(encode_words(texts), abs=1e-6)
    assert server.seen == [TEXTS[:2], TEXTS[2:]]
    assert encoder([]).shape == (0, 3)
    assert encode_queries(encoder, ["a"]) == pytest.approx(encode_words(["query: a"]), abs=1e-6)


def test_a_collection_by_a_server(server, tmp_path):
    Collection.build(TEXTS, tmp_path / "made", encoder=f"{server.url}#m")
    opened = Collection.open(tmp_path / "made", encoder=f"{server.url}#m")
    assert len(opened.dense.search(["Rome"], 2)[0].indices) == 2
    with pytest.raises(DataError, match="encoder"):
        Collection.open(tmp_path / "made", encoder=f"{server.url}#other")


@pytest.mark.workflow
@pytest.mark.parametrize(
    "fault", [(503, "busy", {}), (429, "{}", {"Retry-After": "0"}), (200, "[]", {}), (200, '{"data": [{}]}', {})]
)
def test_passing_faults_are_waited_out(server, fault):
    server.faults += [fault, fault]
    assert EmbeddingServer(server.url, "m", first_wait=0.01)(["a"]).shape == (1, 3)
    assert len(server.seen) == 3


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ((401, '{"error": {"message": "no: sk-secret-key"}}', {}), r"HTTP 401: no: \*\*\*"),
        ((302, "", {"Location": "http://elsewhere/"}), "redirects are not followed"),
        ((302, "", {"Location": "http://elsewhere/sk-secret-key"}), r"redirects to http://elsewhere/\*"),
        ((400, '{"error": "no such model"}', {}), "no such model"),
    ],
)
def test_lasting_faults_end_in_one_line(server, fault, said, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
    server.faults += [fault]
    with pytest.raises(BgrError, match=said) as caught:
        EmbeddingServer(server.url, "m", first_wait=0.01)(["a"])
    assert "sk-" not in str(caught.value)
    assert len(server.seen) == 1


def test_a_server_that_asks_to_wait_for_ever_is_given_up(server):
    server.faults += [(429, "busy", {"Retry-After": "1e300"})]
    with pytest.raises(BgrError, match="HTTP 429"):
        EmbeddingServer(server.url, "m")(["a"])


def test_a_response_that_drips_is_given_up():
    class Drip(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):  # the client has gone
                for _ in range(200):
                    self.wfile.write(b" ")
                    time.sleep(0.05)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Drip) as httpd:
        threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(BgrError, match="no complete response in time"):
            EmbeddingServer(f"http://127.0.0.1:{httpd.server_port}/v1", "m", timeout=0.3, retries=0)(["a"])
        httpd.shutdown()
    assert time.monotonic() - began < 5


def test_a_response_in_another_coding_is_refused(server):
    server.faults += [(200, "x", {"Content-Encoding": "gzip, gzip"})]
    with pytest.raises(BgrError, match="content-encoding is 'gzip, gzip', allowed: identity, gzip, deflate"):
        EmbeddingServer(server.url, "m", retries=0)(["a"])


def test_a_server_that_stays_broken_is_given_up(server):
    server.faults += [(500, "no", {})] * 9
    with pytest.raises(BgrError, match="HTTP 500"):
        EmbeddingServer(server.url, "m", first_wait=0.01, retries=2)(["a"])
    assert len(server.seen) == 3


@pytest.mark.parametrize(
    "rows",
    [
        [{"index": 0, "embedding": [1, 2]}, {"index": 0, "embedding": [1, 2]}],
        [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}],
        [{"index": 0, "embedding": [0, 0]}, {"index": 1, "embedding": [1, 1]}],
        [{"index": 0, "embedding": [1e999, 0]}, {"index": 1, "embedding": [1, 1]}],
        [{"index": 0, "embedding": "abc"}, {"index": 1, "embedding": [1, 1]}],
        [{"index": [], "embedding": [1]}, {"index": 1, "embedding": [1]}],
    ],
)
def test_broken_vectors_are_refused(rows):
    with pytest.raises(DataError, match="body"):
        vectors_of(json.dumps({"data": rows}).encode(), 2)


def test_options_contradict():
    with pytest.raises(OptionsError, match="--pooling is of a local encoder"):
        EncoderOptions(encoder="http://localhost/v1#m", pooling="last")
    with pytest.raises(BgrError, match="requires its model"):
        load_encoder("http://localhost/v1")
    assert EncoderOptions().encoder_spec is None


def test_a_server_takes_no_pooling_where_a_collection_is_searched_or_uploaded():
    server = {"folder": "films", "encoder": "http://localhost/v1#m", "pooling": "last"}
    for options, more in ((SearchOptions, {"questions": ["a"]}), (UploadOptions, {"milvus": "a.db"})):
        with pytest.raises(OptionsError, match="--pooling is of a local encoder"):
            options(**server, **more)
