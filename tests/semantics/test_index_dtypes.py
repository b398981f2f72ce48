"""Integers of every dtype as indices, wherever a program may have one: native code and the interpreter beside numpy.

A form is a line of TVMScript that reads or writes X (300 rows) or O (8 rows) at `I[i]`, and what numpy makes of it. The
values go beyond the signed range of unsigned dtypes, so that one that is extended by its sign, or computed in its own
few bits, is somewhere else. One module has all forms of a dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from strength import thinned
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, VerifyException

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, TiraxError
from tirax.interpreter import InterpreterError, interpret
from tirax.ir.passes.transform import new_context
from tirax.tvm_api import relax, te, tir
from tirax.tvm_api.script import from_source

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]
ROWS = 300
X = np.arange(ROWS * 4, dtype="float32").reshape(ROWS, 4)
START = np.full((8, 4), 0.5, "float32")


def largest(dtype: str, below: int) -> int:
    return 1 if dtype == "bool" else min(below - 1, np.iinfo(dtype).max)


def indices(dtype: str) -> np.ndarray:
    high = largest(dtype, ROWS - 7)
    return np.minimum([0, 1, high, 2, 200, 3, high - 1, 127], high).astype(dtype)


class Form(NamedTuple):
    """Lines of a function, and what it leaves in O for the indices as integers of Python."""

    body: str
    want: Callable[[list[int]], np.ndarray]
    bool_body: str | None = None
    """The lines where an index is a bool, which has no arithmetic; None for the same."""


def gathered(index: list[int]) -> np.ndarray:
    return X[index]


def filled(value: Callable[[int], tuple[Any, Any]], index: list[int]) -> np.ndarray:
    """O after each row has been written where, and with what, `value` says."""
    out = START.copy()
    for row, i in enumerate(index):
        where, what = value(i)
        out[(row, *where)] = what
    return out


def added(index: list[int], rows: int) -> np.ndarray:
    out = START.copy()
    for row, i in enumerate(index):
        out[i % rows, 1] += X[row, 1]
    return out


BLOCK = """for i, j in T.grid(8, 4):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            """
ROW_BLOCK = """for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            T.reads(I[vi], X[I[vi], 0:4])
            T.writes(O[vi, 0:4])
            """
NEST = "for i, j in T.grid(8, 4):\n        "
LOOP = "for i in range(8):\n        "
FORMS = {
    "load in a block": Form(BLOCK + "O[vi, vj] = X[I[vi], vj]", gathered),
    "load": Form(NEST + "O[i, j] = X[I[i], j]", gathered),
    "last dimension": Form(
        LOOP + "O[i, 0] = X[3, I[i] % {2}]",
        lambda index: filled(lambda i: ((0,), X[3, i % 2]), index),
        LOOP + "O[i, 0] = X[3, I[i]]",
    ),
    "store": Form(
        LOOP + "O[I[i] % {8}, 1] = O[I[i] % {8}, 1] + X[i, 1]",
        lambda index: added(index, 8),
        LOOP + "O[I[i], 1] = O[I[i], 1] + X[i, 1]",
    ),
    "let": Form(NEST + "k: T.{dtype} = I[i]\n        O[i, j] = X[k, j]", gathered),
    "region": Form(ROW_BLOCK + "for j in range(4):\n                O[vi, j] = X[I[vi], j]", gathered),
    "matched buffer": Form(
        ROW_BLOCK
        + 'W = T.match_buffer(X[I[vi], 0:4], (4,), "float32", offset_factor=1)\n            '
        + "for j in range(4):\n                O[vi, j] = W[3 - j]",
        lambda index: X[index][:, ::-1],
    ),
    "beside a ramp": Form(LOOP + "O[i, T.ramp(0, 1, 4)] = X[I[i], T.ramp(0, 1, 4)]", gathered),
    "vload": Form(LOOP + 'O.vstore([i, 0], X.vload([I[i], 0], "float32x4"))', gathered),
    "beside a vector": Form(LOOP + "for j in T.vectorized(4):\n            O[i, j] = X[I[i], j]", gathered),
    "vector of indices": Form(
        "for i in T.vectorized(8):\n        O[i, 0] = X[I[i], 2]",
        lambda index: filled(lambda i: ((0,), X[i, 2]), index),
    ),
    "parallel": Form("for i in T.parallel(8):\n        for j in range(4):\n            O[i, j] = X[I[i], j]", gathered),
    "unrolled": Form("for i in T.unroll(8):\n        for j in range(4):\n            O[i, j] = X[I[i], j]", gathered),
    "extent of a loop": Form(
        LOOP + "O[i, 0] = T.float32(0)\n        for j in range(I[i]):\n            O[i, 0] = O[i, 0] + T.float32(1)",
        lambda index: filled(lambda i: ((0,), i), index),
    ),
    "begin of a loop": Form(
        LOOP + "for j in T.serial(I[i] % {2}, 4):\n            O[i, j] = X[i, j]",
        lambda index: np.where(np.arange(4) < np.array(index)[:, None] % 2, START, X[:8]),
        LOOP + "for j in T.serial(I[i], 4):\n            O[i, j] = X[i, j]",
    ),
    "iterator": Form(
        BLOCK
        + "vk = T.axis.opaque(300, I[i])\n            T.reads(I[0:8], X[0:300, 0:4])\n            "
        + "T.writes(O[0:8, 0:4])\n            O[vi, vj] = X[vk, vj]",
        gathered,
    ),
    "predicate": Form(
        BLOCK + "T.where(X[I[i], j] > T.float32(2))\n            O[vi, vj] = X[I[vi], vj]",
        lambda index: np.where(X[index] > 2, X[index], START),
    ),
    "one side of a choice": Form(
        NEST + "O[i, j] = T.if_then_else(j < 2, X[I[i], j], X[I[i], 3 - j])", lambda index: X[index][:, [0, 1, 1, 0]]
    ),
    "wider": Form(NEST + 'O[i, j] = X[T.Cast("int64", I[i]) + T.int64(7), j]', lambda index: X[[i + 7 for i in index]]),
    "index of an index": Form(
        NEST + "O[i, j] = X[I[I[i] % {8}], j]",
        lambda index: X[[index[i % 8] for i in index]],
        NEST + "O[i, j] = X[I[I[i]], j]",
    ),
}


def function(name: str, dtype: str, form: Form) -> str:
    body = form.body if dtype != "bool" or form.bool_body is None else form.bool_body
    for number in (2, 8):
        body = body.replace(f"{{{number}}}", f"T.{dtype}({number})")
    params = f'I: T.Buffer((8,), "{dtype}"), X: T.Buffer((300, 4), "float32"), O: T.Buffer((8, 4), "float32")'
    return f"""
