"""Recurrent layers of PyTorch: above each other, in both directions, with the batch first."""

from __future__ import annotations

from typing import Any

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("LSTM", {"num_layers": 2, "bidirectional": True}),
        ("GRU", {"batch_first": True, "bidirectional": True, "bias": False}),
    ],
)
def test_layers(kind: str, options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    program = exported(getattr(torch.nn, kind)(5, 4, **options), [torch.randn(3, 6, 5)])
    mod = agree(program, [torch.randn(3, 6, 5)])
    assert "R.while_loop" in mod.script()


def test_projections_are_decomposed() -> None:
    agree(exported(torch.nn.LSTM(5, 4, proj_size=3), [torch.randn(3, 6, 5)]))
