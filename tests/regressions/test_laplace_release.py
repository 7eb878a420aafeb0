"""What a release of Laplace noises costs, entry by entry rounded, and not what a density costs."""

import math

import numpy as np
import pytest
from scipy import stats

from wane.errors import InvalidDescription
from wane.mechanisms import IteratedLaplace
from wane.theorems.laplace.sums import LaplaceSumDP


@pytest.mark.parametrize("dimension", [1, 3, 400])
@pytest.mark.parametrize("scales", [(1.0, 0.5), (0.3, 0.3)])
def test_every_number_of_a_mechanism_speaks_of_its_release(
    monkeypatch: pytest.MonkeyPatch, dimension: int, scales: tuple[float, float]
) -> None:
    """In 400 entries pure_epsilon was 1.0 where entries that are rounded move apart by 1.07."""
    made = IteratedLaplace(1.0, *scales, dimension=dimension)
    unit = made.unit
    step = math.floor(1.0 / dimension / unit) * unit  # neighbours: each entry moves by as much
    start = np.full(dimension, 0.49 * unit)
    other = start + np.nextafter(min(1.0 / dimension, step + 0.02 * unit), 0.0)
    assert np.abs(other - start).sum() <= 1.0
    monkeypatch.setattr("wane.run.drawing.sum_of_noises", lambda mechanism: 0)
    apart = np.abs(made.release(other) - made.release(start)) / unit
    level = apart.sum() / round(max(scales) / unit)
    assert level <= made.pure_epsilon
    if (dimension, scales) == (400, (1.0, 0.5)):
        assert level > 1.07 * made.continuous_pure_epsilon
    # entries are independent, and a density is as near to whole multiples as a unit is small
    each = IteratedLaplace(float(apart[0]) * unit, *scales)
    for order in (1.5, 4.0, 30.0):
        assert dimension * each.continuous_renyi(order) * (1.0 - 1e-3) <= made.renyi(order)
    assert made.delta(made.pure_epsilon) == 0.0
    assert made.renyi(1e9) <= made.pure_epsilon


def test_densities_are_named_as_such() -> None:
    two = IteratedLaplace(1.0, 1.0, 2.0)
    assert two.continuous_renyi(4.0) < two.renyi(4.0) < two.pure_epsilon
    assert two.continuous_pure_epsilon < two.pure_epsilon < 1.001 * two.continuous_pure_epsilon
    three = IteratedLaplace(1.0, 1.0, 2.0, further_scales=(1.0,))
    with pytest.raises(InvalidDescription, match="further_scales must be empty"):
        three.continuous_renyi(2.0)


@pytest.mark.parametrize(("noises", "shift"), [(400, 1), (400, 1507), (300, 3234), (200, 2235)])
def test_tails_of_many_noises_underflow_on_the_private_side(noises: int, shift: int) -> None:
    """With 400 noises delta was 4e-30 at every epsilon: its ratios were zero divided by zero."""
    scale = 2
    made = LaplaceSumDP(shift, (scale,) * noises)
    wide = 4 * noises * scale + 2 * shift
    law = _law_of_many(noises, scale, wide)
    own = np.concatenate([law, np.zeros(shift)])
    other = np.concatenate([np.zeros(shift), law])
    for epsilon in (0.0, 0.05, 2.0, 40.0, 300.0):
        exact = float(np.maximum(own - np.exp(min(epsilon, 700.0)) * other, 0.0).sum())
        assert exact * (1.0 - 1e-9) - 1e-12 <= made.delta(epsilon)
        assert made.delta(epsilon) <= exact + 1e-6
    assert made.delta(1e4) == 0.0  # beyond the level of pure privacy
    assert 0.0 <= made.delta(720.0) <= 1.0  # e^720 is no double
    for order in (1.01, 2.0, 100.0):
        assert 0.0 < made.renyi(order) <= made.pure_epsilon


def _law_of_many(noises: int, scale: int, wide: int) -> np.ndarray:
    """The law of the sum of equal noises: what is added and what is taken away, independent."""
    up = stats.nbinom(noises, -math.expm1(-1.0 / scale)).pmf(np.arange(2 * wide + 1))
    return np.convolve(up, up[::-1])[wide : 3 * wide + 1]
