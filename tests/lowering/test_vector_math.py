"""`expand-math`: accuracy over the whole range, special numbers, equal values in vectors and scalars, other targets."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
from strength import crossed
from vector_math import REFERENCES, compiled, elementwise, expanded, function, inputs, special, ulps

from tirax.lowering.vector_math.functions import FUNCTIONS
from tirax.lowering.vector_math.tables import HEADS, INVERSES, RESTS
from tirax.target import Target, TargetError

DTYPES = {"f32": np.float32, "f64": np.float64}
LANES = {"f32": 16, "f64": 8}
SAMPLES = {"f32": 64, "f64": 6}
BASELINE, AVX2 = "llvm -mcpu=x86-64", "llvm -mcpu=x86-64-v3"
ROWS = {cls.name.rpartition(".")[2]: row for cls, row in FUNCTIONS.items()}
TWO = ("atan2", "powf", "frem")
BY_TABLES = ("log2", "powf")
"""What is computed otherwise with AVX-512, of f32."""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def arguments(op: str, dtype, per_exponent: int = 16):
    """Inputs of an operation: all strata, for two operands in pairs, for powers also those with usual results."""
    x = inputs(dtype, per_exponent)
    if op not in TWO:
        return (x,)
    rng = np.random.default_rng(1)
    y = x[rng.permutation(len(x))]
    if op == "frem":  # quotients of a few digits beside those of any exponent, and whole ones
        quotients = rng.uniform(-1000, 1000, len(x))
        quotients[::2] = np.round(quotients[::2])
        return np.concatenate([x, (y * quotients).astype(dtype)]), np.concatenate([y, y])
    if op == "powf":
        half = len(x) // 2
        x = np.concatenate([np.abs(rng.uniform(0, 4, half)).astype(dtype), x[half:]])
        reach = 120 if dtype is np.float32 else 700
        y = np.concatenate([rng.uniform(-reach, reach, half).astype(dtype), y[half:]])
        y[half : half + half // 4] = np.round(rng.uniform(-9, 9, half // 4))
    return x, y


def test_every_row_of_the_table_has_a_reference():
    assert ROWS.keys() == REFERENCES.keys()


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", ROWS)
def test_errors_are_within_the_bounds(backend, op, element):
    xs = arguments(op, DTYPES[element], SAMPLES[element])
    got = compiled(backend, elementwise(op, element, LANES[element], len(xs)))(*xs)
    wide = np.float64 if element == "f32" else np.longdouble
    error = ulps(got, REFERENCES[op](*(x.astype(wide) for x in xs)))
    worst = int(np.argmax(error))
    bound = ROWS[op].ulp_f32 if element == "f32" else ROWS[op].ulp_f64
    assert error[worst] <= bound, f"{op}({', '.join(repr(x[worst]) for x in xs)}) = {got[worst]!r}"


@crossed("op, element", ["exp", "tanh", "log2", "log1p", "erf", "sin", "tan", "atan2", "powf", "frem"], DTYPES)
def test_without_fma_the_same_bounds_hold(backend, op, element):
    xs = arguments(op, DTYPES[element], 4)
    got = compiled(backend, elementwise(op, element, 4, len(xs)), BASELINE)(*xs)
    wide = np.float64 if element == "f32" else np.longdouble
    error = ulps(got, REFERENCES[op](*(x.astype(wide) for x in xs)))
    assert np.max(error) <= (ROWS[op].ulp_f32 if element == "f32" else ROWS[op].ulp_f64)


@crossed("op, element", ["exp", "exp2", "sinh", "erf", "log", "log2", "cos", "powf", "frem"], DTYPES)
def test_a_value_does_not_depend_on_vectors(backend, op, element):
    """A vector as wide as a register, a wider one, scalars (in a loop that LLVM may vectorize), a half as wide one."""
    xs = arguments(op, DTYPES[element], 2)
    first, *others = (
        compiled(backend, elementwise(op, element, lanes, len(xs)), target)(*xs)
        for lanes, target in ((LANES[element], "llvm"), (32, "llvm"), (1, "llvm"), (LANES[element] // 2, AVX2))
    )
    if not Target().has_fma or (element == "f32" and op in BY_TABLES and "avx512f" in Target().features):
        others.pop()
    for other in others:
        np.testing.assert_array_equal(first, other)
        np.testing.assert_array_equal(np.signbit(first), np.signbit(other))


def test_what_is_looked_up_leaves_exact_rests():
    every = (np.arange(1 << 23, dtype=np.uint32) + (127 << 23)).view(np.float32)
    inverses = np.array(INVERSES)[np.arange(1 << 23) >> 18]
    rest = inverses * every - 1  # exact in f64
    assert np.abs(rest).max() <= 1 / 32 and (rest == rest.astype(np.float32)).all()
    np.testing.assert_allclose(np.add(HEADS, RESTS), -np.log2(INVERSES), rtol=0, atol=2.0**-52)
    assert (np.array(HEADS) * 2**16 % 1 == 0).all()


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", TWO)
def test_pairs_of_special_numbers_give_what_c_says(backend, op, element):
    dtype = DTYPES[element]
    values = np.array([0, 0.5, 1, 2, 3, 4, 7.5, 1e30, np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).tiny], dtype)
    pairs = np.array(list(itertools.product(np.concatenate([values, -values]), repeat=2)), dtype)
    x, y = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
    got = compiled(backend, elementwise(op, element, 8, 2))(x, y)
    expected = REFERENCES[op](x.astype(np.float64), y.astype(np.float64))
    assert np.max(ulps(got, expected)) <= 1.5


@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
def test_large_angles_are_reduced_exactly(backend, op):
    for element, numbers in (
        ("f32", [1e5, 1e10, 3e38, 16367173.0]),
        ("f64", [1e10, 1e22, 1.7e308, 6381956970095103.0]),
    ):
        x = np.array([*numbers, 0.5, *(-n for n in numbers[:3])], DTYPES[element])
        got = compiled(backend, elementwise(op, element, 8))(x)
        expected = np.array([getattr(math, op)(float(v)) for v in x], np.longdouble)
        assert np.max(ulps(got, expected)) <= 3.5


ENDS = {
    "exp": {"f32": (-104.5, -102.5), "f64": (-746.0, -744.0)},
    "exp2": {"f32": (-151.0, -148.0), "f64": (-1076.0, -1073.0)},
    "erf": {"f32": (3.8, 4.2), "f64": (5.8, 6.2)},
}
"""Where results become 0, or 1."""


@pytest.mark.parametrize("target", ["llvm", AVX2])
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("op", ENDS)
def test_where_results_end(backend, op, element, target):
    x = np.linspace(*ENDS[op][element], 1024).astype(DTYPES[element])
    got = compiled(backend, elementwise(op, element, LANES[element]), target)(x)
    wide = np.float64 if element == "f32" else np.longdouble
    error = ulps(got, REFERENCES[op](x.astype(wide)))
    assert np.max(error) <= (ROWS[op].ulp_f32 if element == "f32" else ROWS[op].ulp_f64)
    assert got.min() != got.max(), "no result ends here"


def test_exact_results_are_exact(backend):
    powers = np.exp2(np.arange(-149, 128, dtype=np.float64)).astype(np.float32)
    powers = np.concatenate([powers, np.ones(-len(powers) % 16, np.float32)])
    np.testing.assert_array_equal(compiled(backend, elementwise("log2", "f32", 16))(powers), np.log2(powers))
    np.testing.assert_array_equal(compiled(backend, elementwise("exp2", "f32", 16))(np.log2(powers)), powers)
    tens = np.array([10.0**i for i in range(16)])
    np.testing.assert_array_equal(compiled(backend, elementwise("log10", "f64", 8))(tens), np.arange(16))
    x, y = np.meshgrid(np.arange(-7.0, 9.0), np.arange(8.0))
    got = compiled(backend, elementwise("powf", "f64", 8, 2))(x.ravel().copy(), y.ravel().copy())
    np.testing.assert_array_equal(got, np.power(x, y).ravel())


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize("op", ["exp", "erf", "powf"])
def test_narrow_floats_are_computed_in_f32(backend, dtypes, op, element):
    every = np.arange(1 << 16, dtype=np.uint16).view(dtypes[element])
    xs = (every,) if op not in TWO else (every, every[np.random.default_rng(0).permutation(len(every))])
    got = compiled(backend, elementwise(op, element, 16, len(xs)))(*xs)
    wide = compiled(backend, elementwise(op, "f32", 16, len(xs)))(*(x.astype(np.float32) for x in xs))
    np.testing.assert_array_equal(got.astype(np.float32), wide.astype(dtypes[element]).astype(np.float32))


def gelu(call: str, constant: str, scaled: bool, lanes: int) -> str:
    """constant + constant * erf(x) or tanh(x), or 1 + …, with the operands of the sum in both orders."""
    type_ = f"vector<{lanes}xf32>"
    product = f"%p = arith.mulf %e, %h : {type_}" if scaled else ""
    body = f"""
      %x = vector.load %a[%i] : memref<?xf32>, {type_}
      %c = arith.constant {constant} : f32
      %h = vector.broadcast %c : f32 to {type_}
      %e = math.{call} %x : {type_}
      {product}
      %s = arith.addf {"%h, %p" if scaled else "%e, %h"} : {type_}
      vector.store %s, %out[%i] : memref<?xf32>, {type_}"""
    return function("%a : memref<?xf32>, %out : memref<?xf32>, %n : index", body, lanes)


@pytest.mark.parametrize(("constant", "scaled"), [("5.0e-01", True), ("1.0", False)])
def test_the_tail_of_gelu_keeps_its_digits(backend, constant, scaled):
    x = np.linspace(-8, 8, 4096).astype(np.float32)
    factor = float(constant)
    got = compiled(backend, gelu("erf", constant, scaled, 16))(x)
    expected = np.array([factor * math.erfc(-float(v)) for v in x], np.longdouble)
    assert np.max(ulps(got, expected)) <= 6
    got = compiled(backend, gelu("tanh", constant, scaled, 16))(x)
    assert np.max(ulps(got, factor * 2 / (1 + np.exp(-2 * x.astype(np.longdouble))))) <= 3


def full_gelu(lanes: int, factor: float = 0.5**0.5) -> str:
    """x * (0.5 + 0.5 erf(x factor))"""
    type_ = "f32" if lanes == 1 else f"vector<{lanes}xf32>"
    memref = "memref<?xf32>"
    access = (f"{memref}, {type_}", "vector") if lanes > 1 else (memref, "memref")
    half, root = (f"{v:.17e}" if lanes == 1 else f"dense<{v:.17e}>" for v in (0.5, factor))
    body = f"""
      %x = {access[1]}.load %a[%i] : {access[0]}
      %h = arith.constant {half} : {type_}
      %c = arith.constant {root} : {type_}
      %z = arith.mulf %x, %c : {type_}
      %e = math.erf %z : {type_}
      %p = arith.mulf %e, %h : {type_}
      %s = arith.addf %h, %p : {type_}
      %r = arith.mulf %s, %x : {type_}
      {access[1]}.store %r, %out[%i] : {access[0]}"""
    return function(f"%a : {memref}, %out : {memref}, %n : index", body, lanes)


def test_gelu_is_one_function(backend):
    """Within 7 + x² units of 2^-24, where it is 0, and of what is special; the same in vectors and scalars."""
    x = np.concatenate([np.linspace(-14.6, 14.6, 40_000), inputs(np.float32, 4)]).astype(np.float32)
    x = x[: len(x) // 32 * 32]
    got = compiled(backend, full_gelu(16))(x)
    expected = x.astype(np.longdouble) * [0.5 * math.erfc(-float(v) * math.sqrt(0.5)) for v in x]
    least = 2 * float(np.finfo(np.float32).smallest_subnormal)
    finite = np.isfinite(x)
    bound = (7 + x.astype(np.longdouble)[finite] ** 2) * 2.0**-24 * abs(expected[finite]) + least
    worst = int(np.argmax(abs(got[finite] - expected[finite]) / bound))
    assert abs(got[finite] - expected[finite])[worst] <= bound[worst], f"{x[finite][worst]!r}: {got[finite][worst]!r}"
    np.testing.assert_array_equal(got[~finite], expected[~finite].astype(np.float32))
    signed = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(x[signed]))
    targets = ((32, "llvm"), (1, "llvm"), *(((8, AVX2),) if Target().has_fma else ()))
    for lanes, target in targets:
        other = compiled(backend, full_gelu(lanes), target)(x)
        np.testing.assert_array_equal(got, other)
        np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(other[signed]))


def test_what_is_nearly_gelu_stays_a_sum(backend):
    text, other = (str(expanded(backend, full_gelu(16, factor))) for factor in (0.5**0.5, 0.75))
    assert text.count("math.fma") < other.count("math.fma")
    x = np.linspace(-8, 8, 256).astype(np.float32)
    expected = x * np.array([0.5 * math.erfc(-0.75 * float(v)) for v in x])
    np.testing.assert_allclose(compiled(backend, full_gelu(16, 0.75))(x), expected, rtol=3e-6, atol=1e-20)


def test_a_sum_of_other_constants_is_not_touched(backend):
    text = str(expanded(backend, gelu("erf", "2.5e-01", False, 16)))
    assert "arith.addf" in text and "math.erf" not in text
    x = np.linspace(-8, 8, 256).astype(np.float32)
    expected = 0.25 + np.array([math.erf(float(v)) for v in x])
    np.testing.assert_allclose(compiled(backend, gelu("erf", "2.5e-01", False, 16))(x), expected, atol=2e-7)


def test_strict_mode_leaves_everything_to_the_c_library(backend):
    source = elementwise("tanh", "f32", 16)
    assert str(expanded(backend, source, "llvm -math=libm")) == str(backend.parse(source))
    assert "math.tanh" not in str(expanded(backend, source, "llvm -math=polynomial"))
    with pytest.raises(TargetError, match="option -math in target") as caught:
        Target("llvm -math=fast")
    assert "polynomial or libm" in str(caught.value)


def test_special_numbers_are_among_the_inputs():
    values = special(np.float32)
    assert np.isnan(values).any() and np.isinf(values).sum() >= 2 and (values == 0).sum() >= 2
    assert (np.abs(values[values != 0]) < np.finfo(np.float32).tiny).any()


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "x86_64-linux-gnu"])
def test_no_library_is_called(backend, triple):
    from tirax.lowering.convert_to_llvm import ConvertToLLVM
    from tirax.lowering.llvm_text import print_llvm
    from tirax.lowering.machine import emit_assembly

    target = Target(f"llvm -mtriple={triple}")
    for op in ("exp", "log", "erf", "atan", "powf"):
        module = expanded(backend, elementwise(op, "f32", 4, 2 if op in TWO else 1), str(target))
        ConvertToLLVM().apply(backend.context(), module)
        text = emit_assembly(print_llvm(module), target)
        calls = [line.split()[1] for line in text.splitlines() if line.split()[:1] in (["bl"], ["callq"])]
        assert set(calls) <= {"floorf", "floorf@PLT"}


def test_the_page_has_the_bounds_of_the_table():
    page = (Path(__file__).parents[2] / "docs" / "vector_math.md").read_text()
    matches = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+) \|", page, re.MULTILINE)
    assert {name: (float(a), float(b)) for name, a, b in matches} == {
        name: (row.ulp_f32, row.ulp_f64) for name, row in ROWS.items()
    }


GELU = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            y = R.nn.gelu(x)
            R.output(y)
        return y
"""


