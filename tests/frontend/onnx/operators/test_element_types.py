"""Operators on each element for all dtypes that ONNX allows, beside ONNX's reference evaluator, on edge cases.

One model of each operator has a node for each dtype, or pair of dtypes. It is interpreted: what native code makes of
each operator, tests/semantics/test_arithmetic.py has.
"""

import ml_dtypes
import numpy as np
import pytest
from graphs import model_of
from onnx import TensorProto, defs, helper
from onnx.reference import ReferenceEvaluator
from strength import thinned

from tirax.frontend.onnx import from_onnx
from tirax.interpreter import interpret

FLOATS = ("float16", "bfloat16", "float", "double")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NAMES = ("bool", *FLOATS, *INTEGERS)
REAL = (0.0, -0.0, 1, -2.5, 0.1, 3, 100.7, 60_000, np.inf, np.nan)
SMALL_INTEGERS = (0, 1, 2, 7, 100, -3)
BINARY = ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
          "BitwiseAnd", "BitwiseOr", "BitwiseXor", "And", "Or", "Xor", "BitShift")  # fmt: skip
ATTRIBUTES = {"Mod": [{"fmod": 1}, {"fmod": 0}], "BitShift": [{"direction": "LEFT"}, {"direction": "RIGHT"}]}
UNARY = ("Abs", "Neg", "Sign", "Sqrt", "Floor", "Ceil", "Round", "Relu", "Not", "BitwiseNot", "IsNaN", "IsInf")
OTHERS = ("Max", "Min", "Sum", "Mean", "Clip", "Where")
UNITS = {"Mean": 2, "Sum": 2}
"""By how many units in the last place results of floats may be off: the reference rounds sums to 16 bits, too."""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def numpy_dtype(name):
    names = {"bfloat16": ml_dtypes.bfloat16, "float": np.float32, "double": np.float64}
    own = getattr(ml_dtypes, name.replace("float8", "float8_"), name)
    return np.dtype(names.get(name, own))


def proto_type(name):
    return getattr(TensorProto, name.upper())


def numbers(name):
    dtype = numpy_dtype(name)
    if name in FLOATS:
        return np.array(REAL).astype(dtype)
    if name == "bool":
        return np.array([False, True])
    info = np.iinfo(dtype)
    return np.array([*(v for v in SMALL_INTEGERS if v >= info.min), info.min, info.max], dtype)


def types_of(operator, variable="T"):
    allowed = {t for c in defs.get_schema(operator).type_constraints if c.type_param_str == variable
               for t in c.allowed_type_strs}  # fmt: skip
    return [name for name in NAMES if f"tensor({name})" in allowed]


def pairs(left, right):
    x, y = numbers(left), numbers(right)
    return np.repeat(x, len(y)), np.tile(y, len(x))


def binary_rows(operator):
    for name in types_of(operator):
        x, y = pairs(name, name)
        if operator in ("Div", "Mod") and name in INTEGERS:
            keep = (y != 0) & ~((x == x.min()) & (y.astype(float) == -1))
            x, y = x[keep], y[keep]
        if operator == "BitShift":  # what numpy has no result for: as many bits as there are
            y = y % np.array(8 * x.itemsize, x.dtype)
        for attributes in ATTRIBUTES.get(operator, [{}]):
            if name not in FLOATS or attributes != {"fmod": 0}:
                yield name, [(name, x), (name, y)], attributes


def other_rows(operator):
    for name in types_of(operator):
        x = numbers(name)
        if operator == "Where":
            yield name, [("bool", np.arange(len(x)) % 2 == 0), (name, x), (name, x[::-1].copy())], {}
            yield name, [("bool", np.array([[True], [False]])), (name, x), (name, x[:1])], {}
        elif operator == "Clip":
            for low, high in ((2, 4), (4, 1), (None, 2), (2, None)):
                bounds = [None if i is None else (name, x[i]) for i in (low, high)]
                yield name, [(name, x), *bounds], {}
        else:
            yield name, [(name, x)], {}
            yield name, [(name, x), (name, x[::-1].copy()), (name, np.roll(x, 1))], {}
            if operator != "Mean":  # whose reference does not broadcast
                yield name, [(name, x[:, None]), (name, x)], {}


def run(operator, rows):
    """What the interpreter gives for each row, and its model of it alone."""
    nodes, inputs, feeds, alone = [], {}, [], []
    for i, (_, operands, attributes) in enumerate(rows):
        names = ["" if v is None else f"i{i}_{j}" for j, v in enumerate(operands)]
        nodes.append(helper.make_node(operator, names, [f"o{i}"], **attributes))
        own = {n: (proto_type(v[0]), np.shape(v[1])) for n, v in zip(names, operands, strict=True) if v is not None}
        inputs |= own
        feeds.append({n: v[1] for n, v in zip(names, operands, strict=True) if v is not None})
        alone.append((model_of([nodes[-1]], own, [f"o{i}"], opset=20), feeds[-1]))
    module = from_onnx(model_of(nodes, inputs, [f"o{i}" for i in range(len(rows))], opset=20))
    results = interpret(module, "main", [np.asarray(a) for feed in feeds for a in feed.values()])
    return results if len(rows) > 1 else [results], alone


