"""The checkpoint in the repository: small, loadable with the packaged encoder, and better than a guess."""

from pathlib import Path

import pytest

from bgr.pipeline import BgrPipeline

FOLDER = Path(__file__).parents[1] / "checkpoints" / "atlas"
FACTS = [
    "Kit Kittredge: An American Girl credits Ann Peacock as a writer.",
    "Kit Kittredge: An American Girl took in 17,655,201 United States dollars at the cinemas.",
    "Nights in Rodanthe was written by Ann Peacock.",
    "Nights in Rodanthe took in $84,375,061 at the cinemas.",
    "The release date of Kit Kittredge: An American Girl is 2008.",
    "Spain is governed from Madrid.",
    "Watching Ugetsu takes 96 minutes.",
]


@pytest.fixture(scope="module")
def pipeline():
    return BgrPipeline.from_pretrained(FOLDER, device="cpu")


def test_it_is_small():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < 25e6


def test_it_finds_a_chain(pipeline):
    found = pipeline.answer("Which film written by Ann Peacock earned more than 50 million dollars?", FACTS)
    assert {2, 3} <= set(found.graph.nodes)
    assert not {4, 5, 6} & set(found.graph.nodes)
    assert found.completeness > 0.5


def test_it_refuses_what_is_not_there(pipeline):
    complete = pipeline.answer("Who wrote Nights in Rodanthe?", FACTS)
    lacking = pipeline.answer("Who directed Nights in Rodanthe?", FACTS)
    assert complete.graph.nodes == (2,)
    assert lacking.completeness < complete.completeness


def test_it_answers_and_says_where_it_read(pipeline):
    found = pipeline.answer("What is the runtime of Ugetsu?", FACTS)
    assert (found.text, found.support) == ("96 minute", (6,))
    [span] = found.spans
    assert FACTS[span.fact][span.start : span.end] == "96 minutes"
    assert found.confidence > 0.5
    assert found.warnings == ()
    assert pipeline.answer("Wie lange läuft der Film Ugetsu?", FACTS).warnings
