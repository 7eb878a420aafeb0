"""The notebooks run from end to end, as a reader would run them."""

from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import wane

FOLDER = Path(wane.__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_all_five_are_here():
    names = {path.stem for path in NOTEBOOKS}
    assert names == {"table", "opacus", "posterior", "statistic", "audit"}


def _marks(path):
    """The one that trains with Opacus takes longer, and runs where Opacus is."""
    if path.stem != "opacus":
        return ()
    absent = find_spec("opacus") is None
    return (pytest.mark.slow, pytest.mark.skipif(absent, reason="needs opacus"))


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem, marks=_marks(p)) for p in NOTEBOOKS])
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own
def test_it_runs(path, tmp_path):
    book = nbformat.read(path, as_version=4)
    source = "\n".join(cell.source for cell in book.cells)
    assert "benchmarks" not in source
    assert not any(cell.get("outputs") for cell in book.cells), "outputs are made, not kept"
    client = NotebookClient(
        book, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    made = client.execute()
    if path.stem == "opacus":
        printed = "".join(
            out.get("text", "") for cell in made.cells for out in cell.get("outputs", ())
        )
        assert "last iterate" in printed and "Opacus, PRV" in printed
    assert any(cell.get("outputs") for cell in made.cells)
