"""`bgr ablate prism`: the parts of PRISM and its contexts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
from bgr.errors import BgrError
from bgr.llm.prompts import prompts_hash
from bgr.retrievers.base import Query, Retriever
from bgr.retrievers.prism.agent import ContextReader, Prism
from bgr.retrievers.prism.evidence import Candidates, Reference
from bgr.retrievers.prism.run import PrismSettings
from bgr.retrievers.scope import Scope
from bgr.utils.atomic_io import complete_folder
from bgr.utils.error_text import did_you_mean
from bgr.utils.hashing import hash_texts
from bgr.utils.json_utils import repr_short
from eval.ablations.options import AblatePrismOptions
from eval.ablations.prism_report import CONTEXTS, VARIANTS, write_prism
from eval.ablations.prism_score import VariantScores, score_variant
from eval.compare.passages import describe
from eval.run.run_system import QuestionQuery, System
from eval.systems.method_settings import MethodSettings
from eval.systems.resources import Resources
from eval.systems.study import about_files, check_contexts, load_questions, open_output, run_all

ENCODED = ("dense", "hybrid")


@dataclass(frozen=True)
class PrismAblation:
    """The scores of the variants, the questions, and what was compared."""

    scores: Sequence[VariantScores]
    data: MultihopData
    about: Mapping[str, Any]


def ablate_prism(options: AblatePrismOptions) -> PrismAblation:
    """Run the variants, score them and write the report.

    Raises:
        BgrError: the options contradict each other, or a file is damaged.
    """
    names = _names(options)
    whole = load_questions(options)
    data = whole.first(options.limit)
    if options.candidates == "context":
        check_contexts(whole, "--candidates context", "--candidates bm25, dense or hybrid")
    with closing(Resources(options, data)) as resources:
        resources.check()
        if options.candidates in ENCODED:
            _ = resources.encoder  # a wrong folder is reported before anything is replaced
        of_data = hash_texts(whole.hash, json.dumps(sorted(whole.sentences.items())))
        systems = [_system(name, options, data, resources, of_data) for name in names]  # loads the model
        open_output(options)
        scores = [score_variant(one.name, found, data) for one, found in run_all(options, systems, data)]
        about = about_files(options) | {"candidates": options.candidates, "llm": resources.llm.backend.name}
        about |= {**resources.about, **describe(data), "prompts": prompts_hash("bgr.prism")}
        about |= {"settings": {one.name: one.settings["prism"] for one in systems}}
        write_prism(options.out, scores, data, about)
        complete_folder(options.out)
        return PrismAblation(scores, data, about)


def _names(options: AblatePrismOptions) -> list[str]:
    known = (*VARIANTS, *CONTEXTS)
    names = list(options.variants or known)
    for name in names:
        if name not in known:
            raise BgrError(
                f"--variants: unknown variant {repr_short(name)}, known: {', '.join(sorted(known))}"
                f"{did_you_mean(name, known)}"
            )
        if names.count(name) > 1:
            raise BgrError(f"--variants: {repr_short(name)} is there twice, allowed: each once")
    return names


def _system(name: str, options: AblatePrismOptions, data: MultihopData, resources: Resources, of_data: str) -> System:
    # given contexts are used completely
    count = len(data.corpus) if options.candidates == "context" or name == "oracle" else options.k
    base = MethodSettings.read(options.settings).prism
    chosen = replace(base, **{**VARIANTS.get(name, {}), "candidates": max(1, count)})
    settings: dict[str, Any] = {"method": "prism", "prism": asdict(chosen)}
    settings |= {"llm": resources.backend(resources.llm_spec).name, "variant": name}
    settings |= {"candidates": options.candidates, "prompts": prompts_hash("bgr.prism"), "data": of_data}
    if options.candidates in ENCODED:
        settings["encoder"] = resources.encoder.identity()
    return System(name, settings, partial(_make, name, chosen, options, data, resources))


def _make(
    name: str, settings: PrismSettings, options: AblatePrismOptions, data: MultihopData, resources: Resources
) -> Retriever:
    llm, sentences = resources.llm, data.sentences
    if name == "oracle":
        return OracleReader(llm, Scope(data.corpus), settings, sentences=sentences)
    if options.candidates == "context":
        method = GivenContextReader if name == "full-context" else GivenContextPrism
        return method(llm, Scope(data.corpus), settings, sentences=sentences)
    scope = Scope.over(resources.collection, options.candidates)
    return (ContextReader if name == "full-context" else Prism)(llm, scope, settings, sentences=sentences)


def _candidates(method: Prism | ContextReader, passages: Iterable[Sequence[str]]) -> list[Candidates]:
    """The passages of each question by their ids, in their order, numbered as in the whole corpus."""
    corpus = method.scope.corpus
    return [Candidates(corpus, [corpus.index_of[id] for id in ids], method.sentences) for ids in passages]


def _item(query: Query) -> MultihopQuestion:
    if not isinstance(query, QuestionQuery):
        raise BgrError(f"question {repr_short(query.question)}: no passages are given for it")
    return query.item


class GivenContextPrism(Prism):
    """PRISM on the passages that come with each question."""

    def candidates(self, queries: Sequence[Query]) -> list[Candidates]:
        return _candidates(self, (_item(query).context for query in queries))


class GivenContextReader(ContextReader):
    """Answers from the passages that come with each question."""

    def candidates(self, queries: Sequence[Query]) -> list[Candidates]:
        return _candidates(self, (_item(query).context for query in queries))


class OracleReader(ContextReader):
    """Answers from the gold sentences, or from whole gold passages if the data has no gold sentences."""

    def candidates(self, queries: Sequence[Query]) -> list[Candidates]:
        return _candidates(self, (_item(query).gold for query in queries))

    def chosen(self, query: Query, candidates: Candidates) -> tuple[Reference, ...]:
        index_of = self.scope.corpus.index_of
        wanted = {Reference(index_of[passage], number) for passage, number in _item(query).sentences}
        return tuple(one for one in candidates.references if not wanted or one in wanted)
