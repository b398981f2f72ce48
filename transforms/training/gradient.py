"""Reverse-mode differentiation of Relax functions."""

# pyright: reportUnusedImport=false
# Rule files are imported for their registrations.

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TupleType
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...diagnostics import DTypeError, TiraxError, UnsupportedError, unknown_name
from ...dialects import relax
from ...dialects.dtypes import is_float
from ...dialects.names import name_of, set_name
from ...dialects.relax.grad import EndCheckpoint, StartCheckpoint
from ...dialects.relax.registered import GRADIENT, MISSING, own_function, registered
from ...dialects.relax.types import TensorType, tuple_type
from ...handles.relax.expr import Expr, Tuple, Var
from ...ir.functions.lookup import functions, ops_of_type, relax_functions
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase, insert_before
from . import elementwise, linear_algebra, manipulation, nn, reduction, windows  # noqa: F401
from .blocks import bind_outputs, dataflow_block, make_unique
from .expressions import Tape, added, call, discard, field, handle, is_differentiable, shape, zeros, zeros_like
from .gradient_rules import CONSTANT, GRADIENTS, GradientRule, Site
from .on_handles import rule_on_handles
from .te_gradients import te_gradient


def remove_marks(block: Block) -> set[SSAValue]:
    """Remove checkpoint markers from a block, and return the values to be recomputed."""
    inside = set[SSAValue]()
    kept = set[SSAValue]()
    opened = set[SSAValue]()
    marks: list[Operation] = []
    for op in block.ops:
        if isinstance(op, StartCheckpoint):
            opened.add(op.results[0])
            kept.add(op.operands[0])
            marks.append(op)
        elif isinstance(op, EndCheckpoint):
            marks.append(op)
        elif not isinstance(op, relax.OutputOp) and any(v in opened for v in op.operands):
            opened.update(op.results)
            inside.update(op.results)
    for op in marks:
        source = op.operands[0]
        if name_of(source) is None:
            set_name(source, name_of(op.results[0]))
        if op.results[0] in kept:
            kept.add(source)
        op.results[0].replace_all_uses_with(source)
        erase(op)
    return inside - kept


class Recomputation:
    """Provider of the values that the gradient uses: stored ones unchanged, copies of the others."""

    def __init__(self, tape: Tape, inside: set[SSAValue]):
        self._tape, self._inside = tape, inside
        self._copies: dict[SSAValue, SSAValue] = {}

    def value(self, value: SSAValue) -> SSAValue:
        """Return the value, or its copy after recomputing it and everything it needs."""
        stack = [value]
        while stack:
            last = stack[-1]
            if last not in self._inside or last in self._copies or not isinstance(last, OpResult):
                stack.pop()
                continue
            missing = [v for v in reversed(last.op.operands) if v in self._inside and v not in self._copies]
            if missing:
                stack += missing
                continue
            stack.pop()
            self._copy(last.op)
        return self._copies.get(value, value)

    def _copy(self, op: Operation) -> None:
        new = op.clone({v: self._copies[v] for v in op.operands if v in self._copies})
        name = name_of(op.results[0])
        self._tape.insert(new, None if name is None else f"{name}_cp")
        self._copies[op.results[0]] = new.results[0]


@dataclass(frozen=True)
class Gradient(Pass):
    """Add `f_adjoint`, which returns the results of the function `f` and the gradients of one of them.

    def f(x, y): …; return z  ->  def f_adjoint(x, y): …; return (z, (x_adjoint, y_adjoint))

    `func_name`: the function; it has a single dataflow block, and returns a value of it or a tuple of such values.
    `require_grads`: parameters and variables of the block, or their names, by default all parameters. `target_index`:
    the field of the result that is differentiated, a floating-point scalar. The gradient of an integer is zeros. Parts
    between `grad.start_checkpoint` and `grad.end_checkpoint` are recomputed rather than stored.

    Raises `UnsupportedError`, which lists every operator on the path that has no gradient.
    """

    name = "gradient"
    func_name: str
    require_grads: tuple[str, ...] | None = None
    target_index: int = 0

    def __init__(self, func_name: str, require_grads: Any = None, target_index: int = 0):
        object.__setattr__(self, "func_name", func_name)
        object.__setattr__(self, "require_grads", _names(require_grads))
        object.__setattr__(self, "target_index", target_index)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        func = relax_functions(op, self.func_name)[0]
        taken = functions(op)
        name = f"{self.func_name}_adjoint"
        if name in taken:
            raise TiraxError(f"there is a function '{name}' already", location=location_of(taken[name]))
        adjoint = func.clone()
        op.body.block.insert_op_after(adjoint, func)
        try:
            _differentiate(adjoint, self.require_grads, self.target_index)
        except TiraxError:
            adjoint.detach()
            raise
        adjoint.sym_name, adjoint.sym_visibility = StringAttr(name), None


