"""Takes the README's picture of the web page, in a real Chromium: `python docs/screenshot.py`."""

import shutil
import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import sync_playwright

from wane.web.app import application

TARGET = Path(__file__).parent / "figures" / "page.png"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main() -> None:
    """Serve the page, choose the second preset, and take the picture."""
    server = uvicorn.Server(uvicorn.Config(application(), port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    with sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(f"http://127.0.0.1:{port}/")
        page.select_option("#preset", "1")
        page.wait_for_selector("#chart polyline[data-theorem=last_iterate]")
        page.wait_for_function("() => document.getElementById('progress').hidden")
        page.screenshot(path=TARGET)
        browser.close()
    server.should_exit = True


if __name__ == "__main__":
    main()
