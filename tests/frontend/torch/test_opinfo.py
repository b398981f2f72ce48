"""PyTorch's samples of its operators, and the page that says what becomes of each; `opinfo.py` runs all samples."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the samples are PyTorch's")
pytest.importorskip("expecttest", reason="PyTorch's samples need it")

import opinfo  # noqa: E402
import opinfo_page  # noqa: E402
import opinfo_symbolic  # noqa: E402

SOME = ("where", "gather", "nn.functional.layer_norm", "index_put", "var", "special_zeta", "logaddexp", "searchsorted")
GROWING = ("add", "clamp_max", "unfold", "mul")


def operators(names: tuple[str, ...]) -> list[object]:
    return [pytest.param(op, id=op.formatted_name) for op, dtypes in opinfo.cases(names) if torch.float32 in dtypes]


@pytest.mark.parametrize("op", operators(SOME))
def test_samples_agree_and_are_what_the_page_says(op) -> None:
    outcome = opinfo.run_operator(op, [torch.float32], 2)
    status, _ = opinfo_page.row_of(vars(outcome))
    assert opinfo_page.is_as_good(status, opinfo_page.written()["OpInfo"][op.formatted_name]), outcome.problems


@pytest.mark.parametrize("op", operators(GROWING))
def test_samples_grow(op) -> None:
    outcome = opinfo_symbolic.run_operator(op, torch.float32, 2)
    allowed = {opinfo_symbolic.NATIVE, opinfo_symbolic.FIXED, opinfo_symbolic.TOO_LARGE, opinfo_symbolic.LEFT_OUT}
    assert outcome.counts["float32"].keys() <= allowed, outcome.problems


def test_the_page_has_all_operators() -> None:
    assert set(opinfo_page.written()["OpInfo"]) == {op.formatted_name for op, _ in opinfo.cases()}


@pytest.mark.parametrize("title", opinfo_page.NAMESPACES)
def test_the_page_has_the_rows_of_the_table(title: str) -> None:
    page, rows = opinfo_page.written()[title], opinfo_page.rows_of_namespace(opinfo_page.NAMESPACES[title])
    assert page.keys() <= rows.keys()  # inductor adds primitives of its own where something has loaded it
    worse = {name: status for name, status in page.items() if not opinfo_page.is_as_good(rows[name][0], status)}
    assert not worse


def test_reasons_are_of_operators_that_there_are() -> None:
    assert {op.formatted_name for op, _ in opinfo.cases()} >= set(opinfo.REASONS)
