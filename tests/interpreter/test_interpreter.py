"""The reference semantics themselves, against numpy and by hand."""

import ml_dtypes
import numpy as np
import pytest

from tirax.diagnostics import NameLookupError
from tirax.interpreter import (
    InterpreterError,
    MeaningError,
    assert_same_meaning,
    first_disagreement,
    interpret,
    random_inputs,
    symbolic_sizes,
)
from tirax.interpreter.relax import operators
from tirax.runtime import array, register_func

MATMUL = """
tir.func @mm(%A: !tir.buffer<[n, 4], f32>, %B: !tir.buffer<[4, 6], f32>, %C: !tir.buffer<[n, 6], f32>) {
  tir.for %i = 0 to n {
    tir.for %j = 0 to 6 {
      tir.for %k = 0 to 4 {
        tir.block "C" (%vi = spatial(%i, n), %vj = spatial(%j, 6), %vk = reduce(%k, 4)) {
          tir.reads %A[%vi, %vk]
          tir.reads %B[%vk, %vj]
          tir.writes %C[%vi, %vj]
          tir.init {
            %z = tir.const 0.0 : f32
            tir.store %z, %C[%vi, %vj]
          }
          %c = tir.load %C[%vi, %vj] : f32
          %a = tir.load %A[%vi, %vk] : f32
          %b = tir.load %B[%vk, %vj] : f32
          %m = tir.mul %a, %b : f32
          %s = tir.add %c, %m : f32
          tir.store %s, %C[%vi, %vj]
        }
      }
    }
  }
}
"""


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_reduction_with_init(parse, n):
    rng = np.random.default_rng(n)
    a, b = rng.random((n, 4), "float32"), rng.random((4, 6), "float32")
    c = np.full((n, 6), 7, "float32")
    interpret(parse(MATMUL), "mm", [a, b, c])
    np.testing.assert_allclose(c, a @ b, rtol=1e-6)


LARGEST = """
tir.func @largest(%A: !tir.buffer<[n, k], f32>, %B: !tir.buffer<[n], f32>) {{
  tir.for {0} {{
    tir.for {1} {{
      tir.block "B" (%vi = spatial(%i, n), %vk = reduce(%k, k)) {{
        tir.init {{
          %z = tir.const -1.0 : f32
          tir.store %z, %B[%vi]
        }}
        %b = tir.load %B[%vi] : f32
        %a = tir.load %A[%vi, %vk] : f32
        %m = tir.max %b, %a : f32
        tir.store %m, %B[%vi]
      }}
    }}
  }}
}}
"""


@pytest.mark.parametrize("loops", [("%i = 0 to n", "%k = 0 to k"), ("%k = 0 to k", "%i = 0 to n")])
@pytest.mark.parametrize(("n", "k"), [(3, 0), (0, 0), (0, 2), (3, 2)])
def test_a_reduction_of_nothing_is_its_init(parse, loops, n, k):
    a = np.random.default_rng(k).random((n, k), "float32")
    b = np.full(n, 7, "float32")
    interpret(parse(LARGEST.format(*loops)), "largest", [a, b])
    np.testing.assert_array_equal(b, a.max(axis=1, initial=-1))


def scalar(parse, body, *args, types):
    """The value of %r after `body` on scalar arguments."""
    names = "abc"
    params = ", ".join(f"%{n}: {t}" for n, t in zip(names, types[:-1], strict=False))
    text = f"""tir.func @f({params}, %out: !tir.buffer<[1], {types[-1]}>) {{
      %zero = tir.const 0 : i64
      {body}
      tir.store %r, %out[%zero] }}"""
    dtypes = {
        "i32": np.int32,
        "ui8": np.uint8,
        "i8": np.int8,
        "f32": np.float32,
        "bf16": ml_dtypes.bfloat16,
        "i1": bool,
    }
    out = np.zeros(1, dtypes[types[-1]])
    values = [dtypes[t](a) for a, t in zip(args, types[:-1], strict=True)]
    module = parse(text)
    module.verify()
    interpret(module, "f", [*values, out])
    return out[0]


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        ("div", -7, 2, -3),
        ("truncmod", -7, 2, -1),
        ("floordiv", -7, 2, -4),
        ("floormod", -7, 2, 1),
        ("floordiv", 7, -2, -4),
        ("floormod", 7, -2, -1),
        ("add", 2**31 - 1, 1, -(2**31)),
        ("mul", 65536, 65536, 0),
        ("min", -1, 3, -1),
    ],
)
def test_integer_arithmetic(parse, op, a, b, expected):
    assert scalar(parse, f"%r = tir.{op} %a, %b : i32", a, b, types=["i32", "i32", "i32"]) == expected


def test_unsigned_wraps(parse):
    assert scalar(parse, "%r = tir.sub %a, %b : ui8", 1, 2, types=["ui8", "ui8", "ui8"]) == 255


