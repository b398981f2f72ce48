"""Branches, loops and scans of PyTorch run natively."""

from __future__ import annotations

from typing import Any

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")


class Branch(torch.nn.Module):
    """A branch with values from before it and after it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x: Any, y: Any) -> Any:
        twice = x * 2

        def layer(x: Any, y: Any) -> Any:
            return self.linear(x) + y, x * 1

        def difference(x: Any, y: Any) -> Any:
            return x - y, y * 2

        a, b = torch.cond(x.sum() > 0, layer, difference, (twice, y))
        return a + twice, b


class Loop(torch.nn.Module):
    """x doubled until it is large."""

    def forward(self, i: Any, x: Any) -> Any:
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (i, x))


class Scan(torch.nn.Module):
    """Sums up to each row, and products with them."""

    def forward(self, x: Any, h: Any) -> Any:
        from torch._higher_order_ops.scan import scan

        last, rows = scan(lambda c, v: (c + v, c * v), h, x * 2, dim=0)
        return last + 1, rows


class Map(torch.nn.Module):
    """A vector added to each row."""

    def forward(self, x: Any, h: Any) -> Any:
        from torch._higher_order_ops.map import map

        return map(lambda v, h: v + h, x, h)


def test_both_sides_of_a_branch() -> None:
    inputs = [(torch.full((2, 3), s), torch.randn(2, 3)) for s in (1.0, -1.0)]
    agree(exported(Branch(), inputs[0]), *inputs)


def test_a_loop_that_data_ends() -> None:
    inputs = [(torch.tensor(i), torch.randn(2, 3)) for i in (0, 3, 9)]
    agree(exported(Loop(), inputs[0]), *inputs)


@pytest.mark.parametrize("model", [Scan, Map])
def test_a_body_for_each_row(model: Any) -> None:
    inputs = (torch.randn(4, 3), torch.randn(3))
    agree(exported(model(), inputs, strict=True), inputs)
