"""What each command does: a description in, data and text out."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from wane import report
from wane.certificates import (
    Calibrated,
    Certificate,
    Circumstances,
    calibrate,
    calibrated_fields,
    certificate_document,
    certificate_fields,
    certify,
    change_fields,
    curve,
    curve_fields,
    verdict_fields,
)
from wane.certificates.parts import DEFAULT_DELTA
from wane.cli.folder import check_new, new_file, write_text
from wane.cli.options import Result, particulars_of
from wane.describe import NoisyDescent
from wane.describe.facts import stated_from_fields
from wane.describe.fields import description_from_fields, is_mechanism, run_from_fields
from wane.describe.files import parse, read_table
from wane.errors import InvalidDescription
from wane.losses.files import read_run, spelled_out

if TYPE_CHECKING:
    from wane.theorems.kernel.amplifying import ContinuousKernel


def certify_spec(options: Namespace) -> Result:
    """`wane certify`."""
    if options.html is not None:
        check_new(options.html, force=options.force)
    certificate = _certified(options.spec)
    # the text shows so little that the whole curve would be computed for nothing
    whole = options.json or options.html is not None
    at: dict[str, Any] = {"delta": proper(options.delta)}
    if options.epsilon is not None:
        at = {"epsilon": options.epsilon}
    if whole:
        circumstances = Circumstances(particulars=particulars_of(options))
        made = certificate_document(certificate, circumstances=circumstances, **at)
    else:
        made = certificate_fields(certificate, **at)
    if options.html is not None:
        with new_file(options.html, force=options.force) as place:
            write_text(place, report.html_page(made))
    return made, report.certificate_text(made)


def calibrate_spec(options: Namespace) -> Result:
    """`wane calibrate`."""
    result = calibrate(
        _described(options.spec),
        epsilon=options.epsilon,
        delta=options.delta,
        renyi=None if options.renyi is None else tuple(options.renyi),
        zcdp=options.zcdp,
        mu=options.mu,
        advantage=options.advantage,
        attack=None if options.attack is None else tuple(options.attack),
        guess=None if options.guess is None else tuple(options.guess),
        over=options.over,
    )
    shown_at = DEFAULT_DELTA if options.delta is None else options.delta
    made = calibrated_fields(result, shown_at)
    return made, _calibrated_text(result, made)


def explain_spec(options: Namespace) -> Result:
    """`wane explain`."""
    certificate = _certified(options.spec)
    delta = proper(options.delta)
    change = change_fields(certificate.best_change(delta))
    made = {"delta": delta, "verdicts": verdict_fields(certificate, delta), "best_change": change}
    return made, certificate.explain(delta)


def curve_spec(options: Namespace) -> Result:
    """`wane curve`."""
    if options.plot:
        check_new(options.plot, force=options.force)
    made = curve(
        _described(options.spec),
        over=options.over,
        start=options.start,
        stop=options.stop,
        points=options.points,
        delta=proper(options.delta),
    )
    if options.plot:
        from wane.plots import save_curve

        save_curve(made, options.plot)
    fields = curve_fields(made)
    return fields, report.curve_text(fields)


def mixing_spec(options: Namespace) -> Result:
    """`wane mixing`."""
    from wane.audit.mixing_law import fewest_mixing_steps
    from wane.mixing import mixing
    from wane_papers.modulus.printed_mixing import printed_steps

    run = read_run(options.spec)
    if options.after is not None:
        return _forgotten(run, options.after)
    found, steps = mixing(run, options.tv), printed_steps(run, options.tv)
    least = fewest_mixing_steps(run, options.tv)
    made = asdict(found) | {"printed_steps": steps, "at_least_steps": least}
    printed = "it says nothing of such steps" if steps is None else steps
    whole, each = report.shown(found.tv), report.shown(found.block_tv)
    text = (
        f"{found.steps} steps bring the total variation to stationarity to {whole} or less\n"
        f"  in blocks of {found.block}, each by a factor {each} ({found.theorem})\n"
        f"  an exact member of the class needs at least: {least or 'none is known'}\n"
        f"  the paper's theorem: {printed}"
    )
    return made, text


def _forgotten(run: NoisyDescent, steps: int) -> Result:
    """How close two copies are after so many steps, beside the paper's infimum over exponents."""
    from wane.mixing import forgotten
    from wane_papers.modulus.printed_mixing import adaptive_kl

    found, printed = forgotten(run, steps), adaptive_kl(run, steps)
    said = "it says nothing of such steps"
    if printed is not None:
        said = f"{report.shown(printed[0])} at Hoelder exponent {printed[1]:.4g}"
    made = asdict(found) | {
        "printed_kl": printed and printed[0],
        "exponent": printed and printed[1],
    }
    text = (
        f"after {steps} steps, from any two starts: Kullback-Leibler divergence "
        f"{report.shown(found.kl)} or less, total variation {report.shown(found.tv)} or less\n"
        f"  the paper's infimum over exponents, equation (9), bounds on the whole space: {said}"
    )
    return made, text


