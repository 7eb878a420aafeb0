"""Domains as fields of a file, and what bad input is told."""

from __future__ import annotations

import ast
import dataclasses
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

import wane.describe.domains as catalogue
from wane.describe.domains import (
    DOMAINS,
    MCP,
    SCAD,
    Affine,
    Ball,
    Box,
    Diameter,
    Domain,
    ElasticNet,
    GroupLasso,
    Halfspace,
    Lasso,
    NuclearNorm,
    Product,
    Ridge,
    Simplex,
    SortedLOne,
    Unbounded,
    WithRidge,
    from_fields,
    to_fields,
)
from wane.errors import InvalidDescription

KINDS = [pytest.param(c, id=c.kind) for c in DOMAINS]


@pytest.mark.parametrize(
    ("kind", "fields", "domain"),
    [
        ("unbounded", {}, Unbounded()),
        ("ball", {"radius": 5}, Ball(5.0)),
        ("ball", {"radius": 5.0, "center": [1, 2]}, Ball(5.0, (1.0, 2.0))),
        ("box", {"lower": 0, "upper": [1, 2]}, Box(0.0, (1.0, 2.0), 2)),
        ("simplex", {}, Simplex(1.0)),
        ("diameter", {"diameter": 10.0}, Diameter(10.0)),
        ("elastic-net", {"weight": 0.1, "ridge": 1}, ElasticNet(0.1, 1.0)),
        ("group-lasso", {"weight": 1.0, "groups": [[0, 2], [1]]}, GroupLasso(1.0, ((0, 2), (1,)))),
        ("affine", {"matrix": [[1, 0]], "offset": [2]}, Affine(((1.0, 0.0),), (2.0,))),
        (
            "with-ridge",
            {"ridge": 0.5, "domain": {"kind": "ball", "radius": 1.0}},
            WithRidge(Ball(1.0), 0.5),
        ),
        (
            "product",
            {"parts": [{"kind": "ball", "radius": 1.0}, {"kind": "unbounded"}], "sizes": [3, 1]},
            Product((Ball(1.0), Unbounded()), (3, 1)),
        ),
    ],
)
def test_files_say_what_code_says(kind, fields, domain):
    before = json.dumps(fields)
    assert from_fields(kind, fields) == domain
    assert json.dumps(fields) == before
    through_json = json.loads(json.dumps(to_fields(domain), allow_nan=False))
    assert from_fields(domain.kind, through_json) == domain


def test_absent_options_are_left_out():
    assert to_fields(Ball(1.0)) == {"radius": 1.0}
    assert to_fields(Unbounded()) == {}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_words_in_kebab_case(kind):
    assert kind.kind == kind.kind.lower().replace("_", "-").replace(" ", "-")
    assert kind.__doc__ is not None
    assert kind.__doc__.splitlines()[0].endswith((".", ":", ";"))
    assert dataclasses.is_dataclass(kind)
    assert "kind" not in {f.name for f in dataclasses.fields(kind)}


def test_arrays_and_lists_are_kept_as_tuples():
    ball = Ball(np.float32(2), np.array([1, 2]))  # type: ignore[arg-type]
    assert ball == Ball(2.0, (1.0, 2.0))
    assert hash(ball) == hash(Ball(2.0, (1.0, 2.0)))
    flat = Affine(np.eye(2), np.ones(2))  # type: ignore[arg-type]
    assert flat.matrix == ((1.0, 0.0), (0.0, 1.0))
    assert NuclearNorm(1, np.int64(2), 2).rows == 2


