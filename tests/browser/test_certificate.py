"""The page to sign in a real browser: every kind of document, on every medium."""

import io
import runpy
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from wane.report import html_page

pytestmark = pytest.mark.slow
CASES = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "certificate_pictures.py"))["CASES"]


@pytest.fixture(params=CASES, scope="module")
def file(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("certificates") / f"{request.param}.html"
    place.write_text(html_page(CASES[request.param]()), encoding="utf-8")
    return place


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_accessible_and_never_wider_than_the_screen(page, file, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(file.as_uri())
    found = Axe().run(page).response["violations"]
    assert [v["id"] for v in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_page_one_is_one_page_when_printed(page, file):
    """The foot of a printed page says how many there are; page one ends with the signature."""
    page.set_viewport_size({"width": 680, "height": 990})  # A4 within its margins
    page.emulate_media(media="print")
    page.goto(file.as_uri())
    high = page.evaluate("document.querySelector('.page').getBoundingClientRect().height")
    assert high <= 267 / 25.4 * 96  # millimetres between the margins, as CSS counts pixels
    made = page.pdf(prefer_css_page_size=True, print_background=True)
    assert io.BytesIO(made).read(5) == b"%PDF-"
    assert 3 <= made.count(b"/Type /Page\n") <= 7


def test_words_in_the_figures_do_not_collide(page, file):
    page.goto(file.as_uri())
    for picture in page.query_selector_all("svg"):
        boxes = [words.bounding_box() for words in picture.query_selector_all("text")]
        boxes = [box for box in boxes if box and box["width"] > 1]
        frame = picture.bounding_box()
        for place, one in enumerate(boxes):
            assert frame["x"] - 1 <= one["x"]
            assert one["x"] + one["width"] <= frame["x"] + frame["width"] + 1
            for other in boxes[place + 1 :]:
                apart = (
                    one["x"] + one["width"] <= other["x"] + 1
                    or other["x"] + other["width"] <= one["x"] + 1
                    or one["y"] + one["height"] <= other["y"] + 6
                    or other["y"] + other["height"] <= one["y"] + 6
                )
                assert apart, (one, other)
