"""Benchmark of the graph edit distance: against networkx, on pairs too large for networkx, and on predictions.

networkx maps ``Q`` to ``Q`` as our metrics do.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any

import networkx as nx

from bgr.data.records import read_records
from bgr.errors import BgrError, DataError
from bgr.graph.evidence_graph import ROOT, Edge, EvidenceGraph
from bgr.metrics.ged import GedResult, graph_edit_distance
from bgr.metrics.gm_gs import graph_structure_match
from eval.bench.measure import BenchResult, table, time_each
from eval.bench.options import GedBenchOptions

Pair = tuple[EvidenceGraph, EvidenceGraph]

LARGE = (12, 18, 24)
"""Sizes of the large pairs in facts; the paper's largest graph has 24."""

PASSES = 3
"""Number of runs of each pair, of which the fastest counts."""

LONG = 0.05
"""Pairs that take networkx longer than these seconds run only once."""

COMPARED_FACTS = 10
"""Pairs of an evaluation with more facts on both sides together are not compared with networkx."""

SIZES = {1: 215, 2: 204, 3: 270, 4: 157, 5: 56, 6: 62, 7: 20}
"""Number of the demo's 1,000 test questions with each number of gold facts, without the 16 with more than seven."""

SPARE = 4
"""Additional fact numbers, so that two graphs share some facts but not all."""

TWO_PARENTS = 0.15
"""Probability that a fact has two predecessors."""


def bench_ged(options: GedBenchOptions) -> BenchResult:
    """Run the benchmark, whose parts are `against_networkx`, `large_scores` and `prediction_scores` (empty without
    predictions). The error names the first distance that differs from networkx's.

    Raises:
        DataError: the predictions cannot be read.
    """
    systems = read_predictions(options.predictions) if options.predictions else {}
    drawn = everyday_pairs(options.pairs, random.Random(options.seed))
    result: dict[str, Any] = {
        "seed": options.seed,
        "time_limit": options.seconds,
        "against": [against_networkx(drawn, labeled) for labeled in (False, True) if drawn],
        "large": [
            large_scores(facts, related, labeled, options)
            for facts, related, labeled in product(LARGE, (True, False), (False, True))
            if options.large
        ],
        "scoring": [prediction_scores(name, pairs, options.seconds) for name, pairs in systems.items()],
    }
    differing = [text for part in (*result["against"], *result["scoring"]) for text in part["differing"]]
    error = BgrError(f"{len(differing)} distances differ from networkx's; {differing[0]}") if differing else None
    return BenchResult(_text(result), result, error)


def against_networkx(pairs: Sequence[Pair], labeled: bool) -> dict[str, Any]:
    """Compare our distance with networkx's on the same pairs, made untimed. Times are sums of the wall-clock seconds of
    the fastest runs; `median_ratio` is the median over pairs of networkx's time divided by ours; `differing` describes
    the pairs whose distances differ."""
    name = "labeled" if labeled else "unlabeled"
    theirs, networkx_each = _networkx(pairs, labeled, name)
    ours, ours_each = _ours(pairs, lambda pair: graph_edit_distance(*pair, labeled=labeled, time_limit=None))
    return {
        "name": name,
        "pairs": len(pairs),
        "differing": _differing(pairs, theirs, ours, name),
        "networkx_seconds": sum(networkx_each),
        "ours_seconds": sum(ours_each),
        "median_ratio": median(a / b for a, b in zip(networkx_each, ours_each, strict=True)),
        "ratio": sum(networkx_each) / sum(ours_each),
    }


def large_scores(facts: int, related: bool, labeled: bool, options: GedBenchOptions) -> dict[str, Any]:
    """Time random pairs that are too large for networkx, in seconds, with a time limit. Gaps are ``upper - lower`` in
    edits over the pairs that are not proven exact; `mean_upper` is over all pairs."""
    name = "with mistakes" if related else "unrelated"
    pairs = large_pairs(facts, options.large, random.Random(options.seed), related=related)
    results, seconds = time_each(
        [(lambda pair: graph_edit_distance(*pair, labeled=labeled, time_limit=options.seconds), pairs)],
        f"{facts} facts, {name}",
    )
    gaps = [found.upper - found.lower for found in results if not found.exact]
    return {
        "name": name,
        "facts": facts,
        "labeled": labeled,
        "pairs": len(pairs),
        "exact": len(pairs) - len(gaps),
        "median_seconds": median(seconds),
        "max_seconds": max(seconds),
        "mean_gap": fmean(gaps or [0.0]),
        "max_gap": max(gaps, default=0),
        "mean_upper": fmean(found.upper for found in results),
    }


