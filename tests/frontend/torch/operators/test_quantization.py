"""Quantized programs as PyTorch exports them: the operators of `quantized_decomposed` beside PyTorch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch_models import agree, exported

from tirax.transforms.operators.quantized_to_integer import QuantizedToInteger
from tirax.transforms.operators.requantize import Requantize

torch = pytest.importorskip("torch", reason="models are made by PyTorch")
pytest.importorskip("torch.ao.quantization.fx._decomposed", reason="it has the operators")
from torch.ao.quantization.fx import _decomposed  # noqa: E402, F401
from torch.nn import functional as F  # noqa: E402

O = torch.ops.quantized_decomposed
SIGNED, UNSIGNED = (-128, 127, torch.int8), (0, 255, torch.uint8)


def through(x: Any, scale: Any, zero: Any, kind: Any = UNSIGNED, overload: str = "default") -> Any:
    """x as bytes, and back."""
    q = getattr(O.quantize_per_tensor, overload)(x, scale, zero, *kind)
    return getattr(O.dequantize_per_tensor, overload)(q, scale, zero, *kind)


def by_channel(x: Any) -> Any:
    scales, zeros = torch.tensor([0.1, 0.02, 0.5]), torch.tensor([3, -7, 0])
    return O.dequantize_per_channel(O.quantize_per_channel(x, scales, zeros, 1, *SIGNED), scales, zeros, 1, *SIGNED)


def dynamic(choose: Any, kind: Any) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        scale, zero = choose(x, kind[0], kind[1], 1e-4, kind[2])
        return scale, zero, through(x, scale, zero, kind, "tensor")

    return run


def by_row(choose: Any) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        scales, zeros = choose(x, torch.int8)
        q = O.quantize_per_token(x, scales, zeros, *SIGNED)
        return q, O.dequantize_per_token(q, scales, zeros, *SIGNED, torch.float32)

    return run


def by_group(x: Any) -> Any:
    scales, zeros = torch.tensor([[0.1, 0.2], [0.5, 0.03], [1.0, 0.3], [0.01, 0.4]]), torch.tensor([[1, -2]] * 4)
    q = O.quantize_per_channel_group(x, scales, zeros, -8, 7, torch.int8, 4)
    return q, O.dequantize_per_channel_group(q, scales, zeros, -8, 7, torch.int8, 4, torch.float32)


def product_of_bytes(x: Any) -> Any:
    """As torchao's dynamic quantization multiplies: sums are more than a byte holds."""
    q = O.quantize_per_tensor(x, 0.01, 0, *SIGNED)
    return torch._int_mm(q, q.t())


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (lambda x: O.quantize_per_tensor(x, 0.05, 120, *UNSIGNED), (5, 7)),
        (lambda x: through(x, 0.013, 0, SIGNED), (5, 7)),
        (lambda x: through(x, 0.03, -3, (-127, 120, torch.int16)), (5, 7)),
        (lambda x: O.convert_element_type.no_fuse(x, torch.int32), (5, 7)),
        (by_channel, (2, 3, 5)),
        (dynamic(O.choose_qparams.tensor, UNSIGNED), (5, 7)),
        (dynamic(O.choose_qparams_symmetric.tensor, SIGNED), (5, 7)),
        (by_row(O.choose_qparams_per_token), (2, 3, 9)),
        (by_row(O.choose_qparams_per_token_asymmetric), (2, 3, 9)),
        (by_group, (4, 8)),
        (product_of_bytes, (5, 17)),
    ],
)
def test_operators_are_pytorchs(program: Any, shape: tuple[int, ...]) -> None:
    x = torch.from_numpy(np.random.default_rng(0).standard_normal(shape).astype(np.float32)) * 3
    agree(exported(program, [x]), [x], [torch.zeros(shape)], [x * 40], tolerance=1e-6)


class Quantized(torch.nn.Module):
    """What pt2e makes of a convolution, a depthwise one, a pool and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        rng = np.random.default_rng(1)
        for name, shape in (("first", (8, 3, 3, 3)), ("second", (8, 1, 3, 3)), ("third", (5, 8))):
            weight = rng.integers(-127, 128, shape).astype(np.int8)
            scale = rng.uniform(0.002, 0.01, shape[0]).astype(np.float32)
            self.register_buffer(name, torch.from_numpy(weight))
            self.register_buffer(f"{name}_scale", torch.from_numpy(scale))
            self.register_buffer(f"{name}_zero", torch.zeros(shape[0], dtype=torch.int64))
        self.bias = torch.nn.Parameter(torch.from_numpy(rng.standard_normal(8).astype(np.float32)))

    def weight(self, name: str) -> Any:
        q, scale, zero = (getattr(self, f"{name}{part}") for part in ("", "_scale", "_zero"))
        return O.dequantize_per_channel(q, scale, zero, 0, *SIGNED)

    def forward(self, x: Any) -> Any:
        x = F.relu(F.conv2d(through(x, 0.025, 118), self.weight("first"), self.bias, padding=1))
        x = F.max_pool2d(through(x, 0.02, 0), 2)
        x = F.hardswish(F.conv2d(through(x, 0.02, 0), self.weight("second"), self.bias, padding=1, groups=8))
        return F.linear(through(x.mean((2, 3)), 0.01, 90), self.weight("third"))


def test_a_model_is_computed_in_integers() -> None:
    model = Quantized().eval()
    x = torch.from_numpy(np.random.default_rng(2).standard_normal((2, 3, 8, 8)).astype(np.float32))
    mod = agree(torch.export.export(model, (x,)), [x], tolerance=0.03)  # a byte may be off by a step of 0.01 to 0.02
    for step in (QuantizedToInteger("llvm -mcpu=cascadelake -vector-width=512"), Requantize()):
        mod = step(mod)
    products = [line for line in str(mod).splitlines() if "R.nn.conv2d(" in line or "R.matmul(" in line]
    assert ["int32" in line.split(" = ")[0] for line in products] == [True] * 3, products
