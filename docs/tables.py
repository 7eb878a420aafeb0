"""Writes the tables of the documentation: `python docs/tables.py`."""

from dataclasses import replace
from pathlib import Path

import wane

HERE = Path(__file__).parent
PUBLISHED = {  # Bok, Su and Altschuler (2024), ridge-regularised logistic regression on MNIST
    (0.002, 50): (0.9925, 4.34),
    (0.002, 100): (1.2353, 5.60),
    (0.002, 200): (1.5930, 7.58),
    (0.004, 50): (0.9889, 4.32),
    (0.004, 100): (1.2175, 5.51),
    (0.004, 200): (1.5061, 7.09),
}


TITLE = """# Cyclic noisy SGD against the published numbers

60 000 records, batches of 1 500, multiplier 3 with replace-one sensitivity 2, step 0.05,
delta = 1e-5. Published: Bok, Su and Altschuler (2024). Made by `python docs/tables.py`."""


def cyclic_run(ridge: float, epochs: int) -> wane.NoisyDescent:
    """The published setting: 40 batches per epoch, sensitivity over noise 2/3 per step."""
    return wane.NoisyDescent(
        objective=wane.Objective(
            gradient_bound=10.0, smoothness=32.5, strong_convexity=0.0, ridge=ridge
        ),
        records=60_000,
        steps=40 * epochs,
        step_size=0.05,
        noise=wane.NoiseMultiplier(3.0),
        batches=wane.Cyclic(1500),
    )


def published_table() -> str:
    """One row per published number."""
    lines = [
        "| ridge | epochs | mu, published | mu, wane | epsilon, published | epsilon, wane | "
        "epsilon, composition |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (ridge, epochs), (mu, epsilon) in PUBLISHED.items():
        run = cyclic_run(ridge, epochs)
        cert = wane.certify(run)
        composed = wane.certify(replace(run, release=wane.EveryIterate()))
        lines.append(
            f"| {ridge} | {epochs} | {mu:.4f} | {cert.mu:.6f} | {epsilon:.2f} | "
            f"{cert.epsilon(1e-5):.6f} | {composed.epsilon(1e-5):.4f} |"
        )
    return "\n".join(lines)


# ---- brackets ------------------------------------------------------------------------------

MARKER = "<!-- bracket table -->"
DELTA = 1e-5
CONVEX = wane.Objective(gradient_difference_bound=2.0, smoothness=0.25, strong_convexity=0.0)
STRONG = replace(CONVEX, strong_convexity=0.025)
WEAK = replace(CONVEX, strong_convexity=-0.01)
ROUGH = replace(CONVEX, smoothness=None)
BOUNDED = wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0)
CLIPPED_GLM = replace(BOUNDED, clipped=True, form=wane.LossForm.GLM)
CLIPPED = replace(BOUNDED, clipped=True)
SLOW, HALF, FAST = 1.0, 2.0, 4.0
"""Step sizes: step_size * smoothness is 1/4, 1/2 and 1."""


def bracketed(multiplier: float = 10.0, **changes: object) -> wane.NoisyDescent:
    """One thousand records, 400 steps, with some fields changed; noise over half the difference."""
    size = getattr(changes.get("batches"), "size", changes.get("records", 1000))
    fields: dict[str, object] = {
        "objective": CONVEX,
        "records": 1000,
        "steps": 400,
        "step_size": FAST,
        "noise": wane.GradientNoise(multiplier / size),
    }
    return wane.NoisyDescent(**(fields | changes))  # type: ignore[arg-type]


