"""Which moduli follow from what is declared of the losses, row by row, in fifty digits."""

import math
import random
from dataclasses import replace

import pytest
from formulas_of_moduli import DISTANCES, affine, monotone, mp, near, refined, smallest, triangle

from runs import make_run
from wane.describe import GradientNoise, LossForm, Objective, Phase, Schedule
from wane.describe.descent import PublicRecords
from wane.describe.domains import Diameter
from wane.theorems.lemmas.loss_moduli import (
    Batch,
    cool_down_modulus,
    idle_modulus,
    is_convex,
    lipschitz_row,
    modulus_in,
    public_modulus,
    step_modulus,
    whole_batch,
)
from wane.theorems.lemmas.moduli import IDENTITY

# from what is declared to the least of all rows


C = 1.5
SMOOTH = Objective(gradient_bound=C, smoothness=1.25, strong_convexity=0.0)
DECLARED = {
    "convex": SMOOTH,
    "strongly convex": replace(SMOOTH, strong_convexity=0.3),
    "weakly convex": replace(SMOOTH, strong_convexity=-0.3),
    "not convex": Objective(gradient_bound=C, smoothness=1.25),
    "not smooth": Objective(gradient_bound=C, strong_convexity=0.0),
    "pulled": Objective(gradient_bound=C, strong_convexity=0.3),
    "bounded": Objective(gradient_bound=C),
    "unbounded": Objective(gradient_difference_bound=C, smoothness=1.25, strong_convexity=0.2),
    "Hoelder": Objective(
        gradient_bound=C, holder_exponent=0.5, holder_constant=1.25, strong_convexity=0.0
    ),
    "Hoelder everywhere": Objective(
        gradient_bound=C,
        holder_exponent=0.5,
        holder_constant=1.25,
        strong_convexity=0.0,
        holder_everywhere=True,
    ),
    "Hoelder on a line": Objective(
        gradient_bound=C,
        holder_exponent=0.5,
        holder_constant=1.25,
        strong_convexity=0.0,
        dimension=1,
    ),
    "Hoelder of exponent zero": Objective(
        gradient_bound=C, holder_exponent=0.0, holder_constant=1.25, strong_convexity=0.0
    ),
    "Hoelder of exponent one": Objective(
        gradient_bound=C, holder_exponent=1.0, holder_constant=1.25, strong_convexity=0.0
    ),
    "Hoelder, not convex": Objective(gradient_bound=C, holder_exponent=0.5, holder_constant=1.25),
    "dissipative": Objective(
        gradient_difference_bound=C, smoothness=1.25, dissipativity=(0.05, 0.6)
    ),
    "dissipative and bounded": Objective(gradient_bound=C, dissipativity=(0.05, 0.6)),
    "clipped": Objective(gradient_bound=C, smoothness=1.25, strong_convexity=0.2, clipped=True),
    "clipped dissipative": Objective(gradient_bound=C, dissipativity=(0.05, 0.6), clipped=True),
    "clipped line": Objective(
        gradient_bound=C,
        smoothness=1.25,
        strong_convexity=0.2,
        clipped=True,
        form=LossForm.GLM,
    ),
}


def clipped_square(e, low, high):
    """Of a clipped step with spectrum in [low, high], docs/proofs/clipped-step.md."""
    beta, rho = abs(1 - e * (low + high) / 2), e * (high - low) / 2
    if beta < 1 and beta * rho < 1 - beta**2:
        return 1 + rho**2 / (1 - beta**2)
    return (beta + rho) ** 2


def lipschitz_square(o, eta, fill):
    """The largest square of |1 - eta curvature| over what the batch's average may curve."""
    M = smoothness(o)[0]
    m = -M if o.strong_convexity is None else o.strong_convexity
    m, M, ridge = mp.mpf(m), mp.mpf(M), mp.mpf(o.ridge)
    if not harmless(o):
        a = 1 - eta * ridge
        if a > 0:
            return a**2 * clipped_square(eta / a, fill * m, fill * M)
        return (abs(a) + eta * fill * max(M, -m)) ** 2
    if o.clipped:
        m = min(m, mp.mpf(0))
    return max((1 - eta * (fill * x + ridge)) ** 2 for x in (m, M))


def harmless(o):
    return not o.clipped or o.form is LossForm.GLM or o.dimension == 1


