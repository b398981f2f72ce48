"""Known models as ONNX files in int8, quantized by ONNX Runtime's tool: calibrated with random inputs, random weights.

Needs torch, torchvision or transformers, onnx and onnxruntime; files that are there already are taken as they are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Feed = dict[str, np.ndarray]
IMAGES = ("resnet50", "mobilenet_v3_small", "mobilenet_v3_large")
"""Names of torchvision, for images of 224 x 224."""
MODELS = (*IMAGES, "bert")
FORMS = ("qdq_u8s8", "qop_u8s8", "qdq_s8s8", "qdq_u8u8")
"""QDQ or QLinear operators; the kinds of bytes of activations and of weights, these by channel but in u8u8."""
LENGTH = 128


def feed(model: str, seed: int) -> Feed:
    """Random inputs of a model."""
    rng = np.random.default_rng(seed)
    if model in IMAGES:
        return {"x": rng.standard_normal((1, 3, 224, 224), np.float32)}
    tokens, ones = rng.integers(0, 30000, (1, LENGTH)), np.ones((1, LENGTH), np.int64)
    return {"input_ids": tokens, "attention_mask": ones, "token_type_ids": np.zeros_like(ones)}


def quantized(folder: Path, model: str, form: str) -> tuple[Path, Path]:
    """The files of a model in float32 and in a form of `FORMS`, made where they are missing."""
    plain, small = folder / f"{model}_pre.onnx", folder / f"{model}_{form}.onnx"
    folder.mkdir(parents=True, exist_ok=True)
    if not plain.exists():
        _export(model, plain)
    if not small.exists():
        _quantize(model, plain, small, form)
    return plain, small


def _quantize(model: str, plain: Path, small: Path, form: str) -> None:
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Inputs(CalibrationDataReader):
        def __init__(self) -> None:
            self.feeds: Iterator[Feed] = iter([feed(model, seed) for seed in range(4)])

        def get_next(self) -> Feed | None:
            return next(self.feeds, None)

    style, kinds = form.split("_")
    kind = {"u8": QuantType.QUInt8, "s8": QuantType.QInt8}
    quantize_static(
        plain,
        small,
        Inputs(),
        quant_format=QuantFormat.QDQ if style == "qdq" else QuantFormat.QOperator,
        activation_type=kind[kinds[:2]],
        weight_type=kind[kinds[2:]],
        per_channel=kinds != "u8u8",
        extra_options={"ActivationSymmetric": kinds[:2] == "s8"},
    )


def _export(model: str, path: Path) -> None:
    """The model in float32, prepared for quantization as ONNX Runtime advises."""
    import torch
    from onnxruntime.quantization.shape_inference import quant_pre_process

    module = _image_model(model) if model in IMAGES else _bert()
    inputs = feed(model, 0)
    axes = {name: {0: "n"} if model in IMAGES else {0: "n", 1: "l"} for name in (*inputs, "y")}
    with tempfile.TemporaryDirectory() as scratch:
        exported = Path(scratch) / "model.onnx"
        tensors = tuple(map(torch.from_numpy, inputs.values()))
        names = {"input_names": list(inputs), "output_names": ["y"], "dynamic_axes": axes}
        torch.onnx.export(module, tensors, exported, opset_version=17, dynamo=False, **names)
        quant_pre_process(exported, path, skip_symbolic_shape=model not in IMAGES)


def _image_model(name: str) -> Any:
    """A model of torchvision whose batch norms have the statistics of random images: ranges are as in a trained one."""
    import torch
    from torchvision import models

    torch.manual_seed(0)
    module = getattr(models, name)().train()
    for norm in module.modules():
        if isinstance(norm, torch.nn.BatchNorm2d):
            norm.momentum = None
            norm.reset_running_stats()
    with torch.no_grad():
        for _ in range(2):
            module(torch.randn(4, 3, 224, 224))
    return module.eval()


def _bert() -> Any:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    model = BertModel(BertConfig(), add_pooling_layer=False)

    class States(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, tokens: Any, mask: Any, segments: Any) -> Any:
            return self.model(tokens, attention_mask=mask, token_type_ids=segments)[0]

    return States().eval()
