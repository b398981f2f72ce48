"""A few of PyTorch's samples of its operators; `opinfo.py` runs them all."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the samples are PyTorch's")
pytest.importorskip("expecttest", reason="PyTorch's samples need it")

import opinfo  # noqa: E402

SOME = ("add", "where", "gather", "cumsum", "nn.functional.layer_norm", "nn.functional.max_pool2d", "index_put", "var")


@pytest.mark.parametrize(
    "op", [op for op, dtype in opinfo.cases(SOME) if dtype == torch.float32], ids=lambda op: op.formatted_name
)
def test_samples_agree(op) -> None:
    outcome = opinfo.run_operator(op, torch.float32, 2)
    assert set(outcome.counts) == {"right"}, outcome.problems


def test_reasons_are_of_operators_that_there_are() -> None:
    assert {op.formatted_name for op, _ in opinfo.cases()} >= set(opinfo.REASONS)