def smoothness(o):
    """The Lipschitz constant of the gradient, and what else a Hoelder bound says."""
    if o.holder_exponent == 1.0:
        return o.holder_constant, None
    return o.smoothness, o.holder_exponent


def convex_rows(o, low, high, change):
    p, H = smoothness(o)[1], o.holder_constant
    if change < math.inf:
        yield affine(1, (high * change) ** 2)
        if not o.clipped:
            yield affine(max(1 - 2 * low * mp.mpf(o.strong_convexity), 0), (high * change) ** 2)
    if p == 0.0:
        yield affine(1, (high * min(mp.mpf(H), change)) ** 2)
    elif p is not None:
        whole = o.holder_everywhere or o.dimension == 1
        yield (refined if whole else monotone)(high, p, H, change)


def dissipative_rows(o, low, high, change):
    lam, kappa = (mp.mpf(x) for x in o.dissipativity)
    M = smoothness(o)[0]
    if M is not None:
        worst = max(1 - 2 * e * kappa + (e * mp.mpf(M)) ** 2 for e in (low, high))
        yield affine(worst, 2 * high * lam)
    if change < math.inf:
        worst = max(1 - 2 * e * kappa for e in (low, high))
        yield affine(max(worst, 0), 2 * high * lam + (high * change) ** 2)


def oracle(o, batch, change):
    """Psi by the table of docs/proofs/sampled-steps.md, row by row; None where nothing is known."""
    eta, change = mp.mpf(batch.step_size), mp.mpf(change)
    a = 1 - eta * mp.mpf(o.ridge)
    fills = [mp.mpf(n) / batch.divisor for n in (batch.least, batch.most)]
    M, p = smoothness(o)
    psis, inner = [], []
    if M is not None:
        psis.append(affine(max(lipschitz_square(o, eta, fill) for fill in fills)))
    if a <= 0:
        return smallest(*psis) if psis else None
    low, high = (eta * fill / a for fill in fills)
    if o.strong_convexity is not None and o.strong_convexity >= 0 and harmless(o):
        inner += convex_rows(o, low, high, change)
    if change < math.inf:
        inner.append(triangle(high, 1, math.inf if M is None else M, change))
    if p is not None:
        inner.append(triangle(high, p, o.holder_constant, change))
    if o.dissipativity is not None and not o.clipped:
        inner += dissipative_rows(o, low, high, change)
    psis += [lambda w, psi=psi: a**2 * psi(w) for psi in inner]
    return smallest(*psis) if psis else None


BATCHES = [Batch(0.4, 4, 4, 4), Batch(1.0, 4, 0, 3), Batch(1.3, 4, 2, 9), Batch(2.0, 1, 1, 1)]


@pytest.mark.parametrize("ridge", [0.0, 0.3, 0.9, 2.5])
@pytest.mark.parametrize("name", DECLARED)
def test_the_least_of_all_rows_that_follow(name, ridge):
    o = replace(DECLARED[name], ridge=ridge)
    for batch in BATCHES:
        for change in (0.7, 2.0 * C):
            psi = oracle(o, batch, change)
            found = step_modulus(o, batch, change)
            assert (found is None) is (psi is None)
            if psi is None:
                continue
            for d in DISTANCES:
                exact = mp.sqrt(psi(mp.mpf(d) ** 2))
                assert near(found(d), exact, "1e-9") or exact < 1e-12 * d


@pytest.mark.parametrize("name", DECLARED)
def test_without_a_domain_the_change_is_what_the_losses_allow(name):
    o, batch = DECLARED[name], Batch(0.4, 4, 4, 4)
    change = math.inf if o.gradient_bound is None else 2.0 * C
    if name == "Hoelder of exponent zero":
        change = 1.25
    psi, found = oracle(o, batch, change), step_modulus(o, batch)
    for d in DISTANCES:
        assert near(found(d), mp.sqrt(psi(mp.mpf(d) ** 2)), "1e-9")


