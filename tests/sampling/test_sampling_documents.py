"""The page and the example do what they say."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "sampling.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_snippets_of_the_page_run(capsys):
    pytest.importorskip("sklearn")
    pytest.importorskip("arviz")
    snippets = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(snippets) > 4
    names = {}
    exec(compile("\n".join(snippets), "docs/sampling.md", "exec"), names)
    assert names["model"].certificate_.epsilon(1e-6) <= 1.0
    assert names["model"].distance_.value <= 0.5
    assert "a release that no certificate covers" in capsys.readouterr().out


def test_options_of_the_page_exist():
    from wane.cli.sample import Job

    block = re.search(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL).group(1)
    said = set(re.findall(r"^(\w+) =", block, flags=re.MULTILINE)) - {"kind"}
    assert said <= set(Job.__dataclass_fields__)
    flags = set(re.findall(r"--([a-z-]+)", "\n".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S))))
    assert flags - {"out"} <= {name.replace("_", "-") for name in Job.__dataclass_fields__}


def test_the_example():
    pytest.importorskip("sklearn")
    example = runpy.run_path(str(ROOT / "examples" / "private_posterior.py"))
    rng = np.random.default_rng(0)
    rows = rng.uniform(example["LOW"], example["HIGH"], (300, 5))
    labels = (rows[:, 0] > 15.0).astype(int)
    model = example["sampled"](rows, labels, step_size=0.1, steps=50)
    text = example["report"](model)
    assert "mean radius" in text and "epsilon" in text
    assert model.certificate_.epsilon(example["DELTA"]) <= example["EPSILON"]
