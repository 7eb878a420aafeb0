"""Hypotheses removed one at a time: without any of them a theorem is false, or cannot answer.

The walk finds every theorem of the package, wherever it lives.  A hypothesis whose removal leaves
nothing false is listed below with the reason; one that is neither caught nor listed fails.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from twins.cases import cases, conditions, theorems
from twins.removal import Fate, Hypotheses, claim_of, fate, is_asked, shortfall

FEW = 2
"""So many cases show that a listed hypothesis is refused outside, and false nowhere there."""
COSTS = "it limits the work; any number of phases or positions is covered by the proof"
IMPLIED = "another hypothesis of the same theorem implies it"
COMPOSED = "the formula then charges for every use of the record, which is always true"
NOTHING_NEW = "the formula looks at the release by itself, and charges for what is seen"
CONVEX = "every bounded set of the catalogue is convex, and its prox is a projection"

NEVER_FALSE: dict[tuple[str, str], str] = {
    ("fixed_size_contraction", "short_schedule"): COSTS,
    ("fixed_size_last_iterate", "short_schedule"): COSTS,
    ("last_iterate_bounded", "short_schedule"): COSTS,
    ("last_iterate_modulus", "short_schedule"): COSTS,
    ("poisson_contraction", "short_schedule"): COSTS,
    ("poisson_last_iterate", "short_schedule"): COSTS,
    ("secret_order", "few_positions"): COSTS,
    ("fixed_size_composition", "size_is_public"): (
        "without the record a set of n - 1 is as likely as the others' sets of n, and with it one "
        "record takes another's place: the same pair, with a chance that is no larger"
    ),
    ("fixed_size_last_iterate", "size_is_public"): "as for the composition of the same steps",
    ("fixed_size_last_iterate", "spare_records"): (
        "with batches of all records the steps are those of full batches, charged at rate one"
    ),
    ("fixed_size_contraction", "spare_records"): "as for the last iterate",
    ("fixed_size_contraction", "bounded_domain"): "an infinite separation contracts nothing",
    ("poisson_contraction", "bounded_domain"): "an infinite separation contracts nothing",
    ("fixed_size_contraction", "bounded_gradient"): "an infinite separation contracts nothing",
    ("poisson_contraction", "bounded_gradient"): "an infinite separation contracts nothing",
    ("fixed_size_contraction", "known_modulus"): "an infinite separation contracts nothing",
    ("poisson_contraction", "known_modulus"): "an infinite separation contracts nothing",
    ("fixed_size_contraction", "nonexpansive_prox"): CONVEX,
    ("poisson_contraction", "nonexpansive_prox"): CONVEX,
    ("last_iterate_modulus", "nonexpansive_prox"): CONVEX,
    ("last_iterate_bounded", "certified_prox"): CONVEX,
    ("fixed_size_last_iterate", "bounded_distance"): (
        "the distance is then followed as it grows, and composition is found to be better"
    ),
    ("poisson_last_iterate", "bounded_distance"): "as with fixed sizes",
    ("last_iterate", "some_hidden"): NOTHING_NEW,
    ("averaged_last_iterate", "some_hidden"): NOTHING_NEW,
    ("averaged_last_iterate", "convex_losses"): (
        "what is stated of the average bounds its curvature from both sides, and so does the "
        "formula where no lower end is declared"
    ),
    ("last_iterate_bounded", "some_hidden"): NOTHING_NEW,
    ("last_iterate_bounded", "bounded_domain"): "the formula is then that of `last_iterate`",
    ("last_iterate_modulus", "bounded_domain"): COMPOSED,
    ("secret_order", "fixed_order"): IMPLIED,
    ("secret_order", "some_hidden"): IMPLIED,
    ("secret_order", "certified_prox"): COMPOSED,
    ("secret_order", "last_iterate"): (
        "the formula charges each position for what is seen, and an average over secret orders is "
        "a bound by joint convexity, whatever is released"
    ),
    ("log_sobolev_dynamics", "full_batch"): (
        "a step moves the mean drift by the sensitivity at most however records are chosen, and "
        "the fact that is stated is about the laws of that very run"
    ),
    ("gibbs_transfer", "_same_number"): (
        "the target's constants hold with one record more or less as well; exact draws are "
        "compared at one point, where one record's gradient is bounded"
    ),
    ("range_transfer", "_same_number"): "as above; the potentials differ by one bounded loss",
    ("girsanov_convex", "convex"): (
        "no counterexample is known: the proof bounds the gradients on the way by convexity, and "
        "with a minimiser at hand the energy bounds them nearly as well"
    ),
    ("girsanov_kinetic", "stationary_velocity"): "every underdamped chain starts so",
    ("steered_kinetic", "stationary_velocity"): "every underdamped chain starts so",
    ("steered_kinetic", "strongly_convex"): IMPLIED,
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


def test_every_condition_is_asked_by_some_theorem():
    used = {
        id(condition)
        for theorem in theorems()
        for condition in (*theorem.assumes, *(getattr(theorem, "tight_when", None) or ()))
    }
    assert not [c.statement for c in conditions() if id(c) not in used]
