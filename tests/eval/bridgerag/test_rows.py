"""Every analysis on six candidates a question, of which the last is lost; counted by hand."""

import csv
import json
import math
from dataclasses import replace

import pytest

from bgr.utils.hashing import hash_place
from eval.ablations.bridgerag_report import (
    ALPHAS,
    alpha_rows,
    as_document,
    diversity_rows,
    flips_rows,
    groups_of,
    one_sided,
    proximity_rows,
    sign_rows,
    studies_of,
    systems_rows,
    write_report,
)

ABOUT = {
    "data": "mini",
    "questions": 5,
    "data_hash": "d" * 64,
    "passages": 6,
    "corpus_hash": "c" * 64,
    "gold_passages": 5,
    "gold_passages_not_in_corpus": 0,
}


@pytest.fixture
def five(judged):
    """R@5 of A: 0, 1, 1, 0; of B: 0, 1, 1, 0; of C: 1, 1, 0, 0; the fifth question has no gold."""
    return [
        judged("q1", "2hop", ["p0"], {"svo": 0, "plain": 0, "full": 1, "svo-text": 0}, proximity=0.9, spread=0.5),
        judged("q2", "2hop", ["p0", "p1"], {"svo": 2, "plain": 2, "full": 3, "svo-text": 1}, proximity=0.5, spread=0.4),
        judged("q3", "3hop", ["p0"], {"svo": 5, "plain": 1, "full": 0, "svo-text": 0}, proximity=0.1, spread=0.4),
        judged("q4", "3hop", ["p0"], {"svo": 0, "plain": 0, "full": None}, proximity=0.5),
        judged("q5", "null", [], {"svo": 0, "plain": 0, "full": 1}),
    ]


