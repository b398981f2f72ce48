"""Statistics of 16 bits at scales where their squares are too large or too small for it, beside PyTorch in float64.

PyTorch computes each operator in float32 and rounds once; what it decomposes is rounded at each step, by it as by us.
"""

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402

UNITS = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
SCALES = (1e-4, 1e-2, 1.0, 30.0, 300.0)
BAG = torch.tensor([[0, 3, 3, 5, 7], [1, 2, 4, 6, 7]])
STATISTICS = {
    "norm": (lambda x: x.norm(dim=1), 1),
    "norm of 1": (lambda x: torch.linalg.vector_norm(x, 1, dim=1), 1),
    "norm of 3": (lambda x: x.norm(3, dim=1), 1),
    "norm of all": (lambda x: torch.linalg.norm(x), 1),
    "largest norm": (lambda x: torch.linalg.vector_norm(x, float("inf"), dim=1), 1),
    "norm in float32": (
        lambda x: torch.linalg.vector_norm(x, dim=1, dtype=torch.promote_types(x.dtype, torch.float32)),
        1,
    ),
    "norm of a matrix": (lambda x: torch.linalg.matrix_norm(x), 1),
    "normalize": (lambda x: functional.normalize(x, dim=1), 3),
    "std": (lambda x: x.std(1), 1),
    "std of all": (lambda x: x.std(), 1),
    "var": (lambda x: x.div(16).var(0), 1),
    "batch_norm": (lambda x: functional.batch_norm(x, None, None, training=True), 2),
    "instance_norm": (lambda x: functional.instance_norm(x[None]), 2),
    "layer_norm": (lambda x: functional.layer_norm(x, (64,)), 1),
    "affine layer_norm": (lambda x: functional.layer_norm(x, (64,), x[1], x[2]), 1),
    "group_norm": (lambda x: functional.group_norm(x, 4), 2),
    "rms_norm": (lambda x: functional.rms_norm(x, (64,), eps=1e-7), 2),
    "weight_norm": (lambda x: torch._weight_norm(x, x[:, :1].abs(), 0), 4),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), 1),
    "avg_pool2d with a divisor": (lambda x: functional.avg_pool2d(x[None], 4, divisor_override=2), 1),
    "avg_pool3d with a divisor": (lambda x: functional.avg_pool3d(x.view(1, 2, 4, 64), 2, divisor_override=3), 1),
    "linear interpolation": (lambda x: functional.interpolate(x[None], 150, mode="linear"), 1),
    "linear interpolation in 3d": (
        lambda x: functional.interpolate(x.view(1, 2, 4, 8, 8), (3, 9, 20), mode="trilinear", align_corners=True),
        1,
    ),
    "embedding_bag": (lambda x: functional.embedding_bag(BAG, x, mode="mean"), 1),
}
"""Functions of a matrix, and how many roundings their results may be off by: one is that of the result."""


class Each(torch.nn.Module):
    def forward(self, x):
        return tuple(function(x) for function, _ in STATISTICS.values())


@pytest.mark.parametrize("dtype", UNITS)
def test_statistics_do_not_leave_the_range(dtype) -> None:
    numbers = torch.randn(8, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    run = build(from_exported_program(torch.export.export(Each(), (numbers.to(dtype),)))).jit()["main"]
    smallest = torch.finfo(dtype).smallest_normal * UNITS[dtype]
    for scale in SCALES:
        x = (numbers * scale).to(dtype)
        for (name, (function, roundings)), got in zip(STATISTICS.items(), run(x), strict=True):
            actual = torch.from_dlpack(got).double()
            exact = function(x.double()).to(actual.dtype)
            least = exact.abs().max() * 2.0**-8 if exact.numel() > 8 else 0.0  # of differences: that of their terms
            bound = roundings * 1.01 * UNITS[dtype] * exact.abs().clamp(min=least) + smallest
            assert exact.isfinite().all() and (actual - exact).abs().le(bound).all(), (name, scale, actual, exact)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_default_epsilon_of_rms_norm_is_that_of_what_is_computed_in(dtype) -> None:
    class Norm(torch.nn.Module):
        def forward(self, x):
            return functional.rms_norm(x, (8,))

    x = torch.full((1, 8), 1e-3, dtype=dtype)
    run = build(from_exported_program(torch.export.export(Norm(), (x,)))).jit()["main"]
    torch.testing.assert_close(torch.from_dlpack(run(x)[0]), Norm()(x), rtol=2 * torch.finfo(dtype).eps, atol=0)


def test_statistics_of_float32_stay_float32() -> None:
    """A running variance beyond float16, of a batch normalization whose input has 16 bits."""

    class Norm(torch.nn.Module):
        def forward(self, x, mean, variance):
            return functional.batch_norm(x, mean, variance)

    x = torch.tensor([[300.0, -200.0]], dtype=torch.float16)
    statistics = torch.tensor([0.123456, 40_000.03]), torch.tensor([90_000.0, 1e9])
    run = build(from_exported_program(torch.export.export(Norm(), (x, *statistics)))).jit()["main"]
    expected = functional.batch_norm(x.double(), *(s.double() for s in statistics))
    torch.testing.assert_close(torch.from_dlpack(run(x, *statistics)[0]).double(), expected, rtol=2.0**-11, atol=0)
