"""Programs to differentiate, for each rule: parameters and a function of them.

What is differentiated is the sum of the sine of all that the function gives, so that each element has another gradient.
Extents named `n` and `m` are symbolic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tirax.tvm_api import relax
from tirax.tvm_api.relax import op as R


@dataclass(frozen=True)
class Param:
    """A parameter: its extents, its dtype, and the range of its elements."""

    shape: tuple[int | str, ...]
    dtype: str = "float64"
    low: float = -1.0
    high: float = 1.0

    def random(self, sizes: dict[str, int], rng: np.random.Generator) -> Any:
        shape = tuple(sizes[d] if isinstance(d, str) else d for d in self.shape)
        if self.dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if self.dtype.startswith("int"):
            return rng.integers(int(self.low), int(self.high), shape).astype(self.dtype)
        return np.asarray(self.low + (self.high - self.low) * rng.random(shape))


def t(*shape: int | str, low: float = -1.0, high: float = 1.0) -> Param:
    return Param(shape, "float64", low, high)


def positive(*shape: int | str) -> Param:
    return Param(shape, "float64", 0.5, 2.0)


def ints(*shape: int | str, below: int, dtype: str = "int64") -> Param:
    return Param(shape, dtype, 0, below)


def bools(*shape: int | str) -> Param:
    return Param(shape, "bool")


CASES: list[tuple[str, list[Param], Callable[..., Any]]] = []


def case(name: str, params: list[Param], function: Callable[..., Any]) -> None:
    """A case; `name` is the operator's name, and what tells it from others behind a blank."""
    CASES.append((name, params, function))


def call(name: str, *args: Any, **attrs: Any) -> Any:
    """A call of the operator `name`."""
    actual: Any = R
    for part in name.split("."):
        actual = getattr(actual, part)
    return actual(*args, **attrs)


FAR = {"acosh": (1.2, 3.0), "atanh": (-0.8, 0.8), "asin": (-0.8, 0.8), "acos": (-0.8, 0.8), "erfinv": (-0.8, 0.8)}
POSITIVE = ("log", "log1p", "log2", "log10", "lgamma", "sqrt", "rsqrt")
UNARY = (
    "abs negative square exp expm1 log log1p log2 log10 lgamma sqrt rsqrt erf erfinv sigmoid sin cos tan sinh cosh "
    "tanh asin acos atan asinh acosh atanh nn.relu nn.silu nn.gelu nn.gelu_tanh nn.selu nn.leakyrelu nn.softplus"
)
for unary in UNARY.split(" "):
    low, high = FAR.get(unary, (0.5, 2.0) if unary in POSITIVE else (-1.5, 1.5))
    case(unary, [Param(("n", 4), "float64", low, high)], lambda x, f=unary: call(f, x))
case("nn.leakyrelu alpha", [t(3, 4)], lambda x: R.nn.leakyrelu(x, 0.3))
case("nn.softplus threshold", [t(3, 4)], lambda x: R.nn.softplus(x, 3.0, 1.0))
case("nn.prelu", [t("n", 4, 2), t(4)], lambda x, a: R.nn.prelu(x, a, 1))
case("nn.prelu last", [t(4)], lambda x: R.nn.prelu(x, R.abs(x), 0))

