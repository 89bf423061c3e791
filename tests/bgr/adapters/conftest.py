import os

# before the libraries are imported: no test reports its use to anyone
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["LANGSMITH_TRACING"] = "false"

import pytest

from bgr.collection.collection import Collection
from bgr.pipeline import BgrPipeline
from bgr.retrievers.search import SearchRetriever

DOCUMENTS = [
    {"id": "f", "title": "Persona", "text": "Persona was made in Sweden ."},
    {"id": "r", "title": "", "text": "Rome lies in Italy ."},
    {"id": "p", "title": "", "text": "Paris lies in France ."},
    {"id": "a", "title": "Alpha", "text": "Alpha has 3 people ."},
]
QUESTION = "In which country was Persona made ?"


@pytest.fixture(scope="session")
def pipeline(pruned_checkpoint):
    return BgrPipeline.from_pretrained(pruned_checkpoint, device="cpu", precision="32")


@pytest.fixture(scope="session")
def collection():
    return Collection.in_memory(DOCUMENTS, encoder=None)


@pytest.fixture(scope="session")
def folder(build_once):
    return build_once("adapted", lambda folder: Collection.build(DOCUMENTS, folder / "films", encoder=None)) / "films"


@pytest.fixture(scope="session")
def search(collection):
    """A retriever with a collection of its own, which ranks texts."""
    return SearchRetriever.over(collection, search="bm25", k=2)
