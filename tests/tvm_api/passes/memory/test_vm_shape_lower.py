"""Shapes as calls at run time: the calls, their meaning, what they refuse."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning, interpret
from tirax.tvm_api import relax
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@I.ir_module
class Casts:
    @R.function(pure=False)
    def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(ndim=2, dtype="float32"), s: R.Shape(["k"])):
        n = T.int64()
        m = T.int64()
        k = T.int64()
        z = R.match_cast(y, R.Tensor((m, n * k + 1), "float32"))
        return (R.shape([n * 2 + 1, m, 2]), R.prim_value(n * k), z)


def arguments(n, m, k, columns=None):
    y = np.ones((m, n * k + 1 if columns is None else columns), "float32")
    return np.zeros((n, m), "float32"), y, (k,)


@pytest.fixture(scope="module")
def lowered():
    return relax.transform.VMShapeLower()(Casts)


def test_meaning_is_kept(lowered):
    for n, m, k in ((3, 2, 5), (1, 1, 1), (0, 2, 1)):
        args = arguments(n, m, k)
        before, after = (interpret(mod.op, "main", args) for mod in (Casts, lowered))
        assert tuple(after[0]) == tuple(before[0]) == (2 * n + 1, m, 2)
        assert after[1] == before[1] == n * k
        np.testing.assert_array_equal(after[2], before[2])


def test_native_code_runs_the_checks(lowered):
    main = build(lowered)["main"]
    shape, number, z = main(*arguments(3, 2, 5))
    assert tuple(shape) == (7, 2, 2) and number == 15 and z.shape == (2, 16)
    with pytest.raises(ShapeError, match=r"ErrorContext\(match_cast, struct_info=.*extent 1 does not match") as caught:
        main(*arguments(3, 2, 5, columns=9))
    assert (caught.value.expected, caught.value.found) == (16, 9)


def test_text_is_read_back(lowered):
    text = lowered.script()
    assert 'R.call_builtin_with_ctx("vm.builtin.alloc_shape_heap", (R.prim_value(6),)' in text
    assert "H[T.int64(3)] = H[T.int64(0)] * H[T.int64(2)] + T.int64(1)" in text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), lowered)


def calls(mod):
    return [line.strip() for line in mod.script().splitlines() if "vm.builtin" in line or "shape_func" in line]


def test_what_is_known_is_not_checked_again():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            y = R.match_cast(x, R.Tensor((n,), "float32"))
            return y

    actual = calls(relax.transform.VMShapeLower(emit_err_ctx=False)(Module))
    assert [line.partition('"vm.builtin.')[2].partition('"')[0] for line in actual] == [
        "alloc_shape_heap", "check_tensor_info", "match_shape"
    ]  # fmt: skip


def test_what_a_branch_finds_is_known_in_it_alone():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(c: R.Tensor((), "bool"), y: R.Tensor(ndim=1, dtype="float32")) -> R.Shape(ndim=1):
            if c:
                m = T.int64()
                a = R.match_cast(y, R.Tensor((m,), "float32"))
                s: R.Shape(ndim=1) = R.call_packed("vm.builtin.shape_of", a, sinfo_args=(R.Shape(ndim=1),))
            else:
                m = T.int64()
                b = R.match_cast(y, R.Tensor((m,), "float32"))
                s: R.Shape(ndim=1) = R.call_packed("vm.builtin.shape_of", b, sinfo_args=(R.Shape(ndim=1),))
            return s

    after = relax.transform.VMShapeLower(emit_err_ctx=False)(Module)
    stores = [line for line in calls(after) if 'match_shape", y' in line]
    assert len(stores) == 2 and stores[0] == stores[1]
    y = np.ones(3, "float32")
    assert [tuple(interpret(after.op, "main", (np.array(c), y))) for c in (True, False)] == [(3,), (3,)]


def test_fields_callables_and_dtypes_that_are_unknown():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(f: R.Callable([R.Object], R.Object), t: R.Tuple(R.Tensor(("n",)), R.Prim("float32")), o: R.Object):
            n = T.int64()
            p = R.match_cast(o, R.Tuple(R.Shape([n])))
            return p

    after = relax.transform.VMShapeLower(emit_err_ctx=False)(Module)
    text = after.script()
    assert 'R.dtype("void")' in text and '"vm.builtin.tuple_getitem", o, R.prim_value(0)' in text
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), after)
    args = (len, (np.ones(3, "int8"), 1.5))
    assert interpret(after.op, "main", (*args, ((3,),))) == ((3,),)
    with pytest.raises(ShapeError):
        interpret(after.op, "main", (*args, ((4,),)))
    with pytest.raises(TiraxError, match="no such tuple"):
        interpret(after.op, "main", (*args, (3,) * 2))


def test_it_is_for_plain_bindings_and_functions_that_may_have_effects():
    @I.ir_module
    class Pure:
        @R.function
        def main(x: R.Tensor(("n",), "float32")):
            return x

    @I.ir_module
    class Dataflow:
        @R.function(pure=False)
        def main(x: R.Tensor(("n",), "float32")):
            with R.dataflow():
                y = R.nn.relu(x)
                R.output(y)
            return y

    for mod, hint in ((Pure, "remove-purity-checking"), (Dataflow, "to-non-dataflow")):
        with pytest.raises(TiraxError) as caught:
            relax.transform.VMShapeLower()(mod)
        assert hint in caught.value.hint and caught.value.location is not None
    after = relax.transform.VMShapeLower()(relax.transform.RemovePurityChecking()(Pure))
    assert_same_meaning(Pure.op, after.op)


def test_builtins_refuse():
    builtin = {n: tvm.get_global_func(f"vm.builtin.{n}") for n in (
        "check_tensor_info", "check_shape_info", "check_prim_value_info", "check_func_info", "match_shape", "make_shape"
    )}  # fmt: skip
    x = np.ones((2, 3), "float32")
    with pytest.raises(DTypeError, match="here a tensor has the wrong dtype"):
        builtin["check_tensor_info"](x, 2, "int8", "here ")
    with pytest.raises(ShapeError, match="wrong rank"):
        builtin["check_tensor_info"](x, 1, "float32", "")
    with pytest.raises(ShapeError, match="wrong rank"):
        builtin["match_shape"](x, np.zeros(1, "int64"), 1, 2, 0, "")
    with pytest.raises(ShapeError, match="wrong rank"):
        builtin["check_shape_info"]((1, 2), 1, "")
    refused = {"check_tensor_info": (3, 2, "int8"), "check_shape_info": (x, -1), "check_func_info": (3,)}
    for name, args in {**refused, "check_prim_value_info": (1.5, "int64")}.items():
        with pytest.raises(TiraxError, match="no tensor|no shape|no function|no number"):
            builtin[name](*args, "")
    assert tuple(builtin["make_shape"](np.array([5, 6]), 2, 1, 1, 0, 7)) == (6, 7)
