"""The joint programme of shifted interpolation one step at a time, in fifty digits."""

from itertools import pairwise

import mpmath

mp = mpmath.mp.clone()
mp.dps = 50


def near(found, exact, hair="1e-11"):
    return exact <= found <= exact * (1 + mp.mpf(hair))


def least_cost(steps):
    """The programme for rows (s, c, sigma): the greatest convex minorant of its staircase."""
    P, corners = mp.mpf(1), [(mp.mpf(0), mp.mpf(0))]
    for s, c, sigma in steps:
        P *= c
        x, y = corners[-1]
        corners.append((x + (sigma / P) ** 2, y + s / P))
    return mp.fsum((b[1] - a[1]) ** 2 / (b[0] - a[0]) for a, b in pairwise(minorant(corners)))


def stretch(log_shift, log_constant, log_noise, length):
    """One visit and `length - 1` steps without."""
    c, sigma = mp.exp(log_constant), mp.exp(log_noise)
    return [(mp.exp(log_shift) if i == 0 else mp.mpf(0), c, sigma) for i in range(length)]


def minorant(corners):
    """Return the corners of the greatest convex minorant, in order."""
    kept = corners[:1]
    for x, y in corners[1:]:
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if (y1 - y0) * (x - x1) < (y - y1) * (x1 - x0):
                break
            kept.pop()
        kept.append((x, y))
    return kept
