"""Shortcuts in a dataset: how well its gold facts are guessed without understanding the questions.

Two classifiers (gradient boosting of scikit-learn) judge each candidate of a question. The *blind* one never reads the
question: it sees the candidate's place, length, words and what it shares with the other candidates. The *lexical* one
also sees which words of the question the candidate repeats. A dataset without shortcuts leaves the blind one at an area
under the ROC curve (AUC) of 0.5.

Also measured: how often a rival stands among the candidates (an entity with its own value of the attribute that the
question filters by), how gold facts and distractors differ, and what the splits share.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np
from tqdm import tqdm

from bgr.data.example import Example
from bgr.data.kb.schema import Fact
from bgr.data.reasongraphqa.checks.verify import FactTable
from bgr.data.reasongraphqa.construction.splits import SPLITS
from bgr.data.reasongraphqa.io.dataset import load_split
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.metrics.evidence_set import set_scores
from bgr.metrics.gm_gs import graph_match

FILTERS = ("FilterStr", "FilterNum", "FilterYear", "FilterDate")
MIN_SAMPLES = 20
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d")

BLIND = (
    "place", "words", "numbers", "triples", "qualifiers", "candidates", "same head", "same tail", "same predicate",
    "same predicate and tail", "head is a tail", "tail is a head", "word score",
)  # fmt: skip
LEXICAL = ("shared words", "shared rare words", "share of the fact's words", "shared numbers", "shared names", "rank")


@dataclass(frozen=True)
class Guess:
    """Result of a classifier on the test split: AUC over all candidates; evidence F1 and graph match, 0 to 1, means
    over questions. The threshold is the one of the best F1 on dev. A graph is made by linking each chosen fact to a
    chosen one about the same entity (the blind classifier links all to the question)."""

    auc: float
    f1: float
    gm: float


@dataclass(frozen=True)
class Shortcuts:
    """Result of `find_shortcuts`.

    Args:
        samples: number of samples used, by split.
        blind, lexical: see `Guess`.
        rivals: share of the test questions with a relation and an attribute filter in which a rival has its own value;
            ``None`` if there is no such question or the dataset has no triples.
        filtered: number of these questions.
        shares: for each property of `BLIND` but the word score, its mean over gold facts and over distractors.
        overlap: share of test that also stands in train: program skeletons, gold entities, candidate sentences.
    """

    samples: Mapping[str, int]
    blind: Guess
    lexical: Guess
    rivals: float | None
    filtered: int
    shares: Mapping[str, tuple[float, float]]
    overlap: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """The fields as nested mappings; a share has its ``gold`` and ``others``."""
        shares = {name: {"gold": gold, "others": others} for name, (gold, others) in self.shares.items()}
        return {**asdict(self), "shares": shares}

    def text(self) -> str:
        lines = ["samples: " + ", ".join(f"{count:,} {split}" for split, count in self.samples.items())]
        for name, guess in (("question-blind", self.blind), ("lexical", self.lexical)):
            lines.append(f"{name:<15} AUC {guess.auc:.3f}  F1 {100 * guess.f1:5.1f}  GM {100 * guess.gm:5.1f}")
        if self.rivals is not None:
            lines.append(f"a rival has its own value of the filter: {self.rivals:.1%} of {self.filtered:,} questions")
        lines += ["", f"{'mean of':<24} {'gold':>8} {'others':>8}"]
        lines += [f"{name:<24} {gold:8.2f} {others:8.2f}" for name, (gold, others) in self.shares.items()]
        lines += ["", "of test also in train: " + ", ".join(f"{k} {v:.1%}" for k, v in self.overlap.items())]
        return "\n".join(lines)


def find_shortcuts(folder: str | Path, *, limit: int = 2000, seed: int = 0, progress: bool = False) -> Shortcuts:
    """Measure what can be guessed in a dataset.

    Args:
        folder: a dataset.
        limit: maximum number of samples of each split.
        seed: seed of the choice of samples and of the classifiers.
        progress: show bars on standard error.

    Raises:
        DataError: a file is missing or malformed, or a split has fewer than `MIN_SAMPLES` samples with gold facts, or
            none that has distractors, too.
    """
    table = FactTable.read(folder, progress=progress)
    splits: dict[str, list[Example]] = {}
    for split in SPLITS:
        samples = load_split(folder, split, progress=progress)
        if len(samples) < MIN_SAMPLES:
            raise DataError(f"{folder}: {len(samples)} samples in {split}, needed: {MIN_SAMPLES} with gold facts")
        splits[split] = Random(f"{seed}|{split}").sample(samples, min(limit, len(samples)))
    measured = {}
    for split, found in splits.items():
        bar = tqdm(found, desc=f"measure {split}", unit="sample", disable=not progress, delay=1)
        measured[split] = [_measure(example, table) for example in bar]
        if not any(0 < sum(sample.labels) < len(sample.labels) for sample in measured[split]):
            raise DataError(f"{folder}: no question of {split} has both gold facts and distractors to compare")
    _score_words(measured, seed)
    _compare_with_question(measured)
    rows = [row for sample in measured["test"] for row in zip(sample.labels, sample.blind, strict=True)]
    filtered, rivals = _rivals(measured["test"])
    return Shortcuts(
        samples={split: len(found) for split, found in measured.items()},
        blind=_guess(measured, seed, lexical=False),
        lexical=_guess(measured, seed, lexical=True),
        rivals=rivals / filtered if filtered else None,
        filtered=filtered,
        shares={
            name: tuple(fmean(values[column] for gold, values in rows if gold == side) for side in (1, 0))  # type: ignore[misc]
            for column, name in enumerate(BLIND[:-1])
        },
        overlap=_overlap(measured["train"], measured["test"]),
    )


@dataclass
class _Sample:
    """A sample with the features of its candidates: `blind` is ``[candidates, len(BLIND)]``."""

    example: Example
    facts: list[Fact | None]
    labels: list[int]
    blind: np.ndarray
    lexical: np.ndarray


def _measure(example: Example, table: FactTable) -> _Sample:
    units = [table.units(example, number)[0] for number in range(len(example.facts))]
    facts = [unit.facts[0] if unit.facts else None for unit in units]
    heads = Counter(fact.head for fact in facts if fact)
    tails = Counter(fact.tail for fact in facts if fact and fact.tail)
    predicates = Counter(fact.predicate for fact in facts if fact)
    pairs = Counter((fact.predicate, fact.tail or str(fact.value)) for fact in facts if fact)
    count = len(facts)
    rows = np.zeros((count, len(BLIND)))
    for number, (unit, fact) in enumerate(zip(units, facts, strict=True)):
        words = _WORD.findall(unit.sentence)
        rows[number, :4] = number / count, len(words), len(_NUMBER.findall(unit.sentence)), len(unit.facts)
        rows[number, 5] = count
        if fact is not None:
            rows[number, 4] = len(fact.qualifiers)
            rows[number, 6:12] = (
                heads[fact.head] - 1,
                tails[fact.tail] - 1 if fact.tail else 0,
                predicates[fact.predicate] - 1,
                pairs[fact.predicate, fact.tail or str(fact.value)] - 1,
                tails[fact.head],
                heads[fact.tail] if fact.tail else 0,
            )
    gold = set(example.graph.nodes)
    labels = [int(number in gold) for number in range(count)]
    return _Sample(example, facts, labels, rows, np.zeros((count, len(LEXICAL))))


def _score_words(splits: Mapping[str, Sequence[_Sample]], seed: int) -> None:
    """Fill in the word score: the log odds of a linear model of the sentences' words.

    Scores of train are given by models that did not see the sample (two halves, each scored by the other's model).
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=3, sublinear_tf=True, max_features=100_000)
    vectorizer.fit(sentence for sample in splits["train"] for sentence in sample.example.facts)

    def fit(samples: Sequence[_Sample]) -> LogisticRegression:
        sentences = [sentence for sample in samples for sentence in sample.example.facts]
        model = LogisticRegression(max_iter=200, random_state=seed)
        return model.fit(vectorizer.transform(sentences), np.concatenate([sample.labels for sample in samples]))

    def score(model: LogisticRegression, samples: Sequence[_Sample]) -> None:
        for sample in samples:
            sample.blind[:, -1] = model.decision_function(vectorizer.transform(sample.example.facts))

    train = splits["train"]
    halves = train[::2], train[1::2]
    for half, other in (halves, halves[::-1]):
        score(fit(other), half)
    whole = fit(train)
    score(whole, splits["dev"])
    score(whole, splits["test"])


