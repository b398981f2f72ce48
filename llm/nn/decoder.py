"""Decoders: one model class for every `TransformerConfig`.

    model = Decoder(config, layout)
    mod, params = model.export_tvm(model.specs())

has `prefill`, which reads any number of tokens of a sequence and returns the next logits, and `decode`,
which reads one more token. Both write to the KV cache that they are passed (`kv_cache.py`), and return the
logits followed by the cache's pools, which are the arrays that were passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from ...diagnostics import ShapeError
from ...dialects.block_formats import BLOCK_FORMATS
from ...frontend.nn import op, spec
from ...frontend.nn.core import Module, ModuleList
from ...frontend.nn.modules import BlockEmbedding, BlockLinear, Embedding, Linear, RMSNorm
from ...frontend.nn.tensor import Parameter, Tensor
from ...handles.relax.calls import call_operator
from ..cache import CacheLayout
from ..checkpoints.config import TransformerConfig
from .kv_cache import PagedKVCache, cache_specs
from .panels import PanelEmbedding, PanelLinear
from .position_embedding import angles, frequencies, magnitude_of, rotate

Outputs = tuple[Tensor, Tensor, Tensor]
"""Logits, and the pools of keys and values."""

HALVES = {"f16": "float16", "bf16": "bfloat16"}
"""Half-precision weight formats and their dtypes; products widen them to float32 as they are read."""

ACTIVATIONS = {"silu": op.silu, "gelu_tanh": lambda x: op.gelu(x, "tanh")}


def layout_of(config: TransformerConfig, page_size: int = 64, dtype: str = "float16") -> CacheLayout:
    """Return the cache layout of a model."""
    return CacheLayout(config.layers, config.kv_heads, config.head_size, page_size, dtype)


class WidenedEmbedding(Embedding):
    """A float32 embedding whose table may be stored in half precision."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the rows, `(*x.shape, size)`."""
        rows = super().forward(x)
        return rows if rows.dtype == "float32" else op.astype(rows, "float32")


class InterleavedLinear(BlockLinear):
    """A `BlockLinear` whose rows are interleaved: its weight is (out_features / rows, row_bytes * rows)."""

    def __init__(self, inputs: int, outputs: int, format: str, bias: bool, activation: str, rows: int):
        super().__init__(inputs, outputs, format, bias, activation=activation)
        self.rows = rows
        self.weight = _interleaved(self.weight, rows)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to the last dimension."""
        attrs = {"activation": self.activation, "interleaved": self.rows}
        y = op.matmul_blocks(x, self.weight, self.format, **attrs)
        return y if self.bias is None else y + self.bias


class InterleavedEmbedding(BlockEmbedding):
    """A `BlockEmbedding` with interleaved rows that can also serve as the output projection."""

    def __init__(self, count: int, size: int, format: str, formats: Formats):
        super().__init__(count, size, format)
        self.rows, self.activation = formats.interleaved(count), formats.activation
        self.weight = _interleaved(self.weight, self.rows)

    def forward(self, x: Tensor) -> Tensor:
        """Return the rows, `(*x.shape, size)`."""
        return op.take_blocks(self.weight, x, self.format, interleaved=self.rows)

    def logits(self, x: Tensor) -> Tensor:
        """Return the products with all rows."""
        return op.matmul_blocks(x, self.weight, self.format, activation=self.activation, interleaved=self.rows)


def _interleaved(weight: Parameter, rows: int) -> Parameter:
    count, width = (int(d) for d in cast("Any", weight.shape))
    return Parameter((count // rows, width * rows), "uint8")


@dataclass(frozen=True)
class Formats:
    """The storage format of each weight, by name: a row of `BLOCK_FORMATS` or of `HALVES`; other weights are float32.

    With `activation` "int8", operands of products with blocks are first rounded to int8, as in llama.cpp.
    `lanes` rows of blocks are interleaved if the number of rows is a multiple of it; `panel` rows of other matrices
    are stored side by side (`panels.py`) unless it is 0.
    """

    names: Mapping[str, str] = field(default_factory=dict[str, str])
    activation: str = "float32"
    lanes: int = 1
    panel: int = 0
    prefix: str = ""

    def inside(self, name: str) -> Formats:
        """Return the formats of a submodule."""
        return replace(self, prefix=f"{self.prefix}{name}.")

    def of(self, name: str) -> str | None:
        """Return the block format of a weight of this submodule, or None."""
        format = self.names.get(f"{self.prefix}{name}.weight")
        return format if format in BLOCK_FORMATS else None

    def dtype(self, name: str) -> str:
        """Return the dtype of a weight of this submodule that is not stored in blocks."""
        return HALVES.get(self.names.get(f"{self.prefix}{name}.weight", ""), "float32")

    def linear(self, name: str, inputs: int, outputs: int, bias: bool) -> Module:
        """Return the linear layer of this name."""
        format = self.of(name)
        if format is None and self.panel:
            return PanelLinear(inputs, outputs, bias, self.dtype(name), self.panel)
        if format is None:
            return Linear(inputs, outputs, bias)
        return InterleavedLinear(inputs, outputs, format, bias, self.activation, self.interleaved(outputs))

    def embedding(self, name: str, count: int, size: int, tied: bool) -> Module:
        """Return the embedding of this name; a `tied` one is the output projection, too."""
        format = self.of(name)
        if format is None and self.panel and tied:
            return PanelEmbedding(count, size, self.dtype(name), self.panel)
        if format is None:
            return WidenedEmbedding(count, size, self.dtype(name))
        return InterleavedEmbedding(count, size, format, self)

    def interleaved(self, rows: int) -> int:
        """Return how many of a matrix's `rows` are interleaved."""
        return self.lanes if rows % self.lanes == 0 else 1