def _bracket_runs() -> dict[str, wane.NoisyDescent]:
    cyclic, ball = wane.Cyclic(50), wane.Ball(radius=0.5)
    large = {"multiplier": 2.0, "records": 20_000, "batches": wane.Cyclic(1000), "steps": 401}
    sampled = {"multiplier": 2.0, "step_size": SLOW}
    ridge = replace(CONVEX, ridge=0.01)
    held = replace(BOUNDED, ridge=0.01)
    return {
        "full, strongly convex": bracketed(objective=STRONG),
        "full, convex": bracketed(),
        "full, weakly convex": bracketed(objective=WEAK),
        "full, convex, ridge": bracketed(objective=ridge),
        "full, not smooth": bracketed(objective=ROUGH),
        "full, bounded, convex": bracketed(objective=BOUNDED),
        "full, bounded, convex, ridge": bracketed(objective=held),
        "full, clipped GLM": bracketed(objective=CLIPPED_GLM),
        "full, clipped, any form": bracketed(objective=CLIPPED),
        "full, convex, ball": bracketed(domain=ball, step_size=SLOW),
        "full, strongly convex, ball": bracketed(objective=STRONG, domain=ball, step_size=SLOW),
        "full, convex, large ball": bracketed(domain=wane.Ball(radius=100.0)),
        "cyclic, strongly convex": bracketed(objective=STRONG, batches=cyclic),
        "cyclic, strongly convex, eta M = 1/4": bracketed(
            objective=STRONG, batches=cyclic, step_size=SLOW
        ),
        "cyclic, convex": bracketed(batches=cyclic),
        "cyclic, convex, eta M = 1/2": bracketed(batches=cyclic, step_size=HALF),
        "cyclic, convex, eta M = 1/4": bracketed(batches=cyclic, step_size=SLOW),
        "cyclic, convex, one epoch": bracketed(batches=cyclic, steps=20),
        "cyclic, convex, cool-down": bracketed(batches=cyclic, cool_down=10),
        "cyclic, convex, lasso": bracketed(batches=cyclic, domain=wane.Lasso(0.1)),
        "cyclic, weakly convex": bracketed(objective=WEAK, batches=cyclic),
        "cyclic, not smooth": bracketed(objective=ROUGH, batches=cyclic),
        "cyclic, bounded, convex": bracketed(objective=BOUNDED, batches=cyclic),
        "cyclic, bounded, convex, zero-out": bracketed(
            objective=BOUNDED, batches=cyclic, adjacency=wane.Adjacency.ZERO_OUT
        ),
        "cyclic, bounded, convex, large batches": bracketed(objective=BOUNDED, **large),
        "cyclic, clipped GLM": bracketed(objective=CLIPPED_GLM, batches=cyclic),
        "cyclic, clipped GLM, large batches": bracketed(objective=CLIPPED_GLM, **large),
        "cyclic, clipped, any form": bracketed(objective=CLIPPED, batches=cyclic),
        "cyclic, convex, ball": bracketed(batches=cyclic, domain=wane.Ball(radius=10.0)),
        "every iterate, cyclic": bracketed(batches=cyclic, release=wane.EveryIterate()),
        "shuffled once, convex": bracketed(batches=wane.ShuffledOnce(50)),
        "Poisson, bounded, convex": bracketed(
            objective=BOUNDED, batches=wane.Poisson(50), **sampled
        ),
        "Poisson, bounded, convex, ridge": bracketed(
            objective=held, batches=wane.Poisson(50), **sampled
        ),
        "without replacement, convex": bracketed(batches=wane.WithoutReplacement(50), **sampled),
        "without replacement, strongly convex": bracketed(
            batches=wane.WithoutReplacement(50), objective=STRONG, **sampled
        ),
        "Poisson, bounded, convex, ball": bracketed(
            objective=BOUNDED, batches=wane.Poisson(50), domain=ball, **sampled
        ),
    }


BRACKET_RUNS = _bracket_runs()


def bracket_row(name: str) -> str:
    """One class: certified and exact numbers, and the quotients of the two."""
    cert = wane.certify(BRACKET_RUNS[name])
    lower, upper = cert.bracket(DELTA)
    lower_mu, upper_mu = cert.bracket_mu(DELTA)
    mu = "-" if not lower_mu or upper_mu is None else f"{upper_mu / lower_mu:.3f}"
    ratio = f"{upper / lower:.3f}" if lower else "-"
    known = f"{lower:.4f}" if lower else "-"
    theorem = cert.best(DELTA).analysis.name
    return f"| {name} | {theorem} | {upper:.4f} | {known} | {ratio} | {mu} |"


def bracket_table() -> str:
    """One row per class of losses, batches and domains."""
    lines = [
        "| class | best theorem | certified epsilon | exact member's | ratio | ratio of mu |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*lines, *(bracket_row(name) for name in BRACKET_RUNS)])


def main() -> None:
    """Write every page that is a table."""
    page = HERE / "cyclic-table.md"
    page.write_text(f"{TITLE}\n\n{published_table()}\n")
    words = (HERE / "brackets.md").read_text().split(MARKER)
    words[1] = f"\n\n{bracket_table()}\n\n"
    (HERE / "brackets.md").write_text(MARKER.join(words))


if __name__ == "__main__":
    main()
