"""Random functions of linalg.generic: what is drawn, that they agree, and that differences are seen."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tirax.dev.fuzz import linalg_scalars
from tirax.dev.fuzz.linalg_programs import check_linalg, linalg_program
from tirax.dev.fuzz.linalg_reference import arguments, run_function
from tirax.interpreter import MeaningError
from tirax.script import parse_mlir

PROGRAM = """// [[3, 5], [3], [3]]
func.func @main(%a: tensor<?x5xf32>, %o: tensor<?xf32>, %i: tensor<?xi32>) -> (tensor<?xf32>, tensor<?xi32>) {
%r:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>,
  affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
  ins(%a : tensor<?x5xf32>) outs(%o, %i : tensor<?xf32>, tensor<?xi32>) {
^bb0(%x: f32, %y: f32, %z: i32):
%s = arith.addf %x, %y : f32
%one = arith.constant 1 : i32
%t = arith.subi %z, %one : i32
linalg.yield %s, %t : f32, i32
} -> (tensor<?xf32>, tensor<?xi32>)
return %r#0, %r#1 : tensor<?xf32>, tensor<?xi32>
}
"""


@pytest.mark.parametrize("seed", range(4))
def test_drawn_programs_agree(seed: int) -> None:
    assert check_linalg(linalg_program(random.Random(seed), 2, 2))


def test_what_the_specification_has_is_drawn() -> None:
    texts = "\n".join(linalg_program(random.Random(seed)) for seed in range(150))
    words = ["memref<", "tensor<?x", "scf.if", ":2 = scf.if", "linalg.index", "tensor.extract", "tensor.empty(", "fill"]
    words += ["floordiv", " mod ", "-d", '"reduction"', ":2 = linalg", ":3 = linalg", "x0x", "iterator_types = []"]
    words += [f"x{kind}>" for kind in linalg_scalars.DTYPES]
    assert [word for word in words if word not in texts] == []


@pytest.mark.parametrize(("table", "name"), [("_FLOAT", "addf"), ("_SIGNED", "subi")])
def test_what_numpy_computes_otherwise_is_seen(table: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_linalg(PROGRAM) == 2
    monkeypatch.setitem(getattr(linalg_scalars, table), name, lambda a, b: a * b + 1)
    with pytest.raises(MeaningError, match="result"):
        check_linalg(PROGRAM)


def test_sums_whose_order_counts_are_not_compared() -> None:
    function = parse_mlir(PROGRAM).body.block.first_op
    args = arguments(PROGRAM, function)  # type: ignore[arg-type]
    sums, counts = run_function(function, args)  # type: ignore[arg-type]
    assert sums.sure.all() and counts.sure.all()
    args[0][1, 2] = np.float32(1 << 23)
    sums, _ = run_function(function, args)  # type: ignore[arg-type]
    assert sums.sure.tolist() == [True, False, True]
