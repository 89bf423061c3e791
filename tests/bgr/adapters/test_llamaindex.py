import asyncio

from llama_index.core.schema import MetadataMode

from bgr.adapters.llamaindex import GraphRetriever
from bgr.retrievers.base import Query

from .conftest import QUESTION


def test_nodes_with_scores_and_their_graph(pipeline, collection):
    retriever = GraphRetriever(pipeline, collection)
    found = retriever.retrieve(QUESTION)
    [result] = pipeline.over(collection).retrieve([Query(QUESTION)])
    assert [one.node.text for one in found] == list(result.texts)
    assert [one.score for one in found] == list(result.scores)
    assert len(found[0].metadata["graph"]) == len(result.graph.edges)
    again = asyncio.run(retriever.aretrieve(QUESTION))
    assert [one.node_id for one in again] == [one.node_id for one in found]


def test_a_language_model_sees_the_text_alone(search):
    [first, *_] = GraphRetriever(search).retrieve("Persona ?")
    assert first.node_id == "f"
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert first.node.get_content(metadata_mode=mode) == "Persona\nPersona was made in Sweden ."
