"""What decides a method's results: prompts too, where it asks a language model."""

from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from bgr.cli.parts_within import PartsWithin
from bgr.cli.passage_methods import ALL, ASKING, METHODS, make_retriever, method_settings
from bgr.collection.corpus import Corpus, Passage
from bgr.llm.prompts import prompts_hash
from bgr.retrievers.prism.given import GivenSearch
from bgr.retrievers.prism.prism_settings import PAPER

PACKAGE = {"sync": "gear", "gear": "gear", "prism": "prism", "bridgerag": "bridgerag", "bridgerag-p": "bridgerag"}


@pytest.mark.parametrize("name", METHODS)
def test_prompts_are_settings_of_methods_that_ask(name):
    method = METHODS[name].method
    wanted = prompts_hash(f"bgr.{PACKAGE[method]}") if method in ASKING else None
    assert method_settings(METHODS[name], "corpus").get("prompts") == wanted


def test_prism_chooses_from_all_passages_of_a_question():
    whole = SimpleNamespace(corpus=Corpus(Passage(str(n), "", f"Sentence {n}.") for n in range(40)))
    narrow = PartsWithin(whole, range(5, 38), asks=object())
    narrow.hybrid = GivenSearch({"Q?": range(33)}, 33)
    retriever = make_retriever(METHODS["prism"], narrow, {})
    assert retriever.settings == replace(PAPER, candidates=33)
    assert method_settings(METHODS["prism"], "question")["prism"] == asdict(PAPER) | {"candidates": ALL}
    assert method_settings(METHODS["prism"], "corpus")["prism"] == asdict(PAPER)


def test_the_settings_of_prism_change_only_where_a_reader_answers():
    """Results that were kept stay valid."""
    for recipe in METHODS.values():
        own, read = (method_settings(recipe, "corpus", answers=answers) for answers in (True, False))
        assert "answers" not in own
        assert read == own | ({"answers": False} if recipe.method == "prism" else {})
