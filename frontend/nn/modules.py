"""Layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...diagnostics import UnsupportedError
from ...dialects.block_formats import block_format
from . import op
from .core import Module, ModuleList
from .effects import IOEffect, KVCache
from .tensor import Parameter, Tensor, get_default_dtype


class Identity(Module):
    """The identity function."""

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`."""
        return x


class ReLU(Module):
    """max(x, 0)"""

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.relu`."""
        return op.relu(x)


class SiLU(Module):
    """x * sigmoid(x)"""

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.silu`."""
        return op.silu(x)


class GELU(Module):
    """Gaussian error linear unit."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.gelu`."""
        return op.gelu(x)


class Linear(Module):
    """x @ weight.T + bias, with the weight `(out_features, in_features)` as in PyTorch."""

    def __init__(
        self,
        in_features: Any,
        out_features: Any,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = Parameter((out_features,), dtype if out_dtype is None else out_dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply the linear map to the last dimension."""
        x = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return x if self.bias is None else x + self.bias

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the weight, and of the bias unless its dtype is fixed."""
        self.weight.to(dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype)


def _sizes(value: int | Sequence[int], rank: int) -> list[int]:
    return [value] * rank if isinstance(value, int) else list(value)


class _Convolution(Module):
    """Base class of convolutions: the weight `(out, in / groups, *kernel)` and the bias `(out,)`."""

    RANK = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: Any = 1,
        padding: Any = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ):
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _sizes(kernel_size, self.RANK)
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        self.weight = Parameter((*self._channels(), *self.kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None

    def _channels(self) -> tuple[int, int]:
        return self.out_channels, self.in_channels // self.groups

    @property
    def _convolution_args(self) -> tuple[Parameter, Parameter | None, Any, Any]:
        return self.weight, self.bias, self.stride, self.padding


class Conv1D(_Convolution):
    """Convolution of `(batch, channels, width)`."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.conv1d`."""
        return op.conv1d(x, *self._convolution_args, self.dilation, self.groups)


class Conv2D(_Convolution):
    """Convolution of images `(batch, channels, height, width)`."""

    RANK = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sequence[int] | int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "NCHW",
    ):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype)
        self.data_layout = data_layout

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.conv2d`."""
        return op.conv2d(x, *self._convolution_args, self.dilation, self.groups, self.data_layout)


class Conv3D(_Convolution):
    """Convolution of volumes `(batch, channels, depth, height, width)`."""

    RANK = 3

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sequence[int] | int,
        stride: Sequence[int] | int = 1,
        padding: Sequence[int] | int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "NCDHW",
    ):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype)
        self.data_layout = data_layout

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.conv3d`."""
        return op.conv3d(x, *self._convolution_args, self.dilation, self.groups, self.data_layout)


class ConvTranspose1D(_Convolution):
    """Transposed convolution of `(batch, channels, width)`, with the weight `(in, out / groups, width)`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, dtype)
        self.output_padding = output_padding

    def _channels(self) -> tuple[int, int]:
        return self.in_channels, self.out_channels // self.groups

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.conv1d_transpose`."""
        return op.conv1d_transpose(x, *self._convolution_args, self.output_padding, self.dilation, self.groups)


class Embedding(Module):
    """Rows of a table `(num, dim)` by index."""

    def __init__(self, num: Any, dim: Any, dtype: str | None = None):
        super().__init__()
        self.num = num
        self.dim = dim
        self.weight = Parameter((num, dim), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the rows, `(*x.shape, dim)`."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        flat = op.take(self.weight, op.reshape(x, [-1]), axis=0)
        return op.reshape(flat, [*x.shape, self.weight.shape[1]])


class BlockLinear(Module):
    """x @ weights.T + bias, with block-quantized weights (out_features, in_features): `(out_features, row_bytes)`.

    `format` is a row of `dialects/block_formats.py`, for instance "q4_0". With `activation` "int8" x is
    quantized to int8 first, with a scale for every 32 elements, as in llama.cpp: int8 products are several
    times as fast. Kernels are fastest for constant weights: bind them (`relax.transform.BindParams`) before
    building. Raises `NameLookupError` for an unknown format, and `ShapeError` if rows are not a multiple of the
    block size.
    """

    def __init__(
        self,
        in_features: int,
        out_features: Any,
        format: str,
        bias: bool = True,
        out_dtype: str = "float32",
        activation: str = "float32",
    ):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.format = format
        self.out_dtype = out_dtype
        self.activation = activation
        self.weight = Parameter((out_features, block_format(format).row_bytes(in_features)), "uint8")
        self.bias = Parameter((out_features,), out_dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply the linear map to the last dimension."""
        x = op.matmul_blocks(x, self.weight, self.format, out_dtype=self.out_dtype, activation=self.activation)
        return x if self.bias is None else x + self.bias

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the bias and of the result; the weights remain bytes."""
        if dtype is not None:
            self.out_dtype = dtype
        if self.bias is not None:
            self.bias.to(dtype)


class BlockEmbedding(Module):
    """Rows of a block-quantized table `(num, dim)` by index, stored as `(num, row_bytes)`. See `BlockLinear`."""

    def __init__(self, num: Any, dim: int, format: str, out_dtype: str = "float32"):
        super().__init__()
        self.num = num
        self.dim = dim
        self.format = format
        self.out_dtype = out_dtype
        self.weight = Parameter((num, block_format(format).row_bytes(dim)), "uint8")

    def forward(self, x: Tensor) -> Tensor:
        """Return the rows, `(*x.shape, dim)`."""
        return op.take_blocks(self.weight, x, self.format, out_dtype=self.out_dtype)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of the result; the table remains bytes."""
        if dtype is not None:
            self.out_dtype = dtype


class LayerNorm(Module):
    """Normalization over the last dimension."""

    def __init__(
        self,
        normalized_shape: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        dtype: str | None = None,
    ):
        super().__init__()
        self.normalized_shape = normalized_shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.layer_norm`."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    """x / sqrt(mean(x * x) + epsilon) * weight (+ bias) over `axes`."""

    def __init__(self, hidden_size: int, axes: Any, epsilon: float = 1e-5, bias: bool = True, dtype: str | None = None):
        super().__init__()
        self.axes = axes
        self.epsilon = epsilon
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.rms_norm`, and add the bias."""
        out = op.rms_norm(x, self.weight, self.axes, self.epsilon)
        return out if self.bias is None else out + self.bias


