"""Kernels of these tests are called with each of their allocations failing, too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from failing_calls import every_call_fails_first


@pytest.fixture(scope="module", autouse=True)
def failing_first() -> Iterator[None]:
    with every_call_fails_first():
        yield
