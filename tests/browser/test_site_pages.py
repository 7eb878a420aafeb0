"""Pages of the documentation in a real browser: readable on a phone, in the dark and by ear."""

import functools
import http.server
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe

import wane

pytestmark = pytest.mark.slow
ROOT = Path(wane.__file__).parents[2]
PAGES = ("README", "applies", "schema", "start-table", "approve", "commands", "web")
DEEP = ("proofs/joint-programme", "losses/convex", "tutorials/opacus")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site of some pages; their code is shown and not run, which another test does."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs")
    (folder / "README.md").write_bytes((ROOT / "README.md").read_bytes())
    hooks = folder / "docs" / "hooks.py"
    text = hooks.read_text(encoding="utf-8")
    shown = text.replace("return BLOCK.sub(run, markdown)", "return markdown")
    assert shown != text
    hooks.write_text(shown, encoding="utf-8")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    config |= {"nav": [{"All": [f"{name}.md" for name in PAGES + DEEP]}], "strict": False}
    config |= {"plugins": ["search"], "site_dir": str(folder / "built")}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "-q"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": _nothing})
    handler = functools.partial(quiet, directory=folder / "built")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def _nothing(*_: object) -> None:
    """Say nothing of each request."""


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
@pytest.mark.parametrize("name", [*PAGES, *DEEP, "commands/fit", "notebooks/table"])
def test_a_page_is_readable(page, site, name, width, scheme):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.goto(site + ("index" if name == "README" else name) + ".html")
    page.wait_for_load_state("networkidle")
    found = Axe().run(page).response["violations"]
    serious = [
        (v["id"], [n["target"] for n in v["nodes"]][:3])
        for v in found
        if v["impact"] in {"serious", "critical"}
    ]
    assert serious == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
