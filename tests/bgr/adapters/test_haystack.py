import pytest
from haystack import Pipeline
from haystack.components.builders import PromptBuilder

from bgr.adapters.haystack import GraphRetriever
from bgr.errors import BgrError
from bgr.retrievers.base import Query

from .conftest import QUESTION

TEMPLATE = "{% for d in documents %}{{ d.content }} {% endfor %}{{ query }}"


def test_documents_with_their_graph(pipeline, collection):
    found = GraphRetriever(pipeline, collection).run(query=QUESTION)["documents"]
    [result] = pipeline.over(collection).retrieve([Query(QUESTION)])
    assert [one.content for one in found] == list(result.texts)
    assert [one.score for one in found] == list(result.scores)
    assert len(found[0].meta["graph"]) == len(result.graph.edges)
    assert {one.id for one in found} <= {"f", "r", "p", "a"}


def test_in_a_pipeline_that_is_stored(pruned_checkpoint, folder):
    made = Pipeline()
    made.add_component("retriever", GraphRetriever(str(pruned_checkpoint), folder))
    made.add_component("prompt", PromptBuilder(TEMPLATE, required_variables="*"))
    made.connect("retriever.documents", "prompt.documents")
    ask = {"retriever": {"query": QUESTION}, "prompt": {"query": QUESTION}}
    prompt = made.run(ask)["prompt"]["prompt"]
    assert prompt.endswith(QUESTION)
    assert " ." in prompt
    assert (
        Pipeline.loads(made.dumps(), allowed_modules=["bgr.adapters.haystack"]).run(ask)["prompt"]["prompt"] == prompt
    )


def test_objects_cannot_be_stored(pipeline, collection):
    for component in (GraphRetriever(pipeline, "films"), GraphRetriever("checkpoint", collection)):
        with pytest.raises(BgrError, match="only if its retriever and its collection are given by name"):
            component.to_dict()


def test_what_is_loaded_late_fails_in_one_line(pruned_checkpoint, tmp_path):
    with pytest.raises(BgrError, match="no such folder, allowed: a folder, or owner/name"):
        GraphRetriever("no checkpoint").run(query=QUESTION)
    with pytest.raises(BgrError) as error:
        GraphRetriever(str(pruned_checkpoint), tmp_path / "none").run(query=QUESTION)
    assert "\n" not in str(error.value)
