"""Operands of two dtypes beside PyTorch: each pair, as tensors, tensors without dimensions and numbers of Python.

The dtype of every pair is compared by the rule alone; what is computed with it by one program for each dtype on the
left. Rows that PyTorch refuses, or does not trace, are none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from strength import thinned

torch = pytest.importorskip("torch")

from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.promotion import common_dtype  # noqa: E402
from tirax.frontend.torch.tensors import array_of  # noqa: E402
from tirax.handles.relax.expr import Var  # noqa: E402
from tirax.handles.struct_info import TensorStructInfo  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", *FLOATS)
UNSIGNED = ("uint16", "uint32", "uint64")
"""PyTorch has few functions of them, and no dtype that two of them have in common."""
NUMBERS = (True, -3, 7, 300, 0.1, -2.5, 3.0, math.inf)
REAL = (0.0, -0.0, 1.0, -2.5, 0.1, 3.0, 100.7, 60000.0, math.inf, math.nan)


FORMS = ("tensors", "right of rank 0", "left of rank 0")


class Row(NamedTuple):
    function: Callable[..., Any]
    divides: bool = False
    bound: float = 0
    """In units in the last place."""
    forms: tuple[str, ...] = FORMS


ROWS = {
    "add": Row(torch.add),
    "sub": Row(torch.sub),
    "rsub": Row(torch.rsub, forms=("tensors",)),
    "mul": Row(torch.mul),
    "div": Row(torch.div),
    "floor_divide": Row(torch.floor_divide, True, 1),
    "trunc": Row(partial(torch.div, rounding_mode="trunc"), divides=True),
    "remainder": Row(torch.remainder, divides=True),
    "fmod": Row(torch.fmod, divides=True, forms=("tensors",)),
    "pow": Row(torch.pow, bound=2),
    "maximum": Row(torch.maximum),
    "fmin": Row(torch.fmin, forms=("tensors",)),
    "clamp": Row(lambda x, y: torch.clamp(x, min=y)),
    "eq": Row(torch.eq),
    "lt": Row(torch.lt),
    "ge": Row(torch.ge, forms=("tensors",)),
    "where": Row(lambda x, y: torch.where(_chosen(x, y), x, y)),
    "masked_fill": Row(lambda x, y: torch.masked_fill(x, _chosen(x, y), y), forms=("right of rank 0",)),
    "bitwise_and": Row(torch.bitwise_and),
    "bitwise_xor": Row(torch.bitwise_xor, forms=("tensors",)),
    "left_shift": Row(torch.bitwise_left_shift),
    "right_shift": Row(torch.bitwise_right_shift),
    "logical_or": Row(torch.logical_or, forms=("tensors",)),
    "atan2": Row(torch.atan2, bound=4, forms=("tensors",)),
    "copysign": Row(torch.copysign, forms=("tensors",)),
    "addcmul": Row(lambda x, y: torch.addcmul(x, x, y), bound=1, forms=("tensors",)),
    "cat": Row(lambda x, y: torch.cat([x, y]), forms=("tensors",)),
    "add_": Row(lambda x, y: x.clone().add_(y)),
    "div_": Row(lambda x, y: x.clone().div_(y), forms=("tensors",)),
}


def _chosen(x: Any, y: Any) -> Any:
    return (x if isinstance(x, torch.Tensor) and x.ndim else y) != 1


def numbers(name: str) -> Any:
    """Numbers of a dtype: limits, ties, what other dtypes have no number for."""
    dtype = getattr(torch, name)
    if name == "bool":
        return torch.tensor([False, True])
    if dtype.is_floating_point:
        return torch.tensor(REAL, dtype=torch.float64).to(dtype)
    info = torch.iinfo(dtype)
    return torch.tensor(
        [v for v in (0, 1, 2, 7, 100, -3, info.min, info.max) if info.min <= v <= info.max], dtype=dtype
    )


Rows = dict[str, tuple[Callable[..., Any], tuple[int, ...]]]
"""By label: a function, and the numbers of its arguments."""


def divisors(y: Any) -> Any:
    """Without 0 where that is no float: PyTorch refuses it."""
    return y if y.is_floating_point() else torch.where(y == 0, torch.ones_like(y), y)


def wrapped(value: Any) -> Any:
    """An expression as `common_dtype` has it."""
    if not isinstance(value, torch.Tensor):
        return value
    return Var("x", TensorStructInfo(tuple(value.shape), str(value.dtype).removeprefix("torch.")))


def test_the_common_dtype_of_two() -> None:
    count = 0
    operands = [t for name in (*DTYPES, *UNSIGNED) for t in (numbers(name), numbers(name)[0])]
    for a, b in product([*operands, *NUMBERS], repeat=2):
        if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
            try:
                expected = torch.result_type(a, b)
            except RuntimeError:
                continue
            assert getattr(torch, common_dtype([wrapped(a), wrapped(b)])) == expected, (a, b)
            count += 1
    assert count > 900


class Several(torch.nn.Module):
    """What functions give, each of the arguments of its numbers."""

    def __init__(self, rows: Rows):
        super().__init__()
        self.rows = list(rows.values())

    def forward(self, *args: Any) -> Any:
        return tuple(function(*(args[i] for i in numbers)) for function, numbers in self.rows)


class Table:
    """Rows of a dtype on the left, by their labels, and the arguments of their program."""

    def __init__(self, left: str):
        self.left = left
        self.rows: Rows = {}
        self.args: list[Any] = []
        for right in DTYPES:
            self._pair(right)
        for name, row in ROWS.items():
            x = divisors(numbers(left)) if row.divides else numbers(left)
            for k in NUMBERS:
                self._add(f"{name}: {left}, {k}", partial(_with_right, row.function, k), numbers(left))
                self._add(f"{name}: {k}, {left}", partial(row.function, k), x)

    def _pair(self, right: str) -> None:
        x, y = numbers(self.left), numbers(right)
        x, y = x.repeat_interleave(len(y)), y.repeat(len(x))
        for name, row in ROWS.items():
            if "bool" in (self.left, right) and "shift" in name:
                continue  # refused when it is traced
            z = divisors(y) if row.divides else y
            # one in the middle, that is no small number
            pairs = ((x, z), (x, z[min(4, len(numbers(right)) - 1)]), (x[-1], z))
            for form, pair in zip(FORMS, pairs, strict=True):
                if form in row.forms:
                    self._add(f"{name}: {self.left}, {right}, {form}", row.function, *pair)

    def _add(self, label: str, function: Callable[..., Any], *tensors: Any) -> None:
        try:
            function(*tensors)
        except (RuntimeError, TypeError, AttributeError):
            return
        self.rows[label] = (function, tuple(map(self._number_of, tensors)))

    def _number_of(self, tensor: Any) -> int:
        """Equal arguments are one."""
        for i, a in enumerate(self.args):
            if a.dtype == tensor.dtype and a.shape == tensor.shape and torch.equal(_bytes(a), _bytes(tensor)):
                return i
        self.args.append(tensor.clone())
        return len(self.args) - 1


def _with_right(function: Callable[..., Any], number: Any, x: Any) -> Any:
    return function(x, number)


def _bytes(x: Any) -> Any:
    return x.contiguous().view(torch.uint8) if x.ndim else x.reshape(1).view(torch.uint8)


def bound(left: str, label: str) -> float:
    """In units in the last place. A number in a product or quotient of 16 bits is rounded first: docs/semantics.md."""
    name, _, operands = label.partition(": ")
    of_number = not operands.endswith(FORMS) and left in FLOATS[:2] and name in ("mul", "div", "div_")
    return max(ROWS[name].bound, float(of_number))


def check(table: Table, results: Any, bound_of: Callable[[str, str], float]) -> int:
    """How many elements are as they should be."""
    count = 0
    for label, got, expected in zip(table.rows, results, Several(table.rows)(*table.args), strict=True):
        array = got if isinstance(got, np.ndarray) else got.numpy()
        assert (array.dtype.name, array.shape) == (str(expected.dtype)[6:], tuple(expected.shape)), label
        exact = array_of(expected)
        if expected.is_floating_point():
            units = bound_of(table.left, label) * float(torch.finfo(expected.dtype).eps)
            np.testing.assert_allclose(array.astype("f8"), exact.astype("f8"), rtol=units, atol=0, err_msg=label)
        else:
            np.testing.assert_array_equal(array, exact, err_msg=label)
        count += expected.numel()
    return count


@thinned("left", DTYPES, 3)
def test_rows(left: str) -> None:
    """On the interpreter: what native code makes of each operator and cast, tests/semantics/test_arithmetic.py has."""
    table = Table(left)
    module = from_exported_program(torch.export.export(Several(table.rows), tuple(table.args)))
    assert check(table, interpret(module, "main", list(map(array_of, table.args))), bound) > 5000


class Conversion(torch.nn.Module):
    def __init__(self, dtype: Any):
        super().__init__()
        self.dtype = dtype

    def forward(self, *args: Any) -> Any:
        return tuple(x.to(self.dtype) for x in args if x.dtype != self.dtype)


FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")


@pytest.mark.parametrize("name", FLOAT8)
def test_conversions_of_floats_of_8_bits(name: str) -> None:
    """All codes, and all numbers of float16 as other floats: what is too great, ties, denormals, NaN."""
    dtype = getattr(torch, name)
    halves = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(torch.float16)
    codes = [dtype_codes(getattr(torch, n)) for n in FLOAT8]
    others = [halves.to(getattr(torch, n)) for n in FLOATS] + [numbers(n) for n in DTYPES if n not in FLOATS]
    back = [(getattr(torch, n), [dtype_codes(dtype)]) for n in (*FLOATS, "bool")]
    for target, args in ((dtype, [*codes, *others]), *back):
        model = Conversion(target)
        module = from_exported_program(torch.export.export(model, tuple(args)))
        results = interpret(module, "main", list(map(array_of, args)))
        for got, expected in zip(results, model(*args), strict=True):
            exact = array_of(expected)
            assert np.asarray(got).dtype == exact.dtype
            np.testing.assert_array_equal(np.asarray(got).astype("f8"), exact.astype("f8"), err_msg=str(target))


def dtype_codes(dtype: Any) -> Any:
    return torch.arange(256, dtype=torch.uint8).view(dtype)
