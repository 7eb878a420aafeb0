"""Fitted models as ONNX (extra `onnx`): what `predict` does, scaling included, in one graph.

The graph computes in double precision and takes one input `X`, a row for each record.  It scales
rows exactly as the model does, so it needs no pipeline around it.  A cell that is not a number is
refused by the model and makes the graph's answer not a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from wane._version import __version__
from wane.errors import InvalidDescription, MissingExtra
from wane.learn import classifiers, regressors
from wane.learn.base import PrivateLinearModel
from wane.learn.classifiers import Multiclass
from wane.learn.scaling import INSIDE

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    raise MissingExtra("This export needs onnx; install wane[onnx].") from None

OPSET = 18
IR_VERSION = 10
"""Of the format: what runtimes since 2024 read."""


def onnx_model(model: Any) -> Any:
    """Return a fitted model of `wane.learn` as an ONNX model, certificate's numbers included.

    Outputs are `label` and, of a logistic regression, `probabilities`; or `prediction`.
    """
    if not isinstance(model, PrivateLinearModel) or not hasattr(model, "coef_"):
        raise InvalidDescription(
            f"model must be a fitted linear model of wane.learn, got {type(model).__name__!r:.60}; "
            "fit it first."
        )
    graph = _Graph()
    linear = _linear(graph, _scaled(graph, model.scaler_), model)
    if isinstance(model, classifiers.PrivateClassifier):
        outputs = _classified(graph, linear, model)
    else:
        outputs = [_predicted(graph, linear, model)]
    columns = int(model.n_features_in_)
    rows = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["records", columns])
    body = helper.make_graph(graph.nodes, type(model).__name__, [rows], outputs, graph.constants)
    made = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="wane",
        producer_version=__version__,
        ir_version=IR_VERSION,
    )
    helper.set_model_props(made, _about(model))
    onnx.checker.check_model(made, full_check=True)
    return made


def write_onnx(model: Any, path: str | Path) -> None:
    """Write a fitted model to an ONNX file."""
    raw = onnx_model(model).SerializeToString(deterministic=True)
    try:
        Path(path).write_bytes(raw)
    except OSError as error:
        raise InvalidDescription(f"{path!s:.120} cannot be written: {error.strerror}.") from None


class _Graph:
    """Nodes and constants, each under a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype=dtype), name))
        return name

    def add(self, kind: str, inputs: Sequence[str], name: str = "", **options: Any) -> str:
        made = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [made], **options))
        return made


def _scaled(graph: _Graph, scaler: Any) -> str:
    """Return rows as `FeatureScaler` makes them."""
    rows = "X"
    if scaler.low is not None:
        low, high = np.array(scaler.low), np.array(scaler.high)
        rows = graph.add("Max", [rows, graph.constant(low)])
        rows = graph.add("Min", [rows, graph.constant(high)])
        rows = graph.add("Sub", [rows, graph.constant((low + high) / 2.0)])
        rows = graph.add("Div", [rows, graph.constant((high - low) / 2.0)])
        rows = graph.add("Clip", [rows, graph.constant(-1.0), graph.constant(1.0)])
    return _shortened(graph, rows, float(scaler.feature_norm))


def _shortened(graph: _Graph, rows: str, longest: float) -> str:
    axes, zero, one = graph.constant([1], np.int64), graph.constant(0.0), graph.constant(1.0)

    def positive(value: str) -> str:
        return graph.add("Where", [graph.add("Greater", [value, zero]), value, one])

    largest = graph.add("ReduceMax", [graph.add("Abs", [rows]), axes], keepdims=1)
    unit = graph.add("Div", [rows, positive(largest)])
    squares = graph.add("ReduceSum", [graph.add("Mul", [unit, unit]), axes], keepdims=1)
    lengths = graph.add("Sqrt", [squares])
    share = graph.add("Mul", [lengths, graph.add("Div", [largest, graph.constant(longest)])])
    factor = graph.add("Div", [graph.constant(INSIDE * longest), positive(lengths)])
    short = graph.add("LessOrEqual", [share, one])
    return graph.add("Where", [short, rows, graph.add("Mul", [unit, factor])])


def _linear(graph: _Graph, rows: str, model: Any) -> str:
    weights = graph.constant(np.atleast_2d(model.coef_).T)
    made = graph.add("MatMul", [rows, weights])
    return graph.add("Add", [made, graph.constant(np.atleast_1d(model.intercept_))])


def _classified(graph: _Graph, linear: str, model: Any) -> list[Any]:
    """Return the label, and the probabilities where the model has them."""
    classes, kind = _labels(model.classes_)
    binary = len(classes) == 2
    if binary:
        more = graph.add("Greater", [linear, graph.constant(0.0)])
        flat = graph.add("Reshape", [more, graph.constant([-1], np.int64)])
        places = graph.add("Cast", [flat], to=TensorProto.INT64)
    else:
        places = graph.add("ArgMax", [linear], axis=1, keepdims=0)
    table = graph.constant(classes, classes.dtype)
    graph.add("Gather", [table, places], "label")
    outputs = [helper.make_tensor_value_info("label", kind, ["records"])]
    if isinstance(model, classifiers.PrivateLogisticRegression):
        if binary:
            other = graph.add("Sigmoid", [graph.add("Neg", [linear])])
            sides = [other, graph.add("Sigmoid", [linear])]
            graph.add("Concat", sides, "probabilities", axis=1)
        else:
            logs = linear
            if model.multiclass is Multiclass.ONE_VS_REST:
                logs = graph.add("Neg", [graph.add("Softplus", [graph.add("Neg", [linear])])])
            graph.add("Softmax", [logs], "probabilities", axis=1)
        shape: list[str | int | None] = ["records", len(classes)]
        outputs.append(helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, shape))
    return outputs


def _labels(classes: Any) -> tuple[Any, int]:
    """Return the classes as ONNX holds them."""
    if classes.dtype.kind in "iub":
        return classes.astype(np.int64), TensorProto.INT64
    if classes.dtype.kind == "f":
        return classes.astype(np.float64), TensorProto.DOUBLE
    if all(isinstance(label, str) for label in classes.tolist()):
        return np.array(classes.tolist(), dtype=object), TensorProto.STRING
    raise InvalidDescription("classes must be numbers or words to be exported, got other labels.")


def _predicted(graph: _Graph, linear: str, model: Any) -> Any:
    if isinstance(model, regressors.PrivatePoissonRegressor):
        most = graph.constant(math.log(float(model.largest_count or 0.0)))
        linear = graph.add("Exp", [graph.add("Min", [linear, most])])
    several = isinstance(model, regressors.PrivateMultiOutputRegression)
    shape: list[str | int | None] = (
        ["records", len(np.atleast_2d(model.coef_))] if several else ["records"]
    )
    if several:
        graph.add("Identity", [linear], "prediction")
    else:
        graph.add("Reshape", [linear, graph.constant([-1], np.int64)], "prediction")
    return helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, shape)


def _about(model: Any) -> dict[str, str]:
    """Return what the certificate says at the model's delta; the certificate itself says why."""
    epsilon = model.certificate_.epsilon(model.delta)
    names = getattr(model, "feature_names_in_", None)
    made = {
        "wane.epsilon": "infinity" if math.isinf(epsilon) else repr(float(epsilon)),
        "wane.delta": repr(float(model.delta)),
        "wane.adjacency": model.adjacency.value,
        "wane.estimator": type(model).__name__,
    }
    return made if names is None else made | {"wane.columns": "\n".join(names)}
