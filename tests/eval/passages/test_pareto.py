"""The front against its definition; the plot is a picture."""

import random
from dataclasses import replace

import pytest

from bgr.llm.usage import Price, Usage
from eval.compare.passages import compare_passages
from eval.report.passages import systems_table
from eval.report.plots import front, plot_pareto, plot_recall, points_of
from eval.run.passage_scores import score, usage_of
from eval.run.question_result import QuestionResult


def beaten(point, points):
    return any(a <= point[0] and b >= point[1] and (a, b) != point for a, b in points)


def test_front_equals_its_definition():
    draw = random.Random(0)
    for size in (0, 1, 2, 5, 20):
        for _ in range(50):
            points = [(float(draw.randrange(6)), float(draw.randrange(6))) for _ in range(size)]
            found = front(points)
            assert sorted(found) == [n for n, point in enumerate(points) if not beaten(point, points)]
            assert [points[n][0] for n in found] == sorted(points[n][0] for n in found)


def found_of(data, usage, seconds):
    return [
        QuestionResult(q.id, q.gold[:1], (1.0,) * len(q.gold[:1]), usage=usage, seconds=seconds) for q in data.questions
    ]


def test_cost_and_plot(data, tmp_path):
    usage = Usage(calls=2, tokens_in=3_000, tokens_out=500)
    free = score("free", found_of(data, Usage(), 0.01), data)
    paid = score("_paid $x$", found_of(data, usage, 2.0), data)
    price = Price(0.5, 4.0)
    assert usage_of(paid, price)["cost"] == (3_000 * 0.5 + 500 * 4.0) / 1e6
    assert "cost" not in usage_of(paid)
    found = compare_passages([free, paid], data, {}, samples=50, price=price)
    table = systems_table(found)
    header, rows = table.header, table.rows
    assert [row[header.index("cost")] for row in rows] == ["0.000000", "0.003500"]
    plot_pareto(found, tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_points(data):
    """Each finds one gold passage of q1 (of two), q2 (of one) and q3 (of two), so R@5 is 2/3 on average; the seconds
    are those of each question, with what replies from the cache once took."""
    usage = Usage(calls=2, tokens_in=3_000, tokens_out=500, seconds_saved=1.5)
    found = {"free": (Usage(), 0.25), "paid": (usage, 2.0), "gold": (Usage(), 0.0)}
    systems = [score(name, found_of(data, *taken), data) for name, taken in found.items()]
    comparison = compare_passages(systems, data, {}, samples=50)
    recall = pytest.approx(100 * 2 / 3)
    assert points_of(comparison, "R@5", "tokens") == {"free": (0, recall), "paid": (3_500, recall)}
    assert points_of(comparison, "R@5", "seconds") == {"free": (0.25, recall), "paid": (3.5, recall)}
    assert points_of(comparison, "QA F1", "tokens") == {}


@pytest.mark.parametrize("names", [("gold", "nothing"), ("gold", "asks"), ("asks",)])
def test_plots_where_there_is_nothing_to_draw(data, tmp_path, names):
    """Bounds alone; an answer of the bound alone; questions without gold, which have answers."""
    answers = {"gold": "red", "asks": "red" if names == ("asks",) else None}
    found = {
        name: [replace(one, answer=answers.get(name)) for one in found_of(data, Usage(calls=1, tokens_in=5), 0.1)]
        for name in names
    }
    if names == ("asks",):
        data = replace(data, questions=tuple(replace(q, gold=(), missing=0) for q in data.questions))
    comparison = compare_passages([score(name, of_one, data) for name, of_one in found.items()], data, {}, samples=20)
    for number, plot in enumerate((plot_pareto, plot_recall)):
        path = tmp_path / f"{number}.png"
        plot(comparison, path)
        assert path.read_bytes().startswith(b"\x89PNG")
