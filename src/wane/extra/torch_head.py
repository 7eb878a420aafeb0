"""A linear layer with the loss to fit it by, whose records are bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane.arrays import Array
from wane.describe import Objective
from wane.errors import InvalidDescription, MissingExtra
from wane.losses import Loss
from wane.run import LinearSums

try:
    import torch
    from torch import nn
except ImportError:
    raise MissingExtra("This bridge needs torch; install wane[torch].") from None


class LinearHead(nn.Module):  # type: ignore[misc]
    """A linear layer whose records are scaled to a public norm, with the loss to fit it by.

    It starts at zero, in double precision.  `weight` has the shape (features,) for one output, else
    (features, outputs), with one more row, the last, if there is an intercept.  That row is
    a parameter of its own, `bias`, if so asked: for those who keep weight and bias in two groups.
    """

    def __init__(
        self,
        features: int,
        link: Loss,
        *,
        feature_norm: float,
        gradient_bound: float | None = None,
        intercept: float = 0.0,
        bias_apart: bool = False,
    ) -> None:
        """Describe the head.

        Args:
            features: how many a record has.
            link: the loss, which also says what targets look like (-1 and +1 for `Logistic`); a
                record with any other target counts as a null record.
            feature_norm: longer records, intercept included, are scaled down to this length.
            gradient_bound: cap on the length of a record's gradient, below the link's own.
            intercept: value of the constant coordinate, 0 for none.
            bias_apart: whether the intercept's row is a parameter of its own, `bias`.
        """
        super().__init__()
        self.features = arguments.whole("features", features, least=1)
        self.link = link
        self.feature_norm = arguments.real("feature_norm", feature_norm, above=0.0)
        self.gradient_bound = gradient_bound
        self.intercept = arguments.real("intercept", intercept, least=0.0)
        self.objective(0.0)  # a bound that the link refuses is refused here
        rows = self.features + (self.intercept > 0.0)
        if bias_apart and not self.intercept:
            raise InvalidDescription(
                "intercept must be above 0 for a bias apart, got 0: there is no bias; give one, or "
                "leave bias_apart out."
            )
        shape = (rows,) if link.outputs == 1 else (rows, link.outputs)
        start = torch.zeros(shape, dtype=torch.float64)
        self.weight = nn.Parameter(start[: self.features].clone() if bias_apart else start)
        self.bias = nn.Parameter(start[self.features].clone()) if bias_apart else None

    @property
    def public_numbers(self) -> tuple[Any, ...]:
        """All that the constants of the loss depend on."""
        return self.features, self.link, self.feature_norm, self.gradient_bound, self.intercept

    @property
    def iterate(self) -> Array:
        """All trained numbers in double precision, in which every step is taken."""
        parts = [exact(self.weight)]
        if self.bias is not None:
            parts.append(exact(self.bias)[None])
        return np.concatenate(parts)

    def show(self, iterate: Array) -> None:
        """Take these numbers over, in the precision of each parameter."""
        with torch.no_grad():
            for parameter, part in self._parts(iterate):
                parameter.copy_(part)

    def shows(self, iterate: Array) -> bool:
        """Return whether the parameters are these numbers, in the precision of each."""
        return all(
            torch.equal(parameter.detach().cpu(), part.to(known(parameter.dtype)))
            for parameter, part in self._parts(iterate)
        )

    def _parts(self, iterate: Array) -> list[tuple[nn.Parameter, torch.Tensor]]:
        whole = torch.from_numpy(iterate)
        if self.bias is None:
            return [(self.weight, whole)]
        return [(self.weight, whole[:-1]), (self.bias, whole[-1])]

    def objective(self, ridge: float) -> Objective:
        """Return the constants of the bounded loss."""
        return self.link.objective(self.feature_norm, self.gradient_bound, ridge)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the margins of each record, scaled as in training."""
        rows = features.to(self.weight.dtype)
        norms = (rows.square().sum(-1) + self.intercept**2).sqrt()
        scale = (self.feature_norm / norms.clamp(min=self.feature_norm)).to(rows.dtype)
        margins = rows @ self.weight[: self.features]
        if self.intercept:
            bias = self.weight[-1] if self.bias is None else self.bias
            margins = margins + self.intercept * bias
        return margins * (scale if self.link.outputs == 1 else scale.unsqueeze(-1))

    def gradient_sum(
        self,
        features: torch.Tensor,
        targets: torch.Tensor,
        *,
        slack: float = 0.0,
        at: Array | None = None,
        capacity: int | None = None,
    ) -> Array:
        """Return the sum of these records' bounded gradients, to which a step adds its noise.

        It is taken at the present weights, or `at` others of their shape; every bound is made
        smaller by the share `slack`.  With a `capacity` the room for rounding is that of so many
        records, so that it does not tell how many there are.
        """
        if features.ndim != 2 or features.shape[1] != self.features:
            raise InvalidDescription(
                f"features must have {self.features} columns, got shape {tuple(features.shape)}."
            )
        cap = None if self.gradient_bound is None else self.gradient_bound * (1.0 - slack)
        weight = self.iterate if at is None else at
        if not len(features):
            return np.zeros(weight.shape)
        flat = _readable(targets)
        sums = LinearSums(
            _readable(features),
            flat.reshape(-1) if self.link.outputs == 1 else flat,
            self.link,
            feature_norm=self.feature_norm * (1.0 - slack),
            gradient_bound=cap,
            intercept=self.intercept,
            capacity=capacity,
        )
        return sums(weight, slice(0, sums.records))


def known(dtype: torch.dtype) -> torch.dtype:
    """Return a precision that a head may have; refuse others."""
    if dtype not in (torch.float64, torch.float32):
        raise InvalidDescription(
            f"head must hold its weights in double or single precision, got {dtype}; the iterate "
            "is kept in double precision, and half a number would not show it."
        )
    return dtype


def exact(weight: torch.Tensor) -> Array:
    """Return the weights in double precision, in which every step is taken."""
    known(weight.dtype)
    return np.array(weight.detach().double().cpu().numpy())


def _readable(values: torch.Tensor) -> NDArray[Any]:
    if values.dtype in (torch.bfloat16, torch.float16):
        raise InvalidDescription(
            f"features and targets must be in single or double precision, got {values.dtype}; "
            "call .float() on them."
        )
    array: NDArray[Any] = values.detach().cpu().numpy()
    return array
