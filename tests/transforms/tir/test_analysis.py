"""`tvm.tir.analysis`: numbers and regions of one program."""

import pytest

from tirax import te
from tirax.diagnostics import TiraxError, VerifyError
from tirax.dialects import tir
from tirax.schedule import Schedule
from tirax.tvm_api import tir as tir_handles
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import analysis

PROGRAM = """from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 24), "float32"), D: T.Buffer((16,), "float32")):
        C = T.alloc_buffer((16,))
        for i in range(16):
            for k in range(24):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[vi] = T.float32(0.0)
                    C[vi] = C[vi] + A[vi, vk] * T.exp(A[vi, vk])
            with T.block("D"):
                vi = T.axis.spatial(16, i)
                D[vi] = C[vi] * T.float32(0.5)
"""


@pytest.fixture
def mod():
    return from_source(PROGRAM)


def block(mod, name="C"):
    sch = Schedule(mod)
    return sch.get(sch.get_block(name))


def test_numbers(mod):
    assert analysis.estimate_tir_flops(mod) == 2 * 16 * 24 + 16
    assert analysis.calculate_allocated_bytes(mod) == {"main": {"global": 64}}
    assert analysis.calculate_workspace_bytes(mod["main"], 128) == 128


def test_blocks(mod):
    assert analysis.find_anchor_block(mod).op.block_name.data == "C"
    reads, writes, opaque = analysis.get_block_access_region(block(mod, "D"))
    assert [r.buffer.name for r in reads] == ["C"] and [r.buffer.name for r in writes] == ["D"] and opaque == []
    (region,) = analysis.get_block_read_write_region(block(mod))[1]
    assert [r.extent.constant for r in region.region] == [1]


def test_variables(mod):
    names = [v.name for v in analysis.undefined_vars(block(mod))]
    assert set(names) == {"i", "k", "A", "C"}
    loop = next(op for op in mod.op.walk() if isinstance(op, tir.ForOp))
    assert {v.name for v in analysis.undefined_vars(loop)} == {"A", "C", "D"}


def test_purity_and_form(mod):
    assert analysis.verify_memory(mod["main"]) and analysis.verify_well_formed(mod)
    assert not analysis.is_pure_function(mod["main"])
    with pytest.raises(TiraxError, match="not pure"):
        analysis.assert_pure_function(mod["main"])


def test_what_is_not_well_formed(mod):
    loop = next(op for op in mod.op.walk() if isinstance(op, tir.ForOp))
    loop.properties.pop("extent_attr")
    assert not analysis.verify_well_formed(mod, assert_mode=False)
    with pytest.raises(VerifyError):
        analysis.verify_well_formed(mod)


def test_equal_expressions(mod):
    loads = [op for op in mod.op.walk() if isinstance(op, tir.LoadOp)]
    from tirax.handles.tir.prim_expr import PrimExpr

    a, b = (PrimExpr(op.result) for op in loads if op.buffer.type.rank == 2)
    assert analysis.expr_deep_equal(a, b)
    assert not analysis.expr_deep_equal(a, PrimExpr(loads[-1].result))


def test_what_is_no_program():
    with pytest.raises(TiraxError, match="a PrimFunc"):
        analysis.estimate_tir_flops(3)


def test_variables_are_bound_once():
    x, y = te.var("x"), te.var("y")
    body = tir_handles.Evaluate(x + y)
    assert analysis.verify_ssa(tir_handles.PrimFunc([x, y], body))
    assert not analysis.verify_ssa(tir_handles.PrimFunc([x, y], tir_handles.LetStmt(x, 1, body)))
    one, two = (tir_handles.Let(x, value, x + y) for value in (1, 2))
    assert analysis.verify_ssa(tir_handles.PrimFunc([y], tir_handles.Evaluate(one * one)))
    assert not analysis.verify_ssa(tir_handles.PrimFunc([y], tir_handles.Evaluate(one * two)))


LOOPS = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("B"):
            ITERATORS
            B[i, j] = A[i, j]
"""


@pytest.mark.parametrize(
    ("iterators", "well_formed"),
    [
        ("T.reads(A[i, j])", True),  # a block without iterators uses the loops
        ("vi, vj = T.axis.remap('SS', [i, j])", False),
        ("vi = T.axis.spatial(8, i)", False),
    ],
)
def test_blocks_with_iterators_use_no_outer_loops(iterators, well_formed):
    func = from_source("from tvm.script import tir as T\n" + LOOPS.replace("ITERATORS", iterators))
    assert analysis.verify_well_formed(func, assert_mode=False) == well_formed
    if not well_formed:
        with pytest.raises(VerifyError, match="non-opaque current block"):
            analysis.verify_well_formed(func)
