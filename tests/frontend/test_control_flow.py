"""Loops and branches of `BlockBuilder`: their meaning in the interpreter and in native code, their text, refusals."""

import sys

import numpy as np
import pytest

from tirax.diagnostics import DTypeError, ShapeError, TiraxError, UnsupportedError
from tirax.driver.build import build
from tirax.frontend.block_builder import BlockBuilder
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import const
from tirax.interpreter import interpret
from tirax.ir.equality import first_difference
from tirax.ir.verification.verify import verify_module
from tirax.runtime import registry
from tirax.transforms.bindings.convert_to_dataflow import ConvertToDataflow
from tirax.transforms.training.gradient import Gradient
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import relax as R


def tensor(*shape, dtype="float32"):
    return rx.TensorStructInfo(shape, dtype)


def built(params, write):
    """A module whose `main` gives what `write(bb, *params)` does."""
    bb = BlockBuilder()
    with bb.function("main", params):
        results = write(bb, *params)
        bb.emit_func_output(rx.Tuple(results) if isinstance(results, list) else results)
    mod = bb.get()
    verify_module(mod.op)
    return mod


def runs_as(mod, reference, *cases, rtol=1e-5):
    """The interpreter and native code give what `reference` does, and the text says the same program."""
    again = from_source(mod.script(show_meta=True))
    assert first_difference(again.op, mod.op) is None
    executable = build(mod)
    for args in cases:
        expected = reference(*args)
        for results in (interpret(mod, "main", args), executable["main"](*args)):
            assert len(results) == len(expected)
            for result, value in zip(results, expected, strict=True):
                assert np.shape(result) == np.shape(value)
                np.testing.assert_allclose(result, value, rtol=rtol)
    return executable


