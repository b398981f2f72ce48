"""Python values as attributes."""

import pytest

from tirax.diagnostics import DTypeError
from tirax.dialects.attributes import from_attr, to_attr


@pytest.mark.parametrize("number", [-(2**63), -1, 0, 2**63 - 1])
def test_integers_come_back(number):
    assert from_attr(to_attr([number])) == [number]


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1])
def test_numbers_beyond_64_bits_are_reported(number):
    with pytest.raises(DTypeError, match="does not fit 64 bits"):
        to_attr([number])
