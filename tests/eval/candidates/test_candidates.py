"""`bgr ablate candidates`: what is measured of a system, and the command from arguments to files."""

import csv
import json
import math
import os
import shutil

import numpy as np
import pytest
import torch

from bgr.cli import main
from bgr.data.reasongraphqa.candidate_sets import CandidateSets
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import BgrError, DataError
from bgr.retrievers.base import RetrievalResult, Retriever, star
from bgr.retrievers.baselines.single_hop import Bm25Facts
from eval.ablations.candidate_points import Setting, measure, settings_of
from eval.run.memory import PROCESS, PeakMemory


class Pruning(Retriever):
    """Keeps the first `keep` candidates by BM25, and finds the gold graph if these hold it; at most `most`
    candidates."""

    def __init__(self, examples, keep=3, most=20):
        self.graphs = {example.question: example for example in examples}
        self.keep, self.most = keep, most
        self.calls = []

    def retrieve(self, queries):
        self.calls.append(len(queries))
        return [self.result(query) for query in queries]

    def result(self, query):
        if len(query.facts) > self.most:
            raise DataError(f"{len(query.facts)} facts, allowed: {self.most}")
        kept = Bm25Facts(self.keep).retrieve([query])[0].indices
        example = self.graphs[query.question]
        place = {node: query.facts.index(example.facts[node]) for node in example.graph.nodes}
        found = set(place.values()) <= set(kept)
        limits = () if found else ("pruned",)
        return RetrievalResult(example.graph.relabel(place) if found else star([]), limits, details={"kept": kept})


@pytest.fixture
def sets(films):
    return CandidateSets.read(films)


@pytest.fixture
def examples(films):
    return load_split(films, "test")


def test_scores_by_hand(sets, examples):
    settings = settings_of([4, None, 40, 10], ["bm25", "random", "bm25"])
    assert settings[:3] == [Setting(None, None), Setting("bm25", 4), Setting("random", 4)]
    system = Pruning(examples)
    points = measure({"pruning": system, "bm25": Bm25Facts()}, examples, sets, settings, batch_size=4)
    assert [(point.system, point.setting) for point in points] == [
        (name, setting) for name in ("pruning", "bm25") for setting in settings
    ]
    assert system.calls == [1, *([4, 2] * 5), 4, 4]  # one question first; nothing after a call that failed
    own = points[0]
    assert own.candidates == own.n - 2 == 4
    assert own.gm_ratio == 1
    for point in points[:5]:
        assert point.gm == point.gs == 1 - point.limits / 6
        assert point.gm_ratio == point.gm / own.gm
        assert point.gm <= point.kept_recall <= 1
        assert point.kept == 3
    assert points[3].gm < 1  # BM25's own best facts push gold facts out
    for point in points[5:7]:
        assert (point.gm, point.gm_ratio, point.seconds, point.memory, point.limits) == (None,) * 5
        assert point.failure == "40 facts, allowed: 20"
    assert all(point.kept_recall is None and point.f1 > 0 and point.seconds > 0 for point in points[7:])


def test_without_the_own_candidates_the_smallest_number_is_the_reference(sets, examples):
    points = measure({"p": Pruning(examples)}, examples, sets, settings_of([10, 6], ["random", "rivals"]))
    assert [point.gm_ratio for point in points[:2]] == [1, 1]
    for point in points[2:]:
        base = next(one for one in points if one.fill == point.fill)
        assert point.gm_ratio == point.gm / base.gm


def test_a_system_that_always_fails(sets, examples):
    with pytest.raises(BgrError, match="4 facts, allowed: 3"):
        measure({"p": Pruning(examples, most=3)}, examples, sets, settings_of([None], []))
    with pytest.raises(BgrError, match="p: 9 facts, allowed: 5"):
        measure({"p": Pruning(examples, most=5)}, examples, sets, settings_of([9], ["bm25"]))


