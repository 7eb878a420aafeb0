"""A stranger's bridge: the verdicts of a certificate as a pandas data frame.

Run it: `python examples/extending/bridge/frames.py`.  In wane it would be `wane/extra/pandas.py`.
"""

from __future__ import annotations

from typing import Any

import wane
from wane.certificates import Certificate
from wane.errors import MissingExtra

LIBRARY = EXTRA = "pandas"


def verdict_frame(certificate: Certificate, delta: float) -> Any:
    """Return a data frame: for each theorem whether it applies, its epsilon, what is missing."""
    try:
        import pandas
    except ImportError:
        raise MissingExtra(f"This bridge needs {LIBRARY}; install wane[{EXTRA}].") from None
    known = {verdict.theorem.name: verdict.guarantee for verdict in certificate.applicable}
    missing = {v.theorem.name: v.obstacles[0].statement for v in certificate.obstacles}
    rows = [
        {
            "theorem": verdict.theorem.name,
            "applies": verdict.theorem.name in known,
            "epsilon": known[verdict.theorem.name].epsilon(delta)
            if verdict.theorem.name in known
            else None,
            "missing": missing.get(verdict.theorem.name, ""),
        }
        for verdict in certificate.verdicts
    ]
    return pandas.DataFrame(rows).set_index("theorem")


def main() -> None:
    """Show the verdicts on a small run."""
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
        records=1000,
        steps=400,
        step_size=1.0,
        noise=wane.NoiseMultiplier(4.0),
        batches=wane.Cyclic(50),
    )
    print(verdict_frame(wane.certify(run), 1e-5).to_string())


if __name__ == "__main__":
    main()
