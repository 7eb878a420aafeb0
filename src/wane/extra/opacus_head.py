"""A linear head on bounded features, and what is known of its losses under Opacus' clipping."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wane.describe import Adjacency, LossForm, Objective, check, losses
from wane.describe.domains import Domain
from wane.errors import InvalidDescription, MissingExtra
from wane.run.descent import safe_prox

try:
    import torch
    from torch import nn

    from wane.extra.torch import CyclicLoader
except ImportError:
    raise MissingExtra("This bridge needs torch; install wane[torch].") from None

SOFTENING = 1e-6
"""Opacus divides by the gradient's norm plus this."""


class BoundedFeatures(nn.Module):  # type: ignore[misc]
    """Scale longer rows down to a public norm; a row without a finite norm becomes zero."""

    def __init__(self, norm: float) -> None:
        super().__init__()
        self.norm = check.real("norm", norm, above=0.0)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows, each within the norm after rounding."""
        room = self.norm * (1.0 - (rows.shape[-1] + 16) * torch.finfo(rows.dtype).eps)
        norms = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        return torch.where(norms.isfinite(), rows * (room / norms.clamp(min=room)), 0.0)


def bounded_head(
    features: int, outputs: int, *, feature_norm: float, bias: bool = False
) -> nn.Sequential:
    """Return a linear layer on bounded features, starting at zero.

    With a bias, the constant coordinate 1 counts in the norm, which must then be above 1.
    """
    check.whole("features", features, least=1)
    check.whole("outputs", outputs, least=1)
    check.real("feature_norm", feature_norm, above=1.0 if bias else 0.0)
    room = math.sqrt(feature_norm**2 - 1.0) if bias else feature_norm
    head = nn.Sequential(BoundedFeatures(room), nn.Linear(features, outputs, bias=bias))
    for parameter in head.parameters():
        nn.init.zeros_(parameter)
    return head


@dataclass(frozen=True)
class Setting:
    """What is known before training; all of it public.

    Attributes:
        head: what `bounded_head` made; nothing else may be trained.
        loader: where the batches come from.
        criterion: `nn.BCEWithLogitsLoss` or `nn.MSELoss` for one output, or `nn.CrossEntropyLoss`
            on class numbers from 0; without weights.
        adjacency: zero-out, or replace-one.
        domain: a set or regulariser; its prox is applied to the weights after each step.
        poisson_sampling: what `make_private` was told; composition then counts on random batches,
            as Opacus does.
    """

    head: Any
    loader: CyclicLoader
    criterion: Any
    adjacency: Adjacency
    domain: Domain | None = None
    poisson_sampling: bool = False

    def __post_init__(self) -> None:
        check.kind("loader", self.loader, (CyclicLoader,))
        if self.adjacency not in (Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE):
            raise InvalidDescription(
                f"adjacency must be zero-out or replace-one, got {self.adjacency}; adding a record "
                "would move the others to other batches."
            )
        parts = list(self.head) if isinstance(self.head, nn.Sequential) else []
        if [type(part) for part in parts] != [BoundedFeatures, nn.Linear]:
            raise InvalidDescription(
                f"head must be made by bounded_head, got {type(self.head).__name__}."
            )

    @property
    def feature_norm(self) -> float:
        """The bound on a record's features, the constant of a bias included."""
        bounded, linear = self.head
        return math.hypot(bounded.norm, 0.0 if linear.bias is None else 1.0) * (1.0 + 1e-15)

    def objective(self, clip: float) -> Objective | None:
        """The constants of the clipped loss; None if they are not known."""
        made = _OBJECTIVES.get(type(self.criterion))
        weighted = any(
            getattr(self.criterion, n, None) is not None for n in ("weight", "pos_weight")
        )
        if made is None or weighted:
            return None
        return made(self.feature_norm, self.head[1].out_features, clip)


def project(head: Any, domain: Domain, step_size: float) -> None:
    """Apply the domain's prox to the trained weights of a head, all of them as one vector."""
    with torch.no_grad(), np.errstate(all="ignore"):
        parts = [p for p in head.parameters() if p.requires_grad]
        flat = torch.cat([p.detach().flatten().double().cpu() for p in parts])
        moved = torch.from_numpy(safe_prox(domain, flat.numpy(), step_size))
        for part, value in zip(parts, moved.split([p.numel() for p in parts]), strict=True):
            part.copy_(value.view_as(part))


def _logistic(norm: float, outputs: int, clip: float) -> Objective | None:
    return _one_margin(losses.logistic(norm).smoothness, clip) if outputs == 1 else None


def _squared(norm: float, outputs: int, clip: float) -> Objective | None:
    curvature = losses.least_squares(norm, clip=clip).smoothness
    assert curvature is not None
    return _one_margin(2.0 * curvature, clip) if outputs == 1 else None  # MSELoss has no half


def _softmax(norm: float, outputs: int, clip: float) -> Objective | None:
    plain = losses.softmax(norm)
    assert plain.gradient_bound is not None
    if outputs == 2:  # p - e_y lies along (1, -1): one margin
        return _one_margin(plain.smoothness, clip)
    if clip >= plain.gradient_bound + SOFTENING:  # never acts
        return plain
    return replace(plain, gradient_bound=clip, clipped=True)


def _one_margin(smoothness: float | None, clip: float) -> Objective:
    """A loss of one margin: whatever the label, clipping keeps it convex and as smooth."""
    return Objective(
        gradient_bound=clip,
        smoothness=smoothness,
        strong_convexity=0.0,
        clipped=True,
        form=LossForm.GLM,
    )


_OBJECTIVES: dict[type, Callable[[float, int, float], Objective | None]] = {
    nn.BCEWithLogitsLoss: _logistic,
    nn.MSELoss: _squared,
    nn.CrossEntropyLoss: _softmax,
}
