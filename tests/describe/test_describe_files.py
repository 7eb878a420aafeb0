"""Description files as people have them: marks, directories, keys without end."""

import tracemalloc

import pytest

from wane.describe.files import MOST_PARTS, parse
from wane.errors import InvalidDescription
from wane.losses.files import read_run

TEXT = """records = 10
steps = 5
step_size = 0.1
noise = { gradient_std = 1.0 }
objective = { gradient_bound = 1.0 }
"""


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert read_run(path).records == 10


def test_a_directory_is_named_once():
    with pytest.raises(InvalidDescription) as refusal:
        read_run("/")
    assert str(refusal.value) == "/ must be a file, got a directory."


@pytest.mark.parametrize("key", ["a.", '"a b".', "'a'. ", "a . "])
def test_keys_of_many_parts_take_no_memory(key):
    text = key * 20_000 + "a = 1\n"
    tracemalloc.start()
    with pytest.raises(InvalidDescription, match=f"at most {MOST_PARTS} parts"):
        parse(text.encode(), "it")
    assert tracemalloc.get_traced_memory()[1] < 50 * len(text)
    tracemalloc.stop()


def test_keys_of_some_parts_are_read():
    assert parse(b"a.b.c = 1.5\n", "it") == {"a": {"b": {"c": 1.5}}}