BAD = [
    (lambda: Ball(0.0), "radius=0.0"),
    (lambda: Ball(-1.0), "radius=-1.0"),
    (lambda: Ball(math.nan), "radius=nan"),
    (lambda: Ball(math.inf), "radius=inf"),
    (lambda: Ball(10**400), "radius=1000"),
    (lambda: Ball(True), "radius=True"),
    (lambda: Ball("5"), "radius='5'"),
    (lambda: Ball(None), "radius=None"),
    (lambda: Ball(1.0, ()), "center=()"),
    (lambda: Ball(1.0, (1.0, math.nan)), "center[1]=nan"),
    (lambda: Ball(1.0, "ab"), "center='ab'"),
    (lambda: Box(0.0, 1.0), "dimension=None"),
    (lambda: Box(0.0, 1.0, 0), "dimension=0"),
    (lambda: Box(0.0, 1.0, 2.0), "dimension=2.0"),
    (lambda: Box(0.0, 1.0, True), "dimension=True"),
    (lambda: Box(1.0, 0.0, 2), "lower=1.0"),
    (lambda: Box(1.0, 1.0, 2), "lower=1.0"),
    (lambda: Box((0.0, 0.0), (1.0, -1.0)), "lower=(0.0, 0.0)"),
    (lambda: Box((0.0, 0.0), (1.0, 1.0, 1.0)), "'upper': 3"),
    (lambda: Box((0.0, 0.0), 1.0, 3), "'dimension': 3"),
    (lambda: Box(0.0, math.inf, 3), "upper=inf"),
    (lambda: Simplex(0), "total=0"),
    (Diameter, "diameter=inf"),
    (lambda: Diameter(-2.0), "diameter=-2.0"),
    (lambda: Diameter(np.ones(2)), "diameter=array"),
    (lambda: Halfspace((0.0, 0.0), 1.0), "normal=(0.0, 0.0)"),
    (lambda: Halfspace((1.0,), math.inf), "offset=inf"),
    (lambda: Affine(((1.0, 0.0), (1.0,)), (0.0, 0.0)), "matrix="),
    (lambda: Affine(((1.0, 0.0),), (0.0, 1.0)), "offset="),
    (lambda: Affine(((0.0, 0.0),), (0.0,)), "row of zeros"),
    (lambda: Affine(((1.0, 0.0), (2.0, 0.0)), (1.0, 1.0)), "offset=(1.0, 1.0)"),
    (lambda: Affine((), ()), "matrix=()"),
    (lambda: Affine(((5e-324,),), (1.0,)), "offset=(1.0,)"),
    (lambda: Halfspace((5e-324,), -1.0), "offset=-1.0"),
    (lambda: Ridge(-0.1), "ridge=-0.1"),
    (lambda: Lasso(-0.1), "weight=-0.1"),
    (lambda: GroupLasso(1.0, ((0, 1), (1, 2))), "coordinate 1 twice"),
    (lambda: GroupLasso(1.0, ((0, 0),)), "coordinate 0 twice"),
    (lambda: GroupLasso(1.0, ((-1,),)), "groups[0][0]=-1"),
    (lambda: GroupLasso(1.0, ((0.0,),)), "groups[0][0]=0.0"),
    (lambda: GroupLasso(1.0, (0, 1)), "groups[0]=0"),
    (lambda: GroupLasso(1.0, ()), "groups=()"),
    (lambda: GroupLasso((1.0,), ((0,), (1,))), "weight=(1.0,)"),
    (lambda: GroupLasso(True, ((0,),)), "weight=True"),
    (lambda: SortedLOne((1.0, 2.0)), "weights=(1.0, 2.0)"),
    (lambda: SortedLOne((1.0, -2.0)), "weights[1]=-2.0"),
    (lambda: NuclearNorm(1.0, 0, 2), "rows=0"),
    (lambda: MCP(1.0, 0.0), "shape=0.0"),
    (lambda: SCAD(1.0, 1.0), "shape=1.0"),
    (lambda: WithRidge(Ball, 1.0), "domain=<class"),
    (lambda: WithRidge(Ball(1.0), -1.0), "ridge=-1.0"),
    (lambda: Product((Ball(1.0),), (1, 2)), "sizes=(1, 2)"),
    (lambda: Product((Box(0.0, 1.0, 2),), (3,)), "sizes[0]=3"),
    (lambda: Product((), ()), "parts=()"),
    (lambda: Product((1.0,), (1,)), "parts[0]=1.0"),
    (lambda: Ball(1.0).lipschitz(0.0), "step_size=0.0"),
    (lambda: Ball(1.0).lipschitz(math.nan), "step_size=nan"),
    (lambda: Ball(1.0).prox(np.ones(2), -1.0), "step_size=-1.0"),
    (lambda: Ball(1.0).prox(np.float64(1.0), 1.0), "last axis"),
    (lambda: Ball(1.0).prox(np.ones((3, 0)), 1.0), "last axis"),
    (lambda: Ball(1.0).prox(np.array([1.0, math.nan]), 1.0), "lower step_size"),
    (lambda: Ball(1.0).prox(np.array([1.0 + 2.0j]), 1.0), "real numbers"),
    (lambda: Ball(1.0).prox(np.array([True]), 1.0), "real numbers"),
    (lambda: Ball(1.0, (0.0, 0.0)).prox(np.ones(3), 1.0), "length 2"),
    (lambda: GroupLasso(1.0, ((5,),)).prox(np.ones(3), 1.0), "got 5"),
    (lambda: Diameter(4.0).prox(np.ones(3), 1.0), "kind='ball' with radius=2.0"),
    (lambda: Diameter(4.0).penalty(np.ones(3)), "kind='ball' with radius=2.0"),
    (lambda: WithRidge(Diameter(4.0), 1.0).prox(np.ones(3), 1.0), "kind='ball'"),
    (lambda: from_fields("bal", {}), "simplex, sorted-l1"),
    (lambda: from_fields(["ball"], {}), "kind must be one of"),
    (lambda: from_fields("ball", {}), "radius must be given"),
    (lambda: from_fields("ball", {"radius": 1.0, "centre": [0.0]}), "got 'centre'"),
    (lambda: from_fields("unbounded", {"radius": 1.0}), "must be among none"),
    (lambda: from_fields("ball", [1.0]), "fields=[1.0]"),
    (lambda: from_fields("ball", {1: 2}), "got 1"),
    (lambda: from_fields("ball", {"radius": {"size": 1}}), "radius={'size': 1}"),
    (lambda: from_fields("ball", {"radius": {"kind": "ball", "radius": 1}}), "radius=Ball"),
    (lambda: from_fields("with-ridge", {"ridge": 1, "domain": {"kind": "x"}}), "kind='x'"),
]


