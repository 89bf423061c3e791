"""Training of a checkpoint's verifier, on what both of its directions consider.

The directions walk once over training questions, a third of them with their own candidates, a third with what BM25
finds besides, and a third with rivals of the same kind (`bgr.data.reasongraphqa.candidate_sets`). What they consider is
kept, so that an interrupted run finds it again.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

from bgr.data.example import Example
from bgr.data.reasongraphqa.candidate_sets import CandidateSets
from bgr.data.reasongraphqa.io.dataset import dataset_hash, load_split
from bgr.errors import DataError
from bgr.models.verifier import Verifier, VerifierConfig
from bgr.pipeline import BgrPipeline
from bgr.pipeline.graphs import DirectedGraphs
from bgr.retrievers.base import Query
from bgr.retrievers.graph_hop.checkpoint import Settings
from bgr.retrievers.graph_hop.options import VERIFIER
from bgr.retrievers.graph_hop.verify import considered, verified
from bgr.utils.atomic_io import output_folder
from bgr.utils.cache import ChunkCache
from bgr.utils.checksums import check_tree
from bgr.utils.devices import autocast
from bgr.utils.hashing import hash_texts
from bgr.utils.progress import progress_bar
from training.options import VerifierOptions
from training.own_pools import pools_cache, searched_examples, weights_hash
from training.retriever.calibrate import calibrated, dev_metrics

FILLS = ("own", "bm25", "rivals")
"""What candidates a question gets: only its own, or others besides."""

WEIGHTS = (0.0, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Weights that are tried on dev."""

GROUP = 64
"""Questions whose candidates are walked over and kept together."""

BATCH = 16
"""Questions in a step."""

WARMUP = 0.1
"""Share of the steps in which the learning rate rises."""

CHOSEN = ("refusal", "gammas", "fused_threshold", "calibration")
"""Settings that are chosen anew."""

FORMAT = 1


class Sample(NamedTuple):
    """What both directions consider for a question: facts, the log-odds of each by both, and which are gold."""

    question: str
    facts: list[str]
    odds: list[tuple[float, float]]
    gold: list[bool]


def train_verifier(options: VerifierOptions) -> dict[str, dict[str, float]]:
    """Walk, train, choose the weight and the settings of the merge on dev, and write the checkpoint with its verifier.

    Returns:
        GM and F1 of the dev questions with an answer, by the checkpoint's rule: ``own`` with their own candidates and
        ``near`` with others besides, before and after.

    Raises:
        BgrError: the checkpoint or the data cannot be read or do not fit together, or the folder exists.
    """
    settings = Settings.load(options.checkpoint)  # an error is told before anything is read
    check_tree(options.checkpoint)  # most of it is copied
    states = pools_cache(options.states)
    cache = ChunkCache(states, "considered")
    with output_folder(options.out, overwrite=options.overwrite) as folder:
        pipeline = BgrPipeline.from_pretrained(options.checkpoint, device=options.device)
        pipeline.verifier = None  # the directions' own choice, whatever the checkpoint has
        torch.manual_seed(options.seed)
        widths = pipeline.forward.config.width + pipeline.backward.config.width
        verifier = Verifier(VerifierConfig(states=widths))
        torch.nn.Module.to(verifier, pipeline.device)
        sets = CandidateSets.read(options.data, seed=options.seed, progress=True)
        source = _Source(pipeline, sets, options.candidates, verifier.config.most)
        inputs = (
            weights_hash(options.checkpoint),
            dataset_hash(options.data),
            str(options.candidates),
            str(options.seed),
        )
        key = hash_texts(str(FORMAT), *inputs)
        # the last training questions: the directions were trained longest on the first ones, which they know too well
        train = source.samples(searched_examples(options.data, "train", options.questions, last=True), cache, key)
        if not train:
            raise DataError(f"{options.checkpoint}: considers no fact of any training question of {options.data}")
        own = load_split(options.data, "dev", unanswerable=True)[: options.dev_questions]
        near = [source.near(example, FILLS[1:]) for example in own if example.answerable]
        dev = [_Dev.of(pipeline, examples) for examples in (own, near)]
        before = [one.metrics(settings) for one in dev]
        fit(verifier, pipeline, train, options, states)
        pipeline.verifier = verifier
        judged = [one.judged(pipeline) for one in dev]
        scores = {w: sum(one.weighted(pipeline, w).metrics(settings)["score"] for one in judged) for w in WEIGHTS}
        verifier.config.weight = max(WEIGHTS, key=lambda weight: (scores[weight], -weight))
        chosen = [one.weighted(pipeline, verifier.config.weight) for one in judged]
        forward, backward = ([getattr(walk, way) for walk in chosen[0].walks] for way in ("forward", "backward"))
        made = calibrated(forward, backward, own, rule=settings.rule)
        settings = replace(settings, **{name: getattr(made, name) for name in CHOSEN})
        after = [one.metrics(settings) for one in chosen]
        left_out = shutil.ignore_patterns("training", "SHA256SUMS", VERIFIER)
        shutil.copytree(options.checkpoint, folder, dirs_exist_ok=True, ignore=left_out)
        verifier.save_pretrained(folder / VERIFIER)
        settings.save(folder)
    found = {"own before": before[0], "own after": after[0], "near before": before[1], "near after": after[1]}
    return {name: {key: row[key] for key in ("gm", "f1")} for name, row in found.items()}


