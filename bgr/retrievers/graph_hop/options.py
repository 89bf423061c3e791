"""Options of the commands that use a checkpoint: `bgr export` and `bgr ask`."""

from __future__ import annotations

from dataclasses import dataclass

from bgr.utils.options import File, Folder, MachineOptions, Options, positional


@dataclass(frozen=True, kw_only=True)
class ExportOptions(Options):
    """Options of `bgr export`.

    Args:
        run: run folder of `bgr train retriever`, or another checkpoint folder.
        out: new checkpoint folder.
        reader: folder of `bgr train reader`, to answer questions (default: the reader in the run folder, if any).
        half: store the weights in fp16, at half the size.
        without_encoder: store the name and hash of the packaged encoder in place of its weights; whoever loads the
            checkpoint needs the package (bgr[offline]).
        metrics: metrics.json of `bgr evaluate`, for the model card.
        overwrite: replace the folder if it exists.
    """

    run: Folder
    out: Folder
    reader: Folder | None = None
    half: bool = False
    without_encoder: bool = False
    metrics: File | None = None
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class AskOptions(MachineOptions):
    """Options of `bgr ask`.

    Args:
        question: the question, in quotes.
        checkpoint: folder of `bgr export` or of a training run.
        facts: text file with one fact a line; empty lines are skipped.
        draw: draw the graph to this .png, .svg or .html file.
        overwrite: replace the drawing if it exists.
    """

    question: str = positional(metavar="QUESTION")
    checkpoint: Folder
    facts: File
    draw: File | None = None
    overwrite: bool = False
