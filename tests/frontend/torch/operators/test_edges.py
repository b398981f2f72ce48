"""Operators at the edges of what they take: matrices that are not square, truth values around, fractions left out."""

from __future__ import annotations

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (2, 5), (4, 4)])
def test_trace(shape) -> None:
    x = torch.arange(float(shape[0] * shape[1])).reshape(shape) - 3
    agree(exported(torch.trace, [x]), [x], [x + 1])


@pytest.mark.parametrize("value", [0, 1.0, True])
@pytest.mark.parametrize("widths", [(1, 2), (-1, 2)])
def test_truth_values_around(widths, value) -> None:
    x = torch.tensor([[True, False, True]])
    agree(exported(lambda x: torch.nn.functional.pad(x, widths, value=value), [x]), [x], [~x])


@pytest.mark.parametrize("numbers", [(0, -8, -4.2), (0.5, 7.9, 2.5)])
@pytest.mark.parametrize("dtype", ["int64", "float32"])
def test_ranges_of_fractions(numbers, dtype) -> None:
    x = torch.tensor(1)
    agree(exported(lambda x: torch.arange(*numbers, dtype=getattr(torch, dtype)) + x, [x]), [x], [x + 1])


def test_powers_of_integers() -> None:
    bases = torch.tensor([0, 1, -1, 2, -2, 3, 7, 10])[:, None]
    exponents = torch.tensor([0, 1, 2, 34, 39, 63, 64, -1, -2])
    agree(exported(torch.pow, [bases, exponents]), [bases, exponents], [bases + 1, exponents])


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_gathering_nothing(shape) -> None:
    x = torch.arange(5.0)
    index = torch.zeros(shape, dtype=torch.int64)
    agree(exported(lambda x, i: torch.gather(x, 0, i), [x, index]), [x, index])


@pytest.mark.parametrize("dim", [0, 1])
def test_products_of_truth_values(dim) -> None:
    x = torch.tensor([[True, False, True], [True, True, True]])
    agree(exported(lambda x: torch.prod(x, dim, dtype=torch.bool), [x]), [x], [~x])


def test_groups_of_an_empty_batch() -> None:
    inputs = [torch.ones(0, 6, 3), torch.ones(6)]
    agree(exported(lambda x, w: torch.native_group_norm(x, w, w, 0, 6, 3, 2, 0.5), inputs), inputs)


def test_a_batch_norm_without_channels_is_decomposed() -> None:
    x = torch.zeros(0)
    agree(exported(lambda x: torch.nn.functional.batch_norm(x, x, x), [x]))