def prediction_scores(system: str, pairs: Sequence[Pair], time_limit: float) -> dict[str, Any]:
    """Time the scoring of a system's predictions, in mean microseconds per pair. networkx runs only on the `compared`
    pairs that are small enough; `ours_compared_us` is our time on these. Both are 0 if there are none."""
    plain, plain_each = _ours(pairs, lambda pair: graph_edit_distance(*pair, time_limit=time_limit))
    labeled, labeled_each = _ours(pairs, lambda pair: graph_edit_distance(*pair, labeled=True, time_limit=time_limit))
    _, gs_each = _ours(pairs, lambda pair: graph_structure_match(*pair))
    small = [i for i, (a, b) in enumerate(pairs) if len(a.nodes) + len(b.nodes) <= COMPARED_FACTS]
    compared = [pairs[i] for i in small]
    theirs, networkx_each = _networkx(compared, False, system)
    return {
        "system": system,
        "pairs": len(pairs),
        "ged_us": fmean(plain_each) * 1e6,
        "ged_labelled_us": fmean(labeled_each) * 1e6,
        "gs_us": fmean(gs_each) * 1e6,
        "not_exact": sum(not found.exact for found in (*plain, *labeled)),
        "compared": len(small),
        "networkx_us": fmean(networkx_each or [0.0]) * 1e6,
        "ours_compared_us": fmean([plain_each[i] for i in small] or [0.0]) * 1e6,
        "differing": _differing(compared, theirs, [plain[i] for i in small], system),
    }


def read_predictions(path: str | Path) -> dict[str, list[Pair]]:
    """The pairs (predicted, gold) of each system in a ``predictions.jsonl``.

    Raises:
        DataError: it is not such a file.
    """
    systems: dict[str, list[Pair]] = {}
    for where, record in read_records(Path(path)):
        try:
            gold = EvidenceGraph((a, b) for a, b in record["edges"])
            for name, prediction in record["predictions"].items():
                predicted = EvidenceGraph((a, b) for a, b, *_ in prediction["edges"])
                systems.setdefault(name, []).append((predicted, gold))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{where}: not a line of predictions.jsonl of `bgr evaluate`") from error
    return systems


def networkx_graph(graph: EvidenceGraph) -> nx.DiGraph:
    """The graph with the number of each node as its attribute ``fact``."""
    made = graph.to_networkx()
    nx.set_node_attributes(made, {node: node for node in made}, "fact")
    return made


def networkx_distance(first: nx.DiGraph, second: nx.DiGraph, *, labeled: bool) -> int:
    """The exact distance between two results of `networkx_graph`; its time is factorial in the number of facts."""

    def same_fact(a: dict[str, int], b: dict[str, int]) -> bool:
        return a["fact"] == b["fact"]

    match = same_fact if labeled else None
    return int(nx.graph_edit_distance(first, second, node_match=match, roots=(ROOT, ROOT), timeout=None))


def _differing(pairs: Sequence[Pair], theirs: Sequence[int], ours: Sequence[GedResult], name: str) -> list[str]:
    return [
        f"{name}, {a.to_json()} and {b.to_json()}: networkx {distance}, ours {found.lower} to {found.upper}"
        for (a, b), distance, found in zip(pairs, theirs, ours, strict=True)
        if not found.lower == found.upper == distance
    ]


def _ours(pairs: Sequence[Pair], score: Callable[[Pair], Any]) -> tuple[list[Any], list[float]]:
    """Results and fastest times. Each pass uses new graphs, because a graph caches its properties."""
    passes = ((score, [(EvidenceGraph(a.edges), EvidenceGraph(b.edges)) for a, b in pairs]) for _ in range(PASSES))
    return time_each(passes, "ours")


def _networkx(pairs: Sequence[Pair], labeled: bool, name: str) -> tuple[list[int], list[float]]:
    """Results and fastest times; slow pairs run once."""
    made = [(networkx_graph(a), networkx_graph(b)) for a, b in pairs]

    def score(pair: tuple[nx.DiGraph, nx.DiGraph]) -> int:
        return networkx_distance(*pair, labeled=labeled)

    results, fastest = time_each([(score, made)], f"networkx, {name}")
    short = [i for i, seconds in enumerate(fastest) if seconds < LONG]
    _, again = time_each([(score, [made[i] for i in short])] * (PASSES - 1), f"networkx again, {name}")
    for i, seconds in zip(short, again, strict=True):
        fastest[i] = min(fastest[i], seconds)
    return results, fastest


