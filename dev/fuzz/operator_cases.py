"""Test cases of every operator: name, arguments, attributes.

An argument is a tensor's type as text (`[n, 4] f32`), a list of these, None, or a function that creates a leaf.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32, i64
from xdsl.ir import Block, Region, SSAValue
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.names import set_name
from ...dialects.relax.operator import OPERATORS
from ...dialects.relax.types import free_symbolic_vars
from ...dialects.sym.expr import Var
from ...ir.functions.lookup import functions
from ...ir.passes.transform import new_context
from ...ir.verification.verify import verify_module

Leaf = Callable[[], Any]
Case = tuple[str, list[Any], dict[str, Any]]


def shape(*dims: Any) -> Leaf:
    """Return a leaf that creates a shape."""
    return lambda: relax.ShapeOp(dims)


def number(value: float) -> Leaf:
    """Return a leaf that creates an f32 scalar."""
    return lambda: relax.PrimValueOp(FloatAttr(value, f32))


def prim(value: Any) -> Leaf:
    """Return a leaf that creates an i64 scalar, or a symbolic expression."""
    return lambda: relax.PrimValueOp(value)


def constant(value: Any, dtype: Any = f32) -> Leaf:
    """Return a leaf that creates a constant tensor."""
    return lambda: relax.ConstantOp.of(value, dtype)


A, B = "[n, 4] f32", "[4] f32"
n = Var("n")
FLOAT_UNARY = (
    "abs acos asin asinh atan atanh ceil cos cosh digamma erf erfinv exp expm1 floor lgamma log1p log2 log10 negative "
    "round sigmoid sign sin sinh sqrt square tan tanh trunc isfinite isinf isnan nn.relu nn.gelu nn.gelu_tanh nn.selu "
    "nn.silu nn.leakyrelu nn.softplus"
)
SEED = ["[] i64", "[] i64"]
"""The operands that seed random numbers."""
FLOAT_BINARY = (
    "add subtract multiply divide floor_divide mod floor_mod maximum minimum equal not_equal greater greater_equal "
    "less less_equal"
)
REDUCTIONS = "sum prod max min mean std variance"
BASIC: list[Case] = [
    *((n, [A], {}) for n in FLOAT_UNARY.split()),
    *((n, ["[3, n] f16"], {}) for n in ["exp", "nn.gelu", "abs", "sqrt", "nn.relu"]),
    *((n, ["[3] f64"], {}) for n in ["exp", "acosh", "log", "rsqrt", "nn.silu"]),
    *((n, ["[n, 3] i32"], {}) for n in ["abs", "bitwise_not", "negative", "sign", "square", "nn.relu", "ceil"]),
    ("logical_not", ["[n, 3] i1"], {}),
    *((n, [A, B], {}) for n in FLOAT_BINARY.split()),
    *((n, ["[3, 1] f64", "[n] f64"], {}) for n in FLOAT_BINARY.split()[:6]),
    *((n, ["[n, 3] i32", "[1, 3] i32"], {}) for n in ["add", "subtract", "multiply", "maximum", "minimum", "less"]),
    *(
        (n, ["[n] i32", "[n] i32"], {})
        for n in ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]
    ),
    *((n, ["[n] i1", "[n] i1"], {}) for n in ["logical_and", "logical_or", "logical_xor"]),
    *((n, ["[n] i64", constant(2, i64)], {}) for n in ["divide", "floor_divide", "mod", "floor_mod"]),
    ("power", ["[n] f32", constant(2.0)], {}),
    ("add", [constant(1.5), A], {}),
    ("add", [A, constant([1.0, 2.0, 3.0, 4.0])], {}),
    ("add", [A, "[] f32"], {}),
    ("clip", [A, number(-0.25), number(0.5)], {}),
    ("nn.leakyrelu", [A], {"alpha": 0.2}),
    ("nn.softplus", [A], {"beta": 2.0, "threshold": 1.0}),
    ("astype", [A], {"dtype": "int32"}),
    ("astype", ["[n] i32"], {"dtype": "float16"}),
    ("astype", [A], {"dtype": "float32"}),
    ("where", ["[n, 1] i1", A, B], {}),
    *((n, ["[n, 4, 5] f32"], {"axis": [1, 2]}) for n in REDUCTIONS.split()),
    *((n, ["[3, n, 2] f32"], {"axis": [-1], "keepdims": True}) for n in REDUCTIONS.split()),
    *((n, ["[3, 2] f64"], {}) for n in REDUCTIONS.split()),
    *((n, ["[3, n] i32"], {"axis": [0]}) for n in ["sum", "prod", "max", "min"]),
    *((n, ["[n, 4, 5] f32"], {"axis": 1}) for n in ("argmax", "argmin")),
    *((n, ["[3, n, 4] i32"], {"axis": -1, "keepdims": True}) for n in ("argmax", "argmin")),
    *((n, ["[3, 4] f32"], {}) for n in ("argmax", "argmin")),
    *((n, ["[n, 4, 5] f32"], {"axis": a}) for n in ("nn.softmax", "nn.log_softmax") for a in (-1, 1)),
    ("nn.layer_norm", ["[n, 4, 5] f32", "[4, 5] f32", "[4, 5] f32"], {"axes": [-2, -1]}),
    ("nn.layer_norm", ["[n, 4] f16", "[4] f16", "[4] f16"], {"axes": [-1]}),
    ("nn.layer_norm", [A, B, B], {"axes": [1], "center": False}),
    ("nn.layer_norm", [A, B, B], {"axes": [1], "scale": False, "epsilon": 0.5}),
    ("permute_dims", ["[n, 4, 5] f32"], {}),
    ("permute_dims", ["[n, 4, 5] f32"], {"axes": [0, 2, 1]}),
    ("reshape", ["[n, 4, 5] f32", shape("n", 20)], {}),
    ("reshape", ["[6, 4] f32", shape(3, 4, 2)], {}),
    ("reshape", ["[2, 6, 3] f32", shape(4, 1, 9)], {}),
    ("reshape", ["[n, 1, 4, 1] f32", shape(1, "n", 2, 2)], {}),
    ("reshape", ["[] f32", shape(1, 1)], {}),
    ("reshape", ["[1, 1] f32", shape()], {}),
    ("flatten", ["[n, 4, 5] f32"], {}),
    ("broadcast_to", ["[n, 1] f32", shape(3, "n", Var("n") + 2)], {}),
    ("expand_dims", [A], {"axis": [0, 2]}),
    ("expand_dims", [A], {"axis": 0}),
    ("squeeze", ["[n, 1, 4, 1] f32"], {"axis": [1]}),
    ("squeeze", ["[3, 1, 4, 1] f32"], {}),
    ("concat", [["[n, 4] f32", "[m, 4] f32", "[n, 4] f32"]], {"axis": 0}),
    ("concat", [["[n, 4] i32", "[n, 3] i32"]], {"axis": -1}),
    ("concat", [["[n] f32"]], {}),
    ("split", ["[n, 12] f32"], {"indices_or_sections": 3, "axis": 1}),
    ("split", ["[n, 10] f32"], {"indices_or_sections": [3, 7], "axis": -1}),
    ("split", ["[n, 10] f32"], {"indices_or_sections": 4, "axis": 1}),
    ("split", ["[6] f32"], {"indices_or_sections": 1}),
    ("take", ["[4, n] f32", "[m] i64"], {"axis": 0}),
    ("take", ["[n, 4] f32", "[2, 3] i32"], {"axis": 1, "mode": "clip"}),
    ("take", ["[n, 4] f32", lambda: relax.PrimValueOp(2)], {"axis": 1}),
    ("take", ["[4] f32", "[n] i32"], {}),
    ("zeros", [shape(2, 3)], {"dtype": "float32"}),
    ("ones", [shape(2, 3)], {"dtype": "int8"}),
    ("full", [shape(2, 3), constant(2.5)], {"dtype": "float16"}),
    ("full", [shape(2, 3), "[] f32"], {}),
    ("full", [shape(3), "[] f32"], {"dtype": "int32"}),
    ("zeros_like", [A], {}),
    ("ones_like", [A], {"dtype": "bool"}),
    ("matmul", ["[n, 4] f32", "[4, m] f32"], {}),
    ("matmul", ["[2, n, 4] f32", "[4, m] f32"], {}),
    ("matmul", ["[2, 1, n, 4] f32", "[3, 4, 2] f32"], {}),
    ("matmul", ["[4] f32", "[4, n] f32"], {}),
    ("matmul", ["[2, n, 4] f32", "[4] f32"], {}),
    ("matmul", ["[4] f64", "[4] f64"], {}),
    ("matmul", ["[n, 4] f16", "[4, 5] f16"], {"out_dtype": "float32"}),
    ("matmul", ["[n, 4] i8", "[4, 5] i8"], {"out_dtype": "int32"}),
    ("nn.attention", ["[2, n, 4, 8] f32", "[2, m, 4, 8] f32", "[2, m, 4, 6] f32"], {}),
    ("nn.attention", ["[2, 3, 2, 4] f32", "[2, 5, 2, 4] f32", "[2, 5, 2, 4] f32", "[2, 2, 3, 5] f32"], {"scale": 0.3}),
    ("nn.attention", ["[1, 3, 2, 4] f32", "[1, 5, 2, 4] f32", "[1, 5, 2, 4] f32"], {"causal_mask": "TopLeft"}),
    ("nn.attention", ["[1, 3, 2, 4] f32", "[1, 5, 2, 4] f32", "[1, 5, 2, 4] f32"], {"causal_mask": "BottomRight"}),
    ("nn.attention", ["[1, n, 2, 4] f32", "[1, m, 2, 4] f32", "[1, m, 2, 4] f32"], {"causal_mask": "BottomRight"}),
    ("nn.dropout", [A], {}),
]
POSITIVE = {"log", "rsqrt", "acosh", "divide", "floor_divide", "mod", "floor_mod", "sqrt", "power"}
"""Operators whose operands are made positive."""

FURTHER: list[Case] = [
    ("full_like", [A, "[] f32"], {}),
    ("full_like", [A, constant(2.5)], {"dtype": "int32"}),
    ("arange", [prim(0), prim(10), prim(1)], {}),
    ("arange", [prim(1), prim(10), prim(2)], {}),
    ("arange", [prim(10), prim(1), prim(-2)], {"dtype": "float32"}),
    ("arange", [number(0.5), number(2.0), number(0.25)], {}),
    ("eye", [prim(3), prim(3), prim(0)], {"dtype": "float32"}),
    ("eye", [prim(3), prim(5), prim(1)], {"dtype": "int8"}),
    ("eye_like", ["[n, 4] f32", prim(-1)], {}),
    ("tril", ["[2, n, 4] f32", prim(0)], {}),
    ("tril", ["[3, n] i32", prim(1)], {}),
    ("triu", ["[2, n, 4] f16", prim(-1)], {}),
    ("triu", ["[n, n] i1", prim(0)], {}),
    ("hamming_window", [prim(10), prim(1), number(0.54), number(0.46)], {"dtype": "float32"}),
    ("hamming_window", [prim(7), prim(0), number(0.54), number(0.46)], {"dtype": "float64"}),
    ("hamming_window", [prim(1), prim(0), number(0.54), number(0.46)], {"dtype": "float32"}),
    ("repeat", [A], {"repeats": 2, "axis": -1}),
    ("repeat", [A], {"repeats": 3}),
    ("tile", [A], {"repeats": [2, 3]}),
    ("tile", [A], {"repeats": [3]}),
    ("tile", ["[n] i32"], {"repeats": [2, 1, 2]}),
    ("flip", [A], {"axis": -2}),
    ("stack", [[A, A, A]], {"axis": 1}),
    ("stack", [["[n] i64", "[n] i64"]], {"axis": -1}),
    ("meshgrid", [["[n] f32", "[3] f32", "[2] f32"]], {}),
    ("meshgrid", [["[n] f32", "[3] f32"]], {"indexing": "xy"}),
    ("collapse_sum_like", ["[2, n, 4] f32", "[n, 1] f32"], {}),
    ("collapse_sum_to", ["[2, n, 4] f32", shape("n", 1)], {}),
    ("collapse_sum_to", ["[2, n, 4] i32", shape()], {}),
    ("strided_slice", ["[5, n] f32", [prim(0)], [prim(1)], [prim(4)]], {}),
    ("strided_slice", ["[5, n] f32", [prim(1), prim(0)], [prim(1), prim(-4)], [prim(4), prim(-1)]], {}),
    (
        "strided_slice",
        ["[5, n] i8", [prim(1), prim(0)], [prim(0), prim(0)], [prim(n), prim(5)], [prim(1), prim(2)]],
        {},
    ),
    ("strided_slice", ["[n] f32", [prim(0)], [prim(-1)], [prim(-100)], [prim(-1)]], {}),
    ("strided_slice", ["[9] f32", [prim(-1)], [prim(7)], [prim(0)], [prim(-2)]], {}),
    ("strided_slice", ["[n] f32", [prim(0)], [prim(n - 1)], [prim(n)]], {}),
    ("strided_slice", ["[n] f32", [prim(0)], [prim(0)], [prim(n)]], {}),
    ("gather_elements", ["[4, 3] f32", "[2, 3] i64"], {"axis": 0}),
    ("gather_elements", ["[2, 3] f32", "[2, 5] i32"], {"axis": -1}),
    ("gather_nd", ["[3, 4, n] f32", "[5, 2] i64"], {}),
    ("gather_nd", ["[n, 4, 3] f32", "[n, 5, 1] i32"], {"batch_dims": 1}),
    ("index_tensor", ["[3, 4, n] f32", ["[2, 1] i64", "[m] i64"]], {}),
    ("index_tensor", ["[3, n] f32", ["[2] i32"]], {}),
    ("one_hot", ["[n] i64", number(1.0), number(0.0)], {"depth": 5}),
    ("one_hot", ["[n, 2] i32", prim(1), prim(-1)], {"depth": 3, "axis": 0}),
    ("image.affine_grid", ["[n, 2, 3] f32", shape(4, 5)], {}),
    ("image.grid_sample", ["[n, 3, 5, 4] f32", "[n, 2, 6, 7] f32"], {"padding_mode": "border"}),
    ("wrap_param", ["[n, 4] f16"], {}),
    ("wrap_param", ["[n, 4] f32"], {"dtype": "int32"}),
    ("slice_scatter", ["[8, n] f32", "[3, n] f32", prim(1), prim(7), prim(2)], {}),
    ("slice_scatter", ["[n, 5] f32", "[n, 2] f32", prim(-3), prim(-1), prim(1)], {"axis": 1}),
    ("nn.pad", ["[2, n] f32"], {"pad_width": [0, 0, 1, 2]}),
    ("nn.pad", ["[n, 3] i32"], {"pad_width": [1, 0, 1, 2], "pad_value": 3.0}),
    ("nn.pad", ["[n, 3] f32"], {"pad_width": [0, 0, 1, 2], "pad_mode": "reflect"}),
    ("nn.pad", ["[4, n] f32"], {"pad_width": [3, 3, 0, 0], "pad_mode": "reflect"}),
    ("nn.pad", ["[n, 3] f16"], {"pad_width": [0, 0, 4, 2], "pad_mode": "replicate"}),
    ("nn.pad", ["[n, 3] f32"], {"pad_width": [0, 0, 1, 2], "pad_mode": "circular"}),
    ("nn.pixel_shuffle", ["[n, 8, 3, 2] f32"], {"upscale_factor": 2}),
    ("nn.prelu", ["[2, 3, n] f32", "[3] f32"], {}),
    ("nn.prelu", ["[2, n] f16", "[n] f16"], {"axis": -1}),
    ("nn.batch_norm", ["[2, 3, n] f32"] + ["[3] f32"] * 3 + ["[3] f32"], {"training": False, "epsilon": 2.0}),
    ("nn.batch_norm", ["[2, n, 4, 2] f32"] + ["[n] f32"] * 3 + ["[n] f32"], {}),
    (
        "nn.batch_norm",
        ["[2, 4, 3] f32"] + ["[3] f32"] * 3 + ["[3] f32"],
        {"axis": -1, "center": False, "scale": False, "momentum": 0.5},
    ),
    ("nn.instance_norm", ["[n, 3, 4, 5] f32", "[3] f32", "[3] f32"], {"axes": [2, 3]}),
    ("nn.instance_norm", ["[2, 4, n] f16", "[n] f16", "[n] f16"], {"axes": [1], "channel_axis": -1, "center": False}),
    ("nn.group_norm", ["[n, 4, 3, 2] f32", "[4] f32", "[4] f32"], {"num_groups": 2, "axes": [2, 3]}),
    (
        "nn.group_norm",
        ["[n, 3, 6] f32", "[6] f32", "[6] f32"],
        {"num_groups": 3, "channel_axis": 2, "axes": [1], "scale": False},
    ),
    ("nn.rms_norm", ["[n, 4] f32", "[4] f32"], {}),
    ("nn.rms_norm", ["[2, n, 3] f16", "[n, 3] f16"], {"axes": [-2, -1]}),
    ("nn.cross_entropy_with_logits", ["[n, 4] f32", "[n, 4] f32"], {}),
    ("nn.cross_entropy_with_logits", ["[4] f32", "[4] f32"], {}),
    ("nn.nll_loss", ["[n, 5] f32", "[n] i64", "[5] f32"], {}),
    ("nn.nll_loss", ["[2, 5, n] f32", "[2, n] i32"], {"reduction": "none"}),
    ("nn.nll_loss", ["[n, 5] f32", "[n] i64", "[5] f32"], {"ignore_index": 1, "reduction": "sum"}),
    ("nn.nll_loss", ["[5] f32", "[] i64"], {}),
    ("nn.max_pool2d", ["[n, 3, 8, 7] f32"], {"pool_size": [2, 3], "strides": [2, 1], "padding": [1, 1]}),
    (
        "nn.max_pool2d",
        ["[2, 7, n, 3] i8"],
        {"pool_size": 3, "strides": 2, "padding": 1, "layout": "NHWC", "ceil_mode": True},
    ),
    ("nn.max_pool1d", ["[n, 3, 8] f16"], {"pool_size": 2, "strides": 2}),
    ("nn.max_pool3d", ["[n, 2, 4, 5, 3] f32"], {"pool_size": 2, "dilation": 2, "padding": [1, 0, 1, 1, 1, 1]}),
    ("nn.avg_pool1d", ["[n, 3, 8] f32"], {"pool_size": 3, "padding": 1}),
    ("nn.avg_pool2d", ["[n, 3, 8, 7] f32"], {"pool_size": 3, "strides": 2, "padding": [1, 0, 1, 1]}),
    (
        "nn.avg_pool2d",
        ["[n, 3, 8, 7] f32"],
        {"pool_size": 3, "strides": 2, "padding": 1, "ceil_mode": True, "count_include_pad": True},
    ),
    (
        "nn.avg_pool2d",
        ["[n, 3, 8, 7] f32"],
        {"pool_size": 3, "strides": 3, "padding": 1, "ceil_mode": True, "dilation": 2},
    ),
    ("nn.avg_pool3d", ["[n, 2, 4, 3, 3] f32"], {"pool_size": 2, "padding": 1}),
    ("nn.adaptive_avg_pool1d", ["[n, 3, 7] f32"], {"output_size": 3}),
    ("nn.adaptive_avg_pool2d", ["[n, 3, 8, 7] f32"], {"output_size": [2, 3]}),
    ("nn.adaptive_avg_pool2d", ["[2, 8, n, 3] f32"], {"output_size": [1, 1], "layout": "NHWC"}),
    ("nn.adaptive_avg_pool2d", ["[2, 3, 4, n] f32"], {}),
    ("nn.adaptive_avg_pool3d", ["[n, 1, 4, 5, 3] f32"], {"output_size": 2}),
    ("nn.conv1d", ["[n, 3, 8] f32", "[4, 3, 3] f32"], {"padding": 1}),
    ("nn.conv1d", ["[2, 4, 8] f16", "[6, 2, 3] f16"], {"groups": 2, "strides": 2, "out_dtype": "float32"}),
    (
        "nn.conv1d",
        ["[2, n, 4] i8", "[3, 4, 5] i8"],
        {"padding": 2, "data_layout": "NWC", "kernel_layout": "WIO", "out_dtype": "int32"},
    ),
    ("nn.conv2d", ["[n, 3, 8, 8] f32", "[4, 3, 3, 3] f32"], {"padding": [1, 1]}),
    ("nn.conv2d", ["[2, 3, 8, n] f32", "[m, 3, 3, 1] f32"], {"strides": [2, 1]}),
    (
        "nn.conv2d",
        ["[n, 4, 8, 8] f32", "[6, 2, 3, 3] f32"],
        {"padding": [1, 0, 2, 1], "strides": 2, "groups": 2, "dilation": 2},
    ),
    ("nn.conv2d", ["[n, 4, 5, 5] f32", "[4, 1, 3, 3] f32"], {"padding": 1, "groups": 4}),
    (
        "nn.conv2d",
        ["[n, 8, 8, 3] f32", "[3, 3, 3, 4] f32"],
        {"padding": 1, "strides": 2, "data_layout": "NHWC", "kernel_layout": "HWIO"},
    ),
    (
        "nn.conv2d",
        ["[n, 5, 5, 3] f32", "[2, 2, 4, 3] f32"],
        {"data_layout": "NHWC", "kernel_layout": "HWOI", "out_layout": "NCHW"},
    ),
    ("nn.conv3d", ["[n, 2, 4, 5, 4] f32", "[3, 2, 2, 3, 2] f32"], {"padding": 1, "strides": [1, 2, 1]}),
    ("nn.conv1d_transpose", ["[n, 3, 5] f32", "[3, 4, 3] f32"], {"strides": 2, "padding": 1, "output_padding": 1}),
    ("nn.conv2d_transpose", ["[n, 3, 5, 4] f32", "[3, 4, 3, 2] f32"], {"strides": [2, 1], "padding": [1, 0]}),
    (
        "nn.conv2d_transpose",
        ["[n, 4, 5, 4] f32", "[4, 3, 3, 3] f32"],
        {"groups": 2, "strides": 2, "padding": 1, "dilation": 2},
    ),
    (
        "nn.conv2d_transpose",
        ["[n, 5, 4, 3] f32", "[2, 2, 4, 3] f32"],
        {"data_layout": "NHWC", "kernel_layout": "HWOI", "padding": 1},
    ),
    ("nn.conv3d_transpose", ["[n, 2, 3, 2, 3] f32", "[2, 3, 2, 2, 2] f32"], {"strides": [1, 2, 1]}),
    ("cumsum", ["[n, 5] f32"], {"axis": 1}),
    ("cumsum", ["[2, n, 3] i32"], {"axis": -2, "exclusive": True}),
    ("cumsum", ["[n, 3] f16"], {"dtype": "float32"}),
    ("cumsum", ["[n, 3] f32"], {"dtype": "int64", "axis": 0}),
    ("cumprod", ["[3, n] f64"], {"axis": 1}),
    ("cumprod", ["[3, n] i32"], {"exclusive": True}),
    ("sort", ["[3, n] f32"], {}),
    ("sort", ["[n, 3] i8"], {"axis": 0, "descending": True}),
    ("argsort", ["[2, n, 3] i32"], {"axis": 1, "dtype": "int64"}),
    ("argsort", ["[13] f32"], {"descending": True}),
    ("argsort", ["[2, 13] i32"], {"descending": True}),
    ("topk", ["[n, 7] f32"], {"k": 3}),
    ("topk", ["[7, n] i32"], {"k": 2, "axis": 0, "ret_type": "indices", "largest": False, "dtype": "int64"}),
    ("topk", ["[2, n] f32"], {"k": -1, "ret_type": "values"}),
    ("bucketize", ["[n, 3] f32", "[4] f32"], {}),
    ("bucketize", ["[n] i32", "[m] i32"], {"right": True, "out_int32": True}),
    ("multinomial_from_uniform", ["[3, 5] f32", "[n, 1] f32", "[n, 1] i64"], {}),
    ("random.bits", [*SEED, shape(3, 5)], {"dtype": "uint64"}),
    ("random.uniform", [*SEED, shape(5, 4)], {"low": -2.0, "high": 3.0}),
    ("random.uniform", [*SEED, shape(7)], {"dtype": "bfloat16"}),
    ("random.normal", [*SEED, shape(5, 4)], {"mean": 1.0, "std": 2.0}),
    ("random.normal", [*SEED, shape()], {"dtype": "float64"}),
    ("random.exponential", [*SEED, shape(2, 5)], {"rate": 0.5, "dtype": "float16"}),
    ("random.bernoulli", [*SEED, shape(3, "n"), "[n] f32"], {}),
    ("random.bernoulli", [*SEED, shape(4), constant(0.25)], {"dtype": "int8"}),
    ("random.randint", [*SEED, shape(5, 3), prim(-4), prim(9)], {}),
    ("random.permutation", [*SEED, prim(9)], {"dtype": "int32"}),
    ("random.multinomial", [*SEED, constant([1.0, 0.0, 2.0])], {"num_samples": 2}),
    ("random.multinomial", [*SEED, constant([1.0, 0.0, 2.0])], {"num_samples": 5, "replacement": True}),
    ("scatter_elements", ["[4, n] f32", "[3, n] i64", "[3, n] f32"], {}),
    ("scatter_elements", ["[n, 4] f32", "[n, 6] i32", "[n, 6] f32"], {"axis": 1, "reduction": "add"}),
    ("scatter_elements", ["[4] i32", "[6] i64", "[6] i32"], {"reduction": "mul"}),
    ("scatter_elements", ["[4] f32", "[6] i64", "[6] f32"], {"reduction": "mean"}),
    ("scatter_elements", ["[4] f32", "[6] i64", "[6] f32"], {"reduction": "max"}),
    ("scatter_elements", ["[4] f32", "[6] i64", "[6] f32"], {"reduction": "min"}),
    ("scatter_nd", ["[4, n] f32", "[5, 1] i64", "[5, n] f32"], {}),
    ("scatter_nd", ["[3, 4, n] f32", "[2, 5, 2] i32", "[2, 5, n] f32"], {"reduction": "add"}),
    ("scatter_nd", ["[3, 4] i32", "[5, 2] i64", "[5] i32"], {"reduction": "max"}),
    ("index_put", ["[4, n] f32", ["[m] i64"], "[m, n] f32"], {"accumulate": True}),
    ("index_put", ["[4, 3, n] f32", ["[2, 1] i64", "[3] i64"], "[n] f32"], {}),
    ("outer", ["[n] f32", "[4] f32"], {}),
    ("ewise_fma", [A, A, A], {}),
    ("ewise_fma", ["[n] i32"] * 3, {}),
    ("einsum", [["[n, 4] f32", "[4, m] f32"]], {"subscripts": "ij,jk->ik"}),
    ("einsum", [["[2, n, 4] f32", "[4, 3] f32"]], {"subscripts": "...j,jk"}),
    ("einsum", [["[3, 3] i32"]], {"subscripts": "ii->i"}),
    ("einsum", [["[n, 3] f32", "[n, 3] f32", "[3] f32"]], {"subscripts": "ij,ij,j->"}),
    ("einsum", [["[2, 1, n] f32", "[3, n] f32"]], {"subscripts": "...i,...i->..."}),
    ("quantize", ["[2, n] f32", "[2] f32", "[2] i8"], {"axis": 0}),
    ("quantize", ["[2, n] f32", "[] f32", "[] i8"], {"out_dtype": "uint8"}),
    ("dequantize", ["[2, n] i8", "[2] f32", "[2] i8"], {"axis": 0}),
    ("dequantize", ["[2, n] i8", "[] f32", "[] i32"], {"out_dtype": "float16"}),
    ("dequantize_blocks", ["[2, n, 36] ui8"], {"format": "q4_0"}),
    ("take_blocks", ["[n, 34] ui8", "[2, 3] i64"], {"format": "q8_0"}),
    ("matmul_blocks", ["[n, 32] f32", "[m, 18] ui8"], {"format": "q4_0"}),
    ("image.resize2d", ["[n, 2, 5, 4] f32", shape(7, 3)], {}),
    ("image.resize2d", ["[n, 2, 5, 4, 3] f32", shape(7, 3)], {"layout": "NCHW3c"}),
    ("image.resize2d", ["[2, 5, n, 2, 3] f32", shape(7, 4)], {"layout": "CHNW3c", "method": "nearest_neighbor"}),
    (
        "image.resize2d",
        ["[2, 5, 4, n] f32", shape(2, 9)],
        {"layout": "NHWC", "coordinate_transformation_mode": "align_corners"},
    ),
    (
        "image.resize2d",
        ["[1, n, 5, 4] f16", shape(10, 8)],
        {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"},
    ),
    (
        "image.resize2d",
        ["[1, n, 5, 4] i32", shape(3, 1)],
        {
            "method": "nearest_neighbor",
            "coordinate_transformation_mode": "tf_half_pixel_for_nn",
            "rounding_method": "ceil",
        },
    ),
    (
        "image.resize2d",
        ["[1, n, 5, 4] f32", shape(3, 7)],
        {"method": "nearest_neighbor", "rounding_method": "round_prefer_floor"},
    ),
    (
        "image.resize2d",
        ["[1, n, 5, 4] f32", shape(3, 7)],
        {
            "method": "nearest_neighbor",
            "rounding_method": "round_prefer_ceil",
            "coordinate_transformation_mode": "half_pixel_symmetric",
        },
    ),
    ("image.resize2d", ["[1, 2, 5, 4] f64", shape(9, 7)], {"method": "cubic"}),
    (
        "image.resize2d",
        ["[1, 2, 5, 4] f32", shape(3, 1)],
        {
            "method": "cubic",
            "cubic_exclude": 1,
            "coordinate_transformation_mode": "pytorch_half_pixel",
            "cubic_alpha": -0.5,
        },
    ),
    (
        "image.resize2d",
        ["[n, 2, 5, 4] f32", shape(4, 6)],
        {
            "coordinate_transformation_mode": "tf_crop_and_resize",
            "roi": [0.25, -0.25, 0.75, 1.5],
            "extrapolation_value": 2.0,
        },
    ),
    ("image.resize2d", ["[n, 2, 5, 4] f32", shape(4, 3)], {"out_dtype": "float16"}),
]


def types_of(*texts: str) -> list[Any]:
    """Parse struct info from texts: `[n, 4] f32` is a tensor."""
    pairs = [text.rpartition(" ") for text in texts]
    return [Parser(new_context(), f"!relax.tensor<{dims}, {dtype}>").parse_type() for dims, _, dtype in pairs]


def one_operator(name: str, args: list[Any], **attrs: Any) -> ModuleOp:
    """Return a module whose `main` is one operator. Arguments are tensor types as text, leaf ops, or lists of types."""
    texts = [t for a in args for t in (a if isinstance(a, list) else [a]) if isinstance(t, str)]
    block = Block(arg_types=types_of(*texts) if texts else [])
    for i, arg in enumerate(block.args):
        set_name(arg, "xyzuvw"[i])
    params = iter(block.args)

    def value(a: Any) -> Any:
        if isinstance(a, list):
            return [value(v) for v in a]
        if a is None:
            return None
        if isinstance(a, str):
            return next(params)
        block.add_op(a)
        return a.results[0]

    values: list[SSAValue | None | list[SSAValue]] = [value(a) for a in args]
    op = OPERATORS[name].make(*values, **attrs)
    set_name(op.results[0], "lv")
    block.add_ops([op, relax.ReturnOp(op.results[0])])
    return ModuleOp([relax.FuncOp("main", Region(block), op.results[0].type)])


def texts(case: Case) -> list[str]:
    """Return the types of a case's tensors."""
    return [a for arg in case[1] for a in (arg if isinstance(arg, list) else [arg]) if isinstance(a, str)]


