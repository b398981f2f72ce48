"""Every function of `nn.op`: the text of what it emits, and what that computes, at sizes 0, 1 and 3.

The texts (tests/golden/nn) were compared with TVM's for these same programs; docs/nn.md names the differences.
"""

import math
from functools import cache

import numpy as np
import pytest
from strength import thinned

import tirax.tvm_api as tvm
from tirax import te
from tirax.diagnostics import NameLookupError, ShapeError, TiraxError, UnsupportedError
from tirax.frontend import nn
from tirax.frontend.nn import op
from tirax.interpreter import interpret, random_inputs, symbolic_sizes
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import relax

SIZES = (0, 1, 3)


def T(*shape, dtype="float32"):
    return nn.spec.Tensor(shape, dtype)


X = {"x": T("n", 4)}
XY = {"x": T("n", 4), "y": T("n", 4)}
QKV = {name: T(2, "s", 2, 4) for name in "qkv"}


def convolved(x, w, b=None, stride=1, pad=0, dilation=1, groups=1):
    """Convolution of (N, C, *space) by (O, I, *space)."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(pad, pad)] * rank)
    span = [dilation * (k - 1) + 1 for k in w.shape[2:]]
    windows = np.lib.stride_tricks.sliding_window_view(x, span, axis=tuple(range(2, x.ndim)))
    windows = windows[(..., *[slice(None, None, stride)] * rank, *[slice(None, None, dilation)] * rank)]
    parts = np.split(windows, groups, axis=1), np.split(w, groups, axis=0)
    axes = [1, *range(2 + rank, 2 + 2 * rank)], [1, *range(2, 2 + rank)]
    out = np.concatenate([np.moveaxis(np.tensordot(p, q, axes), -1, 1) for p, q in zip(*parts, strict=True)], axis=1)
    return out if b is None else out + b.reshape(-1, *[1] * rank)


def transposed(x, w, b, stride, pad, more):
    """The transpose of a convolution of (N, C, W) by (I, O, W)."""
    n, _, width = x.shape
    out = np.zeros((n, w.shape[1], (width - 1) * stride + w.shape[2] + more), x.dtype)
    for i in range(width):
        out[:, :, i * stride : i * stride + w.shape[2]] += np.tensordot(x[:, :, i], w, ([1], [0]))
    return out[:, :, pad : out.shape[2] - pad] + b[:, None]


def attention(q, k, v, mask=0, scale=None):
    q, k, v = (a.transpose(0, 2, 1, 3) for a in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (q.shape[-1] ** -0.5 if scale is None else scale) + mask
    return (softmax(scores) @ v).transpose(0, 2, 1, 3)


def softmax(x, axis=-1):
    e = np.exp(x - (x.max(axis, keepdims=True) if x.size else 0))
    return e / e.sum(axis, keepdims=True)


def normed(x, axes, eps=1e-5):
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    return (x - mean) / np.sqrt(var + eps)


def rms(x, w, eps=1e-5):
    wide = x.astype("float32")
    return (wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + eps)).astype(x.dtype) * w


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf, otypes=["float32"])(x / math.sqrt(2)))


def steps(x, dim, flip=False, shift=1.0, scale=1.0):
    half = dim // 2
    angles = scale * x[:, None] * np.exp(-math.log(10000) * np.arange(half) / (half - shift))[None]
    parts = (np.cos(angles), np.sin(angles)) if flip else (np.sin(angles), np.cos(angles))
    return np.pad(np.concatenate(parts, -1), [(0, 0), (0, dim % 2)]).astype("float32")


def activations(x):
    return (
        op.relu(x),
        op.relu6(x * 10.0),
        op.silu(x),
        op.gelu(x),
        op.gelu(x, approximate="tanh"),
        op.sigmoid(x),
        op.softmax(x),
        op.softplus(x),
        op.softplus(x, beta=2.0, threshold=1.0),
        op.tanh(x),
    )


def activated(x):
    sig = 1 / (1 + np.exp(-x))
    by_tanh = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    soft2 = np.where(x * 2 > 1, x, np.log1p(np.exp(2 * x)) / 2)
    return (
        np.maximum(x, 0),
        np.clip(x * 10, 0, 6),
        x * sig,
        gelu(x),
        by_tanh,
        sig,
        softmax(x),
        np.log1p(np.exp(x)),
        soft2,
        np.tanh(x),
    )


CASES = {
    "unsqueeze": (lambda x: op.unsqueeze(x, 1), X, lambda x: x[:, None]),
    "squeeze": (lambda x: (op.squeeze(x, 1), op.squeeze(x)), {"x": T("n", 1, 1)}, lambda x: (x[:, 0], x[..., 0])),
    "concat": (lambda x, y: op.concat([x, y], dim=0), XY, lambda x, y: np.concatenate([x, y])),
    "arithmetic": (
        lambda x, y: op.divide(op.multiply(op.subtract(op.add(x, y), y), x), op.exp(y)),
        XY,
        lambda x, y: x * x / np.exp(y),
    ),
    "numbers": (
        lambda x: ((1.0 + x) * 2 - 3.5, 3 - 2 * x, 2 / (x * x + 1), -x),
        X,
        lambda x: ((1 + x) * 2 - 3.5, 3 - 2 * x, 2 / (x * x + 1), -x),
    ),
    "comparisons": (
        lambda x, y: (x < y, x <= y, x > y, x >= y, op.equal(x, x), op.not_equal(x, y)),
        XY,
        lambda x, y: (x < y, x <= y, x > y, x >= y, x == x, x != y),
    ),
    "less": (
        lambda x, y: (op.less(x, y), op.less_equal(x, y), op.greater(x, y), op.greater_equal(x, y)),
        XY,
        lambda x, y: (x < y, x <= y, x > y, x >= y),
    ),
    "maximum": (
        lambda x, y: (op.maximum(x, y), op.minimum(x, y), x.maximum(0.5), x.minimum(y)),
        XY,
        lambda x, y: (np.maximum(x, y), np.minimum(x, y), np.maximum(x, 0.5), np.minimum(x, y)),
    ),
    "where": (
        lambda x, y: (op.where(x < y, x, y), op.where(op.astype(op.floor(x), "int32"), x, y)),
        XY,
        lambda x, y: (np.where(x < y, x, y), np.where(np.floor(x).astype("int32") != 0, x, y)),
    ),
    "functions": (
        lambda x: (op.square(x), op.sqrt(op.exp(x)), op.log(op.exp(x)), op.floor(x), op.negative(x)),
        X,
        lambda x: (x * x, np.exp(x / 2), x, np.floor(x), -x),
    ),
    "activations": (activations, X, activated),
    "prelu": (lambda x, a: op.prelu(x, a), X | {"a": T(4)}, lambda x, a: np.where(x > 0, x, x * a)),
    "reductions": (
        lambda x: (op.sum(x, axis=1, keepdims=True), op.sum(x), op.max(x, [1]), op.min(x, 1, keepdims=True)),
        X,
        lambda x: (x.sum(1, keepdims=True), x.sum(), x.max(1), x.min(1, keepdims=True)),
    ),
    "cumsum": (
        lambda x: (op.cumsum(x, axis=1), op.cumsum(x, 0, exclusive=True), op.cumsum(x, 1, "float64"), op.cumsum(x)),
        X,
        lambda x: (x.cumsum(1), x.cumsum(0) - x, x.astype("float64").cumsum(1), x.reshape(-1).cumsum()),
    ),
    "matmul": (
        lambda x, y: (op.matmul(x, op.permute_dims(y)), op.matmul(x, y.permute_dims(1, 0), out_dtype="float32")),
        XY,
        lambda x, y: (x @ y.T, x @ y.T),
    ),
    "at": (lambda x, w: x @ w, X | {"w": T(4, 2)}, lambda x, w: x @ w),
    "chunk": (lambda x: op.chunk(x, 2, dim=1), X, lambda x: tuple(np.split(x, 2, 1))),
    "split": (lambda x: op.split(x, [1, 3], axis=1), X, lambda x: tuple(np.split(x, [1, 3], 1))),
    "broadcast_to": (
        lambda x: op.broadcast_to(x, [5, x.shape[0], 4]),
        X,
        lambda x: np.broadcast_to(x, (5, *x.shape)),
    ),
    "permute_dims": (
        lambda x: (op.permute_dims(x, [1, 0]), op.permute(x, [1, 0]), x.permute_dims(1, 0), x.permute_dims()),
        X,
        lambda x: (x.T,) * 4,
    ),
    "reshape": (
        lambda x: (op.reshape(x, [x.shape[0], 2, 2]), x.reshape(2, -1), x.reshape(x.shape[0] * 4)),
        X,
        lambda x: (x.reshape(-1, 2, 2), x.reshape(2, x.size // 2), x.reshape(-1)),
    ),
    "repeat": (lambda x: (op.repeat(x, 2, axis=1), x.repeat(3)), X, lambda x: (np.repeat(x, 2, 1), np.repeat(x, 3))),
    "pad": (
        lambda x: op.pad(x, [1, 1, 0, 2], value=1.0),
        X,
        lambda x: np.pad(x, [(1, 1), (0, 2)], constant_values=1),
    ),
    "take": (
        lambda x, i: (op.take(x, i, axis=1), op.take(i, i)),
        X | {"i": T(3, dtype="int32")},
        lambda x, i: (x[:, i], i[i]),
    ),
    "triu": (lambda x: (op.triu(x), op.triu(x, diagonal=1)), X, lambda x: (np.triu(x), np.triu(x, 1))),
    "full": (
        lambda x: (
            op.full([x.shape[0], 2], 3.0),
            op.full([2], nn.Tensor.from_scalar(1.5, "float32"), dtype="float16"),
            op.zeros([2, x.shape[0]]),
            op.ones([2], "int32"),
        ),
        X,
        lambda x: (
            np.full((len(x), 2), 3, "float32"),
            np.full(2, 1.5, "float16"),
            np.zeros((2, len(x)), "float32"),
            np.ones(2, "int32"),
        ),
    ),
    "empty": (lambda x: op.empty([2, x.shape[0], 0], "int32"), X, lambda x: np.empty((2, len(x), 0), "int32")),
    "arange": (
        lambda x: (op.arange(5), op.arange(2, 9, 3, "int32")),
        X,
        lambda x: (np.arange(5, dtype="float32"), np.arange(2, 9, 3, "int32")),
    ),
    "astype": (
        lambda x: (op.astype(x, "float16"), x.astype("float32")),
        X,
        lambda x: (x.astype("float16"), x),
    ),
    "sort": (
        lambda x: (op.sort(x), op.argsort(x, axis=1, descending=True)),
        X,
        lambda x: (np.sort(x), np.argsort(-x, 1).astype("int32")),
    ),
    "topk": (
        lambda x: (
            *op.topk(x, k=2),
            op.topk(x, k=2, ret_type="values"),
            op.topk(x, 1, ret_type="indices", largest=False, dtype="int64"),
        ),
        X,
        lambda x: (
            -np.sort(-x)[:, :2],
            np.argsort(-x)[:, :2].astype("int32"),
            -np.sort(-x)[:, :2],
            np.argsort(x)[:, :1],
        ),
    ),
    "conv1d": (
        lambda x, w, b: (op.conv1d(x, w, b, padding=1), op.conv1d(x, w, stride=2), op.conv1d(x, w, padding="same")),
        {"x": T("n", 4, 8), "w": T(6, 4, 3), "b": T(6)},
        lambda x, w, b: (convolved(x, w, b, pad=1), convolved(x, w, stride=2), convolved(x, w, pad=1)),
    ),
    "conv2d": (
        lambda x, w, b: (op.conv2d(x, w, b, stride=2, padding=1), op.conv2d(x, w, groups=1, padding="valid")),
        {"x": T("n", 4, 8, 8), "w": T(6, 4, 3, 3), "b": T(6)},
        lambda x, w, b: (convolved(x, w, b, stride=2, pad=1), convolved(x, w)),
    ),
    "conv2d_nhwc": (
        lambda x, w, b: op.conv2d(x, w, b, data_layout="NHWC", groups=2),
        {"x": T("n", 6, 6, 4), "w": T(6, 2, 3, 3), "b": T(6)},
        lambda x, w, b: convolved(x.transpose(0, 3, 1, 2), w, b, groups=2).transpose(0, 2, 3, 1),
    ),
    "conv3d": (
        lambda x, w, b: op.conv3d(x, w, b, dilation=2),
        {"x": T("n", 2, 6, 6, 6), "w": T(3, 2, 3, 3, 3), "b": T(3)},
        lambda x, w, b: convolved(x, w, b, dilation=2),
    ),
    "conv1d_transpose": (
        lambda x, w, b: op.conv1d_transpose(x, w, b, stride=2, padding=1, output_padding=1),
        {"x": T("n", 4, 8), "w": T(4, 6, 3), "b": T(6)},
        lambda x, w, b: transposed(x, w, b, 2, 1, 1),
    ),
    "layer_norm": (
        lambda x, y: (op.layer_norm(x, 4), op.layer_norm(x, [4], weight=y, bias=y, eps=1e-6)),
        X | {"y": T(4)},
        lambda x, y: (normed(x, -1), normed(x, -1, 1e-6) * y + y),
    ),
    "rms_norm": (
        lambda x, y: op.rms_norm(x, y, axes=[-1]),
        X | {"y": T(4)},
        rms,
    ),
    "group_norm": (
        lambda x, y: (op.group_norm(x, 2, y, y), op.group_norm(x, 4, None, None, channel_axis=1, axes=[2])),
        {"x": T("n", 4, 6), "y": T(4)},
        lambda x, y: (
            normed(x.reshape(-1, 2, 12), -1).reshape(x.shape) * y[:, None] + y[:, None],
            normed(x, -1),
        ),
    ),
    "attention": (
        lambda q, k, v: (
            op.scaled_dot_product_attention(q, k, v),
            op.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.25),
        ),
        QKV,
        lambda q, k, v: (
            attention(q, k, v),
            attention(q, k, v, np.triu(np.full((q.shape[1],) * 2, -1e30, "float32"), 1), 0.25),
        ),
    ),
    "attention_mask": (
        lambda q, k, v, m: op.scaled_dot_product_attention(q, k, v, m),
        QKV | {"m": T(2, 2, "s", "s")},
        attention,
    ),
    "interpolate": (
        lambda x: (
            op.interpolate(x, (16, 6)),
            op.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False),
            op.interpolate(x, 5, mode="bicubic", align_corners=True),
        ),
        {"x": T("n", 3, 8, 8)},
        None,
    ),
    "timesteps": (
        lambda x: (
            op.get_timestep_embedding(x, 6),
            op.get_timestep_embedding(x, 7, flip_sin_to_cos=True, downscale_freq_shift=0.0, scale=2.0),
        ),
        {"x": T("n")},
        lambda x: (steps(x, 6), steps(x, 7, True, 0, 2)),
    ),
    "tuples": (
        lambda t: [t[0] + t[1][0], (t[0],)],
        {"t": (T("n", 4), [T("n", 4)])},
        lambda t: (t[0] + t[1][0], (t[0],)),
    ),
    "relax_operators": (
        lambda x: (op.abs(x), op.tile(x, [2, 1], name="tiled")),
        X,
        lambda x: (abs(x), np.tile(x, (2, 1))),
    ),
}


def model_of(function):
    class Case(nn.Module):
        forward = staticmethod(function)

    return Case()


@cache
def exported(name):
    forward, inputs, _ = CASES[name]
    mod, params = model_of(forward).export_tvm({"forward": inputs})
    verify_module(mod.op)
    assert not params
    return mod


def machine(mod):
    return relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())


def agree(actual, expected, tolerance):
    if isinstance(expected, tuple):
        assert len(actual) == len(expected)
        for f, w in zip(actual, expected, strict=True):
            agree(f, w, tolerance)
        return
    assert actual.shape == expected.shape and actual.dtype.kind == expected.dtype.kind
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=tolerance, atol=tolerance)


def test_texts(golden):
    texts = [f"## {name}\n{exported(name).script().split('class Module:')[1].strip()}" for name in CASES]
    golden("nn/operators.txt", "\n\n".join(texts))


@thinned("name", CASES, 4)
def test_numbers(name):
    _, inputs, reference = CASES[name]
    mod = exported(name)
    forward = machine(mod)["forward"]
    for sizes in symbolic_sizes(mod["forward"].op, SIZES):
        args = random_inputs(mod["forward"].op, sizes)
        if name == "take":
            args[1] = np.array([0, 2, 1], "int32")
        with np.errstate(all="ignore"):
            expected = interpret(mod.op, "forward", args) if reference is None else reference(*args)
        agree(forward(*args), expected, 2e-3 if name == "astype" else 2e-4)


def test_every_operator_has_a_case_or_a_test():
    used = set()
    for forward, _, _ in CASES.values():
        used |= set(forward.__code__.co_names)
        for constant in forward.__code__.co_consts:
            used |= set(getattr(constant, "co_names", ()))
    others = {
        *("ccl_allgather", "ccl_allreduce", "ccl_broadcast_from_worker0", "extern", "wrap_nested"),
        *("tensor_expr_op", "tensor_ir_op", "tensor_ir_inplace_op", "debug_func", "print_"),
        *("multinomial_from_uniform", "renormalize_top_p_top_k_prob", "sample_top_p_top_k_from_sorted_prob"),
    }
    assert set(op.__all__) - used == others


# Sampling.


def kept(sums, top_p, top_k):
    """For each row the index of the last of the sorted probabilities that is kept."""
    rows = []
    for b in range(len(sums)):
        last = 0
        while last + 1 < sums.shape[1] and sums[b, last] < top_p[b, 0] and last + 1 < top_k[b, 0]:
            last += 1
        rows.append(last)
    return rows


def distributions(batch, size, seed):
    rng = np.random.default_rng(seed)
    prob = rng.random((batch, size)).astype("float32")
    prob /= prob.sum(1, keepdims=True)
    order = np.argsort(-prob, 1)
    top_p = rng.random((batch, 1)).astype("float32")
    top_k = rng.integers(1, size + 2, (batch, 1))
    return prob, np.take_along_axis(prob, order, 1), order, top_p, top_k


LIMITS = {"top_p": T("b", 1), "top_k": T("b", 1, dtype="int64")}


def test_renormalizing():
    inputs = {"prob": T("b", "v"), "ordered": T("b", "v"), **LIMITS}
    model = model_of(lambda prob, ordered, top_p, top_k: op.renormalize_top_p_top_k_prob(prob, ordered, top_p, top_k))
    run = machine(model.export_tvm({"forward": inputs})[0])["forward"]
    for seed, (batch, size) in enumerate([(0, 3), (1, 1), (5, 7), (20, 3)]):
        prob, ordered, _, top_p, top_k = distributions(batch, size, seed)
        result = run(prob, ordered, top_p, top_k)
        cut = [ordered[b, i] for b, i in enumerate(kept(ordered.cumsum(1), top_p, top_k))]
        expected = np.where(prob >= np.array(cut, "float32").reshape(-1, 1), prob, 0)
        np.testing.assert_allclose(result, expected / expected.sum(1, keepdims=True), rtol=1e-5)


SAMPLED = {"ordered": T("b", "v"), "index": T("b", "v", dtype="int64"), **LIMITS, "u": T("m", 1)}


@pytest.mark.parametrize("own_rows", [False, True])
def test_sampling_of_sorted_probabilities(own_rows):
    sample = op.sample_top_p_top_k_from_sorted_prob
    if own_rows:
        inputs = SAMPLED | {"u": T("b", 1)}
        model = model_of(lambda ordered, index, top_p, top_k, u: sample(ordered, index, top_p, top_k, u))
    else:
        inputs = SAMPLED | {"rows": T("m", 1, dtype="int64")}
        model = model_of(lambda ordered, index, top_p, top_k, u, rows: sample(ordered, index, top_p, top_k, u, rows))
    run = machine(model.export_tvm({"forward": inputs})[0])["forward"]
    for seed, (batch, size, count) in enumerate([(1, 1, 0), (1, 1, 1), (5, 7, 40), (3, 4, 9)]):
        _, ordered, order, top_p, top_k = distributions(batch, size, seed)
        rng = np.random.default_rng(seed)
        rows = np.arange(batch)[:, None] if own_rows else rng.integers(0, batch, (count, 1))
        u = rng.random((len(rows), 1)).astype("float32")
        result = run(ordered, order, top_p, top_k, u, *([] if own_rows else [rows]))
        sums = ordered.cumsum(1)
        last = kept(sums, top_p, top_k)
        expected = []
        for row, x in zip(rows[:, 0], u[:, 0], strict=True):
            share = sums[row] / sums[row, last[row]]
            expected.append(order[row, min(int((x >= share).sum()), size - 1)])
        np.testing.assert_array_equal(result, np.array(expected, "int64").reshape(-1, 1))


@pytest.mark.parametrize("rows", ["given", "static", "symbolic"])
def test_multinomial(rows):
    count = {"given": "m", "static": 3, "symbolic": "b"}[rows]
    batch = "b" if rows != "static" else 3
    inputs = {"prob": T(batch, 5), "u": T(count, 1)}
    model = model_of(lambda prob, u: op.multinomial_from_uniform(prob, u, dtype="int32"))
    if rows == "given":
        inputs["i"] = T("m", 1, dtype="int64")
        model = model_of(lambda prob, u, i: op.multinomial_from_uniform(prob, u, i, dtype="int32"))
    run = machine(model.export_tvm({"forward": inputs})[0])["forward"]
    prob, *_ = distributions(3, 5, 0)
    rng = np.random.default_rng(1)
    i = np.array([[0], [2], [1], [2]]) if rows == "given" else np.arange(3)[:, None]
    u = rng.random((len(i), 1)).astype("float32")
    result = run(prob, u, *([i] if rows == "given" else []))
    expected = (prob.cumsum(1)[i[:, 0]] <= u).sum(1, keepdims=True)
    np.testing.assert_array_equal(result, expected.astype("int32"))


# Calls.


def test_tensor_expressions():
    def scaled(x, by, more):
        return te.compute(x.shape, lambda i, j: x[i, j] * by + te.cast("float32", more), name="scaled")

    model = model_of(lambda x, k: op.tensor_expr_op(scaled, "scaled", [x, 2, k], attrs={"mark": 1}))
    mod, _ = model.export_tvm({"forward": X | {"k": int}})
    assert "cls.scaled, (x,), out_sinfo=" in mod.script() and '"mark": 1' in mod.script()
    x = np.ones((3, 4), "float32")
    np.testing.assert_array_equal(machine(mod)["forward"](x, (3,)), x * 2 + 3)


KERNELS = tvm.script.from_source(
    """
