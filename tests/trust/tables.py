"""A small table with its schema, and fits of it, for tests of what is released."""

from pathlib import Path

from wane.cli import main

TABLE = "a,b,label\n" + "".join(f"{i % 7},{i % 5},{'yes' if i % 3 else 'no'}\n" for i in range(400))
SCHEMA = """
[target]
name = "label"
classes = ["no", "yes"]
[columns.a]
type = "numeric"
low = 0
high = 7
"""
BOTH = f"""{SCHEMA}[columns.b]
type = "numeric"
low = 0
high = 5
"""


def write_table(place: Path, table: str = TABLE, schema: str = BOTH) -> Path:
    """Write `data.csv` and `schema.toml` into a folder, and return it."""
    (place / "data.csv").write_text(table)
    (place / "schema.toml").write_text(schema)
    return place


def fit_to(place: Path, name: str) -> None:
    """Fit a model to the table of this folder, and release it into a folder of this name."""
    words = ["fit", place / "data.csv", "--schema", place / "schema.toml", "--model", "logistic"]
    words += ["--epsilon", 8, "--delta", "1e-5", "--adjacency", "zero-out", "--out", place / name]
    assert main([str(word) for word in words]) == 0
