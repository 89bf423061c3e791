"""The five ways to ask, by name."""

from __future__ import annotations

from collections.abc import Mapping

from bgr.llm_graph.arrow_form import ArrowForm
from bgr.llm_graph.chain_form import ChainForm
from bgr.llm_graph.edge_form import EdgeForm
from bgr.llm_graph.form import Form
from bgr.llm_graph.parent_form import ParentForm
from bgr.llm_graph.step_form import StepForm

FORMS: Mapping[str, Form] = {
    form.name: form for form in (EdgeForm(), ChainForm(), ParentForm(), StepForm(), ArrowForm())
}
