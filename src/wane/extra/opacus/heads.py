"""The last layer and its loss, as they are found: features of a bounded norm, one `nn.Linear`.

A loss is recognised by what it does.  Opacus hands the optimizer the sum of the clipped gradients
of a batch.  For a linear layer this sum is `sum_i min(1, C/(|r_i| |a_i| + 1e-6)) r_i a_i^T`, where
a_i are the features and r_i the derivative of record i's loss by the outputs.  Each `Loss` here
says what r_i is for given outputs and labels, and what is known of that loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from wane import arguments, losses
from wane.describe import LossForm, Objective
from wane.describe.domains import Domain
from wane.errors import MissingExtra
from wane.run.descent import safe_prox

try:
    import torch
    from torch import nn
except ImportError:
    raise MissingExtra("This bridge needs torch; install wane[torch].") from None

SOFTENING = 1e-6
"""Opacus divides by the gradient's norm plus this."""
READ_OFF = 1.0 + 1e-4
"""Room for the error of a weight that is read off gradients in single precision."""


class BoundedFeatures(nn.Module):  # type: ignore[misc]
    """Scale longer rows down to a public norm; a row without a finite norm becomes zero."""

    def __init__(self, norm: float = 1.0) -> None:
        super().__init__()
        self.norm = arguments.real("norm", norm, above=0.0)
        self.tell: Callable[[Any, float], None] | None = None
        """Who is told of every output, with the norm; a hook would cost more than the layer."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, which reports to no watcher: it is another layer."""
        return {**self.__dict__, "tell": None}

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the rows, each within the norm after rounding."""
        room = self.norm * (1.0 - (rows.shape[-1] + 16) * torch.finfo(rows.dtype).eps)
        norms = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        made = torch.where(norms.isfinite(), rows * (room / norms.clamp(min=room)), 0.0)
        if self.tell is not None:
            self.tell(made, self.norm)
        return made


def bounded_head(
    features: int, outputs: int, *, feature_norm: float, bias: bool = False
) -> nn.Sequential:
    """Return a linear layer on bounded features, starting at zero.

    With a bias, the constant coordinate 1 counts in the norm, which must then be above 1.
    """
    arguments.whole("features", features, least=1)
    arguments.whole("outputs", outputs, least=1)
    arguments.real("feature_norm", feature_norm, above=1.0 if bias else 0.0)
    room = math.sqrt(feature_norm**2 - 1.0) if bias else feature_norm
    head = nn.Sequential(BoundedFeatures(room), nn.Linear(features, outputs, bias=bias))
    for parameter in head.parameters():
        nn.init.zeros_(parameter)
    return head


@dataclass(frozen=True)
class Kind:
    """What the constants of a loss depend on.

    Attributes:
        norm: the bound on a record's features, the constant of a trained bias included.
        outputs: how many the layer has.
        share: what each output's loss counts for: 1/outputs where PyTorch averages over them.
        clip: the clipping threshold.
    """

    norm: float
    outputs: int
    share: float
    clip: float


class Loss(Protocol):
    """A loss of the outputs and a label; see the module's first lines."""

    def residual(self, outputs: Any, labels: Any, share: float) -> Any:
        """Return r, one row for each record, or None if these cannot be the labels."""

    def objective(self, kind: Kind) -> Objective:
        """Return the constants of the clipped loss."""


@dataclass(frozen=True)
class Logistic:
    """`nn.BCEWithLogitsLoss`; `weight` is its `pos_weight`, one number."""

    weight: float = 1.0

    def residual(self, outputs: Any, labels: Any, share: float) -> Any:
        """Return the probability less the label, times the weight where the label is 1."""
        y = numbers_of(labels, outputs)
        if y is None:
            return None
        if self.weight == 1.0:
            r = torch.sigmoid(outputs) - y
        elif bool(((y < 0.0) | (y > 1.0)).any()):
            return None  # the weighted loss of such a label need not be convex
        else:
            r = (1.0 - y) * torch.sigmoid(outputs) - self.weight * y * torch.sigmoid(-outputs)
        return r if share == 1.0 else r * share

    def objective(self, kind: Kind) -> Objective:
        """Return constants with curvature R^2/4, times the larger of the weight and 1."""
        curvature = losses.logistic(kind.norm).smoothness
        assert curvature is not None
        form = LossForm.GLM if kind.outputs == 1 else LossForm.GENERAL
        weight = max(self.weight * READ_OFF, 1.0) if self.weight != 1.0 else 1.0
        return _clipped(curvature * weight * kind.share, kind.clip, form)


