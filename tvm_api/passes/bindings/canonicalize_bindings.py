"""`CanonicalizeBindings` as in TVM: besides aliases, variables of `match_cast`, constants, and what a dataflow block
returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....diagnostics import TiraxError
from ....dialects import relax
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import ShapeType, TensorType
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import SymExpr, Var
from ....dialects.sym.operators import OPS
from ....ir.functions.lookup import binding_blocks, relax_functions
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import erase, insert_before
from ....ir.rewriting.infer import infer_again, refine_result, refine_struct_info
from ....ir.rewriting.substitute import SymbolSubstitution
from ....transforms.bindings.canonicalize_bindings import canonicalize_function

Known = Mapping[Var, SymExpr]


class InconsistentCastError(TiraxError, ValueError):
    """Two casts give a symbolic variable values that differ."""


@dataclass(frozen=True)
class CanonicalizeBindings(Pass):
    """Remove bindings that only rename, and what no longer has a use.

        m = match_cast(x: [n], [m])       ->  every m is n; the cast is gone
        c = const; y = add(x, c)          ->  y = add(x, const)
        with dataflow: …; output(a, b)    ->  output(a), if nothing outside uses b

    Raises `InconsistentCastError` if two casts give a symbolic variable values that differ for certain.
    """

    name = "canonicalize-all-bindings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            canonicalize_all(func)


def canonicalize_all(func: relax.FuncOp) -> None:
    """Make the bindings of a function canonical, in place."""
    _resolve_casts(func.body.block, {})
    inlined = _inline_constants(func)
    canonicalize_function(func)
    while _narrow_outputs(func, inlined):
        canonicalize_function(func)
    for block in binding_blocks(func):
        for inner in list(block.ops):
            if isinstance(inner, relax.DataflowOp) and len(inner.body.block.ops) == 1:
                erase(inner)
    refine_struct_info(func)
    canonicalize_function(func)
    refine_result(func)


# Symbolic variables


def _resolve_casts(block: Block, known: Known) -> Known:
    """Replace the variables that casts define by their values, in a block and those inside; return what is known."""
    for op in list(block.ops):
        declared = op.results[0].type if isinstance(op, relax.MatchCastOp) else None
        _substitute(op, known)
        if isinstance(op, relax.MatchCastOp) and declared is not None:
            new = dict(_solved(declared, op.value.type))
            _check_consistent(op, known, new)
            known = {**new, **known}
            _substitute(op, known)
        for region in op.regions:
            for inner in region.blocks:
                after = _resolve_casts(inner, known)
                known = after if isinstance(op, relax.DataflowOp) else known
                if isinstance(op, relax.IfOp):
                    _cast_branch(inner, op.result.type)
        if isinstance(op, relax.DataflowOp):
            infer_again(op)
    return known


def _cast_branch(block: Block, declared: Attribute) -> None:
    """Give the result of a branch, which may be more precise now, the struct info that both branches declare."""
    last = block.last_op
    if isinstance(last, relax.YieldOp) and last.value.type != declared:
        insert_before(last, cast := relax.MatchCastOp(last.value, declared))
        set_name(cast.result, name_of(last.value))
        last.operands[0] = cast.result


def _substitute(op: Operation, known: Known) -> None:
    """Replace variables in an op, without those inside of it."""
    if not known:
        return
    change = SymbolSubstitution(known)
    for name, attr in list(op.properties.items()):
        if (new := change.attribute(attr)) is not attr:
            op.properties[name] = new
    for result in op.results:
        if not isinstance(op, relax.IfOp | relax.DataflowOp):
            change.value(result)


def _solved(declared: Attribute, actual: Attribute) -> Iterator[tuple[Var, SymExpr]]:
    """Yield the variables that stand alone in a declared shape, with the extents of the actual one."""
    if isinstance(declared, TupleType) and isinstance(actual, TupleType):
        for one, other in zip(declared.types, actual.types, strict=False):
            yield from _solved(one, other)
    if isinstance(declared, TensorType | ShapeType) and isinstance(actual, TensorType | ShapeType):
        for dim, extent in zip(declared.dims or (), actual.dims or (), strict=False):
            if isinstance(dim, Var) and dim != extent:
                yield dim, extent


def _check_consistent(op: relax.MatchCastOp, known: Known, new: Known) -> None:
    analyzer = Analyzer()
    for var, value in new.items():
        if var in known and analyzer.can_prove(OPS["ne"](known[var], value)):
            raise InconsistentCastError(
                f"MatchCast statements must be consistent: '{name_of(op.result)}' gives '{var}' another value",
                expected=known[var],
                found=value,
            )


# What dataflow blocks return


def _narrow_outputs(func: Operation, inlined: set[SSAValue]) -> bool:
    """Drop results of dataflow blocks that nothing outside needs; return whether there were any.

    As in TVM, constants that were `inlined` outside remain results.
    """
    changed = False
    for block in binding_blocks(func):
        for op in list(block.ops):
            if isinstance(op, relax.TupleGetItemOp):
                changed |= _take_field_along(op)
            if isinstance(op, relax.DataflowOp):
                changed |= _narrow(op, inlined)
    return changed


def _take_field_along(op: relax.TupleGetItemOp) -> bool:
    """`t = (a, b) inside of a block; t[0] outside` -> a is a result of the block, too."""
    block = op.tuple_.owner
    if not isinstance(block, relax.DataflowOp):
        return False
    inside = block.output_op.values_[list(block.outputs).index(op.tuple_)].owner  # pyright: ignore[reportArgumentType]
    if not isinstance(inside, relax.TupleOp):
        return False
    field = inside.fields_[op.index.data]
    values = list(block.output_op.values_)
    new = _with_outputs(block, [*values, field])
    set_name(new.outputs[-1], name_of(field) or name_of(op.result))
    op.result.replace_all_uses_with(new.outputs[-1])
    erase(op)
    return True


def _narrow(block: relax.DataflowOp, inlined: set[SSAValue]) -> bool:
    kept: dict[SSAValue, SSAValue] = {}
    for value, result in zip(block.output_op.values_, block.outputs, strict=True):
        if not (isinstance(value.owner, Operation) and value.owner.parent is block.body.block):
            result.replace_all_uses_with(value)
        elif value in kept:
            result.replace_all_uses_with(kept[value])
        elif result.first_use is not None or value in inlined:
            kept[value] = result
    place = {op: n for n, op in enumerate(block.body.block.ops)}
    kept = dict(sorted(kept.items(), key=lambda pair: place[pair[0].owner]))  # pyright: ignore[reportArgumentType]
    if list(kept) == list(block.output_op.values_):
        for value, result in kept.items():
            set_name(value, name_of(result) or name_of(value))
        return False
    new = _with_outputs(block, list(kept), [name_of(result) for result in kept.values()], list(kept.values()))
    for value, result in zip(kept, new.outputs, strict=True):
        if name_of(result) is not None and [*kept].count(value) == 1:
            set_name(value, name_of(result))
    return True


def _with_outputs(
    block: relax.DataflowOp,
    values: list[SSAValue],
    names: list[str | None] | None = None,
    results: list[SSAValue] | None = None,
) -> relax.DataflowOp:
    """Replace a dataflow block by one that returns these values; `results` are their old results."""
    old = list(block.outputs) if results is None else results
    last = block.output_op
    last.detach()
    last.drop_all_references()
    block.body.block.add_op(relax.OutputOp(values))
    new = relax.DataflowOp(block.detach_region(block.body))
    insert_before(block, new)
    for i, result in enumerate(old):
        set_name(new.outputs[i], name_of(result) if names is None else names[i])
        result.replace_all_uses_with(new.outputs[i])
    erase(block)
    return new


def _inline_constants(func: Operation) -> set[SSAValue]:
    """`c = const; f(c)` -> `c = const; f(const)`, unless another name is bound to the constant; return such `c`."""
    done: set[SSAValue] = set()
    constants = [op for block in binding_blocks(func) for op in block.ops if isinstance(op, relax.ConstantOp)]
    for op in constants:
        named = name_of(op.result)
        if named is None:
            continue
        uses = [use.operation for use in op.result.uses]
        results = [r for user in uses if isinstance(user, relax.OutputOp) for r in _results(user, op.result)]
        if any(isinstance(user, relax.BindOp | relax.MatchCastOp) for user in uses) or any(
            name_of(r) != named for r in results
        ):
            continue
        done |= {op.result} if results else set()
        for value in (op.result, *results):
            for use in [u for u in value.uses if not isinstance(u.operation, relax.OutputOp)]:
                insert_before(use.operation, inline := op.clone())
                set_name(inline.result, None)
                use.operation.operands[use.index] = inline.result
    return done


def _results(output: relax.OutputOp, value: SSAValue) -> list[SSAValue]:
    """Return the results of a dataflow block that are this value."""
    block = output.parent_op()
    assert isinstance(block, relax.DataflowOp)
    return [r for v, r in zip(output.values_, block.outputs, strict=True) if v is value]
