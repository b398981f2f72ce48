"""Architectures of transformers (narrow), torchvision and timm, with random weights: imported and run beside PyTorch.

    python tests/frontend/torch/architectures.py build/architectures.jsonl             # goes on where it stopped
    python tests/frontend/torch/architectures.py build/architectures.jsonl --only bert --again
    python tests/frontend/torch/architectures.py build/by_onnx.jsonl --onnx            # through torch.onnx.export

A line of the file is an architecture: how it came out, the largest difference as a part of the greatest magnitude of
the result, and the seconds of each step. Batch norms have the statistics of the input, and weights that begin as 0 or
next to it are drawn, so that no activations vanish.
Deep models of random weights carry rounding far: what differs by more than the tolerance still agrees where it does in
float64, all the way; the line has both differences then.
Those of torchvision and timm are there where the packages are installed.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import importlib.util
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as hf

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.frontend.onnx import from_onnx
from tirax.frontend.torch.exported_program import from_exported_program

TOLERANCE, TOLERANCE_OF_FLOAT64 = 1e-4, 1e-9
_VANISHING = 1e-3
Case = tuple[torch.nn.Module, dict[str, Any]]
Array = np.ndarray[Any, np.dtype[Any]]

_TEXT = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100,
    "max_position_embeddings": 64,
}  # fmt: skip
_VISION = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32,
    "patch_size": 8, "num_channels": 3,
}  # fmt: skip
_TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


class FirstTensors(torch.nn.Module):
    """A model called by keyword, whose first results of floating point are its results."""

    def __init__(self, model: torch.nn.Module, names: list[str], options: Mapping[str, Any]):
        super().__init__()
        self.model = model
        self._names = names
        self._options = dict(options)

    def forward(self, *args: Any) -> Any:
        result = self.model(**dict(zip(self._names, args, strict=True)), **self._options)
        values = result.to_tuple() if hasattr(result, "to_tuple") else result
        values = (values,) if isinstance(values, torch.Tensor) else values
        tensors = [v for v in values if isinstance(v, torch.Tensor) and v.is_floating_point()]
        return tuple(tensors[:2])


def _ids(length: int = 12, batch: int = 2) -> torch.Tensor:
    return torch.randint(3, 100, (batch, length), generator=torch.Generator().manual_seed(0))


def _pixels(size: int = 32) -> torch.Tensor:
    return torch.randn(2, 3, size, size, generator=torch.Generator().manual_seed(0))


def _text(name: str, **more: Any) -> Callable[[], Case]:
    def make() -> Case:
        config = getattr(hf, f"{name}Config")(**{**_TEXT, **_TOKENS, **more})
        ids = _ids()
        return getattr(hf, f"{name}Model")(config), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    return make


def _causal(name: str, **more: Any) -> Callable[[], Case]:
    def make() -> Case:
        config = getattr(hf, f"{name}Config")(**{**_TEXT, **_TOKENS, **more}, use_cache=False)
        kind = "LMHeadModel" if name == "GPT2" else "ForCausalLM"
        return getattr(hf, f"{name}{kind}")(config), {"input_ids": _ids()}

    return make


def _seq2seq(name: str, **more: Any) -> Callable[[], Case]:
    def make() -> Case:
        config = getattr(hf, f"{name}Config")(vocab_size=100, use_cache=False, **{**_TOKENS, **more})
        return getattr(hf, f"{name}Model")(config), {"input_ids": _ids(), "decoder_input_ids": _ids(7)}

    return make


def _vision(name: str, base: Mapping[str, Any] = _VISION, kind: str = "Model", size: int = 32, **more: Any) -> Any:
    def make() -> Case:
        config = getattr(hf, f"{name}Config")(**{**base, **more})
        return getattr(hf, f"{name}{kind}")(config), {"pixel_values": _pixels(size)}

    return make


_HALF = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
         "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64}  # fmt: skip
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
_GROUPED = {"num_key_value_heads": 2, "head_dim": 8}
_GPT = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}


def _whisper() -> Case:
    config = hf.WhisperConfig(
        vocab_size=100, num_mel_bins=16, max_source_positions=30, max_target_positions=20, use_cache=False, **_HALF,
        **_TOKENS, decoder_start_token_id=1,
    )  # fmt: skip
    return hf.WhisperModel(config), {"input_features": torch.randn(2, 16, 60), "decoder_input_ids": _ids(7)}


def _clip() -> Case:
    text = hf.CLIPTextConfig(**_TEXT, **_TOKENS, projection_dim=16)
    vision = hf.CLIPVisionConfig(**_VISION, projection_dim=16)
    config = hf.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=16)
    ids = _ids()
    return hf.CLIPModel(config), {
        "input_ids": ids, "pixel_values": _pixels(), "attention_mask": torch.ones_like(ids)
    }  # fmt: skip


def _wave(name: str) -> Callable[[], Case]:
    def make() -> Case:
        config = getattr(hf, f"{name}Config")(
            **{k: v for k, v in _TEXT.items() if k != "max_position_embeddings"}, conv_dim=(16, 16, 16),
            conv_stride=(5, 2, 2), conv_kernel=(10, 3, 3), num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2,
        )  # fmt: skip
        return getattr(hf, f"{name}Model")(config), {"input_values": torch.randn(2, 800)}

    return make


def _detr() -> Case:
    backbone = hf.ResNetConfig(
        embedding_size=16, hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], out_features=["stage4"]
    )
    config = hf.DetrConfig(
        use_timm_backbone=False, backbone_config=backbone, use_pretrained_backbone=False, num_queries=5, backbone=None,
        **_HALF,
    )  # fmt: skip
    return hf.DetrModel(config), {"pixel_values": _pixels(64), "pixel_mask": torch.ones(2, 64, 64, dtype=torch.int64)}


_STAGES = {"num_channels": 3, "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]}

ARCHITECTURES: dict[str, Callable[[], Case]] = {
    "bert": _text("Bert"),
    "roberta": _text("Roberta"),
    "distilbert": lambda: (
        hf.DistilBertModel(hf.DistilBertConfig(vocab_size=100, dim=32, n_layers=2, n_heads=4, hidden_dim=64)),
        {"input_ids": _ids(), "attention_mask": torch.ones(2, 12, dtype=torch.int64)},
    ),
    "albert": _text("Albert", embedding_size=16),
    "electra": _text("Electra", embedding_size=16),
    "deberta": _text("Deberta"),
    "deberta-v2": _text("DebertaV2", relative_attention=True, position_biased_input=False, pos_att_type=["p2c", "c2p"]),
    "camembert": _text("Camembert"),
    "xlm-roberta": _text("XLMRoberta"),
    "mpnet": _text("MPNet"),
    "mobilebert": _text("MobileBert", embedding_size=32, intra_bottleneck_size=32, true_hidden_size=32),
    "squeezebert": _text("SqueezeBert", embedding_size=32),
    "modernbert": _text("ModernBert", global_attn_every_n_layers=2, local_attention=8, reference_compile=False),
    "gpt2": _causal("GPT2", **_GPT),
    "gpt-neo": _causal("GPTNeo", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]], window_size=8),
    "gpt-neox": _causal("GPTNeoX"),
    "gptj": _causal("GPTJ", rotary_dim=4, **_GPT),
    "opt": _causal("OPT", ffn_dim=64, word_embed_proj_dim=32),
    "bloom": _causal("Bloom", n_layer=2, n_head=4),
    "codegen": _causal("CodeGen", rotary_dim=4, n_ctx=64, **_GPT),
    "falcon": _causal("Falcon"),
    "llama": _causal("Llama", **_GROUPED),
    "mistral": _causal("Mistral", sliding_window=8, **_GROUPED),
    "cohere": _causal("Cohere", num_key_value_heads=2),
    "qwen2": _causal("Qwen2", **_GROUPED),
    "qwen3": _causal("Qwen3", **_GROUPED),
    "gemma": _causal("Gemma", **_GROUPED),
    "gemma2": _causal("Gemma2", sliding_window=8, **_GROUPED),
    "phi": _causal("Phi"),
    "phi3": _causal("Phi3", num_key_value_heads=2),
    "stablelm": _causal("StableLm", num_key_value_heads=2),
    "olmo": _causal("Olmo", num_key_value_heads=2),
    "mamba": _causal("Mamba", state_size=4, num_hidden_layers=2),
    "t5": _seq2seq("T5", **_T5),
    "mt5": _seq2seq("MT5", **_T5),
    "bart": _seq2seq("Bart", max_position_embeddings=64, **_HALF),
    "mbart": _seq2seq("MBart", max_position_embeddings=64, **_HALF),
    "pegasus": _seq2seq("Pegasus", max_position_embeddings=64, **_HALF),
    "marian": _seq2seq("Marian", max_position_embeddings=64, decoder_start_token_id=0, **_HALF),
    "whisper": _whisper,
    "clip": _clip,
    "wav2vec2": _wave("Wav2Vec2"),
    "hubert": _wave("Hubert"),
    "vit": _vision("ViT"),
    "deit": _vision("DeiT"),
    "beit": _vision("Beit"),
    "dinov2": _vision("Dinov2"),
    "vit-mae-encoder": _vision("IJepa"),
    "swin": _vision("Swin", {}, image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                    window_size=4),
    "swinv2": _vision("Swinv2", {}, image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4],
                      window_size=4),
    "segformer": _vision("Segformer", {}, "ForSemanticSegmentation", 64, hidden_sizes=[8, 16, 16, 32],
                         depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16),
    "pvt": _vision("Pvt", {}, "Model", 64, image_size=64, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1],
                   num_attention_heads=[1, 2, 2, 4]),
    "detr": _detr,
    "convnext": _vision("ConvNext", _STAGES),
    "convnextv2": _vision("ConvNextV2", _STAGES),
    "resnet": _vision("ResNet", _STAGES, "Model", 64, embedding_size=8),
    "regnet": _vision("RegNet", _STAGES, "Model", 64, embedding_size=8, groups_width=8),
    "mobilenet-v1": _vision("MobileNetV1", {}, "Model", 64, depth_multiplier=0.25),
    "mobilenet-v2": _vision("MobileNetV2", {}, "Model", 64, depth_multiplier=0.25),
    "mobilevit": _vision("MobileViT", {}, "Model", 64, image_size=64, hidden_sizes=[16, 24, 32],
                         neck_hidden_sizes=[8, 8, 16, 16, 24, 24, 32]),
    "efficientnet": _vision("EfficientNet", {}, "Model", 64, image_size=64, width_coefficient=0.25,
                            depth_coefficient=0.25, hidden_dim=320),
    "bit": _vision("Bit", _STAGES, "Model", 64, embedding_size=8, num_groups=4),
    "levit": _vision("Levit", {}, "Model", 64, image_size=64, hidden_sizes=[16, 24, 32], num_attention_heads=[2, 3, 4],
                     depths=[1, 1, 1], key_dim=[8, 8, 8]),
    "poolformer": _vision("PoolFormer", {}, "Model", 64, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1]),
    "focalnet": _vision("FocalNet", {}, image_size=32, embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32],
                        focal_levels=[2, 2], focal_windows=[3, 3]),
}  # fmt: skip


def _packaged(package: str, make: str, name: str, size: int, options: Mapping[str, Any]) -> Callable[[], Case]:
    """A model that a function of a package makes by its name, on a picture."""

    def case() -> Case:
        model = getattr(importlib.import_module(package), make)(name, **options)
        return model, {"x": _pixels(size)}

    return case


_TORCHVISION = {
    "resnet18": 64, "resnext50_32x4d": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64, "efficientnet_b0": 64,
    "efficientnet_v2_s": 64, "convnext_tiny": 64, "regnet_y_400mf": 64, "regnet_x_400mf": 64, "densenet121": 64,
    "shufflenet_v2_x0_5": 64, "squeezenet1_1": 64, "mnasnet0_5": 64, "googlenet": 96, "inception_v3": 128, "vgg11": 64,
    "alexnet": 96, "swin_t": 64, "swin_v2_t": 64, "vit_b_32": 224, "maxvit_t": 224,
}  # fmt: skip
"""Models of torchvision, and the size of the picture that they get."""

_TIMM: dict[str, tuple[int, dict[str, Any]]] = {
    "resnet26": (64, {}), "mobilenetv3_small_050": (64, {}), "efficientnet_lite0": (64, {}), "convnext_atto": (64, {}),
    "regnetx_002": (64, {}), "vit_tiny_patch16_224": (64, {"img_size": 64}), "repvgg_a0": (64, {}),
    "deit_tiny_patch16_224": (64, {"img_size": 64}), "swin_tiny_patch4_window7_224": (56, {"img_size": 56}),
    "mixer_s32_224": (224, {}), "ghostnet_100": (64, {}), "hrnet_w18_small": (64, {}), "dla34": (64, {}),
    "edgenext_xx_small": (64, {}), "levit_128s": (224, {}), "cait_xxs24_224": (64, {"img_size": 64}),
    "poolformer_s12": (64, {}), "convmixer_768_32": (56, {}), "coat_lite_tiny": (64, {"img_size": 64}),
    "maxvit_rmlp_pico_rw_256": (256, {}), "eva02_tiny_patch14_224": (56, {"img_size": 56}), "resmlp_12_224": (224, {}),
}  # fmt: skip
"""Models of timm, the size of the picture, and their options."""


def _all() -> dict[str, Callable[[], Case]]:
    """Those of transformers, and those of the other packages that are installed."""
    cases = dict(ARCHITECTURES)
    if importlib.util.find_spec("torchvision"):
        cases |= {
            f"torchvision:{n}": _packaged("torchvision.models", "get_model", n, s, {}) for n, s in _TORCHVISION.items()
        }
    if importlib.util.find_spec("timm"):
        cases |= {f"timm:{n}": _packaged("timm", "create_model", n, s, o) for n, (s, o) in _TIMM.items()}
    return cases


def _drawn(module: torch.nn.Module) -> None:
    """Draw weights that begin as 0 or next to it, as those of heads and of residual branches do."""
    for name, parameter in module.named_parameters():
        if name.endswith("bias") or parameter.numel() == 0 or parameter.abs().max() > _VANISHING:
            continue
        spread = (0.5, 1.5) if parameter.numel() == max(parameter.shape, default=1) else (-0.1, 0.1)
        torch.nn.init.uniform_(parameter, *spread)


def _calibrated(module: torch.nn.Module, args: tuple[Any, ...]) -> None:
    """Give batch norms the statistics of these arguments."""
    norms = [m for m in module.modules() if isinstance(m, torch.nn.modules.batchnorm._BatchNorm)]
    if not norms:
        return
    for norm in norms:
        norm.momentum = 1.0
        norm.train()
    module(*args)
    module.eval()


def run(name: str, by_onnx: bool = False) -> dict[str, Any]:
    """Export, import, build and run an architecture: the outcome as a line of the report."""
    torch.manual_seed(0)
    line: dict[str, Any] = {"architecture": name}
    clock = time.process_time()
    try:
        model, inputs = _all()[name]()
        module = FirstTensors(model.eval(), list(inputs), {}).eval()
        args = tuple(inputs.values())
        with torch.no_grad():
            _drawn(module)
            _calibrated(module, args)
        program = _exported(module, args, by_onnx)
    except Exception as error:  # noqa: BLE001 (whatever PyTorch refuses is told)
        return line | {"status": "not exported", "what": f"{type(error).__name__}: {error}"[:300]}
    line["export"] = round(time.process_time() - clock, 2)
    try:
        line |= _imported(program, module, args)
        if line["difference"] > TOLERANCE:
            wide = copy.deepcopy(module).double()
            wide_args = tuple(a.double() if a.is_floating_point() else a for a in args)
            line["in float64"] = _imported(_exported(wide, wide_args, by_onnx), wide, wide_args)["difference"]
        agrees = line["difference"] <= TOLERANCE or line["in float64"] <= TOLERANCE_OF_FLOAT64
        return line | {"status": "agrees" if agrees else "differs"}
    except TiraxError as error:
        return line | {"status": "refused", "what": str(error)[:1500]}
    except Exception as error:  # noqa: BLE001 (a mistake of ours is told, not hidden)
        return line | {"status": "crashed", "what": f"{type(error).__name__}: {error}"[:500]}


def _exported(module: torch.nn.Module, args: tuple[Any, ...], by_onnx: bool) -> Any:
    """The program that PyTorch exports, or the model that torch.onnx.export makes."""
    with torch.no_grad():
        if not by_onnx:
            return torch.export.export(module, args, strict=False)
        return torch.onnx.export(module, args, dynamo=True, verbose=False).model_proto


def _imported(program: Any, module: torch.nn.Module, args: tuple[Any, ...]) -> dict[str, Any]:
    """How far what the imported program computes is from the module, and the seconds that import and build took."""
    clock = time.process_time()
    mod = from_exported_program(program) if isinstance(program, torch.export.ExportedProgram) else from_onnx(program)
    imported = time.process_time()
    main = build(mod).jit()["main"]
    built = time.process_time()
    result = main(*(a.numpy() for a in args))
    outputs = [np.array(o) for o in (result if isinstance(result, tuple | list) else [result])]
    with torch.no_grad():
        expected = [e.numpy() for e in module(*args)]
    return {
        "difference": _distance(outputs, expected), "import": round(imported - clock, 2),
        "build": round(built - imported, 2),
    }  # fmt: skip


def _distance(values: Sequence[Array], reference: Sequence[Array]) -> float:
    """The largest difference, as a part of the greatest magnitude."""
    pairs = zip(values, reference, strict=True)
    return max(float(np.max(np.abs(v - r), initial=0) / max(np.max(np.abs(r), initial=0), 1e-6)) for v, r in pairs)


def run_all(path: Path, names: Sequence[str], run: Callable[[str], dict[str, Any]], again: bool) -> dict[str, Any]:
    """The lines of a file by architecture, after those that it lacks (or `again` all) were run and added to it."""
    known: dict[str, Any] = {}
    if path.exists():
        known = {e["architecture"]: e for e in map(json.loads, path.read_text().splitlines())}
    with path.open("a") as file, warnings.catch_warnings(), suppress(KeyboardInterrupt):
        warnings.simplefilter("ignore")
        for name in names:
            if again or name not in known:
                known[name] = run(name)
                file.write(json.dumps(known[name]) + "\n")
                file.flush()
                print(json.dumps(known[name]), flush=True)
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", nargs="*", default=list(_all()))
    parser.add_argument("--onnx", action="store_true", help="through torch.onnx.export")
    parser.add_argument("--again", action="store_true", help="run what the file has already, too")
    args = parser.parse_args()
    known = run_all(args.results, args.only, lambda name: run(name, args.onnx), args.again)
    agree = sum(e["status"] == "agrees" for e in known.values())
    print(f"{agree} of {len(_all())} architectures import and agree; {len(known)} were run")


if __name__ == "__main__":
    sys.exit(main())
