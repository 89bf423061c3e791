"""Refusals: scores by kind of gap, reports, and reading them back."""

import csv
import json
import random
from dataclasses import replace

import pytest

from bgr.data.example import MISSING
from bgr.errors import DataError
from bgr.graph.evidence_graph import ROOT, EvidenceGraph
from bgr.retrievers.base import RetrievalResult
from bgr.retrievers.baselines.single_hop import Bm25Facts, RandomFacts
from eval.report.evaluation import as_document, as_text, write_report
from eval.report.refusal import refusal_table
from eval.run.evaluate import Predictions, evaluate, query_of
from eval.run.read_evaluation import read_evaluation
from eval.run.refusal import ANY, Refusals, first_questions, score_refusals

FOUND, NOTHING = EvidenceGraph([(ROOT, 0)]), EvidenceGraph()


def without_answer(example, missing):
    return replace(example, id=f"{example.id}-{missing}", graph=NOTHING, answer="", missing=missing)


@pytest.fixture
def gaps(examples):
    """Eight questions without an answer; of the last two it is unknown what they lack."""
    kinds = ["one", "one", "one", "one", "all", "all", None, None]
    return [without_answer(example, kind) for example, kind in zip(examples, kinds, strict=False)]


def refusing(examples, chances, threshold):
    """Results of a retriever that refuses below a threshold."""
    graphs = (example.graph if example.graph.nodes else FOUND for example in examples)
    return [
        RetrievalResult(graph if chance >= threshold else NOTHING, completeness=chance)
        for graph, chance in zip(graphs, chances, strict=True)
    ]


@pytest.fixture
def results(examples, gaps):
    rng = random.Random(1)
    right, wrong = [rng.random() ** 0.3 for _ in examples], [rng.random() ** 2 for _ in gaps]
    return refusing(examples, right, 0.4), refusing(gaps, wrong, 0.4)


def test_scores_equal_a_plain_loop(examples, gaps, results):
    right, wrong = results
    found = score_refusals(right, wrong, gaps)
    assert [*found.gaps] == [ANY, *MISSING]
    assert found.answerable == 30
    refused_right = sum(result.completeness < 0.4 for result in right)
    refused_wrong = sum(result.completeness < 0.4 for result in wrong)
    assert min(refused_right, refused_wrong) > 0  # else the next lines compare zeros
    assert found.refused == pytest.approx(refused_right / 30)
    assert found.precision == pytest.approx(refused_wrong / (refused_wrong + refused_right))
    threshold = sorted(result.completeness for result in right)[1]  # one of 30 may be below
    for kind, gap in found.gaps.items():
        group = [one.completeness for one, example in zip(wrong, gaps, strict=True) if kind in (ANY, example.missing)]
        assert gap.n == len(group) == {ANY: 8, "one": 4, "all": 2}[kind]
        pairs = [(a.completeness > u) + (a.completeness == u) / 2 for a in right for u in group]
        assert gap.auc == pytest.approx(sum(pairs) / len(pairs))
        assert gap.found == pytest.approx(sum(u < threshold for u in group) / len(group))
        assert gap.refused == pytest.approx(sum(u < 0.4 for u in group) / len(group))


def test_a_calibrated_system_has_no_calibration_error(examples, gaps):
    sure = score_refusals(refusing(examples, [1.0] * 30, 0.5), refusing(gaps, [0.0] * 8, 0.5), gaps)
    assert (sure.ece, sure.precision, sure.refused, sure.gaps[ANY].auc, sure.gaps[ANY].refused) == (0, 1, 0, 1, 1)
    wrong = score_refusals(refusing(examples, [0.0] * 30, 0.5), refusing(gaps, [1.0] * 8, 0.5), gaps)
    assert (wrong.ece, wrong.precision, wrong.refused, wrong.gaps[ANY].auc, wrong.gaps[ANY].refused) == (1, 0, 1, 0, 0)


def test_a_system_without_completeness_may_refuse(examples, gaps, results):
    right, wrong = ([replace(result, completeness=None) for result in part] for part in results)
    found, told = score_refusals(right, wrong, gaps), score_refusals(*results, gaps)
    assert (found.ece, found.gaps[ANY].auc, found.gaps["one"].found) == (None, None, None)
    assert (found.refused, found.precision) == (told.refused, told.precision)
    assert [gap.refused for gap in found.gaps.values()] == [gap.refused for gap in told.gaps.values()]
    # one result without an estimate is as good as none: the others are no sample of the questions
    assert score_refusals([right[0], *results[0][1:]], results[1], gaps).ece is None


def test_only_the_kinds_that_occur(examples, gaps, results):
    old = [replace(example, missing=None) for example in gaps]
    assert [*score_refusals(*results, old).gaps] == [ANY]
    assert [*score_refusals(results[0], results[1][:4], gaps[:4]).gaps] == [ANY, "one"]


def test_the_number_of_gold_facts_does_not_tell_that_there_is_none(gaps):
    for retriever in (Bm25Facts(), RandomFacts()):
        results = retriever.retrieve([query_of(example) for example in gaps])
        assert all(len(result.graph.nodes) == 1 for result in results)


def test_a_limit_keeps_the_share_of_the_split(examples, gaps):
    mixed = [gaps[0], examples[1], gaps[1], gaps[2], examples[2], gaps[3], examples[3]]
    assert first_questions(mixed, 2) == (examples[1:3], gaps[:4])
    assert first_questions(mixed, 1) == (examples[1:2], gaps[:3])
    assert first_questions(mixed, 3) == first_questions(mixed, None) == (examples[1:4], gaps[:4])