for binary in ["add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "mod", "floor_mod"]:
    for left, right in [(("n", 4), ("n", 4)), (("n", 4), (4,)), (("n", 1), (1, 4)), ((), (2, "n")), ((1,), ("n", 2))]:
        case(f"{binary} {left} {right}", [positive(*left), positive(*right)], lambda x, y, f=binary: call(f, x, y))
for tie in ("maximum", "minimum"):
    case(f"{tie} spread", [t(2, 1, 4), t(3, 1)], lambda x, y, f=tie: call(f, x, y))
case("where", [bools("n", 4), t("n", 1), t(4)], lambda c, x, y: R.where(c, x, y))
case("ewise_fma", [t("n", 4), t("n", 4), t("n", 4)], lambda x, y, z: R.ewise_fma(x, y, z))
case("astype", [t("n", 4)], lambda x: R.astype(R.astype(x, "float64"), "float64"))
case("clip", [t("n", 4)], lambda x: R.clip(x, -0.4, 0.5))

for reduction in ["sum", "mean", "max", "min", "prod", "variance", "std"]:
    for axis, keep in [(None, False), ([1], False), ([0, -1], True), ([-1], False)]:
        case(
            f"{reduction} {axis} {keep}",
            [Param(("n", 3, 2), "float64", 0.6, 1.3)],
            lambda x, f=reduction, a=axis, k=keep: R.add(call(f, x, a, k), call(f, R.square(x), a, k)),
        )
case("prod zero", [Param((2, 3), "float64", 0.5, 2.0)], lambda x: R.prod(R.subtract(x, R.min(x)), [1]))
for scan in ("cumsum", "cumprod"):
    for axis, exclusive in [(0, False), (1, True), (None, False), (None, True)]:
        case(
            f"{scan} {axis} {exclusive}",
            [t("n", 3)],
            lambda x, f=scan, a=axis, e=exclusive: call(f, x, a, None, e),
        )
case("cumprod zero", [t(2, 4)], lambda x: R.cumprod(R.nn.relu(x), 1))
case("sort", [t("n", 4)], lambda x: R.sort(x, 1, True))
case("topk", [t("n", 4)], lambda x: R.topk(x, 2, 1)[0])
case("topk values", [t("n", 4)], lambda x: R.topk(x, 2, 1, "values"))
for softmax in ("nn.softmax", "nn.log_softmax"):
    case(softmax, [t("n", 4)], lambda x, f=softmax: call(f, x))
    case(f"{softmax} axis", [t("n", 4)], lambda x, f=softmax: call(f, x, 0))

for left, right in [
    (("n", 4), (4, 3)),
    ((2, "n", 4), (4, 3)),
    ((2, "n", 4), (2, 4, 3)),
    ((2, 1, 3, "n"), (3, "n", 2)),
    ((1, "n", 4), (3, 4, 2)),
    (("n",), ("n",)),
    ((3, "n"), ("n",)),
    (("n",), ("n", 3)),
    ((2, 3, "n"), ("n",)),
    (("n",), (2, "n", 3)),
]:
    case(f"matmul {left} {right}", [t(*left), t(*right)], lambda x, y: R.matmul(x, y))
case("outer", [t("n"), t(3)], lambda x, y: R.outer(x, y))
for subscripts, shapes in [
    ("ij,jk->ik", [("n", 3), (3, 2)]),
    ("ij,j->i", [("n", 3), (3,)]),
    ("bij,bkj->bik", [(2, "n", 3), (2, 2, 3)]),
    ("ij->j", [("n", 3)]),
    ("ij,kj,k->", [("n", 3), (2, 3), (2,)]),
    ("...i,ij->...j", [("n", 2, 3), (3, 2)]),
    ("...i,...i->...", [(2, "n", 3), (1, 3)]),
    ("ij,kl->il", [(2, 3), (4, 2)]),
]:
    case(f"einsum {subscripts}", [t(*s) for s in shapes], lambda *xs, s=subscripts: R.einsum(xs, s))

case("reshape", [t("n", 4)], lambda x: R.reshape(x, (2, -1)))
case("flatten", [t("n", 4)], lambda x: R.flatten(x))
case("permute_dims", [t("n", 3, 2)], lambda x: R.permute_dims(x, [1, 2, 0]))
case("permute_dims none", [t("n", 3, 2)], lambda x: R.permute_dims(x))
case("expand_dims", [t("n", 3)], lambda x: R.expand_dims(x, [0, 2]))
case("squeeze", [t("n", 1, 3)], lambda x: R.squeeze(x, [1]))
case("squeeze all", [t(2, 1, 3)], lambda x: R.squeeze(x))
case("concat", [t("n", 2), t("n", 3)], lambda x, y: R.concat([x, y], 1))
case("concat symbolic", [t("n", 2), t("m", 2), t(1, 2)], lambda x, y, z: R.concat([x, y, z], 0))
case("split", [t("n", 5)], lambda x: R.split(x, [1, 3], 1)[1])
case("split sections", [t("n", 5)], lambda x: (lambda s: [R.multiply(s[0], s[1]), s[2]])(R.split(x, 3, 1)))
case("stack", [t("n", 2), t("n", 2)], lambda x, y: R.stack([x, y], 1))
case("meshgrid", [t("n"), t(3)], lambda x, y: (lambda s: [R.multiply(s[0], s[1])])(R.meshgrid([x, y])))
case("meshgrid xy", [t(2), t(3)], lambda x, y: [R.meshgrid([x, y], "xy")[1]])
case("stack tuple", [t("n", 4)], lambda x: R.stack(R.split(x, 2, 1), 0))
case("concat tuple", [t("n", 4)], lambda x: R.concat(R.split(x, [1], 1), 1))
case("concat symbolic tuple", [t("n", 4)], lambda x: R.concat(R.split(x, 2, 1), 0))
case("einsum tuple", [t("n", 4)], lambda x: R.einsum(R.split(x, 2, 1), "ij,kj->ik"))
case("meshgrid tuple", [t(4)], lambda x: (lambda s: [R.multiply(s[0], s[1])])(R.meshgrid(R.split(x, 2, 0))))
case("flip", [t("n", 3)], lambda x: R.flip(x, 1))
case("triu", [t("n", 3)], lambda x: R.triu(x, 1))
case("tril", [t("n", 3)], lambda x: R.tril(x, -1))
case("tile", [t("n", 3)], lambda x: R.tile(x, [2, 1, 2]))
case("tile few", [t("n", 3)], lambda x: R.tile(x, [2]))
case("repeat", [t("n", 3)], lambda x: R.repeat(x, 2, 1))
case("repeat flat", [t("n", 3)], lambda x: R.repeat(x, 2))
case("broadcast_to", [t("n", 1)], lambda x: R.broadcast_to(R.sum(x, [0]), (3, 4)))
case("broadcast_to leading", [t(3, 1)], lambda x: R.broadcast_to(x, (2, 3, 4)))
case("collapse_sum_to", [t("n", 4)], lambda x: R.collapse_sum_to(x, (4,)))
case("collapse_sum_like", [t(2, "n", 4), t("n", 1)], lambda x, y: R.collapse_sum_like(x, y))
case("full", [t()], lambda x: R.full((2, 3), x, "float64"))
case("take", [t("n", 4), ints(2, 2, below=4)], lambda x, i: R.take(x, i, 1))
case("take flat", [t(4), ints(3, below=4, dtype="int32")], lambda x, i: R.take(x, i))
case("take clip", [t(3, 4), ints(3, below=9)], lambda x, i: R.take(x, i, 0, "clip"))
case("take wrap", [t(3, 4), ints(3, below=9)], lambda x, i: R.take(x, i, -1, "wrap"))
case("take one", [t(3, 4)], lambda x: R.take(x, relax.PrimValue(2), 1))
case("gather_elements", [t("n", 4), ints("n", 3, below=4)], lambda x, i: R.gather_elements(x, i, 1))
case("gather_nd", [t(3, 4), ints("n", 2, below=3)], lambda x, i: R.gather_nd(x, i))
case("gather_nd batch", [t(2, 3, 4), ints(2, "n", 1, below=3)], lambda x, i: R.gather_nd(x, i, 1))
case("index_tensor", [t(3, 4, 2), ints("n", below=3), ints(2, 1, below=4)], lambda x, i, j: R.index_tensor(x, [i, j]))
case("index_put add", [t(3, 4), ints("n", below=3), t("n", 4)], lambda x, i, v: R.index_put(x, [i], v, True))
case("index_put", [t(3, 4), t(4)], lambda x, v: R.index_put(x, [relax.const(np.array([0, 2]))], v))
case("scatter_elements", [t(2, 4), t(2, 2)], lambda x, u: R.scatter_elements(x, _places(), u, 1))
case(
    "scatter_elements add",
    [t(2, 4), ints(2, 3, below=4), t(2, 3)],
    lambda x, i, u: R.scatter_elements(x, i, u, 1, "add"),
)
case("scatter_nd", [t(3, 4), t(2, 4)], lambda x, u: R.scatter_nd(x, relax.const(np.array([[0], [2]])), u))
case("scatter_nd add", [t(3, 4), ints("n", 2, below=3), t("n")], lambda x, i, u: R.scatter_nd(x, i, u, "add"))
case("strided_slice", [t("n", 6)], lambda x: R.strided_slice(x, [1], [1], [5]))
case("strided_slice steps", [t(5, 7)], lambda x: R.strided_slice(x, [0, 1], [4, 1], [0, 6], [-2, 3]))
case("strided_slice symbolic", [t("n", 3)], lambda x: R.strided_slice(R.concat([x, x], 0), [0], [1], [relax_n()]))
case("slice_scatter", [t("n", 6), t("n", 2)], lambda x, v: R.slice_scatter(x, v, 1, 5, 2, axis=1))
case("nn.pad", [t("n", 3)], lambda x: R.nn.pad(x, [1, 2, 0, 1], "constant", 0.5))
for mode in ("reflect", "replicate", "circular"):
    case(f"nn.pad {mode}", [t(3, 4)], lambda x, m=mode: R.nn.pad(x, [1, 2, 0, 3], m))
case("nn.pixel_shuffle", [t("n", 8, 2, 3)], lambda x: R.nn.pixel_shuffle(x, 2))


def _places() -> Any:
    return relax.const(np.array([[0, 2], [3, 1]]))


def relax_n() -> Any:
    from tirax.tvm_api import tir

    return tir.Var("n", "int64") + 1


for axes in ([-1], [1, 2]):
    shape = tuple((3, "n", 2)[a] for a in axes)
    case(
        f"nn.layer_norm {axes}",
        [t(3, "n", 2), t(*shape), t(*shape)],
        lambda x, g, b, a=axes: R.nn.layer_norm(x, g, b, a),
    )
    case(f"nn.rms_norm {axes}", [t(3, "n", 2), t(*shape)], lambda x, g, a=axes: R.nn.rms_norm(x, g, a, 1e-3))
case("nn.layer_norm plain", [t(3, 4), t(4), t(4)], lambda x, g, b: R.nn.layer_norm(x, g, b, [1], 1e-3, False, False))
case("nn.instance_norm", [t(2, 3, "n", 2), t(3), t(3)], lambda x, g, b: R.nn.instance_norm(x, g, b, 1, [2, 3], 1e-2))
case("nn.group_norm", [t(2, 4, "n", 2), t(4), t(4)], lambda x, g, b: R.nn.group_norm(x, g, b, 2, 1, [2, 3], 1e-2))
BATCH = [t(3, 2, "n"), t(2), t(2), t(2), positive(2)]
case("nn.batch_norm", BATCH, lambda *p: R.nn.batch_norm(*p, 1, 1e-2)[0])
case("nn.batch_norm statistics", BATCH, lambda *p: (lambda s: [s[0], s[1], s[2]])(R.nn.batch_norm(*p, 1, 1e-2)))
case(
    "nn.batch_norm inference",
    BATCH,
    lambda *p: (lambda s: [s[0], s[1], s[2]])(R.nn.batch_norm(*p, 1, 1e-2, True, True, 0.1, False)),
)
case("nn.dropout", [t("n", 4)], lambda x: R.nn.dropout(x)[0])
case("nn.cross_entropy_with_logits", [t("n", 4), t("n", 4)], lambda x, y: R.nn.cross_entropy_with_logits(x, y))
case("nn.cross_entropy_with_logits flat", [t("n"), t("n")], lambda x, y: R.nn.cross_entropy_with_logits(x, y))
for how in ("mean", "sum", "none"):
    case(f"nn.nll_loss {how}", [t("n", 4), ints("n", below=4)], lambda x, i, h=how: R.nn.nll_loss(x, i, None, h, 2))
case(
    "nn.nll_loss weights",
    [t("n", 4, 2), ints("n", 2, below=4)],
    lambda x, i: R.nn.nll_loss(x, i, R.grad.no_grad(_weights())),
)
case("nn.nll_loss one", [t(4), ints(below=4)], lambda x, i: R.nn.nll_loss(x, i))


def _weights() -> Any:
    return relax.const(np.array([0.5, 1.0, 2.0, 0.3]), "float64")


case("nn.conv1d", [t("n", 2, 7), t(3, 2, 3)], lambda x, w: R.nn.conv1d(x, w, strides=2, padding=1))
case("nn.conv1d symbolic", [t(2, 2, "n"), t(3, 2, 1)], lambda x, w: R.nn.conv1d(R.concat([x, x], 2), w, strides=2))
case("nn.conv1d symbolic steps", [t(2, 2, "n"), t(3, 2, 1)], lambda x, w: R.nn.conv1d(x, w, strides=2))
case("nn.conv1d symbolic padding", [t(1, 2, "n"), t(3, 2, 2)], lambda x, w: R.nn.conv1d(x, w, strides=3, padding=2))
case("nn.conv1d_transpose symbolic", [t(2, 2, "n"), t(2, 3, 3)], lambda x, w: R.nn.conv1d_transpose(x, w, strides=2))
case("nn.max_pool1d symbolic", [t(2, 2, "n")], lambda x: R.nn.max_pool1d(x, 2, 2, padding=1))
case("nn.avg_pool1d symbolic", [t(2, 2, "n")], lambda x: R.nn.avg_pool1d(x, 2, 2, padding=1))
case("nn.conv2d", [t("n", 2, 5, 6), t(3, 2, 3, 2)], lambda x, w: R.nn.conv2d(x, w, strides=(2, 1), padding=(1, 0)))
case(
    "nn.conv2d dilation",
    [t(2, 2, 6, 6), t(3, 2, 2, 2)],
    lambda x, w: R.nn.conv2d(x, w, strides=2, dilation=2, padding=1),
)
case("nn.conv2d groups", [t("n", 4, 4, 4), t(6, 2, 2, 2)], lambda x, w: R.nn.conv2d(x, w, strides=2, groups=2))
case(
    "nn.conv2d NHWC",
    [t("n", 4, 4, 2), t(2, 2, 2, 3)],
    lambda x, w: R.nn.conv2d(x, w, padding=1, data_layout="NHWC", kernel_layout="HWIO"),
)
case("nn.conv3d", [t(1, 2, 3, 3, 4), t(2, 2, 2, 2, 2)], lambda x, w: R.nn.conv3d(x, w, padding=1, strides=2))
case(
    "nn.conv1d_transpose",
    [t("n", 2, 4), t(2, 3, 3)],
    lambda x, w: R.nn.conv1d_transpose(x, w, strides=2, padding=1, output_padding=1),
)
case("nn.conv2d_transpose", [t("n", 2, 3, 3), t(2, 3, 2, 2)], lambda x, w: R.nn.conv2d_transpose(x, w, strides=2))
case(
    "nn.conv2d_transpose groups",
    [t(2, 4, 3, 3), t(4, 2, 2, 2)],
    lambda x, w: R.nn.conv2d_transpose(x, w, groups=2, dilation=2),
)
case("nn.conv3d_transpose", [t(1, 2, 2, 2, 2), t(2, 2, 2, 2, 2)], lambda x, w: R.nn.conv3d_transpose(x, w, strides=2))
for kind in ("max", "avg"):
    for many, shape in ((1, (7,)), (2, (5, 6)), (3, (4, 3, 4))):
        name = f"nn.{kind}_pool{many}d"
        case(name, [t("n", 2, *shape)], lambda x, f=name: call(f, x, 2, 2))
        case(f"{name} padding", [t(2, 1, *shape)], lambda x, f=name: call(f, x, 3, 2, padding=1, ceil_mode=True))
        case(
            f"{name} counted",
            [t(1, 1, *shape)],
            lambda x, f=name: call(f, x, 2, 1, padding=1, count_include_pad=True),
        )
case("nn.max_pool2d NHWC", [t(2, 4, 4, 1)], lambda x: R.nn.max_pool2d(x, 2, 1, dilation=2, layout="NHWC"))
for many, shape, out in ((1, (7,), [3]), (2, (5, 4), [2, 3]), (3, (3, 4, 2), [2, 2, 1])):
    name = f"nn.adaptive_avg_pool{many}d"
    case(name, [t("n", 2, *shape)], lambda x, f=name, o=out: call(f, x, o))
    case(f"{name} whole", [t(2, 2, *shape)], lambda x, f=name, k=many: call(f, x, [1] * k))
case("nn.adaptive_avg_pool2d symbolic", [t(2, 2, "n", 3)], lambda x: R.nn.adaptive_avg_pool2d(x, [1, 1]))
HEADS = [t(2, "n", 2, 3), t(2, 4, 2, 3), t(2, 4, 2, 2)]
case("nn.attention", HEADS, lambda q, k, v: R.nn.attention(q, k, v))
case("nn.attention scale", HEADS, lambda q, k, v: R.nn.attention(q, k, v, None, 0.3))
case("nn.attention bias", [*HEADS, t(2, 1, "n", 4)], lambda q, k, v, b: R.nn.attention(q, k, v, b))
for mask in ("TopLeft", "BottomRight"):
    case(f"nn.attention {mask}", HEADS, lambda q, k, v, m=mask: R.nn.attention(q, k, v, None, None, m))
case("nn.attention window", HEADS, lambda q, k, v: R.nn.attention(q, k, v, None, None, "BottomRight", 2))
case("to_vdevice", [t("n", 3)], lambda x: R.to_vdevice(x, "llvm:0"))
case("hint_on_device", [t("n", 3)], lambda x: R.hint_on_device(x, "llvm:0"))
case("memory.ensure_zero_offset", [t("n", 3)], lambda x: R.memory.ensure_zero_offset(x))
# gradients of gradients
case("grad.take_backward", [t("n", 2), t(4, 2), ints("n", below=4)], lambda g, x, i: R.grad.take_backward(g, x, i, 0))
for how in ("mean", "sum"):
    case(
        f"grad.nll_loss_backward {how}",
        [t(), t("n", 4), ints("n", below=4)],
        lambda g, p, i, h=how: R.grad.nll_loss_backward(g, p, i, R.grad.no_grad(_weights()), h, 2),
    )
case(
    "grad.nll_loss_backward none",
    [t("n"), t("n", 4), ints("n", below=4)],
    lambda g, p, i: R.grad.nll_loss_backward(g, p, i, None, "none", 2),
)
for many, shape, out in ((1, (5,), (2,)), (2, (4, 5), (2, 2)), (3, (4, 3, 4), (2, 1, 2))):
    name = f"grad.avg_pool{many}d_backward"
    case(name, [t("n", 2, *out), t("n", 2, *shape)], lambda g, x, f=name: call(f, g, x, 2, 2))


def program(params: list[Param], function: Callable[..., Any]) -> Any:
    """A module with the function `main`: the sum of the sine of what `function` gives."""
    bb = relax.BlockBuilder()
    inputs = [relax.Var(f"x{i}", relax.TensorStructInfo(p.shape, p.dtype)) for i, p in enumerate(params)]
    with bb.function("main", inputs):
        with bb.dataflow():
            created = function(*inputs)
            parts = created if isinstance(created, list) else [created]
            total: Any = None
            for part in parts:
                one = bb.emit(R.sum(R.sin(bb.emit(part))))
                total = one if total is None else bb.emit(R.add(total, one))
            result = bb.emit_output(total)
        bb.emit_func_output(result)
    return bb.get()
