"""`tvm.testing`: comparing results."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """`numpy.testing.assert_allclose` that also compares shapes."""
    left, right = np.asarray(actual), np.asarray(desired)
    np.testing.assert_allclose(left.shape, right.shape)
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, verbose=verbose)


def main() -> None:
    """Run the tests of the calling file with pytest."""
    import pytest

    sys.exit(pytest.main([sys._getframe(1).f_code.co_filename, *sys.argv[1:]]))


__all__ = ["assert_allclose", "main"]
