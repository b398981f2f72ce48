"""The page of ONNX's operators has all of them, and each is converted as well as the page says."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

import operator_page  # noqa: E402
from operator_reasons import REASONS  # noqa: E402

DOMAINS = operator_page.domains()


def assert_as_good(rows, page):
    assert rows.keys() <= page.keys(), "operator_page.py writes the page again"
    worse = {n: status for n, (status, _) in rows.items() if not operator_page.is_as_good(status, page[n])}
    assert not worse
    assert all(why for status, why in rows.values() if status == operator_page.LEFT_OUT)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_page_has_the_rows_of_a_domain(domain):
    assert_as_good(operator_page.rows_of(domain), operator_page.written()[domain or "ai.onnx"])


def test_the_page_has_the_operators_of_onnx_runtime(onnxruntime):
    assert_as_good(operator_page.rows_of_onnx_runtime(), operator_page.written()[operator_page.MICROSOFT])


def test_reasons_are_of_operators_that_are_left_out():
    page = operator_page.written()
    for key in REASONS:
        domain, _, name = key.rpartition(".")
        assert page[domain or "ai.onnx"][name] == operator_page.LEFT_OUT
