"""Handles on tensor functions, and tensor functions built from handles: `PrimFunc(…)`, `with_body`, `specialize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...diagnostics import ShapeError, TiraxError
from ...dialects import relax, tir
from ...dialects.dtypes import dtype_name, dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import tuple_type
from ...dialects.sym.expr import Const, SymExpr, Var
from ...ir.functions.effects import first_effect
from ...ir.origins import note_variables
from ...ir.rewriting.copy import clone_expr, copied
from ...ir.rewriting.edit import has_root_block
from ...ir.rewriting.substitute import substitute_symbols
from ..base_func import BaseFunc
from ..struct_info import FuncStructInfo, StructInfo
from . import prim_expr as tx
from .attributes import attr_of
from .buffers import Buffer, Param, Stmt
from .ir_builder import BufferVar
from .prim_expr import PrimExpr, as_sym
from .stmt import add_to, body_of, operations_of, stmt_of
from .variables import SizeVar


class PrimFunc(BaseFunc):
    """A tensor function.

    `PrimFunc([a, n], body, buffer_map={a: buffer})` creates one that belongs to no module yet. A parameter may be a
    buffer itself.
    """

    python_name: str | None = None

    def __init__(
        self,
        params: Sequence[Any],
        body: Stmt,
        ret_type: str | None = None,
        buffer_map: Mapping[Any, Buffer] | None = None,
        attrs: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        self._op = _function_op(params, body, ret_type, buffer_map or {}, attrs or {})

    @property
    def params(self) -> list[Param]:
        """The parameters; that of a buffer is its handle, which `buffer_map` maps to the buffer."""
        return [Param(p) for p in self.op.params]

    @property
    def buffer_map(self) -> dict[Param, Buffer]:
        """The buffers by their parameters."""
        return {Param(p): Buffer(p) for p in self.op.buffer_params}

    @property
    def handle_names(self) -> list[str]:
        """TVM's names of the parameters: those of handles, not of the buffers matched to them."""
        names = self.op.handle_names
        if isinstance(names, ArrayAttr):
            return [cast(StringAttr, n).data for n in names]
        return [f"var_{name_of(p)}" if isinstance(p.type, tir.BufferType) else name_of(p) or "" for p in self.op.params]

    @property
    def body(self) -> Stmt:
        """The body: the root block if the function has blocks, else the statement in it or the sequence."""
        block = self.op.body.block
        return stmt_of(self.op) if has_root_block(list(block.ops)) else body_of(block)

    def with_body(self, new_body: Stmt, span: object = None) -> PrimFunc:
        """Return the function with a copy of `new_body` as its body; it belongs to no module yet."""
        return _with_body(self, new_body)

    def specialize(self, param_map: Mapping[Any, Any]) -> PrimFunc:
        """Return the function specialized for some parameters: scalars replaced by expressions, buffers by ones of
        other shapes.

        Raises `TiraxError` for an unknown parameter, and `ShapeError` if a buffer does not match its parameter.
        """
        return _specialized(self, param_map)

    @property
    def __name__(self) -> str:
        """The name of the decorated Python function. Raises `AttributeError` for other functions, which have none."""
        if self.python_name is None:
            raise AttributeError("a tensor function that is not decorated has no Python name", name="__name__")
        return self.python_name

    @property
    def ret_type(self) -> str:
        """The dtype of the scalar result, `""` if there is none."""
        t = self.op.ret_type
        return "" if t is None else dtype_name(t)

    @property
    def struct_info(self) -> StructInfo:
        """The signature seen by callers: buffers are tensors; a function that writes to no buffer and has no
        effects is pure.
        """
        params = [_param_info(p) for p in self.op.params]
        result = tuple_type(()) if self.op.ret_type is None else relax.PrimType.of(self.op.ret_type)
        return FuncStructInfo(params, StructInfo.of(result), purity=first_effect(self.op) is None)

    def __repr__(self) -> str:
        return f"PrimFunc({self.name})"


