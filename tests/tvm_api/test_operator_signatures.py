"""Operators take what TVM's functions take: the same names in the same order, and the same Python values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.dialects import relax
from tirax.dialects.relax.composite import COMPOSITES, composite_parameters
from tirax.dialects.relax.parameters import REQUIRED
from tirax.script import parse_source, print_script
from tirax.tvm_api import relax as rx
from tirax.tvm_api.relax import op

PARAMETERS = """
abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf exp flatten floor isfinite isinf: x
isnan log logical_not negative nonzero round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc: x
add bitwise_and bitwise_or bitwise_xor divide equal floor_divide floor_mod greater greater_equal: x1 x2
left_shift less less_equal logical_and logical_or logical_xor maximum minimum mod multiply not_equal: x1 x2
outer power right_shift subtract: x1 x2
arange: start end? step? dtype?
argmax argmin max mean min prod std sum variance: x axis? keepdims?
argsort: data axis? descending? dtype?
assert_op: condition format_args? format?
astype: x dtype
broadcast_to reshape: x shape
bucketize: input_tensor boundaries out_int32? right?
clip: x min max
collapse_sum_like: data collapse_target
collapse_sum_to: data shape
concat stack: tensors axis?
cumprod cumsum: data axis? dtype? exclusive?
dequantize quantize: data scale zero_point axis? out_dtype?
dynamic_strided_slice: x begin end strides
einsum: operands subscripts
ewise_fma: x1 x2 x3
expand_dims: x axis
eye: n m? k? dtype?
eye_like: x k? dtype?
flip: data axis
full: shape fill_value dtype?
full_like: x fill_value dtype?
gather_elements: data indices axis?
gather_nd: data indices batch_dims?
hamming_window: window_size periodic alpha beta dtype
hint_on_device to_vdevice: data dst_vdevice
image.affine_grid: data size align_corners?
image.grid_sample: data grid method? layout? padding_mode? align_corners?
image.resize2d:
    data size roi? layout? method? coordinate_transformation_mode? rounding_method? cubic_alpha? cubic_exclude?
    extrapolation_value? out_dtype?
index_put: data indices values accumulate?
index_tensor: data indices
linear: data weight bias? out_dtype?
masked_fill: x mask value
matmul: x1 x2 out_dtype?
memory.ensure_zero_offset nn.gelu nn.gelu_tanh nn.relu nn.selu nn.silu: data
memory.view: data shape? dtype? relative_byte_offset?
meshgrid: tensors indexing?
multinomial_from_uniform: prob uniform_sample sample_indices dtype?
nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d: data output_size? layout? out_layout?
nn.attention nn.attention_bias: query key value bias? scale? causal_mask? window_size?
nn.attention_var_len:
    queries keys values seqstart_q max_seqlen_q seqstart_k? max_seqlen_k? scale? causal_mask? window_size?
nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.max_pool1d nn.max_pool2d nn.max_pool3d:
    data pool_size? strides? padding? dilation? ceil_mode? count_include_pad? layout? out_layout?
nn.batch_norm: data gamma beta moving_mean moving_var axis epsilon? center? scale? momentum? training?
nn.conv1d nn.conv2d nn.conv3d:
    data weight strides? padding? dilation? groups? data_layout? kernel_layout? out_layout? out_dtype?
nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose:
    data weight strides? padding? output_padding? dilation? groups? data_layout? kernel_layout? out_layout?
    out_dtype?
