"""Python parameters of operators that are not simply their operands followed by their attributes.

A row lists parameters in order: a name, `name=field` if the operand or attribute has another name, `name!` for a
required attribute. TVM has the same names in this order; printed attributes keep their declaration order.
"""

from __future__ import annotations

from collections.abc import Iterator

_POOL = "data pool_size strides padding dilation ceil_mode count_include_pad layout out_layout"
_ROWS = {
    "concat": "tensors=xs axis",
    "stack": "tensors=xs axis",
    "meshgrid": "tensors=xs indexing",
    "dequantize_blocks": "packed format! out_dtype interleaved",
    "matmul_blocks": "x packed format! out_dtype activation interleaved",
    "take_blocks": "packed indices format! out_dtype interleaved",
    "einsum": "operands=xs subscripts!",
    "quantize": "data scale zero_point axis out_dtype",
    "dequantize": "data scale zero_point axis out_dtype",
    "astype": "x dtype!",
    "zeros": "shape dtype!",
    "ones": "shape dtype!",
    "expand_dims": "x axis!",
    "flip": "data axis!",
    "repeat": "data repeats! axis",
    "tile": "data repeats!",
    "split": "x indices_or_sections! axis",
    "one_hot": "indices on_value off_value depth! axis",
    "to_vdevice": "data dst_vdevice!",
    "hamming_window": "window_size periodic alpha beta dtype!",
    "hint_on_device": "data dst_vdevice!",
    "nn.attention_var_len": "queries keys values seqstart_q max_seqlen_q seqstart_k max_seqlen_k scale causal_mask "
    "window_size",
    "nn.batch_norm": "data gamma beta moving_mean moving_var axis! epsilon center scale momentum training",
    "nn.dropout": "data=x rate",
    "nn.group_norm": "data gamma beta num_groups! channel_axis! axes! epsilon center scale",
    "nn.instance_norm": "data gamma beta channel_axis! axes! epsilon center scale",
    "nn.layer_norm": "data gamma beta axes! epsilon center scale",
    "nn.leakyrelu": "data=x alpha",
    "nn.pad": "data pad_width! pad_mode pad_value",
    "nn.pixel_shuffle": "data upscale_factor!",
    "nn.softplus": "data=x beta threshold",
    **{f"nn.{name}": "data=x" for name in ("relu", "gelu", "gelu_tanh", "selu", "silu")},
    **{f"nn.{name}": "data=x axis" for name in ("softmax", "log_softmax")},
    **{f"nn.{kind}_pool{rank}d": _POOL for kind in ("max", "avg") for rank in (1, 2, 3)},
    **{f"grad.{kind}_pool{rank}d_backward": f"output_grad {_POOL}" for kind in ("max", "avg") for rank in (1, 2, 3)},
}


def _fields(row: str) -> Iterator[tuple[str, str]]:
    for word in row.split():
        name, _, field = word.rstrip("!").partition("=")
        yield name, field or name


PARAMETERS: dict[str, dict[str, str]] = {f"relax.{name}": dict(_fields(row)) for name, row in _ROWS.items()}
"""Operator -> its parameters in order, each with its operand or attribute."""
REQUIRED: dict[str, frozenset[str]] = {
    f"relax.{name}": frozenset(w[:-1] for w in row.split() if w.endswith("!")) for name, row in _ROWS.items()
}
"""Operator -> the parameters that are required attributes."""
