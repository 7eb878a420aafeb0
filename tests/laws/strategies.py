"""Random descriptions for the laws: plain, and just at the edge of each hypothesis."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from runs import possible
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    GradientNoise,
    IterateNoise,
    Iterates,
    LastIterate,
    LossForm,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
    ShuffledOnce,
    Temperature,
    WithoutReplacement,
)
from wane.describe.domains import Ball, Diameter, ElasticNet, Lasso, Ridge, Unbounded

positive = st.floats(1e-3, 1e3)
NOISES = (GradientNoise, NoiseMultiplier, IterateNoise, Temperature)


@st.composite
def objectives(draw: Any, *, complete: bool = False) -> Objective:
    M, bound = draw(positive), draw(positive)
    maybe = (lambda s: s) if complete else (lambda s: st.none() | s)
    return Objective(
        gradient_bound=bound,
        gradient_difference_bound=draw(st.sampled_from([None, None, 0.3 * bound, 3.0 * bound])),
        smoothness=draw(maybe(st.just(M))),
        strong_convexity=draw(maybe(st.sampled_from([0.0, 0.1 * M, M, -0.1 * M]))),
        clipped=draw(st.booleans()),
        form=draw(st.sampled_from(LossForm)),
        ridge=draw(st.sampled_from([0.0, 1e-3, 1.0])),
        dimension=draw(st.sampled_from([None, 1, 7])),
    )


batches = st.one_of(
    st.just(FullBatch()),
    *(
        st.builds(kind, st.integers(1, 20))
        for kind in (Cyclic, ShuffledOnce, Poisson, WithoutReplacement)
    ),
)
fixed_batches = st.one_of(
    st.just(FullBatch()),
    st.builds(Cyclic, st.integers(1, 20)),
    st.builds(ShuffledOnce, st.integers(1, 20)),
)
domains = st.one_of(
    st.just(Unbounded()),
    st.builds(Ball, radius=positive),
    st.builds(Diameter, positive),
    st.builds(Ridge, positive),
    st.builds(Lasso, positive),
    st.builds(ElasticNet, positive, positive),
)


def by_difference(objective: Objective) -> Objective:
    """The same class, but for what all losses share: only differences of gradients are bounded."""
    if objective.clipped or objective.gradient_bound is None:
        return objective
    return replace(
        objective,
        gradient_bound=None,
        gradient_difference_bound=2.0 * objective.gradient_bound,
    )


def uses_records(phases: list[Phase]) -> bool:
    return not all(phase.cool_down for phase in phases)


@st.composite
def runs(draw: Any, *, complete: bool = False, sampled: bool = True) -> NoisyDescent:
    fields: dict[str, Any] = {
        "objective": draw(objectives(complete=complete)),
        "records": draw(st.integers(20, 60)),
        "batches": draw(batches if sampled else fixed_batches),
        "domain": draw(domains),
        "adjacency": draw(st.sampled_from(Adjacency)),
    }
    kind = draw(st.sampled_from(NOISES))
    if draw(st.booleans()):
        fields |= {
            "steps": draw(st.integers(1, 60)),
            "step_size": draw(positive),
            "noise": kind(draw(positive)),
            "cool_down": draw(st.integers(0, 5)),
        }
    else:
        phase = st.builds(
            Phase, st.integers(1, 20), positive, st.builds(kind, positive), st.booleans()
        )
        phases = st.lists(phase, min_size=1, max_size=4)
        fields["schedule"] = Schedule(draw(phases.filter(uses_records)))
    if draw(st.integers(0, 4)) == 0 and kind is not NoiseMultiplier:
        fields["objective"] = by_difference(fields["objective"])
    fields["objective"] = possible(fields["objective"], fields["domain"].diameter)
    run = NoisyDescent(**fields)
    some = st.lists(st.integers(1, run.total_steps), min_size=1, max_size=4)
    release = draw(
        st.one_of(
            st.just(LastIterate()),
            st.just(EveryIterate()),
            some.map(lambda steps: Iterates(tuple(steps))),
        )
    )
    return replace(run, release=release)
