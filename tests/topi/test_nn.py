"""Layers, normalisation, padding, images, against numpy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import floats

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.tvm_api import te, topi

Check = Callable[..., None]
nn, image = topi.nn, topi.image


def softmaxed(x: Any, axis: int) -> Any:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def test_activations(check: Check) -> None:
    x = floats(7, 3)
    check(nn.relu, [x], np.maximum(x, 0))
    check(lambda t: nn.leaky_relu(t, 0.1), [x], np.where(x > 0, x, 0.1 * x))
    slope = floats(3, seed=1)
    check(nn.prelu, [x, slope], np.where(x > 0, x, x * slope))
    check(lambda t: nn.softplus(t, 2.0), [x], np.log1p(np.exp(2 * x)) / 2)
    for axis in (0, -1):
        check(lambda t, a=axis: nn.softmax(t, a), [x], softmaxed(x, axis))
        check(lambda t, a=axis: nn.log_softmax(t, a), [x], np.log(softmaxed(x, axis)))
        check(lambda t, a=axis: nn.fast_softmax(t, a), [x], softmaxed(x, axis), 1e-3)
        check(lambda t, a=axis: nn.softmax_common(t, a, False), [x], softmaxed(x, axis))
    check(nn.flatten, [floats(7, 2, 3)], floats(7, 2, 3).reshape(7, 6))


def test_products(check: Check) -> None:
    x, w, b = floats(7, 4), floats(5, 4, seed=1), floats(5, seed=2)
    check(nn.dense, [x, w, b], x @ w.T + b)
    for a, c in itertools.product([False, True], repeat=2):
        operands = [x.T.copy() if a else x, w if c else w.T.copy(), b]
        check(lambda p, q, r, a=a, c=c: nn.matmul(p, q, r, None, a, c), operands, x @ w.T + b)
    y, z = floats(7, 2, 4), floats(7, 5, 4, seed=1)
    check(nn.batch_matmul, [y, z], y @ z.transpose(0, 2, 1))
    check(nn.batch_matmul, [y, z[:1].copy()], y @ z[:1].transpose(0, 2, 1))
    small = (floats(7, 4) * 50).astype("int8")
    wide = small.astype("int32")
    check(lambda p: nn.dense(p, p, None, "int32"), [small], wide @ wide.T)


def normalized(x: Any, axes: Any) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_normalisation(check: Check) -> None:
    x, scale, shift = floats(7, 4, 3), floats(4, seed=1), floats(4, seed=2)
    mean, variance = floats(4, seed=3), floats(4, low=0.1, seed=4)
    column = (slice(None), None)
    plain = (x - mean[column]) / np.sqrt(variance[column] + 1e-5) * scale[column] + shift[column]
    check(nn.batch_norm, [x, scale, shift, mean, variance], [plain, mean, variance])
    trained = normalized(x, (0, 2)) * scale[column] + shift[column]
    check(
        lambda *t: nn.batch_norm(*t, training=True, momentum=0.3),
        [x, scale, shift, mean, variance],
        [trained, 0.7 * mean + 0.3 * x.mean((0, 2)), 0.7 * variance + 0.3 * x.var((0, 2))],
    )
    bare = (x - mean[column]) / np.sqrt(variance[column] + 1e-5)
    check(
        lambda *t: nn.batch_norm(*t, center=False, scale=False),
        [x, scale, shift, mean, variance],
        [bare, mean, variance],
    )
    g, b = floats(4, 3, seed=5), floats(4, 3, seed=6)
    check(lambda t, p, q: nn.layer_norm(t, p, q, (1, 2)), [x, g, b], normalized(x, (1, 2)) * g + b)
    check(lambda t, p, q: nn.layer_norm(t, p, q, -1), [x, g[0], b[0]], normalized(x, -1) * g[0] + b[0])
    grouped = normalized(x.reshape(7, 2, 2, 3), (2, 3)).reshape(x.shape)
    factors = scale[column], shift[column]
    check(lambda *t: nn.group_norm(*t, 2, 1, [2]), [x, scale, shift], grouped * factors[0] + factors[1])
    check(lambda t: nn.group_norm(t, None, None, 2, 1, [2]), [x], grouped)
    own = normalized(x, 2) * factors[0] + factors[1]
    check(lambda *t: nn.instance_norm(*t, 1, [2]), [x, scale, shift], own)
    root = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    check(lambda t, w: nn.rms_norm(t, w, -1), [x, floats(3, seed=7)], root * floats(3, seed=7))
    squares = np.pad(x * x, [(0, 0), (1, 1), (0, 0)])
    around = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    check(lambda t: nn.lrn(t, 3, 1, 0.1, 0.5, 2), [x], x / np.sqrt(2 + 0.1 / 3 * around))
    with pytest.raises(TiraxError, match="axes of a normalisation"):
        nn.layer_norm(te.placeholder((2, 3)), te.placeholder((3,)), None, None)


def test_scales_queues_losses(check: Check) -> None:
    x, s, t = floats(7, 3, 2, 2), floats(3, seed=1), floats(3, seed=2)
    column = (slice(None), None, None)
    check(nn.scale_shift_nchw, [x, s, t], x * s[column] + t[column])
    check(nn.scale_shift_nhwc, [x.transpose(0, 2, 3, 1).copy(), s, t], x.transpose(0, 2, 3, 1) * s + t)
    y, p, q = floats(1, 3, 2, 2, 4), floats(3, 4, seed=1), floats(3, 4, seed=2)
    check(nn.scale_shift_nchwc, [y, p, q], y * p[:, None, None] + q[:, None, None])
    old, new = floats(7, 4), floats(2, 4, seed=1)
    check(lambda d, b: nn.fifo_buffer(d, b, 0), [new, old], np.concatenate([old[2:], new]))
    scores, targets = floats(7, 4), np.array([0, 1, 2, 3, 1, 0, 2])
    weights = floats(4, low=0.1, seed=3)
    each = -scores[np.arange(7), targets] * weights[targets] * (targets != 2)
    check(lambda *t: nn.nll_loss(*t, "none", 2), [scores, targets, weights], each)
    total = (weights[targets] * (targets != 2)).sum()
    check(lambda *t: nn.nll_loss(*t, "mean", 2), [scores, targets, weights], each.sum() / total)
    check(lambda *t: nn.nll_loss(*t, "sum", 2), [scores, targets, weights], each.sum())


def test_padding(check: Check) -> None:
    x = floats(7, 4, 5)
    widths = [(0, 0), (1, 2), (2, 1)]
    before, after = zip(*widths, strict=True)
    check(lambda t: nn.pad(t, before, after, 3.0), [x], np.pad(x, widths, constant_values=3))
    check(lambda t: nn.pad(t, [1, 0, 2]), [x], np.pad(x, [(1, 1), (0, 0), (2, 2)]))
    modes = {"reflect_pad": "reflect", "replicate_pad": "edge", "circular_pad": "wrap", "mirror_pad": "symmetric"}
    for name, mode in modes.items():
        check(lambda t, n=name: getattr(nn, n)(t, before, after), [x], np.pad(x, widths, mode=mode))
    check(lambda t: nn.mirror_pad(t, before, after, "REFLECT"), [x], np.pad(x, widths, mode="reflect"))
    check(lambda t: nn.mirror_pad(t, (1, 0, 0)), [x], np.pad(x, [(1, 1), (0, 0), (0, 0)], mode="symmetric"))
    assert [int(d) for d in nn.get_padded_shape(te.placeholder((7, 4, 5)), before, after)] == [7, 7, 8]
    spread = np.full((7, 7, 5), 2, "float32")
    spread[:, ::2] = x
    check(lambda t: nn.dilate(t, (1, 2, 1), 2.0), [x], spread)
    with pytest.raises(NameLookupError, match="mode of mirror_pad"):
        nn.mirror_pad(te.placeholder((3,)), [1], mode="ROUND")


def test_blocks_of_pixels(check: Check) -> None:
    x = floats(7, 8, 4, 6)
    n, c, h, w = x.shape
    deep = x.reshape(n, c, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(n, 4 * c, 2, 3)
    check(lambda t: nn.space_to_depth(t, 2), [x], deep)
    check(lambda t: nn.depth_to_space(t, 2), [deep.copy()], x)
    last = (0, 2, 3, 1)
    check(lambda t: nn.space_to_depth(t, 2, "NHWC"), [x.transpose(last).copy()], deep.transpose(last))
    fast = x.reshape(n, 2, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, 2, 2 * h, 2 * w)
    check(lambda t: nn.depth_to_space(t, 2, "NCHW", "CRD"), [x], fast)
    y = floats(7, 3, 4, 2)
    padded = np.pad(y, [(0, 0), (1, 0), (2, 2), (0, 0)], constant_values=5)
    batches = padded.reshape(7, 2, 2, 4, 2, 2).transpose(2, 4, 0, 1, 3, 5).reshape(28, 2, 4, 2)
    check(lambda t: nn.space_to_batch_nd(t, [2, 2], [1, 2], [0, 2], 5.0), [y], batches)
    check(lambda t: nn.batch_to_space_nd(t, [2, 2], [1, 2], [0, 2]), [batches[:, :, :, :].copy()], y)
    with pytest.raises(NameLookupError, match="mode of depth_to_space"):
        nn.depth_to_space(te.placeholder((1, 4, 2, 2)), 2, mode="ABC")


def linear(x: Any, axis: int, size: int, position: Callable[[Any], Any]) -> Any:
    at = position(np.arange(size))
    low = np.floor(at).astype(int)
    first, second = (np.take(x, np.clip(i, 0, x.shape[axis] - 1), axis) for i in (low, low + 1))
    weight = (at - low).reshape([-1 if n == axis % x.ndim else 1 for n in range(x.ndim)])
    return first * (1 - weight) + second * weight


def half(n: int, m: int) -> Callable[[Any], Any]:
    return lambda i: (i + 0.5) * n / m - 0.5


def test_resizing(check: Check) -> None:
    row, x, cube = floats(7, 2, 5), floats(7, 2, 3, 4), floats(1, 7, 2, 3, 2)
    check(lambda t: image.resize1d(t, (0, 0), (8,)), [row], linear(row, 2, 8, half(5, 8)))
    expected = linear(linear(x, 2, 5, half(3, 5)), 3, 6, half(4, 6))
    check(lambda t: image.resize2d(t, None, (5, 6)), [x], expected)
    check(
        lambda t: image.resize2d(t, (0,) * 4, (5, 6), "NHWC"),
        [x.transpose(0, 2, 3, 1).copy()],
        expected.transpose(0, 2, 3, 1),
    )
    check(lambda t: image.resize2d(t, None, None, output_shape=(t.shape[0], 2, 5, 6)), [x], expected)
    volume = linear(linear(linear(cube, 2, 4, half(2, 4)), 3, 5, half(3, 5)), 4, 3, half(2, 3))
    check(lambda t: image.resize3d(t, None, (4, 5, 3)), [cube], volume)
    nearest = np.repeat(np.repeat(x, 2, 2), 3, 3)
    check(lambda t: nn.upsampling(t, 2, 3), [x], nearest)
    bilinear = linear(linear(x, 2, 6, lambda i: i * 2 / 5), 3, 8, lambda i: i * 3 / 7)
    check(lambda t: nn.upsampling(t, 2, 2, method="bilinear", align_corners=True), [x], bilinear)
    thrice = np.repeat(np.repeat(np.repeat(cube, 2, 2), 2, 3), 2, 4)
    check(lambda t: nn.upsampling3d(t, 2, 2, 2, coordinate_transformation_mode="asymmetric"), [cube], thrice)
    with pytest.raises(NameLookupError, match="method of resizing"):
        image.resize2d(te.placeholder((1, 1, 2, 2)), None, (3, 3), method="linaer")


def test_crop_and_resize(check: Check) -> None:
    x = floats(2, 3, 5, 6)
    boxes = np.array([[0, 0, 1, 1], [0.25, 0.2, 0.75, 0.8], [0.5, 0.5, 1.5, 1]], "float32")
    which = np.array([0, 1, 1], "int32")
    out = np.full((3, 3, 3, 4), 9, "float32")
    for n, (y1, x1, y2, x2) in enumerate(boxes):
        for i, j in itertools.product(range(3), range(4)):
            y, z = y1 * 4 + i * (y2 - y1) * 4 / 2, x1 * 5 + j * (x2 - x1) * 5 / 3
            if not (0 <= y <= 4 and 0 <= z <= 5):
                continue
            a, b = int(y), int(z)
            c, d = min(a + 1, 4), min(b + 1, 5)
            p, q, own = y - a, z - b, x[which[n]]
            top, low = (own[:, r, b] * (1 - q) + own[:, r, d] * q for r in (a, c))
            out[n, :, i, j] = top * (1 - p) + low * p
    check(lambda *t: image.crop_and_resize(*t, (3, 4), extrapolation_value=9.0), [x, boxes, which], out)
    last = [x.transpose(0, 2, 3, 1).copy(), boxes, which]
    check(lambda *t: image.crop_and_resize(*t, (3, 4), "NHWC", extrapolation_value=9), last, out.transpose(0, 2, 3, 1))
    full = np.array([[0, 0, 1, 1]], "float32")
    check(lambda *t: image.crop_and_resize(*t, (5, 6), method="nearest_neighbor"), [x, full, which[:1]], x[:1])


def test_sampling(check: Check) -> None:
    identity = np.array([[[1, 0, 0], [0, 1, 0]]], "float32").repeat(7, 0)
    ys, xs = np.meshgrid(np.linspace(-1, 1, 3), np.linspace(-1, 1, 4), indexing="ij")
    grid = np.stack([xs, ys])[None].repeat(7, 0).astype("float32")
    check(lambda t: image.affine_grid(t, (3, 4)), [identity], grid)
    x = floats(7, 2, 3, 4)
    check(image.grid_sample, [x, grid], x)
    check(
        lambda a, g: image.grid_sample(a, g, "nearest", padding_mode="border"),
        [x, grid * 3],
        np.take(np.take(x, [0, 1, 2], 2), [0, 0, 3, 3], 3)[:, :, [0, 1, 2]],
    )
    with pytest.raises(TiraxError, match="channels first"):
        image.grid_sample(te.placeholder((1, 2, 3, 4)), te.placeholder((1, 2, 3, 4)), layout="NHWC")


def test_dilation2d(check: Check) -> None:
    x, w = floats(7, 3, 5, 6), floats(3, 2, 3, seed=1)
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=np.finfo("float32").min)
    view = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), (2, 3))[:, :, ::2, ::2]
    expected = (view + w[:, None, None]).max((-1, -2))
    check(lambda a, b: image.dilation2d_nchw(a, b, 2, 1, 1), [x, w], expected)
    last = [x.transpose(0, 2, 3, 1).copy(), w.transpose(1, 2, 0).copy()]
    check(lambda a, b: image.dilation2d_nhwc(a, b, 2, 1, 1), last, expected.transpose(0, 2, 3, 1))
