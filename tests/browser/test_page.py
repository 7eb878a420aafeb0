"""The web page in a real browser: load, turn knobs, read reasons, calibrate, download, err."""

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from wane import certify
from wane.describe.fields import run_from_fields

pytestmark = pytest.mark.slow


def ready(page):
    # the bar appears in the same turn in which the status is written
    page.wait_for_function(
        "() => document.getElementById('status').textContent.startsWith('Epsilon')"
    )
    page.wait_for_function("() => document.getElementById('progress').hidden")
    page.wait_for_selector("#chart svg polyline")


def epsilon(page):
    return float(page.locator("#numbers .value").first.inner_text())


def wait_for_epsilon(page, target):
    shown = "Number(document.querySelector('#numbers .value')?.textContent)"
    page.wait_for_function(f"() => Math.abs({shown} - {target}) < 1e-3")


def set_slider(page, name, place):
    page.locator(f"#{name}-slider").evaluate(
        "(slider, place) => { slider.value = place; slider.dispatchEvent(new Event('input')); }",
        place,
    )
    page.wait_for_function("() => document.getElementById('status').textContent === 'Computing.'")


@pytest.fixture
def opened(page, address):
    page.goto(address)
    ready(page)
    return page


def serious(page):
    found = Axe().run(page).response["violations"]
    return [v["id"] for v in found if v["impact"] in {"serious", "critical"}]


def test_it_loads_and_shows_every_curve(opened):
    names = opened.locator("#legend li").all_inner_texts()
    drawn = opened.locator("#chart polyline").evaluate_all(
        "lines => lines.map(l => l.dataset.theorem)"
    )
    assert names == drawn and "last_iterate" in names
    assert epsilon(opened) > 0


def test_more_noise_moves_the_curve_down(opened):
    before = epsilon(opened)
    line = opened.locator("#chart polyline[data-theorem=last_iterate]")
    shape = line.get_attribute("points")
    set_slider(opened, "noise", 990)
    ready(opened)
    assert epsilon(opened) < before
    assert opened.locator("#chart-table table tbody tr").count() > 10
    assert line.get_attribute("points") != shape


def test_it_says_why_a_theorem_does_not_apply_and_what_would_help(opened):
    words = opened.locator(".verdict.no[data-theorem=last_iterate_bounded]").inner_text()
    assert "Does not apply" in words and "It would with" in words
    opened.select_option("#domain", "ball")
    opened.fill("#radius", "1")
    ready(opened)
    opened.wait_for_selector(".verdict.yes[data-theorem=last_iterate_bounded]")


def test_one_click_calibrates(opened):
    opened.fill("#target", "0.5")
    opened.click("#calibrate")
    wait_for_epsilon(opened, 0.5)


def downloaded(page, button):
    with page.expect_download() as waiting:
        page.click(button)
    return waiting.value.path().read_text(encoding="utf-8")


def test_downloads_agree_with_the_library(opened):
    run = run_from_fields(json.loads(downloaded(opened, "#save-description")))
    certificate = json.loads(downloaded(opened, "#save-certificate"))
    assert certificate["epsilon"] == certify(run).epsilon(1e-5)
    assert "stated_from_fields" in downloaded(opened, "#save-code")
    assert downloaded(opened, "#save-page").startswith("<!DOCTYPE html>")


def test_the_address_carries_the_state(opened, page, address):
    opened.fill("#steps", "1234")
    opened.wait_for_function("() => location.hash.includes('1234')")
    ready(opened)
    shared = opened.url
    wanted = epsilon(opened)
    opened.goto("about:blank")
    opened.goto(shared)
    ready(opened)
    assert opened.input_value("#steps") == "1234" and epsilon(opened) == wanted


def test_bad_values_are_shown_at_the_field(opened):
    for name, value in (("step_size", "-1"), ("records", "abc"), ("noise", ""), ("delta", "7")):
        good = opened.input_value(f"#{name}")
        opened.fill(f"#{name}", value)
        opened.wait_for_function(f"() => document.getElementById('{name}-error').textContent")
        assert opened.get_attribute(f"#{name}", "aria-invalid") == "true"
        opened.fill(f"#{name}", good)
        opened.wait_for_function(f"() => !document.getElementById('{name}-error').textContent")


def test_a_description_can_be_loaded_and_a_bad_one_is_named(opened, tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text("records = [", encoding="utf-8")
    opened.set_input_files("#file", bad)
    opened.wait_for_function(
        "() => document.getElementById('file-error').textContent.includes('TOML')"
    )
    good = tmp_path / "good.json"
    good.write_text(downloaded(opened, "#save-description"), encoding="utf-8")
    opened.set_input_files("#file", good)
    opened.wait_for_function("() => document.getElementById('loss').value === 'declared'")
    ready(opened)


WATCH = """() => {
    const status = document.getElementById('status');
    window.computed = false;
    new MutationObserver(() => { window.computed ||= status.textContent === 'Computing.'; })
        .observe(status, {childList: true, characterData: true, subtree: true});
}"""
"""An answer may come sooner than anyone looks: what the page says in between is noted."""


@pytest.mark.parametrize("preset", range(6))
def test_every_preset_ends_with_a_curve(opened, preset):
    opened.evaluate(WATCH)
    opened.select_option("#preset", str(preset))
    opened.wait_for_function("() => window.computed")
    ready(opened)


def test_a_narrow_screen_needs_no_sideways_scrolling(page, address):
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    ready(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_keyboard_is_enough(opened):
    opened.keyboard.press("Tab")
    assert opened.evaluate("document.activeElement.className") == "skip"
    opened.focus("#noise-slider")
    before = epsilon(opened)
    for _ in range(30):
        opened.keyboard.press("ArrowRight")
    opened.wait_for_function(
        f"() => Number(document.querySelector('#numbers .value')?.textContent) < {before} * 0.99"
    )
    opened.focus("#target")
    opened.keyboard.press("Tab")
    opened.keyboard.press("Tab")
    opened.keyboard.press("Enter")
    wait_for_epsilon(opened, 1.0)


def test_nothing_serious_for_assistive_technology(opened):
    assert serious(opened) == []


def test_the_certificate_page_is_quiet_and_accessible(opened, page, tmp_path):
    file = tmp_path / "certificate.html"
    file.write_text(downloaded(opened, "#save-page"), encoding="utf-8")
    page.goto(file.as_uri())
    assert re.search("epsilon", page.inner_text("body"), re.IGNORECASE)
    assert serious(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
