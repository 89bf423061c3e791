"""Options of the studies of `bgr ablate`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from bgr.collection.options import Pooling
from bgr.utils.options import Amount, File, Folder, MachineOptions, Metavar, OutFolder, Positive, option
from eval.systems.options import ModelText, ResourceOptions, SystemText

OWN = "own"
"""The candidates that the questions have, among numbers of candidates."""


@dataclass(frozen=True, kw_only=True)
class StudyOptions(ResourceOptions):
    """Options of all studies of `bgr ablate`."""

    llm: ModelText = option()
    openie: File | None = option(None, hidden=True)
    reader: ModelText | None = option(None, hidden=True)
    price: tuple[Amount, Amount] | None = option(None, hidden=True)
    max_calls: Positive | None = option(None, hidden=True)
    max_tokens: Positive | None = option(None, hidden=True)
    max_cost: Amount | None = option(None, hidden=True)


@dataclass(frozen=True, kw_only=True)
class AblatePrismOptions(StudyOptions):
    """Options of `bgr ablate prism`.

    Args:
        candidates: passages to choose from: those that come with each question (context), or the first of a search of
            the whole corpus.
        k: passages of a search to choose from.
        variants: variants to run (default: all).
    """

    candidates: Literal["context", "bm25", "dense", "hybrid"] = "context"
    k: Positive = 20
    variants: tuple[Annotated[str, Metavar("NAME")], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class AblateBridgeragOptions(StudyOptions):
    """Options of `bgr ablate bridgerag`.

    Args:
        judge: judge that gives scores, or the probability of "yes" for each candidate.
    """

    judge: Literal["scores", "probability"] = "scores"


@dataclass(frozen=True, kw_only=True)
class AblateAnswersOptions(StudyOptions):
    """Options of `bgr ablate answers`.

    Args:
        evidence: source of the graphs: gold, or [NAME=]FOLDER[:RULE] for a checkpoint or a trained baseline.
    """

    evidence: tuple[SystemText, ...] = ("gold",)
    settings: tuple[str, ...] = option((), hidden=True)
    corpus: File | None = option(None, hidden=True)
    encoder: str | None = option(None, hidden=True)
    query_prefix: str | None = option(None, hidden=True)
    pooling: Pooling | None = option(None, hidden=True)
    collection: Folder | None = option(None, hidden=True)


@dataclass(frozen=True, kw_only=True)
class AblateSpellingOptions(MachineOptions):
    """Options of `bgr ablate spelling`.

    Args:
        checkpoint: checkpoint folder.
        reader: reader of the answers in place of the checkpoint's: a folder of `bgr train reader`, or a language model.
        data: dataset folder of `bgr data build`.
        split: split of the dataset.
        limit: only use the first N questions.
        seed: seed of the typing mistakes.
        out: folder of the report.
        overwrite: replace the folder if it exists.
    """

    checkpoint: Folder
    reader: Annotated[str, Metavar("DIR|MODEL")] | None = None
    data: Folder
    split: Literal["train", "dev", "test"] = "test"
    limit: Positive | None = None
    seed: int = 0
    out: OutFolder
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class AblateWordingOptions(MachineOptions):
    """Options of `bgr ablate wording`.

    Args:
        checkpoint: checkpoint folder.
        reader: reader of the answers in place of the checkpoint's: a folder of `bgr train reader`, or a language model.
        data: dataset folder of `bgr data build --split wording`, or of a sheet worded by hand.
        kqapro: folder of `bgr atlas` that the dataset was built from.
        limit: only use the first N questions of test.
        seed: seed of the words.
        out: folder of the report.
        overwrite: replace the folder if it exists.
    """

    checkpoint: Folder
    reader: Annotated[str, Metavar("DIR|MODEL")] | None = None
    data: Folder
    kqapro: Folder
    limit: Positive | None = None
    seed: int = 0
    out: OutFolder
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class AblatePlainOptions(MachineOptions):
    """Options of `bgr ablate plain`.

    Args:
        checkpoint: checkpoint folder.
        reader: reader of the answers in place of the checkpoint's: a folder of `bgr train reader`, or a language model.
        collection: collection of the sentences of the knowledge base.
        kqapro: folder with kb.json, e.g. of `bgr atlas`.
        per: number of questions of each pattern, of which a predicate has two or three.
        seed: seed of the choice of entities.
        out: folder of the report.
        overwrite: replace the folder if it exists.
    """

    checkpoint: Folder
    reader: Annotated[str, Metavar("DIR|MODEL")] | None = None
    collection: Folder
    kqapro: Folder
    per: Positive = 6
    seed: int = 0
    out: OutFolder
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class SystemsOptions(MachineOptions):
    """Options of the commands that run a checkpoint and other systems over chosen candidates.

    Args:
        checkpoint: checkpoint folder.
        data: dataset folder of `bgr data build`.
        split: split of the dataset.
        systems: other systems to run: bm25, random, or [NAME=]FOLDER[:PART] for a trained baseline or another
            checkpoint; may be empty.
        limit: only use the first N questions.
        seed: seed of all random choices.
        out: folder of the report.
        overwrite: replace the folder if it exists.
    """

    checkpoint: Folder
    data: Folder
    split: Literal["train", "dev", "test"] = "test"
    systems: tuple[SystemText, ...] = option(("bm25",), nargs="*")
    limit: Positive | None = None
    seed: int = 0
    out: OutFolder
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class AblateDatabaseOptions(SystemsOptions):
    """Options of `bgr ablate database`.

    Args:
        collection: collection of the sentences of the database.
        database: folder of `bgr data database` with the statements of the sentences (default: the dataset's own).
        searches: searches that propose candidates to the checkpoint; the other systems get those of the last one.
        pool: number of candidates.
        reader: reader of the answers in place of the checkpoint's: a folder of `bgr train reader`, or a language model.
    """

    collection: Folder
    database: Folder | None = None
    searches: tuple[Literal["hops", "bm25", "dense", "hybrid", "hybrid+naive"], ...] = ("hops", "bm25")
    pool: Positive = 200
    reader: Annotated[str, Metavar("DIR|MODEL")] | None = None


@dataclass(frozen=True, kw_only=True)
class AblateCandidatesOptions(SystemsOptions):
    """Options of `bgr ablate candidates`.

    Args:
        counts: numbers of candidates; own stands for the candidates that the questions have.
        fill: kinds of facts that are added.
        batch_size: number of questions that a system gets at once; time and memory depend on it.
    """

    counts: tuple[Annotated[str, Metavar("own|N")], ...] = ("own", "25", "50", "100", "300", "1000")
    fill: tuple[Literal["random", "bm25", "rivals"], ...] = ("random", "bm25", "rivals")
    batch_size: Positive = 1

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The numbers of candidates; ``None`` for the questions' own."""
        return tuple(None if text == OWN else int(text) for text in self.counts)

    def conflicts(self) -> Iterator[str]:
        yield from super().conflicts()
        for text in self.counts:
            if text != OWN and not (text.isascii() and text.isdigit() and int(text) >= 1):
                yield f"--counts {text}: allowed: own, or an integer of 1 or more"
