"""Inputs of models of transformers, by the names of the parameters of `forward`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .narrow import VOCABULARY

_BATCH, _LENGTH, _SHORT = 2, 12, 7


def field(config: Any, *names: str, default: Any = None) -> Any:
    """Return the first field of a configuration or of its parts that is there."""
    parts = [config, *(v for v in vars(config).values() if hasattr(v, "to_dict"))]
    for part in parts:
        for name in names:
            value = getattr(part, name, None)
            if value is not None:
                return value
    return default


def _ids(length: int, config: Any = None) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    most = min(VOCABULARY, field(config, "vocab_size", default=VOCABULARY)) if config is not None else VOCABULARY
    return torch.randint(max(most - 8, 0), most - 1, (_BATCH, length), generator=generator)


def _noise(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def _pictures(config: Any) -> Iterator[torch.Tensor]:
    channels = field(config, "num_channels", "in_channels", "in_chans", default=3)
    side = field(config, "image_size", "img_size", "input_size", "model_input_size", default=64)
    side = side[0] if isinstance(side, list | tuple) else side
    frames = field(config, "num_frames", "frames_per_clip", default=4)
    pairs = 2
    for size in dict.fromkeys((side if isinstance(side, int) else 64, 64, 128)):
        yield _noise(_BATCH, channels, size, size)
        yield _noise(_BATCH, frames, channels, size, size)
        yield _noise(_BATCH, pairs, channels, size, size)


def _sounds(config: Any) -> Iterator[torch.Tensor]:
    bins = field(config, "num_mel_bins", "feature_size", "input_feat_per_channel", "feat_dim", default=80)
    steps = 2 * field(config, "max_source_positions", default=32)
    yield _noise(_BATCH, bins, steps)
    yield _noise(_BATCH, steps, bins)
    yield _noise(_BATCH, 1, 1600)
    yield _noise(_BATCH, 1, steps, bins)


def _features(config: Any) -> Iterator[torch.Tensor]:
    yield _noise(_BATCH, _LENGTH, field(config, "hidden_size", "d_model", "embed_dim", default=32))


def _waves(config: Any) -> Iterator[torch.Tensor]:
    yield _noise(_BATCH, 1600)
    yield _noise(_BATCH, 1, 1600)
    yield from _sounds(config)
    yield from _features(config)


def _span(config: Any) -> int:
    length = field(config, "context_length", "prediction_length", default=32)
    return length + max(field(config, "lags_sequence", default=[0]))


def _series(config: Any) -> Iterator[torch.Tensor]:
    length = field(config, "context_length", "prediction_length", default=32)
    yield _noise(_BATCH, length, field(config, "num_input_channels", default=1))
    yield _noise(_BATCH, _span(config))


_MADE: dict[str, Callable[[Any], Iterator[torch.Tensor]]] = {
    "input_ids": lambda c: iter([_ids(_LENGTH, c), _ids(_LENGTH, c)[..., None].repeat(1, 1, 4)]),
    "decoder_input_ids": lambda c: iter([_ids(_SHORT, c)]),
    "attention_mask": lambda c: iter([torch.ones(_BATCH, _LENGTH, dtype=torch.int64)]),
    "bbox": lambda c: iter([torch.ones(_BATCH, _LENGTH, 4, dtype=torch.int64)]),
    "pixel_values": _pictures, "pixel_values_videos": _pictures, "images": _pictures,
    "input_values": _waves, "input_features": _sounds, "spectrogram": _sounds,
    "inputs_embeds": _features, "hidden_states": _features, "input_embeds": _features,
    "past_values": _series, "past_values_padding": lambda c: iter([torch.zeros(_BATCH, _span(c), dtype=torch.int64)]),
    "task_inputs": lambda c: iter([_ids(field(c, "task_seq_len", default=77), c)]), "decoder_input_values": _features,
    "freq": lambda c: iter([torch.zeros(_BATCH, 1, dtype=torch.int64)]),
    "past_observed_mask": lambda c: (torch.ones_like(v) for v in _series(c)),
    "past_time_features": lambda c: iter([_noise(_BATCH, _span(c), field(c, "num_time_features", default=1) or 1)]),
    "cache_position": lambda c: iter([torch.arange(_LENGTH)]),
    "token_type_ids": lambda c: iter([torch.zeros(_BATCH, _LENGTH, dtype=torch.int64)]),
    "position_ids": lambda c: iter([torch.arange(_LENGTH)[None]]),
}  # fmt: skip


def candidates(model: Any) -> Iterator[dict[str, torch.Tensor]]:
    """Yield arguments of a model to try, those with attention masks first."""
    names = inspect.signature(model.forward).parameters
    if "grid_thw" in names:
        yield from _patches(model.config, list(names)[0])
    main_names = [model.main_input_name] if isinstance(model.main_input_name, str) else model.main_input_name
    first = [n for n in (*main_names, "input_ids", "pixel_values", "input_features") if n in names]
    required = [n for n, p in names.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    sets: list[list[str]] = []
    for main in dict.fromkeys([*first, *required[:1]]):
        needed = list(dict.fromkeys([main, *required]))
        more = [n for n in ("decoder_input_ids", "decoder_input_values", "task_inputs") if n in names]
        masks = ["attention_mask"] if "attention_mask" in names and main == "input_ids" else []
        sets += [[*needed, *masks], needed, [*needed, *more, *masks], [*needed, *more]]
        sets += [[*needed, n] for n in ("input_ids", "pixel_values", "bbox") if n in names and n != main]
    for chosen in dict.fromkeys(map(tuple, sets)):
        yield from _all_of(model.config, list(dict.fromkeys(chosen)))


def _patches(config: Any, name: str) -> Iterator[dict[str, torch.Tensor]]:
    """Yield the patches of a picture of 4 by 4, as the visual parts of language models take them."""
    patch, channels = field(config, "patch_size", default=14), field(config, "in_channels", "in_chans", default=3)
    for frames in dict.fromkeys((field(config, "temporal_patch_size", default=1), 1)):
        pixels = _noise(16, channels * frames * patch * patch)
        for grid in (torch.tensor([[1, 4, 4]]), torch.tensor([[4, 4]])):
            yield {name: pixels, "grid_thw": grid}


def _all_of(config: Any, names: list[str]) -> Iterator[dict[str, torch.Tensor]]:
    if not names:
        yield {}
        return
    make = _MADE.get(names[0], _features)
    for value in make(config):
        for rest in _all_of(config, names[1:]):
            yield {names[0]: value, **rest}
