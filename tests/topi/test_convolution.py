"""Convolutions and pooling, against windows that numpy takes one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from arrays import floats

from tirax.diagnostics import ShapeError, TiraxError
from tirax.tvm_api import te, topi

Check = Callable[..., None]
Pairs = Sequence[tuple[int, int]]


def windows(
    x: Any, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int], padding: Pairs, value: float
) -> Any:
    """(N, C, places…, window…)"""
    padded = np.pad(x, [(0, 0), (0, 0), *padding], constant_values=value)
    reach = [(k - 1) * d + 1 for k, d in zip(size, dilation, strict=True)]
    axes = tuple(range(2, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(padded, reach, axes)
    places = tuple(slice(None, None, s) for s in strides)
    points = tuple(slice(None, None, d) for d in dilation)
    return view[(slice(None), slice(None), *places, *points)]


def convolved(x: Any, w: Any, strides: Any, dilation: Any, padding: Pairs, groups: int = 1) -> Any:
    """A convolution of (N, C, …) by (O, I, …)."""
    rank = x.ndim - 2
    out = []
    for g in range(groups):
        own = x[:, g * w.shape[1] : (g + 1) * w.shape[1]]
        kernels = w[g * (w.shape[0] // groups) : (g + 1) * (w.shape[0] // groups)]
        actual = windows(own, w.shape[2:], strides, dilation, padding, 0)
        points = list(range(2 + rank, 2 + 2 * rank))
        out.append(np.tensordot(actual, kernels, ([1, *points], list(range(1, rank + 2)))))
    return np.moveaxis(np.concatenate(out, -1), -1, 1)


def transposed(x: Any, w: Any, strides: Sequence[int], padding: Pairs, more: Sequence[int], groups: int = 1) -> Any:
    """A transposed convolution of (N, C, …) by (I, O, …): each element adds its kernel."""
    sizes = [(d - 1) * s + k for d, s, k in zip(x.shape[2:], strides, w.shape[2:], strict=True)]
    count = w.shape[1]
    out = np.zeros((x.shape[0], count * groups, *(s + m for s, m in zip(sizes, more, strict=True))), "float32")
    inner = x.shape[1] // groups
    for at in itertools.product(*map(range, x.shape[2:])):
        place = tuple(slice(i * s, i * s + k) for i, s, k in zip(at, strides, w.shape[2:], strict=True))
        for g in range(groups):
            own = x[(slice(None), slice(g * inner, (g + 1) * inner), *at)]
            out[(slice(None), slice(g * count, (g + 1) * count), *place)] += np.tensordot(
                own, w[g * inner : (g + 1) * inner], 1
            )
    cut = tuple(slice(b, n + m - a) for (b, a), n, m in zip(padding, sizes, more, strict=True))
    return out[(slice(None), slice(None), *cut)]


def last(x: Any) -> Any:
    """Channels last."""
    return np.moveaxis(x, 1, -1).copy()


def kernel_last(w: Any) -> Any:
    """(O, I, …) as (…, I, O)."""
    return np.moveaxis(w, (0, 1), (-1, -2)).copy()


def test_conv1d(check: Check) -> None:
    x, w = floats(2, 4, 7), floats(6, 4, 3, seed=1)
    expected = convolved(x, w, [2], [1], [(1, 1)])
    check(lambda a, b: topi.nn.conv1d_ncw(a, b, 2, 1), [x, w], expected)
    check(lambda a, b: topi.nn.conv1d(a, b, 2, 1, 1, 1, "NCW", "OIW"), [x, w], expected)
    check(lambda a, b: topi.nn.conv1d_nwc(a, b, 2, 1), [last(x), kernel_last(w)], last(expected))
    check(lambda a, b: topi.nn.conv1d_ncw(a, b, dilation=2), [x, w], convolved(x, w, [1], [2], [(0, 0)]))
    split = convolved(x, w[:, :2], [1], [1], [(1, 1)], 2)
    check(lambda a, b: topi.nn.group_conv1d_ncw(a, b, 1, "SAME", 1, 2), [x, w[:, :2].copy()], split)
    check(lambda a, b: topi.nn.group_conv1d_nwc(a, b, 1, 1, 1, 2), [last(x), kernel_last(w[:, :2])], last(split))


def test_conv2d(check: Check) -> None:
    x, w = floats(7, 4, 6, 5), floats(6, 4, 3, 2, seed=1)
    expected = convolved(x, w, [2, 1], [1, 2], [(1, 0), (2, 1)])
    window = ((2, 1), (1, 2, 0, 1), (1, 2))
    check(lambda a, b: topi.nn.conv2d_nchw(a, b, *window), [x, w], expected)
    check(lambda a, b: topi.nn.conv2d(a, b, *window), [x, w], expected)
    check(lambda a, b: topi.nn.conv(a, b, *window, 1, "NCHW", "OIHW"), [x, w], expected)
    check(lambda a, b: topi.nn.conv2d_nhwc(a, b, *window), [last(x), kernel_last(w)], last(expected))
    hwcn = (2, 3, 1, 0)
    check(
        lambda a, b: topi.nn.conv2d_hwcn(a, b, *window),
        [x.transpose(hwcn).copy(), kernel_last(w)],
        expected.transpose(hwcn),
    )
    split = convolved(x, w[:, :2], [1, 1], [1, 1], [(1, 1), (1, 1)], 2)
    check(lambda a, b: topi.nn.group_conv2d_nchw(a, b, 1, 1, 1, 2), [x, w[:, :2].copy()], split)
    check(lambda a, b: topi.nn.group_conv2d_nhwc(a, b, 1, 1, 1, 2), [last(x), kernel_last(w[:, :2])], last(split))
    bytes_ = [(floats(*t.shape) * 50).astype("int8") for t in (x, w)]
    exact = convolved(*(t.astype("int32") for t in bytes_), [1, 1], [1, 1], [(0, 0), (0, 0)])
    check(lambda a, b: topi.nn.conv2d_nchw(a, b, 1, 0, 1, "int32"), bytes_, exact)


def test_conv3d(check: Check) -> None:
    x, w = floats(1, 4, 7, 4, 3), floats(2, 2, 2, 3, 1, seed=1)
    expected = convolved(x, w, [1, 2, 1], [1, 1, 1], [(0, 0), (1, 1), (0, 0)], 2)
    window = ((1, 2, 1), (0, 1, 0), 1, 2)
    check(lambda a, b: topi.nn.conv3d_ncdhw(a, b, *window), [x, w], expected)
    check(lambda a, b: topi.nn.conv3d_ndhwc(a, b, *window), [last(x), kernel_last(w)], last(expected))


def test_depthwise_conv2d(check: Check) -> None:
    x, w = floats(7, 3, 5, 6), floats(3, 2, 3, 3, seed=1)
    expected = convolved(x, w.reshape(6, 1, 3, 3), [2, 2], [1, 1], [(1, 1), (1, 1)], 3)
    check(lambda a, b: topi.nn.depthwise_conv2d_nchw(a, b, 2, 1, 1), [x, w], expected)
    check(
        lambda a, b: topi.nn.depthwise_conv2d_nhwc(a, b, 2, 1, 1),
        [last(x), w.transpose(2, 3, 0, 1).copy()],
        last(expected),
    )
    check(
        lambda a, b: topi.nn.depthwise_conv2d_nhwc(a, b, 2, 1, 1, "HWIO"),
        [last(x), w.transpose(2, 3, 1, 0).copy()],
        last(expected),
    )


def test_transposed_convolutions(check: Check) -> None:
    x1, w1 = floats(7, 4, 5), floats(4, 3, 3, seed=1)
    check(
        lambda a, b: topi.nn.conv1d_transpose_ncw(a, b, 2, 1, "float32", 1),
        [x1, w1],
        transposed(x1, w1, [2], [(1, 1)], [1]),
    )
    check(
        lambda a, b: topi.nn.group_conv1d_transpose_ncw(a, b, 2, 0, "float32", 0, 2),
        [x1, w1],
        transposed(x1, w1, [2], [(0, 0)], [0], 2),
    )
    x2, w2 = floats(7, 4, 3, 4), floats(4, 2, 3, 2, seed=1)
    expected = transposed(x2, w2, [2, 1], [(1, 0), (0, 1)], [1, 0])
    check(lambda a, b: topi.nn.conv2d_transpose_nchw(a, b, (2, 1), (1, 0, 0, 1), "float32", (1, 0)), [x2, w2], expected)
    check(
        lambda a, b: topi.nn.group_conv2d_transpose_nchw(a, b, 2, 0, "float32", 0, 2),
        [x2, w2],
        transposed(x2, w2, [2, 2], [(0, 0)] * 2, [0, 0], 2),
    )
    x3, w3 = floats(1, 2, 3, 2, 7), floats(2, 3, 2, 2, 2, seed=1)
    check(
        lambda a, b: topi.nn.conv3d_transpose_ncdhw(a, b, 2, 0, "float32", 0),
        [x3, w3],
        transposed(x3, w3, [2] * 3, [(0, 0)] * 3, [0] * 3),
    )
    check(
        lambda a, b: topi.nn.group_conv3d_transpose_ncdhw(a, b, 1, 0, "float32", 0, 2),
        [x3, w3],
        transposed(x3, w3, [1] * 3, [(0, 0)] * 3, [0] * 3, 2),
    )


def pooled(
    x: Any, size: Any, strides: Any, dilation: Any, padding: Pairs, kind: str, counted: bool, ceil: bool = False
) -> Any:
    rank = x.ndim - 2
    wide = [(b, a + (s - 1 if ceil else 0)) for (b, a), s in zip(padding, strides, strict=True)]
    points = tuple(range(2 + rank, 2 + 2 * rank))

    def begun(result: Any) -> Any:
        """Without the windows that begin behind the data and the padding before it, which there are in ceil mode."""
        counts = (-(-(n + b) // s) for n, (b, _), s in zip(x.shape[2:], padding, strides, strict=True))
        return result[(..., *(slice(n if ceil else None) for n in counts))]

    if kind == "max":
        return begun(windows(x, size, strides, dilation, wide, -np.inf).max(points))
    ones = np.pad(np.ones_like(x), [(0, 0), (0, 0), *(padding if counted else [(0, 0)] * rank)], constant_values=1)
    rest = [(w[0] - p[0], w[1] - p[1]) if counted else w for w, p in zip(wide, padding, strict=True)]
    total = windows(x, size, strides, dilation, wide, 0).sum(points)
    return begun(total / np.maximum(windows(ones, size, strides, dilation, rest, 0).sum(points), 1))


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pools(kind: str, check: Check) -> None:
    x = floats(7, 2, 5, 6)
    for counted, ceil in itertools.product([False, True], [False, True]):
        check(
            lambda a, c=counted, m=ceil: topi.nn.pool2d(a, (3, 2), (2, 2), (1, 1), (1, 0, 1, 1), kind, m, "NCHW", c),
            [x],
            pooled(x, (3, 2), (2, 2), (1, 1), [(1, 1), (0, 1)], kind, counted, ceil),
        )
    expected = pooled(x, (2, 2), (1, 1), (2, 1), [(0, 0)] * 2, kind, True)
    check(lambda a: topi.nn.pool2d(a, 2, 1, (2, 1), 0, kind, layout="NHWC"), [last(x)], last(expected))
    row = floats(2, 3, 7)
    check(lambda a: topi.nn.pool1d(a, 3, 2, 1, 1, kind), [row], pooled(row, [3], [2], [1], [(1, 1)], kind, True))
    cube = floats(1, 2, 7, 3, 4)
    check(
        lambda a: topi.nn.pool3d(a, 2, 1, 1, 0, kind),
        [cube],
        pooled(cube, [2] * 3, [1] * 3, [1] * 3, [(0, 0)] * 3, kind, True),
    )


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_adaptive_pools(kind: str, check: Check) -> None:
    reduce = np.max if kind == "max" else np.mean

    def adapted(x: Any, sizes: Sequence[int]) -> Any:
        out = np.zeros((*x.shape[:2], *sizes), "float32")
        for at in itertools.product(*map(range, sizes)):
            part = tuple(
                slice(i * n // m, -(-(i + 1) * n // m)) for i, n, m in zip(at, x.shape[2:], sizes, strict=True)
            )
            axes = tuple(range(2, x.ndim))
            out[(slice(None), slice(None), *at)] = reduce(x[(slice(None), slice(None), *part)], axis=axes)
        return out

    x = floats(7, 2, 5, 6)
    check(lambda a: topi.nn.adaptive_pool(a, (3, 2), kind), [x], adapted(x, (3, 2)))
    check(lambda a: topi.nn.adaptive_pool(a, (3, 2), kind, "NHWC"), [last(x)], last(adapted(x, (3, 2))))
    check(lambda a: topi.nn.global_pool(a, kind), [x], adapted(x, (1, 1)))
    blocks = floats(2, 2, 7, 5, 4)
    plain = blocks.transpose(0, 1, 4, 2, 3).reshape(2, 8, 7, 5)
    packed = adapted(plain, (3, 2)).reshape(2, 2, 4, 3, 2).transpose(0, 1, 3, 4, 2)
    check(lambda a: topi.nn.adaptive_pool(a, (3, 2), kind, "NCHW4c"), [blocks], packed)
    check(lambda a: topi.nn.adaptive_pool1d(a, 4, kind), [floats(2, 3, 7)], adapted(floats(2, 3, 7), (4,)))
    cube = floats(1, 2, 3, 4, 5)
    check(lambda a: topi.nn.adaptive_pool3d(a, (2, 3, 2), kind), [cube], adapted(cube, (2, 3, 2)))


def test_gradients_of_pools(check: Check) -> None:
    x, g = floats(7, 1, 4, 4), floats(7, 1, 2, 2, seed=1)
    spread = np.repeat(np.repeat(g, 2, 2), 2, 3)
    blocks = x.reshape(7, 1, 2, 2, 2, 2)
    greatest = (blocks == blocks.max((3, 5), keepdims=True)).reshape(x.shape)
    check(lambda a, b: topi.nn.pool_grad(a, b, 2, 2, 0, "avg"), [g, x], spread / 4)
    check(lambda a, b: topi.nn.pool_grad(a, b, 2, 2, 0, "max"), [g, x], spread * greatest)


def test_errors() -> None:
    x, w = te.placeholder((1, 4, 5, 5)), te.placeholder((2, 3, 3, 3))
    with pytest.raises(ShapeError, match="another number of channels"):
        topi.nn.conv2d_nchw(x, w, 1, 0, 1)
    with pytest.raises(ShapeError, match="unknown layout"):
        topi.nn.conv2d(x, w, 1, 0, 1, "NCHW", "OIHX")
    with pytest.raises(TiraxError, match="no layout of kernels"):
        topi.nn.conv2d(x, w, 1, 0, 1, "CNHW")
    with pytest.raises(TiraxError, match="unknown padding"):
        topi.nn.conv2d(x, te.placeholder((2, 4, 3, 3)), 1, "FULL", 1)
    with pytest.raises(TiraxError, match="unknown kind of pooling"):
        topi.nn.pool2d(x, 2, 1, 1, 0, "sum")
    with pytest.raises(ShapeError, match="extents of the kernel"):
        topi.nn.conv2d_nchw(x, te.placeholder((2, 4, te.var("k"), 3)), 1, 0, 1)
    with pytest.raises(TiraxError, match="laid out anew"):
        topi.nn.dense(te.placeholder((2, 3)), te.placeholder((4, 3)), auto_scheduler_rewritten_layout="ab")


def blocks(x: Any, size: int) -> Any:
    """(N, C, H, W) as (N, C / c, H, W, c)."""
    n, c, h, w = x.shape
    return x.reshape(n, c // size, size, h, w).transpose(0, 1, 3, 4, 2).copy()


def test_channels_in_blocks(check: Check) -> None:
    x, w = floats(7, 8, 5, 4), floats(6, 8, 3, 3, seed=1)
    expected = convolved(x, w, [2, 1], [1, 1], [(1, 1), (1, 1)])
    kernels = w.reshape(2, 3, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1).copy()
    layouts = ("NCHW4c", "NCHW3c")
    check(lambda a, b: topi.nn.conv2d_NCHWc(a, b, (2, 1), 1, 1, *layouts), [blocks(x, 4), kernels], blocks(expected, 3))
    own = floats(8, 2, 3, 3, seed=2)
    deep = convolved(x, own.reshape(16, 1, 3, 3), [1, 1], [1, 1], [(0, 0), (0, 0)], 8)
    packed = own.reshape(2, 8, 3, 3).transpose(0, 2, 3, 1)[:, None, :, :, None].copy()
    check(
        lambda a, b: topi.nn.depthwise_conv2d_NCHWc(a, b, 1, 0, 1, "NCHW4c", "NCHW8c"),
        [blocks(x, 4), packed],
        blocks(deep, 8),
    )
    check(lambda a: topi.nn.unpack_NCHWc_to_nchw(a, "float32"), [blocks(x, 4)], x)
