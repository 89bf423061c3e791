"""`bgr ask`."""

from __future__ import annotations

from bgr.cli.parser import Command, Output
from bgr.retrievers.graph_hop.options import AskOptions


def command() -> Command:
    return Command(
        summary="answer one question from a file of facts, and show the evidence graph",
        description="The file holds one sentence a line.",
        options=AskOptions,
        run=run,
        example='bgr ask "Who directed Persona?" --checkpoint work/checkpoint --facts facts.txt --draw graph.png',
    )


def run(options: AskOptions) -> Output:
    from bgr.graph.draw import tree_text
    from bgr.pipeline import answer_file

    answer = answer_file(options)
    text = answer.answer
    if answer.answer_confidence is None:
        text = "not given: this checkpoint holds no reader"
    elif text is None:
        text = "not answerable from these facts"
    else:
        text = f"{text} (the reader's confidence {answer.answer_confidence:.2f})"
    lines = [
        tree_text(answer.graph, answer.facts, options.question),
        f"confidence {answer.confidence:.2f} (agreement of both directions)",
        f"answer     {text}",
    ]
    if answer.limits:
        lines.append(f"limits     {', '.join(answer.limits)}")
    return Output("\n".join(lines), answer.to_json())
