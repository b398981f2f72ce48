"""Elements and slices written at indices; truth values that are added: whether any holds."""

from __future__ import annotations

from typing import Any

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

INDEX = [0, 2, 0, 3, 3]
CASES: dict[str, Any] = {
    "scatter_add": lambda x, i, v: x.scatter_add(0, i, v),
    "scatter_reduce": lambda x, i, v: x.scatter_reduce(0, i, v, "prod"),
    "index_add": lambda x, i, v: x.index_add(0, i, v, alpha=True),
    "index_add alpha": lambda x, i, v: x.index_add(0, i, v, alpha=False),
    "index_put": lambda x, i, v: x.index_put((i,), v, accumulate=True),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_truth_values(case: Any) -> None:
    x, values = torch.tensor([False, True, False, False]), torch.tensor([True, False, True, True, False])
    args = [x, torch.tensor(INDEX), values]
    agree(exported(case, args), args)


SLICES: dict[str, Any] = {
    "index_add": lambda x, dim, i, v: x.index_add(dim, i, v, alpha=2),
    "index_copy": lambda x, dim, i, v: x.index_copy(dim, i, v),
    "index_fill": lambda x, dim, i, v: x.index_fill(dim, i, 3),
}
PLACES = [((5,), 0), ((5, 3), 0), ((5, 3), -2), ((5, 3), 1), ((4, 3, 2), 0), ((4, 3, 2), 1), ((2, 0), 0)]


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize(("shape", "dim"), PLACES)
@pytest.mark.parametrize("name", SLICES)
def test_slices(name: str, shape: tuple[int, ...], dim: int, dtype: str) -> None:
    rows = list(shape)
    index = torch.tensor([1, 0, 1, 0] if name == "index_add" else [1, 0])
    rows[dim] = len(index)
    x, values = (torch.arange(float(torch.Size(s).numel())).reshape(s).to(getattr(torch, dtype)) for s in (shape, rows))
    function = SLICES[name]
    args = [x, index, values]
    agree(exported(lambda x, i, v: function(x, dim, i, v), args), args)
