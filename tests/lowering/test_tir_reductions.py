"""Reductions that are expressions (`T.reduce` with a `T.comm_reducer`): text, interpreter, machine code, refusals."""

import numpy as np
import pytest
from test_tir_language import check_meaning, parsed
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.dialects import tir
from tirax.interpreter import interpret
from tirax.ir.equality import structural_equal
from tirax.ir.passes.transform import new_context
from tirax.script import parse_source, print_script
from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source

HEAD = '@T.prim_func\ndef f(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):\n'
SUM = "T.comm_reducer(lambda x, y: x + y, [T.float32(0)])"
ARGMAX = (
    'T.comm_reducer(lambda i, x, j, y: (T.Select(x >= y, i, j), T.Select(x >= y, x, y)), [-1, T.min_value("float32")])'
)
AXIS = 'axis=[T.iter_var(k, T.Range(0, 16), "CommReduce", "")]'
A = np.random.default_rng(5).standard_normal((8, 16)).astype("float32")
SECOND = np.sort(A, axis=1)[:, -2]


def in_block(value):
    return f"""
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        k = T.int32()
        B[vi] = {value}
"""


PROGRAMS = {
    "sum": (in_block(f"T.reduce({SUM}, source=[A[vi, k]], init=[], {AXIS}, value_index=0)"), A.sum(1)),
    "under a condition, part of an expression": (
        in_block(f"T.reduce({SUM}, source=[A[vi, k] * 2.0], {AXIS}, condition=k < 5) + 1.0"),
        A[:, :5].sum(1) * 2 + 1,
    ),
    "what the condition excludes is not read": (
        in_block(f"T.reduce({SUM}, source=[A[vi, k + 8]], {AXIS}, condition=k < 8)"),
        A[:, 8:].sum(1),
    ),
    "a start": (in_block(f"T.reduce({SUM}, source=[A[vi, k]], init=[T.float32(3)], {AXIS})"), A.sum(1) + 3),
    "TVM's class": (
        in_block(f'T.Reduce({SUM}, [A[vi, k]], [T.iter_var(k, (2, 7), "CommReduce", "")], True, 0)'),
        A[:, 2:7].sum(1),
    ),
    "greatest": (
        in_block(
            f'T.reduce(T.comm_reducer(lambda x, y: T.max(x, y), [T.min_value("float32")]), source=[A[vi, k]], {AXIS})'
        ),
        A.max(1),
    ),
    "the place of the greatest": (
        in_block(f'T.Cast("float32", T.reduce({ARGMAX}, source=[k, A[vi, k]], {AXIS}, value_index=0))'),
        A.argmax(1),
    ),
    "the greatest beside its place": (
        in_block(f"T.reduce({ARGMAX}, source=[k, A[vi, k]], {AXIS}, value_index=1)"),
        A.max(1),
    ),
    "the second greatest": (
        in_block(
            "T.reduce(T.comm_reducer(lambda a, b, c, d: (T.max(a, c), T.max(T.min(a, c), T.max(b, d))), "
            f'[T.min_value("float32"), T.min_value("float32")]), source=[A[vi, k], T.min_value("float32")], {AXIS}, '
            "value_index=1)"
        ),
        SECOND,
    ),
    "several axes, one in another's index": (
        """
        p = T.int32()
        q = T.int32()
        for i in T.vectorized(8):
            B[i] = T.if_then_else(i < 6, T.reduce(
                T.comm_reducer(lambda x, y: x + y, [T.float32(0)]),
                source=[A[i, p * 4 + q]],
                axis=[T.iter_var(p, T.Range(1, 4), "CommReduce", ""), T.iter_var(q, T.Range(4), "CommReduce", "")],
            ), T.float32(0))
        """,
        np.where(np.arange(8) < 6, A[:, 4:].sum(1), 0),
    ),
    "within another": (
        """
        i = T.int64()
        k = T.int32()
        add = T.comm_reducer(lambda x, y: x + y, [T.float32(0)])
        for j in T.parallel(8):
            B[j] = T.reduce(
                add,
                source=[T.reduce(add, source=[A[i, k]], axis=[T.iter_var(k, T.Range(0, 16), "CommReduce", "")])],
                axis=[T.iter_var(i, T.Range(0, 8), "CommReduce", "")],
            )
        """,
        np.full(8, A.sum()),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    text, expected = PROGRAMS[name]
    check_meaning(parsed(text, HEAD), [A, np.zeros(8, "float32")], expected)


def test_prints_as_tvm_prints():
    module = parsed(in_block(f"T.reduce({SUM}, source=[A[vi, k]], {AXIS}, condition=k < 5)"), HEAD)
    text = print_script(module)
    assert "T.reads(A[vi, 0:16])" in text
    assert (
        "                k = T.int32()\n"
        "                B[vi] = T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), source=[A[vi, k]], "
        'init=[], axis=[T.iter_var(k, T.Range(0, 16), "CommReduce", "")], condition=k < 5, value_index=0)'
    ) in text
    assert structural_equal(module, parse_source(text))
    other = parse_source(text.replace("x + y", "x * y"))
    assert not structural_equal(module, other)


SYMBOLIC = """
@T.prim_func
def f(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n,))
    k = T.int32()
    for i in range(n):
        with T.block("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), source=[A[vi, k]],
                             axis=[T.iter_var(k, T.Range(0, m), "CommReduce", "")])
"""


@pytest.mark.parametrize("shape", [(0, 3), (1, 0), (1, 1), (5, 7)])
def test_symbolic_extents(shape):
    module = parsed(SYMBOLIC.strip())
    data = np.random.default_rng(1).standard_normal(shape).astype("float32")
    out = np.zeros(shape[0], "float32")
    interpret(module, "f", [data, out])
    np.testing.assert_allclose(out, data.sum(1), rtol=1e-5)
    built = tvm.nd.array(np.zeros(shape[0], "float32"))
    tvm.build(from_source(SYMBOLIC.strip()), target="llvm")["f"](tvm.nd.array(data), built)
    np.testing.assert_allclose(built.numpy(), data.sum(1), rtol=1e-5)


def test_from_relax():
    mod = from_source("""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def total(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
        k = T.int32()
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), source=[A[vi, k]],
                                 axis=[T.iter_var(k, T.Range(0, 16), "CommReduce", "")])

    @R.function
    def main(x: R.Tensor((8, 16), "float32")) -> R.Tensor((8,), "float32"):
        cls = Module
        with R.dataflow():
            y = R.exp(x)
            z = R.call_tir(cls.total, (y,), out_sinfo=R.Tensor((8,), dtype="float32"))
            w = R.add(z, z)
            R.output(w)
        return w
""")
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    np.testing.assert_allclose(vm["main"](tvm.nd.array(A)).numpy(), 2 * np.exp(A).sum(1), rtol=1e-4)


REFUSED = {
    f"T.reduce(1, source=[A[vi, k]], {AXIS})": "a reducer is expected",
    f"T.reduce({SUM}, {AXIS})": "lacks source",
    f"T.reduce({SUM}, source=[A[vi, k], k], {AXIS})": "another number",
    f"T.reduce({SUM}, source=[k], {AXIS})": "works on one type",
    f"T.reduce({SUM}, source=[A[vi, k]], axis=[k])": "an axis is expected",
    f'T.reduce({SUM}, source=[A[vi, 0]], axis=[T.iter_var(i, T.Range(0, 4), "CommReduce", "")])': "no variable",
    f'T.reduce({SUM}, source=[A[vi, k]], axis=[T.iter_var(k, T.Range(0, 4), "Spatial", "")])': "the kind CommReduce",
    f'T.reduce({SUM}, source=[A[vi, k]], axis=[T.iter_var(k, T.Range(0, vi), "CommReduce", "")])': "an extent must be",
    f"T.reduce({SUM}, source=[A[vi, k]], {AXIS}, value_index=1)": "value_index",
    f"T.reduce({SUM}, source=[A[vi, k]], {AXIS}, order=1)": "unknown arguments",
    "T.comm_reducer(lambda x: x, [T.float32(0)])": "2 n parameters",
    "T.comm_reducer(A, [T.float32(0)])": "a reducer is a lambda",
    'T.iter_var(k, T.Range(0, 4), "CommReduce", "")': "T.Range is not supported",
    "T.realize(A[0:8, 0:16])": "T.realize is not supported",
}


@pytest.mark.parametrize("value", REFUSED)
def test_refused(value):
    with pytest.raises(TiraxError, match=REFUSED[value]) as info:
        parse_source(HEAD + "".join(f"    {line}\n" for line in in_block(value).strip().splitlines()))
    assert info.value.location is not None


def test_realize_is_refused_as_a_context_too():
    with pytest.raises(TiraxError, match="T.realize is not supported") as info:
        parse_source(HEAD + "    with T.realize(A[0:8, 0:16]):\n        B[0] = A[0, 0]")
    assert "no pass" in (info.value.hint or "")


MLIR = """
tir.func @f(%A: !tir.buffer<[4], f32>, %B: !tir.buffer<[1], f32>) {{
  %z = tir.const 0.0 : f32
  %0 = tir.const 0 : i64
  %r = tir.reduce {number} over [4] identity %z where {{
  ^bb0(%k: {axis}):
    %t = tir.const true
    tir.yield %t : i1
  }} of {{
  ^bb0(%k: i64):
    %x = tir.load %A[%k] : f32
    tir.yield %x : f32
  }} by {{
  ^bb0(%x: f32, %y: f32):
    %s = tir.add %x, {second} : f32
    tir.yield %s : f32
  }}
  tir.store %r, %B[%0]
}}
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"axis": "i32"}, "a region of a reduction takes"),
        ({"second": "%z"}, "use nothing but their arguments"),
    ],
)
def test_verified(change, message):
    text = MLIR.format(**({"number": 0, "axis": "i64", "second": "%y"} | change))
    with pytest.raises(VerifyException, match=message):
        Parser(new_context(), text).parse_module().verify()


def test_verified_positive():
    module = Parser(new_context(), MLIR.format(number=0, axis="i64", second="%y")).parse_module()
    module.verify()
    assert any(isinstance(op, tir.ReduceOp) for op in module.walk())


CHAIN = """
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
    C = T.alloc_buffer((8, 16))
    D = T.alloc_buffer((8,))
    for i, j in T.grid(8, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * T.float32(2)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            k = T.int32()
            D[vi] = T.reduce(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), source=[C[vi, k]],
                             axis=[T.iter_var(k, T.Range(0, 16), "CommReduce", "")])
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = D[vi] + T.float32(1)
"""


def inlined(sch):
    sch.compute_inline(sch.get_block("C"))
    sch.compute_inline(sch.get_block("D"))


def moved(sch):
    (loop,) = sch.get_loops(sch.get_block("D"))
    sch.compute_at(sch.get_block("C"), loop)
    sch.parallel(loop)


def cached(sch):
    block = sch.get_block("D")
    outer, inner = sch.split(sch.get_loops(block)[0], [None, 3])
    sch.cache_read(block, 0, "local")
    sch.reorder(inner, outer)


@pytest.mark.parametrize("steps", [inlined, moved, cached])
def test_scheduled(steps):
    sch = tvm.tir.Schedule(from_source(CHAIN.strip()))
    steps(sch)
    assert from_source(sch.mod.script()).script() == sch.mod.script()
    check_meaning(sch.mod.op, [A, np.zeros(8, "float32")], 2 * A.sum(1) + 1, "main")
