"""BlockDependenceInfo: each kind of dependence, and what it refuses."""

import pytest

from tirax.diagnostics import TiraxError
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import Block, BlockDependenceInfo
from tirax.tvm_api.tir.block_scope import DepKind
from tirax.tvm_api.tir.stmt_functor import post_order_visit

PROGRAM = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("reads_first"):
            vi = T.axis.S(8, i)
            C[vi] = B[vi]
        with T.block("writes"):
            vi = T.axis.S(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("reads"):
            vi = T.axis.S(8, i)
            C[vi] = B[vi] + T.float32(1)
"""


def blocks(func):
    found = {}
    post_order_visit(func.body, lambda node: found.update({node.name_hint: node}) if isinstance(node, Block) else None)
    return found


@pytest.mark.parametrize(
    "source, target, kind",
    [
        ("reads_first", "writes", DepKind.WAR),
        ("writes", "reads", DepKind.RAW),
        ("reads_first", "reads", DepKind.WAW),
    ],
)
def test_each_kind_of_dependence(source, target, kind):
    func = from_source(PROGRAM)
    info = BlockDependenceInfo(func)
    found = blocks(func)
    first, second = info.get_sref(found[source]), info.get_sref(found[target])
    scope = info.get_block_scope(first.parent)
    assert [d.kind for d in scope.get_deps_by_src(first) if d.dst == second] == [kind]
    assert [d.kind for d in scope.get_deps_by_dst(second) if d.src == first] == [kind]


def test_what_is_refused():
    with pytest.raises(TypeError, match="PrimFunc or IRModule"):
        BlockDependenceInfo("main")
    with pytest.raises(TiraxError, match="another module"):
        BlockDependenceInfo(from_source(PROGRAM)).get_sref(blocks(from_source(PROGRAM))["reads"])
