"""Every predicate, on families of its own: the constant stands, a millionth less is refuted.

`test_meaning.py` asks this of the constants of the catalogue; here are those that are not in it,
with closed forms, or dense grids where there is none.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from laws.catalogue import CATALOGUE, Drawn
from laws.loss_cases import (
    Glm,
    LogCosh,
    Logistic,
    Power,
    Separable,
    Sum,
    Wave,
    Well,
    huber,
    line,
    parabola,
)
from laws.test_meaning import LESS, exact_objective, of, truth
from wane.audit.meaning import PREDICATES, Start, Truth
from wane.describe.domains import (
    MCP,
    SCAD,
    Affine,
    Ball,
    Box,
    ElasticNet,
    GroupLasso,
    Halfspace,
    Lasso,
    LInfinityNorm,
    LogBarrier,
    LOneBall,
    LTwoNorm,
    NuclearNorm,
    Orthant,
    OwnProx,
    PositiveSemidefiniteCone,
    Product,
    Ridge,
    SecondOrderCone,
    Simplex,
    SortedLOne,
    TotalVariation,
    Unbounded,
    WithRidge,
)

DENSE = 1_000_001
SEEDS = range(3)


def widths(seed: int, count: int) -> list[float]:
    return [float(w) for w in 10 ** np.random.default_rng(seed).uniform(-0.4, 0.4, count)]


def everywhere(*losses, dimension: int = 1):
    return Drawn("here", losses, None, {}, dimension=dimension).family


def sharp(key: str, subject, name: str, exact: float, **given) -> None:
    """The constant is not refuted, and a millionth less is."""
    assert of(key, subject, **given, **{name: exact}) is not Truth.REFUTED, (key, exact)
    assert of(key, subject, **given, **{name: exact * (1 - LESS)}) is Truth.REFUTED, (key, exact)


def bends(h: float, w: float) -> dict[str, tuple]:
    """Losses beside the Lipschitz constants of their Laplacians."""
    cosh, logistic = h / w**2 * 4 / 27**0.5, h / w**2 / 108**0.5
    sine = h / w**3
    a = (0.8, -1.1)
    norm = math.hypot(*a) ** 3
    return {
        "wave": (everywhere(Wave(h, 1 / w)), sine),
        "wave with a phase": (everywhere(Wave(h, 1 / w, 0.7)), sine),
        "log-cosh": (everywhere(LogCosh(h, w, 0.3)), cosh),
        "logistic": (everywhere(Logistic(h, w, -0.2)), logistic),
        "a wave on a parabola": (everywhere(Sum((Wave(h, 1 / w), parabola(20.0)))), sine),
        "two losses": (everywhere(Logistic(h, w), LogCosh(h, w)), cosh),
        "in the plane": (everywhere(Glm(LogCosh(h, w), a), dimension=2), cosh * norm),
        "logistic in the plane": (everywhere(Glm(Logistic(h, w), a), dimension=2), logistic * norm),
        "side by side": (
            everywhere(Separable((Wave(h, 1 / w), LogCosh(h, w))), dimension=2),
            math.hypot(sine, cosh),
        ),
    }


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", bends(1.0, 1.0))
def test_laplacians(name, seed):
    family, exact = bends(*widths(seed, 2))[name]
    for place in ("target", "losses"):
        sharp(f"{place}.laplacian_lipschitz", family, "laplacian_lipschitz", exact)


def test_laplacians_that_jump_or_grow_have_no_constant():
    for loss in (huber(1.0, 1.0), Well(1.0), Power(1.0, 0.5)):
        family = everywhere(loss)
        assert of("losses.laplacian_lipschitz", family, laplacian_lipschitz=200.0) is Truth.REFUTED
    flat = everywhere(parabola(3.0), line(2.0))
    assert of("losses.laplacian_lipschitz", flat, laplacian_lipschitz=0.0) is not Truth.REFUTED


DOMAINS = [
    Unbounded(),
    Ridge(0.5),
    Ridge(3.0),
    Lasso(0.7),
    ElasticNet(0.3, 0.8),
    LTwoNorm(0.6),
    LInfinityNorm(0.6),
    LogBarrier(0.4),
    MCP(0.5, 3.0),
    SCAD(0.5, 3.7),
    Box(-1.0, 2.0, dimension=1),
    Box(5.0, 6.0, dimension=3),
    Orthant(),
    Ball(0.3),
    Ball(2.0, center=(4.0, 1.0)),
    LOneBall(1.5),
    Simplex(1.0),
    SecondOrderCone(),
    Halfspace((1.0, -2.0), 0.3),
    Affine(((1.0, 1.0, 0.0),), (1.0,)),
    Product((GroupLasso(0.4, ((0, 1), (2,))), Unbounded()), (3, 1)),
    SortedLOne((0.9, 0.2)),
    TotalVariation(0.5),
    NuclearNorm(0.3, 2, 2),
    PositiveSemidefiniteCone(2),
    WithRidge(Box(-1.0, 2.0, dimension=2), 0.25),
    Product((Ridge(0.5), Ridge(2.0)), (1, 2)),
    OwnProx("pull", strong_convexity=0.5).computed_by(lambda x, eta: x / (1.0 + 0.5 * eta)),
    OwnProx("sides", diameter=math.sqrt(8.0), dimension=2, projection=True).computed_by(
        lambda x, _: np.clip(x, -1.0, 1.0)
    ),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_the_convexity_of_every_domain(domain):
    m = float(domain.strong_convexity)
    given = {"dimension": domain.dimension, "diameter": domain.diameter}
    key = "domain.strong_convexity"
    assert of(key, domain.prox, strong_convexity=m, **given) is not Truth.REFUTED
    more = m + LESS * (abs(m) or 1.0)
    assert of(key, domain.prox, strong_convexity=more, **given) is Truth.REFUTED


@pytest.mark.parametrize("domain", [d for d in DOMAINS if math.isfinite(d.diameter)], ids=repr)
def test_the_diameter_of_every_bounded_domain(domain):
    sharp("domain.diameter", domain.prox, "diameter", domain.diameter, dimension=domain.dimension)


ON_A_BOX = [
    name
    for name, draw in CATALOGUE.items()
    if (drawn := draw(np.random.default_rng(0))).dimension == 1 and drawn.half_width is not None
]


def densely(drawn: Drawn) -> np.ndarray:
    B = drawn.half_width
    kinks = np.array([k for s in drawn.losses for k in s.kinks if abs(k) <= B])
    beside = [kinks * (1 + t) + t for t in (-1e-9, 0.0, 1e-9)]
    return np.clip(np.concatenate([np.linspace(-B, B, DENSE), *beside]), -B, B)


def holds(name: str, drawn: Drawn, exact, less, **given) -> None:
    """A dense grid, or rounding, may miss the constant by a billionth."""
    assert truth(name, drawn, **given, **{name: exact}) is not Truth.REFUTED
    assert truth(name, drawn, **given, **{name: less}) is Truth.REFUTED


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ON_A_BOX)
def test_slopes_and_bends_against_dense_grids(name, seed):
    """Before clipping: how far slopes change is the Hoelder constant of exponent zero."""
    drawn = CATALOGUE[name](np.random.default_rng(seed))
    plain = Drawn(drawn.name, drawn.losses, drawn.half_width, {})
    x = densely(drawn)
    slopes = np.stack([s.slope(x) for s in drawn.losses])
    change = float(np.max(slopes.max(axis=1) - slopes.min(axis=1)))
    given = {"holder_exponent": 0.0}
    if change > 0:
        more, less = change * (1 + 1e-9), change * (1 - LESS)
        holds("holder_constant", plain, more, less, **given)
    bound = float(np.abs(slopes).max())
    holds("gradient_bound", plain, bound * (1 + 1e-9), bound * (1 - LESS))
    if drawn.extra.get("convex_only"):
        return
    bend = np.stack([s.bend(x) for s in drawn.losses])
    M, m = float(np.abs(bend).max()), float(bend.min())
    if M > 0:
        holds("smoothness", plain, M * (1 + 1e-9), M * (1 - LESS))
        given = {"holder_exponent": 1.0}
        holds("holder_constant", plain, M * (1 + 1e-9), M * (1 - LESS), **given)
    size = abs(m) or 1.0
    holds("strong_convexity", plain, m - 1e-9 * size, m + LESS * size)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_hoelder_constants_of_every_exponent(p, seed):
    k, B, z = widths(seed, 3)
    whole = 2 * B
    cases = (
        (Drawn("hill", (parabola(-k, z),), B, {}), k * whole ** (1 - p)),
        (Drawn("valley", (parabola(k, z), line(3.0)), B, {}), k * whole ** (1 - p)),
        (Drawn("huber", (huber(k, B / 2, 0.1),), 2 * B, {}), 2 * k / B**p),
    )
    for drawn, exact in cases:
        holds("holder_constant", drawn, exact, exact * (1 - LESS), holder_exponent=p)


@pytest.mark.parametrize("seed", SEEDS)
def test_dissipativity_of_parabolas(seed):
    """On a box the worst pair is as far apart as it can be."""
    k, B, more = widths(seed, 3)
    for sign in (1, -1):
        drawn = Drawn("parabola", (parabola(sign * k, 0.3), line(1.0)), B, {})
        lam, kappa = more * (2 * B) ** 2, max(sign * k, 0.0) + more
        lam = max(kappa, kappa - sign * k) * (2 * B) ** 2  # of the line or of the parabola
        assert truth("dissipativity", drawn, dissipativity=(lam, kappa)) is not Truth.REFUTED
        less = (lam * (1 - LESS), kappa)
        assert truth("dissipativity", drawn, dissipativity=less) is Truth.REFUTED


WHOLE = [n for n, f in CATALOGUE.items() if f(np.random.default_rng(0)).half_width is None]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", WHOLE)
def test_potentials_of_families_on_the_whole_space(name, seed):
    drawn = CATALOGUE[name](np.random.default_rng(seed))
    for constant in ("smoothness", "gradient_bound"):
        value = drawn.exact.get(constant, 0.0)
        if value > 0:
            sharp(f"target.{constant}", drawn.family, constant, value)
    M, m = drawn.exact.get("smoothness", 0.0), drawn.exact.get("strong_convexity")
    if M > 0:
        sharp("fact.average_smoothness", drawn.family, "value", M)
    if m is not None:
        key = "target.strong_convexity"
        assert of(key, drawn.family, strong_convexity=m) is not Truth.REFUTED
        more = m + LESS * (abs(m) or 1.0)
        assert of(key, drawn.family, strong_convexity=more) is Truth.REFUTED


@pytest.mark.parametrize("seed", SEEDS)
def test_heights_and_ranges(seed):
    h, w, z = widths(seed, 3)
    heights = {
        "parabola": (parabola(h, z), h * z * z / 2),
        "log-cosh": (LogCosh(h, w, z), h * w * math.log(math.cosh(z / w))),
        "power": (Power(h, 0.5, z), h * z**1.5 / 1.5),
        "well": (Well(h), h / 4),
        "wave": (Wave(h, 1 / w), h),
    }
    for loss, exact in heights.values():
        sharp("losses.height_at_start", everywhere(loss), "height_at_start", exact)
    ranges = {
        "wave": (Wave(h, 1 / w, z), 2 * h),
        "two waves": (Sum((Wave(h, 1 / w), Wave(h / 3, 1 / w, math.pi))), 4 * h / 3),
    }
    for loss, exact in ranges.values():
        sharp("losses.range_of_loss", everywhere(loss), "range_of_loss", exact)


CURVES = {
    "sine": (lambda x: np.sin(3 * x), 3.0),
    "fast sine": (lambda x: 0.2 * np.sin(40 * x + 1), 8.0),
    "steep": (lambda x: np.tanh(50 * (x - 0.3)), 50.0),
    "line": (lambda x: 2.0 - 0.25 * x, 0.25),
    "barrier": (
        lambda x: 8.0 * np.exp(-(((x + 0.0985) / 7.3e-4) ** 2)),
        8.0 / 7.3e-4 * math.sqrt(2 / math.e),
    ),
    "kink": (lambda x: 0.7 * np.abs(x - 0.123456), 0.7),
}


@pytest.mark.parametrize("name", CURVES)
def test_drifts_and_spreads(name):
    function, exact = CURVES[name]
    for of_what in ("drift_lipschitz", "spread_lipschitz"):
        sharp(f"diffusion.{of_what}", function, of_what, exact, low=-4.0, high=4.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_that_a_finite_computation_decides(seed):
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(3, 4, 4))
    laws = [root @ root.T for root in roots]
    k = 1 / max(float(np.linalg.eigvalsh(law)[-1]) for law in laws)
    assert of("fact.log_sobolev", laws, value=k) is Truth.PROVEN
    assert of("fact.log_sobolev", laws, value=k * (1 + LESS)) is Truth.REFUTED
    centre, minimiser = rng.normal(size=(2, 5))
    far = float(np.linalg.norm(centre - minimiser))
    sharp("start.distance", Start(centre, minimiser), "distance", far)
    values = [tuple(rng.normal(size=(2, 3))) for _ in range(20)]
    exact = max(float(np.linalg.norm(a - b)) for a, b in values)
    sharp("statistic.sensitivity", values, "sensitivity", exact)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e6])
def test_small_and_large_shared_curvatures(size):
    remainder = everywhere(Wave(2.0, 1.0))
    whole = everywhere(Sum((Wave(2.0, 1.0), parabola(size))))
    sharp("losses.shared_curvature", (whole, remainder), "shared_curvature", size)
    drawn = CATALOGUE["lines"](np.random.default_rng(0))
    family = drawn.family
    shared = type(family)(
        family.losses, family.low, family.high, family.points, shared=lambda x: size * x
    )
    sharp("objective.ridge", shared, "ridge", size)
    assert exact_objective(drawn).ridge == 0.0


JUDGED_ELSEWHERE = {
    "objective.gradient_difference_bound",  # test_meaning.py: on every family of the catalogue
    "objective.holder_everywhere",  # flags and words: true or not, test_meaning.py
    "objective.clipped",
    "objective.form",
    "objective.dimension",
    "objective.holder_exponent",  # judged with its constant
    "run.records",
}


def test_no_predicate_is_left_out():
    text = Path(__file__).read_text(encoding="utf-8")
    for key in set(PREDICATES) - JUDGED_ELSEWHERE:
        name = key.partition(".")[2]
        assert f'"{name}"' in text or f'{key}"' in text or f".{name}" in text, key
