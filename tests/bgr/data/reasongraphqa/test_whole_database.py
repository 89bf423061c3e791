"""The whole knowledge base in sentences, beside those of a dataset."""

import json

import pytest

from bgr.cli import main
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.reasongraphqa.construction.textual_database import meaning
from bgr.data.reasongraphqa.io.fact_records import read_facts


@pytest.fixture
def dataset(tmp_path, source, small_encoder):
    """A dataset of twelve questions."""
    words = ["--kqapro", str(source), "--out", str(tmp_path / "data"), "--similarity", str(small_encoder)]
    assert main(["data", "build", *words, "--limit", "12"]) == 0
    return tmp_path / "data"


def database(source, data, out, *more):
    return main(["data", "database", "--kqapro", str(source), "--data", str(data), "--out", str(out), *more])


def test_every_statement_is_in_one_sentence(tmp_path, source, dataset, capsys):
    capsys.readouterr()
    assert database(source, dataset, tmp_path / "all", "--json") == 0
    counts = json.loads(capsys.readouterr().out)
    own, every = list(read_facts(dataset)), list(read_facts(tmp_path / "all"))
    assert every[: len(own)] == own
    assert (counts["dataset"], counts["others"]) == (len(own), len(every) - len(own))
    others = [fact for record in every[len(own) :] for fact in record.facts]
    assert len(others) == counts["others"] > len(own)  # one in each sentence
    stated = {meaning(fact) for record in own for fact in record.facts}
    assert not stated & {meaning(fact) for fact in others}
    kb = KnowledgeBase.load(source)
    wanted = {meaning(row.fact()) for node in kb.all_ids for row in kb.attributes(node)}
    wanted |= {meaning(row.fact()) for node in kb.all_ids for row, _ in kb.relations(node)}
    assert stated | {meaning(fact) for fact in others} >= wanted
    assert len({record.id for record in every}) == len(every)
    assert not any(record.gold for record in every[len(own) :])


def test_the_same_bytes_and_no_folder_is_lost(tmp_path, source, dataset, capsys):
    for name in ("a", "b"):
        assert database(source, dataset, tmp_path / name) == 0
    first, second = ((tmp_path / name / "facts.jsonl").read_bytes() for name in ("a", "b"))
    assert first == second
    assert database(source, dataset, tmp_path / "a") == 1
    assert "--overwrite" in capsys.readouterr().err
    assert (tmp_path / "a" / "facts.jsonl").read_bytes() == first


def test_another_knowledge_base_is_refused(tmp_path, source, dataset, capsys):
    records = json.loads((source / "kb.json").read_text())
    node = next(iter(json.loads((dataset / "facts.jsonl").read_text().splitlines()[0])["facts"]))["head"]
    records["entities"][node]["name"] = "another"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "kb.json").write_text(json.dumps(records))
    assert database(tmp_path / "other", dataset, tmp_path / "all") == 1
    assert "give the knowledge base of the dataset" in capsys.readouterr().err
    assert not (tmp_path / "all").exists()
    assert database(source, tmp_path / "none", tmp_path / "all") == 1
    assert "none/facts.jsonl" in capsys.readouterr().err
