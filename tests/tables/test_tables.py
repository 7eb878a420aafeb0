"""Tables: bounded by a public schema, read the same from CSV and Parquet, silent about cells."""

import json
import math
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from wane.errors import InvalidDescription
from wane.tables import (
    BooleanColumn,
    BoundedTarget,
    CategoricalColumn,
    ClassTarget,
    Fill,
    Indicate,
    NumericColumn,
    Scale,
    Schema,
    read_blocks,
    read_table,
    schema_template,
    source,
)

SCHEMA = """
feature_norm = 10.0

[target]
name = "income"
classes = ["low", "high"]

[columns.age]
type = "numeric"
low = 0
high = 100
missing = {fill = 50.0}

[columns.work]
type = "categorical"
categories = ["public", "private"]
missing = "indicator"

[columns.member]
type = "boolean"

[columns.hours]
type = "numeric"
low = 0
high = 80
scale = "unit"
"""

CSV = """\
id,age,work,member,hours,income
1,25,public,true,40,low
2, 75 ,private,no,999,high
3,,astronaut,1,-inf,low
4,NA,?,F,,high
"""

EXPECTED = np.array(
    [
        [-0.5, 1, 0, 0, 1, 0.5],
        [0.5, 0, 1, 0, 0, 1.0],
        [0.0, 0, 0, 0, 1, 0.0],
        [0.0, 0, 0, 1, 0, 0.0],
    ]
)
SECRET = "SECRETCELL"


@pytest.fixture
def schema() -> Schema:
    return Schema.from_fields(tomllib.loads(SCHEMA))