@dataclass(frozen=True)
class _Source:
    """Gives questions their candidates, and finds what the directions consider."""

    pipeline: BgrPipeline
    sets: CandidateSets
    candidates: int
    most: int

    def near(self, example: Example, fills: Sequence[str] = FILLS) -> Example:
        """The question with its own candidates, or others besides; which depends on the seed and the question."""
        fill = random.Random(f"{self.sets.seed} {example.id}").choice(fills)
        if fill == "own":
            return example
        return self.sets.resized(example, self.candidates, self.sets.additions(example, fill, self.candidates))

    def samples(self, examples: Sequence[Example], cache: ChunkCache, key: str) -> list[Sample]:
        """What is considered for each question, if anything is; read from the cache where it was found before."""
        found: list[Sample] = []
        with progress_bar(len(examples), "considered", "question") as bar:
            for start in range(0, len(examples), GROUP):
                group = examples[start : start + GROUP]
                name = hash_texts(key, str(self.most), *(part for one in group for part in (one.id, one.question)))
                body = cache.load(name)
                if body is None:
                    body = json.dumps(list(self._walked(group)), ensure_ascii=False).encode()
                    cache.save(name, body)
                found += [Sample(*row) for row in json.loads(body)]
                bar.update(len(group))
        return found

    def _walked(self, group: Sequence[Example]) -> Iterator[Sample]:
        asked = [self.near(example) for example in group]
        walks = self.pipeline.retrieve_directions([Query(one.question, one.facts) for one in asked])
        for example, walk in zip(asked, walks, strict=True):
            odds = considered(walk.forward, walk.backward, self.most)
            if odds:
                gold = set(example.graph.nodes)
                facts = [example.facts[fact] for fact in odds]
                yield Sample(example.question, facts, list(odds.values()), [fact in gold for fact in odds])


def fit(
    verifier: Verifier, pipeline: BgrPipeline, samples: Sequence[Sample], options: VerifierOptions, states: Path
) -> None:
    """Train a verifier on what is considered for each question; all that is random depends on the seed. The folder
    `states` keeps those of the frozen layers."""
    read = pipeline.read_once(((one.question, one.facts) for one in samples), states, progress=True)
    draw = random.Random(options.seed)
    steps = max(1, round(options.epochs * len(samples) / BATCH))
    optimizer = torch.optim.AdamW(verifier.parameters(), options.learning_rate, weight_decay=0.05)
    schedule = LambdaLR(optimizer, lambda step: min((step + 1) / (WARMUP * steps + 1), 1 - step / steps))
    order: list[int] = []
    verifier.train()
    with progress_bar(steps, "verifier", "step") as bar:
        for _ in range(steps):
            while len(order) < min(BATCH, len(samples)):
                order = [*draw.sample(range(len(samples)), len(samples)), *order]
            chosen = [samples[order.pop()] for _ in range(min(BATCH, len(samples)))]
            with autocast(pipeline.device, pipeline.precision):
                asked = [(one.question, one.facts) for one in chosen]
                questions, facts, candidates = pipeline.joint_states(asked, read)
            odds = torch.tensor([both for one in chosen for both in one.odds], device=pipeline.device)
            gold = torch.tensor([float(value) for one in chosen for value in one.gold], device=pipeline.device)
            loss = F.binary_cross_entropy_with_logits(
                verifier(questions.to(dtype=torch.float32), facts.to(dtype=torch.float32), candidates, odds), gold
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(verifier.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            bar.update(1)
    verifier.eval()


@dataclass(frozen=True)
class _Dev:
    """Dev questions with the walks of both directions, and the verifier's logits of the facts that are considered."""

    examples: Sequence[Example]
    walks: Sequence[DirectedGraphs]
    logits: Sequence[dict[int, float]] = ()

    @classmethod
    def of(cls, pipeline: BgrPipeline, examples: Sequence[Example]) -> _Dev:
        walks = pipeline.retrieve_directions([Query(one.question, one.facts) for one in examples], progress=True)
        return cls(examples, walks)

    def judged(self, pipeline: BgrPipeline) -> _Dev:
        """With the logits of the pipeline's verifier."""
        queries = [Query(one.question, one.facts) for one in self.examples]
        results = [walk.forward for walk in self.walks], [walk.backward for walk in self.walks]
        with autocast(pipeline.device, pipeline.precision):
            return replace(self, logits=pipeline.judge(queries, *results))

    def weighted(self, pipeline: BgrPipeline, weight: float) -> _Dev:
        """With the logits added to the walks."""
        walks = []
        for walk, logits in zip(self.walks, self.logits, strict=True):
            gains = {fact: weight * logit for fact, logit in logits.items()} if weight else {}
            forward = verified(walk.forward, gains, pipeline.forward.config.threshold, forward=True)
            backward = verified(walk.backward, gains, pipeline.backward.config.threshold, forward=False)
            walks.append(replace(walk, forward=forward, backward=backward))
        return replace(self, walks=walks)

    def metrics(self, settings: Settings) -> dict[str, float]:
        """Of the questions with an answer, by the rule of the settings, without refusals."""
        rule, gamma = settings.rule, settings.gamma(settings.rule)
        graphs = [walk.merged(rule, gamma, fusion=settings.fusion).graph for walk in self.walks]
        return dev_metrics(graphs, self.examples)
