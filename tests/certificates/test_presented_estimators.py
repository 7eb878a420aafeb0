"""What a notebook shows of estimators; their docstrings are whole, and their examples run."""

import doctest
import importlib
import inspect
import json
import re

import numpy as np
import pytest

pytest.importorskip("sklearn")

import wane
from wane import learn
from wane.certificates import certificate_schema
from wane.documents import check_document
from wane.errors import InvalidDescription
from wane.sampling import estimators

ESTIMATORS = [
    *learn.MODELS,
    learn.PrivateMean,
    *(getattr(estimators, name) for name in estimators.__all__),
]
ROWS = np.linspace(-0.7, 0.7, 4000).reshape(-1, 2)
LABELS = (ROWS[:, 0] > 0.0).astype(int)


@pytest.fixture(scope="module")
def fitted():
    return learn.PrivateLogisticRegression(epsilon=1.0, classes=(0, 1)).fit(ROWS, LABELS)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_its_docstring_is_whole_and_its_example_runs(kind):
    text = inspect.getdoc(kind)
    described = text.partition("Args:")[2].partition("Attributes:")[0]
    for name in inspect.signature(kind).parameters:
        assert name in described, f"{kind.__name__} does not describe {name}"
    assert "certificate_:" in text.partition("Attributes:")[2]
    assert len(re.findall(r"(?m)^ *epsilon(, delta)?:", described)) == 1, "inherited once"
    found = doctest.DocTestParser().get_doctest(text, {}, kind.__name__, None, 0)
    assert len(found.examples) > 3
    assert doctest.DocTestRunner().run(found).failed == 0


def test_no_signature_fills_a_screen():
    for module in ("wane", "wane.learn", "wane.sampling", "wane.mechanisms", "wane.tables"):
        loaded = importlib.import_module(module)
        assert set(getattr(loaded, "__all__", ())) <= set(dir(loaded))
        for name in dir(loaded):
            try:
                signature = inspect.signature(getattr(loaded, name))
            except (TypeError, ValueError):
                continue
            assert len(str(signature)) < 1200, name


@pytest.mark.parametrize("name", ["wane.learn", "wane.sampling", "wane.statistics"])
def test_a_package_lists_what_it_offers_and_no_imports(name):
    loaded = importlib.import_module(name)
    assert {word for word in dir(loaded) if not word.startswith("_")} == set(loaded.__all__)
    assert all(hasattr(loaded, word) for word in loaded.__all__)


def test_before_and_after_a_fit(fitted):
    fresh = learn.PrivateLogisticRegression(epsilon=1.0)
    assert repr(fresh) == "PrivateLogisticRegression()"
    assert "Not fitted" in fresh._repr_html_()
    assert len(repr(fitted).splitlines()) <= 5
    assert "Certificate: epsilon = " in repr(fitted)
    shown = fitted._repr_mimebundle_()
    assert "<svg" in shown["text/html"]
    assert shown["text/plain"] == repr(fitted)
    stricter = learn.PrivateLogisticRegression(epsilon=1.0, delta=1e-7, classes=(0, 1))
    stricter.fit(ROWS, LABELS)
    for said in (repr(stricter), stricter._repr_html_()):
        assert "epsilon = 1 at delta = 1e-07, by" in said
    many = learn.PrivateLogisticRegression(classes=list(range(5000)))
    assert len(repr(many)) < 1000


def test_its_certificate_says_that_it_ran(fitted, tmp_path):
    document = json.loads(fitted.to_json(dataset="Lines", responsible="A. B."))
    assert document["title"] == "Privacy certificate"
    assert document["noise"]["source"] == "operating-system"
    assert document["delta"] == fitted.delta
    assert document["particulars"]["dataset"] == "Lines"
    assert document["particulars"]["product"] == "logistic regression"
    assert check_document(document).verified
    fitted.save(tmp_path / "c.html", dataset="Lines")
    page = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "Logistic regression from Lines" in page
    assert "planned from public numbers" not in page  # it does not know who chose the settings
    fitted.save(tmp_path / "c.json", delta=1e-6)
    assert json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))["delta"] == 1e-6
    for wrong in ({"colour": "x"}, {"date": "today"}):
        with pytest.raises(InvalidDescription, match="must be"):
            fitted.to_json(**wrong)


@pytest.mark.parametrize(
    "model",
    [
        learn.PrivateMean(feature_norm=1.0),
        estimators.PosteriorMean(n_samples=2),
        learn.PrivateLogisticRegression(classes=(0, 1), release_noise=1.0),
        learn.PrivateLogisticRegression(classes=(0, 1), seed_voids_privacy=1),
    ],
    ids=["mean", "posterior", "exact noise", "seed"],
)
def test_every_fit_writes_a_document_that_verifies_or_is_void(model):
    import jsonschema

    document = json.loads(model.fit(ROWS, LABELS).to_json())
    jsonschema.Draft202012Validator(certificate_schema()).validate(document)
    checked = check_document(document)
    assert not checked.contradictions
    assert checked.void == (model.seed_voids_privacy is not None)
    assert checked.void or checked.verified


def test_what_is_not_fitted_has_no_certificate():
    from sklearn.exceptions import NotFittedError

    for asked in ("to_json", "plot"):
        with pytest.raises(NotFittedError):
            getattr(learn.PrivateMean(), asked)()


def test_a_fit_is_drawn(fitted):
    pytest.importorskip("matplotlib")
    assert fitted.plot().lines
    assert wane.Adjacency.ZERO_OUT is fitted.adjacency
