"""Products of integers with zero points, beside numpy's in 64 bits, and what they become."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

from graphs import model_of  # noqa: E402
from onnx import helper  # noqa: E402
from strength import thinned  # noqa: E402

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402

T = onnx.TensorProto
KINDS = {"uint8": T.UINT8, "int8": T.INT8}
BATCH, ROWS, K, COLUMNS = 2, 3, 37, 20
rng = np.random.default_rng(0)


def integers(dtype: str, *shape: int) -> np.ndarray:
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


ZEROS = {
    "none": (None, None),
    "scalars": ((), ()),
    "of a alone": ((), None),
    "of b alone": (None, (1,)),
    "by row and column": ((ROWS,), (COLUMNS,)),
}


@thinned("zeros, a, b", itertools.product(ZEROS, KINDS, KINDS), 3)
def test_matmul_integer(zeros, a, b):
    """The weights are constant, the batch is symbolic; it may be 0."""
    x, w = integers(a, BATCH, ROWS, K), integers(b, K, COLUMNS)
    shapes = dict(zip("pq", ZEROS[zeros], strict=True))
    points = {n: integers(d, *shapes[n]) for n, d in (("p", a), ("q", b)) if shapes[n] is not None}
    names = ["x", "w", "p" if "p" in points else "", "q" if "q" in points else ""]
    node = helper.make_node("MatMulInteger", names, ["y"])
    model = model_of([node], {"x": (KINDS[a], ["n", ROWS, K])}, ["y"], {"w": w, **points}, 20)
    main = build(from_onnx(model))["main"]
    for n in (0, 1, BATCH):
        left = x[:n].astype(np.int64)
        if "p" in points:
            left = left - points["p"].astype(np.int64).reshape(-1, 1)
        right = w.astype(np.int64) - points["q"].astype(np.int64) if "q" in points else w.astype(np.int64)
        np.testing.assert_array_equal(np.asarray(main(x[:n])), (left @ right).astype(np.int32))


def test_bytes_are_multiplied_as_they_are():
    """Nothing is widened before the product, which there are instructions for."""
    node = helper.make_node("MatMulInteger", ["x", "w", "p"], ["y"])
    weights = {"w": integers("int8", K, COLUMNS), "p": np.uint8(3)}
    text = str(from_onnx(model_of([node], {"x": (T.UINT8, ["n", K])}, ["y"], weights, 20)))
    product = next(line for line in text.splitlines() if "matmul" in line)
    assert "x, " in product and "int32" in product
