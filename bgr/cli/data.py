"""`bgr data`: ReasonGraphQA from KQA Pro files, and everything that looks at a dataset or converts one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from bgr.cli.parser import Command, Group, Output
from bgr.data.options import (
    BuildOptions,
    ConvertOptions,
    DatabaseOptions,
    DatasetOptions,
    ImportOptions,
    ParaphraseOptions,
    QualityOptions,
    ShortcutsOptions,
    ShowOptions,
    StatsOptions,
    UnseenOptions,
    WorldsOptions,
)
from bgr.errors import DataError

if TYPE_CHECKING:
    from bgr.data.own.importing import Imported
    from bgr.data.reasongraphqa.checks.verify import Verified


def command() -> Group:
    commands = {
        "build": Command(
            summary="build a dataset: questions with programs become evidence graphs over sentences",
            description="An interrupted build resumes with the sentences and their vectors that it has.",
            options=BuildOptions,
            run=_build,
            example="""bgr data build --kqapro work/atlas --out work/data --limit 2500
                bgr data build --kqapro path/to/KQAPro --out work/data --recipe paper --hard
                bgr data build --kqapro work/atlas --out work/data --verbalizer path/to/t5""",
        ),
        "import": Command(
            summary="make a dataset of questions of your own",
            description="""Each line is an object with a question, its facts, and what is known of the evidence: a
                graph, a set of facts, or the answer alone. Edges that are missing follow from shared names; the
                evidence of an answer is the chain of names that leads to it, or what a teacher finds. The card says how
                many graphs came from where. docs/own-data.md describes the fields.""",
            options=ImportOptions,
            run=_import,
            example="""bgr data import questions.jsonl --out work/own
                bgr data import questions.jsonl --out work/own --withhold 0.2
                bgr data import questions.jsonl --out work/own --collection work/collection
                bgr data import answers.jsonl --out work/own --teacher checkpoints/atlas --hold-out facts""",
        ),
        "worlds": Command(
            summary="write a dataset of other domains than Atlas has",
            description="""Small invented worlds, each of another domain, with sentences and questions that were written
                by hand. A training learns from them beside its own data, by --data.more.""",
            options=WorldsOptions,
            run=_worlds,
            example="""bgr data worlds --out work/worlds
                bgr evaluate --checkpoint checkpoints/atlas --data work/worlds
                bgr train retriever --config further --init checkpoints/atlas --data work/data \\
                    --data.more=work/worlds --out work/run""",
        ),
        "database": Command(
            summary="write the whole knowledge base in sentences, beside those of a dataset",
            description="""Every statement that the dataset does not state gets a sentence of its own. `bgr collection
                build` makes a collection of the folder, over which the dataset's questions can be asked.""",
            options=DatabaseOptions,
            run=_database,
            example="""bgr data database --kqapro work/atlas --data work/data --out work/database
                bgr collection build --corpus work/database --out work/collection --words-only""",
        ),
        "paraphrase": Command(
            summary="let a language model write further wordings of questions, with the same programs and answers",
            description="""The model reads the steps of the program in plain words beside the question. Each reply is
                checked: names, numbers, dates, units, the direction of comparisons, negations and words must be those
                of the question or mean the same, names must keep their roles, and it must be one question of the same
                type whose words follow each other as in other questions of the source. What fails is left out and
                counted; the report, NAME.report.json beside the file, has every rejected text with its reason.

                All replies are kept: the same command, repeated after an interruption, asks for nothing twice and
                writes the same file. `bgr data build` puts all wordings of a question into the same split.""",
            options=ParaphraseOptions,
            run=_paraphrase,
            example="""bgr data paraphrase work/atlas --llm model.gguf --samples 500 --out work/atlas/paraphrases.json
                bgr data paraphrase work/atlas --llm http://localhost:8000/v1#model --batch 64 --out questions.json
                bgr data paraphrase work/atlas/val.json --llm smollm2 --replay replies.db --out questions.json""",
        ),
        "stats": Command(
            summary="print the paper's Tables 1 to 3 and the wording of a dataset's questions, and draw Figure 3",
            options=StatsOptions,
            run=_stats,
            example="bgr data stats work/data --plot figure3.png",
        ),
        "show": Command(
            summary="show one sample: question, answer, program, candidate facts, evidence graph",
            options=ShowOptions,
            run=_show,
            example="""bgr data show work/data --number 12
                bgr data show work/data --id train-000003 --draw graph.png
                bgr data show work/data --split train --random --seed 7 --json""",
        ),
        "verify": Command(
            summary="check a finished dataset, and that no distractor entails a gold fact",
            description="""The checks: samples are valid, ids are unique, candidates are sentences of the dataset, the
                hash is right, distractors are fair, and the Arrow form holds the same.

                A distractor must not entail a gold fact of its question: the same triple, the same head and key with
                the same value, or a qualifier that states it. The exit code is 1 when something is wrong; one line says
                what, and in which sample.""",
            options=DatasetOptions,
            run=_verify,
            example="bgr data verify work/data",
        ),
        "leakage": Command(
            summary="show what the splits share: question texts, sets of gold triples, programs with their entities",
            options=DatasetOptions,
            run=_leakage,
            example="bgr data leakage work/data",
        ),
        "unseen": Command(
            summary="write a dataset without the dev and test questions that another one trains on",
            description="""A retriever that starts from a checkpoint has seen the training questions of two datasets.
                Questions are the same if their words or their programs are. The training split stays as it is.""",
            options=UnseenOptions,
            run=_unseen,
            example="bgr data unseen work/data --trained work/first --out work/unseen",
        ),
        "shortcuts": Command(
            summary="measure what can be guessed: by classifiers that do not read the question, or only its words",
            description="Gradient boosting judges each candidate. AUC is the mean over the test questions.",
            options=ShortcutsOptions,
            run=_shortcuts,
            example="bgr data shortcuts work/data --limit 1000",
        ),
        "quality": Command(
            summary="check a sample of the sentences, write a sheet for human marks, or compare completed sheets",
            description="Each marker gets a copy of the sheet: 1 means yes, 0 means no.",
            options=QualityOptions,
            run=_quality,
            example="""bgr data quality work/data
                bgr data quality work/data --facts 200 --sheet sheet.csv
                bgr data quality work/data --marks anna.csv ben.csv""",
        ),
        "convert": Command(
            summary="convert to and from the JSON that the paper's authors released, and from MuSiQue",
            description="""A folder is read in the released form, a file as MuSiQue's: its question decompositions
                become evidence graphs over paragraphs, and the SHA-256 of its id chooses a question's split.""",
            options=ConvertOptions,
            run=_convert,
            example="""bgr data convert work/data released --to released
                bgr data convert released work/data --to bgr
                bgr data convert musique_ans_v1.0_train.jsonl work/data --to bgr""",
            json=False,
        ),
    }
    return Group(
        summary="build ReasonGraphQA from KQA Pro files, and inspect, check or convert a dataset", commands=commands
    )


