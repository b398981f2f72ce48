"""Operators that move elements, one build each at several sizes, beside ONNX's reference implementation."""

from __future__ import annotations

import numpy as np
import pytest
from strength import thinned

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

from graphs import BOOL, FLOAT, INT64, assert_like_reference, model_of  # noqa: E402
from onnx import helper  # noqa: E402

rng = np.random.default_rng(1)
_NODE = helper.make_node


def _floats(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)


def _indices(n: int, count: int) -> np.ndarray:
    """Indices of a dimension of n from both of its ends; none where n is 0."""
    return rng.integers(-n, n, (count if n else 0,))


CASES = {
    "slice to the end": ([_NODE("Slice", ["x", "s", "e", "a"], ["y"])], {"s": [1], "e": [2**62], "a": [0]}),
    "slice backwards": (
        [_NODE("Slice", ["x", "s", "e", "a", "t"], ["y"])],
        {"s": [-1], "e": [-(2**62)], "a": [0], "t": [-2]},
    ),
    "split": ([_NODE("Split", ["x"], ["z", "y"], axis=0, num_outputs=2)], {}),
    "pad": ([_NODE("Pad", ["x", "p"], ["y"])], {"p": [1, 0, 2, 1]}),
    "trilu": ([_NODE("Trilu", ["x"], ["y"], upper=0)], {}),
    "cumsum": ([_NODE("CumSum", ["x", "zero"], ["y"], reverse=1, exclusive=1)], {"zero": 0}),
    "tile": ([_NODE("Tile", ["x", "r"], ["y"])], {"r": [2, 3]}),
    "flatten": ([_NODE("Flatten", ["x"], ["y"], axis=0)], {}),
}


@thinned("case", CASES, 3)
def test_of_one_tensor(case):
    nodes, constants = CASES[case]
    weights = {n: np.array(v, np.int64) for n, v in constants.items()}
    model = model_of(nodes, {"x": ["n", 4]}, ["y"], weights, opset=18)
    assert_like_reference(model, *([_floats(n, 4)] for n in (0, 1, 5)))


def test_gather_from_both_ends():
    model = model_of([_NODE("Gather", ["x", "i"], ["y"])], {"x": (FLOAT, ["n", 3]), "i": (INT64, ["m"])}, ["y"])
    assert_like_reference(model, *([_floats(n, 3), _indices(n, m)] for n, m in ((0, 0), (1, 2), (5, 4))))


def test_scatter_at_both_ends():
    nodes = [_NODE("ScatterElements", ["x", "i", "u"], ["y"], axis=0, reduction="add")]
    inputs = {"x": (FLOAT, ["n", 3]), "i": (INT64, ["m", 3]), "u": (FLOAT, ["m", 3])}
    feeds = ([_floats(n, 3), rng.integers(-n, n, (m, 3)), _floats(m, 3)] for n, m in ((1, 1), (5, 4)))
    assert_like_reference(model_of(nodes, inputs, ["y"]), *feeds)


@pytest.mark.parametrize("reduction", ["add", "mul"])
def test_scatter_of_truth_values(reduction):
    nodes = [_NODE("ScatterElements", ["x", "i", "u"], ["y"], axis=0, reduction=reduction)]
    model = model_of(nodes, {"x": (BOOL, ["n"]), "i": (INT64, [6]), "u": (BOOL, [6])}, ["y"], opset=18)
    updates = np.array([True, True, False, True, False, True])
    assert_like_reference(model, [np.arange(4) % 2 == 1, np.array([0, 0, 1, 3, 1, -2]), updates])


def test_compress():
    model = model_of(
        [_NODE("Compress", ["x", "c"], ["y"], axis=0)], {"x": (FLOAT, ["n", 2]), "c": (BOOL, ["n"])}, ["y"]
    )
    assert_like_reference(model, *([_floats(n, 2), rng.integers(0, 2, n).astype(bool)] for n in (0, 1, 6)))


def test_shapes_that_a_tensor_says():
    inputs = {"x": (FLOAT, ["n", 4]), "s": (INT64, [3])}
    model = model_of([_NODE("Reshape", ["x", "s"], ["y"])], inputs, ["y"])
    feeds = ([_floats(n, 4), np.array(s)] for n, s in ((3, [2, 2, 3]), (3, [0, -1, 2]), (1, [1, 4, 1])))
    assert_like_reference(model, *feeds)


def _body(nodes, inputs, outputs):
    infos = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
    return helper.make_graph(nodes, "body", infos, [helper.make_empty_tensor_value_info(n) for n in outputs])


def test_a_branch_that_the_run_takes():
    sides = {
        "then_branch": _body([_NODE("Neg", ["x"], ["t"])], {}, ["t"]),
        "else_branch": _body([_NODE("Exp", ["x"], ["e"])], {}, ["e"]),
    }
    model = model_of([_NODE("If", ["c"], ["y"], **sides)], {"c": (BOOL, []), "x": (FLOAT, ["n"])}, ["y"])
    assert_like_reference(model, *([np.array(c), _floats(n)] for c in (True, False) for n in (0, 1, 4)))


def test_a_loop_as_often_as_the_run_says():
    body = _body(
        [_NODE("Add", ["a", "x"], ["b"]), _NODE("Identity", ["go"], ["on"]), _NODE("Neg", ["b"], ["s"])],
        {"i": (INT64, []), "go": (BOOL, []), "a": (FLOAT, ["n"])},
        ["on", "b", "s"],
    )
    nodes = [_NODE("Loop", ["trips", "yes", "x"], ["y", "all"], body=body)]
    model = model_of(nodes, {"trips": (INT64, []), "x": (FLOAT, ["n"])}, ["y", "all"], {"yes": np.array(True)})
    assert_like_reference(model, *([np.array(k), _floats(n)] for k, n in ((1, 1), (6, 3), (2, 2))))


def test_a_scan_over_a_symbolic_length():
    body = _body(
        [_NODE("Add", ["s", "row"], ["t"]), _NODE("Identity", ["t"], ["out"])],
        {"s": (FLOAT, [2]), "row": (FLOAT, [2])},
        ["t", "out"],
    )
    nodes = [_NODE("Scan", ["zero", "x"], ["last", "y"], body=body, num_scan_inputs=1)]
    model = model_of(nodes, {"x": ["n", 2]}, ["last", "y"], {"zero": np.zeros(2, np.float32)})
    assert_like_reference(model, *([_floats(n, 2)] for n in (1, 5)))


def test_sequences_are_gone_in_the_program():
    nodes = [
        _NODE("SplitToSequence", ["x"], ["s"], axis=1),
        _NODE("SequenceErase", ["s", "one"], ["t"]),
        _NODE("ConcatFromSequence", ["t"], ["y"], axis=1),
    ]
    model = model_of(nodes, {"x": ["n", 3]}, ["y"], {"one": np.int64(1)})
    assert_like_reference(model, *([_floats(n, 3)] for n in (0, 1, 4)))