def written(folder: Path, text: str | bytes, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def refused(path: object, schema: Schema, *words: str, **options: object) -> str:
    with pytest.raises(InvalidDescription) as caught:
        read_table(path, schema, **options)
    message = str(caught.value)
    for word in words:
        assert word in message
    assert "\n" not in message
    assert len(message) < 400
    context = caught.value
    while context is not None:  # nothing is hidden in a cause either
        assert SECRET not in str(context)
        context = context.__context__
    return message


def test_every_rule_by_hand(tmp_path, schema):
    table = read_table(written(tmp_path, CSV), schema)
    np.testing.assert_array_equal(table.features, EXPECTED)
    np.testing.assert_array_equal(table.targets, [0, 1, 0, 1])
    assert table.names == (
        "age",
        "work=public",
        "work=private",
        "work missing",
        "member",
        "hours",
    )
    assert "4" not in repr(table)


def test_parquet_reads_the_same(tmp_path, schema):
    columns = {
        "age": pa.array([25.0, 75.0, None, math.nan]),
        "work": pa.array(["public", "private", "astronaut", None]).dictionary_encode(),
        "member": pa.array([True, False, True, False]),
        "hours": pa.array([40, 999, -5, None], pa.int16()),
        "income": pa.array(["low", "high", "low", "high"]),
    }
    path = tmp_path / "data.bin"  # told by its content
    pq.write_table(pa.table(columns), path)
    table = read_table(path, schema)
    np.testing.assert_array_equal(table.features, EXPECTED)
    np.testing.assert_array_equal(table.targets, [0, 1, 0, 1])


def test_the_target_may_be_absent_for_prediction(tmp_path, schema):
    text = "\n".join(line.rpartition(",")[0] for line in CSV.splitlines())
    table = read_table(written(tmp_path, text), schema, targets=False)
    assert table.targets is None
    np.testing.assert_array_equal(table.features, EXPECTED)
    refused(written(tmp_path, text), schema, "income")


def test_blocks_are_the_table(tmp_path, schema, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_ROWS", 3)
    names = ["age", "work", "member", "hours", "income"]
    whole = pyarrow.csv.read_csv(written(tmp_path, CSV.replace(" 75 ", "75")))
    path = tmp_path / "data.parquet"
    pq.write_table(pa.concat_tables([whole.select(names)] * 5), path, row_group_size=4)
    blocks = list(read_blocks(path, schema))
    assert [len(b.features) for b in blocks] == [3, 3, 3, 3, 3, 3, 2]
    np.testing.assert_array_equal(np.concatenate([b.features for b in blocks]), [*EXPECTED] * 5)
    np.testing.assert_array_equal(read_table(path, schema).targets, [0, 1] * 10)


def test_csv_blocks(tmp_path, schema, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 64)
    blocks = list(read_blocks(written(tmp_path, CSV), schema))
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate([b.features for b in blocks]), EXPECTED)


def test_no_header_another_delimiter_and_a_byte_order_mark(tmp_path, schema):
    fields = schema.to_fields()
    body = CSV.partition("\n")[2].replace(",", ";")
    given = fields | {"delimiter": ";", "header": CSV.partition("\n")[0].split(",")}
    table = read_table(written(tmp_path, body), Schema.from_fields(given))
    np.testing.assert_array_equal(table.features, EXPECTED)
    marked = written(tmp_path, b"\xef\xbb\xbf" + CSV.replace("id,age", "age,id").encode())
    assert read_table(marked, schema).features.shape == EXPECTED.shape


def test_a_column_of_empty_cells_keeps_its_rows(tmp_path):
    schema = Schema(
        columns=(NumericColumn(name="x", low=0, high=1),),
        target=ClassTarget(name="y", classes=("a", "b")),
    )
    table = read_table(written(tmp_path, "x\n1\n\n0\n"), schema, targets=False)
    np.testing.assert_allclose(table.features, [[1], [0], [-1]], atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    cells=st.lists(
        st.tuples(*[st.floats(allow_nan=True, allow_infinity=True)] * 3), min_size=1, max_size=20
    ),
    norm=st.floats(1e-3, 1e3),
)
def test_no_row_is_longer_than_declared(tmp_path_factory, dtype, cells, norm):
    schema = Schema(
        columns=(
            NumericColumn(name="a", low=-1e300, high=1e300, missing=Indicate()),
            NumericColumn(name="b", low=-1, high=1),
            NumericColumn(name="c", low=0, high=1e-3, scale=Scale.UNIT, missing=Fill(7.0)),
        ),
        target=BoundedTarget(name="c_again", low=0, high=1),
        feature_norm=norm,
    )
    path = tmp_path_factory.mktemp("rows") / "data.parquet"
    pq.write_table(pa.table(dict(zip("abc", zip(*cells, strict=True), strict=True))), path)
    rows = read_table(path, schema, targets=False, dtype=dtype).features
    assert rows.dtype == dtype
    assert np.isfinite(rows).all()
    for row in rows.astype(object):
        assert math.fsum(float(x) ** 2 for x in row) <= norm**2 * (1 + 1e-15)


def test_bounded_targets_are_moved_into_their_bounds(tmp_path, schema):
    given = schema.to_fields() | {"target": {"name": "id", "low": 2, "high": 3}}
    table = read_table(written(tmp_path, CSV), Schema.from_fields(given))
    np.testing.assert_array_equal(table.targets, [2, 2, 3, 3])


def test_schema_round_trip_and_hash(tmp_path, schema):
    again = Schema.from_fields(json.loads(json.dumps(schema.to_fields())))
    assert again == schema
    assert again.hash == schema.hash
    path = written(tmp_path, SCHEMA, "schema.toml")
    assert Schema.from_file(path) == schema
    turned = Schema(columns=schema.columns[::-1], target=schema.target, feature_norm=10.0)
    assert turned.hash != schema.hash


BAD_SCHEMAS = {
    "no bounds": ("low = 0\nhigh = 100\n", "", "columns.age.low"),
    "turned bounds": ("high = 100", "high = -1", "columns.age.high"),
    "infinite bound": ("high = 100", "high = inf", "columns.age.high"),
    "nan bound": ("high = 100", "high = nan", "columns.age.high"),
    "endless range": ("low = 0\nhigh = 100", "low = -1e308\nhigh = 1e308", "columns.age.high"),
    "no categories": ('categories = ["public", "private"]', "", "columns.work.categories"),
    "empty categories": ('["public", "private"]', "[]", "columns.work.categories"),
    "twice": ('["public", "private"]', '["public", "public"]', "columns.work.categories"),
    "no type": ('type = "boolean"', 'type = ""', "columns.member.type"),
    "unknown type": ('type = "boolean"', 'type = "bool"', "columns.member.type"),
    "unknown key": ('scale = "unit"', 'scael = "unit"', "scael"),
    "unknown scale": ('scale = "unit"', 'scale = "log"', "columns.hours.scale"),
    "unknown rule": ('missing = "indicator"', 'missing = "mean"', "columns.work.missing"),
    "fill text": ("fill = 50.0", 'fill = "many"', "columns.age.missing.fill"),
    "one class": ('["low", "high"]', '["low"]', "target.classes"),
    "no classes": ('classes = ["low", "high"]', "", "target"),
    "target among columns": ('name = "income"', 'name = "age"', "target.name"),
    "norm": ("feature_norm = 10.0", "feature_norm = 0.0", "feature_norm"),
    "top key": ("feature_norm = 10.0", "feature_nrom = 10.0", "feature_nrom"),
    "syntax": ("[target]", "[target", "TOML"),
}


@pytest.mark.parametrize("old, new, word", BAD_SCHEMAS.values(), ids=BAD_SCHEMAS)
def test_bad_schemas(tmp_path, old, new, word):
    assert old in SCHEMA
    path = written(tmp_path, SCHEMA.replace(old, new, 1), "schema.toml")
    with pytest.raises(InvalidDescription) as caught:
        Schema.from_file(path)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_TABLES = {
    "missing column": (CSV.replace("hours", "hrs"), ["'hours'"]),
    "duplicate column": (CSV.replace("id,age", "age,age"), ["'age'", "1 and 2"]),
    "text in numbers": (CSV.replace("25", SECRET), ["'age'"]),
    "text in booleans": (CSV.replace("true", SECRET), ["'member'"]),
    "unknown label": (CSV.replace("40,low", f"40,{SECRET}"), ["'income'", "classes"]),
    "missing label": (CSV.replace("40,low", "40,"), ["'income'"]),
    "short row": (CSV + f"{SECRET},1\n", ["6 cells"]),
    "long row": (CSV + f"{SECRET}" + ",1" * 9 + "\n", ["6 cells"]),
    "open quote": (CSV + f'5,"{SECRET},public,true,1,low\n', ["cells"]),
    "not utf-8": (CSV.encode() + SECRET.encode() + b"\xff,1,public,true,\xfe,low\n", []),
    "header not utf-8": (b"\xff\xfe\xfa,b\n1,2\n", ["UTF-8"]),
    "utf-16": (CSV.encode("utf-16"), ["UTF-8"]),
    "header only": (CSV.partition("\n")[0] + "\n", ["at least one row"]),
    "empty": ("", ["empty"]),
    "nul bytes": (b"\0" * 1000, []),
    "binary": (bytes(range(256)) * 50, []),
}


@pytest.mark.parametrize("content, words", BAD_TABLES.values(), ids=BAD_TABLES)
def test_bad_csv(tmp_path, schema, content, words):
    refused(written(tmp_path, content), schema, *words)


def test_bad_bytes_inside_a_wanted_column(tmp_path, schema):
    text = CSV.encode().replace(b"astronaut", b"\xff\xfe")
    refused(written(tmp_path, text), schema, "UTF-8")


def parquet(**columns: object) -> pa.Table:
    table = {
        "age": [1.0],
        "work": ["public"],
        "member": [True],
        "hours": [1],
        "income": ["low"],
    }
    return pa.table(table | columns)


def many(**columns: object) -> pa.Table:
    values = np.random.default_rng(1).random(2000)
    one = parquet().to_pydict()
    return pa.table({name: cell * 2000 for name, cell in one.items()} | {"age": values} | columns)


BAD_TYPES = {
    "date": (parquet(age=pa.array([1], pa.date32())), ["'age'", "date32"]),
    "list": (parquet(age=[[1.0]]), ["'age'"]),
    "struct": (parquet(work=[{"a": SECRET}]), ["'work'"]),
    "date category": (parquet(work=pa.array([1], pa.date32())), ["'work'", "date32"]),
    "bytes": (parquet(work=[SECRET.encode()]), ["'work'", "binary"]),
    "text": (parquet(hours=[SECRET]), ["'hours'"]),
    "label": (parquet(income=[SECRET]), ["'income'"]),
    "label missing": (parquet(income=pa.array([None], pa.string())), ["'income'"]),
    "no rows": (parquet().slice(0, 0), ["at least one row"]),
    "no columns": (pa.table({}), ["'age'"]),
    "twice": (
        pa.Table.from_arrays(
            [*parquet().columns, pa.array([1.0])], [*parquet().column_names, "age"]
        ),
        ["'age'", "1 and 6"],
    ),
}


@pytest.mark.parametrize("table, words", BAD_TYPES.values(), ids=BAD_TYPES)
def test_bad_parquet(tmp_path, schema, table, words):
    path = tmp_path / "data.parquet"
    pq.write_table(table, path)
    refused(path, schema, *words)


@pytest.mark.parametrize("keep", [0.0, 0.001, 0.3, 0.6, 0.9, 0.999])
def test_truncated_parquet(tmp_path, schema, keep):
    path = tmp_path / "data.parquet"
    rows = [SECRET] * 2000
    pq.write_table(many(work=rows), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * keep)])
    refused(path, schema, "Parquet" if keep > 0 else "empty")


