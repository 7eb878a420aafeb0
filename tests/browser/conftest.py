"""A real Chromium, started for each module, and a real server, started once."""

import shutil
import threading
import time

import pytest
import uvicorn
from playwright.sync_api import sync_playwright

from wane.web.app import application

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser():
    """Closed with the module: while it is open, its event loop runs in the tests' own thread."""
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if path is None:
        pytest.fail("no Chromium found; install one (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def address():
    server = uvicorn.Server(
        uvicorn.Config(application(), host="127.0.0.1", port=0, log_level="error")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/"
    server.should_exit = True
    thread.join(timeout=10)


@pytest.fixture
def page(browser):
    """A fresh page that fails the test on any error in its console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(90_000)  # a loaded machine is slow, not wrong
    made = context.new_page()
    complaints = []
    made.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    made.on("pageerror", lambda error: complaints.append(str(error)))
    made.complaints = complaints
    yield made
    context.close()
    unexpected = [c for c in complaints if "422" not in c and "409" not in c]
    assert not unexpected, unexpected
