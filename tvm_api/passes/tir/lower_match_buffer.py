"""`tvm-lower-match-buffer`: TVM's `tir.transform.LowerMatchBuffer`, which refuses what a matched buffer does not allow.

The pass of the pipeline is `lower-match-buffer`; it lowers matched buffers with any declared layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import name_of
from ....dialects.quick import operations
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import Const, SymExpr, Var, add, floormod, mul
from ....dialects.sym.operators import OPS
from ....ir.affine.values import sym_expr_of
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....transforms.tir.lower_match_buffer import lower_match
from ....transforms.tir.walk import bind_loop, functions
from ....transforms.tir.wide_indices import widen_indices


@dataclass(frozen=True)
class LowerMatchBuffer(Pass):
    """Replace accesses of matched buffers by accesses of their sources.

    Raises `UnsupportedError` if the offset, strides, extents or scope that a matched buffer declares are not those of
    its region.
    """

    name = "tvm-lower-match-buffer"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            widen_indices(func)
            known = Analyzer()
            bound: dict[Var, SymExpr] = {}
            for inner in operations(func):
                if isinstance(inner, tir.ForOp):
                    bind_loop(known, inner)
            for match in [inner for inner in operations(func) if isinstance(inner, tir.MatchBufferOp)]:
                _check(match, known, bound)
                lower_match(match)


def _check(match: tir.MatchBufferOp, known: Analyzer, bound: dict[Var, SymExpr]) -> None:
    matched, source = match.result.type, cast(tir.BufferType, match.source.type)
    if matched.scope != source.scope:
        raise _unmet(match, "scope", source.scope.data, matched.scope.data)
    for what, declared, actual in _constraints(match, matched, source):
        value = bound.get(declared, declared) if isinstance(declared, Var) else declared
        if isinstance(declared, Var) and declared not in bound:
            bound[declared] = actual
        elif not known.can_prove(OPS["eq"](value, actual)):
            raise _unmet(match, what, value, actual)
    factor = matched.offset_factor.data
    offset = _offset(match, source)
    if factor > 1 and not known.can_prove(
        OPS["eq"](floormod(offset, Const(factor, offset.dtype)), Const(0, offset.dtype))
    ):
        raise _unmet(match, "offset_factor", factor, offset)


def _constraints(
    match: tir.MatchBufferOp, matched: tir.BufferType, source: tir.BufferType
) -> Iterator[tuple[str, SymExpr, SymExpr]]:
    """Yield what the matched buffer declares, with the values of its region."""
    offset = _offset(match, source)
    if matched.elem_offset is not None:
        yield "elem_offset", matched.elem_offset, offset
    elif not matched.offset_factor.data:
        yield "elem_offset", Const(0, offset.dtype), offset
    missing = len(match.extents) - matched.rank
    strides = source.layout_strides()[missing:]
    for axis in reversed(range(len(matched.explicit_strides or ()))):
        yield f"strides_{axis}", (matched.explicit_strides or ())[axis], strides[axis]
    for axis, (declared, extent) in enumerate(zip(matched.dims, match.extents[missing:], strict=True)):
        yield f"shape_{axis}", declared, extent


def _offset(match: tir.MatchBufferOp, source: tir.BufferType) -> SymExpr:
    """Return the offset of the region in the memory of its source."""
    starts: list[SSAValue] = list(match.starts)
    offset = source.elem_offset or Const(0, source.dims[0].dtype if source.dims else Const(0).dtype)
    for start, stride in zip(starts, source.layout_strides(), strict=True):
        offset = add(offset, mul(sym_expr_of(start), stride))
    return offset


def _unmet(match: tir.MatchBufferOp, what: str, declared: object, actual: object) -> UnsupportedError:
    name = name_of(match.result) or "buffer"
    return UnsupportedError(
        f"The buffer match constraint for {name}.{what} unmet: {declared}=={actual}",
        location=location_of(match),
        expected=str(declared),
        found=str(actual),
    )
