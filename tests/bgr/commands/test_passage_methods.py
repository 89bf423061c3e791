"""What decides a method's results: prompts too, where it asks a language model."""

import pytest

from bgr.commands.passage_methods import ASKING, METHODS, method_settings
from bgr.llm.prompts import prompts_hash

PACKAGE = {"sync": "gear", "gear": "gear", "prism": "prism", "bridgerag": "bridgerag", "bridgerag-p": "bridgerag"}


@pytest.mark.parametrize("name", METHODS)
def test_prompts_are_settings_of_methods_that_ask(name):
    method = METHODS[name].method
    wanted = prompts_hash(f"bgr.{PACKAGE[method]}") if method in ASKING else None
    assert method_settings(METHODS[name]).get("prompts") == wanted
