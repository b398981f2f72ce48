"""Truth values that are added: whether any holds."""

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
