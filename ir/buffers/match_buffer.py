"""Layout of `tir.match_buffer`: strides, offset, extents and address in terms of the source."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation

from ...dialects import tir
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var, add, mul
from ..affine.values import Materializer, sym_expr_of
from ..rewriting.substitute import substitute_symbols


def layout_variables(match: tir.MatchBufferOp) -> dict[Var, SymExpr]:
    """Return the variables that a matched buffer's type defines, in terms of the source and the region's start."""
    matched, source = cast(tir.BufferType, match.result.type), cast(tir.BufferType, match.source.type)
    strides = source.layout_strides()
    variables: dict[Var, SymExpr] = {}
    pairs = list(zip(reversed(matched.explicit_strides or ()), reversed(strides), strict=False))
    pairs += zip(reversed(matched.dims), reversed(match.extents), strict=False)
    if matched.elem_offset is not None:
        offset = source.elem_offset or Const(0, matched.elem_offset.dtype)
        for start, stride in zip(match.starts, strides, strict=True):
            offset = add(offset, mul(sym_expr_of(start), stride))
        pairs.append((matched.elem_offset, offset))
    for declared, actual in pairs:
        if isinstance(declared, Var) and isinstance(declared.name, str) and declared != actual:
            variables.setdefault(declared, actual)
    return variables


def replace_layout_variables(match: tir.MatchBufferOp) -> None:
    """Replace the variables that a matched buffer defines by their values, in the surrounding block."""
    mapping = layout_variables(match)
    root = match.parent_op()
    if not mapping or root is None:
        return
    for op in list(root.walk()):
        if isinstance(op, ValueOp) and any(v in mapping for v in op.expr.data.free_vars()):
            _replace(op, op.expr.data.substitute(mapping))
    symbolic = {v: e for v, e in mapping.items() if all(isinstance(f.name, str) for f in e.free_vars())}
    substitute_symbols(root, symbolic)


def _replace(op: ValueOp, expr: SymExpr) -> None:
    block = op.parent
    assert block is not None
    value = Materializer(lambda new: block.insert_op_before(new, op))(expr, cast(IntegerType, op.result.type))
    if name_of(value) is None:
        set_name(value, name_of(op.result))
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def matched_address(match: tir.MatchBufferOp, insert: Callable[[Operation], object]) -> Operation:
    """Return the address of a matched buffer: the source's if an offset is declared, else that of its first element."""
    if cast(tir.BufferType, match.result.type).elem_offset is not None:
        return tir.BufferDataOp(match.source)
    first = tir.LoadOp(match.source, list(match.starts))
    insert(first)
    return tir.CallIntrinOp("address_of", [first.result], tir.address_type(match.source))
