"""Small helpers: shapes of expressions, modules as JSON, virtual devices, pipelines of users."""

import json

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, TiraxError
from tirax.handles.module import IRModule
from tirax.handles.relax import names as rx
from tirax.ir.equality import assert_structural_equal
from tirax.script import parse_source
from tirax.tvm_api.handles.relax_utils import (
    convert_to_expr,
    copy_with_new_vars,
    extern,
    get_shape_of,
    load_json,
    prim_value,
    save_json,
    update_struct_info,
)

SOURCE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.block("B"):
                v = T.axis.spatial(T.int64(4), i)
                B[v] = A[v]

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        a = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((4,), dtype="float32"))
        b = R.add(a, R.const(1.5, "float32"))
        return b
"""


@pytest.fixture
def mod():
    return IRModule(parse_source(SOURCE))


def test_shapes_of_expressions():
    x = rx.Var("x", rx.TensorStructInfo(("n", 4), "float32"))
    assert get_shape_of(x) == rx.ShapeExpr(["n", 4])
    unknown = get_shape_of(rx.Var("y", rx.TensorStructInfo(ndim=2)))
    assert unknown.op.name == "relax.shape_of" and unknown.struct_info == rx.ShapeStructInfo(ndim=2)
    with pytest.raises(DTypeError, match="only a tensor has a shape"):
        get_shape_of(rx.ShapeExpr([1]))


def test_expressions_of_values():
    assert prim_value(3).value == 3 and extern("f").global_symbol == "f"
    assert isinstance(convert_to_expr((1, np.ones(2))), rx.Tuple)
    with pytest.raises(TiraxError, match="not an expression"):
        convert_to_expr(object())


def test_a_copy_has_variables_of_its_own(mod):
    new = copy_with_new_vars(mod["main"])
    assert new.params[0] != mod["main"].params[0] and new.script() == mod["main"].script()


def test_modules_and_functions_as_json(mod):
    again = load_json(save_json(mod))
    assert_structural_equal(again.op, mod.op)
    assert again.script(show_meta=True) == mod.script(show_meta=True)
    func = load_json(save_json(mod["main"]))
    assert isinstance(func, rx.Function) and func.script() == mod["main"].script()
    kernel = load_json(save_json(mod["k"]))
    assert kernel.script() == mod["k"].script() and kernel.private


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: "{", "not JSON"),
        (lambda text: "[]", "not what save_json gives"),
        (lambda text: text.replace("tirax-ir", "other"), "not what save_json gives"),
        (lambda text: json.dumps({**json.loads(text), "version": 99}), "another version"),
        (lambda text: json.dumps({**json.loads(text), "mlir": "relax.func @"}), "is no module"),
        (lambda text: json.dumps({**json.loads(text), "kind": "function"}), "is no function"),
        (lambda text: json.dumps({**json.loads(text), "kind": "picture"}), "not known here"),
    ],
)
def test_other_texts_are_refused(mod, change, message):
    with pytest.raises(TiraxError, match=message):
        load_json(change(save_json(mod)))


def test_what_is_stored(mod):
    with pytest.raises(TiraxError, match="the value is not a node, a container or an array"):
        save_json(object())


def test_targets_and_texts_as_json():
    target = tvm.target.Target("cuda -arch=sm_80", host="llvm -num-cores=2")
    again = load_json(save_json(target))
    assert again == target and again.host == target.host
    assert load_json(save_json(tvm.target.Target("llvm"))).host is None and load_json(save_json("x\ny")) == "x\ny"


def test_virtual_devices():
    device = tvm.ir.VDevice("llvm -mcpu=native", 1)
    assert str(device) == "llvm:1" == device and hash(device) == hash(tvm.relax.VDevice(vdevice_id=1))
    assert rx.TensorStructInfo((4,), "float32", vdevice=device).vdevice == "llvm:1"
    assert str(tvm.relax.VDevice(memory_scope="texture")) == "llvm:0:texture"


def test_pipelines_of_users(mod):
    @tvm.relax.register_pipeline("only-legalize")
    def make(times=1):
        return tvm.transform.Sequential([tvm.relax.transform.LegalizeOps()] * times)

    assert "R.call_tir(cls.add" in tvm.relax.get_pipeline("only-legalize", times=2)(mod).script()
    assert len(tvm.relax.get_pipeline("only-legalize", times=3).passes) == 3
    assert (
        str(tvm.relax.get_pipeline("only-legalize"))
        == 'sequential[legalize-ops{skip_ops="relax.memory.view" tvm_forms=true}]'
    )
    with pytest.raises(TiraxError, match="there is a pipeline"):
        tvm.relax.register_pipeline("only-legalize")(make)
    assert tvm.relax.get_default_pipeline(tvm.target.Target("llvm")).passes
    x = np.arange(4, dtype="float32")
    result = tvm.relax.VirtualMachine(tvm.relax.build(mod, "llvm"))["main"](tvm.nd.array(x))
    np.testing.assert_allclose(result.numpy(), x + 1.5)


@pytest.mark.parametrize(
    "info",
    [
        rx.TensorStructInfo((2, "n"), "float16", vdevice="llvm:1"),
        rx.ShapeStructInfo(ndim=3),
        rx.PrimStructInfo(value="n"),
        rx.FuncStructInfo([rx.ObjectStructInfo()], rx.TupleStructInfo([rx.PrimStructInfo("float32")]), False),
    ],
)
def test_struct_info_is_stored(info):
    assert load_json(save_json(info)) == info


def test_struct_info_is_inferred_again():
    x = rx.Var("x", rx.TensorStructInfo(ndim=2))
    update_struct_info(x, rx.TensorStructInfo((2, "n"), "float16"))
    assert x.struct_info == rx.TensorStructInfo((2, "n"), "float16")
