"""Is what was summed the gradient of a known loss, and did the weights move as described?

Each step leaves its evidence here.  The first batches decide which loss it is; after that the
evidence of many steps is examined together, each step for itself, which costs little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import torch

from wane.extra.opacus.heads import LOSSES, SOFTENING, Kind, Logistic, Loss, numbers_of

CLOSE = 4e-6
"""How far sums in single precision may be from one another, relative to what was added."""
MOST_STEPS, MOST_NUMBERS = 32, 4_000_000
"""How much evidence is kept before it is examined."""
UNKNOWN = (
    "the gradients are not those of a loss that wane knows on the loader's labels: "
    "BCEWithLogitsLoss, MSELoss, HuberLoss of width 1 or CrossEntropyLoss, unscaled, called once, "
    "and no gradient changed by a hook"
)
ONE_BACKWARD = "there was not exactly one backward pass for each forward pass"


@dataclass(frozen=True)
class Rows:
    """One pass of the layer: features, outputs, and what each backward pass sent to the outputs."""

    features: Any
    outputs: Any
    gradients: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Evidence:
    """One step: its passes, the tensors that the loader handed out for each, and the sums."""

    passes: tuple[Rows, ...]
    labels: tuple[tuple[Any, ...], ...]
    weight_sum: Any
    bias_sum: Any

    @property
    def rows(self) -> int:
        """How many records took part."""
        return sum(len(one.features) for one in self.passes)


@dataclass(frozen=True)
class Reading:
    """A loss, and which tensor of a batch holds its labels."""

    loss: Loss
    place: int


class Witness:
    """Recognises the loss, and then asks of every step whether it was still that one."""

    def __init__(self, outputs: int, averaged: bool) -> None:
        self._outputs, self._averaged = outputs, averaged
        self._share = 1.0 / outputs if averaged else 1.0
        self._readings: list[Reading] | None = None
        self._weight_is_open = True
        self._pending: list[Evidence] = []
        self._numbers = 0

    @property
    def loss(self) -> Loss | None:
        """The loss, once only one is left."""
        found = {one.loss for one in self._readings or ()}
        return found.pop() if len(found) == 1 else None

    def kind(self, norm: float, clip: float) -> Kind:
        """What the constants of the loss depend on."""
        return Kind(norm, self._outputs, self._share, clip)

    def see(self, step: Evidence, clip: float) -> str | None:
        """Take up a step; return what is wrong, if that is known already."""
        if not step.rows:
            return "a batch without records had a gradient" if step.weight_sum.any() else None
        if self._readings is None or len(self._readings) > 1 or self._weight_is_open:
            return self._narrow(step, clip)
        self._pending.append(step)
        self._numbers += sum(one.features.numel() for one in step.passes)
        full = len(self._pending) >= MOST_STEPS or self._numbers > MOST_NUMBERS
        return self.settle(clip) if full else None

    def settle(self, clip: float) -> str | None:
        """Examine what is pending; return what is wrong."""
        pending, self._pending, self._numbers = self._pending, [], 0
        if not pending:
            return None
        assert self._readings is not None
        if self._agree(self._readings[0], pending, clip):
            return None
        return f"the gradients are no longer those of {self._readings[0].loss!r} on the labels"

    def clips(self, step: Evidence, clip: float) -> bool:
        """Whether the sum is that of the gradients sent back, each of them clipped."""
        passes = list(step.passes)
        return not step.rows or _sums_agree([step], passes, self._residuals(passes), clip)

    def _narrow(self, step: Evidence, clip: float) -> str | None:
        """Keep the readings that this step agrees with."""
        places = min(len(found) for found in step.labels)
        tried = self._readings
        if tried is None:
            tried = [Reading(loss, place) for place in range(places) for loss in LOSSES]
        kept = [one for one in tried if self._agree(one, [step], clip)]
        if not kept and self._weight_is_open:  # without a positive label any weight agrees
            logistic = [one.place for one in tried if isinstance(one.loss, Logistic)]
            kept = [one for p in logistic if (one := self._weighted(step, p, clip)) is not None]
        if not kept:
            return UNKNOWN if self._readings is None else f"{UNKNOWN} (they were, at first)"
        self._readings = kept
        unsure = isinstance(kept[0].loss, Logistic) and kept[0].loss.weight == 1.0
        self._weight_is_open = unsure and not _has_positive(step, kept[0].place)
        return None

    def _weighted(self, step: Evidence, place: int, clip: float) -> Reading | None:
        """A logistic loss with the weight of positives that this batch shows."""
        outputs = torch.cat([one.outputs for one in step.passes])
        y = numbers_of(torch.cat([labels[place] for labels in step.labels]), outputs)
        if y is None or self._outputs != 1:
            return None
        weights = self._residuals(step.passes) / -torch.sigmoid(-outputs)
        weights = weights[(y == 1.0) & weights.isfinite()].double()
        weight = float(weights.median()) if len(weights) else 0.0
        made = Reading(Logistic(weight), place)
        return made if weight > 0.0 and self._agree(made, [step], clip) else None

    def _residuals(self, passes: Sequence[Rows]) -> Any:
        """The derivatives of single records' losses, as they were sent back to the outputs."""
        parts = [one.gradients[0] for one in passes]
        if self._averaged:
            parts = [part * len(part) for part in parts]
        return torch.cat(parts)

    def _agree(self, reading: Reading, steps: list[Evidence], clip: float) -> bool:
        """Whether the gradients of all these records, and their sums, are those of this loss."""
        passes = [one for step in steps for one in step.passes]
        found = [labels for step in steps for labels in step.labels]
        if any(reading.place >= len(labels) for labels in found):
            return False
        labels = [one[reading.place] for one in found]
        if any(one.ndim == 0 or one.shape[1:] != labels[0].shape[1:] for one in labels):
            return False
        outputs = torch.cat([one.outputs for one in passes])
        residual = reading.loss.residual(outputs, torch.cat(labels), self._share)
        if residual is None:
            return False
        slack = 1e-6 * getattr(reading.loss, "weight", 1.0)  # of probabilities, times the weight
        sent = self._residuals(passes)
        if not bool(((sent - residual).abs() <= 1e-5 * residual.abs() + slack).all()):
            return False
        return _sums_agree(steps, passes, sent, clip)