def check(label, got, expected, units=0.0):
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape), label
    rtol = units * float(ml_dtypes.finfo(got.dtype).eps) if got.dtype.kind not in "iub" else 0
    wide = "f8" if got.dtype.kind not in "iub" else got.dtype
    np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol=rtol, atol=0, err_msg=label)


def rows_of(operator, kind):
    if kind == "unary":
        variable = "T1" if operator in ("IsNaN", "IsInf") else "T"
        return [(name, [(name, numbers(name))], {}) for name in types_of(operator, variable)]
    return list(binary_rows(operator) if kind == "binary" else other_rows(operator))


@pytest.mark.parametrize(
    "operator, kind",
    [(n, kind) for kind, names in (("binary", BINARY), ("unary", UNARY), ("other", OTHERS)) for n in names],
)
def test_rows(operator, kind):
    rows = rows_of(operator, kind)
    results, alone = run(operator, rows)
    assert rows
    for (name, _, attributes), got, (model, feed) in zip(rows, results, alone, strict=True):
        (expected,) = ReferenceEvaluator(model).run(None, feed)
        check(f"{operator} of {name}, {attributes}", got, expected, UNITS.get(operator, 0))


FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")


def cast_numbers(name, target):
    """All codes of what has 8 or 16 bits, and all numbers of float16; without what has no value in the target."""
    dtype = numpy_dtype(name)
    if name in FLOAT8 or name in ("float16", "bfloat16"):
        x = np.arange(1 << (8 * dtype.itemsize)).astype(f"u{dtype.itemsize}").view(dtype)
    else:
        halves = np.arange(1 << 16).astype("u2").view("f2").astype(dtype)
        x = np.append(halves, [1e30, -1e30]).astype(dtype) if name in FLOATS else numbers(name)
    if target not in INTEGERS or name in (*INTEGERS, "bool"):
        return x
    info, integers = np.iinfo(target), np.trunc(x.astype("f8"))
    return x[(integers >= float(info.min)) & (integers < float(info.max) + 1)]


@thinned("target", (*FLOAT8, *NAMES), 4)
def test_casts_of_all_pairs_of_dtypes(target):
    for name in (n for n in (*NAMES, *FLOAT8) if n != target):
        x = cast_numbers(name, target)
        for saturate in (1, 0) if target in FLOAT8 else (1,):
            attributes = {"saturate": saturate} if target in FLOAT8 else {}
            node = helper.make_node("Cast", ["x"], ["y"], to=proto_type(target), **attributes)
            model = model_of([node], {"x": (proto_type(name), x.shape)}, ["y"], opset=21)
            (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
            got = np.asarray(interpret(from_onnx(model), "main", [x]))
            assert got.dtype == numpy_dtype(target)
            wide = got.dtype if got.dtype.kind in "iub" else "f8"
            np.testing.assert_array_equal(got.astype(wide), expected.astype(wide), err_msg=f"{name} to {target}")


def power(x, y, dtype):
    """Of a base and an exponent as ONNX Runtime computes it, in float64, or of integers modulo 2**bits."""
    if x.dtype.kind in "iu" and y.dtype.kind in "iu":
        bits = 8 * x.dtype.itemsize
        exact = [pow(a, b, 1 << bits) if b >= 0 else {1: 1, -1: (-1) ** (b % 2)}.get(a, 0)
                 for a, b in zip(x.tolist(), y.tolist(), strict=True)]  # fmt: skip
        return np.array([v % (1 << bits) for v in exact], f"u{x.dtype.itemsize}").view(dtype)
    return np.power(x.astype("f8"), y.astype("f8"))


def test_powers_of_all_pairs_of_dtypes():
    rows = [(f"{a}, {b}", [(a, x), (b, y)], {}) for a in types_of("Pow") for b in types_of("Pow", "T1")
            for x, y in [pairs(a, b)]]  # fmt: skip
    results, _ = run("Pow", rows)
    assert sum(map(len, results)) > 5000
    for (label, ((name, x), (_, y)), _), got in zip(rows, results, strict=True):
        exact = power(x, y, numpy_dtype(name))
        if name in INTEGERS and exact.dtype == "f8":  # a float that has no value in an integer type may be any
            has_value = np.abs(exact) < 2.0 ** (8 * x.itemsize - 1)
            got, exact = np.asarray(got)[has_value], exact[has_value]
        check(f"Pow of {label}", got, exact.astype(x.dtype), 1)
