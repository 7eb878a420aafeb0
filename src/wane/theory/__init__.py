"""What a theorem is, the hypotheses they share, and the programme many of them solve."""

from wane.theory.theorem import (
    Analysis,
    Applies,
    Basis,
    Citation,
    Condition,
    DoesNotApply,
    FactCondition,
    Finding,
    Verdict,
)

__all__ = [
    "Analysis",
    "Applies",
    "Basis",
    "Citation",
    "Condition",
    "DoesNotApply",
    "FactCondition",
    "Finding",
    "Verdict",
]
