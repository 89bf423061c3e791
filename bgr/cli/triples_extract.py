"""Ask a language model for the entities and triples of every passage (GEAR, section 6.2), and write them in HippoRAG's
form, which `bgr compare --openie` reads.

What is done is kept passage by passage in FILE.db, beside the file to write, and every reply in FILE.replies.db: the
same command goes on where it was interrupted, repeats no call that was answered, and asks again for passages that
failed. These are counted, and are not in the file that is written.

  bgr triples extract --corpus corpus.json --llm smollm2 --out openie.json
  bgr triples extract --corpus corpus.json --llm http://localhost:8000/v1#model --out openie.json --batch 64
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.corpus_option import add_corpus, read_passages
from bgr.cli.counts import positive
from bgr.errors import BgrError, DataError

if TYPE_CHECKING:
    from bgr.collection.corpus import Corpus
    from bgr.collection.triples.extract import Extracted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_corpus(parser)
    parser.add_argument(
        "--llm", required=True, metavar="SPEC", help="smollm2, a .gguf file, a folder, http://host/v1#model"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="triples to write")
    parser.add_argument("--limit", type=positive, metavar="N", help="the first N passages alone")
    parser.add_argument(
        "--batch", type=positive, default=16, metavar="N", help="passages asked for at once; default: 16"
    )
    parser.add_argument("--replay", type=Path, metavar="FILE", help="keep replies here; default: OUT.replies.db")
    parser.add_argument("--replay-only", action="store_true", help="refuse calls that --replay cannot answer")
    parser.add_argument("--overwrite", action="store_true", help="begin anew; replies that are kept stay")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")


def run(args: argparse.Namespace) -> None:
    from bgr.collection.corpus import Corpus
    from bgr.collection.triples.openie import write_openie

    if args.replay_only and args.replay is None:
        raise BgrError("--replay-only needs --replay FILE")
    kept = args.out.with_name(f"{args.out.name}.db")
    _check_output(args.out, kept, overwrite=args.overwrite)
    corpus = Corpus(read_passages(args.corpus)[: args.limit])
    found = _extract(args, corpus, kept)
    write_openie(args.out, corpus, found.triples, entities=found.entities, without=found.failures)
    if args.json:
        print(json.dumps(_counts(found), indent=2, ensure_ascii=False))
        return
    print(f"{args.out}: {found.report}")
    usage = found.usage
    print(
        f"calls: {usage.calls:,}, from the cache: {usage.cached:,}, failed: {usage.failed:,}; tokens read "
        f"{usage.tokens_in:,}, written {usage.tokens_out:,}"
        f"{f' (replies without a count: {usage.uncounted:,})' if usage.uncounted else ''}; {usage.seconds:.0f} s"
    )


def _extract(args: argparse.Namespace, corpus: Corpus, kept: Path) -> Extracted:
    from bgr.collection.triples.extract import extract_triples
    from bgr.llm.backends.loading import load_backend
    from bgr.llm.language_model import Llm
    from bgr.llm.replay import Replay

    replies = args.replay or args.out.with_name(f"{args.out.name}.replies.db")
    model = load_backend(args.llm)
    _open_output(args.out, kept, overwrite=args.overwrite)  # after all that may be wrong: what was kept goes now
    llm = Llm(model, replay=Replay(replies, replay_only=args.replay_only))
    return extract_triples(corpus, llm, kept, model=llm.backend.name, batch=args.batch, progress=True)


def _check_output(out: Path, kept: Path, *, overwrite: bool) -> None:
    """Refuse to replace what this command did not write.

    Raises:
        DataError: the file is there.
    """
    if out.is_dir():
        raise DataError(f"{out}: is a folder; name a file")
    if out.exists() and not kept.exists() and not overwrite:
        raise DataError(f"{out}: exists already, and no {kept.name} to go on with; give --overwrite to replace it")


def _open_output(out: Path, kept: Path, *, overwrite: bool) -> None:
    """Make the folder; begin anew where that is wanted.

    Raises:
        DataError: it cannot be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if overwrite:
            kept.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{out}: cannot be written: {error.strerror or error}") from None


def _counts(found: Extracted) -> dict[str, Any]:
    return {
        "passages": len(found.entities),
        "triples": len(found.triples),
        "rows left out": found.left_out,
        "failures": dict(found.failures),
        "usage": found.usage.to_json(),
    }
