"""The interpreter and native code beside numpy and torch: NaN, infinities, zeros of both signs, denormals, nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from arithmetic import BINARY, UNARY
from references import ELEMENTWISE, FLOATS, NUMBERS, REDUCTIONS, Row, pairs, rows
from strength import some, thinned

from tirax.driver.build import build
from tirax.interpreter import InterpreterError, interpret
from tirax.interpreter.compare import same_values
from tirax.script import parse_source

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TABLES = ((ELEMENTWISE, 1), (REDUCTIONS, 2))
CASES = [(row, rank, dtype) for table, rank in TABLES for row in table for dtype in row.dtypes]
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}


def takes_two(row: Row) -> bool:
    return re.search(r"\by\b", row.expr) is not None


def _name(row: Row, dtype: str) -> str:
    return f"f{[r for table, _ in TABLES for r in table].index(row)}_{dtype}"


def cases_of(dtype: str) -> list[tuple[Row, int]]:
    return [(row, rank) for row, rank, own in CASES if own == dtype]


@cache
def module(dtype: str) -> Any:
    """The rows of a dtype, a function each."""
    return program(dtype, cases_of(dtype))


def program(dtype: str, cases: Sequence[tuple[Row, int]]) -> Any:
    text = "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"
    for row, rank in cases:
        dims = '"n", "m"' if rank == 2 else '"n",'
        params = ", ".join(f'{p}: R.Tensor(({dims}), "{dtype}")' for p in ("xy" if takes_two(row) else "x"))
        text += f"    @R.function\n    def {_name(row, dtype)}({params}):\n        r = {row.expr}\n        return r\n"
    return parse_source(text)


def inputs(row: Row, rank: int, dtype: str) -> list[list[Any]]:
    """The arguments of each call: many numbers, one, none."""
    many = [rows(dtype)] if rank == 2 else list(pairs(dtype))[: 2 if takes_two(row) else 1]
    one = [v[-1:, :1] if rank == 2 else v[-1:] for v in many]
    return [many, one, [v[:0] for v in many], *([[v[:3, :0] for v in many]] if rank == 2 else [])]


def close(row: Row, dtype: str, actual: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    if row.exact or dtype not in FLOATS:
        np.testing.assert_array_equal(actual, expected.astype(actual.dtype), err_msg=row.expr)
        return
    with np.errstate(all="ignore"):
        expected = expected.astype(actual.dtype)
    np.testing.assert_allclose(
        actual.astype("f8"), expected.astype("f8"), TOLERANCE[dtype],
        1e-300 if dtype == "float64" else TOLERANCE[dtype], err_msg=row.expr,
    )  # fmt: skip


def _id(case: tuple[Row, int, str]) -> str:
    return f"{case[0].expr}-{case[2]}"


@pytest.mark.parametrize("case", CASES, ids=_id)
def test_interpreter_and_numpy(case: tuple[Row, int, str]) -> None:
    row, rank, dtype = case
    for args in inputs(row, rank, dtype):
        wide = [a.astype("f8") if dtype == "float16" and not row.exact else a for a in args]
        try:
            expected = row.numpy(*wide)
        except ValueError:  # of nothing: docs/semantics.md says what it is
            continue
        close(row, dtype, interpret(module(dtype), _name(row, dtype), args), expected)


@pytest.mark.parametrize("case", [c for c in CASES if c[0].torch], ids=_id)
def test_interpreter_and_torch(case: tuple[Row, int, str], torch: Any) -> None:
    row, rank, dtype = case
    for args in inputs(row, rank, dtype):
        tensors = dict(zip("xy", map(torch.from_numpy, args), strict=False))
        try:
            with torch.backends.mkldnn.flags(enabled=False):  # oneDNN's gelu of infinity is NaN with AVX-512
                expected = eval(row.torch or "", {"torch": torch}, tensors).numpy()  # noqa: S307 (the table's own text)
        except IndexError:  # as above
            continue
        close(row, dtype, interpret(module(dtype), _name(row, dtype), args), expected)


def native_cases(dtype: str) -> list[tuple[Row, int]]:
    """Without operators that run natively on each element in test_arithmetic.py, on more numbers."""
    there = {f"R.{name}(" for name in (*UNARY, *BINARY)}
    return [(row, rank) for row, rank in cases_of(dtype) if rank > 1 or row.expr.partition("(")[0] + "(" not in there]


@pytest.mark.thinned
@thinned("dtype", NUMBERS, 1)
def test_native_code_and_interpreter(dtype: str) -> None:
    cases = some(native_cases(dtype), 8)
    executable = build(program(dtype, cases), opt_level=1)
    for row, rank in cases:
        for args in inputs(row, rank, dtype):
            try:
                expected = interpret(module(dtype), _name(row, dtype), args)
            except InterpreterError:
                continue
            actual = executable[_name(row, dtype)](*args)
            assert same_values(expected, actual), f"{row.expr} of {dtype}: {args}\nexpected {expected}\nfound {actual}"
