"""First stage of the graph edit distance: an exact search without setup costs, which solves all but large pairs.

The search tests whether a mapping gains a target value. The target starts at the bound given by the degrees and is
lowered until a mapping reaches it. Facts of the smaller graph are mapped parents first: when a fact is mapped, each
edge into it and into its image is known to be shared or lost. Two slacks hold the loss still allowed on either side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bgr.metrics.ged_bounds import Side, twins

FEW = 4
"""Up to this number of nodes, searching is cheaper than comparing degrees and finding interchangeable nodes."""


class Quick(NamedTuple):
    """No mapping gains more than `bound`; with `reached`, one gains exactly that."""

    bound: int
    reached: bool


class _EnoughError(Exception):
    """The search has reached its limit of partial mappings."""


def quick_gain(
    small: Side, large: Side, *, labeled: bool, visits: int, highest: int | None = None, known: int | None = None
) -> Quick:
    """Lower the bound on ``2 * common edges - replaced facts``, from the proven bound `highest` if there is one, until
    a mapping reaches it. All facts of `small` are mapped, and `large` has at least as many. At most `visits` partial
    mappings are visited; `known` is the gain of a known mapping, if any."""
    count, images = len(small.facts), len(large.facts)
    if count == 1:
        return Quick(0, True)
    partner, lost = _partners(small, large) if labeled else ([0] * count, 0)
    bound = 2 * _edges_in_common(small, large) - lost if highest is None else highest
    plan = _plan(small, large, partner, visits)
    spare_small, spare_large = 2 * small.edges - lost, 2 * large.edges - lost
    if images > count:  # edges into images that remain free are not shared
        spare_large -= 2 * sum(sorted(map(len, large.parents))[1 : images - count + 1])
    free, step = (1 << images) - 2, 1 if labeled else 2
    try:
        while bound != known and not _reaches(plan, 1, free, spare_small - bound, spare_large - bound):
            bound -= step
    except _EnoughError:
        return Quick(bound, False)
    return Quick(bound, True)


def _partners(small: Side, large: Side) -> tuple[list[int], int]:
    """The same fact in the larger graph as a bit, for each node (0 if there is none, and for the root), and the number
    of facts without one."""
    bits = {fact: 1 << node for node, fact in enumerate(large.facts)}
    partner = [bits.get(fact, 0) for fact in small.facts]
    partner[0] = 0
    return partner, partner.count(0) - 1


def _edges_in_common(small: Side, large: Side) -> int:
    """Upper bound on the common edges from the degrees, with root mapped to root."""
    if len(small.facts) <= FEW:
        return min(small.edges, large.edges)
    small_out, large_out = ([after.bit_count() for after in side.after] for side in (small, large))
    roots = min(small_out[0], large_out[0])
    by_parents = _paired(map(len, small.parents), map(len, large.parents))
    return min(by_parents, roots + _paired(small_out[1:], large_out[1:]))


def _paired(first: Iterable[int], second: Iterable[int]) -> int:
    return sum(map(min, sorted(first, reverse=True), sorted(second, reverse=True)))


class _Plan(NamedTuple):
    """Lookup tables of the search, by node of the smaller graph or by image.

    Args:
        parents, children: those of each node, as numbers and as a bit set.
        before, after: bit sets of each image's predecessors and successors.
        partner, wanted: the image with the same fact as the node, and the partners of all later nodes, as bits.
        row_twin: an earlier interchangeable node, or 0.
        image_twin: an earlier interchangeable image as a bit, or 0.
        image, bit: image of each mapped node, as a number and as a bit; written by the search.
        left: a list with one number, the partial mappings that may still be visited.
    """

    parents: list[list[int]]
    children: list[int]
    before: list[int]
    after: list[int]
    partner: list[int]
    wanted: list[int]
    row_twin: list[int]
    image_twin: list[int]
    image: list[int]
    bit: list[int]
    left: list[int]


def _plan(small: Side, large: Side, partner: list[int], visits: int) -> _Plan:
    count, images = len(partner), len(large.facts)
    wanted = row_twin = [0] * count
    image_twin = [0] * images
    named = sum(partner)
    if named:
        wanted = [0] * count
        for node in range(count - 1, 1, -1):
            wanted[node - 1] = wanted[node] | partner[node]
    if count > FEW:
        row_twin = twins(zip(small.before, small.after, partner, strict=True))
        keys = ((large.before[k], large.after[k], named & 1 << k) for k in range(images))
        image_twin = [1 << twin if twin else 0 for twin in twins(keys)]
    lists = (small.parents, small.after, large.before, large.after, partner, wanted, row_twin, image_twin)
    return _Plan(*lists, [0] * count, [1] * count, [visits])


def _reaches(plan: _Plan, node: int, free: int, slack_small: int, slack_large: int) -> bool:
    """Return true if `node` and all later nodes can be mapped to `free` images within the slacks."""
    # one long function over a plain tuple: it runs thousands of times, and calls and attributes would dominate its cost
    parents, children, before, after, partner, wanted, row_twin, image_twin, image, bit, left = plan
    left[0] -= 1
    if left[0] < 0:
        raise _EnoughError
    shared, near = 0, 0  # the images of the parents, and their successors
    for parent in parents[node]:
        shared |= bit[parent]
        near |= after[image[parent]]
    own_edges = 2 * len(parents[node])
    near &= free
    far = free & ~near if slack_small >= own_edges else 0
    if row_twin[node]:  # interchangeable nodes get images in rising order
        rising = -bit[row_twin[node]]
        near, far = near & rising, far & rising
    own, needed, out = partner[node] & free, wanted[node], 2 * children[node].bit_count()
    for candidates in (near, far):
        while candidates:
            new = candidates & -candidates
            candidates ^= new
            k = new.bit_length() - 1
            if image_twin[k] & free:  # of interchangeable images, try only the lowest
                continue
            gain = 2 * (shared & before[k]).bit_count()
            if own and own != new:
                gain -= 1
            if needed & new:  # the later node that needs this image pays here
                gain -= 1
            rest_small = slack_small - own_edges + gain
            rest_large = slack_large - 2 * before[k].bit_count() + gain
            if rest_small < 0 or rest_large < 0:
                continue
            if node + 1 == len(parents):
                return True
            if rest_small < out and rest_small < out - 2 * (after[k] & free).bit_count():
                continue
            image[node], bit[node] = k, new
            if _reaches(plan, node + 1, free ^ new, rest_small, rest_large):
                return True
    return False
