"""The operators of `survey.py`: families of functions, each at the shapes that its kind has.

A shape represents a class: tens of elements, a short or prime last dimension, typical sizes, tens of megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

Shape = tuple[int, ...]
Function = Callable[..., Any]
MATRICES: dict[str, Shape] = {
    "tiny": (5, 7), "rows of 3": (20000, 3), "odd": (61, 127), "typical": (256, 768), "prime": (509, 1021),
    "large": (2048, 4096),
}  # fmt: skip
BLOCKS: dict[str, Shape] = {
    "tiny": (2, 3, 5), "rows of 3": (4, 5000, 3), "odd": (17, 61, 127), "typical": (32, 64, 128),
    "large": (64, 256, 512),
}  # fmt: skip
IMAGES: dict[str, Shape] = {
    "tiny": (1, 3, 5, 5), "odd": (2, 13, 17, 19), "7": (2, 512, 7, 7), "14": (8, 64, 14, 14), "56": (1, 64, 56, 56),
    "large": (8, 64, 128, 128),
}  # fmt: skip
HALF, BRAIN = torch.float16, torch.bfloat16
FLOATS = {"float16": HALF, "bfloat16": BRAIN, "float64": torch.float64}
INTEGERS = {"int8": torch.int8, "uint8": torch.uint8, "int32": torch.int32, "int64": torch.int64}


@dataclass(frozen=True)
class Operator:
    """A function of tensors; an argument is a shape, or a shape with a dtype, or a shape with the end of a range."""

    function: Function
    arguments: tuple[Any, ...]
    symbolic: int | None = None
    """How many arguments have symbolic sizes; None: all."""


Rows = Iterator[tuple[str, Operator]]


def _unary() -> Rows:
    functions: dict[str, Function] = {
        "abs": torch.abs, "neg": torch.neg, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal,
        "exp": torch.exp, "exp2": torch.exp2, "expm1": torch.expm1, "log": torch.log, "log2": torch.log2,
        "log1p": torch.log1p, "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "asin": torch.asin,
        "acos": torch.acos,
        "atan": torch.atan, "sinh": torch.sinh, "cosh": torch.cosh, "tanh": torch.tanh, "asinh": torch.asinh,
        "atanh": lambda x: torch.atanh(x * 0.9), "erf": torch.erf, "erfinv": lambda x: torch.erfinv(x * 0.9),
        "lgamma": torch.lgamma,
        "digamma": torch.digamma, "floor": torch.floor, "round": torch.round, "trunc": torch.trunc,
        "frac": torch.frac,
        "sign": torch.sign, "square": lambda x: x**2, "cube": lambda x: x**3, "power 2.5": lambda x: x**2.5,
        "clamp": lambda x: x.clamp(0.2, 0.8), "relu": F.relu, "relu6": F.relu6, "leaky_relu": F.leaky_relu,
        "elu": F.elu,
        "selu": F.selu, "celu": F.celu, "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
        "silu": F.silu, "mish": F.mish, "sigmoid": torch.sigmoid, "logsigmoid": F.logsigmoid, "softplus": F.softplus,
        "softsign": F.softsign, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh,
        "tanhshrink": F.tanhshrink, "softshrink": F.softshrink, "isnan": torch.isnan, "isfinite": torch.isfinite,
        "nan_to_num": torch.nan_to_num, "logit": lambda x: torch.logit(x, 1e-3), "sinc": torch.sinc, "i0": torch.i0,
    }  # fmt: skip
    for name, function in functions.items():
        for size, shape in MATRICES.items():
            yield f"{name} {size}", Operator(function, (shape,))
    for name in (
        "abs",
        "exp",
        "tanh",
        "gelu",
        "sigmoid",
        "silu",
        "sqrt",
        "erf",
        "log",
        "clamp",
        "relu",
        "round",
        "square",
    ):
        for kind, dtype in FLOATS.items():
            for size in ("rows of 3", "typical"):
                yield f"{name} {kind} {size}", Operator(functions[name], ((MATRICES[size], dtype),))


def _binary() -> Rows:
    functions: dict[str, Function] = {
        "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "maximum": torch.maximum,
        "minimum": torch.minimum,
        "pow": torch.pow, "atan2": torch.atan2, "fmod": torch.fmod, "remainder": torch.remainder,
        "hypot": torch.hypot,
        "floor_divide": torch.floor_divide, "copysign": torch.copysign, "logaddexp": torch.logaddexp,
        "less": torch.lt,
        "equal": torch.eq, "xlogy": torch.xlogy, "lerp": lambda x, y: torch.lerp(x, y, 0.3),
        "where": lambda x, y: torch.where(x > y, x, y), "addcmul": lambda x, y: torch.addcmul(x, x, y),
        "mse_loss": F.mse_loss, "l1_loss": F.l1_loss, "smooth_l1_loss": F.smooth_l1_loss, "huber_loss": F.huber_loss,
        "binary_cross_entropy": F.binary_cross_entropy, "kl_div": lambda x, y: F.kl_div(x, y, reduction="mean"),
        "cosine_similarity": F.cosine_similarity, "pairwise_distance": F.pairwise_distance,
    }  # fmt: skip
    for name, function in functions.items():
        for size, shape in MATRICES.items():
            yield f"{name} {size}", Operator(function, (shape, shape))
    forms: dict[str, Callable[[Shape], Shape]] = {
        "row": lambda s: s[1:], "column": lambda s: (s[0], 1), "scalar": lambda s: (1,),
    }  # fmt: skip
    for name in ("add", "mul", "div", "less", "where"):
        for form, other in forms.items():
            for size, shape in MATRICES.items():
                yield f"{name} {form} {size}", Operator(functions[name], (shape, other(shape)))
    for name in ("add", "mul", "maximum", "less", "div", "floor_divide", "remainder"):
        for kind, dtype in {**FLOATS, **INTEGERS}.items():
            for size in ("rows of 3", "typical"):
                arguments = ((MATRICES[size], dtype), (MATRICES[size], dtype))
                function = (
                    functions[name]
                    if name not in ("div", "floor_divide", "remainder")
                    else _by_positive(functions[name])
                )
                yield f"{name} {kind} {size}", Operator(function, arguments)


def _bitwise() -> Rows:
    bits: dict[str, Function] = {
        "and": torch.bitwise_and, "xor": torch.bitwise_xor, "shift": lambda x, y: x << (y & 3),
        "not": lambda x, y: ~x | y,
    }  # fmt: skip
    for name, function in bits.items():
        for kind, dtype in INTEGERS.items():
            yield f"{name} {kind}", Operator(function, (((256, 768), dtype), ((256, 768), dtype)))


def _by_positive(function: Function) -> Function:
    return lambda x, y: function(x, y + 1)


def _casts() -> Rows:
    kinds = {"float32": torch.float32, "bool": torch.bool, **FLOATS, **INTEGERS}
    for source, a in kinds.items():
        for target, b in kinds.items():
            if a != b:
                yield f"{source} to {target}", Operator(lambda x, to=b: x.to(to), (((256, 769), a),))


ALONG: dict[str, Function] = {
    "sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "amin": torch.amin, "prod": torch.prod,
    "argmax": torch.argmax,
    "var": torch.var, "std": torch.std, "norm": lambda x, d: torch.linalg.vector_norm(x, dim=d),
    "norm 1": lambda x, d: torch.linalg.vector_norm(x, 1, dim=d), "logsumexp": torch.logsumexp,
    "any": lambda x, d: (x > 0.9).any(d), "count_nonzero": lambda x, d: torch.count_nonzero(x > 0.5, d),
    "max with indices": lambda x, d: torch.max(x, d), "softmax": torch.softmax, "log_softmax": torch.log_softmax,
    "normalize": lambda x, d: F.normalize(x, dim=d), "cumsum": torch.cumsum, "cumprod": torch.cumprod,
    "cummax": lambda x, d: torch.cummax(x, d)[0], "logcumsumexp": torch.logcumsumexp,
    "diff": lambda x, d: torch.diff(x, dim=d),
    "flip": lambda x, d: torch.flip(x, (d,)), "roll": lambda x, d: torch.roll(x, 2, d),
    "sort": lambda x, d: torch.sort(x, d)[0],
    "argsort": lambda x, d: torch.argsort(x, dim=d, stable=True), "median": lambda x, d: torch.median(x, d)[0],
    "topk 1": lambda x, d: torch.topk(x, 1, d)[0], "topk 2": lambda x, d: torch.topk(x, 2, d)[0],
}  # fmt: skip
"""Functions of a tensor and a dimension."""


def _reductions() -> Rows:
    for name, function in ALONG.items():
        for size, shape in BLOCKS.items():
            for dim in range(3):
                yield f"{name} {dim} {size}", Operator(lambda x, f=function, d=dim: f(x, d), (shape,))


def _reductions_of_dtypes() -> Rows:
    for name in ("sum", "mean", "amax", "softmax", "cumsum", "argmax"):
        for kind, dtype in FLOATS.items():
            for dim in range(3):
                for size in ("rows of 3", "odd"):
                    function = ALONG[name]
                    yield (
                        f"{name} {dim} {kind} {size}",
                        Operator(lambda x, f=function, d=dim: f(x, d), ((BLOCKS[size], dtype),)),
                    )
    for name in ("sum", "amax", "cumsum", "argmax", "sort"):
        for kind, dtype in INTEGERS.items():
            function = ALONG[name]
            for dim in (1, 2):
                yield f"{name} {dim} {kind}", Operator(lambda x, f=function, d=dim: f(x, d), (((17, 61, 127), dtype),))


def _reductions_of_all() -> Rows:
    whole: dict[str, Function] = {
        "sum": torch.sum, "mean": torch.mean, "max": torch.max, "argmax": torch.argmax, "std": torch.std,
        "norm": torch.norm,
        "prod": torch.prod, "sum of first two": lambda x: x.sum((0, 1)), "sum of last two": lambda x: x.sum((1, 2)),
        "var of ends": lambda x: x.var((0, 2)), "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
        "layer_norm 2": lambda x: F.layer_norm(x, x.shape[-2:]), "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
        "instance_norm": F.instance_norm, "group_norm": lambda x: F.group_norm(x, 1),
        "allclose": lambda x: torch.isclose(x, x * 1.01).all(),
    }  # fmt: skip
    for name, function in whole.items():
        for size, shape in BLOCKS.items():
            yield f"{name} all {size}", Operator(function, (shape,))
    for k, shape in ((1, (64, 1000)), (5, (4, 50000)), (5, (4, 500000)), (50, (1, 128256)), (100, (16, 8192))):
        yield f"topk {k} of {shape}", Operator(lambda x, k=k: torch.topk(x, k)[0], (shape,))
    for shape in ((64, 1000), (1, 100000), (5000, 16)):
        yield f"sort rows {shape}", Operator(lambda x: torch.sort(x)[0], (shape,))


def _movements() -> Rows:
    functions: dict[str, Function] = {
        "transpose": lambda x: x.t().contiguous(), "transpose and add": lambda x: x.t() + 1,
        "tile rows": lambda x: x.repeat(3, 1),
        "tile columns": lambda x: x.repeat(1, 3), "repeat rows": lambda x: x.repeat_interleave(2, 0),
        "repeat columns": lambda x: x.repeat_interleave(2, 1), "concat rows": lambda x: torch.cat([x, x]),
        "concat columns": lambda x: torch.cat([x, x], 1), "stack first": lambda x: torch.stack([x, x]),
        "stack last": lambda x: torch.stack([x, x], -1), "slice columns": lambda x: x[:, 1:] + 0,
        "slice rows": lambda x: x[1:] + 0,
        "every second": lambda x: x[:, ::2] + 0, "every second row": lambda x: x[::2] + 0,
        "pad": lambda x: F.pad(x, (1, 2, 3, 1)),
        "tril": torch.tril, "triu": torch.triu, "flip both": lambda x: x.flip(0, 1),
        "rot90": lambda x: torch.rot90(x) + 0,
        "diagonal": lambda x: torch.diagonal(x) + 0,
        "chunk and swap": lambda x: torch.cat(x.tensor_split(2, 1)[::-1], 1),
        "masked_fill": lambda x: x.masked_fill(x > 0.5, 0.0), "flatten and add": lambda x: x.flatten() + 1,
        "expand": lambda x: x[:, None].expand(-1, 3, -1) + 0,
        "outer sum": lambda x: x[:64, None, :64] + x[None, :64, :64],
        "sliding windows": lambda x: x.unfold(1, 3, 1) + 0, "select column": lambda x: x[:, 1] + 0,
        "rotate halves": lambda x: torch.cat([-x[:, x.shape[1] // 2 :], x[:, : x.shape[1] // 2]], 1),
        "even and odd": lambda x: torch.stack([x[::2].sum(1), x[::2].amax(1)]),
        "diag_embed": lambda x: torch.diag_embed(x[:64, :64]),
    }  # fmt: skip
    for name, function in functions.items():
        for size, shape in MATRICES.items():
            yield f"{name} {size}", Operator(function, (shape,))
    for name in ("transpose", "concat columns", "slice columns", "repeat columns", "tile rows", "pad"):
        for kind, dtype in {"float16": HALF, "int8": torch.int8, "int64": torch.int64}.items():
            for size in ("rows of 3", "prime"):
                yield f"{name} {kind} {size}", Operator(functions[name], ((MATRICES[size], dtype),))
    permutations = {"021": (0, 2, 1), "102": (1, 0, 2), "210": (2, 1, 0), "201": (2, 0, 1), "120": (1, 2, 0)}
    for name, order in permutations.items():
        for size, shape in BLOCKS.items():
            yield f"permute {name} {size}", Operator(lambda x, o=order: x.permute(o).contiguous(), (shape,))


def _indexing() -> Rows:
    for size, (n, m) in MATRICES.items():
        same, some = ((n, m), n), ((max(n // 2, 1),), n)
        half = (max(n // 2, 1), m)
        functions: dict[str, tuple[Function, tuple[Any, ...]]] = {
            "gather rows": (lambda x, i: x.gather(0, i), ((n, m), same)),
            "gather columns": (lambda x, i: x.gather(1, i), ((n, m), ((n, m), m))),
            "index_select rows": (lambda x, i: x.index_select(0, i), ((n, m), some)),
            "index_select columns": (lambda x, i: x.index_select(1, i), ((n, m), ((m,), m))),
            "embedding": (lambda i, w: F.embedding(i, w), (((4, 32), n), (n, m))),
            "index pairs": (lambda x, i, j: x[i, j], ((n, m), some, ((max(n // 2, 1),), m))),
            "index_add": (lambda x, i, y: x.index_add(0, i, y), ((n, m), some, half)),
            "index_put": (lambda x, y: x.index_put((torch.arange(y.shape[0]),), y), ((n, m), half)),
            "scatter columns": (lambda x, i: x.scatter(1, i, 1.0), ((n, m), ((n, m), m))),
            "scatter_add columns": (lambda x, i, y: x.scatter_add(1, i, y), ((n, m), ((n, m), m), (n, m))),
            "scatter_add rows": (lambda x, i, y: x.scatter_add(0, i, y), ((n, m), same, (n, m))),
            "scatter_reduce": (lambda x, i, y: x.scatter_reduce(1, i, y, "amax"), ((n, m), ((n, m), m), (n, m))),
            "take_along argsort": (lambda x: x.take_along_dim(x.argsort(dim=1, stable=True), 1), ((n, m),)),
            "searchsorted": (lambda x, y: torch.searchsorted(x.cumsum(0), y), ((m,), (n,))),
            "cross_entropy": (lambda x, i: F.cross_entropy(x, i), ((n, m), ((n,), m))),
            "nll_loss": (lambda x, i: F.nll_loss(x, i), ((n, m), ((n,), m))),
        }
        for name, (function, arguments) in functions.items():
            if size != "large" or name not in ("take_along argsort", "scatter_reduce"):
                yield f"{name} {size}", Operator(function, arguments)
    yield "one_hot", Operator(lambda i: F.one_hot(i, 100), (((64, 32), 100),))
    yield "bucketize", Operator(lambda x, b: torch.bucketize(x, b.cumsum(0)), ((256, 768), (31,)))


def _products() -> Rows:
    sizes = {"tiny": (3, 5, 7), "odd": (61, 127, 33), "typical": (256, 768, 512), "thin": (512, 512, 3),
    "prime": (509, 251, 127),
             "flat": (4, 1024, 1024), "deep": (16, 20000, 16)}  # fmt: skip
    for size, (n, k, m) in sizes.items():
        functions: dict[str, tuple[Function, tuple[Any, ...]]] = {
            "matmul": (torch.matmul, ((n, k), (k, m))),
            "matmul nt": (lambda x, y: x @ y.t(), ((n, k), (m, k))),
            "matmul tn": (lambda x, y: x.t() @ y, ((k, n), (k, m))),
            "matmul float64": (torch.matmul, (((n, k), torch.float64), ((k, m), torch.float64))),
            "linear and gelu": (lambda x, w, b: F.gelu(F.linear(x, w, b)), ((n, k), (m, k), (m,))),
            "matrix and vector": (torch.mv, ((n, k), (k,))),
            "vector and matrix": (torch.matmul, ((n,), (n, k))),
            "matrix and column": (torch.matmul, ((n, k), (k, 1))),
            "batch 4": (torch.matmul, ((4, n, k), (4, k, m))),
            "batch 4 shared": (torch.matmul, ((4, n, k), (k, m))),
            "cdist": (torch.cdist, ((n, min(k, 64)), (m, min(k, 64)))),
            "outer": (torch.outer, ((n,), (k,))),
        }
        for name, (function, arguments) in functions.items():
            yield f"{name} {size}", Operator(function, arguments)
    yield "dot", Operator(torch.dot, ((100003,), (100003,)))
    yield "many small products", Operator(torch.matmul, ((1000, 8, 8), (1000, 8, 8)))
    yield "many products of 3", Operator(torch.matmul, ((5000, 3, 3), (5000, 3, 3)))
    three = ((128, 256), (256, 128), (128, 64))
    yield "einsum of three", Operator(lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), three)
    yield (
        "einsum bilinear",
        Operator(lambda a, b, c: torch.einsum("bi,ijk,bj->bk", a, b, c), ((64, 32), (32, 16, 24), (64, 16))),
    )
    yield "einsum heads", Operator(lambda a, b: torch.einsum("bqhd,bkhd->bhqk", a, b), ((2, 64, 8, 32), (2, 64, 8, 32)))
    for name, (b, h, q, k, d) in {
        "tiny": (1, 2, 3, 5, 8), "typical": (2, 12, 128, 128, 64), "decode": (2, 12, 1, 1024, 64),
        "odd": (1, 3, 197, 197, 40),
        "long": (1, 4, 1024, 1024, 64),
    }.items():  # fmt: skip
        shapes = ((b, h, q, d), (b, h, k, d), (b, h, k, d))
        yield f"attention {name}", Operator(F.scaled_dot_product_attention, shapes)
        yield f"attention mask {name}", Operator(F.scaled_dot_product_attention, (*shapes, (q, k)))
        yield f"attention by hand {name}", Operator(lambda q, k, v: (q @ k.mT * 0.125).softmax(-1) @ v, shapes)


WITH_WEIGHTS = ("conv", "depthwise", "transposed")
"""Operators with weights, whose sizes are known."""


def _images() -> Rows:
    for size, (n, c, h, w) in IMAGES.items():
        out = 64 if size != "tiny" else 4
        functions: dict[str, tuple[Function, tuple[Any, ...]]] = {
            "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2), ((n, c, h, w),)),
            "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 1, 1), ((n, c, h, w),)),
            "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 1), ((n, c, h, w),)),
            "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, 2), ((n, c, h, w),)),
            "lp_pool2d": (lambda x: F.lp_pool2d(x, 2.0, 2), ((n, c, h, w),)),
            "nearest": (lambda x: F.interpolate(x, scale_factor=2.0), ((n, c, h, w),)),
            "bilinear": (lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), ((n, c, h, w),)),
            "bicubic": (lambda x: F.interpolate(x, scale_factor=2.0, mode="bicubic"), ((n, c, h, w),)),
            "batch_norm and relu": (
                lambda x, m, v, g, b: F.relu(F.batch_norm(x, m, v, g, b)), ((n, c, h, w), (c,), (c,), (c,), (c,)),
            ),
            "pad reflect": (lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), ((n, c, h, w),)),
            "pad replicate": (lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), ((n, c, h, w),)),
            "pad circular": (lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"), ((n, c, h, w),)),
            "channels last": (lambda x: x.permute(0, 2, 3, 1).contiguous(), ((n, c, h, w),)),
            "unfold": (lambda x: F.unfold(x, 3), ((n, c, h, w),)),
            "grid_sample": (lambda x, g: F.grid_sample(x, g * 2 - 1, align_corners=False), ((n, c, h, w), (n, h, w,
            2))),
            "conv 1x1": (F.conv2d, ((n, c, h, w), (out, c, 1, 1))),
            "conv 3x3": (lambda x, k: F.conv2d(x, k, padding=1), ((n, c, h, w), (out, c, 3, 3))),
            "conv 3x3 stride 2": (lambda x, k: F.conv2d(x, k, stride=2, padding=1), ((n, c, h, w), (out, c, 3, 3))),
            "conv 3x3 dilated": (lambda x, k: F.conv2d(x, k, padding=2, dilation=2), ((n, c, h, w), (out, c, 3, 3))),
            "depthwise 3x3": (lambda x, k, c=c: F.conv2d(x, k, padding=1, groups=c), ((n, c, h, w), (c, 1, 3, 3))),
            "depthwise 5x5": (lambda x, k, c=c: F.conv2d(x, k, padding=2, groups=c), ((n, c, h, w), (c, 1, 5, 5))),
            "transposed 2x2": (lambda x, k: F.conv_transpose2d(x, k, stride=2), ((n, c, h, w), (c, out // 2, 2, 2))),
        }  # fmt: skip
        for name, (function, arguments) in functions.items():
            if size != "large" or not name.startswith(("unfold", "conv 3x3", "transposed")):
                yield f"{name} {size}", Operator(function, arguments, 1 if name.split()[0] in WITH_WEIGHTS else None)
    yield (
        "grouped convolution",
        Operator(lambda x, w: F.conv2d(x, w, padding=1, groups=32), ((1, 512, 14, 14), (512, 16, 3, 3)), 1),
    )
    yield "pixel_shuffle", Operator(lambda x: F.pixel_shuffle(x, 2), ((2, 64, 28, 28),))
    yield "channel_shuffle", Operator(lambda x: F.channel_shuffle(x, 2), ((2, 116, 28, 28),))
    yield "patches", Operator(lambda x, w: F.conv2d(x, w, stride=16), ((1, 3, 224, 224), (192, 3, 16, 16)), 1)
    yield "conv1d", Operator(lambda x, w: F.conv1d(x, w, padding=1), ((2, 80, 300), (96, 80, 3)), 1)
    yield (
        "transposed conv1d",
        Operator(lambda x, w: F.conv_transpose1d(x, w, stride=8), ((1, 256, 100), (256, 128, 16)), 1),
    )
    yield "conv3d", Operator(lambda x, w: F.conv3d(x, w, padding=1), ((1, 8, 8, 28, 28), (16, 8, 3, 3, 3)), 1)
    yield (
        "causal depthwise conv1d",
        Operator(lambda x, w: F.conv1d(x, w, padding=3, groups=256), ((2, 256, 200), (256, 1, 4)), 1),
    )


def _chains() -> Rows:
    functions: dict[str, tuple[Function, Callable[[Shape], tuple[Any, ...]]]] = {
        "bias gelu": (lambda x, b: F.gelu(x + b), lambda s: (s, s[1:])),
        "residual layer_norm": (lambda x, y, g, b: F.layer_norm(x + y, x.shape[-1:], g, b), lambda s: (s, s, s[1:],
        s[1:])),
        "rms_norm weight": (lambda x, g: F.rms_norm(x, x.shape[-1:], g), lambda s: (s, s[1:])),
        "masked softmax": (lambda x, y: (x.masked_fill(y > 0.5, float("-inf"))).softmax(-1), lambda s: (s, s)),
        "swiglu": (lambda x, y: F.silu(x) * y, lambda s: (s, s)),
        "standardize": (lambda x: (x - x.mean(0)) / (x.std(0) + 1e-5), lambda s: (s,)),
        "minmax scale": (lambda x: (x - x.amin(1, True)) / (x.amax(1, True) - x.amin(1, True) + 1e-5),
        lambda s: (s,)),
        "quantize": (lambda x: (x / 0.02).round().clamp(-128, 127).to(torch.int8), lambda s: (s,)),
        "dequantize": (lambda x: x.to(torch.float32) * 0.02, lambda s: ((s, torch.int8),)),
        "entropy": (lambda x: -(x.softmax(-1) * x.log_softmax(-1)).sum(-1), lambda s: (s,)),
        "sum of squares": (lambda x: (x * x).sum(-1).sqrt(), lambda s: (s,)),
        "polynomial": (lambda x: ((x * 0.3 + 0.2) * x + 0.1) * x - 1, lambda s: (s,)),
        "rotary": (lambda x, c, s: x * c + torch.cat([-x[:, x.shape[1] // 2 :], x[:, : x.shape[1] // 2]], 1) * s,
        lambda s: (s, s, s)),
        "running mean": (lambda x: x.cumsum(1) / torch.arange(1, x.shape[1] + 1), lambda s: (s,)),
        "greater and count": (lambda x: (x > x.mean(1, True)).sum(1), lambda s: (s,)),
        "argmax and compare": (lambda x, y: (x.argmax(1) == y.argmax(1)).sum(), lambda s: (s, s)),
        "euclid to first": (lambda x: ((x - x[:1]) ** 2).sum(1).sqrt(), lambda s: (s,)),
    }  # fmt: skip
    for name, (function, arguments) in functions.items():
        for size, shape in MATRICES.items():
            yield f"{name} {size}", Operator(function, arguments(shape))


FAMILIES: dict[str, Callable[[], Rows]] = {
    "unary": _unary, "binary": lambda: chain(_binary(), _bitwise()), "casts": _casts,
    "reductions": lambda: chain(_reductions(), _reductions_of_dtypes(), _reductions_of_all()),
    "movements": _movements, "indexing": _indexing, "products": _products, "images": _images, "chains": _chains,
}  # fmt: skip
OPERATORS = {f"{family}: {name}": operator for family, rows in FAMILIES.items() for name, operator in rows()}
