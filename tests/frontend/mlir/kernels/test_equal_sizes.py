"""Sizes of memrefs that operations require to be equal: a call with others is an error, not a write out of bounds."""

from __future__ import annotations

import numpy as np
import pytest
from mlir_kernels import compiled

from tirax.diagnostics import ShapeError, TiraxError
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir

X, Y = "%x: memref<?x4xf32>", "%y: memref<?x?xf32>"
SAME = {
    "copy": "linalg.copy ins(%x : memref<?x4xf32>) outs(%y : memref<?x?xf32>)",
    "memref.copy": "memref.copy %x, %y : memref<?x4xf32> to memref<?x?xf32>",
    "in a loop": "%0 = arith.constant 0 : index\n%1 = arith.constant 1 : index\nscf.for %i = %0 to %1 step %1 {\n"
    "linalg.copy ins(%x : memref<?x4xf32>) outs(%y : memref<?x?xf32>)\n}",
}


@pytest.mark.parametrize("name", SAME)
def test_one_variable(name: str) -> None:
    text = f"func.func @main({X}, {Y}) {{\n{SAME[name]}\nreturn\n}}"
    types = [str(arg.type) for arg in from_mlir(parse_mlir(text)).body.block.first_op.regions[0].block.args]  # type: ignore[union-attr]
    assert types == ["!tir.buffer<[n, 4], f32>"] * 2
    y = np.zeros((2, 4), "float32")
    compiled(text)(np.ones((2, 4), "float32"), y)
    assert (y == 1).all()
    with pytest.raises(ShapeError):
        compiled(text)(np.ones((3, 4), "float32"), y)


def test_on_a_condition() -> None:
    """Other sizes are allowed if the operation does not run, and an error if it does."""
    text = (
        f"func.func @main({X}, {Y}, %c: i1) {{\nscf.if %c {{\n{SAME['copy']}\n}}\nreturn\n}}"
    )  # fmt: skip
    run, x, y = compiled(text), np.ones((3, 4), "float32"), np.zeros((2, 4), "float32")
    run(x, y, False)
    assert not y.any()
    with pytest.raises(TiraxError, match=r"linalg.copy'.* elements instead of"):
        run(x, y, True)
