"""Reductions, scans and sorts of special values beside numpy: native code and the interpreter, along either axis.

One module of a dtype has a function for each operator and axis, whose extents are symbolic. Rows are NaN, infinities,
zeros of both signs, ties and the greatest numbers at the beginning, in the middle and at the end, of extents from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from arithmetic import FLOATS, numpy_dtype
from strength import thinned

from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source

Array = Any
INTEGERS = ("int8", "uint8", "int64", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool")
EXTENTS = (0, 1, 2, 7, 16, 37)
"""Of the axis that is reduced: none, one, fewer than a vector has, as many, a prime above it."""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


class Row(NamedTuple):
    """`reference` reduces the last axis; `bound` is in units in the last place of the sum of the magnitudes."""

    expr: str
    reference: Callable[[Array], Array]
    bound: float | None = None
    """None: no difference."""
    dtypes: tuple[str, ...] = (*FLOATS, *INTEGERS)
    least: int = 0
    """The least extent that it has a result for."""
    axes: tuple[int, ...] = (1, 0)
    """Sorts, which take long to build, have one of them each."""
    of_extremes: bool = True
    """Whether it is compared for the greatest and least floats: what is accumulated in float64 keeps more."""


def _kept(function: Callable[..., Array]) -> Callable[[Array], Array]:
    """With the dtype of the operand, in which integers wrap around."""
    return lambda x: function(x, axis=-1, dtype=x.dtype)


def _extreme(name: str) -> Callable[[Array], Array]:
    def of(x: Array) -> Array:
        if x.shape[-1]:
            return getattr(np, name)(x, axis=-1)
        worst = {"max": -np.inf, "min": np.inf} if x.dtype.kind == "f" else {"max": False, "min": True}
        if x.dtype.kind in "iu":
            worst = {"max": np.iinfo(x.dtype).min, "min": np.iinfo(x.dtype).max}
        return np.full(x.shape[:-1], worst[name], x.dtype)

    return of


def _softmax(x: Array) -> Array:
    e = np.exp(x - _extreme("max")(x)[..., None])
    return e / e.sum(-1, keepdims=True)


def _log_softmax(x: Array) -> Array:
    shifted = x - _extreme("max")(x)[..., None]
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _exclusive(x: Array) -> Array:
    return np.concatenate([np.zeros_like(x[..., :1]), np.cumsum(x, -1, x.dtype)[..., :-1]], -1)


def _order(x: Array) -> Array:
    return np.argsort(x, -1, kind="stable").astype("int32")


def _falling(x: Array) -> Array:
    """NaN first, equal ones in their order."""
    return (x.shape[-1] - 1 - np.argsort(x[..., ::-1], -1, kind="stable")[..., ::-1]).astype("int32")


def _of(order: Callable[[Array], Array], k: int | None = None) -> Callable[[Array], Array]:
    return lambda x: np.take_along_axis(x, order(x)[..., :k].astype("int64"), -1)


ROWS = {
    "sum": Row("R.sum(x, axis=[A])", _kept(np.sum), 2),
    "prod": Row("R.prod(x, axis=[A])", _kept(np.prod), 40, of_extremes=False),
    "mean": Row("R.mean(x, axis=[A])", lambda x: x.mean(-1), 2, FLOATS, of_extremes=False),
    "max": Row("R.max(x, axis=[A])", _extreme("max"), None, DTYPES),
    "min": Row("R.min(x, axis=[A])", _extreme("min"), None, DTYPES),
    "argmax": Row("R.argmax(x, axis=A)", lambda x: x.argmax(-1), None, DTYPES, 1),
    "argmin": Row("R.argmin(x, axis=A)", lambda x: x.argmin(-1), None, DTYPES, 1),
    "variance": Row("R.variance(x, axis=[A])", lambda x: x.var(-1), 8, FLOATS, of_extremes=False),
    "std": Row("R.std(x, axis=[A])", lambda x: x.std(-1), 8, FLOATS, of_extremes=False),
    "softmax": Row("R.nn.softmax(x, axis=A)", _softmax, 8, FLOATS),
    "log_softmax": Row("R.nn.log_softmax(x, axis=A)", _log_softmax, 8, FLOATS),
    "cumsum": Row("R.cumsum(x, axis=A)", _kept(np.cumsum), 2),
    "exclusive": Row("R.cumsum(x, axis=A, exclusive=True)", _exclusive, 2, least=1),
    "cumprod": Row("R.cumprod(x, axis=A)", _kept(np.cumprod), 40, of_extremes=False),
    "sort": Row("R.sort(x, axis=A)", _of(_order), axes=(1,)),
    "falling": Row("R.sort(x, axis=A, descending=True)", _of(_falling), axes=(0,)),
    "argsort": Row("R.argsort(x, axis=A)", _order, axes=(0,)),
    "argsort_falling": Row("R.argsort(x, axis=A, descending=True)", _falling, axes=(1,)),
    "topk": Row("R.topk(x, k=1, axis=A, ret_type='values')", _of(_falling, 1), least=1, axes=(1,)),
    "least": Row("R.topk(x, k=2, axis=A, ret_type='indices', largest=False)", lambda x: _order(x)[..., :2], least=2,
                 axes=(0,)),
}  # fmt: skip


def rows_of(name: str, extent: int) -> Array:
    """Rows with each special value at the beginning, in the middle and at the end, and full of it."""
    dtype = numpy_dtype(name)
    plain = (np.arange(extent) % 3).astype(dtype)
    if name == "bool":
        specials: list[tuple[Any, ...]] = [(True,), (False,)]
    elif name in FLOATS:
        inf, nan, info = np.inf, np.nan, ml_dtypes.finfo(dtype)
        specials = [(nan,), (inf,), (-inf,), (inf, -inf), (nan, inf), (0.0, -0.0), (-0.0, 0.0), (float(info.max),),
                    (float(info.tiny),), (float(info.smallest_subnormal),), (-1.5, 3, 3), (1e4,)]  # fmt: skip
    else:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        specials = [(low,), (high,), (high, low), (high, high - 1), (0, 0), (3, 3)]
    result = [plain]
    for special in specials:
        values = np.array(special, dtype)
        result.append(np.resize(values, extent))
        for place in (0, extent // 2, extent - len(values)):
            row = plain.copy()
            part = row[max(place, 0) : max(place, 0) + len(values)]
            part[:] = values[: len(part)]
            result.append(row)
    return np.stack(result)


@cache
def programs(dtype: str) -> tuple[Any, Any]:
    """Functions of each operator along the last axis and the first."""
    texts = [
        f"    @R.function\n    def {name}_{axis}(x: R.Tensor(('n', 'm'), {dtype!r})):\n"
        f"        return {row.expr.replace('A', str(axis))}\n"
        for name, row in ROWS.items()
        if dtype in row.dtypes
        for axis in row.axes
    ]
    head = "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"
    module = parse_source(head + "".join(texts))
    return module, build(module, opt_level=1).jit()


def expected(row: Row, x: Array) -> tuple[Array, Array]:
    """In float32 where x has 16 bits, not rounded; and the sum of the magnitudes."""
    wide = x.astype("f4") if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
    magnitude = np.abs(wide.astype("f8")).sum(-1) if row.bound else np.zeros(x.shape[:-1])
    return row.reference(wide), magnitude


def check(label: str, row: Row, x: Array, got: Array) -> int:
    exact, magnitude = expected(row, x)
    assert got.shape == exact.shape, label
    if got.dtype.kind in "iub":
        np.testing.assert_array_equal(got, exact, err_msg=label)
        return got.size
    rounded = exact.astype(got.dtype)
    size = np.maximum(np.abs(exact.astype("f8")), 1.0 if "softmax" in row.expr else 0)
    if "sum" in row.expr or "mean" in row.expr:
        size = np.maximum(size, magnitude.reshape(magnitude.shape + (1,) * (exact.ndim - magnitude.ndim)))
    info = ml_dtypes.finfo(got.dtype)
    allowed = (row.bound or 0) * (float(info.eps) * size + float(info.smallest_subnormal))
    a, b = got.astype("f8"), rounded.astype("f8")
    right = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed) & np.isfinite(b)
    wrong = np.argwhere(~right)[:3]
    shown = [(x[i[0]][:9].tolist(), got[tuple(i)], rounded[tuple(i)]) for i in wrong]
    assert not shown, f"{label}: {shown}"
    return got.size


@thinned("dtype", DTYPES, lambda dtype: dtype in INTEGERS)
def test_rows(dtype: str) -> None:
    module, executable = programs(dtype)
    count = 0
    for name, row in ROWS.items():
        for extent in EXTENTS:
            if dtype not in row.dtypes or extent < row.least:
                continue
            x = rows_of(dtype, extent)
            if not row.of_extremes and dtype in FLOATS:
                info, size = ml_dtypes.finfo(x.dtype), np.abs(x.astype("f8"))
                x = x[~((size == float(info.max)) | (size > 0) & (size <= float(info.tiny))).any(1)]
            for axis in row.axes:
                operand = x if axis else np.ascontiguousarray(x.T)
                for how, run in (("native", executable[f"{name}_{axis}"]), ("interpreted", interpret)):
                    got = run(module, f"{name}_{axis}", [operand]) if run is interpret else run(operand).numpy()
                    got = np.asarray(got)
                    turned = got.T if got.ndim == 2 and not axis else got
                    count += check(f"{name} of {dtype}, {extent} along {axis}, {how}", row, x, turned)
    assert count > 5000 or dtype == "bool"


@pytest.mark.parametrize("dtype", FLOATS)
def test_distinct_numbers(dtype: str) -> None:
    """NaN is last, once, and the first of equals is taken."""
    head = "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"
    signature = f"    @R.function\n    def main(x: R.Tensor(('n',), {dtype!r})):\n"
    module = parse_source(f"{head}{signature}        return R.unique(x, return_index=True)\n")
    x = np.array([np.nan, 1, np.inf, 2, np.nan, -0.0, 0.0, 1, -np.inf], numpy_dtype(dtype))
    for values, first in (interpret(module, "main", [x]), build(module)["main"](x)):
        np.testing.assert_array_equal(np.asarray(first), [8, 5, 1, 3, 2, 0])
        assert np.asarray(values).astype("f4").tobytes() == x[np.asarray(first)].astype("f4").tobytes()
