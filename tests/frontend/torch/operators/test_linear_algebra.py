"""Matrix products of exported programs."""

from __future__ import annotations

from typing import Any

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")


@pytest.mark.parametrize("dynamic", (False, True))
def test_products_by_group(dynamic: bool) -> None:
    def model(x: Any, w: Any, offs: Any) -> Any:
        return torch.nn.functional.grouped_mm(x.bfloat16(), w.bfloat16(), offs=offs).float()

    def args(rows: int, ends: list[int]) -> Any:
        return torch.randn(rows, 16), torch.randn(4, 16, 8), torch.tensor(ends, dtype=torch.int32)

    shapes = (({0: torch.export.Dim.DYNAMIC}, None, None),) if dynamic else None
    program = exported(model, args(13, [2, 2, 9, 13]), dynamic_shapes=shapes)
    more = [args(21, [7, 20, 20, 21])] if dynamic else []
    agree(program, args(13, [0, 5, 6, 13]), *more, tolerance=5e-2)
