"""torch.nn modules of a traced graph: the row of the table for each, with its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModuleRow:
    """`row` is the name in the table of converters; `arguments` are the attributes passed after the inputs."""

    row: str
    arguments: tuple[str, ...] = ()
    by_keyword: bool = False
    """True for functions of `fx_functions.py`, which take the arguments by name."""


_CONVOLUTION = "weight bias stride padding dilation groups"
_TRANSPOSED = "weight bias stride padding output_padding groups dilation"
_NORM = "weight bias running_mean running_var training momentum eps"
_AVERAGE = "kernel_size stride padding ceil_mode count_include_pad"
_MAXIMUM = "kernel_size stride padding dilation ceil_mode"
_INSTANCE = "weight bias running_mean running_var use_input_stats momentum eps"

_ROWS = {
    "AdaptiveAvgPool1d": "adaptive_avg_pool1d output_size",
    "AdaptiveAvgPool2d": "adaptive_avg_pool2d output_size",
    "AdaptiveAvgPool3d": "adaptive_avg_pool3d output_size",
    "AlphaDropout": "clone",
    "AvgPool1d": f"avg_pool1d {_AVERAGE}",
    "AvgPool2d": f"avg_pool2d {_AVERAGE} divisor_override",
    "AvgPool3d": f"avg_pool3d {_AVERAGE} divisor_override",
    "BatchNorm1d": f"batch_norm {_NORM}",
    "BatchNorm2d": f"batch_norm {_NORM}",
    "BatchNorm3d": f"batch_norm {_NORM}",
    "CELU": "celu alpha",
    "Conv1d": f"conv1d {_CONVOLUTION}",
    "Conv2d": f"conv2d {_CONVOLUTION}",
    "Conv3d": f"conv3d {_CONVOLUTION}",
    "ConvTranspose1d": f"conv_transpose1d {_TRANSPOSED}",
    "ConvTranspose2d": f"conv_transpose2d.input {_TRANSPOSED}",
    "ConvTranspose3d": f"conv_transpose3d.input {_TRANSPOSED}",
    "CrossEntropyLoss": "cross_entropy weight ignore_index reduction label_smoothing",
    "Dropout": "clone",
    "Dropout1d": "clone",
    "Dropout2d": "clone",
    "Dropout3d": "clone",
    "ELU": "elu alpha",
    "Embedding": "embedding weight",
    "FeatureAlphaDropout": "clone",
    "Flatten": "flatten.using_ints start_dim end_dim",
    "GELU": "gelu approximate",
    "GLU": "glu dim",
    "GroupNorm": "group_norm num_groups weight bias eps",
    "Hardshrink": "hardshrink lambd",
    "Hardsigmoid": "hardsigmoid",
    "Hardswish": "hardswish",
    "Hardtanh": "hardtanh min_val max_val",
    "Identity": "clone",
    "InstanceNorm1d": f"instance_norm {_INSTANCE}",
    "InstanceNorm2d": f"instance_norm {_INSTANCE}",
    "InstanceNorm3d": f"instance_norm {_INSTANCE}",
    "LayerNorm": "layer_norm normalized_shape weight bias eps",
    "LeakyReLU": "leaky_relu negative_slope",
    "Linear": "linear weight bias",
    "LogSigmoid": "log_sigmoid",
    "LogSoftmax": "log_softmax.int dim",
    "MaxPool1d": f"max_pool1d {_MAXIMUM}",
    "MaxPool2d": f"max_pool2d {_MAXIMUM}",
    "MaxPool3d": f"max_pool3d {_MAXIMUM}",
    "Mish": "mish",
    "PReLU": "prelu weight",
    "PixelShuffle": "pixel_shuffle upscale_factor",
    "RMSNorm": "rms_norm normalized_shape weight eps",
    "ReLU": "relu",
    "ReLU6": "relu6",
    "SELU": "selu",
    "SiLU": "silu",
    "Sigmoid": "sigmoid",
    "Softmax": "softmax.int dim",
    "Softmin": "softmin dim",
    "Softplus": "softplus beta threshold",
    "Softshrink": "softshrink lambd",
    "Softsign": "softsign",
    "StochasticDepth": "clone",
    "Tanh": "tanh",
    "Tanhshrink": "tanhshrink",
    "Threshold": "threshold threshold value",
    "Unflatten": "unflatten.int dim unflattened_size",
    "Upsample": "interpolate size scale_factor mode align_corners",
}
"""By class name: the row, and the attributes of the module that become arguments."""

_BY_KEYWORD = frozenset(("CrossEntropyLoss", "Embedding", "Softmin", "Softsign", "Tanhshrink", "Upsample"))
_PACKAGES = ("torch.nn.", "torchvision.ops.")


def module_row(module: Any) -> ModuleRow | None:
    """Return the row for a module, or None if there is none."""
    for kind in type(module).__mro__:
        if kind.__module__.startswith(_PACKAGES) and kind.__name__ in _ROWS:
            row, *arguments = _ROWS[kind.__name__].split()
            return ModuleRow(row, tuple(arguments), kind.__name__ in _BY_KEYWORD)
    return None


def module_argument(module: Any, name: str) -> Any:
    """Return an attribute of a module as an argument; normalizations use their running statistics."""
    if name == "training":
        return module.running_mean is None
    if name == "use_input_stats":
        return module.running_mean is None
    return getattr(module, name)
