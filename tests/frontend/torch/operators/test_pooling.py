"""Means of windows with a divisor of their own, and of windows that stick out."""

from __future__ import annotations

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize(("extents", "ceil"), [((6, 7), True), ((5, 9), True), ((6, 7), False)])
def test_a_divisor(dtype: str, extents: tuple[int, int], ceil: bool) -> None:
    torch.manual_seed(0)
    x = torch.randint(-9, 9, (2, 3, *extents)).to(getattr(torch, dtype))
    program = exported(
        lambda x: torch.nn.functional.avg_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=ceil, divisor_override=5), [x]
    )
    agree(program, [x])
