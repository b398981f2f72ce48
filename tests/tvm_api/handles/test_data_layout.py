"""Layouts by letters, their axes, and mappings between them."""

import pytest

from tirax.diagnostics import DTypeError
from tirax.tvm_api import tir


def test_axes():
    layout = tir.layout("NCHW16c", dtype="int64")
    assert [layout[i] for i in range(5)] == ["N", "C", "H", "W", "c"] and layout[-1] == "c"
    assert layout.axes[4].dom.extent.value == 16 and layout.axes[0].dom.extent.dtype == "int64"
    assert layout.axes[1].var.dtype == "int64"
    with pytest.raises(IndexError, match="out of range"):
        layout[5]


@pytest.mark.parametrize("dtype", ["float32", None])
def test_indices_are_integers(dtype):
    with pytest.raises(DTypeError, match="indices are integers"):
        tir.layout("NCHW", dtype=dtype)


@pytest.mark.parametrize("names", [("NCHW", "ABCD"), ("", "NCHW"), ("NCHW", "__undef__")])
def test_layouts_without_a_mapping(names):
    assert tir.bijective_layout(*names) is None and tir.bijective_layout("NCHW", "NCHW16c") is not None
