"""What `isolate-kernels` lets LLVM inline: kernels that are called at few places."""

from __future__ import annotations

import pytest
from xdsl.dialects import func

from tirax.driver.pipelines import make_passes
from tirax.ir.passes.transform import new_context
from tirax.lowering.host.symbols import MOST_INLINED
from tirax.script.mlir_text import parse_mlir


@pytest.mark.parametrize(("calls", "kept"), [(1, False), (MOST_INLINED, False), (MOST_INLINED + 1, True)])
def test_what_is_called_at_many_places_is_not_inlined(calls, kept):
    """LLVM would optimize the loops of a kernel as often as it is called."""
    lines = ["  func.call @kernel.k(%a) : (memref<?xf32>) -> ()\n"] * calls
    module = parse_mlir(
        "func.func @kernel.k(%a: memref<?xf32>) { func.return }\n"
        f"func.func @entry_main(%a: memref<?xf32>) {{\n{''.join(lines)}  func.return\n}}"
    )
    for p in make_passes(["isolate-kernels"]):
        p.apply(new_context(), module)
    marked = {f.sym_name.data for f in module.ops if isinstance(f, func.FuncOp) and "no_inline" in f.attributes}
    assert marked == ({"kernel.k"} if kept else set())
