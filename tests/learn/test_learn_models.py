"""One table of models: whoever forgets a place where a model must be known fails here."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
from learn_cases import COLUMNS, declared, targets

import wane.learn
from wane.cli.fit import models_by_command
from wane.errors import InvalidDescription
from wane.learn import MODELS, load_model
from wane.learn.base import PrivateLinearModel
from wane.learn.loading import require_loadable

ROOT = Path(__file__).parents[2]
NAMES = {kind.__name__ for kind in MODELS}
CASES = {type(model): (model, kind) for model, kind in reversed(declared().values())}


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.__name__)
def test_every_model_is_fitted_saved_loaded_and_predicts_the_same(kind, tmp_path):
    model, sort = CASES[kind]
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, COLUMNS)), targets(sort, rng, 400)
    require_loadable(model)
    model.fit(X, y).save_model(tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    assert type(again) is kind
    assert again.certificate_.epsilon(1e-5) == model.certificate_.epsilon(1e-5)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_every_estimator_that_can_be_saved_is_in_the_table():
    found = set()
    for info in pkgutil.iter_modules(wane.learn.__path__):
        module = importlib.import_module(f"wane.learn.{info.name}")
        for name, kind in vars(module).items():
            if inspect.isclass(kind) and issubclass(kind, PrivateLinearModel):
                methods = (kind._task, getattr(kind, "_link", kind._task))
                if not any(getattr(m, "__isabstractmethod__", False) for m in methods):
                    found.add(name)
    assert found == NAMES
    assert set(wane.learn.__all__) >= NAMES


def test_words_and_commands_are_not_shared():
    assert len({kind.words for kind in MODELS}) == len(MODELS)
    commands = [kind.command for kind in MODELS if kind.command is not None]
    assert len(set(commands)) == len(commands) == len(models_by_command())
    for kind in MODELS:
        assert (kind.command is None) == (kind.target is None), kind


def test_pages_list_every_model():
    section = (
        (ROOT / "docs/learn.md").read_text().partition("## The models")[2].partition("\n## ")[0]
    )
    listed = dict(re.findall(r"^\| `(Private\w+)` \| (`[a-z-]+`|) ?\|", section, re.M))
    assert set(listed) == NAMES | {"PrivateMean"}
    for kind in MODELS:
        assert listed[kind.__name__].strip("`") == (kind.command or ""), kind
    readme = (ROOT / "README.md").read_text()
    sentence = re.search(r"models are (.*?)\. ", readme, re.S)
    assert sentence is not None
    assert set(re.findall(r"`([a-z-]+)`", sentence[1])) == set(models_by_command())


def test_a_model_of_somebody_else_is_refused_before_it_is_spent_for():
    class Mine(PrivateLinearModel):
        pass

    with pytest.raises(InvalidDescription, match="nothing was spent"):
        require_loadable(Mine())
