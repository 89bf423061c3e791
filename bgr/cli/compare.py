"""`bgr compare`."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from bgr.cli.parser import Command, Output

if TYPE_CHECKING:
    from eval.compare.compare import Comparison
    from eval.compare.passages import PassageComparison
    from eval.systems.options import CompareOptions

DESCRIPTION = """\
Evidence graphs: the data are a dataset of `bgr data build`. A system is [NAME=]PLACE[:PART]. PLACE is a folder that
`bgr evaluate` or `bgr compare` wrote (or its predictions.jsonl), a checkpoint, a trained baseline, or bm25 or random;
what is not evaluated yet is run. PART names one system of an evaluation, a reconstruction rule of a checkpoint, or how
the k of a single-hop baseline is chosen (gold, dev). Without PART and NAME all systems of an evaluation are taken, with
NAME alone its main one. With --reader one reader answers for all systems, and for "gold graph" and "no evidence". The
report is report.html, which opens from a file without a network, with tables, plots and predictions beside it.

Passages: the data are a published file of MuSiQue, HotpotQA, 2WikiMultihopQA (also as HippoRAG samples them) or
MultiHop-RAG, or a dataset, whose facts of one split are the passages. A system is bm25, dense or hybrid (both, by
reciprocal rank fusion); each of them with +naive, +naive-plain or +naive-text (NaiveGE; without diverse beams; with
sequences encoded as text), +sync (SyncGE) or +gear, which follow triples, or +ircot, +rerank (listwise) or
+setr (a set); gear is hybrid+gear; hipporag and hipporag+ircot; prism; bridgerag, and
bridgerag-p, whose judge gives probabilities; llm-edges, llm-chains, llm-parents, llm-steps, llm-arrows (a language
model writes the graph); gold and nothing, the upper and lower bound of a reader; or [NAME=]FOLDER[:PART], a checkpoint
or a trained baseline. Over a corpus, a checkpoint with a pruner finds its 200 candidates hop by hop; any other one, a
baseline and a model that writes graphs get the 20 best of hybrid. METHOD@KEY=VALUE,… changes settings of one system
(gear@rounds=1), --settings those of all. Triples come from --openie, from --collection, or from the dataset.

Results on passages are kept question by question in results.jsonl of the output folder: the same command resumes where
it stopped, and with more systems it runs only these. The report is passages.md, passages.json, CSV files, plots, and
traces.html with the steps of every system for any question.
"""


def command() -> Command:
    from eval.systems.options import CompareOptions

    return Command(
        summary="compare systems on the same questions: tables, figures and one page",
        description=DESCRIPTION,
        options=CompareOptions,
        run=run,
        example="""\
            bgr compare --data work/data --systems work/evaluation dpr=work/dpr new=work/run:fused --out work/comparison
            bgr compare --data musique.json --openie openie.json --systems hybrid hybrid+naive gear --llm smollm2 \\
            --replay work/replies.db --limit 20 --out work/passages""",
    )


def run(options: CompareOptions) -> Output:
    from eval.compare.compare import Comparison
    from eval.compare.run import compare
    from eval.report.evaluation import as_json

    found = compare(options)
    if isinstance(found, Comparison):
        return Output(_graphs_text(found, options.out), as_json(found.evaluations, found.main, found.about))
    return passages_output(found, options.out)


def _graphs_text(found: Comparison, out: Path) -> str:
    from eval.report.comparison import NOTE, table4
    from eval.report.document import without_intervals
    from eval.report.evaluation import errors_text, notes

    table = without_intervals(table4(found)).as_text()
    lines = [table, NOTE.split("; ")[0] + ".", *notes(found.evaluations), "", errors_text(found.errors)]
    return "\n".join([*lines, f"\nwritten to {out}; open {out / 'report.html'} in a browser"])


def passages_output(found: PassageComparison, out: Path) -> Output:
    """All numbers, and the table of systems as text."""
    from eval.compare.passages import corpus_line
    from eval.report.document import without_intervals
    from eval.report.passages import MARKDOWN, PAGE, as_json, systems_table

    table = without_intervals(systems_table(found))
    notes = [
        fill(note.replace("; in brackets the 95 % bootstrap interval over questions", ""), 100) for note in table.notes
    ]
    last = f"\nwritten to {out}; intervals and tests are in {MARKDOWN}, questions in {PAGE}"
    return Output("\n".join([corpus_line(found.about), table.as_text(), *notes, last]), as_json(found))
