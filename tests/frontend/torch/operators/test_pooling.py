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


F = torch.nn.functional
SYMBOLIC = {
    "max_pool1d": lambda x: F.max_pool1d(x[0], 3, 2, 1, 2, return_indices=True),
    "max_pool2d in ceil mode": lambda x: F.max_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=True, return_indices=True),
    "max_pool2d of integers": lambda x: F.max_pool2d((x * 9).to(torch.int64), 3, 1, 1, return_indices=True),
    "max_pool2d with NaN": lambda x: F.max_pool2d(torch.where(x > 1, torch.nan, x), 2, return_indices=True),
    "max_pool3d": lambda x: F.max_pool3d(x, 2, 1, 1, return_indices=True),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x[0], 4, return_indices=True),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (3, 2), return_indices=True),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(x, (2, 3, 4)),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x[0], x.shape[1]),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (None, 3)),
    "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(x, (2, None, 3)),
    "avg_pool2d by a divisor": lambda x: F.avg_pool2d(x, (3, 2), 2, (1, 0), ceil_mode=True, divisor_override=5),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_windows_of_symbolic_extents(name: str) -> None:
    torch.manual_seed(0)
    inputs = [[torch.randn(2, 3, n, n + 2)] for n in (6, 9)]
    sizes = {2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}
    agree(exported(SYMBOLIC[name], inputs[0], dynamic_shapes=((sizes,),)), *inputs)


def test_windows_without_elements() -> None:
    def values(x):
        y, places = F.max_pool2d(x, 2, 1, 1, 2, return_indices=True)
        return y, places * 0

    x = torch.randn(2, 3, 1, 1)
    agree(exported(values, [x]), [x])


FRACTIONAL = {
    "2d": lambda x, r: torch.ops.aten.fractional_max_pool2d(x, [2, 3], [3, 2], r[..., :2]),
    "2d of one image": lambda x, r: torch.ops.aten.fractional_max_pool2d(x[0], [2, 2], [1, 3], r[:1, :, :2]),
    "2d with NaN": lambda x, r: torch.ops.aten.fractional_max_pool2d(
        torch.where(x > 1, torch.nan, x), [3, 2], [4, 4], r[..., :2]
    ),
    "3d": lambda x, r: torch.ops.aten.fractional_max_pool3d(
        torch.stack([x, -x, x * 2, x + 1], 2), [2, 2, 3], [2, 4, 3], r
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("name", FRACTIONAL)
def test_windows_at_distances_that_samples_choose(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)

    def pooled(x, samples):
        values, positions = FRACTIONAL[name](x.to(dtype), samples.to(dtype))
        return values.to(torch.float64), positions

    inputs = [[torch.randn(2, 3, n, n + 2), torch.rand(2, 3, 3)] for n in ((7, 7) if name == "3d" else (7, 16))]
    sizes = {} if name == "3d" else {2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}  # PyTorch keeps 3-D fixed
    agree(exported(pooled, inputs[0], dynamic_shapes=((sizes, None),)), *inputs)
