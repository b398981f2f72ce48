"""Operators that count, rank and scan, at extents of 0, 1 and primes, for each dtype, with NaN, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from torch_models import agree, exported  # noqa: E402

import tirax  # noqa: E402
from tirax.driver.build import build  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.tensors import array_of  # noqa: E402
from tirax.runtime.errors import OutsideError, ShapeError  # noqa: E402

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
EXTENTS = (0, 1, 2, 7, 31)
AUTO = torch.export.Dim.AUTO


def numbers(extent: int, dtype: Any, nan: bool = False) -> Any:
    """Numbers with many equal ones among them."""
    torch.manual_seed(extent)
    x = torch.randint(-3, 4, (3, extent))
    x = x > 0 if dtype is torch.bool else x.to(dtype)
    if nan and dtype.is_floating_point and extent > 2:
        x[0, extent // 2], x[1, 0], x[2, -1] = torch.nan, torch.nan, torch.inf
    return x


ROWS: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "cummax": (lambda x: torch.cummax(x, 1), (*FLOATS, torch.int64, torch.bool), 0),
    "cummin": (lambda x: torch.cummin(x, -1), (*FLOATS, torch.int64, torch.bool), 0),
    "cummax of columns": (lambda x: torch.cummax(x, 0), (torch.float32,), 0),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 1), FLOATS, 0),
    "median": (lambda x: x.median(), (torch.float32, torch.int64), 1),
    "median.dim": (lambda x: x.median(1).values, (*FLOATS, torch.int64), 1),
    "median keepdim": (lambda x: x.median(1, keepdim=True).values, (torch.float32,), 1),
    "nanmedian.dim": (lambda x: x.nanmedian(1).values, FLOATS, 1),
    "nanmedian": (lambda x: x.nanmedian(), (torch.float32,), 1),
    "hypot": (lambda x: torch.hypot(x, x * 2 + 1), FLOATS, 0),
    "histc": (lambda x: torch.histc(torch.nan_to_num(x, 0, 9, 9), 4, -2, 2), (torch.float32, torch.float64), 0),
    "repeat_interleave": (
        lambda x: (x.repeat_interleave(2), x.repeat_interleave(3, 1)),
        (torch.float32, torch.bool),
        0,
    ),
}


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("name", ROWS)
def test_static(name: str, extent: int) -> None:
    function, dtypes, least = ROWS[name]
    if extent < least:
        return
    inputs = [numbers(extent, dtype, nan) for dtype in dtypes for nan in ((False, True) if extent > 2 else (False,))]
    program = exported(lambda *xs: [function(x) for x in xs], inputs)
    results = program.module()(*inputs)
    outputs = build(from_exported_program(program)).jit()["main"](*map(array_of, inputs))
    for output, expected in zip(outputs, torch.utils._pytree.tree_leaves(results), strict=True):
        value, reference = np.asarray(output), array_of(expected)
        assert (value.dtype, value.shape) == (reference.dtype, reference.shape)
        rough = value.dtype.itemsize == 2 and value.dtype != np.bool_
        tolerance = 1e-2 if rough else 1e-5
        np.testing.assert_allclose(value.astype("float64"), reference.astype("float64"), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ROWS)
def test_symbolic(name: str) -> None:
    inputs = [[numbers(n, torch.float32)] for n in (5, 7)]
    program = exported(ROWS[name][0], inputs[0], dynamic_shapes=(({1: AUTO},),))
    agree(program, *inputs)


def test_mode() -> None:
    inputs = [[torch.tensor(v)] for v in ([[1, 2, 2, 1, 3]], [[5, 5, 0, 0, 0]], [[4, 3, 2, 1, 0]])]
    program = exported(lambda x: x.mode(), inputs[0])
    agree(program, *inputs)


def test_histc_between_its_extrema() -> None:
    agree(exported(lambda x: torch.histc(x, 5), [torch.randn(31)]), [torch.randn(31)], [torch.ones(31)])


HISTOGRAMS: dict[str, Any] = {
    "count": lambda x, w: torch.histogram(x, 4),
    "a range": lambda x, w: torch.histogram(x, 5, range=(-1.0, 2.0), weight=w),
    "a range of one number": lambda x, w: torch.histogram(x.round(), 3, range=(1.0, 1.0)),
    "density": lambda x, w: torch.histogram(x, 6, weight=w, density=True),
    "edges": lambda x, w: torch.histogram(x, w[0].sort().values, density=True),
    "edges in no order": lambda x, w: torch.histogram(x, x.new_tensor([-1.0, 0.5, -0.5, 0.0, 1.0]), weight=w),
    "one number": lambda x, w: torch.histogram(torch.zeros_like(x), 3),
    "no number": lambda x, w: torch.histogram(x[:0], 3),
    "points": lambda x, w: torch.histogramdd(x.reshape(-1, 2), [3, 4], weight=w.reshape(-1, 2)[:, 0]),
    "points in a range": lambda x, w: torch.histogramdd(x.reshape(-1, 2), 3, range=[-1.0, 1.0, 0.0, 2.0], density=True),
    "points between edges": lambda x, w: torch.histogramdd(x.reshape(-1, 2), [w[0].sort().values, w[1].sort().values]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", HISTOGRAMS)
def test_histograms(name: str, dtype: Any) -> None:
    torch.manual_seed(0)
    inputs = [[torch.randn(4, 6, dtype=dtype), torch.rand(4, 6, dtype=dtype) * 2] for _ in range(3)]
    agree(exported(HISTOGRAMS[name], inputs[0]), *inputs)


DEPENDENT: dict[str, tuple[Any, list[list[Any]]]] = {
    "repeat_interleave": (
        lambda x, r: x.repeat_interleave(r, 0),
        [[torch.randn(3, 2), torch.tensor(r)] for r in ([1, 0, 2], [3, 3, 1], [0, 4, 0])],
    ),
    "bincount": (torch.bincount, [[torch.tensor(v)] for v in ([0, 3, 3, 1], [7, 0, 0, 2])]),
    "bincount of weights": (
        lambda x, w: torch.bincount(x, w, minlength=5),
        [[torch.tensor(v), torch.randn(4)] for v in ([0, 3, 3, 1], [7, 0, 0, 2])],
    ),
    "unique": (
        lambda x: torch.unique(x, return_inverse=True, return_counts=True),
        [[torch.tensor(v)] for v in ([[3, 1], [1, 2]], [[1, 1], [1, 1]], [[9, 7], [8, 6]])],
    ),
    "unique alone": (torch.unique, [[torch.tensor(v)] for v in ([3.0, 1, 1], [1.0, 1, 1], [3.0, 2, 1])]),
    "unique of rows": (
        lambda x: torch.unique(x, dim=0, return_counts=True),
        [[torch.tensor(v)] for v in ([[3, 1], [1, 2], [3, 1]], [[1, 1], [1, 1], [1, 1]])],
    ),
}


@pytest.mark.parametrize("name", DEPENDENT)
def test_sizes_of_data(name: str) -> None:
    function, inputs = DEPENDENT[name]
    agree(exported(function, inputs[0]), *inputs)


class Counted(torch.nn.Module):
    def forward(self, x):
        return torch.bincount(x)


@pytest.mark.parametrize("numbers", [[-1, 3, 3], [-(10**9), 0], [-1]])
def test_negative_numbers_have_no_count(numbers):
    program = torch.export.export(Counted(), (torch.tensor([1, 2]),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    f = tirax.compile(program)
    with pytest.raises(RuntimeError):
        torch.bincount(torch.tensor(numbers))
    with pytest.raises((OutsideError, ShapeError)):  # ShapeError where no number has a count
        f(torch.tensor(numbers))
