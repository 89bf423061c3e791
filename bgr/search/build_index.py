"""Building an index folder."""

from __future__ import annotations

from pathlib import Path

from bgr.search.corpus import Corpus
from bgr.search.dense import Encoder
from bgr.search.index_folder import IndexFolder, check_key
from bgr.search.index_writing import changing, check_free, tidy
from bgr.search.manifest import Manifest, Piece
from bgr.search.segment import forget_encoded, new_segment


def build_index(
    folder: str | Path,
    corpus: Corpus,
    *,
    encoder: Encoder | None = None,
    key: str | None = None,
    half: bool = False,
    overwrite: bool = False,
    progress: bool = False,
) -> IndexFolder:
    """Index a corpus. A cut-off run, repeated, goes on from the vectors it had; an old index counts until the end.

    Args:
        folder: new, empty, or an index that `overwrite` allows to replace.
        corpus: the passages; title and text are searched.
        encoder: texts to unit vectors; ``None`` for BM25 alone.
        key: names the encoder: `SentenceEncoder.identity`, or any text.
        half: keep vectors as float16, at half the size and a precision of three digits.
        overwrite: replace the index that is there.
        progress: show a bar on standard error.

    Raises:
        DataError: the folder is taken or cannot be written, or another process is writing it.
        ValueError: an encoder without a key, or one that does not give unit vectors.
    """
    check_key(encoder, key)
    if encoder is None and key is not None:
        raise ValueError(f"a key ({key}) without an encoder; give both or neither")
    folder = Path(folder)
    check_free(folder, overwrite)
    with changing(folder) as number:
        segments: tuple[Piece, ...] = ()
        width = 0
        if len(corpus):
            piece, width = new_segment(folder, number, corpus, encoder, key, half=half, progress=progress)
            segments = (piece,)
        elif encoder is not None:
            width = encoder([]).shape[1]
        Manifest(corpus.hash, len(corpus), key, width, half, segments).write(folder)
        tidy(folder)
        forget_encoded(folder)
    return IndexFolder(folder, encoder=encoder, key=key, progress=progress)
