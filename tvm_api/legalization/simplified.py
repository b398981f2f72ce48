"""The normal form in which TVM leaves the elements of a stage: that of its analyzer, which knows no ranges of axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...te.reduction import Reduce
from ...te.tensor import ComputeOp, Tensor
from ..handles.arith.analyzer import Analyzer


def simplified(result: Any) -> Any:
    """Return a tensor, or tensors, with the elements of all stages simplified in place."""
    pending: list[Tensor] = [result] if isinstance(result, Tensor) else list(result)
    seen = set[int]()
    while pending:
        op = pending.pop().op
        if id(op) in seen:
            continue
        seen.add(id(op))
        pending.extend(op.input_tensors)
        if isinstance(op, ComputeOp):
            op.body = _simpler(op.body)
    return result


def _simpler(body: Any) -> Any:
    """Return values, or a reduction, in normal form."""
    if isinstance(body, Reduce):
        return replace(body, sources=tuple(map(Analyzer().arranged, body.sources)))
    return tuple(map(Analyzer().arranged, body))