def test_damaged_pages(tmp_path, schema):
    path = tmp_path / "data.parquet"
    pq.write_table(many(), path)
    whole = bytearray(path.read_bytes())
    whole[4:200] = b"\xff" * 196
    path.write_bytes(bytes(whole))
    refused(path, schema, "Parquet")


def test_bad_paths(tmp_path, schema):
    refused(tmp_path / "nowhere.csv", schema, "cannot be read")
    refused(tmp_path, schema, "directory")
    refused(tmp_path / ("x" * 5000), schema, "cannot be read")
    refused("\0", schema, "cannot be read")


def test_a_hundred_thousand_columns(tmp_path):
    count = 100_000
    header = ",".join(f"c{i}" for i in range(count)) + ",y\n"
    path = written(tmp_path, header + ",".join(["0.5"] * count) + ",a\n")
    template = schema_template(path)
    assert template.count("\ntype = ") == count + 1
    fields = {
        "target": {"name": "y", "classes": ["a", "b"]},
        "columns": {f"c{i}": {"type": "numeric", "low": 0, "high": 1} for i in range(0, count, 50)},
    }
    table = read_table(path, Schema.from_fields(fields))
    assert table.features.shape == (1, 2000)


def test_template_holds_names_and_nothing_else(tmp_path):
    path = written(tmp_path, CSV.replace("public", SECRET))
    text = schema_template(path)
    made = tomllib.loads(text)
    assert list(made["columns"]) == ["id", "age", "work", "member", "hours", "income"]
    assert all(column == {"type": ""} for column in made["columns"].values())
    assert made["target"] == {"name": ""}
    assert SECRET not in text
    assert "25" not in text
    shorter = written(tmp_path, CSV.partition("\n")[0] + "\n", "other.csv")
    assert schema_template(shorter, header=True) == text, "the rows must not matter"
    with pytest.raises(InvalidDescription, match="--header must be given"):
        schema_template(shorter)
    pq.write_table(parquet(), tmp_path / "data.parquet")
    assert "double" not in schema_template(tmp_path / "data.parquet")


def test_template_refuses_to_copy_a_record(tmp_path):
    path = written(tmp_path, f"39,{SECRET},13\n40,Private,9\n")
    with pytest.raises(InvalidDescription, match="--header must be given") as caught:
        schema_template(path)
    assert SECRET not in str(caught.value)
    text = schema_template(path, header=False)
    assert SECRET not in text
    assert tomllib.loads(text)["header"] == ["column_1", "column_2", "column_3"]


def test_strange_names_survive_the_template(tmp_path):
    names = ['say "hi"', "a.b", "back\\slash", "naïve", "tab\there", "]"]
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({name: [1] for name in names}), path)
    assert list(tomllib.loads(schema_template(path))["columns"]) == names


def test_columns_say_what_they_become():
    column = CategoricalColumn(name="c", categories=("a", 1, True))
    assert column.categories == ("a", "1", "true")
    assert column.labels == ("c=a", "c=1", "c=true")
    assert BooleanColumn(name="b", missing=Indicate()).labels == ("b", "b missing")
