"""Configurations of transformers made narrow: every type of its config mapping, by the names of their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH, HEADS, HEAD, INNER, VOCABULARY, LENGTH, IMAGE, PATCH = 32, 2, 16, 64, 100, 64, 32, 8
_LAYERS = re.compile(r"(^|_)(num_layers|n_layers?|num_hidden_layers|num_.*layers|.*_layers|depth|num_blocks|.*_depth)$")
_RULES: tuple[tuple[str, int], ...] = (
    (r"vocab_size|.*_vocab_size", VOCABULARY),
    (r"num_key_value_heads|.*_key_value_heads|n_head_kv|num_kv_heads", 1),
    (r"n_heads?|num_heads|.*attention_heads|num_.*heads", HEADS),
    (r"(attention_)?head_dim|d_kv|key_dim|kv_channels|v_head_dim|dim_head|.*_head_dim|attention_head_size", HEAD),
    (r"qk_rope_head_dim|qk_nope_head_dim", HEAD // 2),
    (r".*lora_rank|.*_rank", HEAD),
    (r"num_experts_per_tok|.*top_?k(_experts)?|num_experts_per_token|moe_topk|moe_k", 2),
    (r".*num_.*experts?|n_routed_experts|moe_num_experts", 4),
    (r"n_group|topk_group|num_expert_group", 1),
    (r".*intermediate_(size|dim)|.*ffn_dim|d_ff|ffn_hidden_size|mlp_dim|n_inner|.*feedforward.*|.*mlp_.*dim", INNER),
    (r".*max_(position_embeddings|seq_len|length).*|n_positions|max_.*_positions|n_ctx|context_length", LENGTH),
    (r".*sliding_window|window_size|attention_window_size|local_attention", 8),
    (r"image_size|img_size|pretrain_image_size|input_size|model_input_size", IMAGE),
    (r".*patch_size", PATCH),
    (r"num_queries|num_query_tokens|num_latents|num_codebooks", 8),
    (r"num_.*denoising", 0),
    (r"codebook_size|num_embeddings|n_embed", INNER),
    (r".*hidden_(size|dim)|d_model|n_embd|.*embed(ding)?_(dim|size)|hidden_channels|dim|.*_dim|width|.*_channels|.*_size",
     WIDTH),
)  # fmt: skip
_KEPT = frozenset(
    (
        "num_channels", "in_channels", "in_chans", "temporal_patch_size", "spatial_merge_size", "num_labels",
        "conv_kernel_size", "kernel_size", "chunk_size", "tubelet_size", "merge_size", "type_vocab_size",
        "out_channels", "mamba_chunk_size", "chunk_size_feed_forward", "conv_dim", "action_dim", "state_dim",
        "num_patches", "d_conv",
        "mamba_d_conv", "batch_size",
    )
)  # fmt: skip
_BY_LAYER = {"layer_types": ["full_attention"] * 2, "mlp_layer_types": ["dense", "sparse"]}
"""What some configurations leave to the checkpoint."""
_SMALLEST = 17
"""Sizes below this are left as they are."""


def narrowed(config: Any, strength: int = 2) -> Any:
    """Return a narrow configuration of the class of `config`.

    `strength` 2 changes all widths, 1 only layers, experts, vocabulary and length, 0 nothing but the layers.
    """
    changes = dict(_changes(config, strength))
    return type(config)(**changes)


def _changes(config: Any, strength: int) -> Iterator[tuple[str, Any]]:
    fields = {k: v for k, v in vars(config).items() if not k.startswith("_") and k != "transformers_version"}
    layers = _layers_kept(fields)
    for name, value in fields.items():
        if hasattr(value, "to_dict"):
            yield name, narrowed(value, strength)
        elif value is None and name in _BY_LAYER:
            yield name, _BY_LAYER[name]
        elif isinstance(value, bool) or value is None:
            continue
        elif isinstance(value, int):
            yield from ((name, new) for new in [_number(name, value, layers, strength)] if new != value)
        elif isinstance(value, list | tuple) and value:
            yield from ((name, new) for new in [_list(name, list(value), fields, layers, strength)] if new != value)
        elif isinstance(value, Mapping) and "rope_theta" in value and strength == 2:
            part = float(value.get("partial_rotary_factor", 1))
            half = max(3, int(HEAD * part) // 2)
            yield name, {**value, "mrope_section": [half - 2 * (half // 3), half // 3, half // 3]}
    if "use_cache" in fields:
        yield "use_cache", False


def _layers_kept(fields: Mapping[str, Any]) -> list[int]:
    """Return the indices of the layers to keep: the first of each kind that the lists by layer distinguish."""
    count = fields.get("num_hidden_layers") or fields.get("n_layer") or 2
    lists = [v for k, v in fields.items() if isinstance(v, list | tuple) and len(v) == count and _by_layer(k, v)]
    kinds: dict[str, int] = {}
    for i in range(count if isinstance(count, int) else 2):
        kinds.setdefault(str([v[i] for v in lists]), i)
    kept = sorted(kinds.values())[:4]
    return sorted({*kept, *range(2)})[: max(2, len(kept))]


def _by_layer(name: str, value: Any) -> bool:
    return "layer" in name or "types" in name or isinstance(value[0], str)


def _number(name: str, value: int, layers: list[int], strength: int) -> int:
    if name in ("num_hidden_layers", "n_layer"):
        return min(value, len(layers))
    if _LAYERS.match(name):
        return min(value, 2)
    if strength == 0 or name in _KEPT:
        return value
    if name.endswith(("token_id", "token_index", "_id")):
        return value if value < VOCABULARY - 1 else 3 + value % (VOCABULARY - 8)
    for number, (pattern, small) in enumerate(_RULES):
        if re.fullmatch(pattern, name):
            wide = number > 0 and small in (WIDTH, INNER, HEAD, HEADS, 1, HEAD // 2)
            if strength == 1 and wide:
                return value
            return min(value, small) if value >= _SMALLEST or number in (1, 2, 6, 7, 8) else value
    return value


def _list(name: str, value: list[Any], fields: Mapping[str, Any], layers: list[int], strength: int) -> list[Any]:
    count = fields.get("num_hidden_layers") or fields.get("n_layer")
    if len(value) == count and _by_layer(name, value):
        return [value[i] for i in layers]
    if name in ("depths", "num_blocks", "layers", "encoder_depths", "decoder_depths", "depth"):
        return [min(v, 1) if isinstance(v, int) else v for v in value]
    wide = isinstance(value[0], int) and max(v for v in value if isinstance(v, int)) >= 64  # noqa: PLR2004
    if strength == 2 and wide and re.search(r"hidden|embed|channels|dims?$|sizes$", name) and "image" not in name:  # noqa: PLR2004
        smallest = min(v for v in value if isinstance(v, int) and v)
        return [max(HEAD, v * HEAD // smallest) // HEAD * HEAD for v in value]
    return value
