"""Descriptions never change: no array that one holds, or keeps once computed, can be written to."""

from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cached_property

import numpy as np
import pytest
from scipy import sparse

from runs import make_run
from wane import GradientNoise, Phase, Poisson, Schedule, certify
from wane.describe import Objective, domains
from wane.mechanisms import MarkovKernel
from wane.mechanisms.spectral import ReflectedDiffusion
from wane.sampling import Losses, Posterior

DOMAINS = {
    "affine": domains.Affine(((1.0, 0.0),), (2.0,)),
    "ball": domains.Ball(1.0, (1.0, 2.0)),
    "box": domains.Box(0.0, (1.0, 2.0)),
    "diameter": domains.Diameter(1.0),
    "elastic-net": domains.ElasticNet(0.1, 1.0),
    "group-lasso": domains.GroupLasso(1.0, ((0, 2), (1,))),
    "halfspace": domains.Halfspace((1.0, 2.0), 3.0),
    "l-infinity-norm": domains.LInfinityNorm(1.0),
    "l1-ball": domains.LOneBall(1.0),
    "l2-norm": domains.LTwoNorm(1.0),
    "lasso": domains.Lasso(1.0),
    "log-barrier": domains.LogBarrier(1.0),
    "mcp": domains.MCP(1.0, 2.0),
    "nuclear-norm": domains.NuclearNorm(1.0, 2, 3),
    "orthant": domains.Orthant(),
    "own-prox": domains.OwnProx("mine", strong_convexity=0.5, dimension=3),
    "positive-semidefinite-cone": domains.PositiveSemidefiniteCone(2),
    "product": domains.Product((domains.Ball(1.0, (0.5,)), domains.Box(0, 1, dimension=2)), (1, 2)),
    "ridge": domains.Ridge(1.0),
    "scad": domains.SCAD(1.0, 4.0),
    "second-order-cone": domains.SecondOrderCone(),
    "simplex": domains.Simplex(1.0),
    "sorted-l1": domains.SortedLOne((2.0, 1.0)),
    "total-variation": domains.TotalVariation(1.0),
    "unbounded": domains.Unbounded(),
    "with-ridge": domains.WithRidge(domains.Box((0.0, 0.0), (1.0, 2.0)), 0.5),
}


def described():
    """Something of every kind that a user describes."""
    yield from DOMAINS.values()
    run = make_run(
        schedule=Schedule([Phase(3, 1.0, GradientNoise(0.1)), Phase(2, 0.5, GradientNoise(0.2))]),
        domain=DOMAINS["box"],
        batches=Poisson(10),
    )
    yield run
    yield run.noise_scaled(2.0)
    yield Schedule.of_steps(np.ones(4), np.ones(4))
    losses = Losses(objective=Objective(smoothness=1.0, strong_convexity=0.0), dimension=2)
    yield Posterior(losses=losses, records=10, prior_precision=1.0)
    yield MarkovKernel([[0.5, 0.5], [0.25, 0.75]])
    yield MarkovKernel(sparse.csr_array([[0.5, 0.5], [0.0, 1.0]]))
    yield MarkovKernel([[0.5, 0.5], [0.25, 0.75]]).power(3)
    yield ReflectedDiffusion(lambda x: -x, np.ones_like, -1.0, 1.0)


def held(value, path, seen):
    """Every array that is reachable from a value, after all that it keeps has been computed."""
    if id(value) in seen:
        return
    seen[id(value)] = value
    if isinstance(value, np.ndarray):
        yield path, value
    elif sparse.issparse(value):
        for name in ("data", "indices", "indptr"):
            yield f"{path}.{name}", getattr(value, name)
    elif isinstance(value, tuple | list):
        for place, entry in enumerate(value):
            yield from held(entry, f"{path}[{place}]", seen)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from held(entry, f"{path}[{key!r}]", seen)
    elif type(value).__module__.startswith("wane."):
        for name in _names(value):
            with suppress(Exception):
                yield from held(getattr(value, name), f"{path}.{name}", seen)


def _names(value):
    kept = [n for kind in type(value).__mro__ for n, v in vars(kind).items()
            if isinstance(v, cached_property)]  # fmt: skip
    slots = [n for kind in type(value).__mro__ for n in getattr(kind, "__slots__", ())]
    own = [f.name for f in fields(value)] if is_dataclass(value) else []
    return {*kept, *slots, *own, *getattr(value, "__dict__", {})}


def test_every_domain_is_walked():
    assert {kind.kind for kind in domains.DOMAINS} == set(DOMAINS)
    assert all(domain.kind == name for name, domain in DOMAINS.items())


def test_no_array_can_be_written_to():
    walked = 0
    for value in described():
        for path, array in held(value, type(value).__name__, {}):
            walked += 1
            assert not array.flags.writeable, path
    assert walked > 40


def test_noise_that_is_multiplied_in_place_is_refused():
    """It certified 0.024 in place of 3.849, while it printed, equalled and hashed as before."""
    run = make_run()
    before = certify(run).epsilon(1e-5)
    with pytest.raises(ValueError, match="read-only"):
        run.gradient_noise_stds *= 100
    assert certify(run).epsilon(1e-5) == before