class GroupNorm(Module):
    """Normalization of groups of channels."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: str | None = None
    ):
        super().__init__()
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: Sequence[int] | None = None) -> Tensor:
        """Apply `op.group_norm`."""
        return op.group_norm(x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes)


class TimestepEmbedding(Module):
    """The time step embedding of diffusion models: two linear maps with an activation between them."""

    def __init__(
        self,
        in_channels: int,
        time_embed_dim: int,
        act_fn: str = "silu",
        out_dim: int | None = None,
        post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ):
        super().__init__()
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = None if cond_proj_dim is None else Linear(cond_proj_dim, in_channels, bias=False)
        self.act = _activation(act_fn)
        self.linear_2 = Linear(time_embed_dim, time_embed_dim if out_dim is None else out_dim)
        self.post_act = None if post_act_fn is None else _activation(post_act_fn)

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        """Return the embedding of `sample`, after adding the projected condition."""
        if condition is not None:
            if self.cond_proj is None:
                raise UnsupportedError("the embedding takes no condition", hint="cond_proj_dim=…")
            sample = sample + self.cond_proj(condition)
        sample = self.linear_2(self.act(self.linear_1(sample)))
        return sample if self.post_act is None else self.post_act(sample)


def _activation(name: str) -> Module:
    if name != "silu":
        raise UnsupportedError("the activation of a TimestepEmbedding is silu", found=name)
    return SiLU()


class Timesteps(Module):
    """Sinusoidal embeddings of time steps."""

    def __init__(self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1):
        super().__init__()
        self.num_channels = num_channels
        self.flip_sin_to_cos = flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        """Apply `op.get_timestep_embedding`."""
        return op.get_timestep_embedding(x, self.num_channels, self.flip_sin_to_cos, self.downscale_freq_shift)


class Attention(Module):
    """Multi-head self- or cross-attention, as in diffusion models."""

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
        scale_qk: bool = True,
    ):
        super().__init__()
        inner = dim_head * heads
        keys = query_dim if cross_attention_dim is None else cross_attention_dim
        self.query_dim = query_dim
        self.heads = heads
        self.scale = None if scale_qk else 1.0
        self.to_q = Linear(query_dim, inner, bias=bias)
        self.to_k = Linear(keys, inner, bias=bias)
        self.to_v = Linear(keys, inner, bias=bias)
        self.group_norm = None if norm_num_groups is None else GroupNorm(norm_num_groups, query_dim, affine=True)
        self.to_out = ModuleList([Linear(inner, query_dim, bias=out_bias)])

    def forward(
        self,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **cross_attention_kwargs: Any,
    ) -> Tensor:
        """Map `(batch, length, query_dim)` to the same shape. Raises `UnsupportedError` for further arguments."""
        if cross_attention_kwargs:
            raise UnsupportedError("Attention takes no further arguments", found=", ".join(cross_attention_kwargs))
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        states = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        query, key, value = self.to_q(hidden_states), self.to_k(states), self.to_v(states)
        query, key, value = self._heads(query), self._heads(key), self._heads(value)
        attended = op.scaled_dot_product_attention(query, key, value, attention_mask, scale=self.scale)
        batch, length, heads, size = attended.shape
        return self.to_out[0](op.reshape(attended, [batch, length, heads * size]))

    def _heads(self, x: Tensor) -> Tensor:
        batch, length, inner = x.shape
        return op.reshape(x, [batch, length, self.heads, inner // self.heads])


__all__ = [
    "GELU", "Attention", "BlockEmbedding", "BlockLinear", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D",
    "Embedding", "GroupNorm", "IOEffect", "Identity", "KVCache", "LayerNorm", "Linear", "RMSNorm", "ReLU", "SiLU",
    "TimestepEmbedding", "Timesteps", "get_default_dtype",
]  # fmt: skip
