"""From the arguments of a calibration to the one goal that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wane.certificates.attack_goals import AdvantageGoal, DetectionGoal, GuessGoal
from wane.certificates.targets import (
    ApproximateGoal,
    ConcentratedGoal,
    GaussianGoal,
    PrivacyGoal,
    RenyiGoal,
)
from wane.errors import InvalidDescription

PAIRS: dict[str, tuple[Callable[[float, float], PrivacyGoal], str]] = {
    "renyi": (RenyiGoal, "(order, divergence)"),
    "attack": (DetectionGoal, "(false_positive_rate, true_positive_rate)"),
    "guess": (GuessGoal, "(prior, success)"),
}
NUMBERS: dict[str, Callable[[float], PrivacyGoal]] = {
    "zcdp": ConcentratedGoal,
    "mu": GaussianGoal,
    "advantage": AdvantageGoal,
}


def goal_of(
    *, epsilon: float | None = None, delta: float | None = None, **others: Any
) -> PrivacyGoal:
    """Return the one goal that these arguments name; refuse none and several."""
    given = {name: value for name, value in others.items() if value is not None}
    named = [*(["epsilon"] if epsilon is not None else []), *given]
    if len(named) != 1 or (delta is None) == (epsilon is not None):
        got = ", ".join(named + (["delta"] if delta is not None else [])) or "nothing"
        raise InvalidDescription(
            "the target must be one of epsilon and delta, renyi=(order, divergence), zcdp, mu, "
            "advantage, attack=(false_positive_rate, true_positive_rate) or guess=(prior, "
            f"success), got {got}."
        )
    if epsilon is not None:
        assert delta is not None
        return ApproximateGoal(epsilon, delta)
    ((name, value),) = given.items()
    if name in NUMBERS:
        return NUMBERS[name](value)
    goal, words = PAIRS[name]
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise InvalidDescription(f"{name} must be a pair {words}, got {value!r:.60}.")
    return goal(*value)
