"""Handles on Relax functions, their blocks and bindings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, cast

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ...diagnostics import TiraxError, unknown_name
from ...dialects import relax, tir
from ...dialects.names import name_of
from ...dialects.relax.operator import PyValue, from_attr, to_attr
from ...dialects.relax.structure import PRIVATE
from ..tir.prim_expr import PrimExpr
from .expr import Expr, StaleHandleError, Var, bound_expr, canonical, expr_of
from .struct_info import FuncStructInfo, StructInfo, type_of

FuncOps = relax.FuncOp | relax.ClosureOp | tir.FuncOp


class DictAttrs(Mapping[str, Any]):
    """Attributes of a function or module as Python values; read only (`with_attr` gives a changed copy)."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]):
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        if name not in self._values:
            raise unknown_name("attribute", name, self._values)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._values:
            raise AttributeError(name)
        return self._values[name]

    def __repr__(self) -> str:
        return f"DictAttrs({self._values})"


class BaseFunc:
    """What handles on Relax and tensor functions share. Changes give a copy, which belongs to no module yet."""

    _op: Operation

    @property
    def op(self) -> Any:
        """The xDSL operation. Raises `StaleHandleError` where a rewrite has removed the function."""
        if self._op.regions[0].parent is None:
            raise StaleHandleError(
                "the handle on a function no longer points at anything",
                hint="a rewrite removed it: get the function again from the module",
            )
        return self._op

    @classmethod
    def on(cls, op: Operation) -> Self:
        """The handle of this class on an operation."""
        view = cls.__new__(cls)
        view._op = op
        return view

    @property
    def name(self) -> str:
        """The name in the module; `main` for a local function."""
        name = self.op.properties.get("sym_name")
        return name.data if isinstance(name, StringAttr) else "main"

    @property
    def private(self) -> bool:
        return self.op.properties.get("sym_visibility") == PRIVATE

    @property
    def attrs(self) -> DictAttrs:
        """The attributes, `global_symbol` among them where the function is not private."""
        attrs = self.op.func_attrs
        found = {} if attrs is None else {k: from_attr(v) for k, v in attrs.data.items()}
        return DictAttrs(found if self.private or self.is_local else {"global_symbol": self.name, **found})

    @property
    def is_local(self) -> bool:
        return isinstance(self.op, relax.ClosureOp)

    def copy(self) -> Self:
        """A copy that belongs to no module."""
        return self.on(self.op.clone())

    def with_attr(self, key_or_attrs: str | Mapping[str, Any], value: Any = None) -> Self:
        """A copy with an attribute (or several) set; `global_symbol` names the function and makes it public."""
        new = self.copy()
        given = {key_or_attrs: value} if isinstance(key_or_attrs, str) else dict(key_or_attrs)
        symbol = given.pop("global_symbol", None)
        if symbol is not None and not new.is_local:
            new.op.properties["sym_name"] = StringAttr(str(symbol))
            new.op.properties.pop("sym_visibility", None)
        new._set_attrs({k: attr_of(v) for k, v in given.items()})
        return new

    def with_attrs(self, attrs: Mapping[str, Any]) -> Self:
        """A copy with attributes set."""
        return self.with_attr(attrs)

    def without_attr(self, key: str) -> Self:
        """A copy without an attribute; without `global_symbol` it is private."""
        new = self.copy()
        if key == "global_symbol":
            new.op.properties["sym_visibility"] = PRIVATE
        else:
            new._set_attrs({key: None})
        return new

    def _set_attrs(self, changes: Mapping[str, Attribute | None]) -> None:
        old = self.op.func_attrs
        merged = {**({} if old is None else old.data), **changes}
        kept = {k: v for k, v in merged.items() if v is not None}
        self.op.func_attrs = DictionaryAttr(kept) if kept else None

    def script(self, **options: Any) -> str:
        """The function as TVMScript; options as those of the printer."""
        from ...script.printer import print_script

        return print_script(self.op, **options)

    def show(self, style: str | None = None, black_format: bool = False, **options: Any) -> None:
        """Print the function as TVMScript, highlighted on a terminal."""
        from ...script.printer import show

        show(self.op, style=style, black_format=black_format, **options)

    def __str__(self) -> str:
        return self.script()

    def same_as(self, other: object) -> bool:
        return self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseFunc) and self._op is other._op

    def __hash__(self) -> int:
        return hash(self._op)


def attr_of(value: Any) -> Attribute | None:
    """A Python value (or a scalar TIR constant) as an attribute. Raises `TiraxError` for what cannot be one."""
    if value is None or isinstance(value, Attribute | bool | int | float | str | list | tuple):
        return to_attr(cast(PyValue, value))
    if hasattr(value, "item"):
        return to_attr(value.item())
    if isinstance(value, PrimExpr) and value.constant is not None:
        return to_attr(value.constant)
    raise TiraxError("not an attribute", expected="a number, string or list of them", found=repr(value))