nn.cross_entropy_with_logits: predictions labels
nn.dropout: data rate?
nn.group_norm: data gamma beta num_groups channel_axis axes epsilon? center? scale?
nn.instance_norm: data gamma beta channel_axis axes epsilon? center? scale?
nn.layer_norm: data gamma beta axes epsilon? center? scale?
nn.leakyrelu: data alpha?
nn.log_softmax nn.softmax: data axis?
nn.nll_loss: predictions targets weights? reduction? ignore_index?
nn.pad: data pad_width pad_mode? pad_value?
nn.pixel_shuffle: data upscale_factor
nn.prelu: data alpha axis?
nn.rms_norm: data weight axes? epsilon?
nn.softplus: data beta? threshold?
one_hot: indices on_value off_value depth axis?
ones zeros: shape dtype
ones_like zeros_like: x dtype?
permute_dims: x axes?
print: values format?
repeat: data repeats axis?
scatter_elements: data indices updates axis? reduction?
scatter_nd: data indices updates reduction?
shape_of shape_to_tensor tensor_to_shape: expr
slice_scatter: input_tensor src start end step axis?
sort: x axis? descending?
split: x indices_or_sections axis?
squeeze: x axis?
strided_slice: x axes begin end strides? assume_inbound?
take: x indices axis? mode?
tile: data repeats
topk: data k? axis? ret_type? largest? dtype?
tril triu: x k?
unique: x sorted? return_index? return_inverse? return_counts? axis?
where: condition x1 x2
wrap_param: data dtype?
"""
"""Operators and their parameters in order; one with a question mark may be left out."""


def rows() -> Iterator[tuple[str, list[str]]]:
    text = PARAMETERS.replace("\n    ", " ").replace(":\n", ": ")
    for line in text.strip().splitlines():
        names, _, parameters = line.partition(":")
        for name in names.split():
            yield name, parameters.split()


ROWS = list(rows())


def parameters_of(name: str) -> list[str]:
    """What a function takes, as the table says it."""
    if name in COMPOSITES:
        optional = {"bias", "out_dtype", "scale", "causal_mask", "window_size"}
        return [p + "?" * (p in optional) for p in composite_parameters(name)]
    cls = relax.OPERATORS[name]
    results: list[str] = []
    for parameter, field in cls.parameters().items():
        marks = [n for n in cls.ARG_NAMES if n.rstrip("*?") == field]
        if marks:
            free = "?" in marks[0] or field in cls.ARG_DEFAULTS or field in cls.OPTIONAL
        else:
            free = parameter not in REQUIRED.get(name, ())
        results.append(parameter + "?" * free)
    return results


@pytest.mark.parametrize(("name", "parameters"), ROWS, ids=[n for n, _ in ROWS])
def test_parameters(name: str, parameters: list[str]):
    if name == "assert_op":
        parameters = [p.replace("format_args?", "format_args") for p in parameters]  # none of them is an empty list
    assert parameters_of(f"relax.{name}") == parameters


def test_the_table_is_complete():
    """All but the operators that only passes make, and those that TVM 0.20 lacks or declares otherwise."""
    own = "layout_transform while_loop digamma erfinv expm1 lgamma log10 log1p log2"
    own += " dequantize_blocks matmul_blocks take_blocks"
    listed = {f"relax.{n}" for n in (*(n for n, _ in ROWS), *own.split())}
    result = tuple(
        f"relax.{family}." for family in ["memory", "builtin", "ccl", "vm", "grad", "random", "linalg", "fft"]
    )
    core = {n for n, cls in relax.OPERATORS.items() if cls.__module__.startswith("tirax.")}
    assert {n for n in (core | set(COMPOSITES)) - listed if not n.startswith(result)} == set()


VARIABLES: dict[str, tuple[tuple[int, ...], str]] = {
    "x": ((4, 4), "float32"), "v4": ((4,), "float32"), "q8": ((4, 4), "int8"), "s1": ((4,), "float32"),
    "z8": ((4,), "int8"), "ix": ((4, 4), "int64"), "ix2": ((2, 1), "int64"), "i1": ((2,), "int64"),
    "i2": ((2,), "int64"), "v2": ((2,), "float32"), "p": ((3, 5), "float32"), "u": ((4, 1), "float32"),
    "ui": ((4, 1), "int64"), "x2": ((2, 4), "float32"), "y1": ((1, 4, 1), "float32"), "c": ((4, 4), "bool"),
    "im": ((2, 3, 6, 6), "float32"), "imh": ((2, 6, 6, 3), "float32"), "t4": ((2, 3, 4, 5), "float32"),
    "ab": ((2, 4, 3, 3), "float32"), "t3": ((2, 3, 7), "float32"), "v5": ((1, 2, 4, 4, 4), "float32"),
    "b3": ((3,), "float32"), "w1": ((4, 3, 3), "float32"), "w1t": ((3, 4, 3), "float32"),
    "w2": ((4, 3, 3, 3), "float32"), "w2t": ((3, 4, 3, 3), "float32"), "w3": ((4, 2, 3, 3, 3), "float32"),
    "i4": ((4,), "int64"), "ps": ((1, 8, 2, 2), "float32"), "cs": ((), "bool"), "gr": ((2, 2, 6, 7), "float32"),
    "af": ((2, 2, 3), "float32"),
}  # fmt: skip


class Vars:
    """Variables by name: `v.x`."""

    def __getattr__(self, name: str) -> Any:
        if name not in VARIABLES:
            raise AttributeError(name)
        self.__dict__[name] = rx.Var(name, rx.TensorStructInfo(*VARIABLES[name]))
        return self.__dict__[name]


CALLS: list[Callable[[Any], Any]] = [
    lambda v: op.arange(5, dtype="float32"),
    lambda v: op.arange(0.0, 1.0, 0.25),
    lambda v: op.argmax(v.x, axis=1),
    lambda v: op.argsort(v.x, 1, True, "int64"),
    lambda v: op.astype(v.x, "float16"),
    lambda v: op.bucketize(v.x, v.v4),
    lambda v: op.broadcast_to(v.v4, (3, 4)),
    lambda v: op.broadcast_to(v.v4, rx.ShapeExpr([3, 4])),
    lambda v: op.clip(v.x, 0, 1),
    lambda v: op.clip(v.x, rx.PrimValue(0), rx.PrimValue(1.5)),
    lambda v: op.concat([v.x, v.x], 0),
    lambda v: op.concat((v.x, v.x)),
    lambda v: op.concat(rx.Tuple([v.x, v.x]), axis=1),
    lambda v: op.cumsum(v.x, 1, "float64"),
    lambda v: op.cumprod(v.x),
    lambda v: op.dequantize(v.q8, v.s1, v.z8, 0, "float16"),
    lambda v: op.quantize(v.x, v.s1, v.z8, 0, "int8"),
    lambda v: op.einsum((v.x, v.x), "ij,ij->i"),
    lambda v: op.expand_dims(v.x, 1),
    lambda v: op.expand_dims(v.x, [0, 1]),
    lambda v: op.expand_dims(v.x, (0, -1)),
    lambda v: op.eye(3),
    lambda v: op.eye(3, 4, 1, "int32"),
    lambda v: op.eye_like(v.x, 1),
    lambda v: op.flip(v.x, 1),
    lambda v: op.full((2, 3), rx.const(1, "float32")),
    lambda v: op.full([2, 3], rx.const(1, "float32"), "int32"),
    lambda v: op.full_like(v.x, rx.const(2, "float32")),
    lambda v: op.gather_elements(v.x, v.ix, 1),
    lambda v: op.gather_nd(v.x, v.ix2),
    lambda v: op.hamming_window(10, True, 0.54, 0.46, "float32"),
    lambda v: op.index_put(v.x, (v.i1, v.i1), v.v2),
    lambda v: op.index_tensor(v.x, [v.i1]),
    lambda v: op.matmul(v.x, v.x),
    lambda v: op.matmul(v.x, v.x, "float32"),
    lambda v: op.max(v.x, 0, True),
    lambda v: op.mean(v.x, [0, 1]),
    lambda v: op.sum(v.x, (0,)),
    lambda v: op.sum(v.x),
    lambda v: op.meshgrid([v.v4, v.v4]),
    lambda v: op.multinomial_from_uniform(v.p, v.u, v.ui),
    lambda v: op.one_hot(v.i1, 1.0, 0.0, 4),
    lambda v: op.one_hot(v.i1, rx.PrimValue(1.0), rx.PrimValue(0.0), 4, 0),
    lambda v: op.ones((2, 3), "float32"),
    lambda v: op.ones_like(v.x),
    lambda v: op.permute_dims(v.x),
    lambda v: op.permute_dims(v.x, [1, 0]),
    lambda v: op.permute_dims(v.x, (1, 0)),
    lambda v: op.repeat(v.x, 2, 0),
    lambda v: op.repeat(v.x, 2),
    lambda v: op.reshape(v.x, (16,)),
    lambda v: op.reshape(v.x, [-1, 2]),
    lambda v: op.reshape(v.x, (2, 0, -1)),
    lambda v: op.scatter_elements(v.x, v.ix, v.x, 1, "add"),
    lambda v: op.slice_scatter(v.x, v.x2, 0, 2, 1, 0),
    lambda v: op.sort(v.x, 0),
    lambda v: op.split(v.x, 2),
    lambda v: op.split(v.x, [1, 3], 1),
    lambda v: op.split(v.x, (1,), axis=0),
    lambda v: op.squeeze(v.y1),
    lambda v: op.squeeze(v.y1, 0),
    lambda v: op.squeeze(v.y1, [0]),
    lambda v: op.stack([v.x, v.x]),
    lambda v: op.stack([v.x, v.x], 1),
    lambda v: op.strided_slice(v.x, [0], [1], [3]),
    lambda v: op.strided_slice(v.x, (0, 1), (1, 0), (3, 4), (1, 2)),
    lambda v: op.strided_slice(v.x, axes=[0], begin=[1], end=[3], strides=[1], assume_inbound=True),
    lambda v: op.take(v.x, v.i1, 0),
    lambda v: op.take(v.v4, v.i1),
    lambda v: op.take(v.x, rx.PrimValue(1), 0),
    lambda v: op.take(v.x, v.i1, 0, "clip"),
    lambda v: op.tile(v.x, 2),
    lambda v: op.tile(v.x, [2, 1]),
    lambda v: op.tile(v.x, (2, 1)),
    lambda v: op.topk(v.x, 2),
    lambda v: op.tril(v.x),
    lambda v: op.triu(v.x, 1),
    lambda v: op.where(v.c, v.x, v.x),
    lambda v: op.zeros([2], "int32"),
    lambda v: op.zeros_like(v.x, "int8"),
    lambda v: op.image.resize2d(v.im, (8, 8)),
    lambda v: op.image.resize2d(v.im, 8, method="cubic"),
    lambda v: op.image.resize2d(v.im, (8, 8), roi=(0.0, 0.0, 1.0, 1.0)),
    lambda v: op.image.resize2d(v.im, (8, 8), layout="NCHW", out_dtype="float16"),
    lambda v: op.nn.adaptive_avg_pool2d(v.im, 2),
    lambda v: op.nn.adaptive_avg_pool2d(v.im, (2, 2)),
    lambda v: op.nn.adaptive_avg_pool2d(v.im),
    lambda v: op.nn.adaptive_avg_pool2d(v.im, 2, "NHWC"),
    lambda v: op.nn.attention(v.t4, v.t4, v.t4),
    lambda v: op.nn.attention(v.t4, v.t4, v.t4, scale=0.5, causal_mask="TopLeft"),
    lambda v: op.nn.attention(v.t4, v.t4, v.t4, v.ab),
    lambda v: op.nn.avg_pool2d(v.im, 2),
    lambda v: op.nn.avg_pool2d(v.im, (2, 2), (2, 2), (1, 1)),
    lambda v: op.nn.avg_pool2d(v.im, 2, layout="NHWC"),
    lambda v: op.nn.max_pool2d(v.im, 2, 2, 1),
    lambda v: op.nn.max_pool2d(v.im, 2, padding=(1, 2, 3, 4)),
    lambda v: op.nn.max_pool1d(v.t3, 2),
    lambda v: op.nn.avg_pool3d(v.v5, 2),
    lambda v: op.nn.batch_norm(v.im, v.b3, v.b3, v.b3, v.b3, 1),
    lambda v: op.nn.conv1d(v.t3, v.w1),
    lambda v: op.nn.conv1d_transpose(v.t3, v.w1t),
    lambda v: op.nn.conv2d(v.im, v.w2),
    lambda v: op.nn.conv2d(v.im, v.w2, padding=1),
    lambda v: op.nn.conv2d(v.im, v.w2, (1, 1), (1, 1), out_dtype="float32"),
    lambda v: op.nn.conv2d(v.imh, v.w2, data_layout="NHWC"),
    lambda v: op.nn.conv2d_transpose(v.im, v.w2t),
    lambda v: op.nn.conv3d(v.v5, v.w3),
    lambda v: op.nn.cross_entropy_with_logits(v.x, v.x),
    lambda v: op.nn.dropout(v.x, 0.25),
    lambda v: op.nn.gelu(v.x),
    lambda v: op.nn.group_norm(v.im, v.b3, v.b3, 3, 1, [2, 3]),
    lambda v: op.nn.instance_norm(v.im, v.b3, v.b3, 1, [2, 3]),
    lambda v: op.nn.layer_norm(v.x, v.v4, v.v4, -1),
    lambda v: op.nn.layer_norm(v.x, v.v4, v.v4, [-1], 1e-3),
    lambda v: op.nn.leakyrelu(v.x, 0.2),
    lambda v: op.nn.log_softmax(v.x),
    lambda v: op.nn.nll_loss(v.x, v.i4),
    lambda v: op.nn.nll_loss(v.x, v.i4, v.v4, "sum"),
    lambda v: op.nn.pad(v.x, [0, 0, 1, 1]),
    lambda v: op.nn.pad(v.x, (0, 0, 1, 1), "reflect"),
    lambda v: op.nn.pad(v.x, (0, 0, 1, 1), pad_value=2.0),
    lambda v: op.nn.pixel_shuffle(v.ps, 2),
    lambda v: op.nn.prelu(v.x, v.v4),
    lambda v: op.nn.rms_norm(v.x, v.v4),
    lambda v: op.nn.rms_norm(v.x, v.v4, [-1], 1e-3),
    lambda v: op.nn.softmax(v.x, 0),
    lambda v: op.nn.softplus(v.x, 2.0),
    lambda v: op.unique(v.x),
    lambda v: op.unique(v.x, axis=-1),
    lambda v: op.nonzero(v.x),
    lambda v: op.wrap_param(v.x, "float16"),
    lambda v: op.memory.ensure_zero_offset(v.x),
    lambda v: op.memory.view(v.x, (2, 2), "float32", 0),
    lambda v: op.shape_of(v.x),
    lambda v: op.tensor_to_shape(v.i1),
    lambda v: op.print(v.x, v.x, format="{} {}"),
    lambda v: op.assert_op(v.cs, v.x, format="{}"),
    lambda v: op.ewise_fma(v.x, v.x, v.x),
    lambda v: op.collapse_sum_like(v.x, v.v4),
    lambda v: op.collapse_sum_to(v.x, (4,)),
    lambda v: op.outer(v.v4, v.v4),
    lambda v: op.dynamic_strided_slice(v.x, v.i2, v.i2, v.i2),
    lambda v: op.scatter_nd(v.x, v.ix2, v.x2, "add"),
    lambda v: op.hint_on_device(v.x, "cuda:1"),
    lambda v: op.to_vdevice(v.x, "llvm:0"),
    lambda v: op.linear(v.x, v.x, v.v4),
    lambda v: op.masked_fill(v.x, v.c, rx.const(0, "float32")),
    lambda v: op.image.grid_sample(v.im, v.gr),
    lambda v: op.image.grid_sample(v.im, v.gr, "bicubic", "NCHW", "border", True),
    lambda v: op.image.affine_grid(v.af, (4, 5), False),
]
"""Calls, in the ways TVM's functions are called."""