@pytest.mark.workflow
def test_the_peak_of_a_block_is_measured_each_time():
    for megabytes in (400, 200, 400):
        with PeakMemory(torch.device("cpu")) as memory:
            blocks = [np.ones(125_000) for _ in range(megabytes)]  # small enough for the allocator to keep
            del blocks
        if os.access(PROCESS / "clear_refs", os.W_OK):
            # in a process with much memory Linux' counters are off by tens of megabytes: each core keeps its own, and
            # free pages that the allocator holds from before are used first
            assert 0.7 * megabytes < memory.increase / 1e6 < 1.3 * megabytes + 8
        else:  # not Linux
            assert math.isnan(memory.increase)


def test_memory_that_cannot_be_measured(monkeypatch, tmp_path):
    monkeypatch.setattr("eval.run.memory.PROCESS", tmp_path / "none")
    with PeakMemory(torch.device("cpu")) as memory:
        pass
    assert math.isnan(memory.increase)


def ablate(*words):
    return main(["ablate", "candidates", *map(str, words)])


@pytest.mark.workflow
def test_from_arguments_to_files(films, small_checkpoint, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["--checkpoint", small_checkpoint, "--data", films, "--limit", 2, "--out", out]
    assert ablate(*words, "--counts", "own", 3, 7, "--fill", "rivals", "bm25", "--json") == 0
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads((out / "candidates.json").read_text())
    assert content["about"] | {"questions": 2, "facts": 44, "recipe": "rivals-2", "seed": 0} == content["about"]
    points = content["points"]
    assert [(p["system"], p["fill"], p["count"]) for p in points[:5]] == [
        ("bgr", None, None),
        ("bgr", "rivals", 3),
        ("bgr", "bm25", 3),
        ("bgr", "rivals", 7),
        ("bgr", "bm25", 7),
    ]
    assert [p["candidates"] for p in points[:5]] == [4, 3, 3, 7, 7]
    assert {p["system"] for p in points[5:]} == {"bm25"}
    rows = list(csv.DictReader((out / "candidates.csv").open()))
    assert [float(row["f1"]) for row in rows] == [p["f1"] for p in points]
    text = (out / "candidates.md").read_text()
    assert text.count("| bgr |") == 5
    assert "![candidates](candidates.png)" in text
    assert (out / "candidates.png").read_bytes().startswith(b"\x89PNG")
    assert ablate(*words, "--counts", 2000, "own", "--fill", "random", "--systems", "--overwrite") == 0
    printed = capsys.readouterr().out
    assert "bgr, random, 2000: the facts that fit bring a question to 43.0 candidates on average" in printed


@pytest.mark.parametrize(
    ("changed", "code", "said"),
    [
        (["--fill", "easy"], 2, "random, bm25, rivals"),
        (["--counts", "own", "0"], 2, "--counts 0: allowed: own, or an integer of 1 or more"),
        (["--counts", "many"], 2, "--counts many: allowed: own"),
        (["--data", "BARE"], 1, "facts.jsonl: no such file"),
        (["--data", "NONE"], 1, "test.jsonl: no such file"),
        (["--split", "dev"], 1, "the split 'dev' is empty"),
        (["--systems", "bm26"], 1, "bm26 does not exist"),
        (["--systems", "bgr=bm25"], 1, "two systems have the name 'bgr'"),
        (["--systems", "CKPT:best"], 1, "unknown reconstruction rule 'best'"),
        (["--out", "DATA"], 1, "--overwrite"),
    ],
)
def test_errors_are_one_line(changed, code, said, films, random_checkpoint, tmp_path, capsys):
    bare = shutil.copytree(films, tmp_path / "bare")
    (bare / "facts.jsonl").unlink()
    places = {"BARE": bare, "NONE": tmp_path / "none", "DATA": films, "CKPT:best": f"{random_checkpoint}:best"}
    words = ["--checkpoint", random_checkpoint, "--data", films, "--out", tmp_path / "out"]
    words += [places.get(word, word) for word in changed]
    if code == 2:
        with pytest.raises(SystemExit) as stopped:
            ablate(*words)
        assert stopped.value.code == 2
    else:
        assert ablate(*words) == code
    lines = capsys.readouterr().err.strip().splitlines()
    assert said in lines[-1]
    assert lines[-1].startswith("bgr ablate candidates: error: " if code == 2 else "bgr ablate: error: ")
    assert not (tmp_path / "out").exists()
