"""Special functions, number theory, segments, positions and numbers out of tensors, beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from torch_models import agree, exported  # noqa: E402

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402

X = torch.linspace(-3, 4, 12).reshape(3, 4)
N = torch.tensor([[4, -6, 0], [9, 12, 7]])
LENGTHS = torch.tensor([2, 0, 1])


def bessel(x: Any) -> Any:
    return torch.i0(x), torch.special.i1e(x), torch.special.modified_bessel_k0(x.abs()), torch.special.airy_ai(x)


def gamma(x: Any) -> Any:
    size = x.abs() + 0.5
    return torch.igamma(size, size * 2), torch.special.zeta(size + 1, 3.0), torch.polygamma(2, size), torch.frexp(x)


def polynomials(x: Any) -> Any:
    return torch.special.chebyshev_polynomial_t(x, 3), torch.special.hermite_polynomial_he(0.5, x.abs())


def integers(n: Any) -> Any:
    return torch.gcd(n, n.flip(0)), torch.lcm(n, n.flip(0)), torch.special.i0e(n)


def segments(x: Any, lengths: Any) -> Any:
    offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    kinds = ("sum", "mean", "max", "min", "prod")
    return [torch.segment_reduce(x, kind, lengths=lengths, unsafe=True) for kind in kinds], torch.segment_reduce(
        x, "max", offsets=offsets, initial=1.0, unsafe=True
    )


def places(x: Any) -> Any:
    index = torch.tensor([0, -1, 3])
    return (
        torch.nonzero_static(x > 0, size=4), torch.nonzero_static(x > 0, size=20, fill_value=7),
        x.put(index, x[0, :3]), x.put(index, x[0, :3], accumulate=True),
        x.index_reduce(0, torch.tensor([0, 0, 2]), x, "amax"),
        x.index_reduce(1, torch.tensor([1, 1]), x[:, :2], "mean", include_self=False),
        torch.as_strided_scatter(x, x[0, :3], (3,), (2,), 1),
    )  # fmt: skip


def runs(x: Any) -> Any:
    values = x.round() // 2
    return torch.unique_consecutive(values, return_inverse=True, return_counts=True), torch.unique_consecutive(
        values, dim=0
    )


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "bessel": (bessel, (X,)),
    "gamma": (gamma, (X,)),
    "polynomials": (polynomials, (X,)),
    "integers": (integers, (N,)),
    "segments": (segments, (X, LENGTHS)),
    "places": (places, (X,)),
    "runs": (runs, (X,)),
    "bilinear": (torch.nn.functional.bilinear, (X, X + 1, torch.ones(2, 4, 4) * X[0], torch.ones(2))),
    "addbmm": (lambda x, a, b: torch.addbmm(x, a, b, beta=0.5, alpha=2), (X, X.expand(2, 3, 4), torch.ones(2, 4, 4))),
    "angle": (torch.angle, (torch.tensor([-1.0, 0.0, 2.0, torch.nan]),)),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_agree_with_pytorch(name: str) -> None:
    function, inputs = CASES[name]
    agree(exported(function, inputs), inputs)


@pytest.mark.parametrize("value", [-3, 0, 5])
def test_a_number_out_of_a_tensor_may_be_negative(value: int) -> None:
    def computed(x: Any, y: Any) -> Any:
        n = x.item()
        return y * (n * 2 + 1), y + n, n

    inputs = (torch.tensor(value), torch.arange(4.0))
    agree(exported(computed, inputs), inputs)


@pytest.mark.parametrize("value", [False, True])
def test_a_truth_out_of_a_tensor(value: bool) -> None:
    inputs = (torch.tensor(value), torch.arange(2))
    agree(exported(lambda x, y: (x.item(), y + 1), inputs), inputs)


def test_instance_norm_updates_running_statistics() -> None:
    model, x = torch.nn.InstanceNorm1d(3, track_running_stats=True).train(), torch.randn(2, 3, 4)
    main = build(from_exported_program(torch.export.export(model, (x,)))).jit()["main"]
    results = main(x.numpy())
    expected = [model(x), model.running_mean, model.running_var]
    for result, reference in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, reference.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_a_row_that_refuses_its_arguments_is_decomposed() -> None:
    inputs = (torch.linspace(-1, 1, 12).reshape(4, 3), torch.linspace(0, 1, 12).reshape(4, 3))
    function = lambda x, y: torch.nn.functional.cross_entropy(x, y, label_smoothing=0.1)  # noqa: E731
    agree(exported(function, inputs), inputs)


def test_places_in_sorted_rows() -> None:
    rows, values = torch.arange(12.0).reshape(3, 4), torch.tensor([[0.0, 3.5], [9, 4], [8, 11]])
    order = torch.tensor([[3, 0, 1, 2]] * 3)

    def places(rows: Any, values: Any) -> Any:
        return (
            torch.searchsorted(rows, values), torch.searchsorted(rows, values, right=True, out_int32=True),
            torch.searchsorted(rows.roll(-1, 1), values, sorter=order), torch.searchsorted(rows[0], 2),
        )  # fmt: skip

    agree(exported(places, (rows, values)), (rows, values))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 4), (17, 9)])
def test_images_are_smoothed_as_they_shrink(mode: str, size: tuple[int, int]) -> None:
    x = torch.randn(1, 2, 8, 11)
    function = lambda x: torch.nn.functional.interpolate(x, size, mode=mode, antialias=True)  # noqa: E731
    agree(exported(function, (x,)), (x,))
