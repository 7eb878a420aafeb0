"""Takes the pictures of the web pages, in a real Chromium: `python docs/screenshot.py`.

With a folder, `python docs/screenshot.py FOLDER`, the pictures go there, to be looked at.
"""

import csv
import random
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright

from wane.web.app import application
from wane.web.table import Desk, LocalTable

FIGURES = Path(__file__).parent / "figures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 120_000
"""Milliseconds: a loaded machine is slow, not wrong."""
DESKTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}
SCHEMA = """\
feature_norm = 1.5

[target]
name = "bought"
classes = ["no", "yes"]

[columns.age]
type = "numeric"
low = 0
high = 120

[columns.visits]
type = "numeric"
low = 0
high = 50

[columns.plan]
type = "categorical"
categories = ["free", "basic", "full"]
"""


def written_table(folder: Path, rows: int = 2000) -> LocalTable:
    """Return a table of made-up customers, and a schema for it, in this folder."""
    draw = random.Random(0)
    with (folder / "customers.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["age", "visits", "plan", "bought"])
        for _ in range(rows):
            age, visits = draw.randint(18, 80), draw.randint(0, 40)
            plan = draw.choice(["free", "basic", "full"])
            likely = visits / 40 + 0.3 * (plan == "full") + draw.gauss(0, 0.2) > 0.6
            lines.writerow([age, visits, plan, "yes" if likely else "no"])
    (folder / "customers.toml").write_text(SCHEMA, encoding="utf-8")
    return LocalTable(folder / "customers.csv", folder / "release", folder / "customers.toml")


@contextmanager
def served(desk: Desk) -> Iterator[str]:
    """Serve the pages and yield their address."""
    config = uvicorn.Config(application(desk=desk), port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join(timeout=10)


def explored(page: Page, address: str) -> None:
    """Open the page with the second preset and wait for its curve."""
    page.goto(address)
    page.select_option("#preset", "1")
    page.wait_for_selector("#chart polyline[data-theorem=last_iterate]")
    page.wait_for_function("() => document.getElementById('progress').hidden")
    page.wait_for_selector("#make-change")


def pictures(browser: Browser, address: str, token: str, target: Path) -> None:
    """Take the pictures of both pages."""
    for name, size, scheme in (
        ("page", DESKTOP, "light"),
        ("page-dark", DESKTOP, "dark"),
        ("page-phone", PHONE, "light"),
    ):
        page = browser.new_page(viewport=size, color_scheme=scheme)
        page.set_default_timeout(PATIENCE)
        explored(page, address)
        page.screenshot(path=target / f"{name}.png")
        page.close()
    for name, size, scheme in (
        ("table", DESKTOP, "light"),
        ("table-phone", PHONE, "dark"),
    ):
        page = browser.new_page(viewport=size, color_scheme=scheme)
        page.set_default_timeout(PATIENCE)
        page.goto(f"{address}table#{token}")
        page.wait_for_selector("#columns .column")
        page.click("#check")
        page.wait_for_selector("#check-found table")
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=target / f"{name}.png")
        page.close()


def main() -> None:
    """Serve both pages, take the pictures, and make them small."""
    target = Path(sys.argv[1]) if sys.argv[1:] else FIGURES
    target.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        desk = Desk(written_table(Path(folder)))
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        with served(desk) as address:
            pictures(browser, address, desk.token, target)
        browser.close()
    smaller(target)


def smaller(folder: Path) -> None:
    """Keep 64 colours of each picture, which makes the files a third as large."""
    from PIL import Image  # comes with matplotlib

    for place in (*folder.glob("page*.png"), *folder.glob("table*.png")):
        with Image.open(place) as picture:
            picture.convert("RGB").quantize(64).save(place, optimize=True)


if __name__ == "__main__":
    main()
