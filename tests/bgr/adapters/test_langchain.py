import pytest
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableLambda

from bgr.adapters.langchain import GraphRetriever
from bgr.errors import BgrError
from bgr.retrievers.base import Query
from bgr.retrievers.scope import Scope
from bgr.retrievers.search import SearchRetriever

from .conftest import QUESTION


def test_documents_with_their_graph(pipeline, collection):
    retriever = GraphRetriever(pipeline, collection, tags=["bgr"])
    found = retriever.invoke(QUESTION)
    [result] = pipeline.over(collection).retrieve([Query(QUESTION)])
    assert [one.page_content for one in found] == list(result.texts)
    assert [one.metadata["score"] for one in found] == list(result.scores)
    assert len(found[0].metadata["graph"]) == len(result.graph.edges)
    assert {one.id for one in found} <= {"f", "r", "p", "a"}


def test_in_a_chain_alone_in_batches_and_async(pipeline, collection):
    import asyncio

    retriever = GraphRetriever(pipeline, collection)
    text = lambda documents: " ".join(one.page_content for one in documents)  # noqa: E731
    chain = retriever | RunnableLambda(text) | StrOutputParser()
    alone = chain.invoke(QUESTION)
    assert alone
    assert chain.batch([QUESTION] * 4) == [alone] * 4
    assert asyncio.run(chain.ainvoke(QUESTION)) == alone


def test_any_retriever_and_its_errors(search):
    retriever = GraphRetriever(search)
    assert next(one.id for one in retriever.invoke("Alpha ?")) == "a"
    with pytest.raises(BgrError, match="this retriever has no search"):
        GraphRetriever(SearchRetriever(Scope(search.scope.corpus))).invoke("Alpha ?")