def _compare_with_question(splits: Mapping[str, Sequence[_Sample]]) -> None:
    """Fill in the lexical features."""
    frequency: Counter[str] = Counter()
    for sample in splits["train"]:
        for sentence in sample.example.facts:
            frequency.update(set(_words(sentence)))
    total = sum(len(sample.example.facts) for sample in splits["train"])
    for samples in splits.values():
        for sample in samples:
            question = sample.example.question
            asked, names = set(_words(question)), {word for word in _WORD.findall(question)[1:] if word[0].isupper()}
            for row, sentence in zip(sample.lexical, sample.example.facts, strict=True):
                words = set(_words(sentence))
                shared = words & asked
                rare = rarity(shared, frequency, total)
                numbers = sum(word[0].isdigit() for word in shared)
                named = len(names & set(_WORD.findall(sentence)))
                row[:5] = len(shared), rare, len(shared) / max(1, len(words)), numbers, named
            sample.lexical[:, 5] = np.argsort(np.argsort(-sample.lexical[:, 1], kind="stable"), kind="stable")


def rarity(words: Iterable[str], frequency: Mapping[str, int], total: int) -> float:
    """The sum of the words' inverse frequencies in `total` sentences, as logarithms.

    It is the same in any order: that of a set differs from process to process.
    """
    return math.fsum(math.log(total / (1 + frequency.get(word, 0))) for word in words)


