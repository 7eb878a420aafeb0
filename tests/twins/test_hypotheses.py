"""Hypotheses removed one at a time: without any of them a theorem is false, or cannot answer.

The walk finds every theorem of the package, wherever it lives.  A hypothesis whose removal leaves
nothing false is listed below with the reason; one that is neither caught nor listed fails.
"""

from __future__ import annotations

import inspect
import math
from collections import Counter
from functools import partial
from itertools import islice

import pytest

from twins.cases import cases, conditions, theorems
from twins.members import around, laws_of
from twins.removal import Case, Fate, Hypotheses, claim_of, fate, is_asked, shortfall
from wane.describe import domains
from wane.describe.domains import MCP, SCAD, Box, Product, WithRidge
from wane.describe.domains.base import Domain

FEW = 2
"""So many cases show that a listed hypothesis is refused outside, and false nowhere there."""
COSTS = "it limits the work: the proof is step by step, and asks nothing of how many there are"
IMPLIED = "every description that meets the other hypotheses meets it"
NOTHING_NEW = (
    "the programme has w = 0 at every release, and if all iterates are released nothing is left in "
    "it but the charge for every use of the record"
)
CONVEX = (
    "a bounded domain is one of the other hypotheses, and every bounded set is convex, so that its "
    "prox is a projection (a test below walks the catalogue)"
)
FAR = (
    "two points are then infinitely far apart before a step, and after it, so that it contracts "
    "nothing: the claim is no more than the chance that some batch has the record"
)

DECLARED = "the description holds the sensitivity, or the cost, and nothing else says what it is"
NEVER_FALSE: dict[tuple[str, str], str] = {
    ("fixed_size_contraction", "short_schedule"): COSTS,
    ("fixed_size_last_iterate", "short_schedule"): COSTS,
    ("last_iterate_bounded", "short_schedule"): COSTS,
    ("last_iterate_modulus", "short_schedule"): COSTS,
    ("poisson_contraction", "short_schedule"): COSTS,
    ("poisson_last_iterate", "short_schedule"): COSTS,
    ("secret_order", "few_positions"): COSTS,
    ("fixed_size_composition", "size_is_public"): (
        "draw b of the common records, one of them, and a coin of chance b/n (or b/(n + 1)): where "
        "the coin says so, the record takes that one's place.  This is the batch with the record, "
        "and without the coin that without it; so the sums are E apart with chance b/n at most, "
        "and E is what the formula charges"
    ),
    ("fixed_size_last_iterate", "size_is_public"): (
        "the same coupling: both runs use the b common records, whose modulus is followed, and the "
        "coin adds E at most to one of them"
    ),
    ("fixed_size_last_iterate", "spare_records"): (
        "both runs use the map of all n records of the first data set, whose modulus is followed; "
        "the second adds the difference of two records, or takes one away, with chance one"
    ),
    ("fixed_size_contraction", "spare_records"): (
        "the chance is one, and theta' is that of n - 1 common records and two versions of one"
    ),
    ("fixed_size_contraction", "bounded_domain"): FAR,
    ("poisson_contraction", "bounded_domain"): FAR,
    ("fixed_size_contraction", "bounded_gradient"): (
        "theta' is then one: the claim is no more than the chance that some batch has the record"
    ),
    ("poisson_contraction", "bounded_gradient"): "as with fixed sizes",
    ("fixed_size_contraction", "known_modulus"): FAR,
    ("poisson_contraction", "known_modulus"): FAR,
    ("fixed_size_contraction", "nonexpansive_prox"): CONVEX,
    ("poisson_contraction", "nonexpansive_prox"): CONVEX,
    ("last_iterate_modulus", "nonexpansive_prox"): CONVEX,
    ("last_iterate_bounded", "certified_prox"): CONVEX,
    ("fixed_size_last_iterate", "bounded_distance"): (
        "the distance is followed from the start through the moduli of all steps, which bounds it "
        "whether or not they contract; any bound on it is a valid start of the programme"
    ),
    ("poisson_last_iterate", "bounded_distance"): "as with fixed sizes",
    ("last_iterate", "some_hidden"): NOTHING_NEW,
    ("averaged_last_iterate", "some_hidden"): NOTHING_NEW,
    ("last_iterate_bounded", "some_hidden"): NOTHING_NEW,
    ("last_iterate_bounded", "bounded_domain"): (
        "a start infinitely far apart costs infinitely much: what is left is `last_iterate`"
    ),
    ("last_iterate_modulus", "bounded_domain"): (
        "a start infinitely far apart costs infinitely much: what is left is composition and, if "
        "the losses are smooth, `last_iterate`"
    ),
    ("secret_order", "fixed_order"): IMPLIED,  # an order drawn once is one
    ("secret_order", "some_hidden"): IMPLIED,  # only the last iterate is released
    ("secret_order", "certified_prox"): (
        "what is hidden before an infinite Lipschitz constant costs infinitely much after it, so "
        "the programme charges for every use of the record"
    ),
    ("secret_order", "last_iterate"): (
        "given the order, the programme charges a position for all that is released; both runs "
        "draw the order alike, and hockey-stick divergences are jointly convex"
    ),
    ("log_sobolev_dynamics", "full_batch"): (
        "for batches that are drawn afresh or in a fixed order: both runs use the same batch, so "
        "that the common part of a step is one Markov kernel, and the rest moves the drift's "
        "conditional mean by the sensitivity at most; the fact is about laws with such batches.  "
        "With an order that is drawn once the common part is no kernel, and nothing is proven"
    ),
    ("gibbs_transfer", "same_number"): (
        "`Posterior.target` and the start have constants that hold with one record more or less; "
        "the two potentials differ by one loss, whose gradient is bounded"
    ),
    ("range_transfer", "same_number"): "as above; the potentials differ by one bounded loss",
    ("girsanov_convex", "convex"): (
        "by energy: |grad U|^2 <= 2 L (U - min U), and U of the diffusion obeys d/dt ln E exp(c U) "
        "<= c L d if c falls as c' = -2 L c max(c - 1, 0).  With 2 r L for the last c this bounds "
        "ln E exp(r |grad U|^2) by the moment of N(r0, (s0 + 2 t) I) that the claim has: c at the "
        "start is at most c/(1 - 2 L t c), and the integral of L c is -ln(1 - 2 L t c)/2"
    ),
    ("as_stated", "stated_cost"): "the description holds what is stated, and nothing else",
    ("diffusion_release", "declared_sensitivity"): DECLARED,
    ("nested_release", "declared_sensitivity_of_path"): DECLARED,
    ("branched_release", "declared_sensitivity_of_tree"): DECLARED,
    ("linear_diffusion_release", "declared_ellipsoid"): DECLARED,
    ("declared_diffusion_release", "declared_distance"): DECLARED,
    ("reflected_chain", "declared_distance"): DECLARED,
    ("kernel_amplification", "declared_before"): DECLARED,
    ("laplace_sum", "declared_sum"): DECLARED,
    ("saddle_last_iterate", "declared_monotone"): (
        "it is what the kind of description means; fields that are not monotone are described by "
        "none"
    ),
    ("girsanov_kinetic", "stationary_velocity"): IMPLIED,  # every underdamped chain starts so
    ("steered_kinetic", "stationary_velocity"): IMPLIED,
    ("steered_kinetic", "strongly_convex"): IMPLIED,  # no step brings chains nearer at m <= 0
}
"""By theorem and name of the hypothesis: why its removal makes nothing false."""


