"""Integer expressions of every width: machine code and interpreter against Python's integers; casts against numpy."""

import operator

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn, thinned
from tir_kernels import Kernel

from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_mlir, parse_source

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SIZE = 21


def wrap(value, dtype):
    info = np.iinfo(dtype)
    return (value - int(info.min)) % (1 << info.bits) + int(info.min)


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPERATIONS = {
    "({} + {})": operator.add,
    "({} - {})": operator.sub,
    "({} * {})": operator.mul,
    "({} & {})": operator.and_,
    "({} | {})": operator.or_,
    "({} ^ {})": operator.xor,
    "T.min({}, {})": min,
    "T.max({}, {})": max,
    "T.Select({0} < {1}, {0}, {1} + {0})": lambda a, b: a if a < b else a + b,
    "T.if_then_else({0} == {1}, {0}, {1})": lambda a, b: b,
}
DIVISIONS = {
    "T.floordiv({}, {})": operator.floordiv,
    "T.floormod({}, {})": operator.mod,
    "T.truncdiv({}, {})": truncated,
    "T.truncmod({}, {})": lambda a, b: a - truncated(a, b) * b,
}


class Expr:
    """Text of an expression over A[i], B[i] and its value, wrapped at each step."""

    def __init__(self, text, value):
        self.text, self.value = text, value

    def __repr__(self):
        return self.text


def expressions(dtype):
    info = np.iinfo(dtype)
    numbers = st.integers(max(int(info.min), -(2**31)), min(int(info.max), 2**31 - 1))
    leaves = st.one_of(
        st.just(Expr("A[i]", lambda a, b: a)),
        st.just(Expr("B[i]", lambda a, b: b)),
        numbers.map(lambda n: Expr(f"T.{dtype}({n})", lambda a, b: n)),
    )

    def joined(row, x, y):
        text, function = row
        return Expr(text.format(x, y), lambda a, b: wrap(function(x.value(a, b), y.value(a, b)), dtype))

    def divided(row, x, n):
        text, function = row
        return Expr(text.format(x, f"T.{dtype}({n})"), lambda a, b: wrap(function(x.value(a, b), n), dtype))

    def shifted(left, x, n):
        text = f"({x} {'<<' if left else '>>'} T.{dtype}({n}))"
        return Expr(text, lambda a, b: wrap(x.value(a, b) << n if left else x.value(a, b) >> n, dtype))

    def extended(inner):
        return st.one_of(
            st.builds(joined, st.sampled_from(list(OPERATIONS.items())), inner, inner),
            st.builds(
                divided, st.sampled_from(list(DIVISIONS.items())), inner, numbers.filter(lambda n: n not in (0, -1))
            ),
            st.builds(shifted, st.booleans(), inner, st.integers(0, info.bits - 1)),
            inner.map(lambda x: Expr(f"(~{x})", lambda a, b: wrap(~x.value(a, b), dtype))),
            inner.map(lambda x: Expr(f"(-{x})", lambda a, b: wrap(-x.value(a, b), dtype))),
        )

    return st.recursive(leaves, extended, max_leaves=6)


def values(dtype, seed):
    info = np.iinfo(dtype)
    edges = [info.min, info.max, info.min + 1, info.max - 1, 0, 1, 2]
    rest = np.random.default_rng(seed).integers(info.min, info.max, SIZE - len(edges), dtype=dtype, endpoint=True)
    return np.concatenate([np.array(edges, dtype), rest])


def program(dtype, expression, kind, result=None):
    return parse_source(f"""@T.prim_func
def f(A: T.Buffer({SIZE}, "{dtype}"), B: T.Buffer({SIZE}, "{dtype}"), C: T.Buffer({SIZE}, "{result or dtype}")):
    for i in T.{kind}({SIZE}):
        C[i] = {expression}
""")


def outputs(module, a, b, result):
    """What the interpreter gives, and what the machine does."""
    results = []
    for run in (lambda *args: interpret(module, "f", args), Kernel(module.clone(), schedule=False)):
        c = np.zeros(SIZE, result)
        run(a.copy(), b.copy(), c)
        results.append(c)
    return results


