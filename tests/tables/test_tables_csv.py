"""CSV files as people have them: stray quotes, bad bytes, other delimiters, packed files."""

import gzip

import numpy as np
import pytest

from wane.errors import InvalidDescription
from wane.tables import Schema, read_table, schema_template
from wane.tables.source import open_quote

SECRET = "SECRETCELL"
COLUMNS = {"age": {"type": "numeric", "low": 0, "high": 100}}
FIELDS = {"target": {"name": "y", "classes": ["a", "b"]}, "columns": COLUMNS, "feature_norm": 9.0}


def schema(**more):
    return Schema.from_fields({**FIELDS, **more})


def table(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    raw = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def refusal(path, described):
    with pytest.raises(InvalidDescription) as caught:
        read_table(path, described)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def rows(count):
    return "".join(f"{n % 100},note {n},a\n" for n in range(count))


def test_a_stray_quote_does_not_swallow_the_rows_below_it(tmp_path):
    text = "age,note,y\n" + rows(4) + f'7,"{SECRET},a\n' + rows(995)
    for described in (schema(), schema(newlines_in_cells=True)):
        assert "line 6" in refusal(table(tmp_path, text), described)


def test_a_quote_closed_by_a_later_stray_quote_is_refused_too(tmp_path):
    text = "age,note,y\n" + rows(4) + f'7,"{SECRET},a\n' + rows(90) + f'8,{SECRET}",b\n' + rows(5)
    said = refusal(table(tmp_path, text), schema())
    assert "line 6" in said
    assert "newlines_in_cells" in said


def test_newlines_in_cells_are_read_if_the_schema_allows_them(tmp_path):
    path = table(tmp_path, 'age,note,y\n25,"two\nlines",a\n75,"one ""line""",b\n')
    assert "line 2" in refusal(path, schema())
    assert len(read_table(path, schema(newlines_in_cells=True)).features) == 2


def test_quotes_that_are_text_are_left_alone(tmp_path):
    path = table(tmp_path, 'age,note,y\n25,5" pipe,a\n75,"a ""b"" c",b\n10,"x"y"z,a\n')
    assert len(read_table(path, schema()).features) == 3


@pytest.mark.parametrize(
    ("text", "newlines", "line"),
    [
        (b"a,b\n1,2\n", False, None),
        (b'a,b\n"1,2\n', False, 2),
        (b'a,b\n"1\n2",2\n', True, None),
        (b'a,b\n"1\n2",2\n', False, 2),
        (b'a,b\n"1""\n2",2\n"x\n', True, 4),
        (b'"a","b"\n"1","2"', False, None),
        (b'a\n""\n"""\n', False, 3),
    ],
)
def test_open_quotes_are_found(text, newlines, line):
    assert open_quote(text.splitlines(keepends=True), ",", newlines=newlines) == line


def test_a_bad_byte_is_blamed_on_its_line(tmp_path):
    text = b"age,note,y\n25,fine,a\n30,fine,a\n35," + SECRET.encode() + b"\xff,b\n"
    described = schema(columns={**COLUMNS, "note": {"type": "categorical", "categories": ["fine"]}})
    said = refusal(table(tmp_path, text), described)
    assert "UTF-8" in said
    assert "line 4" in said


def test_packed_files_need_no_header_in_the_schema(tmp_path):
    text = "age,note,y\n25,x,a\n75,x,b\n"
    plain = read_table(table(tmp_path, text), schema())
    packed = read_table(table(tmp_path, text, "data.csv.gz"), schema())
    np.testing.assert_array_equal(plain.features, packed.features)
    assert "age" in schema_template(table(tmp_path, text, "data.csv.gz"), header=True)


@pytest.mark.parametrize(("mark", "word"), [(";", "semicolon"), ("\t", "tab"), ("|", "bar")])
def test_another_delimiter_is_named(tmp_path, mark, word):
    path = table(tmp_path, "age,note,y\n25,x,a\n".replace(",", mark))
    said = refusal(path, schema())
    assert word in said
    assert f"delimiter = {mark!r}" in said
    assert len(read_table(path, schema(delimiter=mark)).features) == 1


@pytest.mark.parametrize(
    "text",
    [
        f"{SECRET},London,yes\nJones,Paris,no\n",
        f"39,{SECRET},13\n40,Private,9\n",
        f"unknown,{SECRET}\n25,Jones\n30,Smith\n",
        "name,town,member\nSmith,London,yes\n",
    ],
)
def test_a_template_asks_whether_there_is_a_header(tmp_path, text):
    with pytest.raises(InvalidDescription, match="--header must be given") as caught:
        schema_template(table(tmp_path, text))
    assert SECRET not in str(caught.value)
    assert "column_1" in schema_template(table(tmp_path, text), header=False)
    assert SECRET not in schema_template(table(tmp_path, text), header=False)


def test_a_header_above_numbers_is_certain(tmp_path):
    path = table(tmp_path, "age,hours,work\n25,40,public\n?,38,private\n")
    assert '[columns."hours"]' in schema_template(path)