@T.prim_func
def {name.replace(" ", "_")}({params}):
    {body.replace("{dtype}", dtype)}
"""


@thinned("dtype", DTYPES, lambda dtype: dtype == "bool")
def test_tensor_functions(dtype: str) -> None:
    functions = {name: from_source(function(name, dtype, form)) for name, form in FORMS.items()}
    module = tvm.IRModule({name.replace(" ", "_"): f for name, f in functions.items()})
    run = tvm.build(module, target="llvm")
    index = indices(dtype)
    for name, form in FORMS.items():
        want = form.want([int(i) for i in index])
        out = tvm.nd.array(START)
        run[name.replace(" ", "_")](tvm.nd.array(index), tvm.nd.array(X), out)
        np.testing.assert_array_equal(out.numpy(), want, err_msg=f"{name}, native")
        interpreted = START.copy()
        interpret(module, name.replace(" ", "_"), [index, X, interpreted])
        np.testing.assert_array_equal(interpreted, want, err_msg=f"{name}, interpreted")
        text = functions[name].script()
        again = from_source(text)
        assert name == "begin of a loop" or tvm.ir.structural_equal(again, functions[name]), text
        assert name in ("wider", "extent of a loop", "begin of a loop", "iterator") or "Cast" not in text, text


OUTSIDE = [
    ("bool", True, 1), ("uint8", 200, 100), ("uint8", 255, 128), ("int8", -1, 300), ("int8", -128, 300),
    ("uint16", 65535, 100), ("int16", -1, 70000), ("uint32", 2**32 - 1, 100), ("uint32", 2**31 + 3, 100),
    ("int32", -1, 100), ("uint64", 2**63 + 1, 100), ("uint64", 2**64 - 1, 100), ("int64", -1, 100),
    ("int64", 2**62, 100), ("int64", -(2**63), 100),
]  # fmt: skip


@thinned("dtype, value, rows", OUTSIDE, lambda case: case[0])
def test_outside(dtype: str, value: int, rows: int) -> None:
    """What is outside is an error both ways, also where its low bits are inside."""
    bodies = {"load": "O[i, j] = X[I[i], j]", "store": "X[I[i], j] = O[i, j]", "vector": "O[i, 0:4] = X[I[i], 0:4]"}
    head = f'(I: T.Buffer((2,), "{dtype}"), X: T.Buffer(({rows}, 4), "float32"), O: T.Buffer((2, 4), "float32")):'
    functions = {
        name: from_source(f"@T.prim_func\ndef {name}{head}\n    for i, j in T.grid(2, 4):\n        {body}\n")
        for name, body in bodies.items()
    }
    module = tvm.IRModule(functions)
    run = tvm.build(module, target="llvm")
    index, x, out = np.array([0, value], dtype), np.zeros((rows, 4), "float32"), np.ones((2, 4), "float32")
    for name in bodies:
        with pytest.raises(TiraxError, match="an index is outside of X"):
            run[name](*map(tvm.nd.array, (index, x, out)))
        with pytest.raises(InterpreterError):
            interpret(module, name, [index, x.copy(), out.copy()])


def test_a_difference_of_numbers_beyond_the_signed_ones() -> None:
    f = from_source("""
