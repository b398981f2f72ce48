"""The programs that tuning is tried on compute what they are called."""

import numpy as np
import pytest

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.handles.module import IRModule
from tirax.interpreter import interpret
from tirax.te.create import prim_func_of
from tirax.transforms.tir.analysis import estimate_tir_flops
from tirax.tuning import workloads
from tirax.tvm_api.meta_schedule.testing.te_workload import create_te_workload


def run(tensors, *inputs):
    func = prim_func_of(tensors)
    out = np.zeros([int(d) for d in tensors[-1].shape], tensors[-1].dtype)
    interpret(IRModule({"main": func}), "main", (*inputs, out))
    return out


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def convolved(x, w, stride, padding, dilation=1, groups=1):
    """A convolution by its definition: channels last, any number of dimensions."""
    d = w.ndim - 2
    x = np.pad(x, [(0, 0), *[(padding, padding)] * d, (0, 0)]).astype("float64")
    k = w.shape[0]
    out = [(n - dilation * (k - 1) - 1) // stride + 1 for n in x.shape[1:-1]]
    result = np.zeros((x.shape[0], *out, w.shape[-1]))
    per_in, per_out = x.shape[-1] // groups, w.shape[-1] // groups
    for tap in np.ndindex(*w.shape[:d]):
        at = tuple(
            slice(t * dilation, t * dilation + (n - 1) * stride + 1, stride) for t, n in zip(tap, out, strict=True)
        )
        for g in range(groups):
            ins, outs = slice(g * per_in, (g + 1) * per_in), slice(g * per_out, (g + 1) * per_out)
            result[..., outs] += x[(slice(None), *at, ins)] @ w[tap][:, outs]
    return result


def same(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_convolutions():
    x, w = random(1, 9, 4), random(3, 4, 5)
    same(run(workloads.conv1d_nlc(1, 9, 4, 5, 3, 2, 1), x, w), convolved(x, w, 2, 1))
    x, w = random(1, 6, 7, 4), random(3, 3, 2, 6)
    same(run(workloads.conv2d_nhwc(1, 6, 7, 4, 6, 3, 1, 2, 2, 2), x, w), convolved(x, w, 1, 2, 2, 2))
    x, w = random(1, 4, 4, 4, 2), random(2, 2, 2, 2, 3)
    same(run(workloads.conv3d_ndhwc(1, 4, 4, 4, 2, 3, 2), x, w), convolved(x, w, 1, 0))
    x, w = random(1, 5, 5, 3), random(1, 3, 3, 3)
    expected = convolved(x, np.moveaxis(w, 0, 2), 1, 1, groups=3)
    same(run(workloads.depthwise_conv2d_nhwc(1, 5, 5, 3, 3, 1, 1), x, w), expected)


def test_a_transposed_convolution():
    x, w = random(1, 3, 4, 2), random(4, 4, 2, 3)
    expected = np.zeros((1, 8, 10, 3))
    for i, j in np.ndindex(3, 4):
        expected[:, 2 * i : 2 * i + 4, 2 * j : 2 * j + 4] += np.einsum("c,hwco->hwo", x[0, i, j], w)
    same(run(workloads.conv2d_transpose_nhwc(1, 3, 4, 2, 3, 4, 2, 1), x, w), expected[:, 1:-1, 1:-1])


def test_a_convolution_of_capsules():
    x, w = random(1, 4, 4, 2, 2, 3), random(3, 3, 2, 2, 3, 2)
    padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0), (0, 0), (0, 0)])
    expected = np.zeros((1, 2, 2, 2, 2, 2))
    for i, j in np.ndindex(2, 2):
        window = padded[:, 2 * i : 2 * i + 3, 2 * j : 2 * j + 3]
        expected[:, i, j] = np.einsum("bhwukc,hwkvco->buvo", window, w)
    same(run(workloads.conv2d_capsule_nhwijc(1, 4, 4, 3, 2, 3, 2, 1, 2), x, w), expected)


