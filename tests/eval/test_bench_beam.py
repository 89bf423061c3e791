"""The benchmark of the beam search on a small index."""

import json

import pytest

from bgr.cli import main
from eval.bench.beam import PASSAGE, random_triples


@pytest.mark.workflow
def test_the_command_measures_what_it_says(capsys):
    words = ["--triples", "3000", "--queries", "3", "--plain-triples", "2000", "--plain-queries", "2"]
    assert main(["bench", "beam", *words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["triples"], found["queries"], found["plain_queries"]) == (3000, 3, 2)
    assert found["differing"] == 0
    assert 0 < found["ms"]["median"] <= found["ms"]["largest"]
    assert found["ratio"] > 1
    assert found["commonest"] > 5


def test_triples_depend_only_on_the_seed():
    one, two, other = (list(random_triples(200, seed=seed)) for seed in (0, 0, 1))
    assert one == two != other
    assert [triple.passage for triple in one] == [number // PASSAGE for number in range(200)]
