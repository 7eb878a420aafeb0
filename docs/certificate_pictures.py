"""Takes pictures of the page to sign, in a real Chromium: `python docs/certificate_pictures.py`.

The same documents are what `tests/browser` looks at.  Printed pages need pypdfium2 as well.
"""

import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

import wane
from wane.certificates import (
    Circumstances,
    NoiseSource,
    Particulars,
    certificate_document,
    certify,
    stated_release,
    together,
    with_files,
)
from wane.cli.commands import bundled
from wane.describe import Adjacency
from wane.guarantees import GaussianDP, WithFailure
from wane.mechanisms import OrnsteinUhlenbeckMechanism
from wane.report import html_page
from wane.sampling import OverdampedRun, Posterior
from wane.sampling.sums import mean_losses

TARGET = Path(__file__).parent / "figures"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
RUN = replace(bundled("logistic"), adjacency=Adjacency.ZERO_OUT, noise=wane.NoiseMultiplier(8.6))
RAN = Circumstances(
    noise=NoiseSource.OPERATING_SYSTEM,
    released="The 48 coefficients of logistic regression, intercepts included, and nothing else.",
    origin="worked out by wane for the loss of logistic regression and the public feature norm",
    declared="worked out by wane when it wrote the description, and enforced while running",
    tuning="None: every setting was planned from public numbers alone, which costs nothing.",
    context=(("target", "income"), ("features", "48"), ("SHA-256 of the schema", "7c12" * 16)),
    grid=2.0**-16,
    particulars=Particulars(
        product="logistic regression",
        dataset="Census extract, training part",
        organisation="Example Statistics Office",
        responsible="(name), data steward",
        date="2026-11-18",
    ),
)
FILES = {"model.npz": "5be9" * 16, "schema.json": "7c12" * 16, "description.json": "9a78" * 16}


def _written(certificate: Any, circumstances: Circumstances = RAN) -> dict[str, Any]:
    made = certificate_document(certificate, delta=1e-5, circumstances=circumstances)
    return with_files(made, FILES) if circumstances.noise.ran else made


def _joint() -> dict[str, Any]:
    level = WithFailure(GaussianDP(0.1), 1e-7)
    side = stated_release("a bound on the curvature", level, "docs/proofs", Adjacency.ZERO_OUT)
    return _written(together((certify(side), certify(RUN))))


MECHANISM = OrnsteinUhlenbeckMechanism(
    sensitivity=0.3, time=1.0, reversion=1.0, norm_bound=5.0, adjacency=Adjacency.ZERO_OUT
)
SAMPLES = OverdampedRun(
    posterior=Posterior(
        losses=mean_losses(dimension=2, norm=1.0),
        records=4000,
        prior_precision=1.0,
        temperature=500.0,
        adjacency=Adjacency.ZERO_OUT,
    ),
    step_size=1e-5,
    steps=2000,
    samples=2,
)


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    "strong": lambda: _written(certify(RUN)),
    "moderate": lambda: _written(certify(RUN).for_persons(5)),
    "weak": lambda: _written(certify(replace(RUN, noise=wane.NoiseMultiplier(0.5)))),
    "void": lambda: _written(
        certify(RUN),
        replace(RAN, noise=NoiseSource.SEED, voids=("Whoever knows the seed knows the noise.",)),
    ),
    "calculation": lambda: _written(certify(RUN), Circumstances()),
    "joint": _joint,
    "random-batches": lambda: _written(certify(replace(RUN, batches=wane.Poisson(1500), steps=50))),
    "mechanism": lambda: _written(certify(MECHANISM)),
    "samples": lambda: _written(certify(SAMPLES)),
    "replaced": lambda: _written(certify(replace(RUN, adjacency=Adjacency.REPLACE_ONE))),
}
"""Documents of every kind that has a page of its own."""


def main() -> None:
    """Take the pictures of a strong certificate on all media, and of page one of a void one."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        file = Path(place) / "certificate.html"
        file.write_text(html_page(CASES["strong"]()), encoding="utf-8")
        for name, wide, high, scheme in (
            ("desktop", 1280, 1330, "light"),
            ("phone", 390, 1100, "light"),
            ("dark", 1280, 1330, "dark"),
        ):
            page = browser.new_page(viewport={"width": wide, "height": high}, color_scheme=scheme)
            page.goto(file.as_uri())
            _saved(Image.open(BytesIO(page.screenshot())), name)
        page.pdf(path=file.with_suffix(".pdf"), prefer_css_page_size=True, print_background=True)
        browser.close()
        _printed(file.with_suffix(".pdf"))


def _printed(file: Path) -> None:
    """The first pages side by side, as a printer has them."""
    try:
        pdfium = importlib.import_module("pypdfium2")
    except ImportError:
        sys.exit("the printed pages need pypdfium2; the other pictures are made")
    pages = [page.render(scale=1.1).to_pil() for page in pdfium.PdfDocument(file)]
    shown = pages[:3]
    sheet = Image.new("RGB", (sum(p.width for p in shown) + 40, shown[0].height + 20), "#8a939b")
    for place, page in enumerate(shown):
        sheet.paste(page, (10 + place * (page.width + 10), 10))
    _saved(sheet, "print")


def _saved(picture: Image.Image, name: str) -> None:
    picture.convert("RGB").quantize(48).save(TARGET / f"certificate-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
