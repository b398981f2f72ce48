"""Parts of memrefs whose sizes are computed in loops, as tiling leaves them at the end of a dimension."""

from __future__ import annotations

import numpy as np
import pytest
from mlir_kernels import compiled

from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir

TYPE = "memref<?x6xf32>"
PART = "memref<?x6xf32, strided<[6, 1], offset: ?>>"
HEAD = f"""func.func @main(%x: {TYPE}, %y: {TYPE}) {{
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c4 = arith.constant 4 : index
%n = memref.dim %x, %c0 : {TYPE}
"""
TILE = f"""%s = affine.min affine_map<(i)[n] -> (-i + n, 4)>(%i)[%n]
%px = memref.subview %x[%i, 0] [%s, 6] [1, 1] : {TYPE} to {PART}
%py = memref.subview %y[%i, 0] [%s, 6] [1, 1] : {TYPE} to {PART}
"""
ADD = f"linalg.add ins(%px, %px : {PART}, {PART}) outs(%py : {PART})\n"
DIM = f"%d = memref.dim %px, %c0 : {PART}\n"
INNER = (
    DIM + "scf.for %j = %c0 to %d step %c1 {\nscf.for %k = %c0 to %c4 step %c1 {\n"
    f"%v = memref.load %px[%j, %k] : {PART}\n%w = arith.addf %v, %v : f32\n"
    f"memref.store %w, %py[%j, %k] : {PART}\n}}\n}}\n"
)
LOOPS = {"for": "scf.for %i = %c0 to %n step %c4 {", "parallel": "scf.parallel (%i) = (%c0) to (%n) step (%c4) {"}


@pytest.mark.parametrize("loop", LOOPS)
def test_structured_operations(loop: str) -> None:
    run = compiled(HEAD + LOOPS[loop] + "\n" + TILE + ADD + "}\nreturn\n}")
    for rows in (0, 1, 4, 7):
        x: np.ndarray = np.random.default_rng(0).normal(size=(rows, 6)).astype("float32")
        y = np.zeros_like(x)
        run(x, y)
        np.testing.assert_array_equal(y, x + x)


def test_loops_over_a_part() -> None:
    run = compiled(HEAD + LOOPS["for"] + "\n" + TILE + INNER + "}\nreturn\n}")
    x, y = np.ones((7, 6), "float32"), np.zeros((7, 6), "float32")
    run(x, y)
    assert (y[:, :4] == 2).all() and not y[:, 4:].any()


@pytest.mark.parametrize("loop", LOOPS)
def test_parts_of_other_sizes(loop: str) -> None:
    """Sizes that are computed in different ways are compared at run time."""
    other = TILE.replace("[%s, 6] [1, 1] : memref<?x6xf32> to", "[%t, 6] [1, 1] : memref<?x6xf32> to", 1)
    size = "%m = arith.divui %n, %c4 : index\n%t = arith.addi %i, %m : index\n"
    run = compiled(HEAD + LOOPS[loop] + "\n" + size + other + ADD + "}\nreturn\n}")
    y = np.zeros((4, 6), "float32")
    with pytest.raises(TiraxError, match=r"linalg.add'.* elements"):
        run(np.ones((4, 6), "float32"), y)


def test_an_allocation_is_refused() -> None:
    body = TILE + "%a = memref.alloc(%s) : memref<?xf32>\nmemref.store %v, %a[%c0] : memref<?xf32>\n"
    text = HEAD + "%v = arith.constant 0.0 : f32\n" + LOOPS["for"] + "\n" + body + "}\nreturn\n}"
    with pytest.raises(UnsupportedError, match="an allocation whose size is computed from data"):
        from_mlir(parse_mlir(text))