class Function(BaseFunc, Expr):
    """A Relax function of a module, or a local one.

    `Function([x, y], body, ret_struct_info)` makes one that belongs to no module yet.
    """

    __slots__ = ()

    def __init__(
        self,
        params: Sequence[Var],
        body: Expr,
        ret_struct_info: StructInfo | None = None,
        is_pure: bool = True,
        attrs: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        from .builder import build_function

        attributes = dict(attrs or {})
        symbol = attributes.pop("global_symbol", None)
        ret = None if ret_struct_info is None else type_of(ret_struct_info)
        name = "main" if symbol is None else str(symbol)
        self._op = build_function(name, params, body, ret, is_pure, attributes, private=symbol is None)

    @classmethod
    def on(cls, op: Operation | SSAValue) -> Self:
        return super().on(cast(OpResult, op).op if isinstance(op, SSAValue) else op)

    @property
    def ssa(self) -> SSAValue:
        """The value of a local function. Raises `TiraxError` for a function of the module, which is no value."""
        op = self.op
        if not isinstance(op, relax.ClosureOp):
            raise TiraxError(f"the function {self.name} is no value", hint="use its GlobalVar")
        return op.result

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
        """A copy with symbolic variables replaced: `{"n": 16}`."""
        from ...transforms.params.bind_symbolic_vars import BindSymbolicVars

        return self._transformed(BindSymbolicVars(dict(binding_map), self.name))

    def bind_params(self, binding_map: Mapping[Any, Any]) -> Function:
        """A copy with parameters (by name or variable) replaced by constants."""
        from ...transforms.params.bind_params import BindParams

        return self._transformed(BindParams(self.name, dict(binding_map)))

    def _transformed(self, module_pass: Any) -> Function:
        from ...ir.passes.transform import new_context
        from ..module import IRModule

        mod = IRModule({self.name: self.copy()})
        module_pass.apply(new_context(), mod.op)
        return cast(Function, mod[self.name].copy())

    def __repr__(self) -> str:
        return f"Function({self.name})"

    __eq__ = BaseFunc.__eq__
    __hash__ = BaseFunc.__hash__
    same_as = BaseFunc.same_as


class SeqExpr(Expr):
    """Blocks of bindings and the expression that they end with: the body of a function or of a branch.

    `SeqExpr([block, …], body)` builds one of blocks that belong to no function yet; `SeqExpr(block)` is a handle.
    """

    __slots__ = ("block",)

    def __init__(self, blocks: Block | Sequence[BindingBlock], body: Any = None, span: object = None):
        from .builder import build_sequence

        self.block = blocks if isinstance(blocks, Block) else build_sequence(blocks, body)
        self._value = None
        self._placed = False

    def _make(self) -> SSAValue:
        return cast(Any, self.block.last_op).value

    @property
    def body(self) -> Expr:
        """The value of the whole."""
        return expr_of(self.ssa)

    @property
    def blocks(self) -> list[BindingBlock]:
        found: list[BindingBlock] = []
        run: list[Operation] = []
        for op in self.block.ops:
            is_dataflow = isinstance(op, relax.DataflowOp)
            if is_dataflow or op is self.block.last_op:
                if any(not relax.is_inline(o) for o in run):
                    found.append(BindingBlock(run))
                run = []
            if is_dataflow:
                found.append(DataflowBlock(op))
            else:
                run.append(op)
        return found


class BindingBlock:
    """Consecutive bindings that are in no dataflow block: those of ops, or such that belong to no function yet."""

    __slots__ = ("_given", "_ops")

    def __init__(self, bindings: Iterable[Operation | Binding] = (), span: object = None):
        parts = list(bindings)
        self._given = [b for b in parts if isinstance(b, Binding)]
        self._ops = [op for op in parts if isinstance(op, Operation)]
        if self._given and self._ops or len(self._given) + len(self._ops) < len(parts):
            raise TiraxError("a block consists of bindings", expected="VarBinding or MatchCast", found=parts)

    @property
    def detached(self) -> bool:
        """Whether the block belongs to no function yet."""
        return bool(self._given)

    @property
    def bindings(self) -> list[Binding]:
        """The bindings in order."""
        return list(self._given) or [binding_of(op) for op in self._ops if not relax.is_inline(op)]


class DataflowBlock(BindingBlock):
    """A dataflow block; its last bindings are of outputs whose name differs from the inner value's.

    `DataflowBlock([VarBinding(…), …])` is one that belongs to no function yet: what is bound to a `DataflowVar` is
    local to it, what is bound to a `Var` it outputs.
    """

    __slots__ = ("_op",)

    def __init__(self, bindings: relax.DataflowOp | Iterable[Binding], span: object = None):
        self._op = bindings if isinstance(bindings, relax.DataflowOp) else None
        if isinstance(bindings, relax.DataflowOp):
            super().__init__([o for o in bindings.body.block.ops if not isinstance(o, relax.OutputOp)])
        else:
            super().__init__(bindings)

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
        found = super().bindings
        if self._op is None:
            return found
        for outer, inner in zip(self._op.outputs, self._op.output_op.values_, strict=True):
            if canonical(outer) is outer:
                found.append(VarBinding(Var.on(outer), expr_of(inner)))
        return found


class Binding:
    """A variable and what it stands for."""

    __slots__ = ("value", "var")

    def __init__(self, var: Var, value: Expr, span: object = None):
        self.var = var
        self.value = value


class VarBinding(Binding):
    """`var = value`."""

    __slots__ = ()


class MatchCast(Binding):
    """`var = R.match_cast(value, struct_info)`."""

    __slots__ = ("struct_info",)

    def __init__(self, var: Var, value: Expr, struct_info: StructInfo, span: object = None):
        super().__init__(var, value)
        self.struct_info = struct_info


def binding_of(op: Operation) -> Binding:
    """The binding that an op of a function is."""
    result = op.results[0]
    var = expr_of(result)
    if isinstance(op, relax.MatchCastOp):
        return MatchCast(cast(Var, var), expr_of(op.value), StructInfo.of(result.type))
    return VarBinding(cast(Var, var), bound_expr(op))


class If(Expr):
    """A branch: `cond`, `true_branch` and `false_branch`."""

    __slots__ = ()

    def __init__(self, cond: Expr, true_branch: Expr, false_branch: Expr, span: object = None):
        from .builder import build_branch

        regions = [Region(build_branch(branch)) for branch in (true_branch, false_branch)]
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


def variable_name(var: Var) -> str | None:
    """The name of a variable, None where it has none."""
    return name_of(var.ssa)
