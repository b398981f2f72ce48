"""An index that several accesses have is read as an expression once."""

import pytest

from tirax.diagnostics import ShapeError
from tirax.ir.affine import values
from tirax.script.mlir_text import parse_mlir
from tirax.transforms.tir.index_bounds import check_indices

SHARED = """
tir.func @f(%A: !tir.buffer<[{extent}], f32>, %B: !tir.buffer<[8], f32>, %C: !tir.buffer<[8], f32>) {{
  tir.for %i = 0 to 4 {{
    %two = tir.const 2 : i64
    %double = tir.mul %i, %two : i64
    %one = tir.const 1 : i64
    %at = tir.add %double, %one : i64
    %a = tir.load %A[%at] : f32
    %b = tir.load %B[%at] : f32
    %sum = tir.add %a, %b : f32
    tir.store %sum, %C[%at]
  }}
}}
"""


def _function(extent: int):
    return parse_mlir(SHARED.format(extent=extent)).body.block.first_op


def test_a_shared_index_is_read_once(monkeypatch: pytest.MonkeyPatch):
    function, read, real = _function(8), [], values._expr
    monkeypatch.setattr(values, "_expr", lambda value, args: read.append(value) or real(value, args))
    check_indices(function)
    assert len(read) == len(set(read)) == 5  # %i, two constants, a product and a sum


def test_what_it_shares_does_not_hide_an_access_outside():
    with pytest.raises(ShapeError, match="reads indices 1 to 7 of dimension 0 of 'A'"):
        check_indices(_function(7))