@T.prim_func
def main(I: T.Buffer((2,), "uint64"), X: T.Buffer((10,), "float32"), O: T.Buffer((2,), "float32")):
    for i in range(2):
        O[i] = X[I[i] - T.uint64(9223372036854775808)]
""")
    index, out = np.array([2**63, 2**63 + 7], "uint64"), tvm.nd.array(np.zeros(2, "float32"))
    tvm.build(tvm.IRModule({"main": f}), target="llvm")["main"](tvm.nd.array(index), tvm.nd.array(X.ravel()[:10]), out)
    np.testing.assert_array_equal(out.numpy(), [0, 7])


SCHEDULES: dict[str, Callable[[Any], object]] = {
    "compute_inline": lambda s: s.compute_inline(s.get_block("Y")),
    "cache_read": lambda s: s.cache_read(s.get_block("O"), 0, "global"),
    "cache_read of indices": lambda s: s.cache_read(s.get_block("O"), 1, "global"),
    "cache_write": lambda s: s.cache_write(s.get_block("O"), 0, "global"),
    "transform_layout": lambda s: s.transform_layout(s.get_block("O"), ("read", 0), lambda i, j: (i // 20, j, i % 20)),
    "transform_layout, flat": lambda s: s.transform_layout(s.get_block("O"), ("read", 0), lambda i, j: (i * 4 + j,)),
    "compute_at": lambda s: s.compute_at(s.get_block("Y"), s.get_loops(s.get_block("O"))[0]),
    "blockize": lambda s: s.blockize(s.get_loops(s.get_block("O"))[1]),
    "vectorize": lambda s: s.vectorize(s.get_loops(s.get_block("O"))[1]),
    "storage_align": lambda s: s.storage_align(s.get_block("Y"), 0, 0, 8, 1),
}


@thinned("dtype", ["bool", "uint8", "int8"], 1)
def test_schedules(dtype: str) -> None:
    """A schedule computes with indices, too: none in the few bits of its dtype."""
    source = f"""