def _names(params: Any) -> tuple[str, ...] | None:
    """Return the names of parameters, given as variables or names. Raises `TiraxError` for a duplicate."""
    if params is None:
        return None
    items = [params] if isinstance(params, Var | str) else list(cast("Sequence[Any]", params))
    names = tuple(v if isinstance(v, str) else v.name_hint for v in items)
    for n in names:
        if names.count(n) > 1:
            raise TiraxError(f"the parameter '{n}' is given twice", found=", ".join(names))
    return names


def _differentiate(func: relax.FuncOp, names: tuple[str, ...] | None, target_index: int) -> None:
    dataflow = dataflow_block(func)
    target = _target(func, dataflow, target_index)
    bind_outputs(dataflow)
    params = _required(func, dataflow, names)
    inside = remove_marks(dataflow.body.block)
    end = dataflow.output_op
    seed = end.values_[dataflow.outputs.index(target)]
    backward = _Backward(end, params, inside)
    backward.run(seed)
    gradients = backward.results()
    _finish(func, dataflow, gradients)
    _forget_gradients(func)
    make_unique(func, set(backward.tape.placed))


def _forget_gradients(func: relax.FuncOp) -> None:
    """`call_tir_with_grad` -> `call_tir`: the names of gradients are no longer needed."""
    for op in ops_of_type(func, relax.CallTIROp):
        op.te_grad_name = op.te_grad_kwargs = None


def _required(func: relax.FuncOp, dataflow: relax.DataflowOp, names: tuple[str, ...] | None) -> list[SSAValue]:
    """Return the parameters and variables to differentiate by. Raises if one is unknown or is not a tensor."""
    if names is None:
        return [p for p in func.params if _is_tensors(p.type)]
    known: dict[str, SSAValue] = {name_of(r) or "": r for op in dataflow.body.block.ops for r in op.results}
    known.update((name_of(r) or "", v) for r, v in zip(dataflow.outputs, dataflow.output_op.values_, strict=True))
    known.update((name_of(p) or "", p) for p in func.params)
    out: list[SSAValue] = []
    for n in names:
        if n not in known:
            raise unknown_name(f"variable of '{func.sym_name.data}'", n, known, location_of(func))
        if not _is_tensors(known[n].type):
            raise DTypeError(f"'{n}' is no tensor", expected="tensors", found=known[n].type)
        out.append(known[n])
    return out


def _takes(value: SSAValue) -> bool:
    """Return whether a gradient can be added to a value, or to a field of an inline tuple."""
    owner = value.owner
    if isinstance(owner, relax.TupleOp) and relax.is_inline(owner):
        return any(map(_takes, owner.fields_))
    return is_differentiable(value.type) and not isinstance(owner, relax.LEAVES)


def _is_tensors(t: Attribute) -> bool:
    return all(map(_is_tensors, t.types)) if isinstance(t, TupleType) else isinstance(t, TensorType)


def _target(func: relax.FuncOp, dataflow: relax.DataflowOp, index: int) -> Any:
    """Return the output of the dataflow block to differentiate. Raises if it is not one, or not a float scalar."""
    value = func.return_op.value
    owner = value.owner
    fields = list(owner.fields_) if isinstance(owner, relax.TupleOp) else [value]
    place = location_of(func.return_op)
    if not 0 <= index < len(fields):
        raise TiraxError(
            "target_index is out of range", location=place, expected=f"from 0 to {len(fields) - 1}", found=index
        )
    target = fields[index]
    t = target.type
    if not (isinstance(t, TensorType) and t.rank == 0 and t.element is not None and is_float(t.element)):
        raise DTypeError(
            "only a scalar can be differentiated", location=place, expected="a tensor of floats of rank 0", found=t
        )
    if target.owner is not dataflow:
        raise TiraxError(
            "the target is no output of the dataflow block", location=place, found=name_of(target) or str(t)
        )
    return target