def by(rows, **wanted):
    (row,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return row


def test_systems(five):
    rows = systems_rows(five, 0.1)
    assert [by(rows, system=name)["R@5"] for name in ("svo", "plain", "full")] == [0.5, 0.5, 0.5]
    # without a second-hop text for it the fourth question keeps the order of A: 0, 1/2, 0, 0
    row = by(rows, system="svo-text")
    assert (row["R@5"], row["n"], row["there"]) == (0.125, 4, 3)
    assert by(rows, system="full")["failed"] == 1
    assert (by(rows, system="svo")["calls"], by(rows, system="full")["calls"]) == (2, 3)
    assert by(rows, system="full")["tokens_in"] == 150
    assert by(rows, system="svo-text")["tokens_in"] == 50 + 100 * 3 / 5
    # the first two of A: p1 p2, p0 p1, p0 p1, p1 p2
    assert by(rows, system="svo")["R@2"] == 0.5
    assert all(row["R@10"] == row["R@15"] == 1 for row in rows)


def test_tokens_that_were_not_counted_are_none(five):
    first = replace(five[0], usage=five[0].usage | {"full": replace(five[0].usage["full"], uncounted=1)})
    rows = systems_rows([first, *five[1:]], 0.1)
    assert (by(rows, system="full")["tokens_in"], by(rows, system="svo")["tokens_in"]) == (None, 50)


def test_groups(five):
    assert {name: len(members) for name, members in groups_of(five).items()} == {"all": 4, "2hop": 2, "3hop": 2}
    assert list(groups_of(five[:2])) == ["all"]
    assert groups_of([]) == {"all": []}


def test_one_sided_sign_tests(five):
    rows = sign_rows(five, 0.1)
    whole = by(rows, first="full", second="svo", group="all")
    # better on q1, worse on q3: P(1 or 2 of 2) = 3/4
    assert [whole[name] for name in ("n", "better", "worse", "equal", "difference")] == [4, 1, 1, 2, 0]
    assert whole["p"] == whole["p_bonferroni"] == 0.75
    two = by(rows, first="full", second="plain", group="2hop")
    assert (two["better"], two["worse"], two["p"], two["p_bonferroni"], two["difference"]) == (1, 0, 0.5, 1.0, 0.5)
    # the text for the bridge is there three times: 1 against 0, 1 against 1/2, 0 against 0
    text = by(rows, first="full", second="svo-text", group="all")
    assert (text["n"], text["better"], text["equal"], text["p"]) == (3, 2, 1, 0.25)
    assert text["difference"] == pytest.approx(0.5)
    assert by(rows, first="full", second="negative", group="3hop")["n"] == 0
    assert one_sided(8, 1) == pytest.approx((1 + 9) / 512)
    assert one_sided(1, 8) == pytest.approx(511 / 512)
    assert one_sided(0, 0) == 1


def test_bonferroni_multiplies_by_the_number_of_kinds(judged):
    wins = [judged(f"{kind}{n}", kind, ["p0"], {"plain": 0, "full": 1}) for kind in "abc" for n in range(6)]
    row = by(sign_rows(wins, 0.1), first="full", second="plain", group="b")
    assert (row["p"], row["p_bonferroni"]) == (1 / 64, pytest.approx(3 / 64))


def test_flips(five):
    rows = flips_rows(five, 0.1)
    whole = by(rows, group="all")
    # q1 wins, q2 flips for nothing, q3 loses, q4's failed judge has the same first five
    assert [whole[name] for name in ("n", "flips", "wins", "losses", "churn", "win_rate")] == [4, 3, 1, 1, 0.75, 0.25]
    assert whole["productivity"] == pytest.approx(1 / 3)
    assert by(rows, group="2hop")["productivity"] == 0.5
    assert math.isnan(flips_rows(five[3:4], 0.1)[0]["productivity"])


def test_proximity(five):
    rows = proximity_rows(five, 0.1)
    whole = by(rows, group="all")
    # cosines .9 .5 .1 .5, gains 1 0 -1 0: the same order
    assert (whole["n"], whole["mean_cosine"], whole["rho"]) == (4, 0.5, pytest.approx(1))
    assert math.isnan(by(rows, group="2hop")["rho"])  # of two points it says nothing
    five[0] = type(five[0])(**{**vars(five[0]), "proximity": 0.0})
    # ranks 1 3.5 2 3.5 and 4 2.5 1 2.5; both have the mean 2.5: sums -1.5·1.5 + 1·0 + (-.5)(-1.5) + 1·0 = -1.5
    wanted = -1.5 / math.sqrt((2.25 + 1 + 0.25 + 1) * (2.25 + 2.25))
    assert by(proximity_rows(five, 0.1), group="all")["rho"] == pytest.approx(wanted)


def test_diversity(five):
    whole = by(diversity_rows(five, 0.1), group="all")
    assert (whole["n"], whole["size"], whole["titles"], whole["recall"], whole["n_spread"]) == (4, 6, 3, 1, 3)
    assert whole["spread"] == pytest.approx(1.3 / 3)
    # spreads .5 .4 .4 with gains 1 0 -1: ranks 3 1.5 1.5 and 3 2 1: 1·1 + (-.5)·0 + (-.5)(-1) = 1.5
    assert whole["rho"] == pytest.approx(1.5 / math.sqrt(1.5 * 2))


def test_alpha_is_chosen_on_one_half_and_reported_on_both(judged):
    """p5 is last but one by the judge and first by the cosine, p4 last by the cosine: it overtakes p4 for the fifth
    place where 5α > 1 − α."""
    scores, svo = {"plain": [0] * 6, "full": [6, 5, 4, 3, 2, 1]}, [0.5, 0.4, 0.3, 0.2, 0.1, 0.6]
    ids = [f"q{n}" for n in range(40)]
    rows = alpha_rows(
        [judged(id, "k", ["p4" if hash_place(id, (1, 1)) else "p5"], svo=svo, scores=scores) for id in ids]
    )
    assert [row["alpha"] for row in rows] == list(ALPHAS) == [0.05, 0.10, 0.15, 0.20]
    assert [row["tune"] for row in rows] == [0, 0, 0, 1]
    assert [row["test"] for row in rows] == [1, 1, 1, 0]
    assert [row["chosen"] for row in rows] == [False, False, False, True]
    assert rows[0]["n_tune"] + rows[0]["n_test"] == 40
    assert 10 < rows[0]["n_tune"] < 30
    level = alpha_rows([judged(id, "k", ["p0"], svo=svo, scores=scores) for id in ids])
    assert [row["chosen"] for row in level] == [True, False, False, False]
    assert [row["chosen"] for row in alpha_rows([])] == [False] * 4


def test_report(five, tmp_path):
    studies = studies_of(five, 0.1)
    write_report(tmp_path, studies, ABOUT)
    names = ["systems", "tests", "flips", "proximity", "diversity", "alpha"]
    assert [one.name for one in studies] == names
    files = {*(f"{name}.csv" for name in names), "bridgerag.md", "bridgerag.json"}
    assert {path.name for path in tmp_path.iterdir()} == files
    found = json.loads((tmp_path / "bridgerag.json").read_text())
    assert found["flips"][0]["wins"] == 1
    assert found["proximity"][1]["rho"] is None
    rows = list(csv.DictReader((tmp_path / "tests.csv").open(newline="")))
    assert (rows[0]["p"], rows[0]["corpus_hash"]) == ("0.75", "c" * 64)
    text = (tmp_path / "bridgerag.md").read_text()
    assert text == as_document(studies, ABOUT).as_markdown()
    assert text.count("\n| --- |") == 6
    assert "| C: the bridge | 4 | 5 | " in text
    assert "| C: the bridge | A: SVO cosine alone | all | 4 | 0.0 | 1 | 1 | 2 | 0.750 | 0.750 |" in text


def test_nothing_to_analyse(tmp_path):
    write_report(tmp_path, studies_of([], 0.1), ABOUT)
    assert "nan" not in (tmp_path / "bridgerag.md").read_text()
