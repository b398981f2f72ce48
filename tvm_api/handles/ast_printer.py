"""Relax programs as trees of nodes with named fields, to inspect the structure of expressions.

    Call(op=Op(name="relax.add"), args=[Var(name_hint="x"), Var(name_hint="y")])

The names of nodes and fields are those of TVM's handles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.ir import Attribute, Operation

from ...diagnostics import TiraxError
from ...dialects.relax import OBJECT
from ...handles.relax.call import Call
from ...handles.relax.expr import (
    Constant,
    DataTypeImm,
    Expr,
    ExternFunc,
    GlobalVar,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from ...handles.relax.function import Binding, BindingBlock, Function, If, MatchCast, SeqExpr
from ...handles.relax.op import Op
from ...handles.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from ...handles.tir.dims import dim_of
from ...handles.tir.symbolic_nodes import SymbolicNodes
from ...handles.types import Type
from ...ir.verification.as_written import as_written

Fields = dict[str, str]


class ASTPrinter:
    """Prints nodes with their fields, and expressions optionally with their struct info and types."""

    def __init__(
        self,
        indent_str: str = "    ",
        include_struct_info_annotations: bool = True,
        include_type_annotations: bool = False,
        include_call_attrs: bool = True,
    ):
        self.indent = indent_str
        self.with_struct_info = include_struct_info_annotations
        self.with_types = include_type_annotations
        self.with_attrs = include_call_attrs

    def visit_expr(self, expr: Expr) -> str:
        """Format an expression. Raises `TiraxError` for other objects."""
        for kind, read in _EXPRESSIONS:
            if isinstance(expr, kind):
                fields = read(self, expr)
                return self._node(type(expr).__name__, {**fields, **self._annotations(expr)})
        raise TiraxError("this is no Relax expression", found=type(expr).__name__)

    def visit_binding_(self, binding: Binding) -> str:
        """Format a binding of a value to a variable."""
        fields = {"var": self.visit_expr(binding.var), "value": self.visit_expr(binding.value)}
        if isinstance(binding, MatchCast):
            fields["struct_info"] = self.visit_struct_info_(binding.struct_info)
        return self._node("MatchCast" if isinstance(binding, MatchCast) else "VarBinding", fields)

    def visit_binding_block_(self, block: BindingBlock) -> str:
        """Format a block of bindings."""
        return self._node(type(block).__name__, {"bindings": self._list(map(self.visit_binding_, block.bindings))})

    def visit_struct_info_(self, info: StructInfo) -> str:
        """Format struct info, omitting what is unknown."""
        return self._node(type(info).__name__, _STRUCT_INFO[type(info)](self, info))

    def visit_type_(self, static_type: Type) -> str:
        """Format a static type."""
        fields = {name: value for name, value in vars(static_type).items() if name != "span"}
        return self._node(type(static_type).__name__, {name: self._type_field(v) for name, v in fields.items()})

    def visit_prim_expr_(self, value: Any) -> str:
        """Format a scalar expression as TVMScript."""
        node = dim_of(value).fold(SymbolicNodes()) if isinstance(value, int) else value
        return self._node("PrimExpr", {"value": f"`{node}`" if not isinstance(value, int) else f"`T.int64({value})`"})

    def _type_field(self, value: Any) -> str:
        if isinstance(value, Type):
            return self.visit_type_(value)
        return (
            self._list(map(self.visit_type_, value))
            if isinstance(value, Sequence) and not isinstance(value, str)
            else str(value)
        )

    def _annotations(self, expr: Expr) -> Fields:
        if isinstance(expr, Op | GlobalVar | ExternFunc) or expr.struct_info_ is None:
            return {}
        if isinstance(expr, Var) and _declared_type(expr) == OBJECT:
            return {}
        fields: Fields = {}
        if self.with_struct_info:
            fields["struct_info"] = self.visit_struct_info_(expr.struct_info)
        if self.with_types:
            fields["checked_type_"] = self.visit_type_(expr.checked_type)
        return fields

    def _node(self, name: str, fields: Fields) -> str:
        rows = [f"{key}={value}" for key, value in fields.items()]
        if not any("\n" in row for row in rows) and sum(map(len, rows)) < 80:
            return f"{name}({', '.join(rows)})"
        body = ",\n".join(rows).replace("\n", f"\n{self.indent}")
        return f"{name}(\n{self.indent}{body}\n)"

    def _list(self, items: Iterable[str]) -> str:
        rows = list(items)
        if len(rows) < 2 and not any("\n" in row for row in rows):
            return f"[{', '.join(rows)}]"
        body = ",\n".join(rows).replace("\n", f"\n{self.indent}")
        return f"[\n{self.indent}{body}\n]"

    def _variable(self, expr: Var) -> Fields:
        return {"name_hint": f'"{expr.name_hint}"'}

    def _call(self, expr: Call) -> Fields:
        fields = {"op": self.visit_expr(expr.op), "args": self._list(map(self.visit_expr, expr.args))}
        if expr.sinfo_args:
            fields["sinfo_args"] = self._list(map(self.visit_struct_info_, expr.sinfo_args))
        attrs = expr.attrs
        if self.with_attrs and attrs is not None and attrs.keys():
            fields["attrs"] = "{" + ", ".join(f'"{k}": {attrs[k]!r}' for k in attrs.keys()) + "}"  # noqa: SIM118
        return fields

    def _function(self, expr: Function) -> Fields:
        attrs = ", ".join(f'"{k}": "{v}"' for k, v in dict(expr.attrs or {}).items())
        return {
            "params": self._list(map(self.visit_expr, expr.params)),
            "body": self.visit_expr(expr.body),
            "ret_struct_info": self.visit_struct_info_(expr.ret_struct_info),
            "is_pure": str(bool(expr.is_pure)),
            "attrs": "{" + attrs + "}",
        }

    def _branch(self, expr: If) -> Fields:
        return {
            "cond": self.visit_expr(expr.cond),
            "true_branch": self.visit_expr(expr.true_branch),
            "false_branch": self.visit_expr(expr.false_branch),
        }

    def _tensor(self, info: TensorStructInfo) -> Fields:
        fields = {"dtype": info.dtype}
        if info.shape is None:
            fields["ndim"] = str(info.ndim)
        else:
            fields["shape"] = self.visit_expr(info.shape)
        return fields

    def _shape(self, info: ShapeStructInfo) -> Fields:
        fields = {"ndim": str(info.ndim)}
        if info.values is not None:
            fields["values"] = self._list(map(self.visit_prim_expr_, info.values))
        return fields

    def _callable(self, info: FuncStructInfo) -> Fields:
        params = {} if info.params is None else {"params": self._list(map(self.visit_struct_info_, info.params))}
        return {**params, "ret": self.visit_struct_info_(info.ret), "purity": str(info.purity)}


def _declared_type(var: Var) -> Attribute:
    """Return the declared type of a variable, or else the inferred one."""
    owner = var.ssa.owner
    memory = as_written(owner) if isinstance(owner, Operation) else None
    return var.ssa.type if memory is None or memory.declared is None else memory.declared


_EXPRESSIONS: tuple[tuple[Any, Callable[[ASTPrinter, Any], Fields]], ...] = (
    (Function, ASTPrinter._function),  # pyright: ignore[reportPrivateUsage]
    (GlobalVar, lambda p, e: {"name_hint": f'"{e.name_hint}"'}),
    (Var, ASTPrinter._variable),  # pyright: ignore[reportPrivateUsage]
    (Op, lambda p, e: {"name": f'"{e.name}"'}),
    (ExternFunc, lambda p, e: {"global_symbol": f'"{e.global_symbol}"'}),
    (Constant, lambda p, e: {"data": str(e.data.numpy())}),
    (Tuple, lambda p, e: {"fields": p._list(map(p.visit_expr, e.fields))}),  # pyright: ignore[reportPrivateUsage]
    (TupleGetItem, lambda p, e: {"tuple_value": p.visit_expr(e.tuple_value), "index": str(e.index)}),
    (If, ASTPrinter._branch),  # pyright: ignore[reportPrivateUsage]
    (SeqExpr, lambda p, e: {"blocks": p._list(map(p.visit_binding_block_, e.blocks)), "body": p.visit_expr(e.body)}),  # pyright: ignore[reportPrivateUsage]
    (ShapeExpr, lambda p, e: {"values": p._list(map(p.visit_prim_expr_, e.values))}),  # pyright: ignore[reportPrivateUsage]
    (PrimValue, lambda p, e: {"value": p.visit_prim_expr_(e.value)}),
    (StringImm, lambda p, e: {"value": f'"{e.value}"'}),
    (DataTypeImm, lambda p, e: {"value": e.value}),
    (Call, ASTPrinter._call),  # pyright: ignore[reportPrivateUsage]
)
_STRUCT_INFO: dict[type[StructInfo], Callable[[ASTPrinter, Any], Fields]] = {
    ObjectStructInfo: lambda p, i: {},
    PrimStructInfo: lambda p, i: {"dtype": i.dtype},
    TensorStructInfo: ASTPrinter._tensor,  # pyright: ignore[reportPrivateUsage]
    ShapeStructInfo: ASTPrinter._shape,  # pyright: ignore[reportPrivateUsage]
    TupleStructInfo: lambda p, i: {"fields": p._list(map(p.visit_struct_info_, i.fields))},  # pyright: ignore[reportPrivateUsage]
    FuncStructInfo: ASTPrinter._callable,  # pyright: ignore[reportPrivateUsage]
}


def dump_ast(
    expr: Any,
    indent_str: str = "    ",
    include_struct_info_annotations: bool = True,
    include_type_annotations: bool = False,
    include_call_attrs: bool = True,
) -> str:
    """Format an expression, function, block or binding as a tree of nodes. Raises `TiraxError` for anything else."""
    printer = ASTPrinter(indent_str, include_struct_info_annotations, include_type_annotations, include_call_attrs)
    if isinstance(expr, BindingBlock):
        return printer.visit_binding_block_(expr)
    return printer.visit_binding_(expr) if isinstance(expr, Binding) else printer.visit_expr(expr)
