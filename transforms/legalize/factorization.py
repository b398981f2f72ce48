"""Rules of matrix factorizations: calls of runtime functions (`runtime/linear_algebra.py`)."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.relax.factorization import MatrixOperator
from ...dialects.relax.operator import OPERATORS, Operator
from .legalize_rules import BUILDERS, Builder, known_shape


def host_call(b: Builder, op: Operator) -> SSAValue | None:
    """relax.linalg.svd(x, full_matrices=True) -> relax.call_dps_packed "relax.run.linalg.svd"(x, 1)"""
    if not all(known_shape(t) for t in (op.result_type, *(v.type for v in op.operands))):
        return None
    attrs: list[Any] = [op.attr(name) for name in op.ATTR_SPECS]
    leaves = [relax.StringOp(v) if isinstance(v, str) else relax.PrimValueOp(int(v)) for v in attrs]
    name = f"relax.run.{op.script_name}"
    return b.emit(relax.CallDPSPackedOp(name, [*op.operands, *(leaf.result for leaf in leaves)], op.result_type))


BUILDERS.update({name: host_call for name, cls in OPERATORS.items() if issubclass(cls, MatrixOperator)})
