"""Registers for matrices are asked of Linux once, and elsewhere there are none."""

from __future__ import annotations

import platform
import sys

import pytest

from tirax.runtime.matrix_registers import has_matrix_registers


def test_they_are_used_where_the_processor_has_them() -> None:
    """By /proc/cpuinfo, which another part of Linux writes."""
    if not sys.platform.startswith("linux"):
        pytest.skip("/proc/cpuinfo is Linux's")
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        named = "amx_tile" in file.read()
    assert has_matrix_registers() == named


@pytest.mark.parametrize(("system", "processor"), [("darwin", "x86_64"), ("linux", "aarch64"), ("win32", "AMD64")])
def test_elsewhere_nothing_is_requested(monkeypatch: pytest.MonkeyPatch, system: str, processor: str) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    assert not has_matrix_registers.__wrapped__()