def _guess(splits: Mapping[str, Sequence[_Sample]], seed: int, *, lexical: bool) -> Guess:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    def features(samples: Sequence[_Sample]) -> np.ndarray:
        return np.concatenate([np.hstack([s.blind, s.lexical]) if lexical else s.blind for s in samples])

    def labels(samples: Sequence[_Sample]) -> np.ndarray:
        return np.concatenate([sample.labels for sample in samples])

    model = HistGradientBoostingClassifier(random_state=seed).fit(features(splits["train"]), labels(splits["train"]))
    chances = {}
    for split in ("dev", "test"):
        found = model.predict_proba(features(splits[split]))[:, 1]
        chances[split] = np.split(found, np.cumsum([len(sample.labels) for sample in splits[split]])[:-1])
    best = max(np.linspace(0.05, 0.95, 37), key=lambda threshold: _f1(splits["dev"], chances["dev"], threshold))
    matches = [
        graph_match(_linked(sample, _chosen(chance, best), lexical), sample.example.graph)
        for sample, chance in zip(splits["test"], chances["test"], strict=True)
    ]
    # by question, since the share of gold facts, which is higher among few candidates, says nothing about one of them
    mixed = [n for n, sample in enumerate(splits["test"]) if 0 < sum(sample.labels) < len(sample.labels)]
    auc = fmean(float(roc_auc_score(splits["test"][n].labels, chances["test"][n])) for n in mixed)
    return Guess(auc, _f1(splits["test"], chances["test"], best), fmean(matches))


def _f1(samples: Sequence[_Sample], chances: Sequence[np.ndarray], threshold: float) -> float:
    return fmean(
        set_scores(_chosen(chance, threshold), sample.example.graph.nodes).f1
        for sample, chance in zip(samples, chances, strict=True)
    )


def _chosen(chance: np.ndarray, threshold: float) -> list[int]:
    """The candidates above the threshold, at least the best one."""
    return sorted({int(chance.argmax()), *np.flatnonzero(chance >= threshold).tolist()})


def _linked(sample: _Sample, chosen: Sequence[int], by_entity: bool) -> EvidenceGraph:
    """A graph of the chosen facts: a fact follows those of the level before it that are about one of its entities."""
    if not by_entity or any(sample.facts[number] is None for number in chosen):
        return EvidenceGraph((ROOT, number) for number in chosen)
    names = sample.lexical[:, 4]
    first = [number for number in chosen if names[number] > 0] or list(chosen)
    edges, level, left = [(ROOT, number) for number in first], first, [n for n in chosen if n not in first]
    while left:
        found = [(a, b) for b in left for a in level if _ends(sample.facts[a]) & _ends(sample.facts[b])]
        found = found or [(ROOT, number) for number in left]
        edges += found
        level = list(dict.fromkeys(b for _, b in found))
        left = [number for number in left if number not in level]
    return EvidenceGraph(edges)


def _ends(fact: Fact | None) -> set[str]:
    return {end for end in (fact.head, fact.tail) if end is not None} if fact else set()


def _rivals(samples: Sequence[_Sample]) -> tuple[int, int]:
    """The questions with a relation and an attribute filter, and those of them in which a rival has its own value."""
    filtered = found = 0
    for sample in samples:
        steps = sample.example.program
        keys = {step["inputs"][0] for step in steps if step["function"] in FILTERS}
        relations = {step["inputs"][0] for step in steps if step["function"] == "Relate"}
        if not keys or not relations or not all(sample.facts):
            continue
        filtered += 1
        others = [fact for fact, gold in zip(sample.facts, sample.labels, strict=True) if fact and not gold]
        related = {end for fact in others if fact.predicate in relations for end in _ends(fact)}
        found += any(fact.predicate in keys and fact.head in related for fact in others)
    return filtered, found


def _overlap(train: Sequence[_Sample], test: Sequence[_Sample]) -> dict[str, float]:
    properties: dict[str, Callable[[_Sample], set[Any]]] = {
        "skeletons": lambda s: {_skeleton(s.example.program)} if s.example.program else set(),
        "gold entities": lambda s: {e for f, gold in zip(s.facts, s.labels, strict=True) if gold for e in _ends(f)},
        "sentences": lambda s: set(s.example.facts),
    }
    shares = {}
    for name, of in properties.items():
        known = {item for sample in train for item in of(sample)}
        items = [item for sample in test for item in of(sample)]
        shares[name] = fmean(item in known for item in items) if items else 0.0
    return shares


def _skeleton(program: Iterable[Mapping[str, Any]]) -> tuple:
    """The program without names and values: functions, relations, keys and dependencies."""
    return tuple(
        (s["function"], s["inputs"][0] if s["function"] in (*FILTERS, "Relate") else "", tuple(s["dependencies"]))
        for s in program
    )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
