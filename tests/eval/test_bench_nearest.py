"""`bgr bench nearest` on the facts of a small dataset."""

import pytest

from bgr.collection.collection import Collection
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import DataError
from eval.bench.nearest import bench_nearest
from eval.bench.options import NearestBenchOptions


@pytest.fixture
def options(toy_data, encoder_folder, tmp_path):
    facts = list(dict.fromkeys(fact for example in load_split(toy_data, "train") for fact in example.facts))
    facts += [f"{fact} Paris {number} ." for number in range(300) for fact in facts[:1]]
    Collection.build(facts, tmp_path / "made", encoder=None)
    return {"collection": tmp_path / "made", "data": toy_data, "encoder": str(encoder_folder), "questions": 3, "k": 2}


def test_both_forms_are_measured(options):
    text, found, *_ = bench_nearest(NearestBenchOptions(**options))
    assert list(found["rows"]) == ["exact", "bytes", "parts"]
    assert found["rows"]["bytes"]["recall"] > 0.5
    assert found["rows"]["parts"]["bytes"] < found["rows"]["bytes"]["bytes"] < found["rows"]["exact"]["bytes"]
    assert "recall@2" in text


def test_an_empty_collection_is_refused(options, tmp_path):
    Collection.build([], tmp_path / "empty", encoder=None)
    with pytest.raises(DataError, match="no texts"):
        bench_nearest(NearestBenchOptions(**{**options, "collection": tmp_path / "empty"}))
