"""What samples by underdamped chains cost, again and in balls: docs/proofs/kinetic-privacy.md."""

from __future__ import annotations

from flint import arb

from wane.balls.arithmetic import top
from wane.balls.bounds import Bound, Gaussian
from wane.balls.lemmas.kinetic import UnderdampedChain
from wane.balls.lemmas.posterior import target_of
from wane.balls.verifier import verifier
from wane.describe.samples import UnderdampedRun


@verifier(of=UnderdampedRun)
def kinetic_composition(samples: UnderdampedRun) -> Bound | None:
    """Return the Gaussian bound that composes the noise of all steps."""
    chain = _chain(samples)
    return None if chain is None else _repeated(chain.composed(), samples)


@verifier(of=UnderdampedRun)
def kinetic_last_state(samples: UnderdampedRun) -> Bound | None:
    """Return the Gaussian bound that is least over windows, where every step contracts."""
    chain = _chain(samples)
    return None if chain is None else _repeated(chain.last_state(), samples)


def _chain(samples: UnderdampedRun) -> UnderdampedChain | None:
    """One chain, if a bound on what one record adds is known."""
    target = target_of(samples)
    if target is None or not target.sensitivity.is_finite():
        return None
    chain = target.chain()
    assert isinstance(chain, UnderdampedChain)
    return chain


def _repeated(mu: arb, samples: UnderdampedRun) -> Bound | None:
    """Independent chains: squares add up."""
    return Gaussian(top(samples.samples * mu**2)) if mu.is_finite() else None
