"""Options of `bgr atlas` and of the commands of `bgr data`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from bgr.llm.options import LlmOptions
from bgr.utils.options import (
    File,
    Folder,
    Fraction,
    Metavar,
    Natural,
    Options,
    OutFile,
    OutFolder,
    Positive,
    Range,
    option,
    positional,
)

PACKAGED = "minilm"
"""Name of the sentence encoder that is installed as a package."""

Split = Literal["train", "dev", "test"]
Picture = Annotated[OutFile, Metavar("FILE.png")]
Sheet = Annotated[File, Metavar("FILE.csv")]


@dataclass(frozen=True, kw_only=True)
class AtlasOptions(Options):
    """Options of `bgr atlas`.

    Args:
        out: folder to write.
        questions: number of questions.
        size: number of entities in the dense core.
        full: use all entities of the data packages, not only the core.
        even: sample the kinds of entities, and their relations and attributes, equally often; otherwise films and their
            people lead, as in KQA Pro, and what few entities have, such as being a capital, is seldom asked.
        seed: equal seeds give equal files.
        overwrite: replace the folder if it exists.
    """

    out: OutFolder
    questions: int = 15_000
    size: int = 20_000
    full: bool = False
    even: bool = False
    seed: int = 0
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class UnseenOptions(Options):
    """Options of `bgr data unseen`.

    Args:
        data: dataset folder of `bgr data build`.
        trained: dataset whose training questions are left out of dev and test.
        out: folder to write.
        overwrite: replace the folder if it exists.
    """

    data: Folder = positional(metavar="DIR")
    trained: Folder
    out: OutFolder
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class DatabaseOptions(Options):
    """Options of `bgr data database`.

    Args:
        kqapro: folder with kb.json, of which the dataset was built.
        data: dataset folder of `bgr data build`.
        out: folder to write.
        seed: seed of the wordings.
        overwrite: replace the folder if it exists.
    """

    kqapro: Folder
    data: Folder
    out: OutFolder
    seed: int = 0
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class WorldsOptions(Options):
    """Options of `bgr data worlds`.

    Args:
        out: folder to write.
        overwrite: replace the folder if it exists.
    """

    out: OutFolder
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Options):
    """Options of `bgr data build`.

    Args:
        kqapro: folder with kb.json, train.json and val.json, in the schema of KQA Pro.
        out: folder to write.
        questions: file of questions in KQA Pro's form (default: train.json and val.json of the folder).
        limit: use a random sample of N questions (default: all).
        seed: seed of all sampling.
        recipe: how candidates are chosen: with rival chains and questions without an answer, or as in the paper.
        candidates: maximum number of candidates for each question (default: 120, for the paper's recipe 25).
        candidates_min: minimum number of candidates for each question (default: 15, for the paper's recipe 20, or
            --candidates if that is less).
        unanswerable: share of the questions whose candidates lack needed facts (default: 0.1, for the paper's recipe
            0).
        parts: for each training question, add at most N that ask for a part of it (for what it describes, or the same
            about the name of that), and N that join a part of it with a part of another, as far as Atlas has words.
        by_hand: also add each training question that the package has in words by hand, which are 4,500 of
            `bgr atlas --full --questions 106000`.
        joined_probability: probability that a fact is joined with one or two others in a sentence.
        mixture: shares of distractors that (a) are similar to the question, (b) have the same head, (c) are random
            (default: one third each).
        hard: use more of (a) and (b): shares of 0.45, 0.45 and 0.1.
        similarity: sentence encoder, "minilm" for the packaged one or a folder.
        verbalizer: encoder-decoder such as T5 that verbalizes the facts, e.g. of `bgr train verbalizer` (default:
            templates).
        verbalizer_candidates: number of sentences that the verbalizer samples for a fact.
        split: how questions are assigned to train, dev and test; wording is for questions of `bgr atlas`, and with
            test all are in test.
        domain: concepts such as "film": with --split domain, test has all questions with a gold fact about one.
        skip_bad: count malformed questions instead of stopping at the first.
        overwrite: replace the folder if it exists.
    """

    kqapro: Folder
    out: OutFolder
    questions: Annotated[File, Metavar("FILE.json")] | None = None
    limit: int | None = None
    seed: int = 0
    recipe: Literal["paper", "rivals"] = "rivals"
    candidates: int | None = None
    candidates_min: int | None = None
    unanswerable: float | None = None
    parts: int = 0
    by_hand: bool = False
    joined_probability: float = 0.15
    mixture: tuple[float, float, float] | None = option(None, metavar=("A", "B", "C"))
    hard: bool = False
    similarity: Annotated[str, Metavar(f"{PACKAGED}|DIR")] = PACKAGED
    verbalizer: Annotated[str, Metavar("DIR|ID")] | None = None
    verbalizer_candidates: int = 4
    split: Literal["random", "structure", "entity", "composition", "domain", "wording", "test"] = "random"
    domain: tuple[Annotated[str, Metavar("CONCEPT")], ...] | None = None
    skip_bad: bool = False
    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        if self.hard and self.mixture is not None:
            yield "--hard and --mixture exclude each other"
        if self.recipe != "paper" and (self.hard or self.mixture is not None):
            yield "--hard and --mixture are for --recipe paper, whose kinds of distractors they mix"
        if (self.split == "domain") != bool(self.domain):
            yield "--split domain and --domain CONCEPT go together"


@dataclass(frozen=True, kw_only=True)
class ParaphraseOptions(LlmOptions):
    """Options of `bgr data paraphrase`.

    Args:
        source: folder of KQA Pro files or of `bgr atlas`, or one file of questions.
        out: file to write; as paraphrases.json in the folder of the questions it is used by `bgr data build`.
        wordings: number of paraphrases to ask for, for each question.
        attested: number of questions of the source that must have each three words in a row of a paraphrase; 0 allows
            any words, for a small source or a strong model.
        samples: number of questions, chosen at random (default: all).
        seed: seed of the choice of questions, and of the model's random choices.
        overwrite: replace the file if it exists.
    """

    source: File = positional(metavar="DIR|FILE")
    out: OutFile
    wordings: Annotated[int, Range(1, 10)] = 2
    attested: Natural = 3
    samples: Positive | None = None
    seed: Natural = 0
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class DatasetOptions(Options):
    """Options of the commands that read a dataset: `bgr data verify` and `bgr data leakage`.

    Args:
        folder: a dataset.
    """

    folder: Folder = positional(metavar="DIR")


@dataclass(frozen=True, kw_only=True)
class StatsOptions(DatasetOptions):
    """Options of `bgr data stats`.

    Args:
        plot: draw the paper's Figure 3.
    """

    plot: Picture | None = None


@dataclass(frozen=True, kw_only=True)
class ShowOptions(DatasetOptions):
    """Options of `bgr data show`.

    Args:
        split: split of the sample (default: test; with --id all splits).
        id: identifier of the sample.
        number: index of the sample in the split, from 0 (default: 0).
        random: choose a random sample of the split.
        seed: seed of --random.
        draw: draw the graph to this .png, .svg or .html file.
        overwrite: replace the drawing if it exists.
    """

    split: Split | None = None
    id: str | None = None
    number: int | None = None
    random: bool = False
    seed: int = 0
    draw: OutFile | None = None
    overwrite: bool = False

    def conflicts(self) -> Iterator[str]:
        if (self.id is not None) + (self.number is not None) + self.random > 1:
            yield "--id, --number and --random exclude one another"


@dataclass(frozen=True, kw_only=True)
class ShortcutsOptions(DatasetOptions):
    """Options of `bgr data shortcuts`.

    Args:
        limit: maximum number of samples of each split.
        seed: seed of the sample and of the classifiers.
    """

    limit: Positive = 2000
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class QualityOptions(DatasetOptions):
    """Options of `bgr data quality`.

    Args:
        facts: number of facts to sample.
        seed: seed of the sample.
        sheet: write the sampled facts to this file, with columns for marks.
        overwrite: replace the sheet if it exists.
        marks: completed sheets, one for each marker.
    """

    facts: int = 2000
    seed: int = 0
    sheet: Annotated[OutFile, Metavar("FILE.csv")] | None = None
    overwrite: bool = False
    marks: tuple[Sheet, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class ConvertOptions(Options):
    """Options of `bgr data convert`.

    Args:
        source: a dataset, a folder in the released form, or a MuSiQue file.
        out: folder to write.
        to: form to write.
        shares: shares of MuSiQue's questions in the three splits (default: 70 10 20).
        overwrite: replace the folder if it exists.
    """

    source: Folder = positional(metavar="IN")
    out: OutFolder = positional(metavar="OUT")
    to: Literal["released", "bgr"]
    shares: tuple[int, int, int] | None = option(None, metavar=("TRAIN", "DEV", "TEST"))
    overwrite: bool = False


@dataclass(frozen=True, kw_only=True)
class ImportOptions(Options):
    """Options of `bgr data import`.

    Args:
        files: JSON lines, one question each.
        out: folder to write.
        collection: collection to which ids refer, and from which questions without facts get their candidates.
        teacher: checkpoint that finds the evidence of questions that have an answer alone (default: a chain of names).
        agreement: lower limit of the agreement of the teacher's two directions.
        candidates: number of candidates of a question that names none.
        shares: shares of the questions in the three splits, where a line does not name its split.
        withhold: share of the questions that are also given without a fact of their evidence, as not answerable.
        hold_out: what no two splits share: the text of a question, or also the facts of the evidence.
        name: name of the dataset in its card.
        seed: seed of the splits, of random candidates and of their order.
        overwrite: replace the folder if it exists.
    """

    files: tuple[File, ...] = positional(metavar="FILE")
    out: OutFolder
    collection: Folder | None = None
    teacher: Folder | None = None
    agreement: Fraction = 0.5
    candidates: Annotated[int, Range(2, 1000)] = 24
    shares: tuple[int, int, int] = option((80, 10, 10), metavar=("TRAIN", "DEV", "TEST"))
    withhold: Fraction = 0.0
    hold_out: Literal["questions", "facts"] = "questions"
    name: str = "Own data"
    seed: int = 0
    overwrite: bool = False
