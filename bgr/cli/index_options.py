"""What the words of `bgr index` share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bgr.cli.passage_parts import ENCODER_TOKENS

if TYPE_CHECKING:
    from bgr.collection.embedding import SentenceEncoder
    from bgr.collection.index_folder import IndexFolder
    from bgr.collection.milvus import MilvusCollection


def add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="an index")


def add_encoder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--encoder", type=Path, metavar="DIR", help="of the vectors; default: the packaged MiniLM")


def add_milvus(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    parser.add_argument(
        "--milvus",
        required=required,
        metavar="FILE.db|URL",
        help="a file (milvus-lite), or a server's http://host:port",
    )
    parser.add_argument("--collection", default="passages", metavar="NAME", help="in Milvus; default: passages")


def load_encoder(folder: Path | None) -> SentenceEncoder:
    """The encoder that was named, or the packaged one."""
    from bgr.collection.embedding import SentenceEncoder
    from bgr.models.packaged import packaged_minilm

    return SentenceEncoder(folder or packaged_minilm(), max_tokens=ENCODER_TOKENS)


def open_with_encoder(folder: Path, encoder: Path | None) -> IndexFolder:
    """An index with the encoder that its vectors need; without one where it has none.

    Raises:
        DataError: no index, a damaged one, or one of another encoder.
    """
    from bgr.collection.index_folder import IndexFolder

    if IndexFolder(folder).manifest.encoder is None and encoder is None:
        return IndexFolder(folder, progress=True)
    model = load_encoder(encoder)
    return IndexFolder(folder, encoder=model, key=model.identity(), progress=True)


def open_collection(args: argparse.Namespace) -> MilvusCollection:
    """The collection that `add_milvus` names.

    Raises:
        BgrError: Milvus' client is not installed, or there is no answer.
    """
    from bgr.collection.milvus import MilvusCollection

    return MilvusCollection(args.milvus, args.collection)


def summary(index: IndexFolder) -> str:
    """What an index is of, in one line."""
    own = index.manifest
    numbers = f"{own.dimensions} numbers of {'half' if own.half else 'single'} precision"
    kind = f"vectors of {numbers}" if own.encoder else "words alone"
    gone = f", {own.rows - own.passages:,} deleted" if own.deleted else ""
    return f"{index.folder}: {own.passages:,} passages{gone}, {kind}; corpus {own.corpus[:12]}"
