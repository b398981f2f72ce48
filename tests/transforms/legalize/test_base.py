"""Operators on shapes, and those with effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirax.dev.fuzz import checks
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.dialects import relax
from tirax.dialects.relax.operator import Operator
from tirax.driver.build import build
from tirax.handles.module import IRModule
from tirax.handles.relax.analysis import contains_impure_call
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.verification.verify import verify_module
from tirax.runtime.builtins import tensor_to_shape
from tirax.runtime.errors import ArgumentError, AssertionFailedError
from tirax.script import parse_source, print_script
from tirax.transforms.bindings.dead_code_elimination import DeadCodeElimination
from tirax.transforms.bindings.eliminate_common_subexpr import EliminateCommonSubexpr
from tirax.transforms.legalize import LegalizeOps
from tirax.tvm_api import relax as rx

SHAPES = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), u: R.Tensor(ndim=2, dtype="float32"), s: R.Tensor((3,), "int64")):
    n = T.int64()
    with R.dataflow():
        y = R.shape_of(x)
        v = R.shape_of(u)
        z = R.tensor_to_shape(s)
        t = R.shape_to_tensor(y)
        w = R.shape_to_tensor(z)
        out = (t, v, z, w)
        R.output(out)
    return out
"""
EFFECTS = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")):
    s = R.shape_of(x)
    _ = R.print(x, s, format="x={}, of {}")
    _1 = R.print(s)
    _2 = R.assert_op(c, x, format="x is {}")
    return x
"""


def function(*body: str, params: str = 'x: R.Tensor(("n",), "float32"), c: R.Tensor((), "bool")') -> Any:
    lines = "".join(f"    {line}\n" for line in body)
    return parse_source(f"@R.function(pure=False)\ndef main({params}):\n{lines}    return x\n")


def values(n: int = 2, holds: bool = True) -> list[Any]:
    return [np.arange(n, dtype=np.float32), np.array(holds)]


def both(module: Any, args: list[Any]) -> list[Any]:
    """The results of the interpreter and of machine code."""
    return [interpret(module, "main", args), build(module)["main"](*args)]


@pytest.mark.parametrize("text", [SHAPES, EFFECTS])
def test_texts(text: str):
    module = parse_source(text)
    verify_module(module)
    checks.texts(module)
    legal = LegalizeOps()(module)
    assert not any(isinstance(op, Operator) for op in legal.walk())
    checks.texts(legal)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_shapes(n: int):
    args = [np.zeros((n, 4), np.float32), np.zeros((n, 7), np.float32), np.array([2, n, 5])]
    for t, v, z, w in both(parse_source(SHAPES), args):
        assert t.tolist() == [n, 4]
        assert tuple(v) == (n, 7)
        assert tuple(z) == (2, n, 5)
        assert w.tolist() == [2, n, 5]
        assert t.dtype == w.dtype == np.int64


def test_shapes_keep_their_meaning():
    module = parse_source(SHAPES)
    assert_same_meaning(module, LegalizeOps()(module))


def test_print(capsys: pytest.CaptureFixture[str]):
    both(parse_source(EFFECTS), values())
    assert capsys.readouterr().out == "x=[0. 1.], of (2,)\n(2,)\n" * 2


def test_an_assertion_that_fails(capsys: pytest.CaptureFixture[str]):
    module = parse_source(EFFECTS)
    for run in (lambda: interpret(module, "main", values(holds=False)), lambda: both(module, values(holds=False))):
        with pytest.raises(AssertionFailedError, match=r"does not hold: x is \[0. 1.\]"):
            run()
    with pytest.raises(AssertionFailedError, match="does not hold: x is"):
        build(module)["main"](*values(holds=False))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("R.assert_op(c)", "does not hold$"),
        ("R.assert_op(c, x)", r"does not hold: \[0. 1.\]"),
        ("R.assert_op(c, [x, c], format=R.str('{1}{0}'))", r"does not hold: False\[0. 1.\]"),
    ],
)
def test_messages_of_assertions(line: str, message: str):
    native = build(function(f"_ = {line}"))["main"]
    native(*values())
    with pytest.raises(AssertionFailedError, match=message):
        native(*values(holds=False))


def test_a_format_that_does_not_fit():
    module = function('_ = R.print(x, format="{} {}")')
    with pytest.raises(ArgumentError, match="does not fit 1 values"):
        build(module)["main"](*values())


def test_a_negative_extent():
    with pytest.raises(ArgumentError, match="no negative extents"):
        tensor_to_shape(np.array([2, -1]))


def test_effects_stay():
    """Twice the same line is printed twice, and what nothing uses is printed."""
    module = function("_ = R.print(x)", "_1 = R.print(x)")
    for name in ("DeadCodeElimination", "EliminateCommonSubexpr"):
        after = {"DeadCodeElimination": DeadCodeElimination, "EliminateCommonSubexpr": EliminateCommonSubexpr}[name]()(
            module
        )
        assert print_script(after).count("R.print(x") == 2
    assert contains_impure_call(IRModule(module)["main"])


@pytest.mark.parametrize("line", ["R.print(x)", "R.assert_op(c)", 'R.call_packed("f", x, sinfo_args=(R.Object,))'])
def test_effects_in_a_dataflow_block(line: str):
    module = None
    with pytest.raises(TiraxError, match="may have effects and must not stand in a dataflow block"):
        module = function("with R.dataflow():", f"    y = {line}", "    z = R.add(x, x)", "    R.output(z)")
        verify_module(module)


@pytest.mark.parametrize(
    ("params", "line", "message"),
    [
        ('x: R.Tensor((2, 3), "int64")', "R.tensor_to_shape(x)", "expr must be of rank 1"),
        ('x: R.Tensor((2,), "float32")', "R.tensor_to_shape(x)", "expr must be of int64"),
        ('x: R.Tensor((2,), "float32")', "R.shape_to_tensor(x)", "expr must be a shape"),
        ("x: R.Shape([2])", "R.shape_of(x)", "expr must be a tensor"),
        ('x: R.Tensor((2,), "bool")', "R.assert_op(x)", "condition must be a scalar"),
        ('x: R.Tensor((), "float32")', "R.assert_op(x)", "condition must be of bool"),
        ("x: R.Shape([2])", "R.assert_op(x)", "condition must be of bool"),
        ("x: R.Shape([2])", "R.assert_op()", "condition"),
        ("x: R.Shape([2])", "R.print(x, text='a')", "no argument is called 'text'"),
        ("x: R.Shape([2])", "R.print(x, format=3)", "format is of the wrong type"),
    ],
)
def test_errors(params: str, line: str, message: str):
    with pytest.raises(TiraxError, match=message):
        function(f"y = {line}", params=params)


TENSOR_FUNCTION = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir_with_grad(cls.double, x, R.Tensor((4,), "float32"), te_grad_name="double_grad"ARGS)
            z = R.add(y, x)
            R.output(z)
        return z
"""