def _build(options: BuildOptions) -> Output:
    from bgr.data.reasongraphqa.construction.dataset import build_dataset

    sheet = build_dataset(options)
    return Output(_build_text(sheet, options), sheet)


def _build_text(sheet: dict[str, Any], options: BuildOptions) -> str:
    lines = [f"{options.out}: " + ", ".join(f"{count:,} {name}" for name, count in sheet["counts"].items())]
    lines.append(f"facts: {sheet['facts']['units']:,} sentences, {sheet['facts']['gold']:,} of them gold")
    lines.append("distractors: " + ", ".join(f"{count:,} {kind}" for kind, count in sheet["distractors"].items()))
    if sheet["unanswerable"]:
        lines.append(f"without an answer: {sheet['unanswerable']:,} questions, whose candidates lack needed facts")
    if "shortcuts" in sheet:
        guess = sheet["shortcuts"]
        lines.append(
            f"AUC of guessing gold facts: {guess['blind']['auc']:.3f} without the question, "
            f"{guess['lexical']['auc']:.3f} with its words"
        )
    if "wording" in sheet:
        words = sheet["wording"]
        lines.append(
            f"verbalized by {words['model']}: {words['by_the_model']:,} of {words['units']:,} sentences, the others by "
            f"templates; of {words['candidates']:,} candidates {words['candidates_incomplete']:,} lacked a part, "
            f"{words['candidates_unfinished']:,} did not end"
        )
    if sheet["without_program"]:
        lines.append(f"without program (test.json): {sheet['without_program']:,}")
    dropped = sum(entry["count"] for entry in sheet["dropped"].values())
    lines.append(f"dropped: {dropped:,} of {sheet['tried']:,}")
    for reason, entry in sheet["dropped"].items():
        lines.append(f"  {entry['count']:,}: {reason}, for example")
        lines += [f"    {example}" for example in entry["examples"]]
    return "\n".join([*lines, f"sha256: {sheet['sha256']}"])


def _import(options: ImportOptions) -> Output:
    from bgr.data.own.importing import import_data

    teacher = None
    if options.teacher is not None:
        from bgr.teacher import CheckpointTeacher

        teacher = CheckpointTeacher(options.teacher, options.collection)
    return _imported(import_data(options, teacher=teacher))


def _worlds(options: WorldsOptions) -> Output:
    from bgr.data.worlds.worlds import write_worlds

    return _imported(write_worlds(options))


def _imported(found: Imported) -> Output:
    sheet = dict(found.metadata)
    lines = [f"{found.folder}: " + ", ".join(f"{count:,} {split}" for split, count in sheet["counts"].items())]
    lines += [
        f"{count:,} {how.strip()}" if how[0] != " " else f"  {count:,} {how.strip()}"
        for how, count in sheet["graphs"].items()
    ]
    lines += [
        f"left out: {drop['count']:,} ({why}), {drop['examples'][0]} for one" for why, drop in sheet["dropped"].items()
    ]
    if sheet["repeated_questions"]:
        lines.append(f"repeated: {sheet['repeated_questions']:,} questions, of which the first counts")
    lines += [f"note: {note}" for note in found.notes]
    return Output("\n".join([*lines, f"sha256: {sheet['sha256']}"]), {**sheet, "notes": list(found.notes)})


