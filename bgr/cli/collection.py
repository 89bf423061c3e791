"""`bgr collection`: the textual database that retrievers search."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from bgr.cli.parser import Command, Group, Output
from bgr.collection import options as opt

WIDTH = 100
"""Maximum number of characters of a text that are printed."""


def command() -> Group:
    return Group(
        summary="build, change, search and verify collections of texts, with vectors and triples",
        commands={
            "build": Command(
                summary="make a collection of a corpus",
                description="""An interrupted build, repeated, resumes where it stopped; an older collection in the
                    folder stays until the new one is complete.""",
                options=opt.BuildOptions,
                run=_summary_of("build"),
                example="""bgr collection build --corpus corpus.jsonl --out work/films
                    bgr collection build --corpus corpus.jsonl --out work/words --words-only""",
                json=False,
            ),
            "add": Command(
                summary="append texts",
                description="An interrupted addition, repeated, resumes where it stopped.",
                options=opt.AddOptions,
                run=_add,
                example="bgr collection add work/films --corpus more.jsonl",
                json=False,
            ),
            "delete": Command(
                summary="delete texts by id, with their triples",
                description="All are deleted or none; `bgr collection compact` frees their space.",
                options=opt.DeleteOptions,
                run=_summary_of("delete"),
                example="bgr collection delete work/films p17 p18",
                json=False,
            ),
            "search": Command(
                summary="find the best texts for questions",
                options=opt.SearchOptions,
                run=_search,
                example='bgr collection search work/films "Who directed Persona?" "When was it released?"\n'
                'bgr collection search work/films "Who directed Persona?" --method dense --milvus work/milvus.db',
            ),
            "show": Command(
                summary="describe a collection, without reading its texts",
                options=opt.FolderOptions,
                run=_show,
                example="bgr collection show work/films",
            ),
            "verify": Command(
                summary="read all files and compare them with their hashes",
                description="""Opening a collection compares only sizes and shapes. The exit code is 1 if a file is
                    damaged.""",
                options=opt.VerifyOptions,
                run=verify_collection,
                example="bgr collection verify work/films --corpus corpus.jsonl",
            ),
            "compact": Command(
                summary="make one segment of all texts that are left",
                description="Nothing is encoded again. Damaged files are refused, not copied.",
                options=opt.FolderOptions,
                run=_summary_of("compact"),
                example="bgr collection compact work/films",
                json=False,
            ),
            "upload": Command(
                summary="put the vectors into Milvus, a file or a server",
                description="Nothing is encoded again. After every change the collection must be uploaded again.",
                options=opt.UploadOptions,
                run=_upload,
                example="bgr collection upload work/films --milvus work/milvus.db\n"
                "bgr collection upload work/films --milvus http://localhost:19530 --overwrite",
                json=False,
            ),
            "triples": _triples(),
        },
    )


def _triples() -> Group:
    return Group(
        summary="extract, import and check the triples of texts",
        commands={
            "import": Command(
                summary="replace the triples of a collection by those of a file",
                options=opt.ImportOptions,
                run=_import,
                example="bgr collection triples import work/films openie.json",
                json=False,
            ),
            "extract": Command(
                summary="extract triples by a language model, into a collection or a file",
                description="""One call returns the names and triples of a text (GEAR, section 6.2). Finished texts and
                    all replies are kept: the same command, repeated, resumes, makes no call twice, and tries failed
                    texts again. A file is in HippoRAG's form, which `bgr compare --openie` reads.""",
                options=opt.ExtractOptions,
                run=_extract,
                example="bgr collection triples extract work/films --llm smollm2\n"
                "bgr collection triples extract --corpus corpus.jsonl --llm http://localhost:8000/v1#model "
                "--out openie.json --batch 64",
            ),
            "check": Command(
                summary="count the triples that a file holds for texts",
                description="""Malformed rows are counted. The exit code is 1 if the file is not valid, or none of its
                    texts is in the corpus.""",
                options=opt.CheckOptions,
                run=_check,
                example="bgr collection triples check openie.json --corpus corpus.jsonl",
            ),
            "facts": Command(
                summary="write the triples of ReasonGraphQA's facts, from the knowledge base",
                description="""No language model is needed. A dataset of `bgr data build` contains the triples, the
                    authors' release does not. The file has the facts of all splits.""",
                options=opt.FactsOptions,
                run=_facts,
                example="bgr collection triples facts dataset --out openie.json\n"
                "bgr compare --data dataset --openie openie.json --systems dense dense+naive --out work/facts",
                json=False,
            ),
        },
    )