def numbers(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def test_scan_collects_what_each_iteration_gives():
    params = [rx.Var("x", tensor("n", 4)), rx.Var("w", tensor(4, 4)), rx.Var("m", rx.ShapeStructInfo(["m"]))]

    def write(bb, x, w, m):
        def step(i, h):
            return (bb.emit(R.tanh(R.matmul(h, w))), h)

        return bb.scan(step, [x], "m", collected=1)

    def reference(x, w, m):
        states = np.zeros((m[0], *x.shape), "float32")
        for i in range(m[0]):
            states[i] = x
            x = np.tanh(x @ w)
        return x, states

    mod = built(params, write)
    runs_as(mod, reference, *((numbers(n, 4), numbers(4, 4), (m,)) for n, m in [(3, 0), (3, 1), (1, 7), (0, 2)]))


def test_a_loop_ends_when_its_condition_says_so():
    """The greatest common divisor: carried tensors of rank 0, and no known number of iterations."""
    params = [rx.Var(name, tensor(dtype="int64")) for name in "ab"]
    zero = const(0, "int64")

    def write(bb, a, b):
        return bb.while_loop(lambda a, b: R.not_equal(b, zero), lambda a, b: (b, R.mod(a, b)), [a, b])

    def reference(a, b):
        return np.gcd(a, b), np.array(0)

    cases = [tuple(np.array(v) for v in pair) for pair in ((12, 18), (5, 0), (17, 4))]
    runs_as(built(params, write), reference, *cases)


def test_the_extents_of_what_is_carried_may_change():
    params = [rx.Var("x", tensor("n"))]

    def write(bb, x):
        grown, seen = bb.while_loop(
            lambda v, s: v.struct_info.shape[0] < 40,
            lambda v, s: (bb.emit(R.concat([v, R.multiply(v, const(2.0))], axis=0)), R.add(s, R.sum(v))),
            [x, const(0.0)],
        )
        return [grown, R.add(grown, grown), seen]

    def reference(x):
        total = np.float32(0)
        while len(x) < 40:
            total, x = total + x.sum(), np.concatenate([x, 2 * x])
        return x, x + x, total

    mod = built(params, write)
    runs_as(mod, reference, (numbers(3),), (numbers(40),), (numbers(41),), (numbers(1),))


def test_loops_in_loops_with_branches():
    """Both functions of the inner loop use values of the outer one and of the function around it."""
    params = [rx.Var("x", tensor("n")), rx.Var("limit", tensor())]

    def write(bb, x, limit):
        def outer(i, v):
            scaled = bb.emit(R.multiply(v, const(1.5)))

            def inner(j, u):
                return (bb.emit(R.add(u, scaled)),)

            (summed,) = bb.scan(inner, [v], i.struct_info.value + 1)
            small = bb.emit(R.less(R.sum(summed), limit))
            return bb.if_then_else(small, lambda: summed, lambda: R.negative(v))

        return bb.scan(outer, [x], 3)

    def reference(x, limit):
        for i in range(3):
            summed = x + 1.5 * (i + 1) * x
            x = summed if summed.sum() < limit else -x
        return (x,)

    cases = [(numbers(n), np.float32(limit)) for n, limit in ((4, 1e6), (4, -1e6), (4, 0.5), (0, 1))]
    runs_as(built(params, write), reference, *cases)


def test_what_is_collected_of_unknown_many_iterations():
    params = [rx.Var("x", tensor(2, "k"))]

    def write(bb, x):
        def body(v):
            half = bb.emit(R.multiply(v, const(0.5)))
            return half, R.sum(v), half

        return bb.while_loop(lambda v: R.greater(R.max(R.abs(v)), const(1.0)), body, [x], collected=2)

    def reference(x):
        sums, halves = [], []
        while np.abs(x).max() > 1:
            sums, halves = [*sums, x.sum()], [*halves, x / 2]
            x = x / 2
        return x, np.array(sums, "float32"), np.array(halves, "float32").reshape(-1, *x.shape)

    mod = built(params, write)
    runs_as(mod, reference, (numbers(2, 3) * 100,), (numbers(2, 1) / 100,), (np.full((2, 5), 3, "float32"),))


def test_tuples_numbers_and_values_that_stay():
    params = [rx.Var("x", tensor("n")), rx.Var("p", rx.TupleStructInfo([tensor("n"), tensor(dtype="int64")]))]

    def write(bb, x, p):
        def body(k, pair, same):
            return (
                k.struct_info.value * 2,
                rx.Tuple([R.add(pair[0], x), R.add(pair[1], const(1, "int64"))]),
                same,
            )

        k, pair, same = bb.while_loop(lambda k, *_: k.struct_info.value < 9, body, [1, p, x])
        return [pair[0], pair[1], same]

    def reference(x, p):
        return p[0] + 4 * x, p[1] + 4, x

    runs_as(built(params, write), reference, (numbers(3), (numbers(3), np.array(5))))


def test_constants_are_not_handed_out():
    """After no iteration the result is a copy of the constant."""
    mod = built(
        [rx.Var("n", rx.ShapeStructInfo(["n"]))], lambda bb, n: bb.scan(lambda i, c: c, [const([1.0, 2.0])], "n")
    )
    executable = runs_as(mod, lambda n: [np.array([1, 2], "float32")], ((0,),), ((2,),))
    (result,) = executable["main"]((0,))
    result += 1
    np.testing.assert_array_equal(executable["main"]((0,))[0], [1, 2])


def test_a_hundred_thousand_iterations_take_no_memory():
    """References are counted: everything that the loop has made but its results is gone."""
    params = [rx.Var("x", tensor(64)), rx.Var("m", rx.ShapeStructInfo(["m"]))]
    main = build(built(params, lambda bb, x, m: bb.scan(lambda i, v: R.add(v, x), [x], "m")))["main"]
    x = np.ones(64, "float32")
    main(x, (10,))
    before = sys.getallocatedblocks()
    (result,) = main(x, (100_000,))
    assert sys.getallocatedblocks() - before < 100
    np.testing.assert_array_equal(result, np.full(64, 100_001, "float32"))


def test_exceptions_inside_of_a_loop_end_it():
    calls = []

    def check(x):
        calls.append(float(x[0]))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return x

    registry.register_func("control_flow.check", check, override=True)
    try:

        def write(bb, x):
            return bb.scan(
                lambda i, v: R.add(R.call_pure_packed("control_flow.check", v, sinfo_args=tensor(2)), x), [x], 10
            )

        main = build(built([rx.Var("x", tensor(2))], write))["main"]
        with pytest.raises(KeyboardInterrupt):
            main(np.ones(2, "float32"))
    finally:
        registry.remove_global_func("control_flow.check")
    assert calls == [1, 2, 3]


def test_collected_tensors_of_different_shapes_are_refused_when_they_come():
    def write(bb, x):
        def grow(i, v):
            return (bb.emit(R.concat([v, x], axis=0)), v)

        return bb.scan(grow, [x], 3, collected=1)[1:]

    mod = built([rx.Var("x", tensor("n"))], write)
    with pytest.raises(ShapeError, match="iterations"):
        build(mod)["main"](numbers(2))


ONE = const(1.0)


@pytest.mark.parametrize(
    "error, match, write",
    [
        (DTypeError, "another kind", lambda bb, x: bb.scan(lambda i, v: R.astype(v, "int32"), [x], 3)),
        (ShapeError, "another kind", lambda bb, x: bb.scan(lambda i, v: R.sum(v), [x], 3)),
        (ShapeError, "other values", lambda bb, x: bb.scan(lambda i, v: (v, v), [x], 3)),
        (ShapeError, "one value", lambda bb, x: bb.while_loop(lambda v: (v, v), lambda v: v, [x])),
        (DTypeError, "condition", lambda bb, x: bb.while_loop(lambda v: R.sum(v), lambda v: v, [x])),
        (ShapeError, "as many", lambda bb, x: bb.if_then_else(ONE, lambda: x, lambda: (x, x))),
        (ShapeError, "an extent", lambda bb, x: bb.scan(lambda i, v: v, [x], x)),
    ],
)
def test_what_is_refused(error, match, write):
    with pytest.raises(error, match=match):
        built([rx.Var("x", tensor("n"))], write)


def test_there_is_no_branch_in_a_dataflow_block():
    bb = BlockBuilder()
    x = rx.Var("x", tensor(3))
    with pytest.raises(TiraxError, match="dataflow"), bb.function("main", [x]), bb.dataflow():
        bb.if_then_else(const(True), lambda: x, lambda: x)


LOCAL = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32"), w: R.Tensor(("n",), "float32")):
        n = T.int64()
        @R.function
        def cond(v: R.Tensor(("m",), "float32"), w: R.Tensor(("m",), "float32")) -> R.Tensor((), "bool"):
            gv = R.less(R.sum(v), R.const(CONST, "float32"))
            return gv
        @R.function
        def body(v: R.Tensor(("m",), "float32"), w: R.Tensor(("m",), "float32")):
            gv = R.add(v, w)
            return (gv,)
        r = R.while_loop(cond, body, (x,), (w,))
        return r
"""


def test_local_functions_that_use_nothing_of_outside():
    mod = from_source(LOCAL.replace("CONST", "10.0"))
    args = np.ones(3, "float32"), np.ones(3, "float32")
    for results in (interpret(mod, "main", args), build(mod)["main"](*args)):
        np.testing.assert_array_equal(results[0], np.full(3, 4, "float32"))


def test_local_functions_that_use_values_of_outside_are_refused():
    mod = from_source(LOCAL.replace('R.const(CONST, "float32")', "R.sum(x)"))
    with pytest.raises(UnsupportedError, match="relax.closure"):
        build(mod)


def test_there_is_no_gradient_of_a_loop():
    mod = built([rx.Var("x", tensor(3))], lambda bb, x: R.sum(bb.scan(lambda i, v: R.multiply(v, v), [x], 2)[0]))
    with pytest.raises(UnsupportedError, match="while_loop"):
        Gradient("main")(ConvertToDataflow(min_size=1)(mod))
