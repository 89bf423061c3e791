"""PRISM and its ablations on multi-hop questions: evidence, answers, cost, rounds and errors. --data is a published
file of MuSiQue, HotpotQA, 2WikiMultihopQA (also as HippoRAG samples them) or MultiHop-RAG, whose form is told from its
content, or a dataset of `bgr data build` (its test split). --candidates says what is chosen from: context, the passages
that come with each question, or the first of bm25, dense or hybrid search in the whole corpus.

A variant is prism, no-analyser, no-adder, no-selector, no-draft, selector-first, four-rounds (the table for N = 1 … 4
is read off it), whole-passages (answers from whole passages), full-context or oracle (answers without PRISM, from all
candidates and from the gold evidence).

Results are kept question by question in DIR/results.jsonl as they come: the same command goes on where it was
interrupted, one with more variants runs only these, and --overwrite begins anew. With --replay the model is asked each
thing once, whatever variants share it, and questions in which a step failed are run again. Writes prism.md, prism.json,
variants.csv, rounds.csv and errors.csv.

  bgr ablate prism --data musique.json --llm smollm2 --limit 20 --replay work/replies.db --out work/prism
  bgr ablate prism --data musique.json --corpus musique_corpus.json --candidates hybrid \\
      --llm http://localhost:8000/v1#model --variants prism full-context oracle --out work/prism-open
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bgr.cli.compare_passages import load_data, open_output, run_all
from bgr.cli.counts import positive
from bgr.cli.passage_parts import PassageParts
from bgr.cli.study_options import add_search, add_study, check_study
from bgr.collection.search import Search
from bgr.errors import BgrError
from bgr.retrievers.base import PassageRetriever
from bgr.utils.json_utils import shown

if TYPE_CHECKING:
    from bgr.data.multihop.assemble import MultihopData, MultihopQuestion
    from bgr.retrievers.prism.candidates import Reference
    from bgr.retrievers.prism.prism_settings import PrismSettings
    from eval.ablations.prism_score import VariantScores
    from eval.passages.run import System

ENCODED = ("dense", "hybrid")
CANDIDATES = ("context", "bm25", *ENCODED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_study(parser)
    add_search(parser)
    parser.add_argument("--candidates", choices=CANDIDATES, default="context", help="default: context")
    parser.add_argument("--k", type=positive, default=20, help="passages of a search to choose from; default: 20")
    parser.add_argument("--variants", nargs="+", metavar="NAME", help="what to run; default: all")


def run(args: argparse.Namespace) -> None:
    """Load, run what is not done, score, write, print.

    Raises:
        BgrError: what is given is damaged, or does not belong together.
    """
    from bgr.llm.prompts import prompts_hash
    from eval.ablations.prism_report import as_json, write_prism
    from eval.ablations.prism_score import score_variant
    from eval.passages.compare import describe

    names = _names(args)
    check_study(args)
    whole = load_data(args)
    data = whole.first(args.limit)
    _check_context(args, data)
    parts = PassageParts(args, data)
    parts.check()
    if args.candidates in ENCODED:
        _ = parts.encoder  # a wrong folder is told before anything is replaced
    of_data = _hash(whole)
    systems = [_system(name, data, parts, of_data) for name in names]  # loads the model
    open_output(args.out, overwrite=args.overwrite)
    scores = [score_variant(one.name, found, data) for one, found in run_all(args, systems, data)]
    about = {"file": str(args.data), "corpus_file": str(args.corpus) if args.corpus else None, "limit": args.limit}
    about |= {"candidates": args.candidates, "llm": parts.llm.backend.name, **parts.about, **describe(data)}
    about |= {"prompts": prompts_hash("bgr.prism"), "settings": {one.name: one.settings["prism"] for one in systems}}
    write_prism(args.out, scores, data, about)
    if args.json:
        print(json.dumps(as_json(scores, data, about), ensure_ascii=False))
    else:
        _print(scores, data, about, args.out)


def _names(args: argparse.Namespace) -> list[str]:
    from eval.ablations.prism_report import CONTEXTS, VARIANTS

    known = (*VARIANTS, *CONTEXTS)
    names = args.variants or list(known)
    for name in names:
        if name not in known:
            raise BgrError(f"--variants: unknown variant {shown(name)}, known: {', '.join(sorted(known))}")
        if names.count(name) > 1:
            raise BgrError(f"--variants: {shown(name)} is there twice, allowed: each once")
    return names


def _check_context(args: argparse.Namespace, data: MultihopData) -> None:
    """Lists are found by the question's text, so that one text may not have two."""
    seen: dict[str, MultihopQuestion] = {}
    for one in data.questions:
        other = seen.setdefault(one.question, one)
        same = (other.context, other.gold, other.sentences) == (one.context, one.gold, one.sentences)
        if not same:
            raise BgrError(
                f"{args.data}: questions {shown(other.id)} and {shown(one.id)} have one text and two contexts"
            )


