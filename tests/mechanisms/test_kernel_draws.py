"""What is drawn of a kernel has the very probabilities that were certified."""

from fractions import Fraction

import numpy as np
import pytest

import wane
from wane.errors import InvalidDescription
from wane.mechanisms import BrownianMechanism, KernelRelease, LinearDiffusion
from wane.run import drawing

TINY = [[1.0 - 1e-15, 1e-15], [1.0, 1e-16]]


class Counting:
    """A generator whose bytes are those of given whole numbers, one after the other."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def bytes(self, size):
        return self.numbers.pop(0).to_bytes(size, "big")


def released(matrix, power=1):
    before = wane.StatedRelease(
        name="a cell", source="a test", epsilon=50.0, delta=0.0, adjacency="replace-one"
    )
    return KernelRelease(before=before, matrix=matrix, power=power)


@pytest.mark.parametrize("row", [TINY[0], TINY[1], [0.1, 0.0, 0.9], [5e-324, 1.0], [0.3, 0.7, 0.0]])
def test_probabilities_are_those_of_the_row_divided_by_its_sum(row):
    sums = drawing.cumulated(np.array(row))
    parts = [Fraction(b - a, sums[-1]) for a, b in zip([0, *sums[:-1]], sums, strict=True)]
    whole = sum(map(Fraction, row))
    assert parts == [Fraction(value) / whole for value in row]


@pytest.mark.parametrize("end", [1, 2, 3, 7, 8, 9, 200, 255, 256, 257])
def test_numbers_below_an_end_are_equally_likely(end):
    bits = (end - 1).bit_length()
    size = -(-bits // 8)
    spare = 8 * size - bits
    found = []
    for number in range(1 << bits):
        rng = Counting(number << spare, 0)
        found.append(drawing.whole_below(end, rng))
        assert len(rng.numbers) == (1 if number < end else 0)
    again = (1 << bits) - end  # numbers that were thrown away, and drawn again as 0
    assert np.bincount(found).tolist() == [1 + again, *[1] * (end - 1)]


def test_a_state_that_is_rare_in_one_row_is_not_lost_in_the_other(monkeypatch):
    """Sums of doubles lost it: epsilon 2.3 was claimed without a delta, and no epsilon was true."""
    release = released(TINY)
    assert wane.certify(release).epsilon(0.0) < 2.31
    for state in (0, 1):
        sums = drawing.cumulated(release.matrix[state])
        size = -(-(sums[-1] - 1).bit_length() // 8)
        spare = 8 * size - (sums[-1] - 1).bit_length()
        for number, expected in ((0, 0), (sums[0] - 1, 0), (sums[0], 1), (sums[-1] - 1, 1)):
            monkeypatch.setattr(
                drawing, "noise_generator", lambda seed, at=number << spare: Counting(at)
            )
            assert wane.release(release, state).value == expected


def test_powers_are_drawn_step_by_step():
    release = released([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]], power=3)
    law = np.linalg.matrix_power(release.matrix, 3)[1]
    drawn = [wane.release(release, 1, seed_voids_privacy=seed).value for seed in range(4000)]
    assert np.bincount(drawn, minlength=3) / 4000 == pytest.approx(law, abs=0.035)


@pytest.mark.parametrize("state", [71, -71, 0.71, "cell 71", None, [71]])
def test_a_state_that_is_no_row_is_not_quoted(state):
    """It was: "statistic must be at most 2, got 71", and the state is what the kernel hides."""
    with pytest.raises(InvalidDescription, match="row's number, from 0 to 1") as refusal:
        wane.release(released(TINY), state)
    assert "71" not in str(refusal.value) and refusal.value.__context__ is None


@pytest.mark.parametrize(
    "mechanism",
    [
        BrownianMechanism(sensitivity=1.0, time=1.0, adjacency="replace-one"),
        LinearDiffusion(reversion=[0.1], covariance=[1.0], sensitivity=1.0, adjacency="zero-out"),
    ],
)
def test_a_statistic_too_large_for_its_noise_does_not_show_its_size(mechanism):
    """The least noise was told, which is that of the statistic's power of two."""
    told = set()
    for statistic in (1e15, 1e20, 1e200):
        with pytest.raises(InvalidDescription, match="last place of the statistic") as refusal:
            wane.release(mechanism, [statistic])
        told.add(str(refusal.value))
    assert len(told) == 1
