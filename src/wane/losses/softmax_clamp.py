"""The multinomial logistic loss with the label's residual clamped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wane.arrays import Array
from wane.losses import softmax_residuals
from wane.losses.softmax_envelope import BoundedSoftmax


@dataclass(frozen=True)
class SoftmaxClamp(BoundedSoftmax):
    """Softmax with the label's residual clamped: convex, Lipschitz, and in closed form.

    The loss is log(1 + exp(-m)) of the margin m = u_y - log(sum of exp u_j, j not y), a concave
    function of u; clamping the decreasing convex outer function at slope -k keeps both properties.
    The residual is then min(1 - p_y, k) (r - e_y) with r the softmax of the other classes, of
    length at most sqrt(2) k, so k = bound/sqrt(2).
    """

    def residuals(self, margins: Array, targets: Array, bounds: Array) -> Array:
        """Return the derivative of the clamped loss."""
        return softmax_residuals.clamped(margins, targets.astype(np.intp), bounds)