def _param_info(param: SSAValue) -> StructInfo:
    t = param.type
    if isinstance(t, tir.BufferType):
        return StructInfo.of(relax.TensorType.of([_extent(d) for d in t.dims], t.dtype))
    return StructInfo.of(relax.OBJECT if isinstance(t, tir.HandleType) else relax.PrimType.of(t))


def _extent(dim: SymExpr) -> SymExpr:
    """Return an extent of a tensor: constants are int64, whatever the type of a buffer's extents."""
    return dim if dim.constant is None else Const(dim.constant)


def _result_type(block: Block) -> Attribute | None:
    """Return the type of what a body returns at its end."""
    last = block.last_op
    return last.value.type if isinstance(last, tir.ReturnOp) else None


def _function_op(
    params: Sequence[Any],
    body: Stmt,
    ret_type: str | None,
    buffer_map: Mapping[Any, Buffer],
    attrs: Mapping[str, Any],
) -> tir.FuncOp:
    """Return the operation of `PrimFunc(…)`. It is private unless `attrs` has a `global_symbol`."""
    own_attrs = dict(attrs)
    symbol = own_attrs.pop("global_symbol", None)
    buffers = {key.ssa: buffer for key, buffer in buffer_map.items()}
    block, mapping, handles = Block(), dict[SSAValue, SSAValue](), list[str]()
    for each in params:
        param = each.buffer if isinstance(each, BufferVar) else each
        ssa = cast(SSAValue, param.ssa)
        buffer = param if isinstance(param, Buffer) else buffers.get(ssa)
        inner = ssa if buffer is None else buffer.ssa
        arg = block.insert_arg(inner.type, len(block.args))
        own = param.name if isinstance(param, SizeVar) else name_of(ssa)
        set_name(arg, own if buffer is None else buffer.name)
        handles.append(own or "")
        mapping[inner] = arg
        if inner is not ssa:
            block.add_op(address := tir.BufferDataOp(arg))
            mapping[ssa] = address.result
    _refuse_other_buffers(buffers, mapping)
    note_variables(mapping)
    _fill(block, body, mapping)
    _erase_unused_addresses(block)
    attributes = {k: attr_of(v) for k, v in own_attrs.items()}
    return tir.FuncOp(
        "main" if symbol is None else str(symbol),
        Region(block),
        private=symbol is None,
        attrs=DictionaryAttr({k: v for k, v in attributes.items() if v is not None}) if attributes else None,
        handle_names=handles if buffers else None,
        ret_type=_result_type(block) if ret_type in (None, "", "void") else dtype_of(ret_type),
    )


def _refuse_other_buffers(buffers: Mapping[SSAValue, Buffer], mapping: Mapping[SSAValue, SSAValue]) -> None:
    extra = next((name_of(handle) for handle in buffers if handle not in mapping), None)
    if extra is not None:
        raise TiraxError("the buffer map has a key that is no parameter", found=extra)


def _erase_unused_addresses(block: Block) -> None:
    """Erase the addresses of buffers that the body does not use."""
    for op in list(block.ops):
        if isinstance(op, tir.BufferDataOp) and op.result.first_use is None:
            op.detach()
            op.erase()


def _fill(block: Block, body: Stmt, mapping: dict[SSAValue, SSAValue]) -> None:
    """Copy the body into a block; a plain root block is replaced by its contents."""
    ops = operations_of(body)
    root = ops[0] if len(ops) == 1 else None
    if isinstance(root, tir.BlockOp) and _is_plain_root(root):
        copied(root.body.block.ops, block, mapping)
    else:
        add_to(block, body, mapping)


def _is_plain_root(op: tir.BlockOp) -> bool:
    plain = not (op.iter_vars or op.annotations or op.reads or op.writes or op.predicate)
    return plain and op.block_name.data == "root"


def _with_body(func: PrimFunc, body: Stmt) -> PrimFunc:
    """Return a function with the parameters of `func`."""
    old = cast(tir.FuncOp, func.op)
    block = Block(arg_types=[p.type for p in old.params])
    mapping: dict[SSAValue, SSAValue] = dict(zip(old.params, block.args, strict=True))
    for param, arg in zip(old.params, block.args, strict=True):
        set_name(arg, name_of(param))
    _fill(block, body, mapping)
    return PrimFunc.on(_with_region(old, block, old.handle_names))


