"""The operators on memory: types, text, meaning, native code, and what is refused."""

import gc

import numpy as np
import pytest
from xdsl.parser import Parser

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, ShapeError, TiraxError, VerifyError
from tirax.dialects import relax
from tirax.driver.build import build
from tirax.interpreter import InterpreterError, interpret
from tirax.ir.passes.transform import new_context
from tirax.ir.verification.verify import verify_module
from tirax.runtime import register_func
from tirax.script import parse_source, print_script

X = np.arange(8, dtype="float32").reshape(2, 4) / 8

ALL = """    @R.function(pure=False)
    def main(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
        n = T.int64()
        cls = Module
        s: R.Object = R.memory.alloc_storage(R.shape([n * 32]), R.prim_value(0), R.str("global"), R.dtype("float32"))
        a: R.Tensor((n, 4), dtype="float32") = R.memory.alloc_tensor(s, R.prim_value(n * 16), R.shape([n, 4]), R.dtype("float32"))
        cls.exp(x, a)
        b: R.Tensor((n, 4), dtype="float32") = R.memory.alloc_tensor(s, R.prim_value(0), R.shape([n, 4]), R.dtype("float32"))
        cls.exp(a, b)
        R.memory.kill_tensor(a)
        c: R.Tensor((n, 4), dtype="float32") = R.builtin.alloc_tensor(R.shape([n, 4]), R.dtype("float32"), R.prim_value(0), R.str("global"))
        cls.add(a, b, c)
        R.memory.kill_storage(s)
        s1: R.Object = R.vm.alloc_storage(R.shape([n * 16]), R.prim_value(0), R.dtype("uint8"), R.str("global"))
        d: R.Tensor((n, 4), dtype="float32") = R.vm.alloc_tensor(s1, R.prim_value(0), R.shape([n, 4]), R.dtype("float32"), R.prim_value(0))
        R.vm.call_tir_dyn(cls.plus, (c, d, R.shape([n])))
        R.vm.kill_object(s1)
        return d
"""  # noqa: E501


def body(module, *lines, result="x", params='x: R.Tensor((2, 4), "float32")'):
    head = f"    @R.function(pure=False)\n    def main({params}):\n        cls = Module\n"
    return module(head + "".join(f"        {line}\n" for line in (*lines, f"return {result}")))


def storage(size, offset, shape="[2, 4]", dtype="float32"):
    """A storage, and a tensor in it that `exp` writes."""
    return (
        f"s = R.memory.alloc_storage(R.shape([{size}]), 0, 'global', 'uint8')",
        f"a = R.memory.alloc_tensor(s, {offset}, R.shape({shape}), '{dtype}')",
    )


def test_script(module):
    program = module(ALL)
    verify_module(program)
    printed = print_script(program)
    assert ALL.rstrip() in printed
    assert print_script(parse_source(printed)) == printed


def test_mlir(module):
    text = str(module(ALL))
    again = Parser(new_context(), text).parse_module()
    verify_module(again)
    assert str(again) == text
    assert "relax.call @plus(%c, %d) tir_vars [n] : tuple<>" in text


@pytest.mark.parametrize("n", [0, 1, 2, 300])
def test_meaning_and_native(module, n):
    x = np.random.default_rng(0).random((n, 4), np.float32)
    expected = np.exp(x) + np.exp(np.exp(x)) + n
    np.testing.assert_allclose(interpret(module(ALL), "main", [x]), expected, rtol=1e-5)
    np.testing.assert_allclose(build(module(ALL))["main"](x), expected, rtol=1e-5)


def test_what_may_be_left_out(module):
    short = body(
        module,
        "a = R.builtin.alloc_tensor((2, 4), 'float32', 0)",
        "s = R.vm.alloc_storage((32,), runtime_device_index=0, dtype='uint8')",
        "b = R.vm.alloc_tensor(storage=s, offset=0, shape=(2, 4), dtype='float32')",
    )
    assert 'R.builtin.alloc_tensor(R.shape([2, 4]), R.dtype("float32"), R.prim_value(0), R.str("global"))' in (
        print_script(short)
    )
    assert 'R.vm.alloc_tensor(s, R.prim_value(0), R.shape([2, 4]), R.dtype("float32"))' in print_script(short)


def test_python():
    op = tvm.relax.op
    result = op.builtin.alloc_tensor(tvm.relax.ShapeExpr([2, 4]), "float32", 0)
    assert result.struct_info == tvm.relax.TensorStructInfo((2, 4), "float32")
    stored = op.memory.alloc_storage(tvm.relax.ShapeExpr([64]), 0, "global", "float32")
    assert isinstance(stored.struct_info, tvm.relax.ObjectStructInfo)
    inside = op.memory.alloc_tensor(stored, 32, tvm.relax.ShapeExpr([2, 4]), "float32")
    assert inside.struct_info == tvm.relax.TensorStructInfo((2, 4), "float32")
    with pytest.raises(ShapeError, match="beyond its storage"):
        assert op.memory.alloc_tensor(stored, 33, tvm.relax.ShapeExpr([2, 4]), "float32").struct_info
    with pytest.raises(DTypeError, match="dtype must be a data type"):
        assert op.builtin.alloc_tensor(tvm.relax.ShapeExpr([2]), tvm.relax.StringImm("float32"), 0).struct_info


