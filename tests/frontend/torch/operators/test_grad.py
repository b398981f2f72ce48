"""Gradients of convolutions and attention, as graphs of training have them."""

from __future__ import annotations

from typing import Any

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

# data, weight, then stride, padding, dilation, transposed, output_padding, groups
CONVOLUTIONS: dict[str, tuple[Any, ...]] = {
    "one dimension": ((2, 4, 9), (6, 4, 3), [2], [1], [1], False, [0], 1),
    "two dimensions": ((2, 4, 9, 8), (6, 4, 3, 2), [2, 1], [1, 0], [1, 2], False, [0, 0], 1),
    "points that no window reaches": ((2, 3, 8, 9), (5, 3, 1, 2), [3, 2], [0, 0], [1, 1], False, [0, 0], 1),
    "groups": ((2, 4, 6, 6), (6, 2, 3, 3), [2, 2], [1, 1], [1, 1], False, [0, 0], 2),
    "three dimensions": ((1, 2, 4, 5, 4), (3, 2, 2, 2, 2), [1, 2, 1], [1, 0, 1], [1, 1, 1], False, [0, 0, 0], 1),
    "transposed": ((2, 4, 5, 4), (4, 3, 3, 2), [2, 1], [1, 0], [1, 2], True, [1, 0], 1),
    "transposed groups": ((2, 4, 5), (4, 3, 3), [3], [1], [1], True, [2], 2),
}


@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_gradients_of_convolutions(case: tuple[Any, ...]) -> None:
    torch.manual_seed(0)
    data, weight, *window = case
    x, w = torch.randn(data), torch.randn(weight)
    grad = torch.randn(torch.ops.aten.convolution(x, w, None, *window).shape)

    def gradients(grad: Any, x: Any, w: Any) -> Any:
        every = torch.ops.aten.convolution_backward(grad, x, w, [grad.shape[1]], *window, [True, True, True])
        by_weight = torch.ops.aten.convolution_backward(grad, x, w, None, *window, [False, True, False])
        return *every, by_weight[1]

    agree(exported(gradients, [grad, x, w]), [grad, x, w], tolerance=1e-4)


def mask_with_an_empty_row() -> Any:
    mask = torch.zeros(2, 1, 5, 6)
    mask[0, 0, 1], mask[1, 0, 2, 3] = -torch.inf, -torch.inf
    return mask


@pytest.mark.parametrize("kind", ["plain", "causal", "masked"])
def test_gradients_of_attention(kind: str) -> None:
    torch.manual_seed(0)
    query, key, value, grad = torch.randn(2, 3, 5, 4), torch.randn(2, 3, 6, 4), torch.randn(2, 3, 6, 4), torch.ones(())
    causal = kind == "causal"
    mask = mask_with_an_empty_row() if kind == "masked" else None
    scale = 0.3 if kind == "plain" else None

    def gradients(q: Any, k: Any, v: Any, grad: Any) -> Any:
        aten = torch.ops.aten
        out, logarithms = aten._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, 0.0, causal, attn_mask=mask, scale=scale
        )
        by_inputs = aten._scaled_dot_product_flash_attention_for_cpu_backward(
            grad * torch.tanh(out), q, k, v, out, logarithms, 0.0, causal, attn_mask=mask, scale=scale
        )
        return out, logarithms, *by_inputs

    args = [query, key, value, grad]
    agree(exported(gradients, args), args)


def test_gradients_at_symbolic_sizes() -> None:
    torch.manual_seed(0)

    def gradients(x: Any, w: Any) -> Any:
        grad = torch.ops.aten.convolution(x, w, None, [2], [1], [1], False, [0], 1)
        return torch.ops.aten.convolution_backward(
            grad, x, w, None, [2], [1], [1], False, [0], 1, [True, True, False]
        )[:2]  # fmt: skip

    n, extent = torch.export.Dim("n"), torch.export.Dim("extent", min=4)
    w = torch.randn(3, 2, 3)
    program = exported(gradients, [torch.randn(2, 2, 9), w], dynamic_shapes=(({0: n, 2: extent}, None),))
    agree(program, *([torch.randn(shape), w] for shape in ((1, 2, 4), (3, 2, 9), (2, 2, 16))), tolerance=1e-4)
