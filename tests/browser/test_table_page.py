"""The page for the holder's table in a real browser: schema, check, fit, certificate."""

import importlib.util
import json
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

import wane
from wane.web.table import Desk, LocalTable

pytestmark = pytest.mark.slow
ROOT = Path(wane.__file__).parents[2]


def _pictures():
    spec = importlib.util.spec_from_file_location("screenshot", ROOT / "docs" / "screenshot.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def desk(tmp_path):
    made = _pictures().written_table(tmp_path, rows=600)
    return Desk(LocalTable(made.data, made.out))  # without its schema: it is filled in below


@pytest.fixture
def address(desk):
    with _pictures().served(desk) as made:
        yield made


def serious(page):
    found = Axe().run(page).response["violations"]
    return [v["id"] for v in found if v["impact"] in {"serious", "critical"}]


def filled_in(page, address, token):
    page.goto(f"{address}table#{token}")
    page.wait_for_selector("#columns .column")
    page.fill("#classes", "no, yes")
    page.fill("#feature_norm", "1.5")
    for place, (low, high) in enumerate([("0", "120"), ("0", "30")]):
        page.select_option(f"#type-{place}", "numeric")
        page.fill(f"#low-{place}", low)
        page.fill(f"#high-{place}", high)
    page.select_option("#type-2", "categorical")
    page.fill("#categories-2", "free, basic, full")


def test_from_the_names_of_columns_to_a_certificate(page, address, desk):
    sent = []
    page.on("response", lambda reply: sent.append(reply.url))
    filled_in(page, address, desk.token)
    page.click("#check")
    page.wait_for_selector("#check-found table")
    assert "Do not publish them" in page.inner_text("#not-private")
    assert "outside the bounds" in page.inner_text("#check-found")  # visits go up to 40
    page.click("#fit")
    page.wait_for_selector("#released:not([hidden])")
    certificate = json.loads((desk.table.out / "certificate.json").read_text())
    assert certificate["status"] == "certified" and certificate["epsilon"] <= 1.0
    assert "Epsilon is at most" in page.inner_text("#verdict")
    frame = page.frame(url=f"{address}table/certificate/*") or page.frames[-1]
    frame.wait_for_selector("h1")
    assert page.is_disabled("#fit")  # one fit is one release
    assert all(url.startswith(address) for url in sent)


def test_a_mistake_is_told_where_it_was_made(page, address, desk):
    filled_in(page, address, desk.token)
    page.fill("#high-0", "many")
    page.click("#check")
    page.wait_for_function("() => document.getElementById('check-error').textContent")
    assert "columns.age.high" in page.inner_text("#check-error")
    page.fill("#high-0", "120")
    page.fill("#epsilon", "-3")
    page.click("#fit")
    page.wait_for_function("() => document.getElementById('fit-error').textContent")
    assert page.is_enabled("#fit") and not desk.table.out.exists()


def test_without_the_token_nothing_is_shown(page, address):
    page.goto(f"{address}table")
    page.wait_for_function("() => document.getElementById('page-error').textContent")
    assert "behind the #" in page.inner_text("#page-error")
    assert page.locator("#columns .column").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_assistive_technology(page, address, desk, scheme):
    page.emulate_media(color_scheme=scheme)
    filled_in(page, address, desk.token)
    page.click("#check")
    page.wait_for_selector("#check-found table")
    assert serious(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