@pytest.mark.parametrize(("call", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_input_is_named_in_one_line_with_its_cure(call, words):
    with pytest.raises(InvalidDescription) as caught:
        call()
    message = str(caught.value)
    name, _, value = words.partition("=")
    wanted = re.escape(name) + r" must be .*, got .*" + re.escape(value)
    assert words in message or re.search(wanted, message)
    assert "\n" not in message
    assert len(message) < 500
    assert " must " in message  # what to do


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.just(10**400)
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from([d.kind for d in DOMAINS]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "radius", "weight", "domain"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@pytest.mark.parametrize("kind", KINDS)
def test_fuzzed_fields_make_a_domain_or_a_clear_error(kind):
    names = [f.name for f in dataclasses.fields(kind)]

    @settings(max_examples=40, deadline=None)
    @given(st.fixed_dictionaries(dict.fromkeys(names, values)))
    @example(dict.fromkeys(names, 1e308))
    @example({name: [-1e308, 1e308] for name in names})
    @example({name: 1.0 if name == "offset" else [1e308] * 9 for name in names})
    @example(dict.fromkeys(names, 5e-324))
    @example({name: [[5e-324, 1e308]] for name in names})
    @example({name: [1.0] if name == "offset" else [[5e-324]] for name in names})
    def law(fields):
        try:
            domain = from_fields(kind.kind, fields)
        except InvalidDescription:
            return
        assert from_fields(kind.kind, to_fields(domain)) == domain
        assert domain.diameter > 0.0
        assert domain.lipschitz(0.5) > 0.0
        assert not math.isnan(domain.lipschitz(1e-300) + domain.lipschitz(1e300))

    law()


def test_constants_at_the_ends_of_the_floats():
    assert Ridge(5e-324).lipschitz(5e-324) == 1.0
    assert 0.0 < Ridge(1e308).lipschitz(1e308) <= 5e-324
    assert Ridge(1.0).lipschitz(1e-300) == 1.0
    assert Ridge(0.0).lipschitz(3.0) == 1.0
    assert MCP(1.0, 1e308).lipschitz(1e-300) == math.nextafter(1.0, 2.0)
    assert MCP(1.0, 1e308).lipschitz(1e308) == math.inf
    # 1/(1 + 0.1) lies between two floats; the upper one is returned.
    assert Ridge(0.1).lipschitz(1.0) >= 1.0 / 1.1
    assert Box(-1e308, 1e308, 4).diameter == math.inf


HERE = Path(catalogue.__file__).parent


def test_source_is_ascii_short_and_needs_only_numpy_to_import():
    for path in HERE.glob("*.py"):
        text = path.read_text(encoding="ascii")
        assert len(text.splitlines()) < 300
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 40, node.name
            if isinstance(node, ast.ImportFrom | ast.Import):
                assert "scipy" not in ast.unparse(node)


def test_every_domain_is_final_and_overrides_nothing():
    for kind in DOMAINS:
        assert issubclass(kind, Domain)
        assert getattr(kind, "__final__", False)
        assert not kind.__subclasses__()
        concrete = {
            name
            for base in kind.__mro__[1:]
            for name, value in vars(base).items()
            if base is not object
            and callable(value)
            and not name.startswith("__")
            and not getattr(value, "__isabstractmethod__", False)
        }
        assert not concrete & set(vars(kind))


def test_importing_the_catalogue_alone_is_possible():
    code = "import wane.describe.domains as d; print(len(d.DOMAINS))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(DOMAINS)