class _Backward:
    """Backward pass over the bindings of a block, which accumulates the gradients of operands."""

    def __init__(self, end: relax.OutputOp, params: Sequence[SSAValue], inside: set[SSAValue]):
        self.tape = Tape(end)
        self._params = params
        self._again = Recomputation(self.tape, inside)
        self._adjoints: dict[SSAValue, SSAValue] = {}
        self._problems: list[tuple[Operation, str]] = []
        block = end.parent
        assert block is not None
        self._bindings = [op for op in block.ops if op is not end]
        self._varied = self._dependent_values(params)

    def _dependent_values(self, params: Sequence[SSAValue]) -> set[SSAValue]:
        """Return the values that depend on the parameters and have gradients."""
        reached = {p for p in params if is_differentiable(p.type)}
        for op in self._bindings:
            if not _is_constant(op.name) and any(v in reached for v in op.operands):
                reached.update(r for r in op.results if is_differentiable(r.type))
        return reached

    def run(self, target: SSAValue) -> None:
        """Compute the gradients. Raises `UnsupportedError` with all operators that have none."""
        seed = call("ones", shape([]), dtype=cast(TensorType, target.type).element)
        self._adjoints[target] = self.tape.bind(seed, f"{name_of(target)}_adjoint")
        for op in reversed(self._bindings):
            result = op.results[0]
            if result in self._adjoints and result in self._varied:
                self._binding(op)
        if self._problems:
            self._fail()

    def _fail(self) -> None:
        where = [(location_of(op), text) for op, text in reversed(self._problems)]
        kinds = {type(op) for op, _ in self._problems}
        raise UnsupportedError(
            where[0][1],
            location=where[0][0],
            hint=next((hint for kind, hint in _HINTS.items() if kind in kinds), "grad.no_grad marks what is constant"),
            notes=[text if place is None else f"{place}: {text}" for place, text in where[1:]],
        )

    def _binding(self, op: Operation) -> None:
        step = _STEPS.get(type(op), _Backward._operator)
        try:
            step(self, op, handle(self._adjoints[op.results[0]]))
        except UnsupportedError as error:
            self._problems.append((op, error.message))
            for value in op.operands:  # so that earlier errors are reported, too
                if value in self._varied and not isinstance(value.owner, relax.WhileLoop):
                    self.add(value, _nothing(handle(value)))

    def _operator(self, op: Operation, grad: Expr) -> None:
        rule = self._rule(op.name) if isinstance(op, relax.Operator) else None
        if rule is None or not isinstance(op, relax.Operator):
            raise UnsupportedError(f"{op.name} has no gradient")
        unknown = [v for v in (*op.operands, op.results[0]) if not _known(v.type)]
        if unknown:
            raise UnsupportedError(f"{op.name} has no gradient where a shape is unknown, that of {_called(unknown[0])}")
        args = [self._argument(a) for a in op.args]
        out = handle(self._again.value(op.results[0]))
        by_argument = rule(Site(op, grad, out, args, self.tape.normalize))
        for arg, gradients in zip(op.args, by_argument, strict=False):
            self._add_all(arg, gradients)

    def _rule(self, operator: str) -> GradientRule | None:
        """Return the rule of an operator: a user's registration, else that of this package."""
        if registered(operator, GRADIENT) is MISSING:
            return GRADIENTS.get(operator.removeprefix("relax."))
        custom = own_function(operator, GRADIENT)
        return None if custom is None else rule_on_handles(custom, self.tape)

    def _argument(self, arg: SSAValue | Sequence[SSAValue] | None) -> Any:
        if arg is None:
            return None
        if isinstance(arg, Sequence):
            return [handle(self._again.value(v)) for v in arg]
        return handle(self._again.value(arg))

    def _add_all(self, arg: SSAValue | Sequence[SSAValue] | None, gradients: Expr | list[Expr] | None) -> None:
        if arg is None or gradients is None:
            return
        if isinstance(arg, SSAValue):
            assert isinstance(gradients, Expr)
            self.add(arg, gradients)
            return
        assert isinstance(gradients, list)
        for value, gradient in zip(arg, gradients, strict=True):
            self.add(value, gradient)

    def _bound(self, op: Operation, grad: Expr) -> None:
        self.add(op.operands[0], grad)

    def _tuple(self, op: Operation, grad: Expr) -> None:
        for i, value in enumerate(op.operands):
            if is_differentiable(value.type):
                self.add(value, field(grad, i))

    def _field(self, op: Operation, grad: Expr) -> None:
        item = cast(relax.TupleGetItemOp, op)
        source, index = item.tuple_, item.index.data
        if isinstance(source.owner, relax.WhileLoop):
            raise UnsupportedError(f"{relax.WhileLoop.name} has no gradient")
        if isinstance(source.owner, relax.TupleOp) and relax.is_inline(source.owner):
            self.add(source.owner.fields_[index], grad)
            return
        types = cast(TupleType, source.type).types.data
        known = self._adjoints.get(source)
        if known is None:
            parts = [grad if i == index else zeros(t) for i, t in enumerate(types)]
        else:
            old = handle(known)
            parts = [added(field(old, i), grad) if i == index else field(old, i) for i in range(len(types))]
        self._adjoints[source] = self.tape.bind(Tuple(parts), f"{name_of(source)}_adjoint")

    def _tensor_function(self, op: Operation, grad: Expr) -> None:
        tir_call = cast(relax.CallTIROp, op)
        if tir_call.te_grad_name is None:
            raise UnsupportedError(f"{op.name} of @{tir_call.callee_name} has no gradient")
        args = [handle(self._again.value(v)) for v in tir_call.args]
        for value, gradient in zip(tir_call.args, te_gradient(tir_call, grad, args, self.tape), strict=True):
            self.add(value, gradient)

    def add(self, value: SSAValue, gradient: Expr) -> None:
        """Add to the gradient of a value, if it has one."""
        owner = value.owner
        if not is_differentiable(value.type) or isinstance(owner, relax.LEAVES):
            discard(gradient)
        elif isinstance(owner, relax.TupleOp) and relax.is_inline(owner):
            fields = [(i, inner) for i, inner in enumerate(owner.fields_) if _takes(inner)]
            if not fields:
                discard(gradient)
            for i, inner in fields:
                self.add(inner, field(gradient, i))
        else:
            known = self._adjoints.get(value)
            total = gradient if known is None else added(handle(known), gradient)
            self._adjoints[value] = self.tape.bind(total, f"{name_of(value)}_adjoint")

    def results(self) -> list[SSAValue]:
        """Return the gradients of the parameters, bound to `x_adjoint_out`."""
        results: list[SSAValue] = []
        for p in self._params:
            name = f"{name_of(p)}_adjoint"
            adjoint = self._adjoints.get(p)
            if adjoint is None:
                adjoint = self.tape.bind(zeros(p.type) if _known(p.type) else _nothing(handle(p)), name)
            results.append(self.tape.bind(handle(adjoint), f"{name}_out"))
        return results


