"""`flex_attention` of exported programs: functions of scores, masks, buffers that they read, fewer heads of keys."""

from __future__ import annotations

from typing import Any

import pytest
from torch_models import agree

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from torch.nn.attention import flex_attention as flex  # noqa: E402


def seen(b: Any, h: Any, q: Any, k: Any) -> Any:
    return (q >= k) & (q - k < 5) & (q < 15)


class Attention(torch.nn.Module):
    """A bias by head and distance, and a window; the last query sees no key."""

    def __init__(self, plain: bool) -> None:
        super().__init__()
        self.plain = plain
        self.register_buffer("bias", torch.linspace(-1, 1, 4))
        self.mask = flex.create_block_mask(seen, None, None, 16, 16, device="cpu", BLOCK_SIZE=16)

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        if self.plain:
            return flex.flex_attention(q, k, v, enable_gqa=True)
        return flex.flex_attention(
            q, k, v, lambda s, b, h, i, j: s + self.bias[h] * (i - j), self.mask, scale=0.3, enable_gqa=True
        )


@pytest.mark.filterwarnings("ignore")  # PyTorch warns that it computes all scores
@pytest.mark.parametrize("plain", (True, False))
def test_flex_attention(plain: bool) -> None:
    q, k, v = torch.randn(2, 4, 16, 8), torch.randn(2, 2, 16, 8), torch.randn(2, 2, 16, 8)
    program = torch.export.export(Attention(plain).eval(), (q, k, v), strict=False)
    agree(program, (q, k, v), tolerance=1e-4)
