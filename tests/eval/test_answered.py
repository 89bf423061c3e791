"""A reader over several systems reads each different graph once, and answers go to their systems and questions."""

from dataclasses import replace

from bgr.graph.evidence_graph import EvidenceGraph
from bgr.reader.reader import ReaderAnswer
from bgr.retrievers.base import RetrievalResult
from eval.compare.compare import GOLD, NOTHING
from eval.report.evaluation import notes
from eval.run.evaluate import Predictions, evaluate
from eval.systems.graphs import with_answers


class EchoReader:
    """Answers with the question's first words and the facts of the graph, so that a mix-up shows."""

    def __init__(self):
        self.asked = 0

    def answer(self, items, *, batch_size=32, progress=False):
        self.asked += len(items)
        return [
            ReaderAnswer(f"{item.question[:11]} {sorted(item.graph.edges)}" if item.graph.nodes else None, 1.0)
            for item in items
        ]

    def answer_alone(self, texts, *, batch_size=32, progress=False):
        return [ReaderAnswer("yes", 0.5) for _ in texts]


def test_each_graph_is_read_once(examples, imperfect):
    reader, empty = EchoReader(), RetrievalResult(EvidenceGraph())
    systems = {"one": Predictions(imperfect, 3.0), "same": Predictions(imperfect, answers=["old"] * 30)}
    systems["empty"] = Predictions([empty] * 30)
    found = with_answers(reader, systems, examples)
    assert list(found) == ["one", "same", "empty", GOLD, NOTHING]
    different = {(number, one.graph.edges) for number, one in enumerate(imperfect)}
    different |= {(number, example.graph.edges) for number, example in enumerate(examples)}
    assert reader.asked == len(different) + 30
    for name in ("one", "same", GOLD):
        for example, result, answer in zip(examples, found[name].results, found[name].answers, strict=True):
            assert answer == f"{example.question[:11]} {sorted(result.graph.edges)}"
    assert found["empty"].answers == [None] * 30
    assert found["one"].seconds == 3.0


def test_inputs_that_the_reader_did_not_read_to_their_end(examples, imperfect):
    class Short(EchoReader):
        def answer(self, items, **options):
            read = super().answer(items, **options)
            return [replace(one, truncated=len(item.graph.nodes) > 2) for item, one in zip(items, read, strict=True)]

    found = evaluate(with_answers(Short(), {"one": Predictions(imperfect)}, examples), examples)
    means = {one.name: one.mean for one in found}
    long = sum(len(result.graph.nodes) > 2 for result in imperfect)
    assert means["one"]["inputs_truncated"] == long > 0
    assert means[NOTHING]["inputs_truncated"] == 0
    assert f"one: the reader's input was truncated on {long} questions" in notes(found)
    assert not any(line.startswith(NOTHING) for line in notes(found))


def test_bound_and_leak(examples, imperfect):
    found = evaluate(with_answers(EchoReader(), {"one": Predictions(imperfect)}, examples), examples)
    means = {one.name: one.mean for one in found}
    assert means[GOLD]["gm"] == 1
    assert (means[NOTHING]["f1"], means[NOTHING]["qa_em"]) == (0, 1)  # all answers of the examples are "yes"


def test_answering_again_replaces_both(examples, imperfect):
    once = with_answers(EchoReader(), {"one": Predictions(imperfect)}, examples)
    assert list(with_answers(EchoReader(), once, examples)) == ["one", GOLD, NOTHING]
