"""The page and the examples do what they say."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("name", "least"), [("mechanisms.md", 9), ("statistics.md", 3)])
def test_snippets_of_the_page_run(name, least):
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(snippets) >= least
    exec(compile("\n".join(snippets), f"docs/{name}", "exec"), {})


def test_figures_of_the_page_exist():
    page = (ROOT / "docs" / "mechanisms.md").read_text(encoding="utf-8")
    for name in re.findall(r"\]\(((?:figures|proofs)/[^)]*)\)", page):
        assert (ROOT / "docs" / name).is_file(), name


def test_three_levels_with_made_up_patients():
    example = runpy.run_path(str(ROOT / "examples" / "three_levels.py"))
    values = np.random.default_rng(0).normal(14.0, 3.5, size=569)
    truth, levels = example["shares"](values), example["plan"](records=569)
    path = levels.open(truth, seed_voids_privacy=1)
    for name in ("everybody", "hospital", "team"):
        path.publish(name)
    text = example["report"](levels, path, truth)
    assert "all three together" in text
    for name, epsilon in example["EPSILONS"].items():
        assert levels.guarantee(name).delta(epsilon) <= example["DELTA"]
    assert np.linalg.norm(truth) <= 1.0


def test_three_levels_with_the_real_data():
    pytest.importorskip("sklearn")
    example = runpy.run_path(str(ROOT / "examples" / "three_levels.py"))
    assert example["tumour_sizes"]().shape == (569,)
