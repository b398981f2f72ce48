"""Turn each primitive Relax function from `fuse-ops` into one tensor function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.names import set_name
from ...dialects.relax import PrimType, ShapeType, TensorType
from ...dialects.sym.expr import SymExpr
from ...ir.functions.lookup import functions, ops_of_type, relax_functions
from ...ir.names import make_unique
from ...ir.passes.transform import Pass
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase, insert_before, replace_op
from ..bindings.canonicalize_bindings import CanonicalizeBindings
from ..bindings.dead_code_elimination import DeadCodeElimination
from .inline import FusedFunction, NotFusable, fuse_function
from .outline import is_primitive

REASON = "fuse_tir.not_fused"
"""The attribute with the reason why a primitive function is not fused."""


@dataclass(frozen=True)
class FuseTIR(Pass):
    """Replace primitive functions by tensor functions and their calls by `call_tir`; remove unused functions.

    A primitive function that contains anything but calls of tensor functions stays, with the reason as its attribute
    `fuse_tir.not_fused`.
    """

    name: ClassVar[str] = "fuse-tir"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Fuse in place."""
        fused = _fuse_functions(op)
        for func in relax_functions(op):
            calls = [c for c in ops_of_type(func, relax.CallOp) if c.callee_name in fused]
            for call in calls:
                _replace_call(call, fused[call.callee_name])
            if calls:
                make_unique(func)
        CanonicalizeBindings().apply(ctx, op)
        if any(not f.private for f in functions(op).values()):
            DeadCodeElimination().apply(ctx, op)
        else:
            for func in relax_functions(op):
                remove_dead_bindings(func)


def _fuse_functions(module: ModuleOp) -> dict[str, FusedFunction]:
    """Fuse the primitive functions of a module, and return the results by name."""
    table = functions(module)
    values = {r.callee.root_reference.data for r in ops_of_type(module, relax.FunctionRefOp)}
    calls: dict[str, list[relax.CallOp]] = {}
    for call in ops_of_type(module, relax.CallOp):
        calls.setdefault(call.callee_name, []).append(call)
    fused: dict[str, FusedFunction] = {}
    for func in [f for f in relax_functions(module) if is_primitive(f)]:
        name = func.sym_name.data
        try:
            if name in values:
                raise NotFusable("it is used as a value")
            if not all(map(_is_static, calls.get(name, ()))):
                raise NotFusable("a call of it passes or gives a value of unknown shape")
            fused[name] = fuse_function(func, table.get)
        except NotFusable as reason:
            _note(func, str(reason))
            continue
        fused[name].func.location = func.location
        insert_before(func, fused[name].func)
        erase(func)
    return fused


def _is_static(call: relax.CallOp) -> bool:
    """Return whether `call_tir` can express the call: the shapes and dtypes of arguments and results are known."""
    return all(_is_known(t) for t in (call.result.type, *(a.type for a in call.call_args)))


def _is_known(t: Attribute) -> bool:
    if isinstance(t, TupleType):
        return all(map(_is_known, t.types))
    if isinstance(t, TensorType):
        return t.dims is not None and t.element is not None
    if isinstance(t, ShapeType):
        return t.dims is not None
    return isinstance(t, PrimType) and t.expr is not None


def _note(func: relax.FuncOp, reason: str) -> None:
    attrs = dict(func.func_attrs.data) if func.func_attrs is not None else {}
    func.func_attrs = DictionaryAttr({**attrs, REASON: StringAttr(reason)})


def _replace_call(call: relax.CallOp, fused: FusedFunction) -> None:
    args: list[SSAValue] = []
    scalars: list[SymExpr] = []
    for arg in call.call_args:
        _flatten(call, arg, args, scalars)
    args = [a for a, is_input in zip(args, fused.kept, strict=True) if is_input]
    name, result = call.callee_name, call.result.type
    new: Operation
    if any(i >= 0 for i in fused.inplace):
        new = relax.CallTIRInplaceOp(name, args, fused.inplace, result, scalars or None)
    else:
        new = relax.CallTIROp(name, args, result, scalars or None)
    replace_op(call, new)


def _flatten(call: relax.CallOp, arg: SSAValue, args: list[SSAValue], scalars: list[SymExpr]) -> None:
    """Add an argument to the tensors, with tuples flattened, or to the scalars."""
    t = arg.type
    if isinstance(t, ShapeType) and t.dims is not None:
        scalars.extend(t.dims)
    elif isinstance(t, PrimType) and t.expr is not None:
        scalars.append(t.expr)
    elif isinstance(t, TupleType):
        block = call.parent
        assert block is not None
        for i in range(len(t.types)):
            item = relax.TupleGetItemOp(arg, i)
            set_name(item.result, "lv")
            block.insert_op_before(item, call)
            _flatten(call, item.result, args, scalars)
    else:
        args.append(arg)