from tvm.script import ir as I
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def shifted(x: T.handle, y: T.handle, by: T.int64):
        n = T.int64()
        X = T.match_buffer(x, (n, 4))
        Y = T.match_buffer(y, (n, 4))
        for i, j in T.grid(n, 4):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] + T.Cast("float32", by)

    @T.prim_func(private=True)
    def doubled(x: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, 4))
        for i, j in T.grid(n, 4):
            with T.block("X"):
                vi, vj = T.axis.remap("SS", [i, j])
                X[vi, vj] = X[vi, vj] * T.float32(2)
"""
)


@thinned("scalars", [lambda n: [n], lambda n: [relax.ShapeExpr([n])]], 1)
def test_tensor_functions(scalars):
    def forward(x, by):
        out = nn.Tensor.placeholder(x.shape, "float32")
        y = op.tensor_ir_op(KERNELS["shifted"], "shifted", [x, *scalars(by)], out)
        (z,) = op.tensor_ir_inplace_op(KERNELS["doubled"], "doubled", y, [0], [out])
        return z

    mod, _ = model_of(forward).export_tvm({"forward": X | {"by": int}})
    verify_module(mod.op)
    for n in SIZES:
        x = np.arange(n * 4, dtype="float32").reshape(n, 4)
        np.testing.assert_array_equal(machine(mod)["forward"](x, (5,)), (x + 5) * 2)


def test_packed_functions():
    def both(x, number, half, text, length, doubled, total):
        doubled[...] = np.asarray(x) * 2
        total[...] = number + half + len(text) + length

    tvm.register_func("test_nn.both", both, override=True)

    def forward(x, k):
        like = nn.Tensor.placeholder(x.shape, "float32"), nn.Tensor.placeholder((1,), "float32")
        return op.extern("test_nn.both", [x, 1, 2.5, "four", k], like)

    mod, _ = model_of(forward).export_tvm({"forward": X | {"k": int}})
    x = np.ones((2, 4), "float32")
    doubled, total = machine(mod)["forward"](x, (7,))
    np.testing.assert_array_equal(doubled, x * 2)
    np.testing.assert_array_equal(total, [14.5])


def test_what_is_refused():
    def refused(function, inputs=X):
        model_of(function).export_tvm({"forward": inputs})

    for collective in (op.ccl_allreduce, op.ccl_broadcast_from_worker0, lambda x: op.ccl_allgather(x, 2)):
        with pytest.raises(UnsupportedError, match="exchanges tensors between workers"):
            refused(lambda x, f=collective: f(x))
    image = {"x": T(1, 3, "h", 8)}
    with pytest.raises(NameLookupError, match="unknown mode 'cubic'"):
        refused(lambda x: op.interpolate(x, 4, mode="cubic"), image)
    with pytest.raises(TiraxError, match="recompute_scale_factor and antialias"):
        refused(lambda x: op.interpolate(x, 4, antialias=True), image)
    with pytest.raises(TiraxError, match="neither size nor scale_factor"):
        refused(lambda x: op.interpolate(x), image)
    with pytest.raises(ShapeError, match="scale_factor needs images of known size"):
        refused(lambda x: op.interpolate(x, scale_factor=2.0), image)
    with pytest.raises(NameLookupError, match="unknown padding 'sme'"):
        refused(lambda x: op.conv1d(x, x, padding="sme"), {"x": T(2, 2, 3)})
    with pytest.raises(TiraxError, match="stride 1"):
        refused(lambda x: op.conv1d(x, x, padding="same", stride=2), {"x": T(2, 2, 3)})
    with pytest.raises(ShapeError, match="without weight or bias the extents must be known"):
        refused(lambda x: op.group_norm(x, 2, None, None), {"x": T(2, "c", 3)})
    with pytest.raises(TiraxError, match="scalars of a tensor function are one shape"):
        functions = relax.ShapeExpr([1]), relax.ShapeExpr([2])
        refused(lambda x: op.tensor_ir_op(None, "f", [x, *functions], x))
    with pytest.raises(TiraxError, match="no module is being exported"):
        op.print_(nn.Tensor.from_const(1.0))
