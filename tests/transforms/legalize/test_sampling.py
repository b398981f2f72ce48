"""`image.grid_sample` and `image.affine_grid`."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from strength import crossed, only_full, thinned

from tirax.dev.fuzz import checks
from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning, interpret
from tirax.script import parse_source, print_script
from tirax.transforms.legalize import LegalizeOps
from tirax.tvm_api import relax as rx

LAYOUTS = {"NCHW": (("h", 4), (2, 6, "w")), "NCDHW": ((3, "h", 4), (3, 2, 3, "w"))}


def dims(sizes: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, sizes))


def sampler(method: str, padding: str, aligned: bool, layout: str = "NCHW", dtype: str = "float32") -> Any:
    data, grid = LAYOUTS[layout]
    return parse_source(f"""
@R.function
def main(x: R.Tensor((2, 3, {dims(data)}), "{dtype}"), g: R.Tensor((2, {dims(grid)}), "float32")):
    y = R.image.grid_sample(
        x, g, method="{method}", layout="{layout}", padding_mode="{padding}", align_corners={aligned}
    )
    return y
""")


def reflect(x: float, first: float, last: float) -> float:
    """Walk back into the range, one end after the other."""
    if last <= first:
        return 0.0
    while not first <= x <= last:
        x = 2 * first - x if x < first else 2 * last - x
    return x


def bounded(x: float, n: int, padding: str, aligned: bool) -> float:
    if padding == "reflection":
        x = reflect(x, 0.0, n - 1.0) if aligned else reflect(x, -0.5, n - 0.5)
    return x if padding == "zeros" else min(max(x, 0.0), n - 1.0)


def keys(d: float) -> float:
    """Keys' kernel with a = -0.75."""
    a = -0.75
    return (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * (d**3 - 5 * d**2 + 8 * d - 4)


def taps(g: float, n: int, method: str, padding: str, aligned: bool) -> list[tuple[float, float]]:
    x = (g + 1) / 2 * (n - 1) if aligned else ((g + 1) * n - 1) / 2
    if method == "bicubic":
        low = math.floor(x)
        return [(bounded(low + k, n, padding, aligned), keys(abs(x - low - k))) for k in (-1, 0, 1, 2)]
    x = bounded(x, n, padding, aligned)
    if method == "nearest":
        return [(math.copysign(math.floor(abs(x) + 0.5), x), 1.0)]
    return [(math.floor(x) + k, 1 - abs(x - math.floor(x) - k)) for k in (0, 1)]


def sample(x: np.ndarray, grid: np.ndarray, method: str, padding: str, aligned: bool) -> np.ndarray:
    """Point by point."""
    out = np.zeros((*x.shape[:2], *grid.shape[2:]))
    for n, *at in np.ndindex(grid.shape[0], *grid.shape[2:]):
        position = grid[(n, slice(None), *at)][::-1].astype(float)
        each = [taps(g, e, method, padding, aligned) for g, e in zip(position, x.shape[2:], strict=True)]
        for corner in itertools.product(*each):
            index = [p for p, _ in corner]
            if all(0 <= p < e for p, e in zip(index, x.shape[2:], strict=True)):
                weight = math.prod(w for _, w in corner)
                out[(n, slice(None), *at)] += x[(n, slice(None), *map(int, index))] * weight
    return out


def inputs(layout: str, h: int, w: int, dtype: str = "float32") -> list[np.ndarray]:
    sizes = {"h": h, "w": w}
    rng = np.random.default_rng(h * 10 + w)
    x, g = ([sizes.get(d, d) for d in part] for part in LAYOUTS[layout])
    return [rng.normal(size=[2, 3, *x]).astype(dtype), (rng.normal(size=[2, *g]) * 1.3).astype(np.float32)]


MODES = [
    (method, padding, aligned, layout)
    for method in ("nearest", "bilinear", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for aligned in (False, True)
    for layout in LAYOUTS
    if (method, layout) != ("bicubic", "NCDHW")
]


@thinned(("method", "padding", "aligned", "layout"), MODES, 4)
def test_grid_sample(method: str, padding: str, aligned: bool, layout: str):
    module = sampler(method, padding, aligned, layout)
    checks.texts(module)
    run = build(module, opt_level=1)["main"]
    for h, w in ((5, 3), (1, 2), (0, 3), (2, 0)):
        x, g = inputs(layout, h, w)
        expected = np.zeros((*x.shape[:2], *g.shape[2:])) if h == 0 else sample(x, g, method, padding, aligned)
        np.testing.assert_allclose(interpret(module, "main", [x, g]), expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(run(x, g), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_dtypes(dtype: str):
    module = sampler("bilinear", "border", True, dtype=dtype)
    x, g = inputs("NCHW", 5, 3, dtype)
    result = build(module)["main"](x, g)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, sample(x, g, "bilinear", "border", True), rtol=1e-2, atol=1e-2)


@only_full
@crossed("method, padding", ["nearest", "bilinear", "bicubic"], ["zeros", "border", "reflection"])
def test_positions_that_are_no_numbers(method: str, padding: str):
    """Nothing outside of the data is read."""
    module = sampler(method, padding, False)
    x, g = inputs("NCHW", 5, 3)
    run = build(module)["main"]
    for value in (np.nan, np.inf, -np.inf, 1e30):
        g[:] = value
        result = run(x, g)
        if padding == "zeros":
            assert np.all(result == 0)


@crossed("aligned, rank, dtype", [False, True], [2, 3], ["float32", "float16", "float64"])
def test_affine_grid(aligned: bool, rank: int, dtype: str):
    module = parse_source(f"""
@R.function
def main(x: R.Tensor(("n", {rank}, {rank + 1}), "{dtype}"), s: R.Shape(["w"])):
    w = T.int64()
    y = R.image.affine_grid(x, ({"3, " * (rank - 1)}w), align_corners={aligned})
    return y
""")
    checks.texts(module)
    assert_same_meaning(module, LegalizeOps()(module))
    checks.native(module)
    x = np.random.default_rng(0).normal(size=(2, rank, rank + 1)).astype(dtype)
    size = [3] * (rank - 1) + [5]
    expected = np.zeros((2, rank, *size))
    for at in np.ndindex(*size):
        unit = [2 * i / (n - 1) - 1 if aligned else (2 * i + 1) / n - 1 for i, n in zip(at, size, strict=True)]
        expected[(slice(None), slice(None), *at)] = x.astype(float) @ [*unit[::-1], 1.0]
    close = 1e-2 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(build(module)["main"](x, (5,)), expected, rtol=close, atol=close)


def test_one_extent_is_a_square():
    x = rx.Var("x", rx.TensorStructInfo((2, 2, 3), "float32"))
    assert rx.op.image.affine_grid(x, 4).struct_info == rx.TensorStructInfo((2, 2, 4, 4), "float32")
    module = parse_source("""
@R.function
def main(x: R.Tensor((2, 2, 3), "float32"), z: R.Tensor((1, 1, 2, 2), "float32")):
    y = R.image.affine_grid(x, 4, False)
    w = R.image.resize2d(z, 4)
    return (y, w)
""")
    text = print_script(module)
    assert "R.image.affine_grid(x, R.shape([4, 4]), align_corners=False)" in text
    assert "R.image.resize2d(z, R.shape([4, 4]), roi=[T.float32(0.0), T.float32(0.0), T.float32(0.0)," in text
    checks.texts(module)


def tensor(*sizes: Any, dtype: str = "float32") -> Any:
    return rx.Var("x", rx.TensorStructInfo(sizes, dtype))


IMAGE, GRID = tensor(2, 3, 5, 4), tensor(2, 2, 6, 7)


@pytest.mark.parametrize(
    ("args", "attrs", "message"),
    [
        ([IMAGE, GRID], {"method": "cubic"}, "attribute method is unknown"),
        ([IMAGE, GRID], {"layout": "NHWC"}, "attribute layout is unknown"),
        ([IMAGE, GRID], {"padding_mode": "wrap"}, "attribute padding_mode is unknown"),
        ([IMAGE, GRID], {"layout": "NCDHW"}, "argument data must have 5 dimensions"),
        ([IMAGE, tensor(2, 6, 7, 2)], {}, "argument grid must have a coordinate for each dimension"),
        ([IMAGE, tensor(3, 2, 6, 7)], {}, "data and grid must agree in batch"),
        ([IMAGE, tensor(2, 2, 6, 7, dtype="int32")], {}, "argument grid must be of a floating point type"),
        ([tensor(2, 3, 5, 4, 3), tensor(2, 3, 6, 7, 2)], {"layout": "NCDHW", "method": "bicubic"}, "nearest or bilin"),
    ],
)
def test_refused_samples(args: list[Any], attrs: dict[str, Any], message: str):
    with pytest.raises(TiraxError, match=message):
        assert rx.op.image.grid_sample(*args, **attrs).struct_info


@pytest.mark.parametrize(
    ("x", "size", "message"),
    [
        (tensor(2, 2, 2), (4, 5), "argument data must be of 2 by 3 matrices"),
        (tensor(2, 2, 3), (4, 5, 6), "argument data must be of 3 by 4 matrices"),
        (tensor(2, 3), (4, 5), "argument data must have 3 dimensions"),
        (tensor(2, 2, 3), (4,), "argument size must be height and width"),
        (tensor(2, 2, 3), (1, 4), "argument size must be greater than 1 where align_corners"),
        (tensor(2, 2, 3, dtype="int8"), (4, 4), "argument data must be of a floating point type"),
    ],
)
def test_refused_grids(x: Any, size: Any, message: str):
    with pytest.raises(TiraxError, match=message):
        assert rx.op.image.affine_grid(x, size).struct_info


def test_unknown_shapes():
    unknown = rx.Var("x", rx.TensorStructInfo(None, "float32"))
    assert rx.op.image.grid_sample(unknown, GRID).struct_info.ndim == 4
    assert rx.op.image.affine_grid(unknown, (4, 5)).struct_info.ndim == 4
