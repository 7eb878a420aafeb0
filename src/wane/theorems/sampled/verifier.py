"""Hidden steps with random batches, again and in balls."""

from __future__ import annotations

from wane.balls.arithmetic import ball
from wane.balls.bounds import Bound
from wane.balls.lemmas.hypotheses import follows_moduli, leaves_some_out
from wane.balls.lemmas.moduli import Sizes, modulus_of
from wane.balls.lemmas.sampled_plan import SampledLastIterate
from wane.balls.verifier import verifier
from wane.describe import NoisyDescent, Poisson


@verifier(never_worse_than=("poisson_composition",))
def poisson_last_iterate(run: NoisyDescent) -> Bound | None:
    """Return the bound by the last Poisson-sampled steps and the distance before them."""
    return (
        SampledLastIterate(run)
        if isinstance(run.batches, Poisson) and _hides_samples(run)
        else None
    )


@verifier(never_worse_than=("fixed_size_composition",))
def fixed_size_last_iterate(run: NoisyDescent) -> Bound | None:
    """Return the bound by the last steps of fixed batch size, if some records are left out."""
    return SampledLastIterate(run) if leaves_some_out(run) and _hides_samples(run) else None


def _hides_samples(run: NoisyDescent) -> bool:
    """Return whether a modulus is known for every batch size."""
    if not follows_moduli(run):
        return False
    sizes = Sizes(0, run.records, run.batch_size)
    return all(modulus_of(run, phase, sizes, ball(1)) is not None for phase in run.plan)
