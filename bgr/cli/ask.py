"""`bgr ask`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bgr.cli.parser import Command, Output
from bgr.retrievers.graph_hop.options import AskOptions

if TYPE_CHECKING:
    from bgr.pipeline import Answer


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
    from bgr.retrievers.graph_hop.decode import LIMITS

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
    if answer.completeness is not None:
        lines.insert(2, f"complete   {answer.completeness:.2f} (probability that the facts hold all of the evidence)")
    if options.draw is not None and not answer.graph.nodes:
        lines.append("drawing    not written: there is no evidence to draw")
    lines += [f"limit      {name}: {LIMITS[name]}" for name in answer.limits]
    if cut := _truncated(answer):
        lines.append(f"warning    too long, the end was not read: {', '.join(cut)}")
    return Output("\n".join(lines), answer.to_json())


def _truncated(answer: Answer) -> list[str]:
    facts = sum(index >= 0 for index in answer.truncated)
    parts = {
        "the question": len(answer.truncated) > facts,
        f"{facts:,} of {len(answer.facts):,} facts": facts > 0,
        "the reader's input": answer.reader_truncated,
    }
    return [what for what, there in parts.items() if there]
