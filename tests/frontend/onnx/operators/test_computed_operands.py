"""Operands that the run computes, one build each for several values of them, beside ONNX Runtime.

Each row is an operator with an operand that is an input of the model, so that nothing of it is known before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strength import thinned

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")
pytest.importorskip("onnxruntime", reason="the oracle")

from beside_ort import assert_like_ort  # noqa: E402
from graphs import FLOAT, INT64, model_of  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

from tirax.diagnostics import TiraxError  # noqa: E402
from tirax.driver.build import build  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402

_NODE = helper.make_node
X = np.arange(24, dtype=np.float32).reshape(4, 6) - 7
MODES = ("constant", "edge", "reflect", "wrap")
PADS = ([0, 0, 0, 0], [1, 2, 3, 0], [-1, 0, 2, -2], [0, -3, -1, 1])
CASES: dict[str, tuple[Any, dict[str, Any], list[list[Any]]]] = {
    "tile": (_NODE("Tile", ["x", "k"], ["y"]), {"k": [2]}, [[[1, 1]], [[3, 2]], [[0, 2]], [[1, 5]]]),
    "split": (_NODE("Split", ["x", "k"], ["y", "z"], axis=-1), {"k": [2]}, [[[1, 5]], [[6, 0]], [[3, 3]]]),
    "top k": (_NODE("TopK", ["x", "k"], ["y", "z"]), {"k": [1]}, [[[1]], [[4]], [[6]]]),
    "least k": (_NODE("TopK", ["x", "k"], ["y", "z"], axis=0, largest=0), {"k": [1]}, [[[0]], [[3]]]),
    "upper": (_NODE("Trilu", ["x", "k"], ["y"]), {"k": []}, [[0], [-2], [3], [9]]),
    "lower": (_NODE("Trilu", ["x", "k"], ["y"], upper=0), {"k": []}, [[0], [-2], [3], [-9]]),
    **{f"pad {m}": (_NODE("Pad", ["x", "k"], ["y"], mode=m), {"k": [4]}, [[p] for p in PADS]) for m in MODES},
    "pad axes": (_NODE("Pad", ["x", "k", "", "axes"], ["y"]), {"k": [2]}, [[[1, 2]], [[-2, 1]]]),
}  # fmt: skip


@thinned("case", CASES, 4)
@pytest.mark.parametrize("rows", [4, "n"])
def test_of_one_tensor(case: str, rows: Any) -> None:
    node, operands, values = CASES[case]
    inputs = {"x": (FLOAT, [rows, 6]), **{name: (INT64, shape) for name, shape in operands.items()}}
    weights = {"axes": np.array([-1])} if "axes" in node.input else {}
    model = model_of([node], inputs, list(node.output), weights, opset=19)
    assert_like_ort(model, *([X, *(np.array(v) for v in row)] for row in values))


RANGES = {
    INT64: ("int64", [(0, 5, 1), (5, 0, -2), (3, 3, 1), (-4, 7, 3), (2, -9, 4)]),
    TensorProto.INT32: ("int32", [(0, 5, 1), (1, -6, -3)]),
    FLOAT: ("float32", [(0, 5, 1), (0.5, 3, 0.25), (2, -1, -0.75), (1, 0, 1)]),
    TensorProto.DOUBLE: ("float64", [(0, 1, 0.1), (-3, 3.5, 1.5)]),
}


@pytest.mark.parametrize("dtype", RANGES)
def test_ranges(dtype: int) -> None:
    name, rows = RANGES[dtype]
    model = model_of([_NODE("Range", ["a", "b", "c"], ["y"])], {n: (dtype, []) for n in "abc"}, ["y"])
    assert_like_ort(model, *([np.array(v, name) for v in row] for row in rows))


def test_a_range_of_the_greatest_length() -> None:
    nodes = [
        _NODE("ReduceMax", ["l"], ["m"], keepdims=0),
        _NODE("Range", ["zero", "m", "one"], ["r"]),
        _NODE("Unsqueeze", ["l", "one_"], ["column"]),
        _NODE("Less", ["r", "column"], ["y"]),
    ]
    weights = {"zero": np.int64(0), "one": np.int64(1), "one_": np.array([1])}
    model = model_of(nodes, {"l": (INT64, ["b"])}, ["y"], weights)
    assert_like_ort(model, *([np.array(v)] for v in ([2, 5, 1], [3], [0, 0])))


@pytest.mark.parametrize("scale", [1.0, 2.0, 0.5])
def test_sizes_are_followed_through_floats(scale: float) -> None:
    """Anchors of a detector: a range over a width that was cast, which is then added to what has that width."""
    nodes = [
        _NODE("Shape", ["x"], ["s"]),
        _NODE("Gather", ["s", "i"], ["w"]),
        _NODE("Cast", ["w"], ["f"], to=FLOAT),
        _NODE("Mul", ["f", "scale"], ["g"]),
        _NODE("Floor", ["g"], ["h"]),
        _NODE("Range", ["o", "h", "d"], ["r"]),
        _NODE("Add", ["r", "half"], ["y"]),
    ]
    numbers = {"o": 0.0, "d": 1.0, "half": 0.5, "scale": scale}
    weights = {"i": np.array(1), **{name: np.float32(v) for name, v in numbers.items()}}
    model = model_of(nodes, {"x": ["n", "w"]}, ["y"], weights)
    assert_like_ort(model, *([np.ones((2, n), np.float32)] for n in (5, 1, 8)))


def test_one_hot_of_a_depth() -> None:
    inputs = {"x": (INT64, ["n"]), "d": (INT64, [])}
    model = model_of([_NODE("OneHot", ["x", "d", "v"], ["y"])], inputs, ["y"], {"v": np.array([0, 1.0], "float32")})
    assert_like_ort(model, *([np.array([0, 2, -1, 7]), np.array(d)] for d in (1, 3, 9)))


@pytest.mark.parametrize("sizes", [[3, 4], [1, 1]])
def test_parts_that_are_not_those_of_the_dimension(sizes: list[int]) -> None:
    model = model_of([_NODE("Split", ["x", "k"], ["y", "z"])], {"x": (FLOAT, ["n"]), "k": (INT64, [2])}, ["y", "z"])
    main = build(from_onnx(model))["main"]
    with pytest.raises(TiraxError):
        main(np.ones(5, np.float32), np.array(sizes))