def printed(call: Callable[[Any], Any]) -> str:
    """The bindings that a call makes."""
    variables, builder = Vars(), rx.BlockBuilder()
    result = call(variables)
    with builder.function("main", list(vars(variables).values()), pure=False):
        builder.emit_func_output(builder.emit(result))
    module = builder.get()
    text = module.script(show_meta=True)
    assert print_script(parse_source(text), show_meta=True) == text
    lines = [line.strip() for line in text.splitlines() if " = R." in line]
    return "\n".join(line.partition(" = ")[2] for line in lines)


def test_how_calls_print(golden: Callable[[str, str], None]):
    """What they print was compared with TVM's text."""
    golden("tvm_api/operator_calls.txt", "\n".join(map(printed, CALLS)) + "\n")


@pytest.mark.parametrize(
    ("call", "same"),
    [
        (lambda v: op.sum(v.x, axis=np.int64(1)), lambda v: op.sum(v.x, [1])),
        (lambda v: op.sum(v.x, axis=(np.int32(0), 1)), lambda v: op.sum(v.x, [0, 1])),
        (lambda v: op.sum(v.x, keepdims=np.bool_(True)), lambda v: op.sum(v.x, None, True)),
        (lambda v: op.argmax(v.x, rx.PrimValue(1)), lambda v: op.argmax(v.x, 1)),
        (
            lambda v: op.clip(v.x, np.float32(0.5), np.int64(2)),
            lambda v: op.clip(v.x, rx.PrimValue(np.float32(0.5)), rx.PrimValue(2)),
        ),
        (lambda v: op.nn.leakyrelu(v.x, np.float64(0.25)), lambda v: op.nn.leakyrelu(v.x, 0.25)),
        (lambda v: op.nn.leakyrelu(v.x, 1), lambda v: op.nn.leakyrelu(v.x, 1.0)),
        (lambda v: op.zeros(rx.ShapeExpr((2, 3)), np.float32), lambda v: op.zeros((2, 3), "float32")),
        (lambda v: op.zeros([np.int64(2), 3], np.dtype("float32")), lambda v: op.zeros((2, 3), "float32")),
        (lambda v: op.full((2, 3), 1.5, "float32"), lambda v: op.full((2, 3), rx.const(1.5, "float32"), "float32")),
        (lambda v: op.concat(tensors=(v.x, v.x)), lambda v: op.concat([v.x, v.x], axis=0)),
        (lambda v: op.tril(v.x, np.int64(1)), lambda v: op.tril(v.x, rx.PrimValue(1))),
        (lambda v: op.arange(np.int64(4)), lambda v: op.arange(0, 4, 1, "int64")),
        (lambda v: op.astype(v.x, np.float16), lambda v: op.astype(v.x, "float16")),
        (lambda v: op.nn.softplus(v.x, np.float32(0.5)), lambda v: op.nn.softplus(v.x, beta=0.5)),
        (lambda v: op.hint_on_device(v.x, tvm.cpu()), lambda v: op.hint_on_device(v.x, "llvm")),
    ],
)
def test_python_values(call: Callable[[Any], Any], same: Callable[[Any], Any]):
    assert printed(call) == printed(same)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda v: op.concat(xs=[v.x]), "unknown argument of relax.concat 'xs'"),
        (lambda v: op.nn.relu(x=v.x), "unknown argument of relax.nn.relu 'x'"),
        (lambda v: op.nn.relu(v.x, data=v.x), "relax.nn.relu: argument data is given twice"),
        (lambda v: op.nn.softmax(op.shape_of(v.x)), "relax.nn.softmax: argument data must be a tensor"),
        (lambda v: op.stack([v.x, v.v4]), "relax.stack: all of tensors must have one rank"),
        (lambda v: op.flip(v.x), "relax.flip: argument axis is missing"),
        (lambda v: op.astype(v.x), "relax.astype: argument dtype is missing"),
        (lambda v: op.nn.conv2d(v.im), "relax.nn.conv2d: argument weight is missing"),
        (lambda v: op.hint_on_device(v.x, "tpu"), "unknown device 'tpu'"),
    ],
)
def test_refused(call: Callable[[Any], Any], message: str):
    with pytest.raises(TiraxError, match=message):
        rx.BlockBuilder().normalize(call(Vars()))