def shapes(case: Case) -> str:
    """Return the shapes of a case's tensors, as text."""
    return " ".join(t.rpartition(" ")[0] for t in texts(case))


def _cases() -> dict[str, list[Case]]:
    by_name: dict[str, list[Case]] = {}
    for row in [*BASIC, *FURTHER]:
        by_name.setdefault(row[0], []).append(row)
    return {name: sorted(rows, key=lambda row: "n" not in shapes(row)) for name, rows in by_name.items()}


CASES = _cases()
"""The cases of each operator, those with symbolic shapes first."""


def built(arg: Any) -> Any:
    """Return an argument with its leaves created."""
    if isinstance(arg, list):
        return [built(a) for a in arg]
    return arg if isinstance(arg, str) or arg is None else arg()


def function(case: Case) -> ModuleOp | None:
    """Return a module whose `main` is the operator; None if it rejects these arguments."""
    name, args, attrs = case
    try:
        module: ModuleOp = one_operator(f"relax.{name}", [built(a) for a in args], **attrs)
        verify_module(module)
    except (TiraxError, VerifyException):
        return None
    (func,) = functions(module).values()
    bound = free_symbolic_vars([p.type for p in func.params])
    mentioned = free_symbolic_vars([r.type for op in func.walk() for r in op.results])
    return module if set(mentioned) <= set(bound) else None
