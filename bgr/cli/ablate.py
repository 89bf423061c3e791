"""`bgr ablate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bgr.cli.compare import passages_output
from bgr.cli.parser import Command, Group, Output

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from eval.ablations.options import (
        AblateAnswersOptions,
        AblateBridgeragOptions,
        AblateCandidatesOptions,
        AblateDatabaseOptions,
        AblatePlainOptions,
        AblatePrismOptions,
        AblateSpellingOptions,
        AblateWordingOptions,
    )
    from eval.report.document import Table

DATA = """\
The data are a published file of MuSiQue, HotpotQA, 2WikiMultihopQA (also as HippoRAG samples them) or MultiHop-RAG, or
a dataset of `bgr data build` (its test split)."""

RESUMES = """\
Results are kept question by question in results.jsonl of the output folder: the same command resumes where it stopped.
With --replay, questions in which a step failed are run again."""


def command() -> Group:
    from eval.ablations.options import (
        AblateAnswersOptions,
        AblateBridgeragOptions,
        AblateCandidatesOptions,
        AblateDatabaseOptions,
        AblatePlainOptions,
        AblatePrismOptions,
        AblateSpellingOptions,
        AblateWordingOptions,
    )

    return Group(
        summary="measure parts of PRISM and BridgeRAG, evidence, numbers of candidates, wordings, and plain questions",
        commands={
            "prism": Command(
                summary="analyzer, adder, selector, rounds and contexts of PRISM, and its errors",
                description=f"""\
{DATA} A variant is prism, no-analyser, no-adder, no-selector, no-draft, selector-first, four-rounds (from which the
table for N = 1 … 4 is computed), whole-passages (answers from whole passages), full-context or oracle (answers without
PRISM, from all candidates and from the gold evidence).

{RESUMES} Writes prism.md, prism.json, variants.csv, rounds.csv and errors.csv.""",
                options=AblatePrismOptions,
                run=run_prism,
                example="""\
                    bgr ablate prism --data musique.json --llm smollm2 --replay work/replies.db --out work/prism
                    bgr ablate prism --data musique.json --corpus musique_corpus.json --candidates hybrid \\
                    --llm http://localhost:8000/v1#model --variants prism full-context oracle --out work/prism-open""",
            ),
            "bridgerag": Command(
                summary="judge, bridge and weights of BridgeRAG on one pool of candidates",
                description=f"""\
{DATA} For each question the pool is built once, then judged without a bridge (B), with it (C), and with the second-hop
queries, the pool's passage of lowest cosine, and the best-ranked wrong passage in its place; the order by cosine alone
(A) needs no call. That is seven calls a question with --judge scores, and two and five for each candidate with --judge
probability, which needs a backend that gives log-probabilities.

{RESUMES} Writes bridgerag.md, bridgerag.json, systems.csv, tests.csv, flips.csv, proximity.csv, diversity.csv and
alpha.csv.""",
                options=AblateBridgeragOptions,
                run=run_bridgerag,
                example="bgr ablate bridgerag --data musique.json --llm smollm2 --limit 20 --out work/bridgerag",
            ),
            "answers": Command(
                summary="answers of a model without evidence, with facts, and with the graph in words",
                description=f"""\
The data are a dataset of `bgr data build` (its test split), or a published file of MuSiQue, whose decompositions are
graphs. The model saw no examples (ReasonGraphQA paper, Table 5). A checkpoint or a trained baseline is run over the
candidates of each question; where it finds nothing, nothing is answered.

{RESUMES} Writes passages.md, passages.json, CSV files and traces.html, with answers for all scores.""",
                options=AblateAnswersOptions,
                run=run_answers,
                example="""\
                    bgr ablate answers --data work/data --llm smollm2 --limit 100 --evidence gold bgr=work/checkpoint \\
                    --out work/answers""",
            ),
            "candidates": Command(
                summary="quality, time and memory of a checkpoint with more and fewer candidates",
                description="""\
The questions of the split are run again and again, each with its gold facts and exactly N candidates. Of more
candidates, random ones are removed. Of fewer, facts of the dataset's facts.jsonl are added that neither entail nor
contradict a gold fact: random ones, BM25's best for the question, or rivals, which share entities and predicates with
the gold facts or else with the other candidates.

Time is wall time, memory the highest resident set during the calls beyond that before them (on a GPU: PyTorch's
allocations). Both are for --batch-size questions at a time. A system that cannot read that many candidates has a row
without scores.

Writes candidates.md, candidates.json, candidates.csv and candidates.png.""",
                options=AblateCandidatesOptions,
                run=run_candidates,
                example="""\
                    bgr ablate candidates --checkpoint work/checkpoint --data work/data --limit 100 \\
                    --out work/candidates
                    bgr ablate candidates --checkpoint work/checkpoint --data work/data --counts own 50 300 \\
                    --fill rivals --systems bm25 work/dpr --out work/rivals""",
            ),
            "database": Command(
                summary="a checkpoint over a whole collection, with the candidates of several searches",
                description="""\
Every question is asked over the collection: a search proposes candidates, and the systems find the graph among them.
hops is BGR's own search, which grows the candidates hop by hop; the others search once, and hybrid+naive follows the
collection's triples from what a hybrid search finds (NaiveGE). The first candidates of each search have a row of their
own. A sentence that states what a gold fact states counts as this fact, by the statements of the dataset's facts.jsonl.

Writes database.md and database.json, with the scores of every question.""",
                options=AblateDatabaseOptions,
                run=run_database,
                example="""\
                    bgr ablate database --checkpoint work/checkpoint --data work/data --collection work/collection \\
                    --searches hops bm25 --systems work/dpr --limit 1000 --out work/database""",
            ),
            "spelling": Command(
                summary="quality of graphs and answers for questions as people type them",
                description="""\
Every question of the split is asked as it is written, in lower case, without its question mark, with one and with two
typing mistakes, and with one in lower case and without the mark. Writes spelling.md and spelling.json.""",
                options=AblateSpellingOptions,
                run=run_spelling,
                example="bgr ablate spelling --checkpoint work/checkpoint --data work/data --out work/spelling",
            ),
            "wording": Command(
                summary="the same questions in phrasings that training has never seen, and in known ones",
                description="""\
Every question of the test split of `bgr data build --split wording` has a phrasing that train and dev never use. It is
asked as it is, and in phrasings that they use. So is every question of a sheet that was worded by hand, in phrasings of
Atlas. Writes wording.md and wording.json.""",
                options=AblateWordingOptions,
                run=run_wording,
                example="""\
                    bgr ablate wording --checkpoint work/checkpoint --data work/wording --kqapro work/atlas \\
                    --out work/report""",
            ),
            "plain": Command(
                summary="what people simply ask over a whole collection, and what it does not state",
                description="""\
Two kinds of questions are generated from the knowledge base of Atlas, in other words than its own, about entities with
many statements and a unique name: about one statement, by predicate, and about what no statement says, by kind of
thing. The former should be answered, the latter not.

Writes plain.md and plain.json, with every question, its answers, and what was said.""",
                options=AblatePlainOptions,
                run=run_plain,
                example="""\
                    bgr ablate plain --checkpoint checkpoints/atlas --collection work/collection --kqapro work/atlas \\
                    --out work/plain""",
            ),
        },
    )


