"""The positions of linear diffusions, computed again in balls."""

from __future__ import annotations

from flint import arb

from wane.balls.arithmetic import ball, top
from wane.balls.lemmas import declared_diffusions, linear_diffusions
from wane.balls.lemmas.positions import TooLarge
from wane.describe.declared_diffusion import DeclaredDiffusion
from wane.describe.diffusion import (
    BrownianMechanism,
    GaussianDiffusion,
    OrnsteinUhlenbeckMechanism,
    Process,
)
from wane.describe.hierarchy import BranchedRelease
from wane.describe.linear_diffusion import LinearDiffusion


def charged(process: GaussianDiffusion) -> arb:
    """Return the sensitivity, plus what rounding the statistic may add."""
    declared = ball(process.sensitivity)
    bound = ball(process.norm_bound or 0.0)
    return declared + (declared * arb(2) ** -40).max(bound * arb(2) ** -47)


def reversion(process: GaussianDiffusion) -> arb:
    """Return the pull to the origin; refuse processes that are not computed again."""
    if isinstance(process, OrnsteinUhlenbeckMechanism):
        return ball(process.reversion)
    if isinstance(process, BrownianMechanism):
        return ball(0)
    raise TooLarge(f"a {type(process).__name__} is not computed again")


def _known(process: Process) -> GaussianDiffusion:
    """The process, if it is of a kind that is computed here."""
    if not isinstance(process, GaussianDiffusion):
        raise TooLarge(f"a {type(process).__name__} is not computed again")
    return process


def decay(process: GaussianDiffusion, duration: arb) -> arb:
    """Return the factor on a position after a duration."""
    return (-reversion(process) * duration).exp()


def variance(process: GaussianDiffusion, duration: arb) -> arb:
    """Return the variance that each entry gains over a duration."""
    pull, scale = reversion(process), ball(process.diffusion_scale)
    if pull.is_zero():
        return 2 * scale**2 * duration
    return -(scale**2) * (-2 * pull * duration).expm1() / pull


def mu_squared(process: Process, time: float) -> arb:
    """Return the square of the Gaussian parameter of the position at a time, never below it."""
    if isinstance(process, LinearDiffusion):
        return linear_diffusions.mu_squared(process, [[time]])
    if isinstance(process, DeclaredDiffusion):
        return declared_diffusions.mu_squared(process, time)
    process = _known(process)
    at = ball(time)
    return top((charged(process) * decay(process, at)) ** 2 / variance(process, at))


def tree_mu_squared(release: BranchedRelease) -> arb:
    """Return the squared Gaussian parameter of all seen positions of a tree together."""
    if isinstance(release.mechanism, LinearDiffusion):
        return linear_diffusions.tree_mu_squared(release, release.mechanism)
    process = _known(release.mechanism)

    def precision(name: str | None) -> arb:
        """Return the precision of a position that is known from those below it."""
        total = ball(0)
        for child, (parent, span) in release.branches.items():
            if parent != name:
                continue
            below, at = None if child in release.seen_names else precision(child), ball(span)
            if below is not None and not below > 0:
                continue
            doubt = ball(0) if below is None else 1 / below
            total += decay(process, at) ** 2 / (variance(process, at) + doubt)
        return total

    return top(charged(process) ** 2 * precision(None))
