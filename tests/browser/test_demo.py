"""The certificate that `wane demo` writes, in a real browser and against its schema."""

import json

import jsonschema
import pytest
from axe_playwright_python.sync_playwright import Axe

from wane.certificates import certificate_schema
from wane.cli import main

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "release"
    assert main(["demo", "--out", str(folder)]) == 0
    return folder


def test_its_page_is_quiet_and_accessible(page, release):
    page.goto((release / "certificate.html").as_uri())
    assert "epsilon" in page.inner_text("body").lower()
    found = Axe().run(page).response["violations"]
    assert [v["id"] for v in found if v["impact"] in {"serious", "critical"}] == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.emulate_media(media="print")
    assert page.locator("svg").count() >= 1


def test_its_json_follows_the_published_schema(release):
    document = json.loads((release / "certificate.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(certificate_schema()).validate(document)
