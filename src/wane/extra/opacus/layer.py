"""The trained layer: where it is, what passes through it, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import torch
from torch import nn

from wane.extra.opacus.evidence import ONE_BACKWARD, Layer, Rows
from wane.extra.opacus.heads import BoundedFeatures


@dataclass(frozen=True)
class Head:
    """The trained layer, and what bounds its features."""

    layer: nn.Linear
    bounds: tuple[BoundedFeatures, ...]

    @cached_property
    def trains_bias(self) -> bool:
        """A bias that is frozen shifts the margin by a constant, which changes nothing."""
        return self.layer.bias is not None and bool(self.layer.bias.requires_grad)

    @property
    def trained(self) -> list[Any]:
        """The layer's trained parameters."""
        return [p for p in self.layer.parameters() if p.requires_grad]

    @property
    def weight_and_bias(self) -> tuple[Any, Any]:
        """The layer's weight, and its bias if that is trained."""
        return self.layer.weight, self.layer.bias if self.trains_bias else None

    def within(self, parameters: list[Any]) -> Layer:
        """Where the layer's numbers lie, if these parameters are written one after another."""
        ends = list(accumulate(p.numel() for p in parameters))
        places = {
            id(p): slice(end - p.numel(), end) for p, end in zip(parameters, ends, strict=True)
        }
        layer = self.layer
        bias = places[id(layer.bias)] if self.trains_bias else None
        frozen = None if self.trains_bias else layer.bias
        return Layer(layer.in_features, layer.out_features, places[id(layer.weight)], bias, frozen)


def head_of(module: nn.Module, trained: set[int]) -> Head | None:
    """Return the one linear layer that holds all trained parameters; None if there is none."""
    for layer in module.modules():
        if type(layer) is not nn.Linear or id(layer.weight) not in trained:
            continue
        if {id(p) for p in layer.parameters() if p.requires_grad} == trained:
            bounds = [m for m in module.modules() if type(m) is BoundedFeatures]
            return Head(layer, tuple(bounds))
    return None


class Pass(NamedTuple):
    """One pass of the layer that is not yet part of a step.

    `kept` is what is examined of the features.  `sent` collects what single backward passes send
    back, where there must be two of them, as in ghost clipping, whose second one is scaled.
    Elsewhere the output itself keeps it, if `keeps`.
    """

    features: Any
    output: Any
    versions: tuple[int, int]
    kept: Any
    keeps: bool
    sent: list[Any] | None = None

    @classmethod
    def twice(cls, features: Any, output: Any) -> Pass:
        """Note a pass before its two backward passes."""
        sent: list[Any] = []
        output.register_hook(lambda gradient: sent.append(gradient.detach().clone()))
        versions = features._version, output._version
        return cls(features, output, versions, features.detach(), False, sent)

    def seen(self) -> Rows | str:
        """Return what it has shown, of two backward passes the first, or say what is wrong."""
        features, output, versions, kept, keeps, sent = self
        if versions != (features._version, output._version):
            return "features or outputs were changed in place"
        gradient = None
        if sent is not None:
            if len(sent) != 2:
                return ONE_BACKWARD
            gradient = sent[0]
        elif keeps:
            gradient = output.grad
            if gradient is None:
                return ONE_BACKWARD
        return Rows(kept, output.detach(), gradient)


class Numbers:
    """The trained numbers of a layer as one vector, read anew each time."""

    def __init__(self, parameters: list[Any]) -> None:
        self._parameters = parameters
        self._places: list[int] = []
        self._views: list[Any] = []

    def now(self) -> Any:
        """Return a copy of them."""
        return torch.cat(self._seen())

    def with_gradient(self) -> Any:
        """Return a copy of them, followed by their gradient."""
        return torch.cat([*self._seen(), *[p.grad.flatten() for p in self._parameters]])

    def _seen(self) -> list[Any]:
        """Return views of the parameters' memory, made anew where a parameter has moved."""
        places = [p.data_ptr() for p in self._parameters]
        if places != self._places:
            self._views = [p.detach().reshape(-1) for p in self._parameters]
            # of a parameter that is not contiguous this is a copy, and must be made each time
            self._places = [view.data_ptr() for view in self._views]
        return self._views
