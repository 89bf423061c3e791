"""All numbers of NaiveGE, SyncGE and GEAR; the defaults are the paper's (arXiv 2412.18431, appendix B)."""

from __future__ import annotations

from dataclasses import dataclass, fields


def _check_positive(settings: object) -> None:
    for field in fields(settings):  # type: ignore[arg-type]
        value = getattr(settings, field.name)
        if isinstance(value, int | float) and not isinstance(value, bool) and not value > 0:
            raise ValueError(f"{field.name} is {value}; it must be above 0")


@dataclass(frozen=True)
class BeamSettings:
    """Settings of the diverse triple beam search (Algorithm 1).

    Args:
        width: sequences kept for a question, b.
        length: triples in a sequence, l.
        neighbours: neighbors of a sequence's last triple that are tried, at most.
        gamma: γ of the diversity weight; ``None`` for twice the width.
        diverse: whether extensions of one beam are weighted by their rank.
        read: neighbors whose vectors are read to find those, at most; a common entity may have a hundred thousand
            and more, and then the first ones by triple number count.

    Raises:
        ValueError: a number below 1.
    """

    width: int = 10
    length: int = 2
    neighbours: int = 100
    gamma: float | None = None
    diverse: bool = True
    read: int = 10_000

    def __post_init__(self) -> None:
        _check_positive(self)


PAPER_BEAM = BeamSettings()


@dataclass(frozen=True)
class GearSettings:
    """Settings of NaiveGE, SyncGE and GEAR.

    Args:
        beam: the search over triples.
        passages: of the base list in a single step; the paper takes the rank at which recall is measured.
        round_passages: of the base list in each round of GEAR, and of the list a gist triple is linked to.
        gist_passages: of a round's list that are read into the gist memory. 30 is all of it at the other defaults: 10
            from the base list, 2 × 10 from the beams.
        rounds: of GEAR, at most (4 for MuSiQue, 2 for HotpotQA and 2WikiMultihopQA).
        rrf_k: constant of the reciprocal rank fusion. The paper names none; 60 is that of Cormack et al. (2009).
        facts: that one reply may hold; keeps a model that repeats itself within `max_tokens`.
        max_tokens: longest reply of any step.

    Raises:
        ValueError: a number below 1.
    """

    beam: BeamSettings = PAPER_BEAM
    passages: int = 15
    round_passages: int = 10
    gist_passages: int = 30
    rounds: int = 4
    rrf_k: int = 60
    facts: int = 20
    max_tokens: int = 768

    def __post_init__(self) -> None:
        _check_positive(self)


PAPER = GearSettings()
