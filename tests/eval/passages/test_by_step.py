"""What each step took, counted by hand."""

from bgr.llm.usage import Usage
from eval.passages.compare import compare_passages
from eval.passages.files import as_json
from eval.passages.found import Found
from eval.passages.groups import by_step
from eval.passages.score import score
from eval.passages.tables import steps_table
from eval.passages.text import as_markdown

READ, AGAIN = Usage(calls=2, failed=1, tokens_in=30, tokens_out=4), Usage(cached=1, tokens_in=7, tokens_out=1)


def test_each_step_over_all_questions(data):
    trace = (
        {"step": "read", "round": 1, "usage": READ.to_json()},
        {"step": "expand"},
        {"step": "read", "round": 2, "usage": AGAIN.to_json()},
        {"step": "answer", "usage": AGAIN.to_json()},
    )
    found = [Found(q.id, (), (), usage=READ + AGAIN + AGAIN, trace=trace) for q in data.questions]
    asking = score("asking", found, data)
    steps = by_step(asking)
    assert steps == {"read": Usage(8, 4, 4, 148, 20), "answer": Usage(0, 4, 0, 28, 4)}
    assert sum(steps.values(), Usage()) == asking.usage
    silent = score("silent", [Found(q.id, (), ()) for q in data.questions], data)
    both = compare_passages([asking, silent], data, {}, samples=20)
    assert steps_table(both)[1] == [
        ["asking", "read", "8", "4", "148", "20", "4"],
        ["asking", "answer", "0", "4", "28", "4", "0"],
    ]
    assert as_json(both)["systems"]["asking"]["steps"]["answer"]["tokens_in"] == 28
    assert "## By step" in as_markdown(both)
    assert "## By step" not in as_markdown(compare_passages([silent], data, {}, samples=20))