_STEPS: dict[type[Operation], Callable[[_Backward, Any, Expr], None]] = {
    relax.BindOp: _Backward._bound,  # pyright: ignore[reportPrivateUsage]
    relax.MatchCastOp: _Backward._bound,  # pyright: ignore[reportPrivateUsage]
    relax.TupleOp: _Backward._tuple,  # pyright: ignore[reportPrivateUsage]
    relax.TupleGetItemOp: _Backward._field,  # pyright: ignore[reportPrivateUsage]
    relax.CallTIROp: _Backward._tensor_function,  # pyright: ignore[reportPrivateUsage]
}


_HINTS: dict[type[Operation], str] = {
    relax.CallOp: "InlinePrivateFunctions puts a function where it is called",
    relax.CallTIROp: "call_tir_with_grad names the gradient of a tensor function; differentiate before LegalizeOps",
}
"""Hints for operations without a gradient."""


def _is_constant(operator: str) -> bool:
    """Return whether no gradient flows through an operator."""
    return operator.removeprefix("relax.") in CONSTANT and own_function(operator, GRADIENT) is None


def _nothing(x: Expr) -> Expr:
    """Return zeros like a value of any shape."""
    t = x.ssa.type
    return Tuple([_nothing(field(x, i)) for i in range(len(t.types))]) if isinstance(t, TupleType) else zeros_like(x)


def _known(t: Attribute) -> bool:
    if isinstance(t, TupleType):
        return all(map(_known, t.types))
    return not isinstance(t, TensorType) or (t.dims is not None and t.element is not None)


def _called(value: SSAValue) -> str:
    return f"'{name_of(value)}'" if name_of(value) else str(value.type)


def _finish(func: relax.FuncOp, dataflow: relax.DataflowOp, adjoints: Sequence[SSAValue]) -> None:
    """Make the function return its results together with the gradients."""
    end, block = dataflow.output_op, dataflow.body.block
    names = [name_of(v) for v in adjoints]
    outputs = [*end.values_, *_unbound(adjoints)]
    erase(end)
    block.add_op(relax.OutputOp(outputs))
    dataflow.body.detach_block(block)
    new = relax.DataflowOp(type(dataflow.body)(block))
    insert_before(dataflow, new)
    for old, result in zip(dataflow.outputs, new.outputs, strict=False):
        set_name(result, name_of(old))
        old.replace_all_uses_with(result)
    gradients = new.outputs[len(dataflow.outputs) :]
    for name, result in zip(names, gradients, strict=True):
        set_name(result, name)
    erase(dataflow)
    last = func.return_op
    parts = relax.TupleOp(gradients)
    pair = relax.TupleOp([last.value, parts.result])
    insert_before(last, parts, pair)
    last.operands[0] = pair.result
    bound = set(relax.free_symbolic_vars(p.type for p in func.params))
    func.ret_type = tuple_type([func.ret_type, relax.erase_unbound(parts.result.type, bound)])
    remove_dead_bindings(func)


def _unbound(values: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the gradients without the final renaming, which the outputs' names replace."""
    out = list(values)
    for i in reversed(range(len(out))):
        bind = cast(relax.BindOp, out[i].owner)
        if not isinstance(bind.next_op, relax.OutputOp):
            break
        out[i] = bind.value
        erase(bind)
    return out