def run_prism(options: AblatePrismOptions) -> Output:
    from eval.ablations.prism import ablate_prism
    from eval.ablations.prism_report import answers_table, as_json, cost_table, evidence_table
    from eval.compare.passages import corpus_line

    found = ablate_prism(options)
    tables = [f"\n{table(found.scores).as_text()}" for table in (evidence_table, answers_table, cost_table)]
    last = f"\nwritten to {options.out}; the columns, rounds and errors are explained in prism.md"
    text = "\n".join([corpus_line(found.about), *tables, last])
    return Output(text, as_json(found.scores, found.data, found.about))


def run_bridgerag(options: AblateBridgeragOptions) -> Output:
    from bgr.utils.json_utils import parse_json
    from eval.ablations.bridgerag import ablate_bridgerag
    from eval.ablations.bridgerag_report import JSON, MARKDOWN
    from eval.compare.passages import corpus_line

    found = ablate_bridgerag(options)
    first = found.studies[0]
    last = f"\nwritten to {options.out}; the other tables are in {MARKDOWN}"
    path = options.out / JSON
    data = parse_json(path.read_text(encoding="utf-8"), str(path))
    return Output("\n".join([corpus_line(found.about), first.table.as_text(), first.note, last]), data)


def run_answers(options: AblateAnswersOptions) -> Output:
    from eval.ablations.answers import ablate_answers

    return passages_output(ablate_answers(options), options.out)


def run_candidates(options: AblateCandidatesOptions) -> Output:
    from eval.ablations.candidates import ablate_candidates
    from eval.ablations.candidates_report import points_table

    found = ablate_candidates(options)
    return _tables_output([points_table(found)], options.out, found.to_json())


def run_database(options: AblateDatabaseOptions) -> Output:
    from eval.ablations.database import ablate_database

    found = ablate_database(options)
    return _tables_output(found.tables(), options.out, found.to_json())


def run_spelling(options: AblateSpellingOptions) -> Output:
    from eval.ablations.spelling import ablate_spelling

    found = ablate_spelling(options)
    return _tables_output([found.table()], options.out, found.to_json())


def run_wording(options: AblateWordingOptions) -> Output:
    from eval.ablations.wording import ablate_wording

    found = ablate_wording(options)
    return _tables_output([found.table()], options.out, found.to_json())


def run_plain(options: AblatePlainOptions) -> Output:
    from eval.ablations.plain import ablate_plain

    found = ablate_plain(options)
    return _tables_output(found.tables(), options.out, found.to_json(), found.line, "")


def _tables_output(tables: Iterable[Table], out: Path, found: dict[str, Any], *more: str) -> Output:
    """The tables of a study with their notes, more lines, and where the report is."""
    lines = [line for table in tables for line in (table.as_text(), *table.notes, "")]
    return Output("\n".join([*lines, *more, f"written to {out}"]), found)
