"""Weights come in the layout that a block would give them: the block does nothing, the parameter is the copy."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir.transform import RemoveWeightLayoutRewriteBlock

PROGRAM = """
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 8), "float32"), {weight}, C: T.Buffer((16, 8), "float32")):
        {copy}
        for i, j in T.grid(16, 8):
            with T.block("rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                {regions}
                T.block_attr({{"meta_schedule.layout_rewrite_preproc": True}})
                {body}
        for i, j in T.grid(16, 8):
            with T.block("add"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] + {read}
"""
WEIGHT, NEW = 'W: T.Buffer((16, 8), "float32")', 'V: T.Buffer((8, 16), "float32")'
COPY = "V = T.alloc_buffer((8, 16))"
REGIONS = "T.reads(); T.writes()".replace("; ", "\n                ")


def program(**parts):
    return from_source(PROGRAM.format(**{"copy": "", "regions": "", **parts}))


def test_the_parameter_has_the_new_layout():
    before = program(weight=WEIGHT, copy=COPY, body="V[vj, vi] = W[vi, vj]", read="V[vj, vi]")
    after = program(weight=NEW, regions=REGIONS, body="T.evaluate(0)", read="V[vj, vi]")
    tvm.ir.assert_structural_equal(RemoveWeightLayoutRewriteBlock()(before), after)


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"body": "V[vj, vi] = W[vi, vj] * T.float32(2)", "read": "V[vj, vi]"}, TiraxError),
        ({"body": "V[vj, vi] = W[vi, vj]", "read": "V[vj, vi] + W[vi, vj]"}, TiraxError),
        ({"body": "V[vj, vi] = U[vi, vj]", "read": "V[vj, vi]"}, UnsupportedError),
    ],
    ids=["no copy", "the old layout is used", "no parameter"],
)
def test_refusals(parts, error):
    copy = COPY + "\n        U = T.alloc_buffer((16, 8))"
    with pytest.raises(error):
        RemoveWeightLayoutRewriteBlock()(program(weight=WEIGHT, copy=copy, **parts))
