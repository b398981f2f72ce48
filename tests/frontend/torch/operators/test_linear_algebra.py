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


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_cross_entropy_of_a_product_in_chunks(reduction: str, dtype: str) -> None:
    options = torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2)

    def loss(x, weight, target, bias, classes):
        return torch.nn.functional.linear_cross_entropy(
            x, weight, target, linear_bias=bias, weight=classes, reduction=reduction, ignore_index=1, options=options
        )

    torch.manual_seed(0)
    of = getattr(torch, dtype)
    fixed = [torch.randn(4, 3), torch.tensor([0, 3, 1, 2, 3, 0, 1])]
    inputs = [[torch.randn(n, 3), fixed[0], fixed[1][:n], torch.randn(4), torch.rand(4)] for n in (5, 7)]
    for args in inputs:
        program = exported(lambda *args: loss(*(a.to(of) if a.is_floating_point() else a for a in args)).float(), args)
        agree(program, args, tolerance=1e-4 if dtype == "float32" else 1e-2)
