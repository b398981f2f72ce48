"""Every operator means the same before and after legalization, at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i1

from tirax.dev.fuzz.operator_cases import BASIC, POSITIVE, built
from tirax.dialects import tir
from tirax.dialects.relax.operator import Operator
from tirax.interpreter import first_disagreement, interpret, random_inputs
from tirax.ir.verification.verify import verify_module
from tirax.transforms.legalize import LegalizeOps


def _label(case: tuple[str, list[Any], dict[str, Any]]) -> str:
    return case[0] + "-" + "-".join(str(a) if isinstance(a, str) else "leaf" for a in case[1])


def _inputs(name: str) -> Callable[[Any, Mapping[str, int], int], list[Any]]:
    def make(func: Any, sizes: Mapping[str, int], seed: int) -> list[Any]:
        values = random_inputs(func, sizes, seed)
        if name not in POSITIVE:
            return values
        return [(np.abs(v) + 1).astype(v.dtype) if isinstance(v, np.ndarray) else v for v in values]

    return make


@pytest.mark.parametrize("case", BASIC, ids=map(_label, BASIC))
def test_same_meaning(case: tuple[str, list[Any], dict[str, Any]], one_operator: Callable[..., Any]) -> None:
    name, args, attrs = case
    module = one_operator(f"relax.{name}", built(args), **attrs)
    verify_module(module)
    legal = LegalizeOps()(module)
    assert not any(isinstance(op, Operator) for op in legal.walk())
    assert any(isinstance(op, tir.FuncOp) for op in legal.walk())
    sizes = (2, 5, 1) if _needs_points(name) else (2, 5, 1, 0)
    difference = first_disagreement(module, legal, inputs=_inputs(name), sizes=sizes)
    assert difference is None, str(difference)


def _needs_points(name: str) -> bool:
    """Operators without a value on no elements."""
    return name in ("max", "min", "argmax", "argmin", "take")


@pytest.mark.parametrize(
    ("mode", "expected"), [("wrap", [1, 5, 2, 5]), ("nan", [1, 5, np.nan, np.nan]), ("clip", [1, 5, 5, 1])]
)
def test_take_outside(mode: str, expected: list[float], one_operator: Callable[..., Any]) -> None:
    legal = LegalizeOps()(one_operator("relax.take", ["[3] f32", "[4] i32"], axis=0, mode=mode))
    x, indices = np.array([1, 2, 5], np.float32), np.array([0, 2, 4, -1], np.int32)
    np.testing.assert_array_equal(interpret(legal, "main", [x, indices]), np.array(expected, np.float32))


def test_bool_result(one_operator: Callable[..., Any]) -> None:
    legal = LegalizeOps()(one_operator("relax.isnan", ["[n] f32"]))
    (func,) = (op for op in legal.walk() if isinstance(op, tir.FuncOp))
    assert [p.type.dtype for p in func.buffer_params if isinstance(p.type, tir.BufferType)] == [f32, i1]
