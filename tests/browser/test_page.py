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
    assert names == [name.replace("_", " ").capitalize() for name in drawn]
    assert "last_iterate" in drawn
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
    assert not opened.locator("#theorems").is_visible()  # what does not apply is folded
    opened.click("#rest summary")
    words = opened.locator(".verdict.no[data-theorem=last_iterate_bounded]").inner_text()
    assert "last_iterate_bounded" in words and "Last iterate bounded" in words
    assert "Needed:" in words and "It would with" in words


def test_a_remedy_is_a_button_that_makes_the_change(opened):
    opened.click("#rest summary")
    opened.locator(".verdict.no[data-theorem=last_iterate_bounded] button").first.click()
    opened.wait_for_selector("#applies .verdict.yes[data-theorem=last_iterate_bounded]")
    assert opened.input_value("#domain") == "ball" and opened.input_value("#radius") == "5"
    assert opened.evaluate("document.activeElement.id") == "radius"
    ready(opened)
    button = opened.locator(".verdict.no[data-theorem=poisson_last_iterate] button")
    assert button.inner_text() == "Records in each step: each with the same chance (poisson)"
    button.click()
    opened.wait_for_selector("#applies .verdict.yes[data-theorem=poisson_last_iterate]")
    assert opened.input_value("#batches") == "poisson" and opened.input_value("#size") == "100"


def test_a_button_never_declares_a_constant(opened):
    """Nobody but the user can prove one: the button leads to the field and leaves it empty."""
    opened.select_option("#preset", "5")  # nothing is known of these losses
    opened.wait_for_function("() => document.getElementById('loss').value === 'declared'")
    ready(opened)
    opened.click("#rest summary")
    opened.locator("#theorems button", has_text="Go to: Smoothness").first.click()
    assert opened.evaluate("document.activeElement.id") == "smoothness"
    assert opened.input_value("#smoothness") == ""


def test_identifiers_stand_small_beside_words(opened):
    """What files write is on the page, and never alone."""
    for place in ("#numbers .what", "#fields label"):
        for words, name in zip(
            opened.locator(place).all_inner_texts(),
            opened.locator(f"{place} code").all_inner_texts(),
            strict=True,
        ):
            assert words.endswith(name) and words.removesuffix(name).strip() not in ("", name)
    for option in opened.locator("#fields option").all():
        value, words = option.get_attribute("value"), option.text_content()
        if value not in ("declared", "true", "false"):
            assert words.endswith(f" ({value})")


def test_what_applies_comes_first_and_the_best_of_it_first(opened):
    shown = opened.locator("#applies strong").all_inner_texts()
    epsilons = [float(words.removeprefix("epsilon ")) for words in shown]
    assert epsilons == sorted(epsilons) and epsilons[0] == epsilon(opened)


def test_one_click_calibrates(opened):
    opened.fill("#target", "0.5")
    opened.click("#calibrate")
    wait_for_epsilon(opened, 0.5)


def test_the_one_change_that_helps_most_is_a_button(opened):
    opened.wait_for_selector("#make-change")
    told = float(re.search(r"epsilon ([\d.]+) in place", opened.inner_text("#change"))[1])
    assert told < epsilon(opened)
    opened.click("#make-change")
    wait_for_epsilon(opened, told)
    assert opened.input_value("#loss") == "logistic"  # the loss keeps its name


def test_noise_is_rounded_for_the_eye_and_exact_in_the_download(opened):
    opened.fill("#target", "0.7")
    opened.click("#calibrate")
    wait_for_epsilon(opened, 0.7)
    ready(opened)
    exact = json.loads(downloaded(opened, "#save-description"))["noise"]["multiplier"]
    seen = opened.input_value("#noise")
    assert len(seen) <= 7 and exact <= float(seen) <= exact * 1.0002
    assert repr(exact) in opened.inner_text("#noise-exactly")


def test_stale_results_are_marked_while_a_field_is_wrong(opened):
    before = epsilon(opened)
    opened.fill("#noise", "x")
    opened.wait_for_selector("#glance.stale")
    assert opened.locator("#answer.stale").count() == 1
    assert epsilon(opened) == before and opened.is_disabled("#save-certificate")
    assert "last description that was right" in opened.inner_text("#status")
    assert serious(opened) == []
    opened.fill("#noise", "100")
    opened.wait_for_function("() => !document.querySelector('.stale')")
    assert opened.is_enabled("#save-certificate")


def downloaded(page, button):
    with page.expect_download() as waiting:
        page.click(button)
    return waiting.value.path().read_text(encoding="utf-8")


def test_downloads_agree_with_the_library(opened):
    run = run_from_fields(json.loads(downloaded(opened, "#save-description")))
    certificate = json.loads(downloaded(opened, "#save-certificate"))
    assert certificate["epsilon"] == certify(run).epsilon(1e-5)
    code = downloaded(opened, "#save-code")
    assert "run = wane.NoisyDescent(" in code and "wane.losses.logistic(" in code
    opened.click("#code-shown summary")
    opened.wait_for_function("() => document.getElementById('code').textContent")
    assert opened.inner_text("#code").strip() == code.strip()
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


def test_on_a_phone_the_answer_comes_first_and_stays(page, address):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address)
    ready(page)
    place = page.locator("#numbers .value").first
    assert place.bounding_box()["y"] < 200
    page.evaluate("window.scrollTo(0, 900)")
    page.wait_for_function("() => window.scrollY > 800")
    assert 0 <= place.bounding_box()["y"] < 120


def test_dark_colours_are_dark_and_readable(page, address):
    page.emulate_media(color_scheme="dark")
    page.goto(address)
    ready(page)
    red = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0]")
    assert int(red) < 60
    page.click("#rest summary")
    assert serious(page) == []


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
    opened.click("#rest summary")
    assert serious(opened) == []


def test_the_certificate_page_is_quiet_and_accessible(opened, page, tmp_path):
    file = tmp_path / "certificate.html"
    file.write_text(downloaded(opened, "#save-page"), encoding="utf-8")
    page.goto(file.as_uri())
    assert re.search("epsilon", page.inner_text("body"), re.IGNORECASE)
    assert serious(page) == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
