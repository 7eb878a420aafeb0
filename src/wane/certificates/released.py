"""A statistic that was released through a mechanism: the noisy value, and its certificate."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from wane import arguments
from wane.certificates.analyse import certify
from wane.certificates.certificate import Certificate
from wane.describe.description import Description
from wane.describe.diffusion import Outside

SEEDED = "The noise came from a seed: whoever knows the seed can subtract it."


@dataclass(frozen=True)
class Released:
    """What a mechanism released.

    Attributes:
        value: the noisy statistic in its own shape; of several levels or positions, by their names;
            of a kernel, the number of its output.
        certificate: what is claimed of all of it together.
    """

    value: Any
    certificate: Certificate

    @property
    def mechanism(self) -> Any:
        """The description of what drew it."""
        return self.certificate.description


def release(
    mechanism: Description,
    statistic: Any,
    *,
    outside: Outside = Outside.REFUSE,
    account: Any = None,
    rows_per_person: int = 1,
    seed_voids_privacy: int | None = None,
) -> Released:
    """Return a private release of a statistic with its certificate; use it to publish a number.

    The release is certified, and entered in the `account` of a ledger if one is given, before any
    noise is drawn.  `outside` says what happens to a statistic beyond the declared norm bound;
    `rows_per_person` how many records may change together.

    Example:
        >>> import wane
        >>> mechanism = wane.mechanisms.BrownianMechanism(
        ...     sensitivity=1.0, time=8.0, adjacency="zero-out")
        >>> found = wane.release(mechanism, [120.0, 80.0])
        >>> found.value.shape, round(found.certificate.mu, 6)
        ((2,), 0.25)
    """
    from wane.run.drawing import drawn  # slow to import

    arguments.kind("mechanism", mechanism, (Description,))
    certificate = certify(mechanism).for_persons(rows_per_person)
    if seed_voids_privacy is not None:
        certificate = certificate.void((SEEDED,))
    with nullcontext() if account is None else account.spend(certificate):
        value = drawn(mechanism, statistic, outside, seed_voids_privacy)
    return Released(value, certificate)
