"""The joint programme of shifted interpolation, in balls and in plain coordinates.

Divide all distances by the running product of Lipschitz constants.  What one record adds is then a
staircase whose height jumps by `rise` where the record is used and whose width grows by `run`, the
noise variance.  Every convex path from its foot to its end that stays below it is a way to hide the
record; a straight piece costs rise^2 / run, and the lower convex hull costs least.

A corner of the staircase is cut off only where it is certain to lie above the path.  So the path is
certain to stay below, and the cost is an upper bound on mu^2 even where comparisons are undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from flint import arb


@dataclass(frozen=True)
class Edges:
    """Pieces of the path: piece k runs `run * ratio^(2k)` and rises `rise * ratio^k`.

    Their slopes grow, that is, ratio < 1, or there is one piece only.
    """

    run: arb
    rise: arb
    ratio: arb
    count: int = 1

    def slope_above(self, place: int, other: Edges) -> bool:
        """Return whether piece `place` is certainly steeper than the first piece of `other`."""
        mine, theirs = self.rise * other.run, other.rise * self.run * self.ratio**place
        return bool(mine > theirs)

    def joined(self, first: int, last: int) -> Edges:
        """Return pieces `first` to `last - 1` as one straight piece."""
        n, g = last - first, self.ratio
        return Edges(
            self.run * g ** (2 * first) * power_sum(g * g, n),
            self.rise * g**first * power_sum(g, n),
            arb(1),
        )

    def part(self, first: int, last: int) -> Edges:
        """Return pieces `first` to `last - 1`."""
        g = self.ratio**first
        return Edges(self.run * g * g, self.rise * g, self.ratio, last - first)

    def then(self, other: Edges) -> Edges:
        """Return two straight pieces as one."""
        return Edges(self.run + other.run, self.rise + other.rise, arb(1))

    @property
    def cost(self) -> arb:
        """The sum of rise^2 / run, which is the same for each piece."""
        if self.rise.is_zero():
            return arb(0)
        return self.count * self.rise * self.rise / self.run


def power_sum(ratio: arb, count: int) -> arb:
    """Return `1 + ratio + ... + ratio^(count-1)`."""
    if count == 1:
        return arb(1)
    if ratio == 1:
        return arb(count)
    return (1 - ratio**count) / (1 - ratio)


class HullPath:
    """The lower hull of the staircase so far."""

    def __init__(self) -> None:
        self._pieces: list[Edges] = []

    def add(self, edges: Edges) -> None:
        """Append the next pieces, cutting off corners that are certain to lie above."""
        if edges.count > 1 and edges.ratio >= 1:
            edges = edges.joined(0, edges.count)  # each of these corners lies above, or on, it
        if not self._too_steep(edges):
            self._pieces.append(edges)
            return
        new, rest = edges.part(0, 1), edges.part(1, edges.count)
        while True:
            if self._too_steep(new):
                new = self._absorb_left(new)
            elif rest.count and new.slope_above(0, rest):
                new, rest = _absorb_right(new, rest)
            else:
                break
        self._pieces.append(replace(new, ratio=arb(1)))
        if rest.count:
            self._pieces.append(rest)

    @property
    def cost(self) -> arb:
        """The cost of the path: an upper bound on mu^2."""
        return sum((piece.cost for piece in self._pieces), arb(0))

    def _too_steep(self, new: Edges) -> bool:
        if not self._pieces:
            return False
        last = self._pieces[-1]
        return last.slope_above(last.count - 1, new)

    def _absorb_left(self, new: Edges) -> Edges:
        last = self._pieces.pop()
        n = last.count

        def still(m: int) -> bool:
            joined = last.joined(n - m + 1, n).then(new) if m > 1 else new
            return last.slope_above(n - m, joined)

        absorbed = _most(n, still)
        if absorbed < n:
            self._pieces.append(last.part(0, n - absorbed))
        return last.joined(n - absorbed, n).then(new)


def _absorb_right(new: Edges, rest: Edges) -> tuple[Edges, Edges]:
    def still(m: int) -> bool:
        joined = new.then(rest.joined(0, m - 1)) if m > 1 else new
        return joined.slope_above(0, rest.part(m - 1, m))

    absorbed = _most(rest.count, still)
    return new.then(rest.joined(0, absorbed)), rest.part(absorbed, rest.count)


def _most(count: int, holds: Callable[[int], bool]) -> int:
    """Return the largest m for which `holds(m)`; it holds for 1, and for all up to some m.

    That it holds for m proves it for all before: along growing slopes, a piece that is steeper than
    the join of all that were cut off before it leaves no doubt about those.
    """
    low, high = 1, count
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