def _has_positive(step: Evidence, place: int) -> bool:
    return any(bool((labels[place] > 0).any()) for labels in step.labels)


def _sums_agree(steps: list[Evidence], passes: list[Rows], residual: Any, clip: float) -> bool:
    """Whether each step's sum is that of its records' gradients, each clipped as Opacus does."""
    bias = steps[0].bias_sum is not None
    norms = torch.cat([torch.linalg.vector_norm(one.features, dim=1) for one in passes])
    norms = torch.hypot(norms, torch.ones_like(norms)) if bias else norms
    lengths = norms * torch.linalg.vector_norm(residual, dim=1)
    factors = (clip / (lengths + SOFTENING)).clamp(max=1.0)
    scaled, added = residual * factors[:, None], lengths * factors
    ends = [0, *accumulate(len(one.features) for one in passes)]
    parts = [
        scaled[start:end].T @ one.features
        for one, (start, end) in zip(passes, pairwise(ends), strict=True)
    ]
    if any(len(step.passes) > 1 for step in steps):
        bounds = [0, *accumulate(len(step.passes) for step in steps)]
        parts = [sum(parts[start:end]) for start, end in pairwise(bounds)]
    gaps = torch.stack([step.weight_sum for step in steps]) - torch.stack(parts)
    gaps = torch.linalg.vector_norm(gaps.flatten(1), dim=1)
    totals = _by_step(added[:, None], steps)[:, 0]
    if bias:
        theirs = torch.stack([step.bias_sum for step in steps])
        gaps = gaps + torch.linalg.vector_norm(theirs - _by_step(scaled, steps), dim=1)
    return bool((gaps <= CLOSE * (totals + clip)).all())


def _by_step(rows: Any, steps: list[Evidence]) -> Any:
    """Sums of the rows of each step."""
    owner = torch.repeat_interleave(torch.tensor([step.rows for step in steps]))
    made = torch.zeros(len(steps), rows.shape[1], dtype=rows.dtype, device=rows.device)
    return made.index_add_(0, owner.to(rows.device), rows)


class Path:
    """The weights after each step, and whether plain SGD explains every move."""

    def __init__(self) -> None:
        self._weights: list[Any] = []
        self._moves: list[tuple[Any, float, float]] = []

    def begin(self, weights: Any) -> None:
        """Note where the first step starts."""
        if not self._weights:
            self._weights.append(weights)

    def add(self, gradient: Any, rate: float, decay: float, weights: Any) -> bool:
        """Note a step and where it ended; False if the steps examined now are not SGD's."""
        self._moves.append((gradient, rate, decay))
        self._weights.append(weights)
        full = len(self._moves) >= MOST_STEPS or len(self._moves) * weights.numel() > MOST_NUMBERS
        return self.settle() if full else True

    def settle(self) -> bool:
        """Whether every pending step is one of plain SGD."""
        if not self._moves:
            return True
        weights = torch.stack(self._weights)
        gradients = torch.stack([move[0] for move in self._moves])
        rates = torch.tensor([m[1:] for m in self._moves], dtype=weights.dtype).to(weights.device)
        rate, decay = rates[:, :1], rates[:, 1:]
        expected = weights[:-1] * (1.0 - rate * decay) - gradients * rate
        gap = (weights[1:] - expected).abs().amax(dim=1)
        room = 1e-5 * (expected.abs().amax(dim=1) + 1e-6)
        self._weights, self._moves = self._weights[-1:], []
        return bool((gap <= room).all())

    def restart(self, weights: Any) -> None:
        """Go on from other weights: those that a prox has made of the last ones."""
        self._weights = [weights]
