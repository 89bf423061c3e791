"""`bgr ask`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bgr.cli.parser import Command, Output
from bgr.retrievers.graph_hop.options import AskOptions
from bgr.utils.text_layout import PLAIN, Paint, Style, clean, two_digits

if TYPE_CHECKING:
    from bgr.reader.answer import Answer


STYLES: Mapping[str, tuple[Style, ...]] = {"limit": ("yellow",), "warning": ("bold", "yellow"), "drawing": ("yellow",)}
"""Styles of labels; the others are dim."""

TEXT_STYLES: Mapping[str, tuple[Style, ...]] = {"answer": ("bold", "green")}


def command() -> Command:
    return Command(
        summary="answer questions from a file of facts or a collection, and show the evidence graphs",
        description="""A file of facts holds one sentence a line; in a collection, each question finds its candidates.
            With neither, the released collection is asked: 146,622 sentences of Atlas about films, places, chemistry
            and languages, which are made ready at the first use. Without a question there is a prompt; questions from
            a pipe are read to the end.""",
        options=AskOptions,
        run=run,
        example="""bgr ask "Which film by the director of Alien came out in 1982?"
            bgr ask "Who directed Persona?" --facts facts.txt --draw graph.png
            bgr ask --checkpoint work/checkpoint --facts facts.txt --file questions.txt --json
            bgr ask "Who directed Persona?" --checkpoint work/checkpoint --collection work/films""",
    )


def run(options: AskOptions) -> Output:
    from bgr.ask import Asking

    asking, paint = Asking(options), Paint.of(sys.stdout)
    if asking.prompts:
        for answer in asking.converse():
            print(f"{as_text(answer, paint)}\n", flush=True)
        return Output()
    found = asking.answers()
    texts = [as_text(answer, paint) for answer in found]
    if options.draw is not None and not found[0].graph.nodes:
        texts.append(_line("drawing", "not written: there is no evidence to draw", paint))
    records = [answer.to_json() for answer in found]
    text = "\n".join(texts) if options.draw else "\n\n".join(texts)
    return Output(text, records[0] if len(found) == 1 else records, painted=True)


def as_text(answer: Answer, paint: Paint = PLAIN) -> str:
    """The graph as a tree, and below it what is known of the answer; `paint` adds colors for a terminal."""
    from bgr.graph.draw import tree_text
    from bgr.retrievers.graph_hop.decode import LIMITS

    rows = [("answer", answer.summary)]
    if answer.documents and answer.evidence:
        sources = [f"[{one['fact']}] {_source(one)}" for one in answer.evidence]
        titled = any(one["title"] for one in answer.evidence)
        rows += [("document", one) for one in (sources if titled else [", ".join(sources)])]
    if answer.support:
        rows.append(("read in", f"{', '.join(f'[{fact}]' for fact in answer.support)}{_spans(answer)}"))
    if answer.completeness is not None:
        sure = two_digits(answer.completeness)
        rows.append(("complete", f"{sure} (probability that the facts hold all of the evidence)"))
    rows.append(("agreement", f"{two_digits(answer.agreement)} (of the graphs of both directions)"))
    # the candidates of a collection are always more than are read
    limits = [name for name in answer.limits if name != "candidates" or not answer.documents]
    rows += [("limit", f"{name}: {LIMITS[name]}") for name in limits]
    if cut := _truncated(answer):
        rows.append(("warning", f"too long, the end was not read: {', '.join(cut)}"))
    rows += [("warning", one) for one in answer.warnings]
    tree = tree_text(answer.graph, answer.facts, answer.question, paint)
    return "\n".join([tree, *(_line(label, text, paint) for label, text in rows)])


def _line(label: str, text: str, paint: Paint) -> str:
    """A line with its label in a column of its own. The text may contain parts of untrusted facts."""
    return f"{paint(f'{label:11}', *STYLES.get(label, ('dim',)))}{paint(clean(text), *TEXT_STYLES.get(label, ()))}"


def _source(evidence: dict[str, Any]) -> str:
    """Id and title of a document."""
    return f"{evidence['id']} ({evidence['title']})" if evidence["title"] else str(evidence["id"])


def _spans(answer: Answer) -> str:
    """The words that were read, in quotes, after a colon."""
    texts = dict.fromkeys(answer.facts[one.fact][one.start : one.end] for one in answer.spans)
    return f": {', '.join(json.dumps(text, ensure_ascii=False) for text in texts)}" if texts else ""


def _truncated(answer: Answer) -> list[str]:
    facts = sum(index >= 0 for index in answer.truncated)
    parts = {
        "the question": len(answer.truncated) > facts,
        f"{facts:,} of {len(answer.facts):,} facts": facts > 0,
        "the reader's input": answer.reader_truncated,
    }
    return [what for what, there in parts.items() if there]
