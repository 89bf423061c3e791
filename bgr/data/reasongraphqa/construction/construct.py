"""Construction of ReasonGraphQA from questions with programs (paper, section 3)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tqdm import tqdm

from bgr.data.atlas.sampler.parts import part_questions
from bgr.data.example import Example
from bgr.data.kb.executor import Executor
from bgr.data.kb.knowledge_base import KnowledgeBase
from bgr.data.reasongraphqa.construction.by_hand import worded_by_hand
from bgr.data.reasongraphqa.construction.candidate_base import CandidateBase
from bgr.data.reasongraphqa.construction.interference import Draft, Encoder, Interference
from bgr.data.reasongraphqa.construction.questions import MALFORMED, Dropped, Grounded, Question, ground, grouped
from bgr.data.reasongraphqa.construction.recipe import RECIPES, THIRDS, Mixture
from bgr.data.reasongraphqa.construction.rivals import RivalFinder
from bgr.data.reasongraphqa.construction.split_questions import (
    check_phrasings,
    domain_members,
    is_about,
    split_questions,
)
from bgr.data.reasongraphqa.construction.splits import SPLIT_METHODS, SPLITS
from bgr.data.reasongraphqa.construction.textual_database import FactVerbalizer, TextualDatabase
from bgr.data.reasongraphqa.verbalize.seq2seq import Seq2seqVerbalizer
from bgr.data.reasongraphqa.verbalize.verbalizer import Verbalizer
from bgr.errors import DataError, ProgramError
from bgr.graph.evidence_graph import EvidenceGraph

MAX_DROP_EXAMPLES = 3


@dataclass(frozen=True)
class Settings:
    """Settings of a dataset, which depends only on them and its source.

    Args:
        seed: seed of all random choices.
        candidates_min, candidates: minimum and maximum number of candidates of a question (more if its gold facts would
            not leave room for a distractor of each kind).
        joined_probability: probability that one or two more triples are joined to a fact's sentence.
        limit: number of questions, a random part of all, each with all its paraphrases; ``None`` for all.
        split: one of `SPLIT_METHODS`.
        domain: names of concepts; with the split ``domain``, test has the questions with a gold fact about one of their
            members.
        skip_bad: count malformed questions as dropped instead of refusing the file.
        mixture: the share of each kind of distractor.
        recipe: one of `RECIPES`, by which the number of candidates is drawn.
        unanswerable: share of the questions that lose needed facts, so that nothing supports an answer.
        parts: maximum number of questions that are added to train for each of its questions, about parts of it, and
            again of those that join one of them with one of another question (`part_questions`).
        by_hand: add to train each of its questions that was worded by hand, in these words (`worded_by_hand`).

    Raises:
        DataError: a value is not allowed; the message names all such values.
    """

    seed: int = 0
    candidates_min: int = 20
    candidates: int = 25
    joined_probability: float = 0.15
    limit: int | None = None
    split: str = "random"
    domain: tuple[str, ...] = ()
    skip_bad: bool = False
    mixture: Mixture = THIRDS
    recipe: str = "paper"
    unanswerable: float = 0.0
    parts: int = 0
    by_hand: bool = False

    def __post_init__(self) -> None:
        wrong = []
        if self.recipe not in RECIPES:
            wrong.append(f"recipe {self.recipe!r}, allowed: {', '.join(RECIPES)}")
        if not 0 <= self.unanswerable <= 1:
            wrong.append(f"unanswerable {self.unanswerable}, allowed: 0 to 1")
        if not 1 <= self.candidates_min <= self.candidates:
            wrong.append(f"candidates {self.candidates_min} to {self.candidates}, allowed: 1 <= minimum <= maximum")
        if not 0 <= self.joined_probability <= 1:
            wrong.append(f"joined probability {self.joined_probability}, allowed: 0 to 1")
        if self.limit is not None and self.limit < 1:
            wrong.append(f"limit {self.limit}, allowed: 1 or more")
        if self.parts < 0:
            wrong.append(f"parts {self.parts}, allowed: 0 or more")
        if self.parts and self.split == "wording":
            wrong.append(f"parts {self.parts} with split 'wording', allowed: 0, since parts are worded anew")
        if self.by_hand and self.split == "wording":
            wrong.append("by hand with split 'wording', allowed: another split, since these words are no phrasings")
        if self.split not in SPLIT_METHODS:
            wrong.append(f"split {self.split!r}, allowed: {', '.join(SPLIT_METHODS)}")
        if (self.split == "domain") != bool(self.domain):
            wrong.append(
                f"split {self.split!r} with domain {self.domain}, allowed: concepts with the split 'domain' only"
            )
        if wrong:
            raise DataError("; ".join(wrong))


@dataclass(frozen=True)
class Built:
    """A dataset before it is written: examples by split, the textual database, and the dropped questions."""

    splits: dict[str, list[Example]]
    database: TextualDatabase
    dropped: tuple[Dropped, ...]
    tried: int
    distractors: dict[str, int]

    def drop_report(self) -> dict[str, dict[str, Any]]:
        """Reasons of drops, most frequent first, each with its count and up to three examples."""
        report: dict[str, dict[str, Any]] = {}
        for drop in self.dropped:
            entry = report.setdefault(drop.reason, {"count": 0, "examples": []})
            entry["count"] += 1
            if len(entry["examples"]) < MAX_DROP_EXAMPLES:
                entry["examples"].append(drop.detail)
        return dict(sorted(report.items(), key=lambda item: (-item[1]["count"], item[0])))


def build(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    encoder: Encoder,
    settings: Settings,
    *,
    verbalizer: Seq2seqVerbalizer | None = None,
    malformed: Sequence[Dropped] = (),
    progress: bool = False,
) -> Built:
    """Build a dataset: ground the questions, verbalize the facts, add distractors, split.

    Args:
        encoder: sentences to unit vectors, for the similarity of distractors.
        verbalizer: a model that verbalizes the facts; ``None`` for templates.
        malformed: malformed records, for the report.

    Raises:
        ProgramError: a program uses a name that is not in the knowledge base (unless ``settings.skip_bad``).
        DataError: no question is left; a question lacks the phrasings that a split by wording needs; a concept of the
            domain is unknown, or none or all of the questions are about it; no question has parts, or was worded by
            hand, if that is wanted.
    """
    check_phrasings(questions, settings.split)
    kept, dropped = _ground_all(kb, questions, settings, progress)
    dropped = [*malformed, *dropped]
    tried = len(kept) + len(dropped)
    if not kept:
        first = "".join(f"; the first: {one.where}: {one.reason}: {one.detail}" for one in dropped[:1])
        raise DataError(f"none of {len(questions) + len(malformed)} questions is usable{first}")
    members = domain_members(kb, kept, settings.domain)
    kept += _parts(kb, kept, settings)
    templates = Verbalizer(kb, settings.seed)
    if verbalizer is not None:
        # a model needs batches to be fast: a first pass with templates finds all the facts to verbalize
        first_pass, _, _ = _draft_all(kb, kept, members, templates, encoder, settings, progress)
        verbalizer.prepare(unit.facts for unit in first_pass.database.units)
    interference, drafts, repeated = _draft_all(kb, kept, members, verbalizer or templates, encoder, settings, progress)
    dropped += repeated
    interference.fill(drafts)
    _remove_evidence(drafts, interference, settings, progress)
    by_split = _by_split(drafts, settings, members)
    drafts = [draft for part in by_split.values() for draft in part]
    splits = {name: [_example(draft, settings.seed) for draft in part] for name, part in by_split.items()}
    if settings.by_hand:
        splits["train"] = [*worded_by_hand(splits["train"]), *splits["train"]]  # so that the first N have them
    return Built(
        splits=splits,
        database=interference.database,
        dropped=tuple(dropped),
        tried=tried,
        distractors={kind: sum(draft.kinds[kind] for draft in drafts) for kind in settings.mixture.by_kind},
    )


def _draft_all(
    kb: KnowledgeBase,
    kept: Sequence[Grounded],
    held_out: frozenset[str],
    verbalizer: FactVerbalizer,
    encoder: Encoder,
    settings: Settings,
    progress: bool,
) -> tuple[Interference, list[Draft], list[Dropped]]:
    """Every question with its gold sentences, rivals, the families of other questions, and the facts near them.

    These are all the steps that add to the textual database. Questions of which two gold facts have one sentence are
    dropped. Only questions about an entity of `held_out` have distractors about one.
    """
    facts = (fact for grounded in kept for fact in grounded.facts)
    database = TextualDatabase(
        kb, verbalizer, facts, joined_probability=settings.joined_probability, seed=settings.seed
    )
    interference = Interference(database, encoder, seed=settings.seed, mixture=settings.mixture, progress=progress)
    drafts, dropped = [], []
    for grounded in tqdm(kept, desc="gold sentences", unit="question", disable=not progress):
        question = grounded.question
        rng = Random(f"{settings.seed}|candidates|{question.id}")
        # all gold sentences before the first distractor, so that facts joined to gold facts are not distractors
        candidates = RECIPES[settings.recipe].draw(settings.candidates_min, settings.candidates, rng)
        about = is_about(grounded, held_out)
        draft = interference.draft(grounded, candidates, frozenset() if about else held_out)
        if len({unit.sentence for unit in draft.units}) == len(draft.units):
            drafts.append(draft)
        else:
            detail = f"{question.text} ({len(grounded.facts)} facts)"
            dropped.append(Dropped(question.where, "two gold facts have one sentence", detail))
    finder = RivalFinder(Executor(kb))
    for draft in tqdm(drafts, desc="rival chains", unit="question", disable=not progress or not settings.mixture.rival):
        interference.add_rivals(draft, finder)
    interference.add_others(drafts)
    for draft in tqdm(drafts, desc="facts about the same", unit="question", disable=not progress):
        interference.same_head(draft)
    return interference, drafts, dropped


def _remove_evidence(drafts: Sequence[Draft], interference: Interference, settings: Settings, progress: bool) -> None:
    """Leave a share of the questions without needed facts; executed over its candidates, each has no answer.

    All wordings of a question are drawn together.
    """
    base = CandidateBase(interference.database.kb)
    groups = {draft.grounded.question.group for draft in drafts}
    drawn = {one for one in groups if Random(f"{settings.seed}|answerable|{one}").random() < settings.unanswerable}
    chosen = [draft for draft in drafts if draft.grounded.question.group in drawn]
    for draft in tqdm(chosen, desc="remove evidence", unit="question", disable=not progress or not chosen):
        interference.remove_evidence(draft, drafts, base)


def _ground_all(
    kb: KnowledgeBase, questions: Sequence[Question], settings: Settings, progress: bool
) -> tuple[list[Grounded], list[Dropped]]:
    """Ground all questions, or random ones until `limit` are kept; kept questions are in the order of the source.

    The wordings of a question count as one.
    """
    executor = Executor(kb)
    groups = grouped(questions)
    if settings.limit is not None:
        Random(f"{settings.seed}|limit").shuffle(groups)
    kept: dict[int, Grounded] = {}
    dropped: list[Dropped] = []
    count = 0  # of groups with a kept question
    for group in tqdm(groups, desc="ground", unit="question", disable=not progress):
        if settings.limit is not None and count >= settings.limit:
            break
        for number in group:
            try:
                outcome = ground(questions[number], executor)
            except ProgramError as error:
                if not settings.skip_bad:
                    raise
                outcome = Dropped(questions[number].where, MALFORMED, str(error))
            if isinstance(outcome, Dropped):
                dropped.append(outcome)
            else:
                kept[number] = outcome
        count += any(number in kept for number in group)
    return [kept[number] for number in sorted(kept)], dropped


def _parts(kb: KnowledgeBase, kept: Sequence[Grounded], settings: Settings) -> list[Grounded]:
    """Questions about parts of those that are no paraphrases, grounded."""
    if not settings.parts:
        return []
    whole = [one.question for one in kept if one.question.paraphrase_of is None]
    executor, found = Executor(kb), list[Grounded]()
    made = part_questions(kb, [question.program for question in whole], most=settings.parts, seed=settings.seed)
    for first, group in itertools.groupby(made, key=lambda one: one.of[0]):
        for number, part in enumerate(group):
            name, where = f"{whole[first].id}-part{number}", f"{whole[first].where}, part {number}"
            question = Question.from_json(part.record, name, where)
            outcome = ground(replace(question, part_of=tuple(whole[one].id for one in part.of)), executor)
            if isinstance(outcome, Grounded):
                found.append(outcome)
    if not found:
        raise DataError(f"parts {settings.parts}: no question has parts that Atlas has words for")
    return found


def _by_split(drafts: Sequence[Draft], settings: Settings, members: frozenset[str]) -> dict[str, list[Draft]]:
    """The drafts of each split; a part is in train if its questions are, and else in none."""
    whole = [draft.grounded for draft in drafts if not draft.grounded.question.part_of]
    split = split_questions(whole, settings.split, settings.seed, members)
    of = {one.question.id: name for one, name in zip(whole, split, strict=True)}
    found: dict[str, list[Draft]] = {name: [] for name in SPLITS}
    for draft in drafts:
        question = draft.grounded.question
        if all(of.get(name) == "train" for name in question.part_of):
            found[of.get(question.id, "train")].append(draft)
    return found


def _example(draft: Draft, seed: int) -> Example:
    """The example with shuffled candidates and the graph renumbered accordingly."""
    question = draft.grounded.question
    graph = draft.grounded.graph if draft.answerable else EvidenceGraph()
    order = list(range(len(draft.units)))
    Random(f"{seed}|shuffle|{question.id}").shuffle(order)
    new_numbers = {old: new for new, old in enumerate(order)}
    return Example(
        id=question.id,
        question=question.text,
        facts=tuple(draft.units[old].sentence for old in order),
        graph=graph.relabel({node: new_numbers[node] for node in graph.nodes}),
        answer=question.answer if draft.answerable else "",
        program=tuple(question.program.to_json()),
        type=draft.grounded.type,
        missing=draft.missing,
    )
