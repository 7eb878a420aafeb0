"""Overdamped samples as documents and ledgers hold them, and their certificate computed again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from wane.certificates import Certificate, Sampler
from wane.describe import NoisyDescent, Temperature, check
from wane.describe.posterior import Losses, Posterior
from wane.describe.samples import OverdampedRun
from wane.errors import InvalidDescription
from wane.sampling.privacy import certify_chains

KIND = "overdamped-chains"
NUMBERS = ("laplacian_lipschitz", "height_at_start", "range_of_loss")


def sampler_of(run: OverdampedRun) -> Sampler:
    """Return what the chains are, beyond the one descent that they are together."""
    known = run.posterior.losses
    return Sampler(
        samples=run.samples,
        dimension=known.dimension,
        **{name: getattr(known, name) for name in NUMBERS},
    )


def sampler_from_fields(given: object) -> Sampler:
    """Return the sampler that `Sampler.to_fields` wrote down, or refuse it by name."""
    names = {field.name for field in fields(Sampler)}
    if not isinstance(given, Mapping) or set(given) != names | {"kind"} or given["kind"] != KIND:
        raise InvalidDescription(
            f'sampler must be of kind "{KIND}" and hold {", ".join(sorted(names))}.'
        )
    for name in ("samples", "dimension"):
        check.whole(f"sampler.{name}", given[name], least=1)
    for name in NUMBERS:
        if given[name] is not None:
            check.real(f"sampler.{name}", given[name], least=0.0)
    return Sampler(**{name: given[name] for name in names})


def certify_described(descent: NoisyDescent, sampler: Sampler) -> Certificate:
    """Return the certificate of samples from what a document or a ledger says of them.

    The certificate is that of `certify_samples`: the descent's own theorems, and those that go by
    way of the posterior.
    """
    return certify_chains(_chains(descent, sampler), descent)


def _chains(descent: NoisyDescent, sampler: Sampler) -> OverdampedRun:
    """The chains behind a descent; how its ridge divides into prior and losses matters nowhere."""
    noise, objective = descent.noise, descent.objective
    if not isinstance(noise, Temperature) or descent.steps is None or descent.step_size is None:
        raise InvalidDescription(
            "description must be of chains at one temperature to have a sampler, got another run."
        )
    bound = objective.gradient_bound
    if bound is not None and sampler.samples > 1:
        bound = bound / math.sqrt(sampler.samples) * (1.0 + 4e-16)
    said: dict[str, Any] = {name: getattr(sampler, name) for name in NUMBERS}
    losses = Losses(
        objective=replace(objective, gradient_bound=bound, ridge=0.0),
        dimension=sampler.dimension,
        shared_curvature=objective.ridge,
        **said,
    )
    posterior = Posterior(
        losses=losses,
        records=descent.records,
        prior_precision=0.0,
        temperature=noise.value * descent.records,
        adjacency=descent.adjacency,
    )
    return OverdampedRun(
        posterior=posterior,
        step_size=descent.step_size,
        steps=descent.steps,
        samples=sampler.samples,
    )
