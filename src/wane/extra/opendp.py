"""A certified run as an OpenDP measurement, behind that library's own flags.

OpenDP cannot check a proof it did not make: the caller enables its features `contrib` and
`honest-but-curious`, and vouches for what the certificate marks as declared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from wane import arguments
from wane.certificates import Certificate
from wane.describe import Adjacency
from wane.errors import InvalidDescription, MissingExtra
from wane.guarantees import GaussianDP, Guarantee

DISTANCES = {
    Adjacency.REPLACE_ONE: "wane: records replaced",
    Adjacency.ZERO_OUT: "wane: records blanked out",
    Adjacency.ADD_REMOVE: "wane: records added or removed",
}


def measurement(
    certificate: Certificate, run: Callable[[Any], Any], *, delta: float | None = None
) -> Any:
    """Return a measurement that applies `run` to its argument, with the certificate as its map.

    Distances count records, in the certificate's own adjacency.  With a delta the map answers with
    `(epsilon, delta)`; without one with the rho of zero-concentrated privacy, which composes
    better, and which Gaussian certificates have.  `run` must do what the certificate describes, as
    an estimator's fit does.
    """
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtra("This bridge needs opendp; install wane[opendp].") from None

    def guarantee(records: int) -> Guarantee:
        # asked group by group, so that a Gaussian guarantee scales its mu
        return certificate.guarantee if records == 1 else certificate.group(records)

    if delta is None:
        if not isinstance(certificate.guarantee, GaussianDP):
            raise InvalidDescription(
                "delta must be given for a certificate that is not a Gaussian one, got None."
            )
        measure = dp.zero_concentrated_divergence()
    else:
        arguments.real("delta", delta, above=0.0, most=1.0)
        measure = dp.approximate(dp.max_divergence())

    def privacy_map(records: int) -> float | tuple[float, float]:
        found = guarantee(records)
        return _rho(found) if delta is None else (found.epsilon(delta), delta)

    return dp.m.make_user_measurement(
        input_domain=dp.user_domain("wane: records", lambda given: True),
        input_metric=dp.user_distance(DISTANCES[certificate.run.adjacency]),
        output_measure=measure,
        function=run,
        privacy_map=privacy_map,
        TO="ExtrinsicObject",
    )


def _rho(guarantee: Guarantee) -> float:
    """mu^2/2, rounded up."""
    assert isinstance(guarantee, GaussianDP)
    return math.nextafter(guarantee.mu * guarantee.mu / 2.0, math.inf)
