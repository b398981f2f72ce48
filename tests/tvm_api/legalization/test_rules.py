"""The programs that `relax.transform.LegalizeOps` writes stage by stage compute what numpy does."""

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I\nfrom tvm.script import relax as R\n\n"


def computed(call, *arrays):
    """Return what a call of an operator gives after `LegalizeOps`, which must leave no operator."""
    params = ", ".join(f'{n}: R.Tensor({a.shape}, "{a.dtype}")' for n, a in zip("xyzw", arrays, strict=False))
    body = f"    @R.function\n    def main({params}):\n        gv = R.{call}\n        return gv\n"
    module = relax.transform.LegalizeOps()(from_source(f"{HEAD}@I.ir_module\nclass Module:\n{body}"))
    assert f"R.{call.split('(')[0]}(" not in module.script()
    vm = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    return vm["main"](*map(tvm.nd.array, arrays)).numpy()


def normal(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype("float32")


def windows(x, size, stride, head, tail, value):
    padded = np.pad(x, [(0, 0), (0, 0), (head, tail), (head, tail)], constant_values=value)
    return np.lib.stride_tricks.sliding_window_view(padded, (size, size), (2, 3))[:, :, ::stride, ::stride]


@pytest.mark.parametrize(("ceil", "tail"), [(False, 1), (True, 2)])
@pytest.mark.parametrize("counted", [False, True])
def test_pools(ceil, tail, counted):
    x = normal(1, 2, 8, 8)
    call = f"_pool2d(x, pool_size=3, strides=2, padding=1, ceil_mode={ceil}, count_include_pad={counted})"
    np.testing.assert_allclose(computed(f"nn.max{call}", x), windows(x, 3, 2, 1, tail, -np.inf).max((-2, -1)))
    counts = windows(np.ones_like(x), 3, 2, 1, tail, 0)
    counts = windows(np.ones((1, 2, 10, 10), "float32"), 3, 2, 0, tail - 1, 0) if counted else counts
    expected = windows(x, 3, 2, 1, tail, 0).sum((-2, -1)) / counts.sum((-2, -1))
    np.testing.assert_allclose(computed(f"nn.avg{call}", x), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_adaptive_pools(size):
    x = normal(1, 2, 8, 6)
    rows, columns = (np.array_split(np.arange(n), size) if n % size == 0 else None for n in (8, 6))
    if rows is None:  # windows overlap
        rows = [np.arange(i * 8 // size, -(-(i + 1) * 8 // size)) for i in range(size)]
    expected = np.stack([[x[:, :, r][:, :, :, c].mean((2, 3)) for c in columns] for r in rows]).transpose(2, 3, 0, 1)
    np.testing.assert_allclose(computed(f"nn.adaptive_avg_pool2d(x, {size})", x), expected, rtol=1e-5, atol=1e-6)


def transposed(x, w, stride, padding, added, groups):
    """Return the transposed convolution in one dimension: each element adds a multiple of its kernel."""
    batch, inputs, length = x.shape
    per, outputs, size = inputs // groups, w.shape[1], w.shape[2]
    out = np.zeros((batch, outputs * groups, (length - 1) * stride + size + added), "float32")
    for c in range(inputs):
        first = c // per * outputs
        for i in range(length):
            at = slice(i * stride, i * stride + size)
            out[:, first : first + outputs, at] += x[:, c, i, None, None] * w[c]
    return out[:, :, padding : out.shape[2] - padding]


@pytest.mark.parametrize(("stride", "padding", "added", "groups"), [(1, 0, 0, 1), (2, 1, 1, 1), (3, 2, 2, 2)])
def test_transposed_convolutions(stride, padding, added, groups):
    x, w = normal(2, 4, 5), normal(4, 3, 3)
    call = f"nn.conv1d_transpose(x, y, strides={stride}, padding={padding}, output_padding={added}, groups={groups})"
    expected = transposed(x, w, stride, padding, added, groups)
    np.testing.assert_allclose(computed(call, x, w), expected, rtol=1e-5, atol=1e-5)


def normalized(x, axes):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)


def test_norms():
    x, gamma, beta = normal(2, 3, 4, 5), normal(4, 5), normal(4, 5) + 1
    expected = normalized(x, (2, 3)) * gamma + beta
    np.testing.assert_allclose(computed("nn.layer_norm(x, y, z, axes=[-2, -1])", x, gamma, beta), expected, rtol=1e-4)
    scaled = x / np.sqrt((x * x).mean((2, 3), keepdims=True) + 1e-5) * gamma
    np.testing.assert_allclose(computed("nn.rms_norm(x, y, axes=[-2, -1])", x, gamma), scaled, rtol=1e-5)
    x, gamma, beta = normal(2, 6, 3, 3), normal(6), normal(6) + 1
    apart = normalized(x.reshape(2, 3, 2, 3, 3), (2, 3, 4)).reshape(x.shape)
    call = "nn.group_norm(x, y, z, num_groups=3, channel_axis=1, axes=[2, 3])"
    expected = apart * gamma[:, None, None] + beta[:, None, None]
    np.testing.assert_allclose(computed(call, x, gamma, beta), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_losses(reduction):
    x, weights = normal(3, 5), np.abs(normal(5)) + 1
    targets = np.array([4, 1, 0])
    kept = (targets != 1) * weights[targets]
    losses = -x[np.arange(3), targets] * kept
    expected = {"none": losses, "sum": losses.sum(), "mean": losses.sum() / kept.sum()}[reduction]
    call = f'nn.nll_loss(x, y, z, reduction="{reduction}", ignore_index=1)'
    np.testing.assert_allclose(computed(call, x, targets, weights), expected, rtol=1e-5)


@pytest.mark.parametrize("mask", [None, "TopLeft", "BottomRight"])
def test_attention(mask):
    q, k, v = normal(2, 4, 3, 8), normal(2, 4, 3, 8) + 1, normal(2, 4, 3, 6)
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(8)
    powers = np.exp(scores - scores.max(-1, keepdims=True)) * (1 if mask is None else np.tri(4))
    expected = np.einsum("bhij,bjhd->bihd", powers / powers.sum(-1, keepdims=True), v)
    call = "nn.attention(x, y, z)" if mask is None else f'nn.attention(x, y, z, causal_mask="{mask}")'
    np.testing.assert_allclose(computed(call, q, k, v), expected, rtol=1e-4, atol=1e-5)


def test_pool_gradients():
    x, grads = normal(1, 1, 6, 6), normal(1, 1, 3, 3)
    expected = np.zeros_like(x)
    for i in range(3):
        for j in range(3):
            block = x[0, 0, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2]
            r, c = np.unravel_index(block.argmax(), (2, 2))
            expected[0, 0, 2 * i + r, 2 * j + c] = grads[0, 0, i, j]
    call = "_pool2d_backward(x, y, (2, 2), (2, 2))"
    np.testing.assert_allclose(computed(f"grad.max{call}", grads, x), expected)
    shared = np.kron(grads, np.full((2, 2), 0.25, "float32"))
    np.testing.assert_allclose(computed(f"grad.avg{call}", grads, x), shared, rtol=1e-6)
