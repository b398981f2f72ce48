"""The sizes of tiles: how many vectors by how many rows are summed at once, beside what they are made of."""

import numpy as np
import pytest
from xdsl.dialects.builtin import i64
from xdsl.ir import Block

import tirax.tvm_api as tvm
from tirax.dialects.sym.expr import Const
from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.schedule.cpu.analysis.plan import Machine
from tirax.schedule.cpu.analysis.stages import Iter
from tirax.schedule.cpu.library.microkernel import tile_size
from tirax.target import Target
from tirax.tvm_api import relax

op = relax.op
AVX2, AVX512 = "llvm -mcpu=x86-64-v3", "llvm -mcpu=skylake-avx512 -vector-width=512"
SIZES = [
    (AVX2, 8, (1, 14)),
    (AVX2, 16, (2, 6)),
    (AVX2, 20, (3, 4)),
    (AVX2, 24, (3, 4)),
    (AVX2, 32, (2, 6)),
    (AVX2, 40, (2, 6)),
    (AVX2, 48, (2, 6)),
    (AVX2, 72, (3, 4)),
    (AVX2, None, (2, 6)),
    (AVX512, 16, (1, 16)),
    (AVX512, 48, (3, 9)),
    (AVX512, 80, (4, 6)),
    (AVX512, 96, (3, 9)),
    (AVX512, 128, (4, 6)),
    (AVX512, None, (4, 6)),
]


@pytest.mark.parametrize(("target", "columns", "size"), SIZES)
def test_sums_and_operands_fit_the_registers(target, columns, size):
    machine = Machine.of(Target(target))
    row = Iter(Block(arg_types=[i64]).args[0], Const(100), reduce=False)
    vectors, rows = tile_size(machine, columns, machine.vector_bits // 32, row)
    assert (vectors, rows) == size
    assert vectors * rows + vectors + 1 <= machine.registers


def product(columns, then, *more):
    """`then` of x (n, 40) times w (40, columns)."""
    n, builder = tvm.tir.Var("n", "int64"), relax.BlockBuilder()
    shapes = {"x": (n, 40), "w": (40, columns), **dict.fromkeys(more, (n, columns))}
    params = [relax.Var(name, relax.TensorStructInfo(shape, "float32")) for name, shape in shapes.items()]
    with builder.function("main", params):
        with builder.dataflow():
            y = builder.emit(op.matmul(*params[:2]))
            result = builder.emit_output(builder.emit(then(y, *params[2:])))
        builder.emit_func_output(result)
    return builder.get()


PRODUCTS = {
    "two vectors": (128, (), lambda y: y, lambda y: y),
    "three": (24, (), lambda y: y, lambda y: y),
    "one": (5, (), lambda y: y, lambda y: y),
    "activated": (40, (), op.nn.relu, lambda y: np.maximum(y, 0)),
    "and a sum": (16, ("r",), op.add, np.add),
}
TARGETS = ["llvm"] + [AVX2] * ({"avx2", "fma"} <= Target().features)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("case", PRODUCTS)
def test_rows_that_are_left_are_what_numpy_says(case, target):
    """Any number of rows; each is what it is among others, bit by bit."""
    columns, more, then, numpy_then = PRODUCTS[case]
    main, rng = build(product(columns, then, *more), target)["main"], np.random.default_rng(7)
    x, w, *others = (rng.standard_normal(s).astype("float32") for s in ((22, 40), (40, columns), (22, columns)))
    others = others[: len(more)]
    all_rows = np.asarray(main(x, w, *others))
    expected = numpy_then(x.astype("float64") @ w, *others)
    for rows in range(23):
        result = np.asarray(main(x[:rows], w, *(a[:rows] for a in others)))
        np.testing.assert_allclose(result, expected[:rows], rtol=0, atol=4e-5)
        np.testing.assert_array_equal(result, all_rows[:rows])


RESIDUAL = """
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, w: T.Buffer((40, 16)), r: T.handle, c: T.handle):
        T.func_attr({"tir.noalias": T.bool(True)})
        n = T.int64()
        A, R, C = T.match_buffer(a, (n, 40)), T.match_buffer(r, (n, 16)), T.match_buffer(c, (n, 16))
        P = T.alloc_buffer((n, 16))
        for i, j, k in T.grid(n, 16, 40):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    P[vi, vj] = T.float32(0)
                P[vi, vj] = P[vi, vj] + A[vi, vk] * w[vk, vj]
        for i, j in T.grid(n, 16):
            with T.block("sum"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = P[vi, vj] + R[vi, vj]
"""
ONCE = {
    "nothing is read that is written": (RESIDUAL, True),
    "the result is": (RESIDUAL.replace("+ R[vi, vj]", "+ C[vi, vj]"), False),
    "buffers may overlap": (RESIDUAL.replace('        T.func_attr({"tir.noalias": T.bool(True)})\n', ""), False),
}


@pytest.mark.parametrize("case", ONCE)
def test_rows_are_stored_once_where_results_are_read(case):
    source, repeats = ONCE[case]
    upto = [*OPTIMIZE, *SCHEDULE[: SCHEDULE.index("default-schedule") + 1]]
    module = tvm.script.from_source(source)
    text = str(module_op(Sequential(make_passes(upto, AVX2))(module)))
    assert ("tir.min" in text) == repeats
    main, rng = build(module, TARGETS[-1])["main"], np.random.default_rng(8)
    for rows in (0, 1, 2, 3, 5, 9):
        a, w, r, c = (rng.standard_normal(s).astype("float32") for s in ((rows, 40), (40, 16), (rows, 16), (rows, 16)))
        expected = a.astype("float64") @ w + (c if "+ C" in source else r)
        main(a, w, r, c)
        np.testing.assert_allclose(c, expected, rtol=0, atol=4e-5)