@pytest.mark.parametrize(("a", "expected"), [(-1.7, -1), (1.7, 1), (0.0, 0)])
def test_casts_truncate(parse, a, expected):
    assert scalar(parse, "%r = tir.cast %a : f32 -> i32", a, types=["f32", "i32"]) == expected


def test_bfloat16_rounds(parse):
    r = scalar(parse, "%r = tir.add %a, %b : bf16", 256, 1, types=["bf16", "bf16", "bf16"])
    assert r == 256


@pytest.mark.parametrize(("a", "expected"), [(0, 32), (1, 31), (255, 24), (2**31 - 1, 1), (-1, 0)])
def test_leading_zeros(parse, a, expected):
    assert scalar(parse, '%r = tir.call_intrin "clz"(%a) : i32', a, types=["i32", "i32"]) == expected


def test_only_one_side_of_if_then_else_is_evaluated(parse):
    body = """%c = tir.const false
      %r = tir.if_then_else %c {
        %bad = tir.const 9 : i64
        %v = tir.load %out[%bad] : f32
        tir.yield %v : f32
      } else {
        tir.yield %a : f32
      }"""
    assert scalar(parse, body, 3.0, types=["f32", "f32"]) == 3.0


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%i = tir.const 4 : i64 %x = tir.load %A[%i] : f32 tir.store %x, %A[%i]", "out of bounds"),
        ("%i = tir.const -1 : i64 %x = tir.load %A[%i] : f32 tir.store %x, %A[%i]", "out of bounds"),
        ('%c = tir.const false tir.assert %c, "no"', "assertion failed: no"),
        ('%i = tir.const 4 : i64 tir.block "b" (%v = spatial(%i, 4)) { }', "leaves its domain"),
        (
            "%i = tir.const 0 : i64 %q = tir.floordiv %i, %i : i64 tir.evaluate %q : i64",
            "division of an integer by zero",
        ),
        ('%x = tir.call_intrin "nosuch"() : f32 tir.evaluate %x : f32', "no reference semantics"),
    ],
)
def test_programs_without_meaning(parse, body, message):
    module = parse(f"tir.func @f(%A: !tir.buffer<[4], f32>) {{ {body} }}")
    with pytest.raises(InterpreterError, match=message):
        interpret(module, "f", [np.zeros(4, "float32")])


RELAX = """
relax.func @loop(%n: !relax.tensor<[], i64>, %x: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
  %zero = relax.constant <i64 [] 0>
  %done = relax.less_equal %n, %zero : !relax.tensor<[], i1>
  %r = relax.if %done : !relax.tensor<[m], f32> {
    relax.yield %x : !relax.tensor<[m], f32>
  } else {
    %one = relax.constant <i64 [] 1>
    %less = relax.subtract %n, %one : !relax.tensor<[], i64>
    %twice = relax.add %x, %x : !relax.tensor<[m], f32>
    %again = relax.call @loop(%less, %twice) : !relax.tensor<[m], f32>
    relax.yield %again : !relax.tensor<[m], f32>
  }
  relax.return %r : !relax.tensor<[m], f32>
}
relax.func @closure(%x: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
  %f = relax.closure(%a: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
    %s = relax.add %a, %x : !relax.tensor<[m], f32>
    relax.return %s : !relax.tensor<[m], f32>
  }
  %r = relax.call_value %f(%x) : !relax.tensor<[m], f32>
  relax.return %r : !relax.tensor<[m], f32>
}
relax.func @packed(%x: !relax.tensor<[m], f32>) -> !relax.tensor<[m], f32> {
  %y = relax.call_dps_packed "double"(%x) : !relax.tensor<[m], f32>
  %z = relax.call_pure_packed "negate"(%y) : !relax.tensor<[m], f32>
  relax.return %z : !relax.tensor<[m], f32>
}
"""


def test_recursion_branches_and_closures(parse):
    module = parse(RELAX)
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(interpret(module, "loop", [np.array(3), x]), 8 * x)
    np.testing.assert_array_equal(interpret(module, "closure", [x]), 2 * x)


def test_packed_functions(parse):
    def double(x, out):
        out[...] = 2 * x

    x = np.arange(3, dtype="float32")
    packed = {"double": double, "negate": np.negative}
    np.testing.assert_array_equal(interpret(parse(RELAX), "packed", [x], packed), -2 * x)
    with pytest.raises(NameLookupError, match="did you mean 'double'"):
        interpret(parse(RELAX.replace('"double"', '"duoble"')), "packed", [x], packed)