@dataclass(frozen=True)
class Squared:
    """`nn.MSELoss`, which has no half."""

    def residual(self, outputs: Any, labels: Any, share: float) -> Any:
        """Return twice the error."""
        y = numbers_of(labels, outputs)
        return None if y is None else (outputs - y) * (2.0 * share)

    def objective(self, kind: Kind) -> Objective:
        """Return constants with curvature 2 R^2; several outputs make the loss radial."""
        curvature = losses.least_squares(kind.norm, clip=kind.clip).smoothness
        assert curvature is not None
        form = LossForm.GLM if kind.outputs == 1 else LossForm.RADIAL
        return _clipped(2.0 * curvature * kind.share, kind.clip, form)


@dataclass(frozen=True)
class Huber:
    """`nn.HuberLoss` and `nn.SmoothL1Loss` of width 1."""

    def residual(self, outputs: Any, labels: Any, share: float) -> Any:
        """Return the error, at most 1."""
        y = numbers_of(labels, outputs)
        return None if y is None else (outputs - y).clamp(-1.0, 1.0) * share

    def objective(self, kind: Kind) -> Objective:
        """Return constants with curvature R^2."""
        curvature = losses.huber(kind.norm, width=1.0).smoothness
        assert curvature is not None
        form = LossForm.GLM if kind.outputs == 1 else LossForm.GENERAL
        return _clipped(curvature * kind.share, kind.clip, form)


@dataclass(frozen=True)
class Softmax:
    """`nn.CrossEntropyLoss` on the numbers of the classes."""

    def residual(self, outputs: Any, labels: Any, share: float) -> Any:
        """Return the probabilities, less 1 at the label."""
        fits = labels.ndim == 1 and len(labels) == len(outputs) and outputs.shape[1] > 1
        if not fits or labels.is_floating_point() or labels.is_complex():
            return None
        classes = labels.to(outputs.device, torch.int64)
        if len(classes) and not 0 <= int(classes.min()) <= int(classes.max()) < outputs.shape[1]:
            return None
        # by columns: PyTorch takes seven times as long for short rows
        r = torch.softmax(outputs.T.contiguous(), dim=0)
        minus = torch.full((1, 1), -1.0, dtype=r.dtype, device=r.device)
        return r.scatter_add_(0, classes[None], minus.expand(1, len(classes))).T

    def objective(self, kind: Kind) -> Objective:
        """Return constants with curvature R^2/2; two classes are one margin, so a linear model."""
        plain = losses.softmax(kind.norm)
        assert plain.gradient_bound is not None
        if kind.outputs == 2:  # p - e_y lies along (1, -1)
            return _clipped(plain.smoothness, kind.clip, LossForm.GLM)
        if kind.clip >= plain.gradient_bound + SOFTENING:  # never acts
            return plain
        return replace(plain, gradient_bound=kind.clip, clipped=True)


LOSSES: tuple[Loss, ...] = (Softmax(), Logistic(), Squared(), Huber())
"""What is tried, in this order, on the first batch; a weight of the positive labels is read off."""


def leaves(batch: Any) -> Iterator[Any]:
    """Every tensor of a batch, however it is nested."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif isinstance(batch, dict):
        for part in batch.values():
            yield from leaves(part)
    elif isinstance(batch, list | tuple):
        for part in batch:
            yield from leaves(part)


def project(parameters: list[Any], domain: Domain, step_size: float) -> None:
    """Apply the domain's prox to the trained weights, all of them as one vector."""
    with torch.no_grad(), np.errstate(all="ignore"):
        flat = torch.cat([p.detach().flatten().double().cpu() for p in parameters])
        moved = torch.from_numpy(safe_prox(domain, flat.numpy(), step_size))
        sizes = [p.numel() for p in parameters]
        for part, value in zip(parameters, moved.split(sizes), strict=True):
            part.copy_(value.view_as(part))


def _clipped(smoothness: float | None, clip: float, form: LossForm) -> Objective:
    """Return a convex loss with the curvature it has before it is clipped."""
    return Objective(
        gradient_bound=clip,
        smoothness=smoothness,
        strong_convexity=0.0,
        clipped=True,
        form=form,
    )


def numbers_of(labels: Any, outputs: Any) -> Any:
    """Labels in the outputs' shape and precision; None if they have another number of entries."""
    if labels.numel() != outputs.numel() or labels.is_complex():
        return None
    if labels.ndim > 1 and labels.shape[0] != len(outputs):
        return None
    return labels.detach().to(outputs.device, outputs.dtype).reshape(outputs.shape)
