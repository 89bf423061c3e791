"""`bgr predict`."""

from __future__ import annotations

from bgr.cli.parser import Command, Output
from bgr.retrievers.graph_hop.options import PredictOptions


def command() -> Command:
    return Command(
        summary="answer a file of questions, over a collection or their own facts",
        description="""Each record of the output has the question's id, the answer with its confidence, and the evidence
            graph with its texts. A line that is not a valid question becomes a record with an "error". If the command
            is interrupted, the same command resumes where it stopped; the output appears when it is complete.""",
        options=PredictOptions,
        run=run,
        example="""bgr predict --checkpoint work/run --collection work/films --questions asked.jsonl --out out.jsonl
            bgr predict --checkpoint work/run --questions with_facts.jsonl --out out.jsonl""",
    )


def run(options: PredictOptions) -> Output:
    from bgr.predict import predict

    found = predict(options)
    failed = f", {found.failed:,} with an error" if found.failed else ""
    return Output(f"{options.out}: {found.records:,} records{failed}", found.to_json())