@pytest.mark.thinned
@pytest.mark.parametrize("kind", ["serial", "vectorized"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_expressions_of_integers(dtype, kind):
    @drawn(6, quick=2)
    @given(expressions(dtype))
    def check(expression):
        a, b = values(dtype, 1), values(dtype, 2)[::-1].copy()
        expected = np.array([expression.value(int(x), int(y)) for x, y in zip(a, b, strict=True)], dtype)
        for actual in outputs(program(dtype, expression.text, kind), a, b, dtype):
            np.testing.assert_array_equal(actual, expected)

    check()


@pytest.mark.parametrize("symbol", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_comparisons(dtype, symbol):
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal,
               "!=": np.not_equal}[symbol]  # fmt: skip
    a, b = values(dtype, 3), values(dtype, 4)
    b[::2] = a[::2]
    for actual in outputs(program(dtype, f"A[i] {symbol} B[i]", "vectorized", "bool"), a, b, "bool"):
        np.testing.assert_array_equal(actual, compare(a, b))


FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}
TARGETS = [*INTEGERS, *FLOATS, "bool"]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", ["int8", "int64", "uint8", "uint32", "float16", "bfloat16", "float32", "bool"])
def test_casts_are_those_of_c(source, target):
    """Integers wrap, floats round to nearest, floats to integers truncate (values in range: else nothing is said)."""
    kind = np.dtype(FLOATS.get(source, source))
    if source in INTEGERS:
        a = values(source, 5)
        a = a % np.iinfo(source).dtype.type(100) if target == "float16" else a
    else:
        a = (np.linspace(0, 100, SIZE) if target.startswith("u") else np.linspace(-100, 100, SIZE)).astype(kind)
    expected = (
        a.astype(np.float32).astype(FLOATS[target]) if target == "bfloat16" else a.astype(FLOATS.get(target, target))
    )
    module = program(source, f'T.Cast("{target}", A[i])', "vectorized", target)
    for actual in outputs(module, a, a, FLOATS.get(target, target)):
        np.testing.assert_array_equal(actual.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("source", INTEGERS)
def test_casts_of_constants_are_those_of_c(source):
    """To each width and back to 64 bits, as a number with a sign and without."""
    numbers = np.array([int(np.iinfo(source).min), int(np.iinfo(source).max), 1, 44, 127], source)
    rows = [(n, middle, target) for n in numbers for middle in INTEGERS for target in ("int64", "uint64")]
    word = {name: name.replace("uint", "ui").replace("int", "i") for name in INTEGERS}
    lines = [
        f"""%n{k} = tir.const {n} : {word[source]}
            %m{k} = tir.cast %n{k} : {word[source]} -> {word[middle]}
            %t{k} = tir.cast %m{k} : {word[middle]} -> {word[target]}
            %r{k} = tir.cast %t{k} : {word[target]} -> i64
            %i{k} = tir.const {k} : i64
            tir.store %r{k}, %C[%i{k}]"""
        for k, (n, middle, target) in enumerate(rows)
    ]
    body = "\n".join(lines)
    module = parse_mlir(f"tir.func @f(%C: !tir.buffer<[{len(rows)}], i64>) {{ {body} }}")
    expected = [int(n.astype(middle).astype(target).astype("int64")) for n, middle, target in rows]
    made = np.zeros(len(rows), "int64")
    build(module)["f"](made)
    assert made.tolist() == expected


@pytest.mark.parametrize("bits", [("float32", "int32"), ("float16", "uint16"), ("float64", "int64"), ("int8", "uint8")])
def test_reinterpret_keeps_the_bits(bits):
    source, target = bits
    a = np.random.default_rng(0).integers(0, 256, SIZE * np.dtype(source).itemsize, dtype=np.uint8).view(source)
    for actual in outputs(program(source, f'T.reinterpret("{target}", A[i])', "serial", target), a, a, target):
        np.testing.assert_array_equal(actual.view(np.uint8), a.view(np.uint8))


def test_reinterpret_with_other_lanes():
    head = '@T.prim_func\ndef f(A: T.Buffer(16, "int8"), B: T.Buffer(4, "int32")):\n    for i in range(4):\n        '
    a = np.random.default_rng(1).integers(-128, 128, 16).astype("int8")
    there = 'B[i] = T.reinterpret("int32", A[i * 4:i * 4 + 4])'
    back = 'A[i * 4:i * 4 + 4] = T.reinterpret("int8x4", B[i]) + T.Broadcast(T.int8(1), 4)'
    module = parse_source(f"{head}{there}\n    for i in range(4):\n        {back}")
    for run in (lambda *args: interpret(module, "f", args), Kernel(module.clone(), schedule=False)):
        x, y = a.copy(), np.zeros(4, "int32")
        run(x, y)
        np.testing.assert_array_equal(y, a.view("int32"))
        np.testing.assert_array_equal(x, a + np.int8(1))


@pytest.mark.parametrize("kind", ["serial", "vectorized"])
@thinned("dtype", INTEGERS, 3)
def test_divisions_never_trap(dtype, kind):
    """By zero they give 0, and the least integer by -1 wraps, as in numpy."""
    info = np.iinfo(dtype)
    a = np.tile(np.array([info.min, info.max, 5], dtype), 7)
    b = np.repeat(np.array([0, info.min or 3, info.max, 1, 2, 7, 9], dtype), 3)
    b[3:6] = np.array(-1).astype(dtype) if info.min else b[3:6]
    with np.errstate(all="ignore"):
        reference = {"floordiv": np.floor_divide(a, b), "floormod": np.mod(a, b), "truncmod": np.fmod(a, b)}
    quotients = [wrap(truncated(int(x), int(y)), dtype) if y else 0 for x, y in zip(a, b, strict=True)]
    reference["truncdiv"] = np.array(quotients, dtype)
    for name, expected in reference.items():
        c = np.ones(SIZE, dtype)
        Kernel(program(dtype, f"T.{name}(A[i], B[i])", kind), schedule=False)(a, b, c)
        np.testing.assert_array_equal(c, np.where(b == 0, 0, expected), err_msg=name)


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_long_quotients_next_to_integers(dtype):
    """Vectors of 64 bits are divided as floats where that is exact: up to 2^52, and not beyond."""
    rng = np.random.default_rng(3)
    for name, reference in (("floordiv", np.floor_divide), ("floormod", np.mod), ("truncmod", np.fmod)):
        kernel = Kernel(program(dtype, f"T.{name}(A[i], B[i])", "vectorized"), schedule=False)
        for bits in (20, 51, 52, 53, 62):  # of the dividend
            b = (1 + rng.integers(0, 1 << rng.integers(1, min(bits, 40), SIZE))).astype(dtype)
            a = (rng.integers(1 << (bits - 1), 1 << bits, SIZE) // b.astype("int64")).astype(dtype) * b
            a += (np.arange(SIZE) % 3).astype(dtype) - np.array(1, dtype)  # k b - 1, k b, k b + 1
            if dtype == "int64":
                a, b = a * rng.choice([-1, 1], SIZE), b * rng.choice([-1, 1], SIZE)
            c = np.ones(SIZE, dtype)
            kernel(a, b, c)
            np.testing.assert_array_equal(c, reference(a, b), err_msg=f"{name} {bits}")


def test_divisions_in_indices_never_trap():
    head = '@T.prim_func\ndef f(A: T.Buffer(4, "int32"), B: T.Buffer(4, "int32")):\n    for i in range(4):\n        '
    module = parse_source(head + "B[i] = A[(i + 4) // A[i] % 4] + A[(i + 7) % A[i]]")
    a, b = np.array([0, 2, 0, 3], "int32"), np.zeros(4, "int32")
    Kernel(module, schedule=False)(a, b)
    np.testing.assert_array_equal(b, [a[0] + a[0], a[5 // 2] + a[8 % 2], a[0] + a[0], a[7 // 3] + a[10 % 3]])