def _text(result: Mapping[str, Any]) -> str:
    """A table for each part that is not empty."""
    against, large = [], []
    for part in result["against"]:
        theirs, ours = (part[f"{side}_seconds"] / part["pairs"] * 1e6 for side in ("networkx", "ours"))
        against.append({**part, "equal": part["pairs"] - len(part["differing"]), "theirs": theirs, "ours": ours})
    for part in result["large"]:
        large.append({**part, "name": f"{part['name']}, {'labeled' if part['labeled'] else 'unlabeled'}"})
    tables = (
        (
            "against networkx|pairs|equal|networkx us|ours us|ratio|median ratio",
            "{name}|{pairs}|{equal}|{theirs:.1f}|{ours:.1f}|{ratio:.0f}|{median_ratio:.0f}",
            against,
        ),
        (
            f"large, {result['time_limit']:g} s each|facts|pairs|exact|median s|max s|GED|gap|max gap",
            "{name}|{facts}|{pairs}|{exact}|{median_seconds:.4f}|{max_seconds:.3f}|{mean_upper:.1f}|{mean_gap:.1f}"
            "|{max_gap}",
            large,
        ),
        (
            "predictions, us a pair|pairs|GED|GED-l|GS|not exact|compared|networkx|ours",
            "{system}|{pairs}|{ged_us:.1f}|{ged_labelled_us:.1f}|{gs_us:.1f}|{not_exact}|{compared}|{networkx_us:.0f}"
            "|{ours_compared_us:.1f}",
            result["scoring"],
        ),
    )
    return "\n\n".join(
        table([header.split("|"), *([cell.format(**part) for cell in cells.split("|")] for part in parts)])
        for header, cells, parts in tables
        if parts
    )


def random_graph(rng: random.Random, facts: int, pool: int) -> EvidenceGraph:
    """A random rooted DAG over `facts` of the fact numbers below `pool`."""
    nodes = rng.sample(range(pool), facts)
    edges: list[Edge] = []
    for i, node in enumerate(nodes):
        parents = min(1 + (rng.random() < TWO_PARENTS), i + 1)
        edges += [(parent, node) for parent in rng.sample([ROOT, *nodes[:i]], parents)]
    return EvidenceGraph(edges)


def with_mistakes(rng: random.Random, gold: EvidenceGraph, mistakes: int, pool: int) -> EvidenceGraph:
    """The graph after a number of mistakes: a fact is moved, left out, added or replaced, or an edge is added."""
    edges, order = set(gold.edges), gold.order()
    for _ in range(mistakes):
        free = sorted(set(range(pool)) - set(order))
        kind = rng.choice(("hang", "drop", "add", "replace", "edge"))
        if kind == "add" and free:
            fact = rng.choice(free)
            edges.add((rng.choice([ROOT, *order]), fact))
            order.append(fact)
        elif kind == "replace" and free and order:
            old, new = rng.choice(order), rng.choice(free)
            edges = {(new if a == old else a, new if b == old else b) for a, b in edges}
            order[order.index(old)] = new
        elif kind == "drop" and len(order) > 1:
            leaf = rng.choice([n for n in order if all(a != n for a, _ in edges)])
            edges = {(a, b) for a, b in edges if b != leaf}
            order.remove(leaf)
        elif kind in ("hang", "edge") and order:
            i = rng.randrange(len(order))
            if kind == "hang":
                edges.remove(rng.choice(sorted(edge for edge in edges if edge[1] == order[i])))
            edges.add((rng.choice([ROOT, *order[:i]]), order[i]))
    return EvidenceGraph(edges)


def everyday_pairs(count: int, rng: random.Random) -> list[Pair]:
    """Pairs with the sizes of real questions; every other one is a gold graph and the same graph with mistakes."""
    pairs = []
    for number in range(count):
        first, second = rng.choices(list(SIZES), weights=list(SIZES.values()), k=2)
        pool = max(first, second) + SPARE
        gold = random_graph(rng, first, pool)
        if number % 2:
            pairs.append((with_mistakes(rng, gold, rng.randint(0, 3), pool), gold))
        else:
            pairs.append((random_graph(rng, second, pool), gold))
    return pairs


def large_pairs(facts: int, count: int, rng: random.Random, *, related: bool) -> list[Pair]:
    """Pairs of large graphs: a gold graph and the same with up to six mistakes, or two unrelated graphs."""
    pool = facts + SPARE
    pairs = []
    for _ in range(count):
        gold = random_graph(rng, facts, pool)
        other = with_mistakes(rng, gold, rng.randint(1, 6), pool) if related else random_graph(rng, facts, pool)
        pairs.append((other, gold))
    return pairs
