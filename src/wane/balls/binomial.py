"""Binomial probabilities of the number of other records in a Poisson batch, in balls."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from wane.balls.arithmetic import ball, top

SMALL = 1e-40
"""Terms of a sum are added one by one until they are smaller than this part of it."""


def mass(trials: int, rate: Fraction, count: int) -> arb:
    """Return the probability of exactly this many."""
    choose = (ball(trials) + 1).lgamma() - (ball(count) + 1).lgamma()
    choose -= (ball(trials - count) + 1).lgamma()
    inside = count * ball(rate).log() if count else arb(0)
    return (choose + inside + (trials - count) * ball(1 - rate).log()).exp()


def tail(trials: int, rate: Fraction, most: int) -> arb:
    """Return an upper bound on the probability of more than `most`, nearly exact above the mean."""
    if most >= trials:
        return arb(0)
    if most < trials * rate:
        return arb(1)
    term = mass(trials, rate, most + 1)
    total, count, odds = arb(0), most + 1, ball(rate / (1 - rate))
    while True:
        total += term
        if count == trials:
            return top(total)
        ratio = odds * (trials - count) / (count + 1)
        term = term * ratio
        count += 1
        if term < total * SMALL:
            # ratios fall, so what is left is less than a geometric series
            return top(total + term / (1 - ratio))


def cap(trials: int, rate: Fraction, probability: float) -> tuple[int, arb]:
    """Return the smallest size exceeded with at most this probability, and that probability."""
    low, high = -1, trials
    limit = ball(probability)
    while high - low > 1:
        middle = (low + high) // 2
        if tail(trials, rate, middle) <= limit:
            high = middle
        else:
            low = middle
    return high, tail(trials, rate, high)


def bins(trials: int, rate: Fraction, most: int) -> list[tuple[int, int, arb]]:
    """Return ranges of sizes, at most about so many, and bounds on their probabilities."""
    mean = float(trials * rate)
    spread = float(mean * (1.0 - float(rate))) ** 0.5
    first = max(0, int(mean - 12.0 * spread) - 4)
    last = min(trials, int(mean + 14.0 * spread) + 8)
    width = max(1, (last - first + 1) // most)
    ranges: list[tuple[int, int, arb]] = []
    term, count, odds = mass(trials, rate, first), first, ball(rate / (1 - rate))
    covered = arb(0)
    while count <= last:
        end, total = min(count + width - 1, last), arb(0)
        low = count
        while count <= end:
            total += term
            term = term * odds * (trials - count) / (count + 1)
            count += 1
        ranges.append((low, end, total))
        covered += total
    rest = top(abs(1 - covered))
    if first:
        ranges.append((0, first - 1, rest))
    if last < trials:
        ranges.append((last + 1, trials, rest))
    return ranges
