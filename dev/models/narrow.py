"""Configurations of transformers made narrow: every type of its config mapping, by the names of their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH, HEADS, HEAD, INNER, VOCABULARY, LENGTH, IMAGE, PATCH = 32, 2, 16, 64, 100, 64, 32, 8
_LAYERS = re.compile(
    r"(^|_)(num_layers|n_layers?|num_hidden_layers|num_.*layers|.*_layers|depth|num_blocks|.*_depth|"
    r"num_self_attends_per_block)$"
)
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
    (r"mm_tokens_per_image", 4),
    (r"codebook_size|num_embeddings|n_embed|d_inner", INNER),
    (r".*hidden_(size|dim)|d_model|n_embd|.*embed(ding)?_(dim|size)|hidden_channels|dim|.*_dim|width|.*_channels|.*_size|"
     r"d_latents|upsample_groups|bottleneck_features|.*_dimension", WIDTH),
)  # fmt: skip
_KEPT = frozenset(
    (
        "num_channels", "in_channels", "in_chans", "temporal_patch_size", "spatial_merge_size", "num_labels",
        "conv_kernel_size", "kernel_size", "chunk_size", "tubelet_size", "merge_size", "type_vocab_size",
        "out_channels", "mamba_chunk_size", "chunk_size_feed_forward", "conv_dim", "action_dim", "state_dim",
        "num_patches", "d_conv", "num_feat_extract_layers",
        "mamba_d_conv", "batch_size",
    )
)  # fmt: skip
_BY_LAYER = {"layer_types": ["full_attention"] * 2, "mlp_layer_types": ["dense", "sparse"]}
"""What some configurations leave to the checkpoint."""
_FILLED = {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": INNER}
"""The same of fields that are None in models without experts, too."""
_COEFFICIENTS = {"width_coefficient": 0.5, "depth_coefficient": 0.5}
_EQUAL_TO_WIDTH = ("decoder_in_channels",)
"""Lists of channels that are all the width of the model."""
_SMALLEST = 17
"""Sizes below this are left as they are."""


def narrowed(config: Any, strength: int = 2) -> Any:
    """Return a narrow configuration of the class of `config`.

    `strength` 3 changes all widths, and numbers of experts that are None; 2 all widths, 1 only layers, experts,
    vocabulary and length, 0 nothing but the layers.
    """
    if config.model_type == "timm_backbone":
        config = _backbone(config)
    return type(config)(**{**_of_its_own(config), **dict(_changes(config, strength))})


def _of_its_own(config: Any) -> dict[str, Any]:
    """Return the numbers and names of a part of a configuration that are not the defaults of its class."""
    usual = vars(type(config)())
    kinds = (bool, int, float, str, list, tuple)
    fields = ((k, v) for k, v in vars(config).items() if not k.startswith("_") and isinstance(v, kinds))
    return {k: v for k, v in fields if k in usual and usual[k] != v and k not in ("transformers_version", "model_type")}


def _backbone(config: Any) -> Any:
    """Return a backbone of transformers that has the stages of one of timm."""
    from transformers import ResNetConfig

    stages = config.out_indices or (4,)
    return ResNetConfig(out_features=[f"stage{s}" for s in stages if 1 <= s <= 4] or ["stage4"])  # noqa: PLR2004


def _changes(config: Any, strength: int) -> Iterator[tuple[str, Any]]:
    fields = {k: v for k, v in vars(config).items() if not k.startswith("_") and k != "transformers_version"}
    layers = _layers_kept(fields)
    for name, value in fields.items():
        if hasattr(value, "to_dict"):
            yield name, narrowed(value, strength)
            continue
        new = _completed(name, value, fields, strength)
        if new is None and not isinstance(value, bool):
            new = _smaller(name, value, fields, layers, strength)
        if new is not None and new != value:
            yield name, new
    if "use_cache" in fields:
        yield "use_cache", False
    yield from _stages(getattr(config, "_out_features", None) or [], fields)
    if {"expand", "num_heads", "head_dim", "hidden_size"} <= fields.keys() and strength >= 2:  # noqa: PLR2004
        yield "num_heads", WIDTH * fields["expand"] // HEAD
        yield from (("n_groups", 2) for _ in range("n_groups" in fields))


def _stages(names: list[str], fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the features that a backbone returns: of as many layers as there are, where a stage is a layer."""
    if "num_hidden_layers" in fields and f"stage{fields['num_hidden_layers']}" in names:
        yield "num_hidden_layers", len(names)
        yield "out_features", [f"stage{i + 1}" for i in range(len(names))]
    elif names:
        yield "out_features", list(names)


