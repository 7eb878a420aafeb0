"""What each command does: a description in, data and text out."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict, replace
from typing import Any

from wane import report
from wane.certify import Calibrated, calibrate, certify, curve
from wane.describe import NoisyDescent
from wane.describe.fields import run_from_fields
from wane.describe.files import parse, read_run
from wane.errors import InvalidDescription

Result = tuple[dict[str, Any], str]


def certify_spec(options: Namespace) -> Result:
    """`wane certify`."""
    certificate = certify(read_run(options.spec))
    if options.epsilon is not None:
        made = report.certificate_fields(certificate, epsilon=options.epsilon)
    else:
        made = report.certificate_fields(certificate, delta=_proper(options.delta))
    return made, report.certificate_text(made)


def calibrate_spec(options: Namespace) -> Result:
    """`wane calibrate`."""
    result = calibrate(
        read_run(options.spec), epsilon=options.epsilon, delta=options.delta, over=options.over
    )
    made = report.calibrated_fields(result, options.delta)
    return made, _calibrated_text(result, made)


def explain_spec(options: Namespace) -> Result:
    """`wane explain`."""
    certificate = certify(read_run(options.spec))
    delta = _proper(options.delta)
    made = {"delta": delta, "verdicts": report.verdict_fields(certificate, delta)}
    return made, certificate.explain(delta)


def audit_spec(options: Namespace) -> Result:
    """`wane audit`."""
    certificate = certify(read_run(options.spec))
    made = report.bracket_fields(certificate, _proper(options.delta))
    return made, report.bracket_text(made)


def curve_spec(options: Namespace) -> Result:
    """`wane curve`."""
    made = curve(
        read_run(options.spec),
        over=options.over,
        start=options.start,
        stop=options.stop,
        points=options.points,
        delta=_proper(options.delta),
    )
    if options.plot:
        from wane.plots import save_curve

        save_curve(made, options.plot)
    return report.curve_fields(made), report.curve_text(made)


def mixing_spec(options: Namespace) -> Result:
    """`wane mixing`."""
    from wane.mixing import mixing

    found = mixing(read_run(options.spec), options.tv)
    made = asdict(found)
    printed = "its step size is too large" if found.printed_steps is None else found.printed_steps
    text = (
        f"{found.steps} steps bring the total variation to stationarity to {found.tv:.6g} or less\n"
        f"  in blocks of {found.block}, each by a factor {found.block_tv:.6g} ({found.theorem})\n"
        f"  the paper's theorem: {printed}"
    )
    return made, text


def reproduce(options: Namespace) -> Result:
    """`wane reproduce`."""
    from wane.reproduce import reproduce as write

    written = [str(path) for path in write(options.name, options.out)]
    return {"written": written}, "\n".join(written)


def demo(options: Namespace) -> Result:
    """`wane demo`."""
    run = bundled("logistic")
    delta = _proper(options.delta)
    rows = []
    for factor in (1, 10, 100):
        longer = replace(run, steps=run.total_steps * factor)
        fields = report.certificate_fields(certify(longer), delta=delta)
        rows.append((longer.total_steps, fields))
    target = calibrate(run, epsilon=1.0, delta=delta)
    data = {
        "certificates": [{"steps": steps, **fields} for steps, fields in rows],
        "calibrated": report.calibrated_fields(target, delta),
    }
    return data, _demo_text(rows, target, delta)


def mechanism(options: Namespace) -> Result:
    """`wane mechanism`."""
    from wane.mechanisms import PrivacyTarget, summaries  # slow to import

    names = ("epsilon", "delta", "mu", "order", "divergence")
    target = PrivacyTarget(**{name: getattr(options, name) for name in names})
    summary = {
        "ou": summaries.ornstein_uhlenbeck_summary,
        "brownian": summaries.brownian_summary,
    }[options.kind]
    return summary(
        sensitivity=options.sensitivity,
        norm_bound=options.norm_bound,
        dimension=options.dimension,
        time=options.time,
        target=target,
    )


def kernel(options: Namespace) -> Result:
    """`wane kernel`."""
    from wane.mechanisms import summaries  # slow to import

    return summaries.kernel_summary(
        options.matrix,
        epsilon=options.epsilon,
        delta=options.delta,
        power=options.power,
        points=options.points,
    )


def bundled(name: str) -> NoisyDescent:
    """Return a description that ships with wane."""
    from importlib.resources import files

    raw = (files("wane.cli.specs") / f"{name}.toml").read_bytes()
    return run_from_fields(parse(raw, name))


def _proper(delta: float) -> float:
    if not 0.0 < delta < 1.0:
        raise InvalidDescription(f"delta must be between 0 and 1, got {delta:g}.")
    return delta


def _calibrated_text(result: Calibrated, made: dict[str, Any]) -> str:
    lines = [f"{made['over']:<8} {made['value']:.10g}", report.certificate_text(made)]
    if not result.limited:
        lines.append("The guarantee has levelled off below the target: more would do as well.")
    return "\n".join(lines)


def _demo_text(rows: list[tuple[int, dict[str, Any]]], target: Calibrated, delta: float) -> str:
    lines = [
        f"Cyclic noisy SGD, softmax regression on 60000 records, delta = {delta:g}.",
        "Only the last model leaves the room.  What it costs, by accountant:",
        "",
        f"{'steps':>10}  {'composition':>12}  {'wane':>10}",
    ]
    for steps, fields in rows:
        composed, ours = (report.shown(fields[n]) for n in ("composition_epsilon", "epsilon"))
        lines.append(f"{steps:>10}  {composed:>12}  {ours:>10}")
    noise = target.run.noise
    assert noise is not None
    lines += [
        "",
        f"For epsilon = 1 after {target.run.total_steps} steps: noise multiplier "
        f"{noise.value:.6g} (theorem {target.certificate.best(delta).analysis.name}).",
    ]
    return "\n".join(lines)