def test_nothing_declared_gives_no_modulus():
    nothing = Objective(gradient_difference_bound=C)
    assert step_modulus(nothing, Batch(0.4, 4, 4, 4)) is None
    assert lipschitz_row(nothing, Batch(0.4, 4, 4, 4)) is None
    assert lipschitz_row(Objective(gradient_bound=C), Batch(0.4, 4, 0, 4)) is None
    resting = step_modulus(replace(nothing, ridge=0.5), Batch(0.4, 4, 0, 0))
    assert near(resting(1.0), 1 - mp.mpf(0.4) * mp.mpf(0.5), "1e-12")
    assert step_modulus(nothing, Batch(0.4, 4, 0, 0)).log_factor == 0.0
    assert step_modulus(replace(nothing, ridge=2.5), Batch(0.4, 4, 4, 4)) is None


def test_logarithms_of_lipschitz_rows_are_not_rounded_down():
    """They are multiplied by numbers of steps, so that their last digits count."""
    draw = random.Random(1)
    for _ in range(200):
        eta, m, M = draw.uniform(0.01, 0.9), draw.uniform(1e-4, 0.3), draw.uniform(0.3, 1.0)
        losses = Objective(gradient_difference_bound=C, smoothness=M, strong_convexity=m)
        exact = 2 * mp.log(1 - mp.mpf(eta) * mp.mpf(m))
        found = lipschitz_row(losses, Batch(eta, 4, 4, 4)).log_factor
        assert exact <= found <= exact * (1 - mp.mpf("1e-13"))
        resting = cool_down_modulus(replace(losses, ridge=m), eta).log_factor
        assert exact <= resting <= exact * (1 - mp.mpf("1e-13"))


def test_gradients_that_never_change_move_nothing_apart():
    assert step_modulus(Objective(gradient_bound=C), Batch(0.4, 4, 4, 4), 0.0) is IDENTITY
    shrunk = step_modulus(Objective(gradient_bound=C, ridge=0.5), Batch(0.4, 4, 4, 4), 0.0)
    assert near(shrunk(2.0), 2 * (1 - mp.mpf(0.4) * mp.mpf(0.5)), "1e-13")


def test_which_gradients_are_those_of_convex_functions():
    assert is_convex(SMOOTH) and is_convex(replace(SMOOTH, strong_convexity=0.1))
    assert not is_convex(replace(SMOOTH, strong_convexity=-0.1))
    assert not is_convex(Objective(gradient_bound=C))
    assert not is_convex(DECLARED["clipped"]) and is_convex(DECLARED["clipped line"])


@pytest.mark.parametrize("ridge", [0.0, 0.5, 4.0])
def test_resting_steps_shrink_by_the_ridge_alone(ridge):
    found = cool_down_modulus(replace(SMOOTH, ridge=ridge), 0.7)
    exact = abs(1 - mp.mpf(0.7) * mp.mpf(ridge))
    assert found.offset == 0.0 and near(found(3.0), 3 * exact, "1e-13")


def test_steps_on_public_records_have_the_public_losses():
    phases = [
        Phase(2, 0.5, GradientNoise(0.3)),
        Phase(1, 0.5, GradientNoise(0.3), cool_down=True),
        Phase(1, 0.75, GradientNoise(0.3), public=True),
    ]
    run = make_run(
        objective=replace(SMOOTH, ridge=0.25),
        records=10,
        schedule=Schedule(phases),
        domain=Diameter(2.0),
        public=PublicRecords(
            records=7, objective=Objective(gradient_bound=1.0, strong_convexity=0.0)
        ),
    )
    assert whole_batch(run, 0.5) == Batch(0.5, 10, 10, 10)
    assert whole_batch(run.on_public, 0.5) == Batch(0.5, 7, 7, 7)
    losses = Objective(gradient_bound=1.0, strong_convexity=0.0, ridge=0.25)
    public = oracle(losses, Batch(0.75, 7, 7, 7), 2.0)
    resting = affine((1 - mp.mpf(0.5) * mp.mpf(0.25)) ** 2)
    private = oracle(run.objective, Batch(0.5, 10, 10, 10), 2.5)
    for d in DISTANCES:
        w = mp.mpf(d) ** 2
        assert near(idle_modulus(run, phases[1])(d), mp.sqrt(resting(w)))
        assert near(idle_modulus(run, phases[2])(d), mp.sqrt(public(w)))
        assert near(public_modulus(run, 0.75)(d), mp.sqrt(public(w)))
        assert near(modulus_in(run, whole_batch(run, 0.5))(d), mp.sqrt(private(w)))
