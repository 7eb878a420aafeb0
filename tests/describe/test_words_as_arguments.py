"""Words of the command line are read wherever Python takes the object they name."""

from dataclasses import replace

import numpy as np
import pytest

import wane
from runs import make_run
from wane.certificates import certify
from wane.describe.choices import adjacency_of, batches_of, release_of
from wane.describe.posterior import Posterior
from wane.errors import InvalidDescription
from wane.sampling.sums import mean_losses

RUN = make_run(records=1000, steps=50)
BATCHES = {
    "full": wane.FullBatch(),
    "poisson:250": wane.Poisson(250),
    "cyclic:100": wane.Cyclic(100),
    "shuffled-once:100": wane.ShuffledOnce(100),
    "without-replacement:7": wane.WithoutReplacement(7),
}


@pytest.mark.parametrize(("word", "batches"), BATCHES.items())
def test_a_run_takes_words(word, batches):
    spelled = replace(RUN, batches=word, adjacency="zero-out", release="every-iterate")
    meant = replace(
        RUN, batches=batches, adjacency=wane.Adjacency.ZERO_OUT, release=wane.EveryIterate()
    )
    assert spelled == meant
    assert hash(spelled) == hash(meant)
    assert certify(spelled).epsilon(1e-5) == certify(meant).epsilon(1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"batches": "poisson"},
        {"batches": "poisson:"},
        {"batches": "poisson:-3"},
        {"batches": "poisson:2.5"},
        {"batches": "poisson:0"},
        {"batches": "full:3"},
        {"batches": "fish:3"},
        {"batches": "poisson:2000"},
        {"batches": 250},
        {"adjacency": "zero_out"},
        {"adjacency": 1},
        {"release": "some"},
        {"release": [1, 2]},
    ],
)
def test_other_words_are_refused(wrong):
    with pytest.raises(InvalidDescription, match=r"must|unknown key"):
        replace(RUN, **wrong)


def test_every_reader_returns_the_object_itself():
    assert adjacency_of("a", wane.Adjacency.ADD_REMOVE) is wane.Adjacency.ADD_REMOVE
    batches, release = wane.Poisson(3), wane.Iterates((1, 2))
    assert batches_of("b", batches) is batches
    assert release_of("r", release) is release


def test_others_take_the_word_for_an_adjacency():
    said = wane.StatedRelease(name="a", source="b", adjacency="zero-out", mu=1.0)
    assert said.adjacency is wane.Adjacency.ZERO_OUT
    losses = mean_losses(dimension=2, norm=1.0)
    made = Posterior(losses=losses, records=10, prior_precision=1.0, adjacency="zero-out")
    assert made.adjacency is wane.Adjacency.ZERO_OUT


def test_estimators_take_words_however_they_are_set():
    pytest.importorskip("sklearn")
    from sklearn.base import clone

    from wane.learn import PrivateLogisticRegression
    from wane.sampling.estimators import PosteriorMean

    model = PrivateLogisticRegression(adjacency="replace-one", batches="poisson:250")
    assert model.adjacency is wane.Adjacency.REPLACE_ONE
    assert model.batches == wane.Poisson(250)
    model.set_params(adjacency="zero-out", batches="cyclic:10")
    assert (model.adjacency, model.batches) == (wane.Adjacency.ZERO_OUT, wane.Cyclic(10))
    assert clone(model).batches == wane.Cyclic(10)
    assert PosteriorMean(adjacency="replace-one").adjacency is wane.Adjacency.REPLACE_ONE
    rows, labels = np.zeros((500, 2)), np.arange(500) % 2
    for wrong in ({"adjacency": "both"}, {"batches": "fish:3"}, {"batches": "poisson"}):
        refused = PrivateLogisticRegression(classes=(0, 1), **wrong)
        with pytest.raises(InvalidDescription, match=f"{next(iter(wrong))}.* must be"):
            refused.fit(rows, labels)
