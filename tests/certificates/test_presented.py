"""What a notebook shows: a few lines and one picture, and files on request."""

import inspect
import json
from xml.etree import ElementTree

import jsonschema
import pytest

import wane
from wane.certificates import certificate_schema
from wane.errors import InvalidDescription


@pytest.fixture(scope="module")
def run():
    return wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
        records=1000,
        steps=200,
        step_size=1.0,
        noise=wane.NoiseMultiplier(5.0),
        batches=wane.Cyclic(100),
        domain=wane.Ball(radius=5.0),
    )


@pytest.fixture(scope="module")
def shown(run):
    return {
        "certificate": wane.certify(run),
        "calibrated": wane.calibrate(run, epsilon=1.0, delta=1e-6),
        "curve": wane.curve(run, start=10, stop=1000, points=4),
    }


@pytest.mark.parametrize("name", ["certificate", "calibrated", "curve"])
def test_at_most_five_lines_and_a_picture(shown, name):
    text = repr(shown[name])
    assert len(text.splitlines()) <= 5, text
    assert max(map(len, text.splitlines())) < 140
    assert "epsilon" in text
    page = shown[name]._repr_html_()
    tree = ElementTree.fromstring(f"<body>{page}</body>")
    assert tree.find(".//polyline") is not None
    assert "epsilon" in "".join(tree.itertext())


def test_the_words_are_those_of_the_certificate(shown, run):
    certificate = shown["certificate"]
    text = repr(certificate)
    said = float(text.partition("epsilon = ")[2].split()[0])
    assert certificate.epsilon(1e-5) <= said <= certificate.epsilon(1e-5) * 1.001
    assert certificate.best(1e-5).theorem.name in text
    assert "200 steps on 1000 records" in text
    assert f"{shown['calibrated'].value:.6g}" in repr(shown["calibrated"])


def test_what_was_asked_for_is_what_is_shown(shown):
    """A target at another delta than the usual one is told, drawn and written at that delta."""
    found = shown["calibrated"]
    assert "meets epsilon=1 at delta=1e-06" in repr(found)
    assert "at delta = 1e-06, by" in repr(found) and "1e-05" not in repr(found)
    assert "at delta = 1e-06, by" in found._repr_html_()
    assert json.loads(found.to_json())["delta"] == 1e-6
    by_attack = wane.calibrate(found.run, attack=(0.01, 0.1))
    assert "at delta = 1e-05, by" in repr(by_attack)


def test_each_picture_has_names_of_its_own(shown):
    first, second = (shown["certificate"]._repr_html_() for _ in range(2))
    assert first != second, "two outputs on one page must not share the name of a title"


def test_where_nothing_applies_nothing_is_claimed(run):
    bare = wane.certify(run, [])
    assert "no theorem applies" in repr(bare)
    assert "polyline" not in bare._repr_html_()


def test_a_void_certificate_claims_nothing(shown):
    void = shown["certificate"].void([f"Reason {place}." for place in range(5)])
    text = repr(void)
    assert len(text.splitlines()) <= 5
    assert "void" in text and "Reason 0." in text and "2 more reasons" in text
    assert "epsilon =" not in text
    assert "polyline" not in void._repr_html_()


def test_several_releases_are_told_together(shown):
    from wane.certificates import together

    both = together([shown["certificate"], shown["certificate"]])
    said = float(repr(both).partition("epsilon = ")[2].split()[0])
    assert said >= both.epsilon(1e-5) > shown["certificate"].epsilon(1e-5)
    assert "of 2 releases together" in repr(both)


def test_files(shown, tmp_path):
    for name in ("certificate", "calibrated"):
        found = shown[name]
        document = json.loads(found.to_json(1e-6))
        jsonschema.Draft202012Validator(certificate_schema()).validate(document)
        assert document["delta"] == 1e-6
        found.save(tmp_path / f"{name}.json", 1e-6)
        assert json.loads((tmp_path / f"{name}.json").read_text()) == document
        found.save(tmp_path / f"{name}.html")
        assert (tmp_path / f"{name}.html").read_text().startswith("<!DOCTYPE html>")
    curve = shown["curve"]
    assert json.loads(curve.to_json())["theorems"]
    curve.save(tmp_path / "curve.json")
    assert json.loads((tmp_path / "curve.json").read_text()) == json.loads(curve.to_json())
    curve.save(tmp_path / "curve.html")
    page = (tmp_path / "curve.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "<svg" in page and "<title>epsilon" in page
    with pytest.raises(InvalidDescription, match=r"\.html or \.json"):
        shown["certificate"].save(tmp_path / "certificate.pdf")
    with pytest.raises(InvalidDescription, match="cannot be written"):
        shown["certificate"].save(tmp_path / "none" / "certificate.html")


def test_pictures(shown):
    from matplotlib import pyplot

    for found in shown.values():
        axis = found.plot()
        assert axis.lines
        pyplot.close(axis.figure)


def test_signatures_fit_on_a_screen():
    for module in (wane, wane.learn, wane.mechanisms, wane.sampling):
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type):
                assert len(str(inspect.signature(value))) < 1500, name
