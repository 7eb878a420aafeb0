"""What a fit tells: warnings from public facts, a bar while it runs, its certificate's words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wane.certificates import (
    Certificate,
    Circumstances,
    ExactNoise,
    NoiseSource,
    certify,
    composition_of,
)
from wane.describe import Cyclic, FullBatch, ShuffledOnce
from wane.errors import NothingGained, PrivacyWarning, UnscaledFeatures
from wane.learn.exact import exact_guarantee
from wane.report.text import round_up_to
from wane.run import DiscreteGaussian, release_grid

if TYPE_CHECKING:
    from wane.learn.base import Prepared, PrivateLinearModel

WEAK = 10.0
"""An epsilon above which a guarantee says little."""
_GAIN = 0.99


def warn(model: PrivateLinearModel, ready: Prepared) -> None:
    """Warn of what is likely to be a mistake, before anything is drawn."""
    records = ready.run.records
    if model.delta > 1.0 / records:
        _say(
            f"delta = {round_up_to(model.delta)} exceeds 1/records = {1.0 / records:.3g}: "
            "releasing one record at random would meet it; choose delta well below 1/records."
        )
    if model.epsilon > WEAK:
        _say(
            f"epsilon = {round_up_to(model.epsilon)} is above {WEAK:g}: the guarantee says little."
        )
    if model.feature_bounds is None:
        _say(
            "feature_bounds is not declared: columns are used in their own units and rows are "
            f"shortened to feature_norm = {model.feature_norm:g}, so that a column of large "
            "numbers drowns the others; declare public bounds, or use wane.learn.PublicScaler.",
            UnscaledFeatures,
        )
    _warn_of_no_gain(model, ready)


def _warn_of_no_gain(model: PrivateLinearModel, ready: Prepared) -> None:
    if not isinstance(ready.run.batches, FullBatch | Cyclic | ShuffledOnce):
        return  # sampled batches gain whenever they fade at all, and asking twice takes long
    certificate = _certificate(ready)
    hidden = certificate.epsilon(model.delta)
    seen = composition_of(ready.run).for_persons(certificate.rows_per_person).epsilon(model.delta)
    if hidden > _GAIN * seen:
        _say(
            f"hidden state gains nothing here: epsilon is {round_up_to(hidden)} whether or not all "
            f"{ready.run.total_steps} iterates are published, as other accountants assume. A "
            "larger ridge, sampled batches or a longer run gain.",
            NothingGained,
        )


def _certificate(ready: Prepared) -> Certificate:
    """The run's own certificate; where something comes first, there is only a promise so far."""
    at_hand = (one for one in ready.certificate.nominal.each if one.run == ready.run)
    return next(at_hand, None) or certify(ready.run)


def _say(words: str, kind: type[PrivacyWarning] = PrivacyWarning) -> None:
    warnings.warn(words, kind, stacklevel=4)


@contextmanager
def step_counter(steps: int, *, shown: bool) -> Iterator[Callable[[int], None] | None]:
    """Yield what a run tells its progress to, or None if nobody wants to see it."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=steps, unit="step", leave=False) as bar:

        def told(done: int) -> None:
            bar.update(done - bar.n)

        yield told


ENFORCED = "worked out by wane when it wrote the description, and enforced while running"


def noise_of(model: Any) -> NoiseSource:
    """Return where the noise of a fit came from."""
    seeded = model.seed_voids_privacy is not None
    return NoiseSource.SEED if seeded else NoiseSource.OPERATING_SYSTEM


def conduct_of_linear_model(model: Any, words: str) -> Circumstances:
    """Return how a linear model was fitted; what choosing its settings cost is not known here."""
    count = model.coef_.size
    count += getattr(model.intercept_, "size", 1) if model.fit_intercept else 0
    known: dict[str, Any] = (
        {} if model.tune_on is None else {"tuning": str(model.tune_on.statement)}
    )
    return Circumstances(
        noise=noise_of(model),
        released=(
            f"The {count} coefficients of {words}, intercepts included: the last iterate "
            f"of {model.run_.total_steps} steps, and nothing else."
        ),
        origin=f"worked out by wane for the loss of {words} and the public feature norm",
        declared=ENFORCED,
        voids=model.certificate_.void_because,
        grid=release_grid(model.run_),
        exact=_exact(model, count),
        **known,
    )


def conduct_of_mean(model: Any) -> Circumstances:
    """Return how a mean was computed."""
    return Circumstances(
        noise=noise_of(model),
        released=f"The mean of {model.mean_.size} columns, after one noisy step; nothing else.",
        origin="worked out by wane for squared distances and the public feature norm",
        declared=ENFORCED,
        voids=model.certificate_.void_because,
        grid=release_grid(model.run_),
    )


def _exact(model: Any, count: int) -> ExactNoise | None:
    """Return the exact noise on the release; what it gives alone is claimed unless all is void."""
    if model.release_noise is None:
        return None
    noise = DiscreteGaussian.on_release(model.run_, model.release_noise)
    alone = exact_guarantee(model.run_, model.release_noise, count)
    if alone is None or model.certificate_.void_because:
        return ExactNoise(noise.std, model.delta)
    return ExactNoise(noise.std, model.delta, round_up_to(alone.epsilon(model.delta)))
