"""Random programs, with what TVM 0.27's FuseOps makes of each: the functions, and what they call in order."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.interpreter import assert_same_meaning
from tirax.transforms.fusion.fuse_ops import FuseOps
from tirax.transforms.fusion.fuse_tir import FuseTIR

TENSOR, HALVES = "f32[8, 8]", "tuple<f32[8, 4], f32[8, 4]>"
TVM_NAMES = {"tuple": "Tuple", "tuple_get_item": "TupleGetItem"}
PROGRAMS = json.loads((Path(__file__).parent / "Inputs" / "tvm_groups.json").read_text())


def binding(line: str, halves: set[str]) -> str:
    """One binding as text, from `name op operands`; the results of split are noted in `halves`."""
    name, op, *args = line.split()
    values = [f"%{a}" for a in args]
    if op == "split":
        halves.add(name)
        return f"%{name} = relax.split {values[0]} {{indices_or_sections = 2, axis = 1}} : {HALVES}"
    if op == "tuple2":
        return f"%{name} = relax.tuple({', '.join(values)})"
    if op == "get":
        return f"%{name} = relax.tuple_get_item {values[0]}[{args[1]}] : {'f32[8, 4]' if args[0] in halves else TENSOR}"
    if op == "concat":
        return f"%{name} = relax.concat ({', '.join(values)}) {{axis = 1}} : {TENSOR}"
    return f"%{name} = relax.{op} {', '.join(values)} : {TENSOR}"


@pytest.mark.parametrize("case", PROGRAMS, ids=range(len(PROGRAMS)))
def test_groups_are_those_of_tvm(
    program: Callable[[str, str, str], ModuleOp],
    shape_of_fusion: Callable[[ModuleOp], dict[str, list[str]]],
    case: dict[str, Any],
):
    halves: set[str] = set()
    body = "\n".join(binding(line, halves) for line in case["bindings"])
    outputs = "; ".join(f"{o}: {TENSOR}" for o in case["outputs"])
    before = program(f"x: {TENSOR}; w: {TENSOR}", body, outputs)
    after = FuseOps()(before)
    by_name = {name: [TVM_NAMES.get(c, c) for c in ops] for name, ops in shape_of_fusion(after).items()}
    assert by_name == case["tvm"]
    if len(body.splitlines()) < 8:
        assert_same_meaning(before, FuseTIR()(after))