def _unseen(options: UnseenOptions) -> Output:
    from dataclasses import asdict

    from bgr.data.reasongraphqa.checks.leakage import write_unseen

    found = write_unseen(options)
    counts = ", ".join(f"{split} {found.left[split]:,} ({found.out[split]:,} left out)" for split in found.left)
    return Output(f"{options.out}: {counts}", asdict(found))


def _database(options: DatabaseOptions) -> Output:
    from bgr.data.reasongraphqa.construction.textual_database import write_whole_database

    found = write_whole_database(options)
    text = f"{options.out}: {found.dataset:,} sentences of the dataset and {found.others:,} others"
    return Output(text, {"dataset": found.dataset, "others": found.others})


def _paraphrase(options: ParaphraseOptions) -> Output:
    from bgr.data.reasongraphqa.paraphrase.paraphrase import paraphrase

    found = paraphrase(options)
    return Output(f"{options.out}: {found.text()}", {**found.to_json(), "usage": found.usage.to_json()})


def _stats(options: StatsOptions) -> Output:
    from bgr.data.reasongraphqa.construction.splits import SPLITS
    from bgr.data.reasongraphqa.io.dataset import check_unchanged, read_split
    from bgr.data.reasongraphqa.io.statistics import KQAPRO, PAPER, dataset_statistics, draw_statistics, statistics_text

    found = dataset_statistics({split: read_split(options.folder, split, progress=True) for split in SPLITS})
    check_unchanged(options.folder)
    if options.plot:
        draw_statistics(found, options.plot)
        print(f"{options.plot}: drawn", file=sys.stderr)
    return Output(statistics_text(found), {**found, "paper": PAPER, "kqapro": KQAPRO})


def _show(options: ShowOptions) -> Output:
    from bgr.data.reasongraphqa.io.show import show_sample

    sample = show_sample(options)
    return Output(sample.text(), sample.to_json())


def _verify(options: DatasetOptions) -> Output:
    from bgr.data.reasongraphqa.checks.verify import check_arrow, verify_dataset

    verified = verify_dataset(options.folder, progress=True)
    found, error = verified.entailments, None
    try:
        if found.total:
            kinds = ", ".join(f"{count} {how}" for how, count in found.counts.items() if count)
            what = f"{found.total} of {found.distractors} distractors entail a gold fact ({kinds})"
            raise DataError(f"{options.folder}: {what}; the first: {found.examples[0]}")
        check_arrow(options.folder, progress=True)
    except DataError as problem:
        error = problem
    return Output("" if error else _verify_text(options, verified), verified.to_json(), error)


def _verify_text(options: DatasetOptions, verified: Verified) -> str:
    found = verified.entailments
    lines = [f"{options.folder}: " + ", ".join(f"{count:,} {split}" for split, count in verified.counts.items())]
    lines.append(f"facts: {verified.facts:,} sentences, every candidate is among them")
    lines.append(f"distractors: {found.distractors:,}, none entails a gold fact")
    if found.unknown:
        lines.append(f"not judged: {found.unknown:,} distractors, whose triples the dataset does not hold")
    return "\n".join([*lines, f"sha256: {verified.sha256}"])


def _leakage(options: DatasetOptions) -> Output:
    from bgr.data.reasongraphqa.checks.leakage import dataset_leakage, leakage_text

    report = dataset_leakage(options.folder, progress=True)
    return Output(leakage_text(report), report.to_json())


def _shortcuts(options: ShortcutsOptions) -> Output:
    from bgr.data.reasongraphqa.checks.shortcuts import find_shortcuts

    found = find_shortcuts(options.folder, limit=options.limit, seed=options.seed, progress=True)
    return Output(found.text(), found.to_json())


def _quality(options: QualityOptions) -> Output:
    from bgr.data.reasongraphqa.checks.quality import check_quality

    found = check_quality(options)
    if options.sheet:
        print(f"{options.sheet}: {found.facts:,} facts to mark", file=sys.stderr)
    return Output(found.text(), found.to_json())


def _convert(options: ConvertOptions) -> Output:
    from bgr.data.reasongraphqa.io.convert import convert_dataset

    found = convert_dataset(options)
    text = f"{found.folder}: {sum(found.counts.values()):,} questions"
    if found.lost_edges is not None:
        return Output(
            f"{text}; {found.lost_edges:,} edges from the question stand in a field "
            "of our own, which the authors' script does not read"
        )
    lines = [f"{text} ({', '.join(f'{split} {count:,}' for split, count in found.counts.items())})"]
    lines += [f"left out: {len(ids):,} ({why}), {ids[0]} for one" for why, ids in found.left_out.items()]
    return Output("\n".join(lines))