def _completed(name: str, value: Any, fields: Mapping[str, Any], strength: int) -> Any:
    """Return what a configuration leaves to the checkpoint, or None."""
    if value is None and (name in _BY_LAYER or (strength > 2 and name in _FILLED)):  # noqa: PLR2004
        return {**_BY_LAYER, **_FILLED}[name]
    if name == "rope_parameters" and value == {}:
        return {t: {"rope_theta": 10000.0, "rope_type": "default"} for t in set(fields.get("layer_types", ()))}
    return None


def _smaller(name: str, value: Any, fields: Mapping[str, Any], layers: list[int], strength: int) -> Any:
    if name in _COEFFICIENTS:
        return min(value, _COEFFICIENTS[name])
    if name == "window_size" and "spatial_merge_size" in fields:  # of pixels, not of patches
        return value
    if name == "embed_dim" and isinstance(fields.get("num_heads"), list | tuple) and strength >= 2:  # noqa: PLR2004
        return min(value, HEAD * fields["num_heads"][0])
    if isinstance(value, int):
        return _number(name, value, layers, strength)
    if isinstance(value, list | tuple) and value:
        return type(value)(_list(name, list(value), fields, layers, strength))
    if isinstance(value, Mapping) and "rope_theta" in value and strength >= 2:  # noqa: PLR2004
        part = float(value.get("partial_rotary_factor", 1))
        half = max(3, int(HEAD * part) // 2)
        return {**value, "mrope_section": [half - 2 * (half // 3), half // 3, half // 3]}
    return None


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
    if name in ("num_hidden_layers", "n_layer", "num_self_attends_per_block"):
        return min(value, len(layers))
    if _LAYERS.match(name) and name not in _KEPT:
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
    if name == "backbone_feature_sizes":
        return _features(value, fields) if strength >= 2 else value  # noqa: PLR2004
    if name in _EQUAL_TO_WIDTH:
        return [min(v, WIDTH) for v in value] if strength >= 2 else value  # noqa: PLR2004
    if name in ("depths", "num_blocks", "layers", "encoder_depths", "decoder_depths", "depth", "num_block_repeats"):
        return [min(v, 3 if name == "depth" else 1) if isinstance(v, int) else v for v in value]  # cvt indexes them
    wide = isinstance(value[0], int) and max(v for v in value if isinstance(v, int)) >= 64  # noqa: PLR2004
    if strength >= 2 and wide and re.search(r"hidden|embed|channels|dims?$|sizes$", name) and "image" not in name:  # noqa: PLR2004
        smallest = min(v for v in value if isinstance(v, int) and v)
        if smallest >= 256 and all(v % 256 == 0 for v in value):  # noqa: PLR2004 - a list may be the end of another
            return [v // HEAD for v in value]
        return [max(HEAD, v * HEAD // smallest) // HEAD * HEAD for v in value]
    return value


def _features(value: list[Any], fields: Mapping[str, Any]) -> list[Any]:
    """Return the extents of features of the small picture."""
    backbone = fields["backbone_config"]
    side, patch = (getattr(backbone, n, None) for n in ("image_size", "patch_size"))
    side = side[0] if isinstance(side, list | tuple) else side
    if not isinstance(side, int):
        return value
    grid = (IMAGE // PATCH) / (side // patch) if isinstance(patch, int) else IMAGE / side
    return [[max(1, round(v * grid)) for v in pair] for pair in value]