@pytest.fixture(scope="module")
def fates():
    looked_up, found = Hypotheses(), {}
    for theorem in theorems():
        for condition in theorem.assumes:
            key = theorem.name, _named(condition)
            outside = looked_up.only(theorem, condition, cases())
            few = islice(outside, FEW) if key in NEVER_FALSE else outside
            found[key] = fate(theorem, condition, few)
    return found


def _named(condition) -> str:
    judge = getattr(condition, "judge", None)
    return (judge or condition.check).__name__


def test_every_hypothesis_is_needed_or_listed(fates, capsys):
    caught = {key: found for key, found in fates.items() if found[0] in (Fate.FALSE, Fate.MUTE)}
    idle = set(fates) - set(caught)
    assert idle <= set(NEVER_FALSE), sorted(idle - set(NEVER_FALSE))
    stale = set(NEVER_FALSE) - idle
    assert not stale, f"listed, but caught or gone: {sorted(stale)}"
    count = Counter(found[0] for found in fates.values())
    with capsys.disabled():
        print(
            f"\n{len(fates)} hypotheses of {len(theorems())} theorems removed: "
            f"{count[Fate.FALSE]} then claim less than the exact value, "
            f"{count[Fate.MUTE]} cannot answer, {len(idle)} never false (listed with the reason)"
        )
    assert count[Fate.FALSE] >= 25


@pytest.mark.slow
def test_what_is_listed_is_false_nowhere():
    """All cases that fail one of the listed hypotheses alone, and wider surroundings of them."""
    near = [Case(run, partial(laws_of, run)) for run in around(2)]
    looked_up, met = Hypotheses(), Counter()
    for theorem in theorems():
        for condition in theorem.assumes:
            key = theorem.name, _named(condition)
            if key in NEVER_FALSE:
                outside = [*looked_up.only(theorem, condition, (*cases(), *near))]
                met[key] = len(outside)
                assert fate(theorem, condition, outside)[0] is not Fate.FALSE, key
    assert sum(met.values()) > 3 * len(NEVER_FALSE)


def test_nothing_is_claimed_below_the_exact_value_at_the_edges():
    """The theorems themselves, where a twin with one hypothesis less would be false."""
    met = Counter()
    for theorem in theorems():
        for case in cases():
            if is_asked(theorem, case.subject):
                claim = claim_of(case.asked(theorem))
                if claim is not None:
                    met[theorem.name] += 1
                    for law in case.laws():
                        assert shortfall(claim, law) is None, (theorem.name, case.subject)
    assert set(met) == {theorem.name for theorem in theorems()}, met


def test_every_bounded_set_of_the_catalogue_is_convex():
    """So a prox that may expand is never that of a bounded domain."""
    kinds = {kind for kind in vars(domains).values() if isinstance(kind, type)}
    named = {kind for kind in kinds if issubclass(kind, Domain) and kind is not Domain}
    loose = {MCP, SCAD, WithRidge, Product}
    assert loose <= named
    for kind in named - loose:  # none of the others is weakly convex, whatever its numbers
        text = inspect.getsource(kind)
        assert "strong_convexity=-" not in text, kind
    for bent in (MCP(1.0, 1.2), SCAD(1.0, 3.7)):
        box = Box(-1.0, 1.0, dimension=1)
        assert bent.strong_convexity < 0 and math.isinf(bent.diameter)
        assert math.isinf(Product((box, bent), (1, 1)).diameter)
        assert math.isinf(WithRidge(bent, 0.1).diameter)


def test_every_condition_is_asked_by_some_theorem():
    used = {
        id(condition)
        for theorem in theorems()
        for condition in (*theorem.assumes, *(getattr(theorem, "tight_when", None) or ()))
    }
    assert not [c.statement for c in conditions() if id(c) not in used]
