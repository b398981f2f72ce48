"""Positions of what is not zero."""

from __future__ import annotations

import pytest
from torch_models import agree, exported

torch = pytest.importorskip("torch", reason="models are made by PyTorch")


def test_positions_of_a_scalar() -> None:
    x = torch.tensor(3.0)
    agree(exported(lambda x: x.nonzero(), [x]), [x], [torch.tensor(0.0)])