def test_products_and_normalizations():
    a, b = random(2, 3, 5), random(2, 5, 4)
    same(run(workloads.batch_matmul_nkkm(2, 3, 4, 5), a, b), a @ b)
    same(run(workloads.matmul_relu(3, 4, 5), a[0], b[0]), np.maximum(a[0] @ b[0], 0))
    same(run(workloads.norm_bmn(2, 3, 5), a), np.sqrt((a.astype("float64") ** 2).sum((1, 2))))
    powers = np.exp(a[0].astype("float64"))
    same(run(workloads.softmax_mn(3, 5), a[0]), powers / powers.sum(1, keepdims=True))
    q, v = random(2, 3, 4, 5), random(2, 3, 4, 5)[::-1].copy()
    same(run(workloads.transpose_batch_matmul(2, 3, 4, 5), q, v), np.einsum("bihd,bjhd->bhij", q, v))
    x, w = random(1, 5, 5, 2), random(3, 3, 2, 3)
    bias, offset, scale = random(3), random(3) + 1, random(3) - 1
    expected = np.maximum((convolved(x, w, 2, 1) + bias) * scale + offset, 0)
    same(run(workloads.conv2d_nhwc_bn_relu(1, 5, 5, 2, 3, 3, 2, 1), x, w, bias, offset, scale), expected)


@pytest.mark.parametrize(
    ("name", "flops"),
    [("GMM", 2 * 128**3), ("C2D", 236027904), ("DEP", 7225344), ("NRM", 2 * 256**2), ("SFM", 4 * 256**2)],
)
def test_sizes(name, flops):
    assert estimate_tir_flops(IRModule({"main": create_te_workload(name, 0)})) == flops


def test_what_is_not_there():
    with pytest.raises(NameLookupError, match="GMM"):
        workloads.workload("GM")
    with pytest.raises(TiraxError, match="0 to 2"):
        workloads.workload("GMM", 3)


def test_all_are_there():
    for name, (_, sizes) in workloads.WORKLOADS.items():
        assert all(workloads.workload(name, i).params for i in range(len(sizes)))


@pytest.mark.parametrize(
    ("name", "axes"),
    [
        ("C1D", "n, l, co, rl, rc"),
        ("C2D", "n, h, w, co, rh, rw, rc"),
        ("C3D", "n, d, h, w, co, rd, rh, rw, rc"),
        ("DEP", "n, h, w, c, rh, rw"),
        ("T2D", "n, h, w, co, rh, rw, rc"),
        ("CAP", "n, h, w, cap_i, cap_j, co, rh, rw, cap_k, rc"),
        ("CBR", "nn, yy, xx, ff, ry, rx, rc"),
        ("TBG", "b, h, d, l"),
    ],
)
def test_axes_are_called_by_what_they_are(name, axes):
    assert f"for {axes} in T.grid(" in workloads.workload(name).script()


@pytest.mark.parametrize(
    ("make", "sizes"),
    [
        (workloads.conv1d_nlc, (1, 8, 4, 4, 3)),
        (workloads.conv2d_nhwc, (1, 8, 8, 4, 4, 3)),
        (workloads.conv3d_ndhwc, (1, 4, 8, 8, 4, 4, 3)),
        (workloads.depthwise_conv2d_nhwc, (1, 8, 8, 4, 3)),
        (workloads.conv2d_transpose_nhwc, (1, 4, 4, 4, 4, 3)),
        (workloads.conv2d_capsule_nhwijc, (1, 4, 4, 2, 2, 3)),
        (workloads.conv2d_nhwc_bn_relu, (1, 8, 8, 4, 4, 3)),
        (workloads.transpose_batch_matmul, (1, 4, 2, 4)),
    ],
)
def test_products_are_of_the_result_dtype(make, sizes) -> None:
    """Factors are converted before they are multiplied; the result has the dtype."""
    tensors = make(*sizes, in_dtype="float16", out_dtype="float32")
    assert tensors[0].dtype == "float16" and tensors[-1].dtype == "float32"