@pytest.mark.parametrize("args", ["", ', te_grad_kwargs={"factor": T.float32(2.0), "kind": "plain"}'])
def test_call_tir_with_grad(args: str):
    module = parse_source(TENSOR_FUNCTION.replace("ARGS", args))
    verify_module(module)
    checks.texts(module)
    assert f'out_sinfo=R.Tensor((4,), dtype="float32"), te_grad_name="double_grad"{args})' in print_script(module)
    assert print_script(module).count("R.call_tir_with_grad(cls.double, (x,), ") == 1
    assert "te_grad_name" in print_script(LegalizeOps()(module))
    x = np.arange(4, dtype=np.float32)
    for result in both(module, [x]):
        np.testing.assert_array_equal(result, 3 * x)


@pytest.mark.parametrize("args", ["3", "None"])
def test_a_gradient_has_a_name(args: str):
    with pytest.raises(TiraxError, match="te_grad_name must be a string"):
        parse_source(TENSOR_FUNCTION.replace('"double_grad"ARGS', args))


def test_arguments_of_a_gradient_without_a_name():
    text = TENSOR_FUNCTION.replace("ARGS", ', te_grad_kwargs={"factor": 2.0}')
    module = parse_source(text)
    (call,) = [op for op in module.walk() if isinstance(op, relax.CallTIROp)]
    del call.properties["te_grad_name"]
    with pytest.raises(TiraxError, match="te_grad_kwargs of a call without te_grad_name"):
        verify_module(module)


@pytest.mark.parametrize("call", ["R.invoke_closure(f, (x,)", "R.invoke_pure_closure(f, [x]"])
@pytest.mark.parametrize("sinfo", ["", ', sinfo_args=(R.Tensor(("n",), "float32"),)'])
def test_closures(call: str, sinfo: str):
    module = parse_source(f"""
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n",), "float32")):
    n = T.int64()

    @R.function
    def f(z: R.Tensor((n,), "float32")):
        w = R.add(z, y)
        return w

    out = {call}{sinfo})
    return out
""")
    verify_module(module)
    checks.texts(module)
    x, y = np.arange(3, dtype=np.float32), np.full(3, 5, np.float32)
    for result in both(module, [x, y]):
        np.testing.assert_array_equal(result, x + y)


def test_a_closure_must_be_callable():
    with pytest.raises(TiraxError, match="cannot be called"):
        function("y = R.invoke_closure(x, (x,))")


def test_calls_from_python():
    x = rx.Var("x", rx.TensorStructInfo((4,), "float32"))
    call = rx.op.call_tir_with_grad(rx.GlobalVar("f"), x, rx.TensorStructInfo((4,), "float32"), "g", {"k": 1})
    assert call.ssa.owner.te_grad_name.data == "g"
    f = rx.Var("f", rx.FuncStructInfo([x.struct_info], x.struct_info))
    assert rx.op.invoke_pure_closure(f, (x,)).struct_info == x.struct_info
    assert str(rx.op.print(x, f, format="a {}").ssa.owner).count("%") >= 3


@pytest.mark.parametrize(
    "call",
    [
        'R.to_vdevice(y, dst_vdevice="llvm:0")',
        'R.hint_on_device(y, dst_vdevice="cpu")',
        "R.memory.ensure_zero_offset(y)",
    ],
)
def test_one_device(call: str):
    module = parse_source(f"""
@R.function
def main(x: R.Tensor(("n",), "float16")):
    with R.dataflow():
        y = R.add(x, x)
        z = {call}
        R.output(z)
    return z
""")
    checks.texts(module)
    assert_same_meaning(module, LegalizeOps()(module))
    checks.native(module)


@pytest.mark.parametrize("name", ["to_vdevice", "hint_on_device"])
def test_another_device(name: str):
    module = function(f'y = R.{name}(x, dst_vdevice="cuda:0")')
    with pytest.raises(UnsupportedError, match="there is no device 'cuda:0'"):
        LegalizeOps()(module)
