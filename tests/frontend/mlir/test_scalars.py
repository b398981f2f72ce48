"""arith and math on every dtype, through native code, beside numpy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from strength import thinned

from tirax.driver.build import build
from tirax.frontend.mlir import from_mlir
from tirax.frontend.mlir.scalars import RULES
from tirax.script import parse_mlir

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
FLOATS = {"f32": "float32", "f64": "float64", "f16": "float16"}
INTEGERS = {"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64"}
FLOAT_PREDICATES = {
    "false": lambda a, b: np.zeros(a.shape, bool), "true": lambda a, b: np.ones(a.shape, bool),
    "oeq": lambda a, b: (a == b) & ~_nan(a, b), "ueq": lambda a, b: (a == b) | _nan(a, b),
    "ogt": lambda a, b: (a > b) & ~_nan(a, b), "ugt": lambda a, b: (a > b) | _nan(a, b),
    "oge": lambda a, b: (a >= b) & ~_nan(a, b), "uge": lambda a, b: (a >= b) | _nan(a, b),
    "olt": lambda a, b: (a < b) & ~_nan(a, b), "ult": lambda a, b: (a < b) | _nan(a, b),
    "ole": lambda a, b: (a <= b) & ~_nan(a, b), "ule": lambda a, b: (a <= b) | _nan(a, b),
    "one": lambda a, b: (a != b) & ~_nan(a, b), "une": lambda a, b: (a != b) | _nan(a, b),
    "ord": lambda a, b: ~_nan(a, b), "uno": lambda a, b: _nan(a, b),
}  # fmt: skip
INTEGER_PREDICATES = {
    "eq": np.equal, "ne": np.not_equal, "slt": np.less, "sle": np.less_equal, "sgt": np.greater,
    "sge": np.greater_equal,
    "ult": lambda a, b: _u(a) < _u(b), "ule": lambda a, b: _u(a) <= _u(b), "ugt": lambda a, b: _u(a) > _u(b),
    "uge": lambda a, b: _u(a) >= _u(b),
}  # fmt: skip


def _nan(a: Any, b: Any) -> Any:
    return np.isnan(a) | np.isnan(b)


def _u(a: Any) -> Any:
    return a.view(f"u{a.dtype}") if a.dtype.kind == "i" else a


def _s(a: Any) -> Any:
    return a.view(str(a.dtype)[1:]) if a.dtype.kind == "u" else a


def _away(a: Any) -> Any:
    return np.copysign(np.floor(np.abs(a.astype("float64")) + 0.5), a).astype(a.dtype)


_SAME_NAME = (
    "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc", "cbrt",
)  # fmt: skip
EDGES = ("math.absf", "math.roundeven", "math.round", "arith.negf", "math.trunc")
"""What is tried on NaN, infinities and zeros of both signs."""
UNARY: Mapping[str, Callable[[Any], Any]] = {
    **{f"math.{n}": getattr(np, n) for n in _SAME_NAME},
    **{f"math.a{n}": getattr(np, f"arc{n}") for n in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "math.absf": np.abs, "math.rsqrt": lambda a: 1 / np.sqrt(a), "math.roundeven": np.rint, "math.round": _away,
    "arith.negf": np.negative,
}  # fmt: skip
BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "arith.addf": np.add, "arith.subf": np.subtract, "arith.mulf": np.multiply, "arith.divf": np.divide,
    "arith.remf": np.fmod, "arith.maximumf": np.maximum, "arith.minimumf": np.minimum, "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin, "math.atan2": np.arctan2, "math.copysign": np.copysign,
}  # fmt: skip
ON_INTEGERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply, "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.maxui": lambda a, b: _s(np.maximum(_u(a), _u(b))), "arith.minui": lambda a, b: _s(np.minimum(_u(a), _u(b))),
    "arith.floordivsi": np.floor_divide, "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.divsi": lambda a, b: a // b + ((a % b != 0) & ((a < 0) != (b < 0))), "arith.remsi": np.fmod,
    "arith.divui": lambda a, b: _s(_u(a) // _u(b)), "arith.remui": lambda a, b: _s(_u(a) % _u(b)),
    "arith.ceildivui": lambda a, b: _s(_u(a) // _u(b) + (_u(a) % _u(b) != 0)),
    "arith.shli": lambda a, b: a << (b & 7), "arith.shrsi": lambda a, b: a >> (b & 7),
    "arith.shrui": lambda a, b: _s(_u(a) >> _u(b & 7)),
}  # fmt: skip
SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")
DOMAIN = {"math.acos": "c", "math.asin": "c", "math.atanh": "c", "math.acosh": "g", "math.log": "p", "math.log2": "p",
          "math.log10": "p", "math.log1p": "p", "math.sqrt": "p", "math.rsqrt": "p"}  # fmt: skip


def run(kind: str, results: list[tuple[str, str, Any]], args: dict[str, Any]) -> None:
    """Compute all results, each (operation on the parameters, type of its result, expected), by one function."""
    params = ", ".join(f"%{name}: tensor<{a.size}x{_name(a)}>" for name, a in args.items())
    size = next(iter(args.values())).size
    lines = [f"%r{i} = {text}" for i, (text, _, _) in enumerate(results)]
    types = [f"tensor<{size}x{t}>" for _, t, _ in results]
    values = ", ".join(f"%r{i}" for i in range(len(results)))
    text = "\n".join([f"func.func @main({params}) -> ({', '.join(types)}) {{", *lines,
                      f"func.return {values} : {', '.join(types)}", "}"])  # fmt: skip
    got = build(from_mlir(parse_mlir(text)))["main"](*args.values())
    tolerance = {"f16": 4e-3, "f32": 2e-6, "f64": 1e-12}.get(kind, 0)
    for value, (line, _, expected) in zip(got, results, strict=True):
        np.testing.assert_allclose(np.asarray(value), expected, rtol=tolerance, atol=tolerance, err_msg=line)


def _name(a: Any) -> str:
    return "i1" if a.dtype == bool else f"{a.dtype.kind}{a.dtype.itemsize * 8}"


@thinned("kind", list(FLOATS), 1)
def test_floats(kind: str) -> None:
    draw = np.random.default_rng(1)
    dtype = FLOATS[kind]
    x = np.concatenate([[0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.nan, np.inf, -np.inf], draw.normal(size=22)]).astype(
        dtype
    )
    y = np.concatenate([[np.nan, 1, 0.5, 2, -1.5, 0.0, np.inf, 1, np.inf, 3], draw.normal(size=22)]).astype(dtype)
    args = {"a": x, "b": y, "c": draw.uniform(-0.9, 0.9, 32).astype(dtype), "p": draw.uniform(0.1, 9, 32).astype(dtype),
            "g": draw.uniform(1.1, 9, 32).astype(dtype), "m": x[10:].repeat(2)[:32].astype(dtype)}  # fmt: skip
    t = f"tensor<32x{kind}>"
    results = []
    for op, function in UNARY.items():
        name = DOMAIN.get(op, "a" if op in EDGES else "m")
        results.append((f"{op} %{name} : {t}", kind, function(args[name])))
    results += [(f"{op} %a, %b : {t}", kind, function(x, y)) for op, function in BINARY.items()]
    results += [(f"arith.cmpf {p}, %a, %b : {t}", "i1", np.asarray(f(x, y), bool)) for p, f in FLOAT_PREDICATES.items()]
    results.append((f"math.powf %p, %c : {t}", kind, np.power(args["p"], args["c"])))
    results.append((f"arith.fptosi %c : {t} to tensor<32xi32>", "i32", args["c"].astype("int32")))
    results.append((f"arith.fptoui %p : {t} to tensor<32xi32>", "i32", args["p"].astype("int32")))
    run(kind, results, args)


@thinned("kind", list(INTEGERS), 1)
def test_integers(kind: str) -> None:
    draw = np.random.default_rng(2)
    info = np.iinfo(INTEGERS[kind])
    x = draw.integers(info.min, info.max, 32, dtype=INTEGERS[kind], endpoint=True)
    y = draw.integers(info.min, info.max, 32, dtype=INTEGERS[kind], endpoint=True)
    y[y == 0] = 3
    y[y == -1] = 5
    args = {"a": x, "b": y, "s": y & np.array(7, y.dtype)}
    t = f"tensor<32x{kind}>"
    results = [(f"{op} %a, %{'s' if op in SHIFTS else 'b'} : {t}", kind, f(x, y)) for op, f in ON_INTEGERS.items()]
    results += [(f"arith.cmpi {p}, %a, %b : {t}", "i1", f(x, y)) for p, f in INTEGER_PREDICATES.items()]
    results.append((f"math.absi %b : {t}", kind, np.abs(y)))
    results.append((f"math.ctpop %a : {t}", kind, np.bitwise_count(_u(x)).astype(x.dtype)))
    results.append((f"arith.sitofp %a : {t} to tensor<32xf64>", "f64", x.astype("f8")))
    results.append((f"arith.uitofp %a : {t} to tensor<32xf64>", "f64", _u(x).astype("f8")))
    results.append((f"arith.trunci %a : {t} to tensor<32xi1>", "i1", (x & 1).astype(bool)))
    if kind != "i64":
        results.append((f"arith.extsi %a : {t} to tensor<32xi64>", "i64", x.astype("i8")))
        results.append((f"arith.extui %a : {t} to tensor<32xi64>", "i64", _u(x).astype("i8")))
    run(kind, results, args)


ELSEWHERE = {
    *("arith.extf", "arith.truncf", "arith.index_cast", "arith.index_castui", "arith.bitcast", "ub.poison"),
    *("math.erf", "math.fma", "math.ctlz", "math.cttz", "math.fpowi", "math.isnan", "math.isinf", "math.isfinite"),
}
ONCE = {
    *("arith.cmpf", "arith.cmpi", "arith.fptosi", "arith.fptoui", "arith.sitofp", "arith.uitofp", "arith.trunci"),
    *("arith.extsi", "arith.extui", "arith.constant", "arith.select", "math.powf", "math.absi", "math.ctpop"),
}


def test_every_operation_is_tried() -> None:
    assert set(RULES) == {*UNARY, *BINARY, *ON_INTEGERS, *ONCE, *ELSEWHERE}
