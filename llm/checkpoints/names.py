"""The names of weights: ours, GGUF's and Hugging Face's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Row(NamedTuple):
    """The names of a weight, with `*` in place of the layer number; None if a source has no such weight."""

    name: str
    gguf: str | None
    huggingface: str | None


ROWS = (
    Row("embedding.weight", "token_embd.weight", "model.embed_tokens.weight"),
    Row("norm.weight", "output_norm.weight", "model.norm.weight"),
    Row("output.weight", "output.weight", "lm_head.weight"),
    Row("rope.factors", "rope_freqs.weight", None),
    Row("layers.*.attention_norm.weight", "blk.*.attn_norm.weight", "model.layers.*.input_layernorm.weight"),
    Row("layers.*.attention.query.weight", "blk.*.attn_q.weight", "model.layers.*.self_attn.q_proj.weight"),
    Row("layers.*.attention.key.weight", "blk.*.attn_k.weight", "model.layers.*.self_attn.k_proj.weight"),
    Row("layers.*.attention.value.weight", "blk.*.attn_v.weight", "model.layers.*.self_attn.v_proj.weight"),
    Row("layers.*.attention.output.weight", "blk.*.attn_output.weight", "model.layers.*.self_attn.o_proj.weight"),
    Row("layers.*.attention.query.bias", "blk.*.attn_q.bias", "model.layers.*.self_attn.q_proj.bias"),
    Row("layers.*.attention.key.bias", "blk.*.attn_k.bias", "model.layers.*.self_attn.k_proj.bias"),
    Row("layers.*.attention.value.bias", "blk.*.attn_v.bias", "model.layers.*.self_attn.v_proj.bias"),
    Row("layers.*.attention.output.bias", "blk.*.attn_output.bias", "model.layers.*.self_attn.o_proj.bias"),
    Row("layers.*.attention.query_norm.weight", "blk.*.attn_q_norm.weight", "model.layers.*.self_attn.q_norm.weight"),
    Row("layers.*.attention.key_norm.weight", "blk.*.attn_k_norm.weight", "model.layers.*.self_attn.k_norm.weight"),
    Row("layers.*.mlp_norm.weight", "blk.*.ffn_norm.weight", "model.layers.*.post_attention_layernorm.weight"),
    Row("layers.*.mlp.gate.weight", "blk.*.ffn_gate.weight", "model.layers.*.mlp.gate_proj.weight"),
    Row("layers.*.mlp.up.weight", "blk.*.ffn_up.weight", "model.layers.*.mlp.up_proj.weight"),
    Row("layers.*.mlp.down.weight", "blk.*.ffn_down.weight", "model.layers.*.mlp.down_proj.weight"),
    Row("layers.*.mlp.gate.bias", "blk.*.ffn_gate.bias", "model.layers.*.mlp.gate_proj.bias"),
    Row("layers.*.mlp.up.bias", "blk.*.ffn_up.bias", "model.layers.*.mlp.up_proj.bias"),
    Row("layers.*.mlp.down.bias", "blk.*.ffn_down.bias", "model.layers.*.mlp.down_proj.bias"),
    Row("layers.*.attention_post_norm.weight", "blk.*.post_attention_norm.weight", None),
    Row("layers.*.mlp_post_norm.weight", "blk.*.post_ffw_norm.weight", None),
)
"""All weights that a supported model may have. Matrices are (outputs, inputs): y = x @ W.T + b."""

_POST_NORMED = {
    "model.layers.*.post_attention_layernorm.weight": "layers.*.attention_post_norm.weight",
    "model.layers.*.pre_feedforward_layernorm.weight": "layers.*.mlp_norm.weight",
    "model.layers.*.post_feedforward_layernorm.weight": "layers.*.mlp_post_norm.weight",
}
"""Hugging Face's names in models that also normalize after attention and MLP (Gemma 2 and 3): there a name
that other models use, too, means another norm.
"""

GGUF = {row.gguf: row.name for row in ROWS if row.gguf is not None}
HUGGINGFACE = {row.huggingface: row.name for row in ROWS if row.huggingface is not None}
HUGGINGFACE_POST_NORMED = HUGGINGFACE | _POST_NORMED

_LAYER = re.compile(r"(?<=\.)(0|[1-9][0-9]{0,5})(?=\.)")


def renamed(name: str, table: Mapping[str, str]) -> str | None:
    """Return our name for a weight that a source calls `name`; None if the table has none."""
    number = _LAYER.search(name)
    if number is None:
        return table.get(name) if "*" not in name else None
    row = table.get(f"{name[: number.start()]}*{name[number.end() :]}")
    return None if row is None else row.replace("*", number[0])
