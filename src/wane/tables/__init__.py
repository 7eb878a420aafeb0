"""Tables with a public schema: bounds and categories are declared, never learnt from the rows."""

from wane.tables.cells import cell_text, kept_cells
from wane.tables.columns import (
    BooleanColumn,
    BoundedTarget,
    CategoricalColumn,
    ClassTarget,
    Column,
    Fill,
    Indicate,
    Missing,
    NumericColumn,
    Scale,
    Target,
    Zero,
)
from wane.tables.frames import read_frame
from wane.tables.parts import Part, parquet_bytes, parquet_parts, read_part, read_part_blocks
from wane.tables.read import Table, read_blocks, read_table
from wane.tables.schema import Schema
from wane.tables.source import as_file
from wane.tables.suitability import ColumnCounts, Suitability, suitability
from wane.tables.template import schema_template

__all__ = [
    "BooleanColumn",
    "BoundedTarget",
    "CategoricalColumn",
    "ClassTarget",
    "Column",
    "ColumnCounts",
    "Fill",
    "Indicate",
    "Missing",
    "NumericColumn",
    "Part",
    "Scale",
    "Schema",
    "Suitability",
    "Table",
    "Target",
    "Zero",
    "as_file",
    "cell_text",
    "kept_cells",
    "parquet_bytes",
    "parquet_parts",
    "read_blocks",
    "read_frame",
    "read_part",
    "read_part_blocks",
    "read_table",
    "schema_template",
    "suitability",
]
