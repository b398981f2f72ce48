"""Products that are split: which become products with parts of the weights, and that they mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.interpreter import assert_same_meaning
from tirax.transforms.operators.split_products import SplitProducts
from tirax.tvm_api.relax.transform import BindParams
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "float32"), w: R.Tensor({w}, "float32"), b: R.Tensor({b}, "float32")):
        with R.dataflow():
            p = R.matmul(x, {weights})
            y = {sum}
            parts = R.split({rows}, {where}, axis={axis})
            first = parts[0]
            last = parts[{last}]
            R.output(first, last)
        return (first, last)
"""
PLAIN = {
    "x": "(2, 8, 4)", "w": "(4, 6)", "b": "(6,)", "weights": "w", "sum": "R.add(p, b)", "where": "3", "axis": "-1",
    "rows": "y", "last": "2", "bound": "w b",
}  # fmt: skip
CASES = {
    "queries, keys, values": ({}, True),
    "positions": ({"where": "[1, 4]"}, True),
    "transposed weights": ({"w": "(6, 4)", "weights": "R.permute_dims(w)"}, True),
    "no bias": ({"sum": "R.matmul(x, w)", "bound": "w"}, True),
    "the bias first": ({"sum": "R.add(b, p)", "b": "(1, 6)", "axis": "2"}, True),
    "rows are reshaped": ({"rows": "R.reshape(y, (4, 4, 6))"}, True),
    "rows are made one dimension, transposed weights, no bias": (
        {
            "w": "(6, 4)",
            "weights": "R.permute_dims(w)",
            "sum": "R.matmul(x, R.permute_dims(w))",
            "bound": "w",
            "rows": "R.reshape(y, (16, 6))",
            "axis": "1",
            "where": "[2, 3]",
        },
        True,
    ),
    "columns are reshaped": ({"rows": "R.reshape(y, (2, 16, 3))"}, False),
    "a row": ({"x": "(1, 4)", "axis": "1"}, False),
    "rows that are not known": ({"x": '("n", 4)'}, False),
    "rows are split": ({"axis": "1", "where": "2", "last": "1"}, False),
    "a bias for each row": ({"b": "(8, 1)"}, False),
    "an activation": ({"sum": "R.nn.relu(p)"}, False),
    "weights that are given": ({"bound": "b"}, False),
    "a bias that is given": ({"bound": "w"}, False),
    "an empty part": ({"where": "[0, 4]"}, False),
}


@pytest.mark.parametrize("case", CASES)
def test_parts_mean_what_is_split(case):
    changes, splits = CASES[case]
    sizes = PLAIN | changes
    rng = np.random.default_rng(0)
    shapes = {name: shape_of(sizes[name]) for name in ("w", "b")}
    params = {name: rng.standard_normal(shapes[name]).astype("float32") for name in sizes["bound"].split()}
    mod = BindParams("main", params)(from_source(PROGRAM.format(**sizes)))
    out = SplitProducts()(mod)
    assert ("R.split" not in out.script()) is splits
    assert out.script().count("R.matmul") == (2 if splits else 1)
    assert_same_meaning(mod, out)


def shape_of(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in text.strip("()").split(",") if n)


@pytest.mark.parametrize("outputs", ["(parts, first)", "(first, last, y)"])
def test_what_is_used_entirely_stays(outputs):
    text = PROGRAM.format(**PLAIN).replace("(first, last)", outputs)
    params = {"w": np.ones((4, 6), "float32"), "b": np.ones(6, "float32")}
    out = SplitProducts()(BindParams("main", params)(from_source(text)))
    assert "R.split" in out.script() and out.script().count("R.matmul") == 1
