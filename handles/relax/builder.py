"""Building Relax functions binding by binding: the core of `BlockBuilder` and of mutators.

The builder inserts detached ops (and copies ops that belong to other blocks). An operand is first looked up among the
replaced values (`remap`); an operand that is itself a detached op is bound first, so that the result is in normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.registered import MOST_STEPS, NORMALIZE, endless, own_function
from ...dialects.sym.expr import Var as SymbolicVar
from ...ir.equality import structural_equal, structural_hash
from ...ir.functions.lookup import FunctionOp, functions
from ...ir.names import NameSupply, identifier
from ...ir.rewriting.infer import infer_again
from ...ir.verification.as_written import remember, remember_declared
from ...ir.verification.dominance import check_dominance
from ...ir.verification.ill_formed import DataflowVariableOutside, NestedCall, VariableDefinedTwice
from ..base_func import BaseFunc
from ..module import IRModule, require_function
from ..struct_info import ShapeStructInfo, type_of
from .call import Call
from .calls import to_expr
from .expr import DataflowVar, Expr, GlobalVar, Tuple, Var, bound_expr, canonical, expr_of
from .function import BindingBlock, DataflowBlock, Function, MatchCast, SeqExpr, VarBinding
from .function_parts import finish_function, take_params
from .scopes import OpenScope, PendingOutput, Scope


@dataclass
class _Frame:
    """A function under construction."""

    name: str
    attrs: dict[str, Any]
    pure: bool
    private: bool
    has_params: bool
    func: Function | None = None


class Builder:
    """Builds Relax functions into a module. `BlockBuilder` adds tensor expressions."""

    def __init__(self, mod: IRModule | None = None):
        self._mod = IRModule() if mod is None else mod
        self._shared = mod is not None
        self._names = NameSupply(self._mod.names)
        self._scopes: list[Scope] = []
        self._open: list[OpenScope] = []
        self._frames: list[_Frame] = []
        self._remap: dict[SSAValue, Expr] = {}
        self._exported: dict[SSAValue, SSAValue] = {}
        self._by_hash: dict[int, list[GlobalVar]] | None = None
        self.loop_depth = 0
        self.remembers = False
        """Whether what it puts right is remembered: `well_formed` speaks of what was written."""

    # The module.

    def get(self) -> IRModule:
        """Return the current module; it does not change when more is built."""
        self._shared = True
        return self._mod

    def finalize(self) -> IRModule:
        """Like `get`."""
        return self.get()

    def _own_module(self) -> IRModule:
        if self._shared:
            self._mod = self._mod.clone()
            self._shared = False
        return self._mod

    def update_func(self, gv: GlobalVar, updated_func: BaseFunc) -> None:
        """Replace the function called `gv`."""
        self._own_module().update_func(gv, updated_func)
        self._by_hash = None

    def add_func(self, func: BaseFunc, func_name: str) -> GlobalVar:
        """Add a function under a new name derived from `func_name`; an equal private function is reused.

        Raises `TiraxError` for objects that a module cannot contain.
        """
        require_function(func)
        if func.private:
            shared = self._same_function(func)
            if shared is not None:
                return shared
        gv = self._declare(self._fresh(func_name))
        self._own_module().update_func(gv, func)
        gv = self._mod.get_global_var(gv.name_hint)
        if self._by_hash is not None and func.private:
            self._by_hash.setdefault(structural_hash(self._mod[gv].op), []).append(gv)
        return gv

    def _declare(self, name: str) -> GlobalVar:
        return GlobalVar(name)

    def _same_function(self, func: BaseFunc) -> GlobalVar | None:
        if self._by_hash is None:
            self._by_hash = {}
            for gv, known in self._mod.functions.items():
                if known.private:
                    self._by_hash.setdefault(structural_hash(known.op), []).append(gv)
        for gv in self._by_hash.get(structural_hash(func.op), ()):
            if structural_equal(self._mod[gv].op, func.op):
                return gv
        return None

    # Functions.

    @contextmanager
    def function(
        self,
        name: str,
        params: Sequence[Var] | Var | None = None,
        attrs: Mapping[str, Any] | None = None,
        pure: bool = True,
        private: bool = False,
    ) -> Iterator[None]:
        """Build a function; `emit_func_output` ends it. Raises `TiraxError` if that is missing."""
        handles = None if params is None else _params(params)
        frame = _Frame(name, dict(attrs or {}), pure, private, handles is not None)
        self._frames.append(frame)
        depth = len(self._scopes)
        self._scopes.append(Scope(Block()))
        if handles is not None:
            self._take_params(handles)
        try:
            yield
            if frame.func is None:
                raise TiraxError(f"the function {name} has no result", hint="emit_func_output must be called in it")
        finally:
            self._frames.pop()
            del self._scopes[depth:]

    def _take_params(self, params: Sequence[Var]) -> None:
        """Make the variables block arguments of the function: their handles refer to these from now on."""
        for old, new in take_params(self._scopes[-1].block, params).items():
            self._remap[old] = Var.on(new)

    @contextmanager
    def at_head(self) -> Iterator[None]:
        """Build bindings at the head of the current function, outside of dataflow blocks.

        Raises `TiraxError` inside a local function.
        """
        if len(self._frames) != 1:
            raise TiraxError("only the outermost function has a head to build at")
        head = self._scopes[0].block
        with self.begin_scope() as block:
            yield
        first = head.first_op
        for op in list(block.ops):
            op.detach()
            if first is None:
                head.add_op(op)
            else:
                head.insert_op_before(op, first)

    @contextmanager
    def in_loop(self) -> Iterator[None]:
        """Build code that runs repeatedly: `loop_depth` counts the enclosing loops."""
        self.loop_depth += 1
        try:
            yield
        finally:
            self.loop_depth -= 1

    def mark_impure(self) -> None:
        """Mark the current function as one with effects."""
        self._frames[-1].pure = False

    def emit_func_output(self, output: Any, params: Sequence[Var] | Var | None = None) -> GlobalVar:
        """End the function with its result; the parameters can be given here if they were not before.

        The function is added to the module; returns its `GlobalVar`. Raises `TiraxError` if the parameters are missing
        or given twice, inside a dataflow block and for a second result; `VerifyError` if a binding is used where it is
        not visible. A free variable that is not a parameter is rejected by the verifier of the module.
        """
        if not self._frames:
            raise TiraxError("emit_func_output stands in a function", hint="with bb.function(…):")
        frame, scope = self._frames[-1], self._scopes[-1]
        if scope.dataflow is not None:
            raise TiraxError("emit_func_output stands outside of the dataflow block")
        if frame.func is not None:
            raise TiraxError(f"the function {frame.name} has a result already")
        if params is not None and frame.has_params:
            raise TiraxError("the parameters of the function were given already")
        if params is None and not frame.has_params:
            raise TiraxError("the parameters of the function were never given", hint="emit_func_output(…, params=[…])")
        value = self.place(to_expr(output))
        if params is not None:
            self._take_params(_params(params))
            value = self._resolve(value)
        fresh, own = self._fresh(frame.name), identifier(frame.name)
        # a variable of this name may be in it
        gv = self._declare(own if own and own not in self._mod.names else fresh)
        op = finish_function(gv.name_hint, scope.block, value, None, frame.pure, frame.attrs, frame.private)
        check_dominance(op, is_free=lambda value, _: isinstance(value, BlockArgument))
        frame.func = Function.on(op)
        self._own_module().update_func(gv, frame.func)
        self._by_hash = None
        return self._mod.get_global_var(gv.name_hint)

    # Scopes.

    @property
    def scope(self) -> Scope:
        """The innermost scope. Raises `TiraxError` outside of functions."""
        if not self._scopes:
            raise TiraxError("there is no function to build in", hint="with bb.function(…):")
        return self._scopes[-1]

    def known_functions(self) -> dict[str, FunctionOp]:
        """Return the functions built so far, by name."""
        return functions(self._mod.op)

    def visible_variables(self) -> set[SymbolicVar]:
        """Return the symbolic variables used by the code around the innermost scope."""
        types: dict[Attribute, None] = {}
        for block in {id(scope.block): scope.block for scope in self._scopes}.values():
            types |= {a.type: None for a in block.args}
            types |= {r.type: None for op in block.walk() for r in op.results}
        return set(relax.free_symbolic_vars(types))

    def begin_scope(self, params: Sequence[Var] | None = None) -> OpenScope:
        """Open a separate block, with `params` as its arguments, until `end_scope`.

        `with bb.begin_scope() as block:` closes it automatically.
        """
        opened = OpenScope(self._scopes, Block())
        try:
            self._take_params(params or ())
        except TiraxError:
            opened.close()
            raise
        self._open.append(opened)
        return opened

    def end_scope(self) -> None:
        """Close the innermost scope opened by `begin_scope`. Raises `TiraxError` if there is none."""
        while self._open:
            opened = self._open.pop()
            if opened.is_open:
                opened.close()
                return
        raise TiraxError("end_scope ends no scope", hint="begin_scope begins one")

    @contextmanager
    def testing_scope(self, def_vars: Sequence[Any]) -> Iterator[None]:
        """Build outside of a function, for tests; the symbolic variables `def_vars` count as defined."""
        with self.begin_scope([Var("shape_var", ShapeStructInfo(def_vars))]):
            yield

    def current_block_is_dataflow(self) -> bool:
        """Return whether bindings currently go into a dataflow block."""
        return bool(self._scopes) and self._scopes[-1].dataflow is not None

    @contextmanager
    def dataflow(self) -> Iterator[None]:
        """Build a dataflow block; results of `emit_output` are visible after it."""
        self._begin_dataflow_block()
        yield
        self._end_block()

    def _around(self) -> Scope:
        """Return the scope that contains a block of bindings, a new one outside of functions."""
        if not self._scopes:
            self._scopes.append(Scope(Block(), detached=True))
        return self._scopes[-1]

    def _begin_dataflow_block(self) -> None:
        scope = self._around()
        if scope.dataflow is not None:
            raise TiraxError("dataflow blocks do not nest")
        op = relax.DataflowOp(Region(Block()))
        scope.block.add_op(op)
        self._scopes.append(Scope(op.body.block, op))

    def _begin_binding_block(self) -> None:
        outer = self._around()
        self._scopes.append(Scope(outer.block, None, first=outer.block.last_op))

    def _end_block(self) -> BindingBlock:
        """End the current block and return its handle."""
        scope = self._scopes.pop()
        if self._scopes and self._scopes[-1].detached:
            self._scopes.pop()
        if scope.dataflow is None:
            after = scope.block.first_op if scope.first is None else scope.first.next_op
            return BindingBlock(_ops_from(after))
        return self._close_dataflow(scope, scope.dataflow)

    def _close_dataflow(self, scope: Scope, old: relax.DataflowOp) -> DataflowBlock:
        scope.block.add_op(relax.OutputOp([inner for inner, _ in scope.outputs]))
        new = relax.DataflowOp(old.detach_region(0))
        outer = cast(Block, old.parent)
        outer.insert_op_before(new, old)
        old.detach()
        for result, (inner, handle) in zip(new.outputs, scope.outputs, strict=True):
            set_name(result, handle.name_hint if isinstance(handle, PendingOutput) else name_of(inner))
            handle.point_at(result)
            self._exported.setdefault(inner, result)
        return DataflowBlock(new)

    # Bindings.

    def emit(self, expr: Any, name_hint: str = "") -> Var:
        """Bind an expression to a new variable (`lv` in a dataflow block, `gv` outside) and return the variable."""
        return cast(Var, expr_of(self._bind(to_expr(expr), lambda: self._fresh(name_hint))))

    def emit_output(self, output: Any, name_hint: str = "") -> Var:
        """Bind an expression to a variable that is visible after the dataflow block."""
        scope = self.scope
        if scope.dataflow is None:
            raise TiraxError("emit_output is allowed in a dataflow block only", hint="with bb.dataflow():")
        return self._output(to_expr(output), lambda: self._fresh(name_hint or "gv"))

    def _output(self, expr: Expr, name: Callable[[], str]) -> Var:
        if isinstance(expr, Var):
            inner, hint = self._resolve(expr.ssa), name()
        else:
            inner = self._bind(expr, name)
            hint = name_of(inner) or ""
        handle = PendingOutput(inner, hint)
        self.scope.outputs.append((inner, handle))
        return handle

    def export(self, var: Var) -> Var:
        """Make a variable of the dataflow block visible after it, by its own name."""
        return self._output(var, lambda: var.name_hint)

    def order_outputs(self, handles: Sequence[Expr | None]) -> None:
        """Sort the outputs of the current dataflow block by `handles`; others follow in their order."""
        position = {id(handle): i for i, handle in enumerate(handles)}
        self.scope.outputs.sort(key=lambda output: position.get(id(output[1]), len(position)))

    def match_cast(self, value: Any, struct_info: Any, name_hint: str = "") -> Var:
        """Check at run time that a value is of `struct_info`, which may bind new symbolic variables."""
        op = relax.MatchCastOp(self.place(to_expr(value)), type_of(struct_info))
        return cast(Var, expr_of(self._insert(op, self._fresh(name_hint))))

    def emit_normalized(self, binding: VarBinding | MatchCast) -> Var:
        """Emit a binding whose variable was created by the caller; the variable's handle then refers to the
        emitted value.
        """
        var = binding.var
        again = var.ssa in self._remap
        emitted = self.emit_binding(binding, binding.value)
        if self.remembers:
            self._remember_binding(var, emitted, again)
        self._remap[var.ssa] = emitted
        closure = emitted.ssa.owner
        if isinstance(closure, relax.ClosureOp):  # it may use itself by the variable that it is bound to
            var.ssa.replace_uses_with_if(emitted.ssa, lambda use: closure.is_ancestor(use.operation))
        return emitted

    def _remember_binding(self, var: Var, emitted: Var, again: bool) -> None:
        op = emitted.ssa.owner
        if not isinstance(op, Operation):
            return
        memory = remember(op)
        memory.declared = var.ssa.type
        if again:
            memory.broken.append((VariableDefinedTwice, f"the variable '{var.name_hint}' is bound twice"))
        if isinstance(var, DataflowVar) and self.scope.dataflow is None:
            message = f"the dataflow variable '{var.name_hint}' is bound outside of a dataflow block"
            memory.broken.append((DataflowVariableOutside, message))

    def _remember_nested(self, value: SSAValue) -> None:
        if self.remembers and isinstance(value, OpResult):
            message = f"{value.op.name} stands where a variable is expected"
            remember(value.op).broken.append((NestedCall, message))

    def emit_block(self, block: BindingBlock) -> BindingBlock:
        """Emit the bindings of a block; its variables then refer to the emitted values."""
        if isinstance(block, DataflowBlock):
            self._begin_dataflow_block()
        else:
            self._begin_binding_block()
        for binding in block.bindings:
            self.emit_normalized(cast("VarBinding | MatchCast", binding))
        return self._end_block()

    def emit_binding(self, binding: VarBinding | MatchCast, value: Expr) -> Var:
        """Emit a binding like `binding` with `value`, under the same name."""
        old = binding.var.ssa
        emitted = self._emit_like(binding, value)
        if emitted.ssa.type == old.type:
            remember_declared(old, emitted.ssa)
        return emitted

    def _emit_like(self, binding: VarBinding | MatchCast, value: Expr) -> Var:
        name, in_dataflow = binding.var.name_hint, self.scope.dataflow is not None
        self._names.reserve(name)
        if isinstance(binding, MatchCast):
            op = relax.MatchCastOp(self.place(value), binding.struct_info.type)
            emitted = cast(Var, expr_of(self._insert(op, name)))
            return (
                self._output(emitted, lambda: name)
                if in_dataflow and not isinstance(binding.var, DataflowVar)
                else emitted
            )
        if in_dataflow and not isinstance(binding.var, DataflowVar):
            if isinstance(binding.var.ssa.owner, relax.BindOp) and isinstance(value, Var):
                value = Var.on(self._bind(value, lambda: name))
            return self._output(value, lambda: name)
        named = name_of(binding.var.ssa) is not None
        return cast(Var, expr_of(self._bind(value, lambda: name if named else None)))

    def normalize(self, expr: Any) -> Expr:
        """Return the expression with its operands bound, without binding it."""
        normal = self._in_normal_form(to_expr(expr))
        if isinstance(normal, Function | SeqExpr):
            return normal
        value = normal.ssa
        if isinstance(value, OpResult) and value.op.parent is None and not relax.is_inline(value.op):
            scope = self._around()
            self._place_operands(value.op)
            if scope.detached:
                self._scopes.pop()
        return normal

    def lookup_binding(self, var: Var) -> Expr | None:
        """Return the value that a variable is bound to, or None for a parameter."""
        value = canonical(self._resolve(var.ssa))
        if not isinstance(value, OpResult):
            return None
        if isinstance(value.op, relax.DataflowOp):
            return expr_of(value.op.output_op.values_[value.index])
        return bound_expr(value.op)

    def get_unique_name(self, name_prefix: str) -> str:
        """Return an unused name that begins with `name_prefix`."""
        return self._fresh(name_prefix)

    def set_remap(self, old: SSAValue, new: Expr) -> None:
        """Replace `old` by `new` in everything placed from now on."""
        self._remap[old] = new

    def get_remap(self, old: SSAValue) -> Expr | None:
        """Return the replacement of `old`, or None."""
        replacement = self._remap.get(old)
        return self._remap.get(canonical(old)) if replacement is None else replacement

    def _fresh(self, hint: str) -> str:
        return self._names.fresh(identifier(hint) or ("gv" if self.scope.dataflow is None else "lv"))

    # Placing.

    def _resolve(self, value: SSAValue) -> SSAValue:
        new = self.get_remap(value)
        value = value if new is None else new.ssa
        return self._exported.get(value, value)

    def resolve(self, expr: Expr) -> SSAValue:
        """Return the current value of `expr`, without inserting anything."""
        return self._resolve(expr.ssa)

    def place(self, expr: Expr) -> SSAValue:
        """Return the value of `expr` here: leaves are copied, unbound calls are bound to new variables."""
        value = self._resolve(expr.ssa)
        if not isinstance(value, OpResult):
            return value
        if relax.is_inline(value.op):
            return self._insert_inline(value.op)
        if value.op.parent is not None:
            return value
        bound = self._bind(expr, lambda: self._fresh(""))
        self._remember_nested(bound)
        return bound

    def _bind(self, expr: Expr, name: Callable[[], str | None]) -> SSAValue:
        """Bind `expr` to a variable; `name` is called after the operands have been named."""
        expr = self._in_normal_form(expr)
        if isinstance(expr, Var):
            return self._insert(relax.BindOp(self.place(expr)), name())
        if isinstance(expr, Function):
            return self._insert(self._local_function(expr), name())
        op = cast(OpResult, expr.ssa).op
        if op.parent is not None:
            op = self._copy(op)
        elif op.regions:
            self._resolve_inside(op)
        self._place_operands(op)
        return self._insert(op, name())

    def _in_normal_form(self, expr: Expr) -> Expr:
        """Return the normal form of a call whose operator defines one; anything else unchanged."""
        name = ""
        for _ in range(MOST_STEPS):
            if not isinstance(expr, Call):
                return expr
            name = expr.op_handle.name
            function = own_function(name, NORMALIZE)
            normal = expr if function is None else to_expr(function(self, expr))
            if normal.ssa is expr.ssa:
                return expr
            expr = normal
        raise endless(name)

    def _copy(self, op: Operation) -> Operation:
        """Return a copy of an op, whose regions use the current values of variables from outside."""
        inside = (v for inner in op.walk() if inner is not op for v in inner.operands)
        return op.clone({v: new for v in inside if (new := self._resolve(v)) is not v})

    def _resolve_inside(self, op: Operation) -> None:
        """Replace the operands of ops in the regions of a detached op by their current values."""
        for inner in op.walk():
            if inner is not op:
                for i, v in enumerate(inner.operands):
                    new = self._resolve(v)
                    if new is not v:
                        inner.operands[i] = new

    def _local_function(self, func: Function) -> relax.ClosureOp:
        op = func.op if func.op.parent is None and func.is_local else self._copy(func.op)
        if isinstance(op, relax.ClosureOp):
            return op
        assert isinstance(op, relax.FuncOp)
        return relax.ClosureOp(op.detach_region(0), op.ret_type, attrs=op.func_attrs, pure=op.impure is None)

    def _insert(self, op: Operation, name: str | None) -> SSAValue:
        self.scope.block.add_op(op)
        set_name(op.results[0], name)
        return op.results[0]

    def _insert_inline(self, op: Operation) -> SSAValue:
        if op.parent is not None:
            op = op.clone()
        self._place_operands(op)
        return self._insert(op, None)

    def _place_operands(self, op: Operation) -> None:
        """Place the operands of a detached op, detached ones first, and infer its result type again."""
        stack: list[Operation] = [op]
        while stack:
            last = stack[-1]
            pending = [d for v in last.operands if (d := self._detached(v)) is not None]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            if last.parent is None:
                self._resolve_inside(last)
                _set_operands(last, [self._operand(v) for v in last.operands])
                if last is not op:
                    self._remember_nested(self._insert(last, self._fresh("")))

    def _detached(self, value: SSAValue) -> Operation | None:
        value = self._resolve(value)
        if not isinstance(value, OpResult) or value.op.parent is not None or relax.is_inline(value.op):
            return None
        return value.op

    def _operand(self, value: SSAValue) -> SSAValue:
        value = self._resolve(value)
        return self._insert_inline(value.op) if isinstance(value, OpResult) and relax.is_inline(value.op) else value


def _params(params: Any) -> Sequence[Var]:
    """Return parameters passed as one variable, a sequence or a `Tuple` of variables."""
    if isinstance(params, Var):
        return [params]
    return cast("Sequence[Var]", params.fields if isinstance(params, Tuple) else params)


def _ops_from(op: Operation | None) -> Iterator[Operation]:
    while op is not None:
        yield op
        op = op.next_op


def _set_operands(op: Operation, operands: Sequence[SSAValue]) -> None:
    retyped = any(new.type != old.type for new, old in zip(operands, op.operands, strict=True))
    op.operands = operands
    if retyped or (isinstance(op, relax.Operator) and op.result_type == relax.OBJECT):
        infer_again(op)


def module_of(mod: IRModule | ModuleOp | None) -> IRModule | None:
    """Return the handle of a module that is a handle or an op."""
    return IRModule(mod) if isinstance(mod, ModuleOp) else mod
