"""Sums of float16 and bfloat16 accumulate in float32: natively and interpreted, whatever the axis, beside numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from strength import thinned

from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source

N = 5003
LONG = 100_003
HALF = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
"""The largest relative error of one rounding."""


class Sum(NamedTuple):
    """`expr` of tensors of the given shapes, and numpy's value of it in float64; `units` of one rounding are allowed.

    With `indices` the last tensor holds the indices 0 and 1 in turn.
    """

    expr: str
    shapes: list[tuple[int, ...]]
    expected: Callable[..., Any]
    units: float = 1.0
    indices: bool = False


def _conv(x: Any, w: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x[0], w.shape[2:], (1, 2))
    return np.einsum("cijkl,ockl->oij", windows, w)[None]


def _log_sum(x: Any) -> Any:
    return np.log(np.exp(x).sum(1, keepdims=True))


def _added(x: Any, updates: Any, index: Any) -> Any:
    out = x.copy()
    np.add.at(out, index.reshape(-1), updates)
    return out


def _normalized(x: Any, axes: tuple[int, ...]) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


SUMS = {
    "sum of rows": Sum("R.sum(x, axis=[0])", [(N, 64)], lambda x: x.sum(0)),
    "sum of long rows": Sum("R.sum(x, axis=[0])", [(LONG, 3)], lambda x: x.sum(0)),
    "sum of columns": Sum("R.sum(x, axis=[1])", [(5, N)], lambda x: x.sum(1)),
    "sum in the middle": Sum("R.sum(x, axis=[1])", [(4, N, 3)], lambda x: x.sum(1)),
    "sum of outer and inner": Sum("R.sum(x, axis=[0, 2])", [(61, 3, 97)], lambda x: x.sum((0, 2))),
    "sum of all": Sum("R.sum(x)", [(17, N)], lambda x: x.sum()),
    "sum that is kept": Sum("R.sum(x, axis=[0], keepdims=True)", [(N, 3)], lambda x: x.sum(0, keepdims=True)),
    "sum of powers": Sum("R.sum(R.multiply(x, x), axis=[0])", [(N, 3)], lambda x: (x * x).sum(0)),
    "sum of exponentials": Sum("R.sum(R.exp(x), axis=[0])", [(N, 7)], lambda x: np.exp(x).sum(0), 2),
    "sum, then more": Sum("R.nn.relu(R.sum(x, axis=[0]))", [(N, 9)], lambda x: x.sum(0)),
    "sum of nothing": Sum("R.sum(x, axis=[0])", [(0, 9)], lambda x: x.sum(0)),
    "sum of one": Sum("R.sum(x, axis=[0])", [(1, 9)], lambda x: x.sum(0)),
    "collapse_sum": Sum("R.collapse_sum_to(x, R.shape([3]))", [(N, 3)], lambda x: x.sum(0)),
    "mean of rows": Sum("R.mean(x, axis=[0])", [(N, 64)], lambda x: x.mean(0)),
    "mean of long rows": Sum("R.mean(x, axis=[0])", [(LONG, 3)], lambda x: x.mean(0)),
    "mean of columns": Sum("R.mean(x, axis=[1])", [(3, LONG)], lambda x: x.mean(1)),
    "variance": Sum("R.variance(x, axis=[0])", [(N, 64)], lambda x: x.var(0)),
    "variance of columns": Sum("R.variance(x, axis=[1])", [(3, LONG)], lambda x: x.var(1)),
    "std": Sum("R.std(x, axis=[0])", [(LONG, 2)], lambda x: x.std(0)),
    "cumsum": Sum("R.cumsum(x, axis=0)", [(N, 4)], lambda x: x.cumsum(0)),
    "matmul": Sum("R.matmul(x, y)", [(33, N), (N, 35)], np.matmul),
    "row by matrix": Sum("R.matmul(x, y)", [(1, N), (N, 64)], np.matmul),
    "matrix by column": Sum("R.matmul(x, y)", [(64, N), (N, 1)], np.matmul),
    "dot": Sum("R.matmul(x, y)", [(N,), (N,)], np.matmul),
    "batches of matmul": Sum("R.matmul(x, y)", [(3, 5, N), (3, N, 7)], np.matmul),
    "matmul by transposed": Sum("R.matmul(x, R.permute_dims(y))", [(9, N), (7, N)], lambda x, y: x @ y.T),
    "matmul and bias": Sum("R.add(R.matmul(x, y), z)", [(6, N), (N, 16), (16,)], lambda x, y, z: x @ y + z, 2),
    "einsum": Sum("R.einsum((x, y), 'kij,kl->il')", [(N, 3, 1), (N, 5)], lambda x, y: np.einsum("kij,kl->il", x, y)),
    "conv2d": Sum("R.nn.conv2d(x, y)", [(1, 300, 9, 9), (8, 300, 3, 3)], _conv),
    "avg_pool": Sum("R.nn.avg_pool2d(x, pool_size=[64, 67])", [(1, 3, 64, 67)], lambda x: x.mean((2, 3))),
    "long avg_pool": Sum("R.nn.avg_pool2d(x, pool_size=[256, 300])", [(1, 2, 256, 300)], lambda x: x.mean((2, 3))),
    "adaptive_avg_pool": Sum("R.nn.adaptive_avg_pool2d(x, 1)", [(1, 2, 256, 300)], lambda x: x.mean((2, 3))),
    "softmax": Sum("R.nn.softmax(x, axis=1)", [(5, N)], lambda x: np.exp(x - _log_sum(x)), 2),
    "log_softmax": Sum("R.nn.log_softmax(x, axis=1)", [(5, N)], lambda x: x - _log_sum(x), 2),
    "scatter": Sum(
        "R.index_put(x, (z,), y, accumulate=True)", [(3, 5), (N, 5), (N,)], _added, indices=True
    ),
    "scatter_nd": Sum(
        "R.scatter_nd(x, R.reshape(z, R.shape([5003, 1])), y, reduction='add')",
        [(3, 5), (N, 5), (N,)],
        _added,
        indices=True,
    ),
    "scatter_elements": Sum(
        "R.scatter_elements(x, z, y, axis=0, reduction='add')",
        [(3,), (N,), (N,)],
        lambda x, y, z: _added(x, y, z),
        indices=True,
    ),
}  # fmt: skip


def _module(dtype: str) -> str:
    lines = ["from tvm.script import ir as I, tir as T, relax as R", "@I.ir_module", "class M:"]
    for number, case in enumerate(SUMS.values()):
        types = [dtype] * len(case.shapes)
        if case.indices:
            types[-1] = "int64"
        rows = zip("xyz", case.shapes, types, strict=False)
        args = ", ".join(f'{name}: R.Tensor({shape}, "{t}")' for name, shape, t in rows)
        lines += [
            "    @R.function",
            f"    def f{number}({args}):",
            "        with R.dataflow():",
            f"            o = {case.expr}",
            "            R.output(o)",
            "        return o",
        ]
    return "\n".join(lines) + "\n"


@cache
def _programs(dtype: str) -> tuple[Any, Any]:
    module = parse_source(_module(dtype))
    return module, build(module)


def _numpy(dtype: str) -> Any:
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


def _inputs(case: Sum, dtype: str) -> list[Any]:
    rng = np.random.default_rng(len(case.expr))
    arrays: list[Any] = [rng.random(shape).astype(_numpy(dtype)) for shape in case.shapes]
    if case.indices:
        arrays[-1] = np.arange(N) % 2
    if "matmul" in case.expr or "einsum" in case.expr or "conv2d" in case.expr:
        arrays[0] = (arrays[0] / 8).astype(_numpy(dtype))  # products of float16 stay below its greatest number
    return arrays


def _check(got: Any, case: Sum, arrays: list[Any], dtype: str) -> None:
    wide = [a if a.dtype.kind == "i" else a.astype("float64") for a in arrays]
    expected = np.asarray(case.expected(*wide)).reshape(np.shape(got))
    assert np.asarray(got).dtype == _numpy(dtype)
    error = np.abs(np.asarray(got).astype("float64") - expected)
    assert np.size(expected) and (error <= case.units * 1.01 * HALF[dtype] * np.abs(expected)).all(), error.max()


@thinned("dtype", list(HALF), 1)
@pytest.mark.parametrize("name", SUMS)
def test_native(name: str, dtype: str) -> None:
    case, (_, executable) = SUMS[name], _programs(dtype)
    arrays = _inputs(case, dtype)
    _check(executable[f"f{list(SUMS).index(name)}"](*arrays), case, arrays, dtype)


@thinned("dtype", list(HALF), 1)
@pytest.mark.parametrize("name", SUMS)
def test_interpreted(name: str, dtype: str) -> None:
    case, (module, _) = SUMS[name], _programs(dtype)
    arrays = _inputs(case, dtype)
    _check(interpret(module, f"f{list(SUMS).index(name)}", arrays), case, arrays, dtype)


TENSOR_FUNCTION = """
    @T.prim_func
    def {name}(a: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 8), "{dtype}")
        C = T.match_buffer(c, (8,), "{dtype}")
        {local}
        for j, k in T.grid(8, n):
            with T.block("sum"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    {target}[vj] = T.{dtype}({start})
                {target}[vj] = {update}
        {copy}
"""
UPDATES: list[tuple[str, Callable[[Any], Any], float]] = [
    ("A[vk, vj] + {target}[vj]", lambda a: a.sum(0), 0.0),
    ("{target}[vj] + A[vk, vj] * A[vk, vj]", lambda a: (a * a).sum(0), 0.0),
    ("{target}[vj] + A[vk, vj] + A[vk, vj]", lambda a: 2 * a.sum(0), 0.0),
    ("{target}[vj] - A[vk, vj]", lambda a: -a.sum(0), 0.0),
    ("{target}[vj] * (A[vk, vj] * T.{dtype}(0.5) + T.{dtype}(0.5))", lambda a: (a / 2 + 0.5).prod(0), 1.0),
]
"""The step of a reduction, its value in numpy, and what it begins with."""
PLACES = {
    "C": ("", ""),
    "B": ("B = T.alloc_buffer((8,), '{dtype}')", "for j in range(8):\n            C[j] = B[j]"),
}
"""Where sums are accumulated: in the parameter, or in a buffer of the function's own that is copied."""


def _tensor_functions(dtype: str) -> str:
    text = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass M:"
    for target, (local, copy) in PLACES.items():
        for number, (update, _, start) in enumerate(UPDATES):
            text += TENSOR_FUNCTION.format(
                name=f"{target}{number}", dtype=dtype, target=target, local=local.format(dtype=dtype), copy=copy,
                start=start, update=update.format(target=target, dtype=dtype),
            )  # fmt: skip
    return text


@thinned("dtype", list(HALF), 1)
def test_tensor_functions(dtype: str) -> None:
    """`n` elements are 0, 1 and more than 16 bits count; the interpreter and native code agree with numpy."""
    module = parse_source(_tensor_functions(dtype))
    executable = build(module)
    rng = np.random.default_rng(0)
    for n in (0, 1, 403):
        a = (1 + rng.integers(-1, 2, (n, 8)) * 2.0**-6).astype(_numpy(dtype))
        for number, (_, expected, _) in enumerate(UPDATES):
            for name in (f"{target}{number}" for target in PLACES):
                native, interpreted = np.zeros((2, 8), _numpy(dtype))
                executable[name](a, native)
                interpret(module, name, [a, interpreted])
                sums = expected(a.astype("float64"))
                for out in (native, interpreted):
                    error = np.abs(out.astype("float64") - sums)
                    assert (error <= 1.01 * HALF[dtype] * np.abs(sums)).all(), (name, n, out)
