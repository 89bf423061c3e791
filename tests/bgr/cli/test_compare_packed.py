"""A run that is repeated from packed replies, without the model."""

import json


def test_a_run_is_repeated_from_packed_replies(bgr, chat_server, toy_data, told, tmp_path):
    server = chat_server(lambda request: {"edges": [[0, 1], [1, 2]]})
    words = ["compare", "--data", toy_data, "--scope", "question", "--limit", 4, "--samples", 50, "--json"]
    words += ["--systems", "llm-edges", "--llm", server.spec]
    code, out, err = bgr(*words, "--replay", tmp_path / "r.db", "--out", tmp_path / "one")
    assert code == 0, err
    first, calls = json.loads(out)["systems"]["llm-edges"], server.calls
    assert calls == first["usage"]["calls"] > 0
    assert bgr("llm", "pack", tmp_path / "r.db", "--out", tmp_path / "r.xz")[0] == 0
    code, out, err = bgr(*words, "--replay", tmp_path / "r.xz", "--replay-only", "--out", tmp_path / "two")
    assert code == 0, err
    second = json.loads(out)["systems"]["llm-edges"]
    assert server.calls == calls
    assert second["usage"]["calls"] == 0
    assert second["usage"]["tokens_in"] == first["usage"]["tokens_in"] > 0
    assert (second["F1"], second["GM"]) == (first["F1"], first["GM"])
    assert told(tmp_path / "one") == told(tmp_path / "two")
    # one more question is not in the packed file, and nothing is asked for it
    words[words.index(4)] = 5
    code, _, err = bgr(*words, "--replay", tmp_path / "r.xz", "--replay-only", "--out", tmp_path / "three")
    assert code == 1
    assert "replies of step llm_graph.edges are missing" in err
    assert server.calls == calls
