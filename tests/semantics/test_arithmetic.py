"""Every operator on each element, on ill-conditioned numbers: native code and the interpreter beside numpy.

One module of a dtype and family has a function for each operator, which runs on all numbers of its table at once (in
vectors and their rest), and on the first 0, 1, 7 and 16 of them: a number does not depend on how many stand beside it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from arithmetic import (
    ALL,
    BINARY,
    FLOATS,
    INTEGERS,
    UNARY,
    Row,
    convertible,
    expected,
    numpy_dtype,
    pairs,
    ulps,
    values,
)
from ml_dtypes import finfo
from strength import thinned

from tirax.dialects.relax import elementwise
from tirax.driver.build import build
from tirax.handles.tir import prim_expr as tx
from tirax.interpreter import interpret
from tirax.script import parse_source

Array = Any
SIZES = (0, 1, 7, 16)
DIVISIONS = ("divide", "floor_divide", "mod", "floor_mod")
LEFT_OUT = {"digamma", "erfinv", "nn.gelu", "nn.gelu_tanh", "nn.selu"}
"""Without a reference of more digits in numpy: tests/topi/test_special.py, tests/lowering/test_vector_math.py."""
FAMILIES = [(dtype, family) for dtype in (*FLOATS, *INTEGERS, "bool") for family in ("binary", "unary", "cast")]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")


def test_every_operator_has_a_row() -> None:
    assert UNARY.keys() == elementwise.UNARY.keys() - LEFT_OUT
    assert BINARY.keys() == elementwise.BINARY.keys()


def operators(dtype: str, family: str) -> dict[str, str]:
    """What is computed, by the name of its function."""
    if family == "cast":
        return {name: f"R.astype(x, {name!r})" for name in ALL if name != dtype}
    table, args = (UNARY, "x") if family == "unary" else (BINARY, "x, y")
    return {name: f"R.{name}({args})" for name, row in table.items() if dtype in row.dtypes}


def _function(name: str, dtype: str, params: str, body: str) -> str:
    typed = ", ".join(f"{p}: R.Tensor(('n',), {dtype!r})" for p in params)
    return f"    @R.function\n    def {name.replace('.', '_')}({typed}):\n        return {body}\n"


@cache
def programs(dtype: str, family: str) -> tuple[Any, Any]:
    head = "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"
    params = "xy" if family == "binary" else "x"
    rows = operators(dtype, family).items()
    module = parse_source(head + "".join(_function(name, dtype, params, body) for name, body in rows))
    return module, build(module, opt_level=1).jit()


def arguments(dtype: str, family: str, name: str) -> tuple[Array, ...]:
    if family == "cast":
        x = values(dtype)
        return (x[convertible(x, name)],)
    if family == "unary":
        return (values(dtype),)
    x, y = pairs(dtype)
    keep = y != 0 if name in DIVISIONS and dtype in INTEGERS else slice(None)
    return x[keep], y[keep]


def errors(row: Row, got: Array, exact: Array) -> Array:
    """Whether each result is off by more than its bound; zeros have their signs."""
    if got.dtype.kind in "iub":
        return got != exact
    # what has 16 bits is computed in float32, and rounded once
    bound = row.bound if row.bound is None or got.dtype.itemsize > 2 else min(row.bound, 0.5)
    far = ulps(got, exact, row.least) > (0 if bound is None else bound + 0.01)
    far &= (got != 0) | (np.abs(exact) > row.flushed * float(finfo(got.dtype).tiny))
    return far | row.signs & (np.signbit(got) != np.signbit(exact)) & (exact == 0)


def check(what: str, row: Row, args: tuple[Array, ...], got: Array, exact: Array) -> int:
    wrong = np.flatnonzero(errors(row, got, exact))
    shown = [(*(str(a[k]) for a in args), str(got[k]), str(exact[k])) for k in wrong[:5]]
    assert not len(wrong), f"{what}: {len(wrong)} of {len(got)}, such as {shown}"
    return len(got)


def converted(x: Array, dtype: str) -> Array:
    """What numpy converts to; float64 becomes float32 before it becomes a float of 8 bits."""
    return (x.astype(np.float32) if x.dtype == np.float64 and "float8" in dtype else x).astype(numpy_dtype(dtype))


@thinned("dtype, family", FAMILIES, lambda case: case[1] == "binary" and case[0] in INTEGERS)
def test_rows(dtype: str, family: str) -> None:
    module, executable = programs(dtype, family)
    count = 0
    for name in operators(dtype, family):
        function, args = name.replace(".", "_"), arguments(dtype, family, name)
        row = Row(np.asarray) if family == "cast" else (UNARY if family == "unary" else BINARY)[name]
        exact = converted(args[0], name) if family == "cast" else expected(row, *args)
        native = executable[function](*args).numpy()
        interpreted = np.asarray(interpret(module, function, list(args)))
        count += check(f"{name} of {dtype}", row, args, native, exact)
        count += check(f"{name} of {dtype}, interpreted", row, args, interpreted, exact)
        for size in SIZES:
            few = executable[function](*(a[:size] for a in args)).numpy()
            assert few.tobytes() == native[:size].tobytes(), f"{name} of {dtype}: {size} numbers give others"
    assert count > 0


CLIPPED = [(-1.5, 2.5), (2.0, 1.0), (-np.inf, np.inf), (np.nan, 1.0), (0.0, np.nan), (0.0, -0.0), (3.0, -np.inf)]


@thinned("dtype", (*FLOATS, "int8", "int64"), 2)
def test_clip(dtype: str) -> None:
    """min(max(x, low), high): of bounds in the wrong order the upper one."""
    bounds = CLIPPED if dtype in FLOATS else [(-3, 5), (5, -3), (0, 0)]
    head = "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"
    texts = [f"R.clip(x, float({str(a)!r}), float({str(b)!r}))" if dtype in FLOATS else f"R.clip(x, {a}, {b})"
             for a, b in bounds]  # fmt: skip
    module = parse_source(head + "".join(_function(f"f{k}", dtype, "x", text) for k, text in enumerate(texts)))
    executable, x = build(module, opt_level=1).jit(), values(dtype)
    for k, (low, high) in enumerate(bounds):
        exact = np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))
        row = Row(np.asarray, signs=False)
        check(f"clip to {low}, {high}", row, (x,), executable[f"f{k}"](x).numpy(), exact)
        check(f"clip to {low}, {high}, interpreted", row, (x,), np.asarray(interpret(module, f"f{k}", [x])), exact)


EXPONENTS = (-2, -1, 0, 1, 2, 3, 4, 0.5, 1.5)


@thinned("dtype", FLOATS, 2)
def test_power_of_a_constant(dtype: str) -> None:
    """Some are products or quotients: within the bound of any power all the same."""
    head = "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"
    texts = [f"R.power(x, R.const({y}, {dtype!r}))" for y in EXPONENTS]
    module = parse_source(head + "".join(_function(f"f{k}", dtype, "x", text) for k, text in enumerate(texts)))
    executable, x, row = build(module, opt_level=1).jit(), values(dtype), BINARY["power"]
    for k, y in enumerate(EXPONENTS):
        exact = expected(row, x, np.full_like(x, y))
        check(f"power of {y}", row, (x,), executable[f"f{k}"](x).numpy(), exact)


FOLDED = {"add": "add", "sub": "subtract", "mul": "multiply", "floordiv": "floor_divide", "min": "minimum",
          "max": "maximum", "eq": "equal", "ne": "not_equal", "lt": "less", "ge": "greater_equal"}  # fmt: skip
"""Operations on constants of tensor expressions, and the operators that compute the same."""
NOT_FOLDED = ("floormod", "truncmod")
"""Remainders of floats, which run."""


@thinned("dtype", FLOATS, 2)
def test_constants_are_folded_to_what_runs(dtype: str) -> None:
    """Where a constant is the result: divisions by 0 are left to run."""
    x, y = (a[::23] for a in pairs(dtype))
    constants = [[tx.const(float(v), dtype) for v in a] for a in (x, y)]
    assert not any(tx.BINARY[n](a, b).constant is not None for n in NOT_FOLDED for a, b in zip(*constants, strict=True))
    for name, operator in FOLDED.items():
        result = [tx.BINARY[name](a, b).constant for a, b in zip(*constants, strict=True)]
        done = np.array([c is not None for c in result])
        row, args = BINARY[operator], (x[done], y[done])
        exact = expected(row, *args)
        got = np.array([c for c in result if c is not None]).astype(numpy_dtype(dtype) if row.bound else exact.dtype)
        row = row._replace(bound=1) if operator == "floor_divide" else row
        assert check(f"{name} of constants of {dtype}", row, args, got, exact) > len(x) / 2
