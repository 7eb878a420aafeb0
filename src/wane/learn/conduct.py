"""How a fit is carried out: a bar while it runs, and the words of its certificate afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from wane.certificates import Circumstances, ExactNoise, NoiseSource
from wane.learn.exact import exact_guarantee
from wane.report.text import round_up_to
from wane.run import DiscreteGaussian, release_grid


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
