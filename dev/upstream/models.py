"""Small models of PyTorch whose stages MLIR is to read: an example of each kind of layer."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...frontend.torch.exported_program import from_exported_program


def models() -> Iterator[tuple[str, ModuleOp]]:
    """Yield the names and modules of models; none without PyTorch."""
    if find_spec("torch") is None:
        return
    torch: Any = import_module("torch")
    for name, (model, args) in _models(torch).items():
        exported = import_module("torch.export").export(model.eval(), args)
        result: Any = from_exported_program(exported)
        yield name, getattr(result, "op", result)


def _models(torch: Any) -> dict[str, tuple[Any, tuple[Any, ...]]]:
    nn, draw = torch.nn, torch.randn
    chain = nn.Sequential
    return {
        "mlp": (chain(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 10), nn.Softmax(-1)), (draw(4, 16),)),
        "convolutions": (
            chain(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
            (draw(2, 8, 12, 12),),
        ),
        "depthwise": (
            chain(nn.Conv2d(8, 8, 3, groups=8), nn.Hardswish(), nn.Conv2d(8, 16, 1), nn.MaxPool2d(2)),
            (draw(1, 8, 11, 11),),
        ),
        "transposed": (
            chain(nn.ConvTranspose2d(4, 8, 3, stride=2), nn.Sigmoid(), nn.Upsample(scale_factor=2)),
            (draw(1, 4, 5, 5),),
        ),
        "volume": (chain(nn.Conv3d(2, 4, 2), nn.ELU(), nn.AvgPool3d(2)), (draw(1, 2, 5, 5, 5),)),
        "encoder": (nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (draw(2, 7, 32),)),
        "decoder": (nn.TransformerDecoderLayer(32, 4, 64, batch_first=True), (draw(2, 7, 32), draw(2, 5, 32))),
        "embedding": (
            chain(nn.Embedding(50, 16), nn.Linear(16, 50), nn.LogSoftmax(-1)),
            (torch.arange(15).reshape(3, 5),),
        ),
        "lstm": (nn.LSTM(8, 16, batch_first=True), (draw(2, 5, 8),)),
        "gru": (nn.GRU(8, 16, batch_first=True), (draw(2, 5, 8),)),
        "norms": (chain(nn.GroupNorm(2, 4), nn.InstanceNorm2d(4), nn.LayerNorm(5)), (draw(2, 4, 5, 5),)),
        "half": (chain(nn.Conv1d(4, 8, 3), nn.LeakyReLU()).half(), (draw(1, 4, 9).half(),)),
    }