def test_registered_functions_get_arrays_of_the_runtime(parse):
    names = {"double": lambda x, out: out.copyfrom(2 * x.numpy()), "negate": lambda x: array(-x.numpy())}
    for name, function in names.items():
        register_func(f"test_interpreter.{name}", function, override=True)
    module = parse(
        RELAX.replace('"double"', '"test_interpreter.double"').replace('"negate"', '"test_interpreter.negate"')
    )
    x = np.arange(3, dtype="float32")
    np.testing.assert_array_equal(interpret(module, "packed", [x]), -2 * x)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([np.zeros(3, "float64")], "wrong dtype"),
        ([np.zeros((3, 3), "float32")], "wrong rank"),
        ([], "takes 1 arguments"),
    ],
)
def test_wrong_arguments(parse, args, message):
    with pytest.raises(InterpreterError, match=message):
        interpret(parse(RELAX), "closure", args)


def test_an_unknown_function(parse):
    with pytest.raises(NameLookupError, match="did you mean 'loop'"):
        interpret(parse(RELAX), "lop", [])


def test_a_changed_meaning_is_detected_and_shown(parse):
    before, after = parse(MATMUL), parse(MATMUL.replace("tir.mul", "tir.sub"))
    with pytest.raises(MeaningError, match="input 0: float32"):
        assert_same_meaning(before, after)
    difference = first_disagreement(before, after)
    assert difference is not None and difference.function == "mm"


def test_sizes_reach_zero_and_one(parse):
    func = next(iter(parse(MATMUL).ops))
    assert [s["n"] for s in symbolic_sizes(func)] == [2, 5, 1, 0]
    assert list(symbolic_sizes(func, {"n": 7, "unknown": 1})) == [{"n": 7}]
    assert [s["n"] for s in symbolic_sizes(func, {})] == [2, 5, 1, 0]
    shapes = [random_inputs(func, s)[0].shape for s in symbolic_sizes(func)]
    assert shapes == [(2, 4), (5, 4), (1, 4), (0, 4)]


TAKE = """
relax.func @f(%x: !relax.tensor<[n, 2], f32>, %i: !relax.tensor<[4], i32>) -> !relax.tensor<[4, 2], f32> {
  %r = relax.take %x, %i {axis = 0, mode = "MODE"} : !relax.tensor<[4, 2], f32>
  relax.return %r : !relax.tensor<[4, 2], f32>
}
"""


@pytest.mark.parametrize(
    ("mode", "rows"), [("clip", [0, 2, 2, 0]), ("wrap", [0, 2, 1, 2]), ("nan", [0, 2, None, None])]
)
def test_take_outside(parse, mode, rows):
    module = parse(TAKE.replace("MODE", mode))
    x = np.arange(6, dtype="float32").reshape(3, 2)
    expected = [[np.nan] * 2 if r is None else list(x[r]) for r in rows]
    result = interpret(module, "f", [x, np.array([0, 2, 4, -1], "int32")])
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, expected)


def test_take_of_nothing_is_nan(parse):
    result = interpret(parse(TAKE.replace("MODE", "nan")), "f", [np.zeros((0, 2), "float32"), np.zeros(4, "int32")])
    assert np.isnan(result).all() and result.shape == (4, 2)


@pytest.mark.parametrize(("mode", "index"), [("fast", 3), ("fast", -1)])
def test_take_outside_without_meaning(parse, mode, index):
    x, i = np.zeros((3, 2), "float32"), np.array([0, 0, 0, index], "int32")
    with pytest.raises(InterpreterError, match="outside of 0 to 3"):
        interpret(parse(TAKE.replace("MODE", mode)), "f", [x, i])


def test_take_of_an_unknown_mode(parse):
    x, i = np.zeros((3, 2), "float32"), np.zeros(4, "int32")
    with pytest.raises(NameLookupError, match="did you mean 'clip'"):
        interpret(parse(TAKE.replace("MODE", "clipp")), "f", [x, i])


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_float32_is_rounded_once(name):
    """Computed as float32 or as float64: the same to the last bit, at the ends of the range as well."""
    bits = np.random.default_rng(3).integers(0, 2**32, (2, 20000), dtype=np.uint32)
    small = np.random.default_rng(4).integers(0, 2**26, (2, 20000), dtype=np.uint32)
    a, b = np.concatenate([bits, small], axis=1).view(np.float32)
    operator, wide = operators.OPERATORS[name], getattr(np, name)
    with np.errstate(all="ignore"):
        actual, expected = operator(None, a, b), wide(a.astype(np.float64), b.astype(np.float64)).astype(np.float32)
    assert actual.dtype == np.float32
    np.testing.assert_array_equal(actual, expected)
    assert (np.signbit(actual) == np.signbit(expected))[~np.isnan(expected)].all()


def test_comparisons_of_different_dtypes(parse):
    module = parse(
        "relax.func @main(%x: !relax.tensor<[3], f32>, %y: !relax.tensor<[3], i32>) -> !relax.tensor<[3], i1> {\n"
        "  %z = relax.less %x, %y : !relax.tensor<[3], i1>\n  relax.return %z : !relax.tensor<[3], i1>\n}"
    )
    x, y = np.array([1, 2.5, 3], np.float32), np.array([1, 3, 3], np.int32)
    assert interpret(module, "main", [x, y]).tolist() == [False, True, False]