REFUSED = [
    (storage(31, 0), "reaches beyond its storage"),
    (storage(64, -4), "offset must not be negative"),
    (("s = R.memory.alloc_storage(R.shape([4, 4]), 0, 'global', 'uint8')",), "size must be one number of bytes"),
    (("a = R.memory.alloc_tensor(x, 0, R.shape([2]), 'float32')",), "storage must be a storage"),
    (("a = R.builtin.alloc_tensor(R.shape([2]), 'float32', 1.5)",), "runtime_device_index must be an integer"),
    (("a = R.builtin.alloc_tensor(x, 'float32', 0)",), "shape must be a shape"),
    (("a = R.builtin.alloc_tensor(R.shape([2]), 'flaot32', 0)",), "flaot32"),
    (("R.memory.kill_tensor(R.shape([2]))",), "tensor must be a tensor"),
    (("cls.exp(x)",), "a prim_func is not called directly"),
]


@pytest.mark.parametrize(("lines", "message"), REFUSED, ids=[m for _, m in REFUSED])
def test_refused(module, lines, message):
    with pytest.raises(TiraxError, match=message) as caught:
        body(module, *lines)
    assert caught.value.location is not None


def test_calls_of_tensor_functions_have_effects(module):
    with pytest.raises(TiraxError, match="not called directly"):
        body(module, "with R.dataflow():", "    cls.exp(x, x)", "    y = R.exp(x)", "    R.output(y)")
    program = body(module, "cls.exp(x, x)")
    (call,) = [op for op in program.walk() if isinstance(op, relax.CallOp)]
    call.results[0]._type = relax.OBJECT
    with pytest.raises(VerifyError, match="gives something else"):
        verify_module(program)


def test_native_views_may_be_kept(module):
    """A tensor of a shared storage that is returned, or handed to Python, keeps the storage."""
    kept = []
    register_func("test.memory.keep", lambda a: kept.append(a), override=True)
    program = body(
        module,
        *storage(64, 32),
        "cls.exp(x, a)",
        "b = R.memory.alloc_tensor(s, 0, R.shape([2, 4]), 'float32')",
        "cls.exp(a, b)",
        "_ = R.call_packed('test.memory.keep', a, sinfo_args=(R.Object,))",
        result="(a, b)",
    )
    a, b = build(program)["main"](X)
    gc.collect()
    np.testing.assert_allclose(a, np.exp(X), rtol=1e-6)
    np.testing.assert_allclose(b, np.exp(np.exp(X)), rtol=1e-6)
    assert a is kept[0] and a.flags.writeable and a.base is not None
    b[...] = 0
    np.testing.assert_allclose(kept[0], np.exp(X), rtol=1e-6)


def test_native_reshape_is_a_view(module):
    """Also of a parameter; of a constant it is a copy."""
    program = body(
        module,
        "y = R.reshape(x, (4, 2))",
        "c = R.const([[1.0, 2.0], [3.0, 4.0]], 'float32')",
        "z = R.reshape(c, (4,))",
        result="(y, z)",
    )
    run = build(program, pipeline=None)["main"]
    array = X.copy()
    y, z = run(array)
    assert np.shares_memory(y, array) and y.shape == (4, 2)
    z[...] = 0
    np.testing.assert_array_equal(run(array)[1], [1, 2, 3, 4])
    array.flags.writeable = False
    assert not run(array)[0].flags.writeable


@pytest.mark.parametrize("n", [2, 3, 4])
def test_native_bounds(module, n):
    """A storage of constant size holds tensors as far as they fit: others are refused at run time."""
    lines = storage(48, 0, "[x0, 4]")
    program = body(
        module,
        "x0 = T.int64()",
        *lines,
        "cls.exp(x, a)",
        "b = R.memory.alloc_tensor(s, 0, R.shape([1]), 'float32')",
        "c = R.builtin.alloc_tensor(R.shape([x0, 4]), 'float32', 0)",
        "cls.exp(a, c)",
        result="c",
        params='x: R.Tensor(("x0", 4), "float32")',
    )
    run, x = build(program)["main"], np.ones((n, 4), np.float32)
    if n <= 3:
        np.testing.assert_allclose(run(x), np.exp(np.exp(x)), rtol=1e-6)
        return
    with pytest.raises(ShapeError, match="does not fit its memory"):
        run(x)
    with pytest.raises(InterpreterError, match="beyond its storage"):
        interpret(program, "main", [x])


def test_native_needs_to_know(module):
    with pytest.raises(TiraxError, match="of a storage that is not made in the function"):
        build(
            body(
                module,
                "a = R.memory.alloc_tensor(o, 0, R.shape([2, 4]), 'float32')",
                "cls.exp(x, a)",
                result="a",
                params='x: R.Tensor((2, 4), "float32"), o: R.Object',
            )
        )


def test_a_storage_counts_elements_of_its_dtype(module):
    def program(dtype):
        return body(
            module,
            f"s = R.vm.alloc_storage(R.shape([8]), 0, '{dtype}')",
            "a = R.vm.alloc_tensor(s, 0, R.shape([2, 4]), 'float32')",
            "cls.exp(x, a)",
            result="a",
        )

    np.testing.assert_allclose(interpret(program("float32"), "main", [X]), np.exp(X), 1e-6)
    np.testing.assert_allclose(build(program("float32"))["main"](X), np.exp(X), 1e-6)
    with pytest.raises(ShapeError, match="beyond its storage"):
        program("uint8")
