"""What the command line says about a mechanism or a kernel: fields for JSON, and text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wane import arguments
from wane.describe import Adjacency
from wane.describe.diffusion import (
    BrownianMechanism,
    GaussianDiffusion,
    OrnsteinUhlenbeckMechanism,
)
from wane.errors import InvalidDescription
from wane.mechanisms.calibration import (
    PrivacyTarget,
    calibrated_brownian,
    calibrated_ornstein_uhlenbeck,
)
from wane.mechanisms.kernel_calibration import calibrated_power
from wane.report.text import round_up_to
from wane.theorems.kernel.amplifying import ContinuousKernel
from wane.theorems.kernel.kernels import Amplification, MarkovKernel

Summary = tuple[dict[str, Any], str]


def ornstein_uhlenbeck_summary(
    *,
    sensitivity: float,
    norm_bound: float | None,
    dimension: int | None,
    time: float | None,
    target: PrivacyTarget,
    adjacency: str | None = None,
) -> Summary:
    """The calibrated Ornstein-Uhlenbeck release and its errors."""
    if norm_bound is None or dimension is None:
        raise InvalidDescription(
            "norm-bound and dimension must be given: the best pull to the origin depends on them."
        )
    made = calibrated_ornstein_uhlenbeck(
        target,
        sensitivity=sensitivity,
        norm_bound=norm_bound,
        dimension=dimension,
        time=1.0 if time is None else time,
    )
    return _release_summary("ou", made, target, adjacency)


def brownian_summary(
    *,
    sensitivity: float,
    norm_bound: float | None,
    dimension: int | None,
    time: float | None,
    target: PrivacyTarget,
    adjacency: str | None = None,
) -> Summary:
    """The calibrated Brownian release and its errors."""
    if time is not None:
        raise InvalidDescription("time must be left out: it is what brownian calibrates.")
    made = calibrated_brownian(
        target, sensitivity=sensitivity, norm_bound=norm_bound, dimension=dimension
    )
    return _release_summary("brownian", made, target, adjacency)


def _release_summary(
    kind: str,
    made: BrownianMechanism | OrnsteinUhlenbeckMechanism,
    target: PrivacyTarget,
    adjacency: str | None,
) -> Summary:
    fields: dict[str, Any] = {
        "mechanism": kind,
        "mu": made.mu,
        "scale": made.scale,
        "noise_std": made.noise_std,
        "sensitivity": made.sensitivity,
        "norm_bound": made.norm_bound,
        "dimension": made.dimension,
        "time": made.time,
        "diffusion_scale": made.diffusion_scale,
        "reversion": getattr(made, "reversion", 0.0),
        **_privacy(made, target),
        **_errors(made),
    }
    if adjacency is not None:
        declared = replace(made, adjacency=Adjacency(adjacency))
        fields["description"] = declared.to_fields()
    return fields, _release_text(fields)


def _privacy(made: GaussianDiffusion, target: PrivacyTarget) -> dict[str, float | None]:
    """Epsilon at the target's delta, never beyond the target."""
    delta = target.delta
    if delta is None:
        return {"epsilon": None, "delta": None}
    return {"epsilon": made.guarantee.epsilon(delta), "delta": delta}


def _errors(made: GaussianDiffusion) -> dict[str, float | None]:
    names = ("mean_squared_error", "plain_gaussian_error", "shrunk_gaussian_error", "best_scale")
    if made.norm_bound is None or made.dimension is None:
        return dict.fromkeys(names)
    found = made.comparison()
    values = (found.mechanism, found.plain_gaussian, found.shrunk_gaussian, found.best_scale)
    return dict(zip(names, values, strict=True))


def _release_text(fields: dict[str, Any]) -> str:
    lines = [
        f"release   {fields['scale']:.10g} * statistic + Normal(0, {fields['noise_std']:.10g}^2)",
        f"mu        {round_up_to(fields['mu'])}",
    ]
    if fields["epsilon"] is not None:
        epsilon, delta = round_up_to(fields["epsilon"]), round_up_to(fields["delta"])
        lines.append(f"epsilon   {epsilon} at delta {delta}")
    if fields["mean_squared_error"] is not None:
        lines += [
            f"worst mean squared error   {fields['mean_squared_error']:.6g}",
            f"  plain Gaussian           {fields['plain_gaussian_error']:.6g}",
            f"  best scaled Gaussian     {fields['shrunk_gaussian_error']:.6g}",
        ]
    return "\n".join(lines)


def kernel_summary(
    path: str,
    *,
    epsilon: float,
    delta: float,
    power: int = 1,
    points: int = 21,
    target: tuple[float | None, float | None] = (None, None),
    noise: ContinuousKernel | None = None,
) -> Summary:
    """Amplification by a kernel read from a file, or by one of noise, or by a power of it.

    With a `target` epsilon or delta (the other one stays as it is) the power is the smallest that
    meets it.
    """
    points = arguments.whole("points", points, least=2, most=10_000)
    kernel = MarkovKernel.read(path) if noise is None else noise
    if target != (None, None):
        wanted = [b if t is None else t for t, b in zip(target, (epsilon, delta), strict=True)]
        made = calibrated_power(kernel, (epsilon, delta), epsilon=wanted[0], delta=wanted[1])
        kernel, power = made.kernel, made.power
    elif power != 1:
        kernel = kernel.power(power)
    found = kernel.amplify(epsilon=epsilon, delta=delta)
    grid = [epsilon * i / (points - 1) for i in range(points)]
    curve = kernel.amplified_curve(grid, epsilon=epsilon, delta=delta)
    witness = kernel.doeblin.witness if isinstance(kernel, MarkovKernel) else None
    statements = vars(found) if isinstance(found, Amplification) else found
    fields: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": statements["exact"].delta,
        "delta_before": delta,
        "power": power,
        "inputs": kernel.inputs if isinstance(kernel, MarkovKernel) else None,
        "outputs": kernel.outputs if isinstance(kernel, MarkovKernel) else None,
        "dobrushin": kernel.dobrushin,
        "doeblin": kernel.doeblin_coefficient,
        "doeblin_witness": None if witness is None else witness.tolist(),
        "ultra_mixing": kernel.ultra_mixing,
        "curve": [[e, d] for e, d in zip(grid, curve, strict=True)],
        "statements": {
            name: {"epsilon": point.epsilon, "delta": point.delta}
            for name, point in statements.items()
        },
    }
    return fields, _kernel_text(fields)


def _kernel_text(fields: dict[str, Any]) -> str:
    epsilon = round_up_to(fields["epsilon"])
    states = f"{fields['inputs']} inputs, {fields['outputs']} outputs"
    kind = "noise on a bounded input" if fields["inputs"] is None else states
    shown = f"{kind}, power {fields['power']}"
    lines = [
        f"kernel        {shown}",
        f"dobrushin     {round_up_to(fields['dobrushin'])}",
        f"doeblin       {round_up_to(fields['doeblin'])}",
        f"ultra-mixing  {round_up_to(fields['ultra_mixing'])}",
        f"({epsilon}, {round_up_to(fields['delta_before'])}) before, "
        f"({epsilon}, {round_up_to(fields['delta'])}) after; exact at other epsilons:",
    ]
    lines += [f"  {round_up_to(e):>10}  {round_up_to(d)}" for e, d in fields["curve"]]
    return "\n".join(lines)
