"""A certified run as an OpenDP measurement, behind that library's own flags.

OpenDP cannot check a proof it did not make: the caller enables its features `contrib` and
`honest-but-curious`, and vouches for what the certificate marks as declared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wane.certify import Certificate
from wane.describe import Adjacency, check
from wane.errors import MissingExtra

DISTANCES = {
    Adjacency.REPLACE_ONE: "wane: records replaced",
    Adjacency.ZERO_OUT: "wane: records blanked out",
    Adjacency.ADD_REMOVE: "wane: records added or removed",
}


def measurement(certificate: Certificate, run: Callable[[Any], Any], *, delta: float) -> Any:
    """Return a measurement that applies `run` to its argument, with the certificate as its map.

    Distances count records, in the certificate's own adjacency; the map answers with
    `(epsilon, delta)`.  `run` must do what the certificate describes, as an estimator's fit does.
    """
    check.real("delta", delta, above=0.0, most=1.0)
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtra("This bridge needs opendp; install wane[opendp].") from None

    def privacy_map(records: int) -> tuple[float, float]:
        # asked group by group, so that a Gaussian guarantee scales its mu
        guarantee = certificate.guarantee if records == 1 else certificate.group(records)
        return guarantee.epsilon(delta), delta

    return dp.m.make_user_measurement(
        input_domain=dp.user_domain("wane: records", lambda given: True),
        input_metric=dp.user_distance(DISTANCES[certificate.run.adjacency]),
        output_measure=dp.approximate(dp.max_divergence()),
        function=run,
        privacy_map=privacy_map,
        TO="ExtrinsicObject",
    )