def reproduce(options: Namespace) -> Result:
    """`wane reproduce`."""
    from wane_papers.reproduce import reproduce as write

    written = [str(path) for path in write(options.name, options.out)]
    return {"written": written}, "\n".join(written)


def mechanism(options: Namespace) -> Result:
    """`wane mechanism`."""
    from wane.mechanisms import PrivacyTarget, summaries  # slow to import

    names = ("epsilon", "delta", "mu", "order", "divergence")
    target = PrivacyTarget(**{name: getattr(options, name) for name in names})
    if options.kind == "linear":
        from wane.mechanisms.linear_summary import linear_summary  # slow to import

        shapes = ("box", "ellipsoid", "centre", "sensitivity_matrix")
        given = {name: getattr(options, name) for name in shapes}
        return linear_summary(target, sensitivity=options.sensitivity, time=options.time, **given)
    if options.sensitivity is None:
        raise InvalidDescription("sensitivity must be given, got None.")
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
        adjacency=options.adjacency,
    )


def kernel(options: Namespace) -> Result:
    """`wane kernel`."""
    from wane.mechanisms import summaries  # slow to import

    return summaries.kernel_summary(
        options.matrix,
        noise=_noise_kernel(options),
        epsilon=options.epsilon,
        delta=options.delta,
        power=options.power,
        points=options.points,
        target=(options.target_epsilon, options.target_delta),
    )


def _noise_kernel(options: Namespace) -> ContinuousKernel | None:
    """Return the kernel of noise named in place of a file; None if a file is named."""
    from wane.mechanisms import GaussianKernel, LaplaceKernel  # slow to import

    given = (options.noise, options.diameter)
    if options.matrix not in ("gaussian", "laplace"):
        if given != (None, None) or options.projected:
            raise InvalidDescription(
                "noise, diameter and projected must be left out where a matrix is given."
            )
        return None
    if None in given:
        raise InvalidDescription("noise and diameter must be given for a kernel of noise.")
    shared = {
        "diameter": options.diameter,
        "lipschitz": options.lipschitz,
        "projected": options.projected,
    }
    if options.matrix == "gaussian":
        return GaussianKernel(noise_std=options.noise, **shared)
    return LaplaceKernel(scale=options.noise, **shared)


def _described(spec: str) -> Any:
    """Return what a file describes, of whatever kind."""
    return description_from_fields(spelled_out(read_table(spec)))


def _certified(spec: str) -> Certificate:
    return certified(read_table(spec))


def certified(given: Any) -> Certificate:
    """Return the certificate of a described release, with the facts that stand beside a run."""
    if is_mechanism(given):
        return certify(description_from_fields(given))
    stated = stated_from_fields(spelled_out(given))
    return certify(stated.run, facts=stated.facts)


def bundled(name: str) -> NoisyDescent:
    """Return a description that ships with wane."""
    from importlib.resources import files

    raw = (files("wane.cli.specs") / f"{name}.toml").read_bytes()
    return run_from_fields(spelled_out(parse(raw, name)))


def proper(delta: float) -> float:
    """Return a delta between 0 and 1, or refuse it."""
    if not 0.0 < delta < 1.0:
        raise InvalidDescription(f"delta must be between 0 and 1, got {delta:g}.")
    return delta


def _calibrated_text(result: Calibrated[Any], made: dict[str, Any]) -> str:
    lines = [f"{made['over']:<8} {made['value']:.10g}", f"target   {result.goal}"]
    lines.append(report.certificate_text(made))
    if not result.limited:
        lines.append("The guarantee has levelled off below the target: more would do as well.")
    if result.note:
        lines.append(result.note)
    return "\n".join(lines)