def _with_region(old: tir.FuncOp, block: Block, handle_names: Any) -> tir.FuncOp:
    return tir.FuncOp(
        old.sym_name.data,
        Region(block),
        private=old.private,
        attrs=old.func_attrs,
        handle_names=handle_names,
        ret_type=old.ret_type,
    )


def _specialized(func: PrimFunc, param_map: Mapping[Any, Any]) -> PrimFunc:
    """Return a copy of `func` with the parameters of `param_map` replaced."""
    old = cast(tir.FuncOp, func.op)
    symbols: dict[Var, SymExpr] = {}
    dropped: dict[SSAValue, PrimExpr] = {}
    for key, value in param_map.items():
        param = _parameter(old, key)
        if isinstance(param.type, tir.BufferType):
            _match(param, value, symbols)
        else:
            expr = tx.convert(value, key if isinstance(key, PrimExpr) else None).astype(param.type)
            dropped[param] = expr
            if isinstance(param.type, IntegerType):
                symbols[Var(name_of(param) or "", param.type)] = as_sym(expr)
    new = old.clone()
    places = [i for i, p in enumerate(old.params) if p in dropped]
    for i in reversed(places):
        _drop(new, i, dropped[old.params[i]])
    if new.handle_names is not None:
        kept = [n.data for i, n in enumerate(new.handle_names.data) if i not in places]
        new.handle_names = type(new.handle_names)(type(new.handle_names.data[0])(n) for n in kept)
    substitute_symbols(new, symbols)
    return PrimFunc.on(new)


def _parameter(func: tir.FuncOp, key: Any) -> SSAValue:
    """Return the parameter for a handle on it or on its buffer, or for its name."""
    for param in func.params:
        same = isinstance(key, Param | Buffer) and key.ssa is param
        if same or (isinstance(key, str | SizeVar) and name_of(param) == (key if isinstance(key, str) else key.name)):
            return param
    raise TiraxError(f"@{func.sym_name.data} has no such parameter", found=repr(key), hint="take it from func.params")


def _match(param: SSAValue, value: Any, symbols: dict[Var, SymExpr]) -> None:
    """Bind the symbolic variables of a buffer to the extents of another one."""
    declared = cast(tir.BufferType, param.type)
    if not isinstance(value, Buffer) or len(value.type.dims) != len(declared.dims):
        raise ShapeError("a buffer of as many dimensions is expected", expected=declared, found=repr(value))
    if value.type.dtype != declared.dtype:
        raise ShapeError("the buffer is of another dtype", expected=declared.dtype, found=value.type.dtype)
    pairs = zip(declared.exprs(), value.type.exprs(), strict=False)
    for formal, actual in pairs:
        if isinstance(formal, Var):
            constant = actual.constant
            known = symbols.setdefault(formal, actual if constant is None else _typed(constant, formal))
            if known.constant != constant:
                raise ShapeError(f"the variable {formal} would be two numbers", expected=known, found=actual)
        elif formal.constant != actual.constant:
            raise ShapeError("an extent of the buffer is another one", expected=formal, found=actual)


def _typed(value: int, like: Var) -> SymExpr:
    return as_sym(tx.const(value, like.dtype))


def _drop(func: tir.FuncOp, position: int, value: PrimExpr) -> None:
    """Remove a parameter; its value is computed at the head of the body."""
    block = func.body.block
    param = block.args[position]
    if param.uses:
        ops: list[Operation] = []
        copied_value = _detached(value, ops)
        first = block.first_op
        if first is None:
            block.add_ops(ops)
        else:
            block.insert_ops_before(ops, first)
        param.replace_all_uses_with(copied_value)
    block.erase_arg(param)


def _detached(value: PrimExpr, ops: list[Operation]) -> SSAValue:
    inside = Block()
    result = clone_expr(value.ssa, inside, {})
    for op in list(inside.ops):
        op.detach()
        ops.append(op)
    return result
