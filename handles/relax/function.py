"""Handles on Relax functions, their blocks and bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, cast

from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...ir.rewriting.bind import bind_parameters, bind_symbols
from ..base_func import BaseFunc
from ..struct_info import FuncStructInfo, StructInfo, type_of
from .expr import VIEWS, DataflowVar, Expr, Var, bound_expr, canonical, expr_of


class Function(BaseFunc, Expr):
    """A Relax function of a module, or a local one.

    `Function([x, y], body, ret_struct_info)` creates one that belongs to no module yet.
    """

    __slots__ = ()

    build: ClassVar[Callable[..., Operation]]
    """Builds the operation of a new function; set by `builder`."""

    def __init__(
        self,
        params: Sequence[Var],
        body: Expr,
        ret_struct_info: StructInfo | None = None,
        is_pure: bool = True,
        attrs: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        attributes = dict(attrs or {})
        symbol = attributes.pop("global_symbol", None)
        ret = None if ret_struct_info is None else type_of(ret_struct_info)
        name = "main" if symbol is None else str(symbol)
        self._op = Function.build(name, params, body, ret, is_pure, attributes, private=symbol is None)

    @classmethod
    def on(cls, op: Operation | SSAValue) -> Self:
        return super().on(cast(OpResult, op).op if isinstance(op, SSAValue) else op)

    @property
    def ssa(self) -> SSAValue:
        """The value of a local function. Raises `TiraxError` for a function of the module, which has no value."""
        op = self.op
        if not isinstance(op, relax.ClosureOp):
            raise TiraxError(f"the function {self.name} is no value", hint="use its GlobalVar")
        return op.result

    def as_local(self) -> Function:
        """Return a copy as a local function, which is a value; a local function returns itself."""
        if isinstance(self.op, relax.ClosureOp):
            return self
        func = cast(relax.FuncOp, self.op.clone())
        return Function.on(relax.ClosureOp(func.detach_region(0), func.ret_type, attrs=func.func_attrs, pure=func.pure))

    @property
    def params(self) -> list[Var]:
        return [Var.on(p) for p in self.op.body.block.args]

    @property
    def body(self) -> SeqExpr:
        return SeqExpr(self.op.body.block)

    @property
    def ret_struct_info(self) -> StructInfo:
        return StructInfo.of(self.op.ret_type)

    @property
    def is_pure(self) -> bool:
        return self.op.impure is None

    @property
    def struct_info(self) -> StructInfo:
        op = self.op
        params = [StructInfo.of(p.type) for p in op.body.block.args]
        return FuncStructInfo(params, self.ret_struct_info, self.is_pure)

    def bind_symbolic_vars(self, binding_map: Mapping[Any, Any]) -> Function:
        """Return a copy with symbolic variables replaced: `{"n": 16}`. Raises `NameLookupError` for an unknown
        variable.
        """
        new = self.copy()
        bind_symbols([new.op], binding_map)
        return new

    def bind_params(self, binding_map: Mapping[Any, Any]) -> Function:
        """Return a copy with parameters (by name or variable) replaced by constants. Raises like `BindParams`."""
        new = self.copy()
        bind_parameters(new.op, binding_map)
        return new

    def __repr__(self) -> str:
        return f"Function({self.name})"

    __eq__ = BaseFunc.__eq__
    __hash__ = BaseFunc.__hash__
    same_as = BaseFunc.same_as


class SeqExpr(Expr):
    """Blocks of bindings and their result: the body of a function or of a branch.

    `SeqExpr([block, …], body)` builds one from blocks that belong to no function yet; `SeqExpr(block)` is a handle.
    """

    __slots__ = ("block",)

    build: ClassVar[Callable[..., Block]]
    """Builds the block of a new sequence; set by `builder`."""

    def __init__(self, blocks: Block | Sequence[BindingBlock], body: Any = None, span: object = None):
        self.block = blocks if isinstance(blocks, Block) else SeqExpr.build(blocks, body)
        self._value = None
        self._placed = False

    def _make(self) -> SSAValue:
        return cast(Any, self.block.last_op).value

    def script(self, **options: Any) -> str:
        """Return the bindings and the value as TVMScript, after declarations of the variables that they use."""
        from ...script.printer.relax_fragment import print_relax_sequence

        return print_relax_sequence(self.block, **options)

    @property
    def body(self) -> Expr:
        """The result of the sequence."""
        return expr_of(self.ssa)

    @property
    def blocks(self) -> list[BindingBlock]:
        blocks: list[BindingBlock] = []
        run: list[Operation] = []
        for op in self.block.ops:
            is_dataflow = isinstance(op, relax.DataflowOp)
            if is_dataflow or op is self.block.last_op:
                if any(not relax.is_inline(o) for o in run):
                    blocks.append(BindingBlock(run))
                run = []
            if is_dataflow:
                blocks.append(DataflowBlock(op))
            else:
                run.append(op)
        return blocks


class BindingBlock:
    """Consecutive bindings outside of a dataflow block: of ops in a function, or ones that belong to no function
    yet.
    """

    __slots__ = ("_bindings", "_ops")

    def __init__(self, bindings: Iterable[Operation | Binding] = (), span: object = None):
        parts = list(bindings)
        self._bindings = [b for b in parts if isinstance(b, Binding)]
        self._ops = [op for op in parts if isinstance(op, Operation)]
        if self._bindings and self._ops or len(self._bindings) + len(self._ops) < len(parts):
            raise TiraxError("a block consists of bindings", expected="VarBinding or MatchCast", found=parts)

    def __eq__(self, other: object) -> bool:
        """Return whether both are handles on the same bindings; `structural_equal` compares contents."""
        if not isinstance(other, BindingBlock) or self._bindings or other._bindings:
            return self is other
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(id(self) if self._bindings else self._identity())

    def _identity(self) -> tuple[int, ...]:
        return tuple(map(id, self._ops))

    def script(self, **options: Any) -> str:
        """Return the bindings as TVMScript, after declarations of the variables that they use."""
        return _script(self.bindings, None, options)

    @property
    def detached(self) -> bool:
        """True if the block belongs to no function yet."""
        return bool(self._bindings)

    @property
    def bindings(self) -> list[Binding]:
        """The bindings in order."""
        return list(self._bindings) or [binding_of(op) for op in self._ops if not relax.is_inline(op)]


class DataflowBlock(BindingBlock):
    """A dataflow block; its last bindings are those of outputs whose name differs from the inner value's.

    `DataflowBlock([VarBinding(…), …])` belongs to no function yet: bindings to a `DataflowVar` are local to it,
    bindings to a `Var` are its outputs.
    """

    __slots__ = ("_op",)

    def __init__(self, bindings: relax.DataflowOp | Iterable[Binding], span: object = None):
        self._op = bindings if isinstance(bindings, relax.DataflowOp) else None
        if isinstance(bindings, relax.DataflowOp):
            super().__init__([o for o in bindings.body.block.ops if not isinstance(o, relax.OutputOp)])
        else:
            super().__init__(bindings)

    def _identity(self) -> tuple[int, ...]:
        return (id(self._op),)

    def script(self, **options: Any) -> str:
        """Return the block as TVMScript, after declarations of the variables that it uses."""
        if self._op is not None:
            outputs = list(self._op.output_op.values_)
            inside = [b for b in self.bindings if b.var.ssa.owner is not self._op]
            return _script(inside, outputs, options)
        return _script(self.bindings, [b.var.ssa for b in self.bindings if not isinstance(b.var, DataflowVar)], options)

    @property
    def op(self) -> relax.DataflowOp:
        """The xDSL operation. Raises `TiraxError` for a block that belongs to no function yet."""
        if self._op is None:
            raise TiraxError("the dataflow block belongs to no function yet", hint="make a SeqExpr of it")
        return self._op

    @property
    def detached(self) -> bool:
        return self._op is None

    @property
    def bindings(self) -> list[Binding]:
        bindings = super().bindings
        if self._op is None:
            return bindings
        for outer, inner in zip(self._op.outputs, self._op.output_op.values_, strict=True):
            if canonical(outer) is outer:
                bindings.append(VarBinding(Var.on(outer), expr_of(inner)))
        return bindings


class Binding:
    """A variable and its value."""

    __slots__ = ("value", "var")

    def __init__(self, var: Var, value: Expr, span: object = None):
        self.var = var
        self.value = value

    def script(self, **options: Any) -> str:
        """Return the binding as TVMScript, after declarations of the variables that it uses."""
        return _script([self], None, options)


class VarBinding(Binding):
    """`var = value`."""

    __slots__ = ()


class MatchCast(Binding):
    """`var = R.match_cast(value, struct_info)`."""

    __slots__ = ("struct_info",)

    def __init__(self, var: Var, value: Expr, struct_info: StructInfo, span: object = None):
        super().__init__(var, value)
        self.struct_info = struct_info


def _script(bindings: Iterable[Binding], outputs: Sequence[SSAValue] | None, options: Mapping[str, Any]) -> str:
    from ...script.printer.relax_fragment import print_relax_bindings

    return print_relax_bindings([_parts(b) for b in bindings], outputs, **options)


def _parts(binding: Binding) -> tuple[SSAValue, Operation | SSAValue, Attribute | None]:
    """Return the variable, its value (the op itself if it is bound in a function), and the type it is cast to."""
    variable, value = binding.var.ssa, binding.value
    owner = variable.owner
    if isinstance(owner, Operation) and owner.parent is not None:
        return variable, variable if isinstance(owner, relax.DataflowOp) else owner, None
    cast_to = binding.struct_info.type if isinstance(binding, MatchCast) else None
    return variable, value.ssa if isinstance(value, Var) else value.op_handle, cast_to


def binding_of(op: Operation) -> Binding:
    """Return the binding for an op of a function."""
    result = op.results[0]
    var = expr_of(result)
    if isinstance(op, relax.MatchCastOp):
        return MatchCast(cast(Var, var), expr_of(op.value), StructInfo.of(result.type))
    return VarBinding(cast(Var, var), bound_expr(op))


class If(Expr):
    """A branch: `cond`, `true_branch` and `false_branch`."""

    __slots__ = ()

    build: ClassVar[Callable[[Expr], Block]]
    """Builds the block of a new branch; set by `builder`."""

    def __init__(self, cond: Expr, true_branch: Expr, false_branch: Expr, span: object = None):
        regions = [Region(If.build(branch)) for branch in (true_branch, false_branch)]
        types = [cast(relax.YieldOp, r.block.last_op).value.type for r in regions]
        result = relax.least_common_ancestor(*types)
        self.point_at(relax.IfOp(cond.ssa, result, *regions).result)

    @property
    def _if(self) -> relax.IfOp:
        return cast(relax.IfOp, self.op_handle)

    @property
    def cond(self) -> Expr:
        return expr_of(self._if.cond)

    @property
    def true_branch(self) -> SeqExpr:
        return SeqExpr(self._if.then_region.block)

    @property
    def false_branch(self) -> SeqExpr:
        return SeqExpr(self._if.else_region.block)


VIEWS[relax.ClosureOp] = Function
VIEWS[relax.IfOp] = If
