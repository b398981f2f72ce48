"""Reductions of constants: one number instead of many, 1 instead of others."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from ...dialects import relax, tir
from ...dialects.relax.data import TensorDataAttr
from ...dialects.relax.types import TensorType
from ...ir.rewriting.edit import set_type
from ...ir.verification.verify import Verifier
from .search import ReductionRule


def _tensors(module: ModuleOp) -> list[Operation]:
    """Return the Relax constants that are not scalars."""
    return [op for op in module.walk() if isinstance(op, relax.ConstantOp) and op.value.data.shape]


def _to_number(op: Operation) -> None:
    """[[3, 4], [5, 6]]  ->  1"""
    assert isinstance(op, relax.ConstantOp)
    dtype = op.value.data.dtype
    op.value = TensorDataAttr.from_numpy(1, dtype)
    set_type(op.result, TensorType.of((), dtype))


def _mixed(module: ModuleOp) -> list[Operation]:
    """Return the Relax constants whose elements are not all 1."""
    return [op for op in module.walk() if isinstance(op, relax.ConstantOp) and bool(np.any(op.value.numpy() != 1))]


def _to_ones(op: Operation) -> None:
    """[3, 4]  ->  [1, 1]"""
    assert isinstance(op, relax.ConstantOp)
    op.value = TensorDataAttr.from_numpy(np.ones(op.value.data.shape), op.value.data.dtype)


def _numbers(module: ModuleOp) -> list[Operation]:
    """Return the constants of tensor functions that are neither 0 nor 1."""
    return [op for op in module.walk() if isinstance(op, tir.ConstOp) and op.py_value not in (0, 1)]


def _to_one(op: Operation) -> None:
    assert isinstance(op, tir.ConstOp)
    op.value = tir.ConstOp(1, op.result.type).value


def _rule(sites: Callable[[ModuleOp], list[Operation]], change: Callable[[Operation], None]) -> ReductionRule[ModuleOp]:
    def smaller(module: ModuleOp, start: int, size: int) -> ModuleOp | None:
        copy = module.clone()
        for op in sites(copy)[start : start + size]:
            change(op)
        try:
            Verifier().verify(copy)
        except DiagnosticException:
            return None
        return copy

    return ReductionRule(lambda module: len(sites(module)), smaller)


RULES: tuple[ReductionRule[ModuleOp], ...] = (
    _rule(_tensors, _to_number),
    _rule(_mixed, _to_ones),
    _rule(_numbers, _to_one),
)