@T.prim_func
def main(I: T.Buffer((8,), "{dtype}"), X: T.Buffer((300, 4), "float32"), O: T.Buffer((8, 4), "float32")):
    Y = T.alloc_buffer((300, 4), "float32")
    for i, j in T.grid(300, 4):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 4):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = Y[I[vi], vj]
"""
    index, scheduled = indices(dtype), {}
    for number, apply in enumerate(SCHEDULES.values()):
        schedule = tir.Schedule(tvm.IRModule({"main": from_source(source)}))
        apply(schedule)
        assert tvm.ir.structural_equal(from_source(schedule.mod.script()), schedule.mod)
        scheduled[f"f{number}"] = schedule.mod["main"].with_attr("global_symbol", f"f{number}")
    module = tvm.IRModule(scheduled)
    run = tvm.build(module, target="llvm")
    for name in scheduled:
        out, interpreted = tvm.nd.array(START), START.copy()
        run[name](tvm.nd.array(index), tvm.nd.array(X), out)
        interpret(module, name, [index, X, interpreted])
        for actual in (out.numpy(), interpreted):
            np.testing.assert_array_equal(actual, 2 * X[index.astype("int64")], err_msg=name)


BOOLS = np.array([0, 1, 1, 0, 1, 0, 0, 1], bool)
COMPUTED: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "a comparison": (lambda x, k: lambda i, j: x[i < 3, j], X[(np.arange(8) < 3).astype(int)]),
    "or": (lambda x, k: lambda i, j: x[tir.any(i < 3, k[i]), j], X[((np.arange(8) < 3) | BOOLS).astype(int)]),
    "not": (lambda x, k: lambda i, j: x[tir.Not(k[i]), j], X[(~BOOLS).astype(int)]),
    "a constant": (lambda x, k: lambda i, j: x[True, j], X[[1] * 8]),
    "an element": (lambda x, k: lambda i, j: x[k[i], j], X[BOOLS.astype(int)]),
    "both": (lambda x, k: lambda i, j: x[k[i], j > 1], X[BOOLS.astype(int)][:, [0, 0, 1, 1]]),
}


def test_tensor_expressions() -> None:
    """A bool of a tensor expression counts as 1 and 0, and is printed as TVM prints it."""
    functions = {}
    for number, (body, _) in enumerate(COMPUTED.values()):
        x, k = te.placeholder((ROWS, 4), "float32", "X"), te.placeholder((8,), "bool", "K")
        f = te.create_prim_func([x, k, te.compute((8, 4), body(x, k), name="O")])
        assert "Cast" not in f.script()
        assert tvm.ir.structural_equal(from_source(f.script()), f)
        functions[f"f{number}"] = f
    module = tvm.IRModule(functions)
    run = tvm.build(module, target="llvm")
    for name, (case, (_, want)) in zip(functions, COMPUTED.items(), strict=True):
        out, interpreted = tvm.nd.array(START), START.copy()
        run[name](tvm.nd.array(X), tvm.nd.array(BOOLS), out)
        interpret(module, name, [X, BOOLS, interpreted])
        for actual in (out.numpy(), interpreted):
            np.testing.assert_array_equal(actual, want, err_msg=case)


def test_classes() -> None:
    buffer, i = tir.decl_buffer((4, 4), "float32", name="B"), tir.Var("i", "int32")
    assert str(tir.BufferLoad(buffer, [i < 2, i])) == "B[i < 2, i]"
    assert [str(index) for index in tir.BufferLoad(buffer, [i < 2, i]).indices] == ["i < 2", "i"]
    assert [str(index) for index in tir.BufferStore(buffer, 1.0, [i < 2, i]).indices] == ["i < 2", "i"]
    assert str(tir.For(tir.Var("k", "int32"), 0, i < 2, 0, tir.Evaluate(0)).extent) == 'T.Cast("int32", i < 2)'
    with pytest.raises(DTypeError, match="an index must be an integer"):
        buffer[1.5, 0]
    with pytest.raises(DTypeError, match="a loop variable has a byte at least"):
        tir.For(tir.Var("k", "bool"), 0, 4, 0, tir.Evaluate(0))


MLIR = {
    "tir.load: an index": "%v = tir.load %X[%b] : f32",
    "tir.store: an index": "%v = tir.const 1.0 : f32\n  tir.store %v, %X[%b]",
    "tir.for: the variable of a loop": "tir.for %i = 0 for %b {\n  }",
    "tir.block: an iterator": 'tir.block "x" (%v = spatial(%b, 2)) {\n  }',
    "tir.reads: an index": 'tir.block "x" () {\n    tir.reads %X[%b]\n  }',
    "tir.match_buffer: an index": "%W = tir.match_buffer %X[%b : 1] : !tir.buffer<[1], f32>",
}


@pytest.mark.parametrize("message", MLIR)
def test_mlir_says_what_a_bool_is_to_be(message: str) -> None:
    text = f"tir.func @f(%X: !tir.buffer<[4], f32>, %b: i1) {{\n  {MLIR[message]}\n}}"
    with pytest.raises((VerifyException, ParseError), match=f"{message}.*at least 8 bits, found i1"):
        Parser(new_context(), text).parse_module().verify()


class Row(NamedTuple):
    """An operator of Relax: its call, its arguments with indices of a dtype, and what numpy makes of them."""

    call: Callable[..., Any]
    arguments: Callable[[str], list[np.ndarray]]
    want: Callable[..., np.ndarray]


R = relax.op
DATA = np.random.default_rng(0).random((ROWS, 5)).astype("float32")
NUMBERS = [relax.PrimValue(tir.FloatImm("float32", v)) for v in (1.0, 0.0)]


def drawn_indices(dtype: str, shape: tuple[int, ...], below: int) -> np.ndarray:
    actual = np.random.default_rng(1).integers(0, largest(dtype, below) + 1, shape)
    actual.flat[0] = largest(dtype, below)
    return actual.astype(dtype)


def distinct(dtype: str) -> np.ndarray:
    return np.unique(np.minimum([0, 1, 200, 5], largest(dtype, ROWS))).astype(dtype)


def columns(dtype: str) -> np.ndarray:
    return np.stack([np.random.default_rng(k).permutation(distinct(dtype)) for k in range(5)], 1)


def updates(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(2).random(shape).astype("float32")


def scattered(x: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = x.copy()
    np.put_along_axis(out, index.astype("int64") % len(x), values, 0)
    return out


def put(x: np.ndarray, index: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[index.astype("int64").ravel() % len(x)] = values
    return out


def eight(dtype: str) -> list[np.ndarray]:
    return [DATA, drawn_indices(dtype, (8,), ROWS)]


def eight_of_100(dtype: str) -> list[np.ndarray]:
    return [DATA[:100], drawn_indices(dtype, (8,), ROWS)]


OPERATORS = {
    "take": Row(lambda x, i: R.take(x, i, axis=0), eight, lambda x, i: x[i.astype(int)]),
    "take, clip": Row(
        lambda x, i: R.take(x, i, axis=0, mode="clip"), eight_of_100, lambda x, i: x[np.minimum(i.astype(int), 99)]
    ),
    "take, wrap": Row(
        lambda x, i: R.take(x, i, axis=0, mode="wrap"), eight_of_100, lambda x, i: x[i.astype(int) % 100]
    ),
    "gather_elements": Row(
        lambda x, i: R.gather_elements(x, i, axis=0),
        lambda dtype: [DATA, drawn_indices(dtype, (8, 5), ROWS)],
        lambda x, i: np.take_along_axis(x, i.astype(int), 0),
    ),
    "gather_nd": Row(
        R.gather_nd,
        lambda dtype: [DATA, np.stack([drawn_indices(dtype, (8,), n) for n in (ROWS, 5)], 1)],
        lambda x, i: x[tuple(i.astype(int).T)],
    ),
    "index_tensor": Row(lambda x, i: R.index_tensor(x, [i]), eight, lambda x, i: x[i.astype(int)]),
    "scatter_elements": Row(
        lambda x, i, u: R.scatter_elements(x, i, u, axis=0),
        lambda dtype: [DATA, columns(dtype), updates(columns(dtype).shape)],
        scattered,
    ),
    "scatter_nd": Row(
        R.scatter_nd, lambda dtype: [DATA, distinct(dtype)[:, None], updates((len(distinct(dtype)), 5))], put
    ),
    "index_put": Row(
        lambda x, i, u: R.index_put(x, (i,), u),
        lambda dtype: [DATA, distinct(dtype), updates((len(distinct(dtype)), 5))],
        put,
    ),
    "one_hot": Row(
        lambda i: R.one_hot(i, *NUMBERS, depth=ROWS),
        lambda dtype: [drawn_indices(dtype, (8,), ROWS)],
        lambda i: np.eye(ROWS, dtype="float32")[i.astype(int)],
    ),
}
SIGNED = ["int8", "int16", "int32", "int64"]
NEGATIVE = {
    "scatter_elements": Row(
        OPERATORS["scatter_elements"].call,
        lambda dtype: [DATA, -1 - columns(dtype), updates(columns(dtype).shape)],
        scattered,
    ),
    "scatter_nd": Row(R.scatter_nd, lambda dtype: [DATA, np.array([[-1], [-128], [5]], dtype), updates((3, 5))], put),
    "index_put": Row(
        OPERATORS["index_put"].call, lambda dtype: [DATA, np.array([-1, -128, 5], dtype), updates((3, 5))], put
    ),
    "take, wrap": Row(
        OPERATORS["take, wrap"].call,
        lambda dtype: [DATA, np.array([-1, -128, 7], dtype)],
        lambda x, i: x[i.astype(int) % ROWS],
    ),
    "take, clip": Row(
        OPERATORS["take, clip"].call,
        lambda dtype: [DATA, np.array([-1, -128, 7], dtype)],
        lambda x, i: x[np.maximum(i.astype(int), 0)],
    ),
    "one_hot": Row(
        OPERATORS["one_hot"].call,
        lambda dtype: [np.array([-1, -128, 7], dtype)],
        lambda i: (np.arange(ROWS) == i.astype(int)[:, None]).astype("float32"),
    ),
}


def compare(rows: dict[str, Row], dtype: str) -> None:
    """One module has a function for each row."""
    builder = relax.BlockBuilder()
    for number, row in enumerate(rows.values()):
        args = [
            relax.Var(f"a{k}", relax.TensorStructInfo(a.shape, str(a.dtype)))
            for k, a in enumerate(row.arguments(dtype))
        ]
        with builder.function(f"f{number}", args):
            builder.emit_func_output(builder.emit(row.call(*args)))
    module = builder.get()
    run = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    for number, (name, row) in enumerate(rows.items()):
        args = row.arguments(dtype)
        want = row.want(*args)
        native = run[f"f{number}"](*map(tvm.nd.array, args)).numpy()
        np.testing.assert_array_equal(native, want, err_msg=f"{name}, native")
        np.testing.assert_array_equal(interpret(module, f"f{number}", args), want, err_msg=f"{name}, interpreted")


@thinned("dtype", DTYPES, lambda dtype: dtype == "bool")
def test_operators(dtype: str) -> None:
    compare(OPERATORS, dtype)


@thinned("dtype", SIGNED, 1)
def test_operators_that_count_from_the_end(dtype: str) -> None:
    compare(NEGATIVE, dtype)


def test_bounds_of_slices_are_int64() -> None:
    x, begin = (
        relax.Var("x", relax.TensorStructInfo((4, 4), "float32")),
        relax.Var("b", relax.TensorStructInfo((2,), "uint8")),
    )
    with pytest.raises(DTypeError, match="begin must be of int64"):
        relax.BlockBuilder().normalize(R.dynamic_strided_slice(x, begin, begin, begin))
