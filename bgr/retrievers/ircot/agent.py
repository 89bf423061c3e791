"""IRCoT (Trivedi et al., 2023): sentences of reasoning, each of which is the query of the next retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bgr.llm.language_model import LanguageModel
from bgr.retrievers.base import Query, RetrievalResult, Retriever, star
from bgr.retrievers.ircot.steps import PAPER, IrcotSettings, answer_in, read_sentence, reason_request
from bgr.retrievers.llm_retriever import LlmRetriever, LlmRun
from bgr.retrievers.scope import Scope
from bgr.retrievers.search import SearchRetriever


@dataclass
class _Run(LlmRun):
    """The state of one question; `found` has the indices of the passages in the order of their retrieval."""

    query: Query
    scope: Scope
    found: dict[int, None] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    answer: str | None = None
    done: bool = False


class Ircot(LlmRetriever):
    """Retrieves for the question, then reasons one sentence and retrieves for it, and so on, until a sentence gives the
    answer, `steps` sentences are written, or `collected` passages are found (paper, section 3.1).

    The result is the union of all retrievals in their order, with scores 1, 1/2, 1/3, …: the method gives a set. A
    failed step ends the question's rounds, and is counted.

    Args:
        retriever: what each retrieval runs, over the same passages as `scope`; default: the scope's search. HippoRAG as
            retriever is HippoRAG with IRCoT.
    """

    base_search = "bm25"  # the paper's

    def __init__(
        self, llm: LanguageModel, scope: Scope, settings: IrcotSettings = PAPER, *, retriever: Retriever | None = None
    ) -> None:
        self.llm = llm
        self.scope = scope
        self.settings = settings
        self.retriever = retriever or SearchRetriever(scope, settings.passages)

    def retrieve_batch(self, queries: Sequence[Query]) -> list[RetrievalResult]:
        """The passages that were collected, and the answer if the reasoning reached one."""
        runs = [_Run(query=query, scope=self.scope.of(query)) for query in queries]
        self._retrieve(runs, 1)
        for number in range(1, self.settings.steps + 1):
            asked = [run for run in runs if not run.done]
            self._reason(asked, number)
            self._retrieve([run for run in asked if not run.done], number + 1)
        return [self._result(run) for run in runs]

    def _retrieve(self, runs: Sequence[_Run], number: int) -> None:
        """Retrieve for the question in the first round, then for the last sentence."""
        texts = [run.steps[-1] if run.steps else run.query.question for run in runs]
        queries = [replace(run.query, question=text) for run, text in zip(runs, texts, strict=True)]
        for run, text, result in zip(runs, texts, self.retriever.retrieve(queries) if runs else (), strict=True):
            fused = list(result.indices[: self.settings.passages])
            run.usage += result.usage
            run.trace += [{**record, "round": number} for record in result.trace]
            run.trace.append({"step": "round", "round": number, "query": text, "fused": fused})
            new = [index for index in fused if index not in run.found]
            run.found.update(dict.fromkeys(new[: self.settings.collected - len(run.found)]))

    def _reason(self, runs: Sequence[_Run], number: int) -> None:
        requests = [
            reason_request(
                run.query.question, [run.scope.corpus[index] for index in run.found], run.steps, self.settings
            )
            for run in runs
        ]
        for run, reply in zip(runs, self.llm.ask(requests) if requests else (), strict=True):
            read = read_sentence(reply)
            run.note("reason", read, round=number, sentence=read.value)
            if read.value:
                run.steps.append(read.value)
            run.answer = answer_in(read.value) or None
            full = len(run.found) >= self.settings.collected
            run.done = not read.value or answer_in(read.value) is not None or full

    def _result(self, run: _Run) -> RetrievalResult:
        return RetrievalResult(
            star(list(run.found)),
            ranking=tuple((index, 1 / rank) for rank, index in enumerate(run.found, 1)),
            searched=run.scope.corpus,
            usage=run.usage,
            trace=tuple(run.trace),
            answer=run.answer,
            is_list=True,
        )
