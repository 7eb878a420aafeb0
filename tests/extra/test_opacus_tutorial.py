"""The tutorial on Opacus runs, and says what it prints."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch; install wane[torch]")
pytest.importorskip("opacus", reason="needs opacus; install wane[opacus]")
pytest.importorskip("sklearn", reason="needs scikit-learn; install wane[learn]")

from engines import QUIET

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorials" / "opacus.md").read_text()


def hooks():
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs" / "hooks.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.slow
@pytest.mark.filterwarnings(*QUIET, "ignore::UserWarning:opacus")
def test_the_tutorial_runs():
    page = hooks().executed(PAGE, "opacus.md")
    hidden, composed, theirs = (
        float(re.search(rf"^{name} +epsilon ([0-9.]+)$", page, re.M)[1])
        for name in ("last iterate", "composition", "Opacus, PRV")
    )
    assert hidden < composed <= theirs
    assert "certified by poisson_last_iterate" in page
    assert float(re.search(r"accuracy ([0-9.]+)", page)[1]) > 0.4  # a tenth by chance


def test_the_difference_is_at_most_six_lines():
    (diff,) = re.findall(r"```diff\n(.*?)```", PAGE, re.S)
    assert len(re.findall(r"^\+", diff, re.M)) <= 6


def test_a_page_whose_libraries_are_missing_is_shown_as_it_stands():
    page = "<!-- needs: torch, no_such_library -->\n```python\n1 / 0\n```\n"
    assert hooks().executed(page, "page.md") == page
