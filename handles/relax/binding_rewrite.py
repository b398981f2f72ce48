"""`DataflowBlockRewrite`: modify a dataflow block binding by binding; and replacement of dataflow blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from xdsl.ir import Block, Operation, OpResult, Region, SSAValue

from ...diagnostics import NameLookupError, TiraxError, VerifyError
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase
from ...ir.verification.dominance import check_dominance
from ..module import IRModule
from .builder import Builder
from .calls import to_expr
from .expr import DataflowVar, Expr, Var, canonical
from .function import DataflowBlock, Function, MatchCast, VarBinding
from .scopes import Scope


class _Placer(Builder):
    """A builder whose operands are first looked up among the replaced values of a rewrite."""

    def __init__(self, current: Callable[[SSAValue], SSAValue], taken: Iterable[str]):
        super().__init__()
        self._current = current
        for name in taken:
            self._names.reserve(name)

    def _resolve(self, value: SSAValue) -> SSAValue:
        return super()._resolve(self._current(value))

    def bind_as(self, expr: Expr, name: str) -> SSAValue:
        """Bind an expression to a variable with this name."""
        self._names.reserve(name)
        return self._bind(expr, lambda: name)

    @contextmanager
    def into(self, block: Block, dataflow: relax.DataflowOp | None = None) -> Iterator[Scope]:
        """Append to a block, which is that of `dataflow` if there is one."""
        scope = Scope(block, dataflow)
        self._scopes.append(scope)
        try:
            yield scope
        finally:
            self._scopes.pop()


class DataflowBlockRewrite:
    """Modifies a copy of a function's dataflow block; the function itself is unchanged.

    Variables are those of the function, or of the results of `mutated_dfb` and `mutated_root_fn`.

        rewrite = DataflowBlockRewrite(func.body.blocks[0], func)
        rewrite.replace_all_uses(a, b)
        rewrite.remove_all_unused()
        new = rewrite.mutated_root_fn()
    """

    def __init__(self, dfb: DataflowBlock, root_fn: Function):
        """`dfb` must be a block of `root_fn`. Raises `TiraxError` otherwise."""
        if not root_fn.op.is_ancestor(dfb.op):
            raise TiraxError("the dataflow block is not one of the function", hint="e.g. func.body.blocks[0]")
        self._name = root_fn.name
        self._copies: dict[SSAValue, SSAValue] = {}
        self._root: Operation = root_fn.op
        self._block = dfb.op.body.block
        self._shown = True
        values = (v for op in self._root.walk() for v in op.results)
        names = [n for v in (*values, *self._root.regions[0].block.args) if (n := name_of(v)) is not None]
        self._inner: dict[SSAValue, SSAValue] = {}
        self._placer = _Placer(self._inside, names)

    @property
    def _dataflow(self) -> relax.DataflowOp:
        op = self._block.parent_op()
        if not isinstance(op, relax.DataflowOp) or op.parent is None:
            raise TiraxError("nothing is left of the dataflow block", hint="take mutated_root_fn")
        return op

    def _now(self, value: SSAValue) -> SSAValue:
        """Return the value in the copy for a value of the function or of the copy."""
        while value in self._copies:
            value = self._copies[value]
        return value

    def _inside(self, value: SSAValue) -> SSAValue:
        """Return the value inside the block: for an output of the block, the inner value."""
        now = self._now(value)
        return self._inner.get(now, now)

    def _own(self) -> None:
        """Continue with a fresh copy if a handle on the current one was returned."""
        if self._shown:
            values: dict[SSAValue, SSAValue] = {}
            blocks: dict[Block, Block] = {}
            self._root = self._root.clone(values, blocks)
            self._copies.update(values)
            self._block = blocks.get(self._block, self._block)
            self._shown = False

    # Modifications.

    def replace_all_uses(self, old_var: Var, new_var: Var) -> None:
        """Replace `old_var` by `new_var` in the entire function; the binding of `old_var` stays.

        A variable that is local to the block becomes an output if it is used outside. Raises `NameLookupError` for a
        variable that the function does not have.
        """
        self._own()
        old, new = canonical(self._known(old_var)), canonical(self._known(new_var))
        if self._is_used_outside(old):
            visible = self._visible_outside(new)
            for outer in [outer for inner, outer in _pairs(self._dataflow) if inner is old]:
                outer.replace_all_uses_with(visible)
        for use in list(old.uses):
            if not isinstance(use.operation, relax.OutputOp):
                use.operation.operands[use.index] = new

    def add(self, expr: Any, name: str | None = None, is_dfvar: bool = False) -> None:
        """Bind an expression to a new variable, named `name` or `tmp`.

        It is an output of the block unless `is_dfvar`. As in TVM, the binding is inserted right after the last of its
        operands, before bindings inserted there earlier, but never first: so it may be used by later bindings.
        """
        self._own()
        value = self._emit(to_expr(expr), name or self._placer.get_unique_name("tmp"))
        if not is_dfvar:
            self._with_outputs([*self._outputs(), (value, name_of(value) or "tmp")])

    def add_binding(self, binding: VarBinding | MatchCast) -> None:
        """Add a binding; its variable refers to the new one in later additions and replacements."""
        self._own()
        expr = binding.value
        if isinstance(binding, MatchCast):
            source = self._now(to_expr(binding.value).ssa)
            expr = Expr.on(relax.MatchCastOp(source, binding.struct_info.type).result)
        old = self._now(binding.var.ssa)
        value = self._emit(expr, binding.var.name_hint)
        old.replace_all_uses_with(value)
        self._copies[old] = value
        if not isinstance(binding.var, DataflowVar):
            self._with_outputs([*self._outputs(), (value, binding.var.name_hint)])

    def remove_unused(self, var: Var, allow_undef: bool = False) -> None:
        """Remove the binding of an unused variable.

        Raises `TiraxError` if it is used, and `NameLookupError` if the block does not bind it, unless `allow_undef`.
        """
        if not self._binds(var):
            if allow_undef:
                return
            raise NameLookupError(f"the dataflow block does not bind '{var.name_hint}'", hint="allow_undef=True")
        self._own()
        value = cast(OpResult, canonical(self._now(var.ssa)))
        outer = [result for inner, result in _pairs(self._dataflow) if value in (inner, result)]
        users = [u.operation for v in (value, *outer) for u in v.uses if not isinstance(u.operation, relax.OutputOp)]
        if users:
            raise TiraxError(f"'{var.name_hint}' is used by {len(users)} bindings or results and cannot be removed")
        kept = [(inner, name_of(result) or "gv") for inner, result in _pairs(self._dataflow) if result not in outer]
        is_output = value.op is self._dataflow
        self._with_outputs(kept)
        if not is_output:
            erase(value.op)
        if self._block.first_op is self._dataflow.output_op:
            erase(self._dataflow)

    def remove_all_unused(self) -> None:
        """Remove all unused bindings of the function, and empty dataflow blocks."""
        self._own()
        before = [pair for op in self._root.walk() if isinstance(op, relax.DataflowOp) for pair in _pairs(op)]
        remove_dead_bindings(self._root)
        after = {v: r for op in self._root.walk() if isinstance(op, relax.DataflowOp) for v, r in _pairs(op)}
        self._copies.update({r: after[v] for v, r in before if v in after and after[v] is not r})

    def mutated_dfb(self) -> DataflowBlock:
        """Return the current block. Raises `TiraxError` if it was removed."""
        self._shown = True
        return DataflowBlock(self._dataflow)

    def mutated_root_fn(self) -> Function:
        """Return the current function. Raises `VerifyError` if a variable is used before its definition."""
        check_dominance(self._root)
        self._shown = True
        return Function.on(self._root)

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """Return a copy of a module in which the current function replaces the old one."""
        new = irmodule.clone()
        new[self._name] = self.mutated_root_fn().copy()
        return new

    # How it is done.

    def _binds(self, var: Var) -> bool:
        value = canonical(self._now(var.ssa))
        return isinstance(value, OpResult) and (value.op.parent is self._block or value.op is self._dataflow)

    def _known(self, var: Var) -> SSAValue:
        value = self._now(var.ssa)
        owner = value.owner
        if owner is self._root.regions[0].block or self._root.is_ancestor(owner):
            return value
        raise NameLookupError(f"the function has no variable '{var.name_hint}'")

    def _outputs(self) -> list[tuple[SSAValue, str]]:
        return [(inner, name_of(outer) or "gv") for inner, outer in _pairs(self._dataflow)]

    def _output_of(self, value: SSAValue) -> SSAValue | None:
        """Return the block's result for one of its values; if there are several, prefer the one with the
        variable's name.
        """
        results = [outer for inner, outer in _pairs(self._dataflow) if inner is value]
        return next((r for r in results if name_of(r) == name_of(value)), results[0] if results else None)

    def _is_used_outside(self, value: SSAValue) -> bool:
        return any(inner is value and outer.first_use is not None for inner, outer in _pairs(self._dataflow))

    def _visible_outside(self, value: SSAValue) -> SSAValue:
        if not isinstance(value, OpResult) or value.op.parent is not self._block:
            return value
        if self._output_of(value) is None:
            self._with_outputs([*self._outputs(), (value, name_of(value) or "gv")])
        return cast(SSAValue, self._output_of(value))

    def _with_outputs(self, outputs: list[tuple[SSAValue, str]]) -> None:
        """Set the outputs of the block; results are kept if their value and name stay the same."""
        old = self._dataflow
        if outputs == self._outputs():
            return
        results = {(inner, name_of(outer) or "gv"): outer for inner, outer in _pairs(old)}
        output = old.output_op
        output.detach()
        output.erase()
        self._block.add_op(relax.OutputOp([inner for inner, _ in outputs]))
        old.body.detach_block(self._block)
        new = relax.DataflowOp(Region(self._block))
        new.location = old.location
        cast(Block, old.parent).insert_op_before(new, old)
        for (inner, name), result in zip(outputs, new.outputs, strict=True):
            set_name(result, name)
            before = results.get((inner, name))
            if before is not None:
                before.replace_all_uses_with(result)
                self._copies[before] = result
        old.detach()
        old.erase()

    def _emit(self, expr: Expr, name: str) -> SSAValue:
        """Bind an expression after its operands."""
        if self._block.first_op is self._dataflow.output_op:
            self._bind_outputs()
        self._inner = {outer: inner for inner, outer in _pairs(self._dataflow)}
        output = self._dataflow.output_op
        output.detach()
        last = self._block.last_op
        try:
            with self._placer.into(self._block, self._dataflow):
                value = self._placer.bind_as(expr, name)
        finally:
            self._block.add_op(output)
        emitted = list(_between(last, output))
        anchor = self._anchor(emitted)
        for op in emitted:
            op.detach()
        if anchor is None:
            self._block.insert_ops_before(emitted, output)
        else:
            self._block.insert_ops_after(emitted, anchor)
        return value

    def _bind_outputs(self) -> None:
        """Bind each output of a block that has no bindings, so that new ones can be inserted after the first."""
        output = self._dataflow.output_op
        for i, outer in enumerate(self._dataflow.outputs):
            bind = relax.BindOp(output.values_[i])
            set_name(bind.result, name_of(outer))
            self._block.insert_op_before(bind, output)
            output.operands[i] = bind.result

    def _anchor(self, emitted: list[Operation]) -> Operation | None:
        """Return the op to insert new ones after: the last of their operands, at least the first binding; None
        if there is no op.
        """
        inside = set(emitted)
        used = {v.owner for op in emitted for v in op.operands} - inside
        ops = [op for op in self._block.ops if op not in inside and not isinstance(op, relax.OutputOp)]
        at = max((i for i, op in enumerate(ops) if op in used), default=0)
        return ops[at] if ops else None


def _pairs(op: relax.DataflowOp) -> list[tuple[SSAValue, SSAValue]]:
    """Return the outputs of a dataflow block as pairs of inner value and result."""
    return list(zip(op.output_op.values_, op.outputs, strict=True))


def _between(last: Operation | None, end: Operation) -> Iterator[Operation]:
    """Yield the ops after `last` (from the start for None) and before `end`."""
    at = cast(Block, end.parent).first_op if last is None else last.next_op
    while at is not None and at is not end:
        yield at
        at = at.next_op


def replace_dataflow(old: relax.DataflowOp, new: DataflowBlock, names: Iterable[str]) -> None:
    """Replace a dataflow block of a function by one that belongs to no function.

    The new block must bind the outputs of the old one to the same variables. Raises `VerifyError` otherwise.
    """
    placer = _Placer(lambda v: v, names)
    parent = cast(Block, old.parent)
    holder = Block()
    with placer.into(holder):
        placer.emit_block(new)
    replacement = cast(relax.DataflowOp, holder.first_op)
    missing: list[str] = []
    for outer in old.outputs:
        mapped = placer.get_remap(outer)
        if mapped is None and outer.first_use is not None:
            missing.append(name_of(outer) or "gv")
        elif mapped is not None:
            outer.replace_all_uses_with(mapped.ssa)
    if missing:
        raise VerifyError(
            "a pass on dataflow blocks must keep what they output", expected=", ".join(missing), found="no binding"
        )
    replacement.detach()
    parent.insert_op_before(replacement, old)
    old.detach()
    old.erase()
