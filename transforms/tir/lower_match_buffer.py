"""`lower-match-buffer`: replace matched buffers by accesses of their sources.

%B = match_buffer %A[%s : 4];  load %B[%i]     ->     load %A[%s + %i]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import lanes_of
from ...dialects.names import name_of, set_name
from ...dialects.quick import operations
from ...dialects.relax.types import dims_attr
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var, add, mul
from ...ir.affine.values import Materializer, sym_expr_of
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import inserter
from ...ir.rewriting.substitute import substitute_symbols
from .walk import erase_with_tree, functions
from .wide_indices import widen_indices


def layout_variables(match: tir.MatchBufferOp) -> dict[Var, SymExpr]:
    """Return the variables that a matched buffer's type defines, in terms of the source and the region's start."""
    matched, source = match.result.type, cast(tir.BufferType, match.source.type)
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
    value = Materializer(lambda new: block.insert_op_before(new, op))(expr, op.result.type)
    if name_of(value) is None:
        set_name(value, name_of(op.result))
    op.result.replace_all_uses_with(value)
    op.detach()
    op.erase()


def matched_address(match: tir.MatchBufferOp, insert: Callable[[Operation], object]) -> Operation:
    """Return the address of a matched buffer: the source's if an offset is declared, else that of its first element."""
    if match.result.type.elem_offset is not None:
        return tir.BufferDataOp(match.source)
    first = tir.LoadOp(match.source, list(match.starts))
    insert(first)
    return tir.CallIntrinOp("address_of", [first.result], tir.address_type(match.source))


@dataclass(frozen=True)
class LowerMatchBuffer(Pass):
    """Replace accesses of the results of `tir.match_buffer` by accesses of their sources.

    If the matched buffer has fewer dimensions, the leading ones of the source are missing. Variables in its strides,
    offset and extents are replaced by their values for the source.
    """

    name = "lower-match-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            widen_indices(func)
            for match in [op for op in operations(func) if isinstance(op, tir.MatchBufferOp)]:
                lower_match(match)


def lower_match(match: tir.MatchBufferOp) -> None:
    """Replace a matched buffer by accesses of its source."""
    replace_layout_variables(match)
    for use in list(match.result.uses):
        user = use.operation
        insert = inserter(user)
        if isinstance(user, tir.LoadOp):
            new: Operation = tir.LoadOp(match.source, _shifted(match, list(user.indices), user))
            set_name(new.results[0], name_of(user.result))
            user.result.replace_all_uses_with(new.results[0])
        elif isinstance(user, tir.StoreOp):
            new = tir.StoreOp(user.value, match.source, _shifted(match, list(user.indices), user))
        elif isinstance(user, tir.RegionOp):
            new = type(user)(match.source, _shifted(match, list(user.starts), user), _extents(match, user.extents))
        elif isinstance(user, tir.BufferDataOp):
            new = matched_address(match, insert)
            user.result.replace_all_uses_with(new.results[0])
        elif isinstance(user, tir.MatchBufferOp):  # visited later, as an access of the source
            starts = _shifted(match, list(user.starts), user)
            user.properties["extents_attr"] = dims_attr(_extents(match, user.extents))
            user.operands = [match.source, *starts]
            continue
        else:
            raise UnsupportedError(
                f"a matched buffer is used by '{user.name}'",
                location=location_of(user),
                expected="loads, stores and addresses",
            )
        insert(new)
        erase_with_tree(user)
    erase_with_tree(match)


def _extents(match: tir.MatchBufferOp, extents: list[SymExpr]) -> list[SymExpr]:
    missing = len(match.starts) - len(extents)
    return [Const(1, e.dtype) for e in match.extents[:missing]] + extents


def _shifted(match: tir.MatchBufferOp, indices: list[SSAValue], user: Operation) -> list[SSAValue]:
    """Return the indices into the source; dimensions that the matched buffer lacks are the leading ones."""
    insert = inserter(user)
    missing = len(match.starts) - len(indices)
    out: list[SSAValue] = list(match.starts[:missing])
    for start, index in zip(match.starts[missing:], indices, strict=True):
        is_zero = isinstance(start.owner, tir.ConstOp) and start.owner.py_value == 0
        out.append(_converted(index, start, insert) if is_zero else _plus(start, index, insert))
    return out


def _converted(index: SSAValue, start: SSAValue, insert: Callable[[Operation], None]) -> SSAValue:
    """Convert an index to the integer type of `start`, lane by lane for a vector."""
    expected = tir.with_lanes(start.type, index.type)
    if index.type == expected:
        return index
    insert(cast := tir.CastOp(index, expected))
    return cast.result


def _plus(start: SSAValue, index: SSAValue, insert: Callable[[Operation], None]) -> SSAValue:
    """Return `start + index`; for consecutive lanes only the first is changed."""
    if isinstance(index.owner, tir.RampOp):
        ramp = index.owner
        base, stride = _plus(start, ramp.base, insert), _converted(ramp.stride, start, insert)
        insert(moved := tir.RampOp(base, stride, lanes_of(index.type)))
        return moved.result
    if isinstance(index.owner, tir.ConstOp) and index.owner.py_value == 0:
        return start
    lanes = lanes_of(index.type)
    index = _converted(index, start, insert)
    if lanes > 1:
        insert(each := tir.BroadcastOp(start, lanes))
        start = each.result
    insert(total := tir.AddOp(start, index))
    return total.results[0]