@pytest.fixture
def evaluations(examples, gaps, results):
    """A system that estimates completeness, one that only refuses, one that never does."""
    right, wrong = results
    dumb = [[replace(result, completeness=None) for result in part] for part in results]
    never = [[RetrievalResult(FOUND)] * len(part) for part in results]
    systems = {
        name: Predictions(parts[0], refusals=score_refusals(*parts, gaps))
        for name, parts in {"mine": (right, wrong), "refuser": dumb, "never": never}.items()
    }
    return evaluate(systems, examples)


def test_an_empty_graph_is_a_wrong_prediction_where_there_is_an_answer(examples, evaluations, results):
    kept = [bool(result.graph.nodes) for result in results[0]]
    assert 0 < sum(kept) < 30
    mine = evaluations[0].mean
    assert mine["n"] == 30
    assert mine["gm"] == mine["f1"] == mine["em"] == pytest.approx(sum(kept) / 30)


def test_table(evaluations):
    table = refusal_table(evaluations)
    cells = {tuple(row[:2]): row[2:] for row in table.rows}
    kinds = ["with an answer", "without an answer", "one fact missing", "all facts missing"]
    assert [*cells] == [
        *(("mine", kind) for kind in kinds),
        *(("refuser", kind) for kind in kinds),
        ("never", "without an answer"),
    ]
    mine = evaluations[0].refusals
    of_all = [f"{100 * mine.precision:.1f}", f"{mine.ece:.3f}"]
    gap = mine.gaps[ANY]
    shares = [f"{gap.auc:.3f}", f"{100 * gap.found:.1f}", f"{100 * gap.refused:.1f}"]
    assert cells["mine", "without an answer"] == ["8", *shares, *of_all]
    assert cells["mine", "with an answer"] == ["30", "–", "–", f"{100 * mine.refused:.1f}", "–", "–"]
    assert cells["refuser", "without an answer"] == ["8", "–", "–", *shares[2:], of_all[0], "–"]
    assert cells["never", "without an answer"] == ["8", "–", "–", "0.0", "–", "–"]


def test_reports(evaluations, examples, tmp_path):
    write_report(tmp_path, evaluations, examples, "mine", {})
    row = refusal_table(evaluations).as_markdown().splitlines()[3]
    assert row in (tmp_path / "metrics.md").read_text()
    assert "\nQuestions without an answer\n" in as_text(evaluations, "mine")
    content = json.loads((tmp_path / "metrics.json").read_text())["refusal"]
    assert [Refusals.from_json(content[one.name]) for one in evaluations] == [one.refusals for one in evaluations]
    with (tmp_path / "refusal.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["system"], line["missing"]) for line in lines] == [
        (one.name, kind) for one in evaluations for kind in (ANY, "one", "all")
    ]
    assert float(lines[1]["auc"]) == evaluations[0].refusals.gaps["one"].auc
    assert float(lines[1]["answerable_refused"]) == evaluations[0].refusals.refused
    assert float(lines[1]["precision"]) == evaluations[0].refusals.precision
    assert lines[-1]["auc"] == ""


def test_no_section_without_such_questions(examples, imperfect, tmp_path):
    found = evaluate({"a": Predictions(imperfect)}, examples)
    write_report(tmp_path, found, examples, "a", {})
    assert "without an answer" not in as_text(found, "a") + as_document(found, "a", {}).as_markdown()
    assert "refusal" not in json.loads((tmp_path / "metrics.json").read_text())
    assert not (tmp_path / "refusal.csv").exists()
    assert "completeness" not in (tmp_path / "predictions.jsonl").read_text()


def test_read_back(evaluations, examples, results, tmp_path):
    write_report(tmp_path, evaluations, examples, "mine", {})
    read = read_evaluation(tmp_path)
    mine = read.predictions("mine", examples)
    assert mine.refusals == evaluations[0].refusals
    written = [round(result.completeness, 6) for result in results[0]]
    assert [result.completeness for result in mine.results] == written
    assert read.predictions("never", examples).results[0].completeness is None
    assert read.predictions("mine", examples[:5]).refusals is None  # these scores are not of these questions


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content.update(refusal=3), "refusal is 3, allowed: an object"),
        (lambda content: content["refusal"].update(mine=3), "refusal of 'mine' is not that of bgr evaluate"),
        (lambda content: content["refusal"]["mine"].update(precision=1.5), "refusal of 'mine'"),
        (lambda content: content["refusal"]["mine"]["gaps"].pop(ANY), "refusal of 'mine'"),
        (lambda content: content["refusal"]["never"]["gaps"]["one"].update(n=0), "refusal of 'never'"),
    ],
)
def test_damaged_refusals(change, said, evaluations, examples, tmp_path):
    write_report(tmp_path, evaluations, examples, "mine", {})
    content = json.loads((tmp_path / "metrics.json").read_text())
    change(content)
    (tmp_path / "metrics.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=said):
        read_evaluation(tmp_path)


@pytest.mark.workflow
@pytest.mark.parametrize("value", [1.5, -0.1, True, "x"])
def test_damaged_completeness(value, evaluations, examples, tmp_path):
    write_report(tmp_path, evaluations, examples, "mine", {})
    path = tmp_path / "predictions.jsonl"
    first, *others = path.read_text().splitlines(keepends=True)
    record = json.loads(first)
    record["predictions"]["mine"]["completeness"] = value
    path.write_text("".join([json.dumps(record) + "\n", *others]))
    with pytest.raises(DataError, match=r"completeness of 'mine' is .*, allowed: 0 to 1 or null"):
        read_evaluation(tmp_path).predictions("mine", examples)
