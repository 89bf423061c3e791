"""Settings that determine the results of a method, including its prompts."""

from dataclasses import asdict

import pytest

from bgr.llm.prompts import prompts_hash
from bgr.retrievers.prism.run import PAPER
from eval.systems.retrievers import ALL, SECTIONS, method_settings
from eval.systems.spec import METHODS


@pytest.mark.parametrize("name", METHODS)
def test_prompts_are_settings_of_methods_that_ask(name):
    method = METHODS[name]
    wanted = prompts_hash(f"bgr.{SECTIONS[method.name]}") if method.asks else None
    assert method_settings(method, "corpus").get("prompts") == wanted


def test_prism_chooses_from_all_passages_of_a_question():
    assert method_settings(METHODS["prism"], "question")["prism"] == asdict(PAPER) | {"candidates": ALL}
    assert method_settings(METHODS["prism"], "corpus")["prism"] == asdict(PAPER)


def test_the_settings_of_prism_change_only_where_a_reader_answers():
    """Results that were kept stay valid."""
    for method in METHODS.values():
        own, read = (method_settings(method, "corpus", answers=answers) for answers in (True, False))
        assert "answers" not in own
        assert read == own | ({"answers": False} if method.name == "prism" else {})
