"""Operators that exchange tensors between workers: struct info, text, legal forms."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, ShapeError
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import LegalizeOps
from tirax.tvm_api.script import from_source

CALLS = {
    'R.ccl.allreduce(x, op_type="max", in_group=False)': "(4, 6)",
    "R.ccl.broadcast_from_worker0(x)": "(4, 6)",
    "R.ccl.allgather(x, num_workers=2, in_group=True)": "(8, 6)",
    "R.ccl.scatter_from_worker0(x, num_workers=3, axis=1)": "(4, 2)",
}
FORMS = (
    '"runtime.disco.allreduce", (x, R.shape([3]), R.prim_value(0))',
    '"runtime.disco.broadcast_from_worker0", (x, R.prim_value(0))',
    '"runtime.disco.allgather", (x, R.prim_value(1))',
    '"runtime.disco.scatter_from_worker0", (gv_1, R.prim_value(0))',
)


def module_of(call, shape):
    return from_source(
        f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 6), "float32")) -> R.Tensor({shape}, "float32"):
        y: R.Tensor({shape}, dtype="float32") = {call}
        return y
"""
    )


@pytest.mark.parametrize(("call", "form"), list(zip(CALLS, FORMS, strict=True)))
def test_calls(call, form):
    module = module_of(call, CALLS[call])
    assert call in module.script()
    tvm.ir.assert_structural_equal(from_source(module.script()), module)
    text = LegalizeOps()(module).script()
    assert form.partition(",")[0] in text and form.rpartition("R.prim_value")[2] in text


def test_extents_that_do_not_divide():
    x = relax.Var("x", relax.TensorStructInfo((4, 6), "float32"))
    with pytest.raises(ShapeError, match="divisible by num_workers"):
        relax.BlockBuilder().normalize(relax.op.ccl.scatter_from_worker0(x, 4, 1))


def test_a_reduction_that_does_not_exist():
    with pytest.raises(NameLookupError, match="reduction 'median'"):
        LegalizeOps()(module_of('R.ccl.allreduce(x, op_type="median", in_group=True)', "(4, 6)"))


def test_values_that_are_not_lifted():
    module = module_of("R.builtin.stop_lift_params(x)", "(4, 6)")
    assert "R.builtin.stop_lift_params(x)" in module.script()
    assert "stop_lift_params" not in LegalizeOps()(module).script()
