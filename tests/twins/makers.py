"""Everything in the package that claims a number: found by a walk, and halved one at a time.

A claim-maker is a theorem's formula, or a function, method or property of the rooms below whose
docstring has a line that begins with "Claim.", whose return type is a guarantee or a certified
distance, or whose name is that of a certified number.
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, is_dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from twins.cases import modules, theorems
from wane.guarantees import GaussianDP, GaussianMixture, Guarantee, RenyiDP
from wane.learn.curvature import CurvatureBound
from wane.mechanisms import ApproximateDP
from wane.mixing import Mixing
from wane.numerics.search import Found
from wane.theorems.gibbs.transfer import Closeness
from wane.theorems.theorem import Applies, Refuses

ROOMS = (
    "certificates",
    "describe.diffusion",
    "describe.domains",
    "describe.hierarchy",
    "describe.laplace",
    "guarantees",
    "learn",
    "mechanisms",
    "mixing",
    "numerics.composed_losses",
    "run.diffusions",
    "run.discrete_gaussian",
    "run.hierarchies",
    "sampling",
    "statistics",
    "theorems",
)
"""Papers' printed formulas, lower bounds and the verifier claim nothing; bridges pass claims on."""
RETURNED = re.compile(
    r"\b(\w*DP|Guarantee|GaussianMixture|Closeness|Mixing|CurvatureBound|AmplifiedGuarantee)\b"
)
NUMBERS = {
    "sensitivity",
    "mu",
    "mu_at",
    "epsilon",
    "delta",
    "renyi",
    "pure_epsilon",
    "dobrushin",
    "value",
}
MU = re.compile(r"(^|_)mu(_|$)")
Wrap = functools.cached_property | property | classmethod | staticmethod


@dataclass(frozen=True)
class Maker:
    """One claim-maker: where it is, and how to reach the function behind it."""

    name: str
    owner: Any  # a module, a class or a theorem
    attribute: str

    @property
    def found(self) -> Any:
        return vars(self.owner)[self.attribute]

    @property
    def function(self) -> Callable[..., Any]:
        return _inner(self.found)


def _inner(found: Any) -> Any:
    for name in ("fget", "func", "__func__", "__wrapped__"):
        if isinstance(found, Wrap) and hasattr(found, name):
            return getattr(found, name)
    return found


def makers() -> tuple[Maker, ...]:
    """Every claim-maker, by name."""
    found = [Maker(f"theorem {t.name}", t, "formula") for t in theorems()]
    for module in modules():
        claims = any(module.__name__.startswith(f"wane.{room}") for room in ROOMS)
        if claims and not module.__name__.endswith(".verifier"):
            found += _in_module(module)
    unique = {maker.function: maker for maker in reversed(found)}
    return tuple(sorted(unique.values(), key=lambda maker: maker.name))


def _in_module(module: Any) -> Iterator[Maker]:
    formulas = {theorem.formula for theorem in theorems()}
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__ or value in formulas:
            continue
        where = f"{module.__name__.removeprefix('wane.')}.{name}"
        if inspect.isfunction(value) and _claims(name, value):
            yield Maker(where, module, name)
        elif inspect.isclass(value):
            for inner, part in vars(value).items():
                function = _inner(part)
                whole = inner == "__call__" and "Claim." in (value.__doc__ or "")
                if inspect.isfunction(function) and (whole or _claims(inner, function)):
                    yield Maker(f"{where}.{inner}", value, inner)


def _claims(name: str, function: Callable[..., Any]) -> bool:
    if getattr(function, "__isabstractmethod__", False):
        return False
    returned = str(inspect.get_annotations(function).get("return", ""))
    if "Theorem[" in returned:  # a theorem claims by its formula
        return False
    said = "Claim." in (function.__doc__ or "") or RETURNED.search(returned) is not None
    number = name in NUMBERS or MU.search(name) is not None
    return said or (number and re.search("float|Array", returned) is not None)


