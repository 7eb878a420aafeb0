"""Certificates of several Laplace noises against laws that are summed number by number."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import wane
from wane.balls.arithmetic import ball
from wane.balls.lemmas.positions import TooLarge
from wane.certificates import certificate_document
from wane.cli import main
from wane.describe.fields import description_from_fields, description_to_fields
from wane.describe.laplace import LaplaceRelease
from wane.documents import check_document
from wane.errors import InvalidDescription
from wane.mechanisms import IteratedLaplace
from wane.theorems.laplace.sums import LaplaceSumDP
from wane.theorems.laplace.verifier import LaplaceSum
from wane.verify.judge import Outcome, verifiers, verify

THREE = IteratedLaplace(1.0, 1.0, 2.0, further_scales=(0.5,), dimension=3, adjacency="zero-out")


def summed(scales: tuple[int, ...], reach: int) -> np.ndarray:
    """The law of the sum, every noise added number by number."""
    numbers = np.arange(-reach, reach + 1)
    law = np.ones(1)
    for scale in scales:
        one = np.exp(-np.abs(numbers) / scale)
        law = np.convolve(law, one / one.sum())
    middle = law.size // 2
    return law[middle - reach : middle + reach + 1]


def gap(law: np.ndarray, shift: int, epsilon: float) -> float:
    """The hockey-stick divergence of the law from itself, shifted."""
    return float(np.maximum(law[shift:] - math.exp(epsilon) * law[:-shift], 0.0).sum())


@pytest.mark.parametrize(
    ("shift", "scales"),
    [
        (3, (4,)),
        (4, (4,)),
        (7, (4, 4)),
        (5, (9, 4)),
        (8, (3, 7, 3)),
        (1, (5, 5, 5, 5)),
        (40, (3, 2)),
        (6, (1, 2, 5, 6)),
    ],
)
def test_the_verifier_proves_the_sum_over_all_numbers(shift: int, scales: tuple[int, ...]) -> None:
    law, bound = summed(scales, 900), LaplaceSum(shift, scales)
    level = shift / max(scales)
    # for one noise of scale 4 the best threshold is not unique at a quarter and at a half
    for epsilon in (0.0, 0.1, 0.25, 0.5, 0.9 * level):
        proven = float(bound.delta(ball(epsilon)))
        exact = gap(law, shift, epsilon)
        assert proven == pytest.approx(exact, rel=1e-9, abs=1e-13)
        assert proven <= LaplaceSumDP(shift, scales).delta(epsilon)
        assert float(bound.for_group(3).delta(ball(epsilon))) == pytest.approx(
            gap(law, 3 * shift, epsilon), rel=1e-9, abs=1e-13
        )
    near = level * (1.0 - 1e-9)
    assert 0.0 <= float(bound.delta(ball(near))) <= LaplaceSumDP(shift, scales).delta(near)
    assert bound.delta(ball(math.nextafter(level, math.inf))) == 0


def test_the_law_in_balls_is_that_of_the_sum() -> None:
    from wane.theorems.laplace import verifier

    for scales in ((3,), (3, 3), (2, 7), (5, 5, 2, 5)):
        law, exact = verifier._law(scales, 320), summed(scales, 400)
        for k in (-5, 0, 1, 17):
            assert float(law.mass(k)) == pytest.approx(exact[400 + k], rel=1e-10)
            assert float(law.from_on(k)) == pytest.approx(exact[400 + k :].sum(), rel=1e-10)


def test_the_theorem_and_its_verifier_speak_of_what_is_released() -> None:
    assert THREE.unit == 2.0**-11 and THREE.scales_in_units == (2048, 4096, 1024)
    assert THREE.shift == 2048 + 3  # each of three numbers is rounded
    certificate = wane.certify(THREE)
    assert certificate.delta(0.3) == THREE.delta(0.3) == THREE.guarantee.delta(0.3)
    assert certificate.epsilon(1e-5) < THREE.pure_epsilon
    bound = verifiers()["laplace_sum"](THREE)
    assert (bound.shift, bound.scales) == (THREE.shift, THREE.scales_in_units)
    for epsilon in (0.0, 0.2, 0.45):
        proven = float(bound.delta(ball(epsilon)))
        assert proven <= THREE.delta(epsilon) <= proven * (1.0 + 1e-5)


def test_a_document_is_verified_and_no_smaller_number_is() -> None:
    made = json.loads(json.dumps(certificate_document(wane.certify(THREE), delta=1e-5)))
    assert check_document(made).verified
    assert not check_document(made | {"epsilon": made["epsilon"] * (1.0 - 1e-4)}).verified
    for name, key in (("attack", "true_positive_rate"), ("roc", "true_positive_rate")):
        made[name] = [row | {key: row[key] * 0.98} for row in made[name]]
    for name in ("curve", "verdicts", "releases"):
        made[name] = [row | {"epsilon": row["epsilon"] * 0.98} for row in made[name]]
    rows = verify(made | {"epsilon": made["epsilon"] * 0.98, "advantage": made["advantage"] * 0.98})
    proven = [row.claim.where for row in rows.checked if row.outcome is Outcome.VERIFIED]
    assert proven == [], "smaller numbers, and yet proven"


def test_groups_are_verified() -> None:
    one = IteratedLaplace(1.0, 1.0, 1.0, adjacency="replace-one")
    both = wane.certify(one).for_persons(2)
    assert both.delta(0.7) == replace(one, sensitivity=2.0, dimension=2).delta(0.7)
    assert check_document(certificate_document(both, delta=1e-3)).verified


def test_what_is_read_is_what_was_written() -> None:
    fields = json.loads(json.dumps(description_to_fields(THREE)))
    assert fields["scales"] == [1.0, 2.0, 0.5] and fields["release"] == "noisy-numbers"
    again = description_from_fields(fields)
    assert isinstance(again, LaplaceRelease) and again.guarantee == THREE.guarantee
    assert again.release([0.0, 0.0, 0.0]).shape == (3,)
    for scales in ([1.0], [], "12", None, 3.0, [1.0, True], [1.0, 0.0]):
        with pytest.raises(InvalidDescription):
            description_from_fields(fields | {"scales": scales})
    for name, value in (("sensitivity", 1e300), ("dimension", 0), ("dimension", 1 << 41)):
        with pytest.raises(InvalidDescription, match=name):
            description_from_fields(fields | {name: value})


def test_a_file_is_certified(tmp_path, capsys) -> None:
    place = tmp_path / "noises.toml"
    place.write_text(
        'kind = "iterated-laplace"\nadjacency = "add-remove"\nsensitivity = 1.0\n'
        "scales = [1.0, 2.0, 0.5]\ndimension = 3\n"
    )
    assert main(["certify", str(place), "--delta", "1e-5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["epsilon"] == wane.certify(THREE).epsilon(1e-5)
    assert found["theorem"] == "laplace_sum" and found["adjacency"] == "add-remove"


def test_noise_that_nothing_repeats_takes_no_seed() -> None:
    with pytest.raises(InvalidDescription, match="seed_voids_privacy must be None"):
        wane.release(THREE, [0.0, 0.0, 0.0], seed_voids_privacy=3)
    with pytest.raises(InvalidDescription, match="adjacency must be declared"):
        wane.certify(replace(THREE, adjacency=None))


def test_extreme_descriptions_are_answered() -> None:
    """Shifts beyond all doubles and sums of very many noises end in a number or in a reason."""
    far = IteratedLaplace(1e100, 1e-99, 1e-99, adjacency="zero-out")
    assert wane.certify(far).delta(1.0) == 1.0
    assert float(verifiers()["laplace_sum"](far).delta(ball(1.0))) == 1.0
    near = IteratedLaplace(1e-99, 1e99, 1e99, dimension=1, adjacency="zero-out")
    assert near.shift == 1 and near.pure_epsilon < 2.0**-11
    many = replace(THREE, further_scales=(0.5,) * 70)
    with pytest.raises(TooLarge, match="64 noises"):
        verifiers()["laplace_sum"](many)
    most = verifiers()["laplace_sum"](
        replace(THREE, further_scales=tuple(1.0 + i / 62 for i in range(62)))
    )
    assert 0.0 < float(most.delta(ball(0.05))) < float(most.delta(ball(0.0))) < 0.1
