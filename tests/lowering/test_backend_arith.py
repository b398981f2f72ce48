"""arith, arith_extras and math, run natively on scalars and vectors, compared with numpy."""

import numpy as np
import pytest
from strength import crossed

LANES = 16


def elementwise(op: str, types: list[str], result: str, lanes: int) -> str:
    """A function that applies `op` (with %0, %1, … and {T0}, {R} for the types) to arrays, `lanes` at a time."""
    vector = [f"vector<{lanes}x{t}>" if lanes > 1 else t for t in (*types, result)]
    names = {f"T{i}": t for i, t in enumerate(vector)} | {"R": vector[-1]}
    load = "vector.load" if lanes > 1 else "memref.load"
    store = "vector.store" if lanes > 1 else "memref.store"

    def suffix(i: int, element: str) -> str:
        return f"memref<?x{element}>" + (f", {vector[i]}" if lanes > 1 else "")

    arguments = ", ".join(f"%m{i}: memref<?x{t}>" for i, t in enumerate([*types, result]))
    loads = "\n".join(f"    %{i} = {load} %m{i}[%i] : {suffix(i, t)}" for i, t in enumerate(types))
    last = len(types)
    return f"""
func.func @f({arguments}, %n: index) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {lanes} : index
  scf.for %i = %c0 to %n step %step {{
{loads}
    %r = {op.format(**names)}
    {store} %r, %m{last}[%i] : {suffix(-1, result)}
  }}
  func.return
}}"""