def _hash(data: MultihopData) -> str:
    """Of what decides results beside the corpus: each question's context and gold, and how passages are split."""
    from bgr.utils.hashing import hash_texts

    return hash_texts(data.hash, json.dumps(sorted(data.sentences.items())))


def _system(name: str, data: MultihopData, parts: PassageParts, of_data: str) -> System:
    from bgr.llm.prompts import prompts_hash
    from eval.passages.run import System

    args = parts.args
    chosen = _settings(name, args, data)
    settings: dict[str, Any] = {"method": "prism", "prism": asdict(chosen), "llm": parts.llm.backend.name}
    settings |= {"variant": name, "candidates": args.candidates}
    settings |= {"prompts": prompts_hash("bgr.prism"), "data": of_data}
    if args.candidates in ENCODED:
        settings["encoder"] = parts.encoder.identity()
    return System(name, settings, partial(_make, name, chosen, data, parts))


def _settings(name: str, args: argparse.Namespace, data: MultihopData) -> PrismSettings:
    """The variant's, with as many candidates as there are; the number of a given context is no setting."""
    from bgr.retrievers.prism.prism_settings import PAPER
    from eval.ablations.prism_report import VARIANTS

    most = len(data.corpus) if args.candidates == "context" or name == "oracle" else args.k
    return replace(VARIANTS.get(name, PAPER), candidates=max(1, most))


def _make(name: str, settings: PrismSettings, data: MultihopData, parts: PassageParts) -> PassageRetriever:
    from bgr.retrievers.prism.agent import Prism
    from bgr.retrievers.prism.context_reader import ContextReader
    from bgr.retrievers.prism.given import GivenSearch

    corpus = data.corpus
    if name == "oracle":
        gold = {one.question: [corpus.index_of[passage] for passage in one.gold] for one in data.questions}
        search = GivenSearch(gold, len(corpus))
        return ContextReader(parts.llm, corpus, search, settings, sentences=data.sentences, only=_gold_sentences(data))
    method = ContextReader if name == "full-context" else Prism
    return method(parts.llm, corpus, _candidates(data, parts), settings, sentences=data.sentences)


def _gold_sentences(data: MultihopData) -> dict[str, list[Reference]]:
    from bgr.retrievers.prism.candidates import Reference

    place = data.corpus.index_of
    return {
        one.question: [Reference(place[passage], number) for passage, number in one.sentences]
        for one in data.questions
        if one.sentences
    }


def _candidates(data: MultihopData, parts: PassageParts) -> Search:
    from bgr.retrievers.prism.given import GivenSearch

    if parts.args.candidates != "context":
        search: Search = getattr(parts, parts.args.candidates)
        return search
    given = {one.question: [data.corpus.index_of[passage] for passage in one.context] for one in data.questions}
    return GivenSearch(given, len(data.corpus))


def _print(scores: Sequence[VariantScores], data: MultihopData, about: dict[str, Any], out: Path) -> None:
    from eval.ablations.prism_report import answers_table, cost_table, evidence_table
    from eval.passages.compare import corpus_line

    print(corpus_line(about))
    for table in (evidence_table(scores), answers_table(scores), cost_table(scores)):
        print(f"\n{table.as_text()}")
    print(f"\nwritten to {out}; what the columns mean, rounds and errors are in prism.md")