@contextmanager
def halved(maker: Maker) -> Iterator[None]:
    """Let the claim-maker claim half of what it does, everywhere."""
    old, function = maker.found, maker.function

    @functools.wraps(function)
    def twin(*arguments: Any, **named: Any) -> Any:
        return half(function(*arguments, **named))

    new: Any = twin
    if isinstance(old, Wrap):
        new = type(old)(twin)
        if isinstance(old, functools.cached_property):
            new.__set_name__(maker.owner, maker.attribute)
    places = [(maker.owner, maker.attribute)]
    if inspect.ismodule(maker.owner):
        loaded = [
            m for m in list(sys.modules.values()) if isinstance(getattr(m, "__dict__", 0), dict)
        ]
        places += [(m, n) for m in loaded for n, v in list(vars(m).items()) if v is old]
    for owner, attribute in places:
        _put(owner, attribute, new)
    try:
        yield
    finally:
        for owner, attribute in places:
            _put(owner, attribute, old)


def _put(owner: Any, attribute: str, value: Any) -> None:
    if is_dataclass(owner) and not isinstance(owner, type):
        object.__setattr__(owner, attribute, value)
    else:
        setattr(owner, attribute, value)


def half(claim: Any) -> Any:
    """Half of a claim: of a number, or of every number that a guarantee would answer."""
    if isinstance(claim, bool | str) or claim is None:
        return claim
    if isinstance(claim, int):
        return claim // 2
    if isinstance(claim, float | Fraction | np.ndarray):
        return claim / 2
    if isinstance(claim, list | tuple) and not hasattr(claim, "_fields"):
        return type(claim)(half(part) for part in claim)
    if isinstance(claim, GaussianDP):
        return GaussianDP(claim.mu / 2)
    if isinstance(claim, GaussianMixture):
        return replace(claim, mus=tuple(mu / 2 for mu in claim.mus))
    if isinstance(claim, Guarantee):
        return _half_guarantee(claim)
    return _half_record(claim)


def _half_guarantee(claim: Guarantee) -> Guarantee:
    if isinstance(claim, RenyiDP):
        return RenyiDP(lambda order: claim.curve(order) / 2, max_order=claim.max_order)
    return Halved(claim)


def _half_record(claim: Any) -> Any:
    if isinstance(claim, ApproximateDP):
        return replace(claim, epsilon=claim.epsilon / 2, delta=claim.delta / 2)
    if isinstance(claim, Applies | Refuses):
        whole = isinstance(claim, Applies)
        return replace(claim, conclusion=half(claim.conclusion)) if whole else claim
    if isinstance(claim, Closeness):
        return replace(
            claim, chain_first=half(claim.chain_first), target_first=half(claim.target_first)
        )
    if isinstance(claim, Mixing):
        return replace(claim, steps=claim.steps // 2, tv=claim.tv / 2, kl=claim.kl / 2)
    if isinstance(claim, CurvatureBound):
        return replace(claim, smoothness=claim.smoothness / 2)
    if isinstance(claim, Found):
        return replace(claim, value=claim.value / 2)
    if callable(claim):
        return lambda *arguments: half(claim(*arguments))
    raise TypeError(f"nobody said what half of {claim!r} is")


@dataclass(frozen=True)
class Halved(Guarantee):
    """A guarantee that answers every question by half."""

    inner: Guarantee

    @property
    def generality(self) -> int:  # type: ignore[override]
        return self.inner.generality

    def delta(self, epsilon: float) -> float:
        return self.inner.delta(epsilon) / 2

    def epsilon(self, delta: float) -> float:
        return self.inner.epsilon(delta) / 2

    def renyi(self, order: float) -> float:
        return self.inner.renyi(order) / 2

    def group(self, size: int) -> Guarantee:
        return Halved(self.inner.group(size))

    def repeat(self, times: int) -> Guarantee:
        return Halved(self.inner.repeat(times))

    def absorb(self, others: tuple[Guarantee, ...]) -> Guarantee:
        return Halved(self.inner.absorb(others))