def _add(options: opt.AddOptions) -> Output:
    from bgr.data.collections import add, summary

    collection, count = add(options)
    return Output(f"{summary(collection)}; {count:,} added")


def _summary_of(change: str) -> Callable[[Any], Output]:
    """The command that runs a function of `bgr.data.collections` and prints the summary of its collection."""

    def run(options: Any) -> Output:
        from bgr.data import collections

        return Output(collections.summary(getattr(collections, change)(options)))

    return run


def _search(options: opt.SearchOptions) -> Output:
    from bgr.data.collections import search

    rows = search(options)
    return Output("\n".join(map(_text, rows)), rows)


def _text(row: dict[str, Any]) -> str:
    lines = [f"{row['question']} ({row['method']})"]
    for rank, one in enumerate(row["passages"], 1):
        said = textwrap.shorten(" — ".join(filter(None, (one["title"], one["text"]))), WIDTH, placeholder=" …")
        lines.append(f"{rank:>4}  {one['score']:.4f}  {one['id']}  {said}")
    return "\n".join(lines)


def _show(options: opt.FolderOptions) -> Output:
    from bgr.data.collections import show, summary

    collection, about = show(options)
    lines = [f"{summary(collection)}; {about['bytes']:,} bytes"]
    lines += [f"  {name}: {passages:,} passages" for name, passages in about["segments"].items()]
    return Output("\n".join(lines), about)


def verify_collection(options: opt.VerifyOptions) -> Output:
    from bgr.data.collections import summary, verify

    collection, found = verify(options)
    text = f"{summary(collection)}\n{found.files:,} files of {found.bytes:,} bytes hold what was written"
    if found.unhashed:
        count = len(found.unhashed)
        text += f"\nnot compared: {count:,} files without a hash; `bgr collection compact` writes them again"
    return Output(text, asdict(found))


def _upload(options: opt.UploadOptions) -> Output:
    from bgr.data.collections import upload

    where, count = upload(options)
    return Output(f"{where}: {count:,} vectors")


def _import(options: opt.ImportOptions) -> Output:
    from bgr.data.collections import summary
    from bgr.data.triples import import_triples

    collection, found = import_triples(options)
    return Output(f"{summary(collection)}\n{options.file}: {found.report}")


def _extract(options: opt.ExtractOptions) -> Output:
    from bgr.data.triples import extract

    found = extract(options)
    usage = found.usage
    uncounted = f" (replies without a count: {usage.uncounted:,})" if usage.uncounted else ""
    text = (
        f"{options.folder or options.out}: {found.report}\n"
        f"calls: {usage.calls:,}, from the cache: {usage.cached:,}, failed: {usage.failed:,}; tokens read "
        f"{usage.tokens_in:,}, written {usage.tokens_out:,}{uncounted}; {usage.seconds:.0f} s"
    )
    counts = {
        "passages": len(found.entities),
        "triples": len(found.triples),
        "rows left out": found.left_out,
        "failures": dict(found.failures),
        "usage": usage.to_json(),
    }
    return Output(text, counts)


def _check(options: opt.CheckOptions) -> Output:
    from bgr.data.triples import check_triples

    found, counts = check_triples(options)
    lines = [
        f"{options.file}: {found.report}",
        f"passages without triples: {counts['passages without triples']:,} of {counts['passages']:,}; entities: "
        f"{counts['entities']:,}, of them in more than one passage: {counts['shared entities']:,}",
        *(f"  left out: {line}" for line in found.quoted),
    ]
    return Output("\n".join(lines), {**counts, "quoted": list(found.quoted)})


def _facts(options: opt.FactsOptions) -> Output:
    from bgr.data.triples import facts

    triples, texts = facts(options)
    return Output(f"{options.out}: {triples:,} triples of {texts:,} facts")