@pytest.mark.parametrize("target", ["llvm", "llvm -math=libm"])
def test_builds_follow_the_target(target):
    """In strict mode gelu is computed as it is written, so that its tail is lost."""
    from tirax.tvm_api import relax
    from tirax.tvm_api.script import from_source

    gelu = relax.build(from_source(GELU), target=target)["main"]
    x = np.linspace(-7, 3, 77, dtype=np.float32)
    exact = np.array([0.5 * float(v) * math.erfc(-float(v) / math.sqrt(2)) for v in x])
    got = np.asarray(gelu(x))
    np.testing.assert_allclose(got, exact, atol=1e-6)
    assert (np.max(np.abs(got / exact - 1)) < 1e-5) == (target == "llvm")


def quotients(element: str, lanes: int, divisor: float) -> str:
    """A function that divides arrays by a constant."""
    vectors, memref = f"vector<{lanes}x{element}>", f"memref<?x{element}>"
    body = f"""%v = vector.load %a[%i] : {memref}, {vectors}
          %c = arith.constant dense<{divisor:.17e}> : {vectors}
          %r = arith.divf %v, %c : {vectors}
          vector.store %r, %out[%i] : {memref}, {vectors}"""
    return function(f"%a : {memref}, %out : {memref}, %n : index", body, lanes)


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("divisor", [6.0, 1.4142135623730951, -7.25, 12345.678, 1e-3, 4.0, 2.0**70])
def test_division_by_a_constant_is_rounded_as_any(backend, element, divisor):
    dtype = DTYPES[element]
    x, c = inputs(dtype, SAMPLES[element]), dtype(divisor)
    quotient, expected = compiled(backend, quotients(element, LANES[element], float(c)))(x), x / c
    info = np.finfo(dtype)
    exact = ~(np.abs(expected) < info.tiny / info.eps**2)
    np.testing.assert_array_equal(quotient[exact], expected[exact])
    np.testing.assert_array_equal(np.signbit(quotient[exact]), np.signbit(expected[exact]))
    assert np.max(ulps(quotient[~exact], x[~exact].astype(np.longdouble) / c)) <= 1.5
    zeros = x == 0
    np.testing.assert_array_equal(np.signbit(quotient[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize(("divisor", "target", "stays"), [
    (6.0, AVX2, False), (6.0, BASELINE, True), (4.0, AVX2, True), (0.3, AVX2, True), (2.0**70, AVX2, True),
    (2.0 - 2.0**-23, AVX2, True),
])  # fmt: skip
def test_which_divisions_are_products(backend, divisor, target, stays):
    assert ("arith.divf" in str(expanded(backend, quotients("f32", 8, divisor), target))) == stays