class Attention(Module):
    """Attention of new positions to themselves and all earlier ones."""

    def __init__(self, config: TransformerConfig, layer: int, formats: Formats):
        super().__init__()
        self.config, self.layer = config, layer
        hidden, size, biased = config.hidden_size, config.head_size, config.attention_bias
        self.query = formats.linear("query", hidden, config.heads * size, biased)
        self.key = formats.linear("key", hidden, config.kv_heads * size, biased)
        self.value = formats.linear("value", hidden, config.kv_heads * size, biased)
        self.output = formats.linear("output", config.heads * size, hidden, config.attention_output_bias)
        if config.qk_norm:
            self.query_norm = RMSNorm(size, -1, config.norm_epsilon, bias=False)
            self.key_norm = RMSNorm(size, -1, config.norm_epsilon, bias=False)

    def forward(self, x: Tensor, cache: PagedKVCache, cosines: Tensor, sines: Tensor, length: Any) -> Tensor:
        """Map `(sequences * length, hidden)` to the same shape."""
        config, size = self.config, self.config.head_size
        sequences = cache.starts.shape[0]
        query = op.reshape(self.query(x), [sequences, length, config.heads, size])
        key = op.reshape(self.key(x), [sequences, length, config.kv_heads, size])
        value = op.reshape(self.value(x), [sequences, length, config.kv_heads, size])
        if config.qk_norm:
            query, key = self.query_norm(query), self.key_norm(key)
        query, key = (self._rotate(x, cosines, sines) for x in (query, key))
        scale = size**-0.5 if config.attention_scale is None else config.attention_scale
        window = config.sliding_window if has_window(config, self.layer) else None
        out = cache.attention(self.layer, query, key, value, scale, window, config.attention_softcap)
        return self.output(op.reshape(out, [x.shape[0], config.heads * size]))

    def _rotate(self, x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
        """Map `(sequences, length, heads, size)` to heads first, rotated if the layer has a rotary embedding."""
        if self.config.rope_layers and not self.config.rope_layers[self.layer]:
            return op.permute(x, [0, 2, 1, 3])
        return rotate(x, cosines, sines)


class FeedForward(Module):
    """down(activation(gate(x)) * up(x))"""

    def __init__(self, config: TransformerConfig, formats: Formats):
        super().__init__()
        hidden, inner, biased = config.hidden_size, config.intermediate_size, config.mlp_bias
        self.activation = config.activation
        self.gate = formats.linear("gate", hidden, inner, biased)
        self.up = formats.linear("up", hidden, inner, biased)
        self.down = formats.linear("down", inner, hidden, biased)

    def forward(self, x: Tensor) -> Tensor:
        """Map `(rows, hidden)` to the same shape."""
        return self.down(ACTIVATIONS[self.activation](self.gate(x)) * self.up(x))


class Layer(Module):
    """Attention and a gated feed-forward network, each after a norm and with a residual connection."""

    def __init__(self, config: TransformerConfig, layer: int, formats: Formats):
        super().__init__()
        self.attention_norm = _norm(config)
        self.attention = Attention(config, layer, formats.inside("attention"))
        self.mlp_norm = _norm(config)
        self.mlp = FeedForward(config, formats.inside("mlp"))
        self.attention_post_norm = _norm(config) if config.post_norms else None
        self.mlp_post_norm = _norm(config) if config.post_norms else None

    def forward(self, x: Tensor, *where: Any) -> Tensor:
        """Map `(rows, hidden)` to the same shape."""
        x = x + _normed(self.attention_post_norm, self.attention(self.attention_norm(x), *where))
        return x + _normed(self.mlp_post_norm, self.mlp(self.mlp_norm(x)))


def _norm(config: TransformerConfig) -> RMSNorm:
    return RMSNorm(config.hidden_size, -1, config.norm_epsilon, bias=False)


def _normed(norm: RMSNorm | None, x: Tensor) -> Tensor:
    return x if norm is None else norm(x)


def has_window(config: TransformerConfig, layer: int) -> bool:
    """Return whether a layer has sliding-window attention."""
    return config.sliding_window is not None and bool(config.sliding_layers) and config.sliding_layers[layer]


def _last(x: Tensor) -> Tensor:
    """Return the last position: (sequences, length, hidden) -> (sequences, 1, hidden)."""
    length = x.shape[1]
    return op.wrap_nested(
        call_operator("relax.strided_slice", x.expr_handle, [1], [length - 1], [length], assume_inbound=True), "last"
    )


class Decoder(Module):
    """A language model from tokens to logits. The weights of norms already include the offset of the config."""

    def __init__(self, config: TransformerConfig, layout: CacheLayout, formats: Formats | None = None):
        super().__init__()
        formats = formats or Formats()
        if (layout.layers, layout.kv_heads, layout.head_size) != (config.layers, config.kv_heads, config.head_size):
            raise ShapeError("the cache is for another model", expected=layout_of(config), found=layout)
        self.config, self.layout = config, layout
        self.formats = formats
        sizes = config.vocabulary_size, config.hidden_size
        self.embedding = formats.embedding("embedding", *sizes, config.tied_embeddings)
        self.layers = ModuleList([Layer(config, i, formats.inside(f"layers.{i}")) for i in range(config.layers)])
        self.norm = _norm(config)
        if not config.tied_embeddings:
            self.output = formats.linear("output", config.hidden_size, config.vocabulary_size, False)

    def specs(self, sequences: int | str = 1) -> dict[str, Any]:
        """Return the specs of `prefill` and `decode` for `sequences`: the tokens, then the arguments of the cache."""
        return {
            "prefill": self._spec(sequences, "length"),
            "decode": self._spec(sequences, 1),
        }

    def _spec(self, sequences: int | str, length: int | str) -> dict[str, Any]:
        return {"tokens": spec.Tensor((sequences, length), "int32"), **cache_specs(self.layout, sequences)}

    def prefill(self, tokens: Tensor, keys: Tensor, values: Tensor, table: Tensor, starts: Tensor) -> Outputs:
        """Map `(sequences, length)` int32 tokens to the logits after the last one, `(sequences, vocabulary)`."""
        sequences, length = tokens.shape
        x, cache = self._hidden(tokens, keys, values, table, starts)
        last = _last(op.reshape(x, [sequences, length, self.config.hidden_size]))
        return self._outputs(op.reshape(last, [sequences, self.config.hidden_size]), cache)

    def decode(self, tokens: Tensor, keys: Tensor, values: Tensor, table: Tensor, starts: Tensor) -> Outputs:
        """Map `(sequences, 1)` int32 tokens to logits, `(sequences, vocabulary)`."""
        return self._outputs(*self._hidden(tokens, keys, values, table, starts))

    def score(self, tokens: Tensor, keys: Tensor, values: Tensor, table: Tensor, starts: Tensor) -> Outputs:
        """Map `(sequences, length)` int32 tokens to the logits after each one, `(sequences, length, vocabulary)`."""
        x, cache = self._hidden(tokens, keys, values, table, starts)
        logits = op.reshape(self._logits(x), [*tokens.shape, self.config.vocabulary_size])
        return logits, cache.keys, cache.values

    def _hidden(
        self, tokens: Tensor, keys: Tensor, values: Tensor, table: Tensor, starts: Tensor
    ) -> tuple[Tensor, PagedKVCache]:
        """Return the output of the last layer, `(sequences * length, hidden)`, and the cache."""
        config = self.config
        sequences, length = tokens.shape
        cache = PagedKVCache(self.layout, keys, values, table, starts)
        x = self.embedding(op.reshape(tokens, [sequences * length]))
        if config.embedding_scale != 1.0:
            x = x * config.embedding_scale
        tables = {local: self._angles(starts, length, local) for local in self._kinds()}
        for i, layer in enumerate(self.layers):
            x = layer(x, cache, *tables[self._is_local(i)], length)
        return self.norm(x), cache

    def _angles(self, starts: Tensor, length: Any, local: bool) -> tuple[Tensor, Tensor]:
        rope = self.config.rope
        return angles(starts, frequencies(rope, local), length, magnitude_of(rope, local))

    def _is_local(self, layer: int) -> bool:
        """Return whether a layer uses the rotary embedding of sliding-window layers."""
        return has_window(self.config, layer) and self.config.rope.local_theta is not None

    def _kinds(self) -> list[bool]:
        """Return the needed rotary embeddings: False for the common one, True for that of sliding-window layers."""
        return sorted({self._is_local(i) for i in range(self.config.layers)})

    def _outputs(self, x: Tensor, cache: PagedKVCache) -> Outputs:
        return self._logits(x), cache.keys, cache.values

    def _logits(self, x: Tensor) -> Tensor:
        config = self.config
        logits = self._tied_output(x) if config.tied_embeddings else self.output(x)
        if config.logit_softcap is not None:
            logits = op.tanh(logits / config.logit_softcap) * config.logit_softcap
        return logits

    def _tied_output(self, x: Tensor) -> Tensor:
        if isinstance(self.embedding, InterleavedEmbedding | PanelEmbedding):
            return self.embedding.logits(x)
        return op.matmul(x, op.permute(cast("Embedding", self.embedding).weight, [1, 0]))