def apply(backend, dtypes, op, types, result, inputs, lanes):
    """Run `op` over the inputs and return the results; arrays are padded by repetition to whole vectors."""
    count = len(inputs[0])
    padded = -(-count // lanes) * lanes
    arrays = [np.resize(np.asarray(x, dtype=numpy_type(dtypes, t)), padded) for x, t in zip(inputs, types)]
    out = np.zeros(padded, dtype=numpy_type(dtypes, result))
    backend.call(elementwise(op, types, result, lanes), *arrays, out, padded)
    return arrays[0][:count], out[:count]


def numpy_type(dtypes, name):
    return np.dtype(bool) if name == "i1" else dtypes[name]


@pytest.fixture(params=[1, LANES], ids=["scalar", "vector"])
def lanes(request):
    return request.param


INTEGER_OPS = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "floordivsi": lambda a, b: a // b,
    "divsi": lambda a, b: np.trunc(a.astype(np.float64) / b).astype(a.dtype),
    "remsi": np.fmod,
    "ceildivsi": lambda a, b: -((-a.astype(np.int64)) // b.astype(np.int64)),
}


@crossed("op, kind", list(INTEGER_OPS), ["i8", "i16", "i32", "i64"])
def test_integers(backend, dtypes, op, kind, lanes):
    rng = np.random.default_rng(1)
    a = rng.integers(-100, 100, 64).astype(dtypes[kind])
    b = rng.integers(1, 11, 64).astype(dtypes[kind]) * rng.choice(np.array([-1, 1], dtype=dtypes[kind]), 64)
    a[:4], b[:4] = [7, -7, 6, -6], [2, 2, -3, -3]
    _, got = apply(backend, dtypes, f"arith.{op} %0, %1 : {{R}}", [kind, kind], kind, [a, b], lanes)
    np.testing.assert_array_equal(got, INTEGER_OPS[op](a, b).astype(dtypes[kind]))


UNSIGNED_OPS = {
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "minui": np.minimum,
    "maxui": np.maximum,
    "ceildivui": lambda a, b: -(-a.astype(np.int64) // b.astype(np.int64)),
    "shrui": lambda a, b: a >> (b & 7),
}


@pytest.mark.parametrize("op", UNSIGNED_OPS)
def test_unsigned_integers(backend, dtypes, op, lanes):
    a = np.arange(256, dtype=np.uint8)
    b = (np.arange(256, dtype=np.uint8) * 7 % 7) + 1
    b[::3] = 201 if op != "shrui" else 3
    _, got = apply(
        backend, dtypes, f"arith.{op} %0, %1 : {{R}}", ["i8", "i8"], "i8", [a.view(np.int8), b.view(np.int8)], lanes
    )
    np.testing.assert_array_equal(got.view(np.uint8), UNSIGNED_OPS[op](a, b).astype(np.uint8))


def test_shifts(backend, dtypes, lanes):
    a, b = np.array([-128, -1, 1, 127, 64], dtype=np.int32), np.array([1, 3, 4, 2, 0], dtype=np.int32)
    for op, expected in (("shli", a << b), ("shrsi", a >> b)):
        _, got = apply(backend, dtypes, f"arith.{op} %0, %1 : {{R}}", ["i32", "i32"], "i32", [a, b], lanes)
        np.testing.assert_array_equal(got, expected)


FLOAT_OPS = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": lambda a, b: a / b,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


@crossed("op, kind", list(FLOAT_OPS), ["f64", "f32", "f16", "bf16"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_floats(backend, dtypes, op, kind, lanes):
    rng = np.random.default_rng(2)
    a, b = (rng.normal(0, 10, 80).astype(dtypes[kind]) for _ in range(2))
    a[:4], b[:4] = [np.nan, 1, np.inf, 0], [1, np.nan, -np.inf, 0]
    _, got = apply(backend, dtypes, f"arith.{op} %0, %1 : {{R}}", [kind, kind], kind, [a, b], lanes)
    np.testing.assert_array_equal(got.astype(np.float64), FLOAT_OPS[op](a, b).astype(np.float64))


COMPARISONS = {
    "oeq": lambda a, b: a == b,
    "une": lambda a, b: a != b,
    "olt": lambda a, b: a < b,
    "oge": lambda a, b: a >= b,
    "ult": lambda a, b: ~(a >= b),
    "uno": lambda a, b: np.isnan(a) | np.isnan(b),
    "ord": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}


@crossed("predicate, kind", list(COMPARISONS), ["f64", "f32", "f16", "bf16"])
def test_float_comparisons(backend, dtypes, predicate, kind, lanes):
    a = np.array([1, 2, 3, np.nan, np.nan, -0.0, np.inf], dtype=dtypes[kind])
    b = np.array([1, 3, 2, 1, np.nan, 0.0, np.inf], dtype=dtypes[kind])
    op = f"arith.cmpf {predicate}, %0, %1 : {{T0}}"
    if lanes == 1:
        op = f"arith.cmpf {predicate}, %0, %1 : {{T0}}"
    _, got = apply(backend, dtypes, op, [kind, kind], "i1", [a, b], lanes)
    wide = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_array_equal(got, COMPARISONS[predicate](*wide))


@pytest.mark.parametrize("predicate, function", [("slt", np.less), ("ult", None), ("ne", np.not_equal)])
def test_integer_comparisons_and_select(backend, dtypes, predicate, function, lanes):
    a, b = np.array([1, -1, 5, 0], dtype=np.int16), np.array([2, 1, 5, -3], dtype=np.int16)
    op = f"arith.cmpi {predicate}, %0, %1 : {{T0}}"
    _, got = apply(backend, dtypes, op, ["i16", "i16"], "i1", [a, b], lanes)
    expected = a.view(np.uint16) < b.view(np.uint16) if function is None else function(a, b)
    np.testing.assert_array_equal(got, expected)
    cond = np.array([True, False, True, False])
    op = "arith.select %0, %1, %2 : {T0}, {T1}"
    out = np.zeros(LANES, dtype=np.int16)
    arrays = [np.resize(x, LANES) for x in (cond, a, b)]
    backend.call(elementwise(op, ["i1", "i16", "i16"], "i16", lanes), *arrays, out, LANES)
    np.testing.assert_array_equal(out, np.where(*arrays))


EDGES = [0.0, -0.0, 1.0, -1.5, 3.14159, 65504.0, 65520.0, 1e-8, 5.9604645e-08, 1e38, 1.0 + 2**-8, 1.0 + 3 * 2**-9,
         1.0 + 2**-11, 1.0 + 2**-11 + 2**-30, np.inf, -np.inf, np.nan, 1e-40]  # fmt: skip


@pytest.mark.parametrize(
    "source, target", [("f64", "f32"), ("f64", "f16"), ("f64", "bf16"), ("f32", "f16"), ("f32", "bf16")]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_truncf_rounds_once(backend, dtypes, source, target, lanes):
    values, got = apply(backend, dtypes, "arith.truncf %0 : {T0} to {R}", [source], target, [EDGES], lanes)
    expected = values.astype(dtypes[target])
    np.testing.assert_array_equal(got.astype(np.float64), expected.astype(np.float64))


def test_f64_to_bf16_is_not_rounded_twice(backend, dtypes, lanes):
    values = [1.0 + 2**-8 + 2**-40, 255.49999999]  # f32 would round them to ties, which go to even
    _, got = apply(backend, dtypes, "arith.truncf %0 : {T0} to {R}", ["f64"], "bf16", [values], lanes)
    assert [float(v) for v in got] == [1.0 + 2**-7, 255.0]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    "source, target", [("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")]
)
def test_extf(backend, dtypes, source, target, lanes):
    values = np.array(EDGES).astype(np.float32).astype(dtypes[source])
    _, got = apply(backend, dtypes, "arith.extf %0 : {T0} to {R}", [source], target, [values], lanes)
    np.testing.assert_array_equal(got, values.astype(dtypes[target]))


@crossed("kind, integer", ["f64", "f32", "f16", "bf16"], ["i8", "i32", "i64"])
def test_integers_to_floats_and_back(backend, dtypes, kind, integer, lanes):
    values = np.array([0, 1, -1, 100, -128, 127, 77], dtype=dtypes[integer])
    for prefix, unsigned in (("si", False), ("ui", True)):
        array = np.abs(values) % 120 if unsigned else values
        _, got = apply(backend, dtypes, f"arith.{prefix}tofp %0 : {{T0}} to {{R}}", [integer], kind, [array], lanes)
        np.testing.assert_array_equal(got.astype(np.float64), array.astype(dtypes[kind]).astype(np.float64))
        _, back = apply(backend, dtypes, f"arith.fpto{prefix} %0 : {{T0}} to {{R}}", [kind], integer, [got], lanes)
        np.testing.assert_array_equal(back, got.astype(np.float64).astype(dtypes[integer]))


def test_large_integers_to_half_round_once(backend, dtypes, lanes):
    values = np.array([2049, 2051, 65519, 65520, 33554433], dtype=np.int32)
    for kind in ("f16", "bf16"):
        _, got = apply(backend, dtypes, "arith.sitofp %0 : {T0} to {R}", ["i32"], kind, [values], lanes)
        with np.errstate(over="ignore"):
            expected = values.astype(np.float64).astype(dtypes[kind])
        np.testing.assert_array_equal(got.astype(np.float64), expected.astype(np.float64))


def test_integer_widths(backend, dtypes, lanes):
    values = np.array([-1, 0, 127, -128, 5], dtype=np.int8)
    _, got = apply(backend, dtypes, "arith.extsi %0 : {T0} to {R}", ["i8"], "i64", [values], lanes)
    np.testing.assert_array_equal(got, values.astype(np.int64))
    _, got = apply(backend, dtypes, "arith.extui %0 : {T0} to {R}", ["i8"], "i64", [values], lanes)
    np.testing.assert_array_equal(got, values.view(np.uint8).astype(np.int64))
    _, got = apply(
        backend, dtypes, "arith.trunci %0 : {T0} to {R}", ["i64"], "i8", [values.astype(np.int64) + 512], lanes
    )
    np.testing.assert_array_equal(got, values)


def test_bool_is_stored_as_a_byte(backend, dtypes, lanes):
    values = np.array([True, False, False, True, True])
    flipped = np.zeros(LANES, dtype=bool)
    source = elementwise("arith.xori %0, %1 : {R}", ["i1", "i1"], "i1", lanes)
    backend.call(source, np.resize(values, LANES), np.ones(LANES, dtype=bool), flipped, LANES)
    np.testing.assert_array_equal(flipped, ~np.resize(values, LANES))
    assert set(flipped.view(np.uint8)) <= {0, 1}


UNARY = {
    "absf": np.abs, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "roundeven": np.rint,
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "sqrt": lambda x: np.sqrt(x),
    "exp": np.exp, "exp2": np.exp2, "sin": np.sin, "cos": np.cos, "tan": np.tan, "tanh": np.tanh, "sinh": np.sinh,
    "cosh": np.cosh, "atan": np.arctan, "expm1": np.expm1, "cbrt": np.cbrt, "asinh": np.arcsinh,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": None, "asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh, "acosh": np.arccosh,
}  # fmt: skip
POSITIVE = {"sqrt", "log", "log2", "log10", "log1p", "rsqrt"}
TOLERANCE = {"f64": 1e-13, "f32": 2e-6, "f16": 2e-3, "bf16": 1.6e-2}


@crossed("op, kind", list(UNARY), ["f64", "f32", "f16", "bf16"])
def test_unary_math(backend, dtypes, op, kind, lanes):
    import math

    low, high = (0.01, 4) if op in POSITIVE else (1, 3) if op == "acosh" else (-0.95, 0.95) if op[0] == "a" else (-4, 4)
    values = np.linspace(low, high, 48).astype(dtypes[kind])
    inputs, got = apply(backend, dtypes, f"math.{op} %0 : {{R}}", [kind], kind, [values], lanes)
    function = UNARY[op] or np.vectorize(math.erf)
    np.testing.assert_allclose(
        got.astype(np.float64), function(inputs.astype(np.float64)), rtol=TOLERANCE[kind], atol=TOLERANCE[kind] / 10
    )


@pytest.mark.parametrize("op, function", [("powf", np.power), ("copysign", np.copysign), ("atan2", np.arctan2)])
def test_binary_math(backend, dtypes, op, function, lanes):
    a, b = np.linspace(0.1, 3, 32), np.linspace(-2, 2, 32)
    for kind in ("f64", "f32"):
        x, y = a.astype(dtypes[kind]), b.astype(dtypes[kind])
        _, got = apply(backend, dtypes, f"math.{op} %0, %1 : {{R}}", [kind, kind], kind, [x, y], lanes)
        np.testing.assert_allclose(got, function(x, y), rtol=TOLERANCE[kind])


def test_fma_is_fused(backend, dtypes, lanes):
    a = np.array([1 + 2**-30], dtype=np.float64)
    c = -(a * a)
    arrays = [np.resize(x, LANES) for x in (a, a, c)]
    out = np.zeros(LANES)
    backend.call(elementwise("math.fma %0, %1, %2 : {R}", ["f64"] * 3, "f64", lanes), *arrays, out, LANES)
    assert (out == 2.0**-60).all()


def test_bit_counting(backend, dtypes, lanes):
    values = np.array([0, 1, -1, 12, -(2**31)], dtype=np.int32)
    expected = {"ctpop": [0, 1, 32, 2, 1], "ctlz": [32, 31, 0, 28, 0], "cttz": [32, 0, 0, 2, 31]}
    for op, counts in expected.items():
        _, got = apply(backend, dtypes, f"math.{op} %0 : {{R}}", ["i32"], "i32", [values], lanes)
        np.testing.assert_array_equal(got, counts)
    _, got = apply(backend, dtypes, "math.absi %0 : {R}", ["i32"], "i32", [values], lanes)
    np.testing.assert_array_equal(got, np.abs(values))


def test_extended_arithmetic(backend):
    source = """
    func.func @f(%a: i64, %b: i64, %out: memref<6xi64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %c5 = arith.constant 5 : index
      %lo, %hi = arith.mulsi_extended %a, %b : i64
      %ulo, %uhi = arith.mului_extended %a, %b : i64
      %sum, %carry = arith.addui_extended %a, %b : i64, i1
      %wide = arith.extui %carry : i1 to i64
      memref.store %lo, %out[%c0] : memref<6xi64>
      memref.store %hi, %out[%c1] : memref<6xi64>
      memref.store %ulo, %out[%c2] : memref<6xi64>
      memref.store %uhi, %out[%c3] : memref<6xi64>
      memref.store %sum, %out[%c4] : memref<6xi64>
      memref.store %wide, %out[%c5] : memref<6xi64>
      func.return
    }"""
    out = np.zeros(6, dtype=np.int64)
    backend.call(source, -3, 5, out)
    assert out.tolist() == [-15, -1, -15, 4, 2, 1]


def test_fast_math_and_overflow_flags_are_carried(backend):
    text = backend.text("""
    func.func @f(%a: f32, %b: f32, %i: i64) -> f32 {
      %0 = arith.addf %a, %b fastmath<contract,reassoc> : f32
      %1 = arith.mulf %0, %b fastmath<fast> : f32
      %2 = math.fma %1, %0, %b fastmath<nnan> : f32
      %3 = arith.addi %i, %i overflow<nsw,nuw> : i64
      func.return %2 : f32
    }""")
    assert "fadd contract reassoc float" in text
    assert "fmul fast float" in text
    assert "call nnan float @llvm.fma(" in text
    assert "add nsw nuw i64" in text


def test_constants_of_all_kinds(backend, dtypes):
    cases = [("f64", 0.1), ("f32", 0.1), ("f16", 0.1), ("bf16", 0.1), ("f32", 1e30), ("i8", -3), ("i64", 2**62)]
    for kind, value in cases:
        spelled = f"{value:e}" if kind[-2:] in ("16", "32", "64") and isinstance(value, float) else value
        source = f"""
        func.func @f(%out: memref<4x{kind}>) {{
          %c0 = arith.constant 0 : index
          %v = arith.constant dense<{spelled}> : vector<4x{kind}>
          vector.store %v, %out[%c0] : memref<4x{kind}>, vector<4x{kind}>
          func.return
        }}"""
        out = np.zeros(4, dtype=dtypes[kind])
        backend.call(source, out)
        np.testing.assert_array_equal(out, np.full(4, value, dtype=dtypes[kind]))
