"""Analyses of tensor functions, under the names of `tvm.tir.analysis`.

A function, statement or block is passed as a handle (`PrimFunc`, `Stmt`) or as the xDSL operation itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ...diagnostics import TiraxError, VerifyError
from ...dialects import tir
from ...dialects.attributes import from_attr
from ...dialects.dtypes import byte_size
from ...dialects.names import name_of
from ...dialects.sym.analyzer import Analyzer
from ...dialects.sym.expr import SymExpr
from ...handles.array import Array
from ...handles.tir.buffers import Buffer, Param, Stmt
from ...handles.tir.domains import BufferRegion, Range
from ...handles.tir.expr_trees import same_tree
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...ir.buffers.regions import Accessed, accesses_by_kind
from ...ir.functions.effects import first_effect
from ...ir.locations import location_of
from ...ir.origins import origin
from ...ir.verification.verify import verify_module
from .verify_memory import outside_of_threads
from .walk import bind_loop, bound_expr, functions

_FREE = (tir.LoadOp, tir.ConstOp, tir.CastOp, tir.ReinterpretOp, tir.CallExpr, tir.BroadcastOp, tir.RampOp)
"""Expressions that TVM does not count as arithmetic."""


def _op(node: Any) -> Operation:
    op = node if isinstance(node, Operation) else getattr(node, "op", None)
    if not isinstance(op, Operation):
        raise TiraxError(
            "an analysis of tir", expected="a PrimFunc, a statement or a module", found=type(node).__name__
        )
    return op


def _functions(node: Any) -> list[tir.FuncOp]:
    op = _op(node)
    if isinstance(op, ModuleOp):
        return functions(op)
    return [op] if isinstance(op, tir.FuncOp) else []


def verify_memory(func: Any) -> bool:
    """Return whether only device threads access device memory; always true for host functions."""
    return all(outside_of_threads(f) is None for f in _functions(func))


def verify_well_formed(obj: Any, assert_mode: bool = True) -> bool:
    """Return whether a function or module is well formed: also, blocks with iterators use no variables of outer loops.

    With `assert_mode`, raises `VerifyError` if not.
    """
    op = _op(obj)
    module = op if isinstance(op, ModuleOp) else ModuleOp([op.clone()])
    try:
        verify_module(module)
        for block in [inner for inner in module.walk() if isinstance(inner, tir.BlockOp) and inner.iter_vars]:
            _refuse_outer_loops(block)
    except VerifyError:
        if assert_mode:
            raise
        return False
    return True


def _refuse_outer_loops(block: tir.BlockOp) -> None:
    """Reject a block with iterators that uses the variable of a loop around it, for which it has the iterators."""
    for op in block.body.walk():
        for value in op.operands:
            loop = value.owner.parent_op() if isinstance(value.owner, Block) else None
            if isinstance(loop, tir.ForOp) and not block.is_ancestor(loop):
                raise VerifyError(
                    f"loop iterator var {name_of(value)} is defined outside of the block, but is used inside the "
                    f'non-opaque current block "{block.block_name.data}"',
                    location=location_of(op),
                )


def verify_ssa(func: Any) -> bool:
    """Return whether each variable used to build a function is bound once.

    An expression that binds one may occur twice.
    """
    bound: dict[SSAValue, SSAValue] = {}
    for op in _op(func).walk():
        for value in (*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)):
            variable = origin(value)
            if variable is value:
                continue
            first = bound.setdefault(variable, value)
            if first is not value and not _same_let(first, value):
                return False
    return True


def _same_let(a: SSAValue, b: SSAValue) -> bool:
    """Return whether two variables name the same expression in let expressions."""
    x, y = a.owner.parent_op(), b.owner.parent_op()
    return isinstance(x, tir.LetInOp) and isinstance(y, tir.LetInOp) and same_tree(x.value, y.value)


def expr_deep_equal(lhs: PrimExpr, rhs: PrimExpr) -> bool:
    """Return whether two expressions are the same over the same variables."""
    return same_tree(lhs.ssa, rhs.ssa)


def undefined_vars(node: Any, defs: Sequence[Any] = ()) -> list[Any]:
    """Return the variables and buffers that a statement uses and that neither it nor `defs` define, in order of use."""
    op = _op(node)
    known = {d.ssa for d in defs}
    undefined: dict[SSAValue, None] = {}
    for inner in op.walk():
        for value in inner.operands:
            if value not in known and not _is_defined_in(value, op):
                undefined[value] = None
    variables = [v for v in undefined for v in _leaves(v, known)]
    return [Buffer(v) if isinstance(v.type, tir.BufferType) else Param(v) for v in dict.fromkeys(variables)]


def _leaves(value: SSAValue, known: set[SSAValue]) -> Iterator[SSAValue]:
    """Yield the variables and buffers in an expression computed outside a statement."""
    owner = value.owner
    if value in known:
        return
    if isinstance(owner, tir.LetOp | tir.AllocBufferOp | tir.DeclBufferOp | Block):
        yield value
        return
    for operand in owner.operands:
        yield from _leaves(operand, known)


def _is_defined_in(value: SSAValue, op: Operation) -> bool:
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    return owner is not None and op.is_ancestor(owner)


def estimate_tir_flops(stmt_or_mod: Any) -> float:
    """Return an upper bound of the arithmetic operations: the longer of two branches, the largest extent of loops.

    Loops of unknown extent count once; index arithmetic, comparisons and inits of reductions do not count. The
    attribute `estimated_flops` of a function takes precedence.
    """
    return _flops(_op(stmt_or_mod), Analyzer())


def _flops(op: Operation, analyzer: Analyzer) -> float:
    if isinstance(op, tir.FuncOp):
        estimated = None if op.func_attrs is None else from_attr(op.func_attrs.data.get("estimated_flops"))
        if isinstance(estimated, int | float):
            return float(estimated)
    if isinstance(op, tir.InitOp):
        return 0
    if isinstance(op, tir.StoreOp | tir.LetOp):
        return arithmetic(op.value)
    if isinstance(op, tir.ForOp):
        bind_loop(analyzer, op)
        most = analyzer.bounds(bound_expr(op.extent)).high
        return (int(most) if most < float("inf") else 1) * _inside(op.body, analyzer)
    sides = [_inside(region, analyzer) for region in op.regions]
    return max(sides) if isinstance(op, tir.IfOp) else sum(sides)


def _inside(region: Region, analyzer: Analyzer) -> float:
    statements = (op for block in region.blocks for op in block.ops if type(op) not in tir.EXPRESSION_OPS)
    return sum(_flops(op, analyzer) for op in statements)


def _times(op: Operation, root: Operation) -> int:
    """Return how often a statement runs within `root`; loops of unknown extent count once."""
    count = 1
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, tir.ForOp):
            count *= bound_expr(parent.extent).constant or 1
        parent = None if parent is root else parent.parent_op()
    return count


def arithmetic(value: SSAValue) -> int:
    """Return the number of arithmetic operations in an expression, without loads, casts and elementary functions."""
    op = value.owner
    if not isinstance(op, Operation) or isinstance(op, tir.LoadOp) or type(op) not in tir.EXPRESSION_OPS:
        return 0
    inner = list(op.operands)
    if isinstance(op, tir.IfThenElseOp):
        sides = (op.then_region.block.last_op, op.else_region.block.last_op)
        inner += [v for side in sides if side is not None for v in side.operands]
    counts = not isinstance(op, (*_FREE, tir.IfThenElseOp, tir.SelectOp)) and value.type != i1
    return sum(arithmetic(v) for v in inner if v.type != i1) + counts


def calculate_allocated_bytes(func_or_mod: Any) -> dict[str, dict[str, int]]:
    """Return the bytes of all buffers of constant size that functions allocate, by function and memory scope."""
    out: dict[str, dict[str, int]] = {}
    for func in _functions(func_or_mod):
        sizes = out.setdefault(func.sym_name.data, {})
        for op in func.walk():
            if isinstance(op, tir.AllocBufferOp):
                t = op.result.type
                scope = t.scope.data
                sizes[scope] = sizes.get(scope, 0) + (_elements(t.dims) or 0) * byte_size(t.dtype)
    return out


def calculate_workspace_bytes(func: Any, workspace_byte_alignment: int = 1) -> int:
    """Return the bytes of all buffers of constant size of a function, each rounded up to the alignment."""
    total = 0
    for op in _op(func).walk():
        if isinstance(op, tir.AllocBufferOp):
            size = (_elements(op.result.type.dims) or 0) * byte_size(op.result.type.dtype)
            total += -(-size // workspace_byte_alignment) * workspace_byte_alignment
    return total


def _elements(dims: Iterable[SymExpr]) -> int | None:
    total = 1
    for d in dims:
        if d.constant is None:
            return None
        total *= d.constant
    return total


def find_anchor_block(mod: Any) -> Stmt | None:
    """Return the block with an init that computes the most, or None if no block has an init."""
    blocks = [op for op in _op(mod).walk() if isinstance(op, tir.BlockOp) and op.init is not None]
    if not blocks:
        return None
    return Stmt(max(blocks, key=lambda b: estimate_tir_flops(b) * _times(b, _op(mod))))


def is_pure_function(func: Any) -> bool:
    """Return whether a function does not write its parameters and makes no calls that may have side effects."""
    return first_effect(_op(func)) is None


def assert_pure_function(func: Any) -> bool:
    """Return True for a pure function. Raises `TiraxError`, which names the effect, for others."""
    effect = first_effect(_op(func))
    if effect is not None:
        raise TiraxError("the function is not pure", expected="no writes to parameters, no calls", found=effect.name)
    return True


def get_block_access_region(block: Any, buffer_var_map: Any = None) -> Array[Array[BufferRegion]]:
    """Return the regions that a block reads, writes, and accesses opaquely."""
    return Array(
        _regions(_among(accesses, buffer_var_map)) for accesses in accesses_by_kind(cast(tir.BlockOp, _op(block)))
    )


def get_block_read_write_region(block: Any, buffer_var_map: Any = None) -> Array[Array[BufferRegion]]:
    """Return the regions that a block reads and writes; opaque accesses are in both."""
    read, written, hidden = (_among(f, buffer_var_map) for f in accesses_by_kind(cast(tir.BlockOp, _op(block))))
    return Array(_regions({**accesses, **hidden}) for accesses in (read, written))


def _among(accesses: Accessed, buffer_var_map: Mapping[Any, Buffer] | None) -> Accessed:
    """Select the accesses of the buffers in a map; all of them without one."""
    if buffer_var_map is None:
        return accesses
    selected = {buffer.ssa for buffer in buffer_var_map.values()}
    return {value: dims for value, dims in accesses.items() if value in selected}


def _regions(accesses: Accessed) -> Array[BufferRegion]:
    out: list[BufferRegion] = []
    for value, dims in accesses.items():
        region: list[Range] = []
        for size, span in zip(cast(tir.BufferType, value.type).dims, dims, strict=True):
            low, extent = (size - size, size) if span is None else (span[0], span[1] - span[0] + 1)
            region.append(Range.from_min_extent(from_sym(low), from_sym(extent)))
        out.append(BufferRegion(Buffer(value), region))
    return Array(out)
