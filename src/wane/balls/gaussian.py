"""The Gaussian profile in balls: delta at epsilon, and the power of an attack."""

from __future__ import annotations

from flint import arb

from wane.balls.arithmetic import refined

FAR = 1_000_000
"""Beyond this many deviations a tail is enclosed by its elementary bounds."""


def normal_tail(x: arb) -> arb:
    """Return the probability that a standard normal variable is above `x`."""
    if x > FAR:
        return arb(0).union((-x * x / 2).exp() if x < 10 * FAR else arb(2) ** -(10**11))
    return (x / arb(2).sqrt()).erfc() / 2


def gaussian_delta(epsilon: arb, mu: arb) -> arb:
    """Return `Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)`, for an exact `mu`."""
    if mu.is_zero():
        return arb(0)
    if not mu.is_finite():
        return arb(1)
    return refined(lambda: _delta(epsilon, mu))


def _delta(epsilon: arb, mu: arb) -> arb:
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    first = normal_tail(near)
    if near > FAR:
        return first
    if not far > FAR:
        return first - epsilon.exp() * normal_tail(far)
    # e^eps phi(far) = phi(near), and the tail is between far/(1+far^2) and 1/far times phi(far)
    density = (-near * near / 2).exp() / (2 * arb.pi()).sqrt()
    return first - density * (far / (1 + far * far)).union(1 / far)


def gaussian_power(false_positive_rate: arb, mu: arb) -> arb:
    """Return `Phi(Phi^-1(rate) + mu)`: the best attack at this false positive rate."""
    if not mu.is_finite():
        return arb(1)

    def power() -> arb:
        quantile = arb(2).sqrt() * (2 * false_positive_rate).erfcinv()
        return normal_tail(quantile - mu)

    return refined(power) if 0 < false_positive_rate < 1 else arb(false_positive_rate)
