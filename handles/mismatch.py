"""The first difference of two nodes, as a path of TVM's part names.

for i in range(16): …   |   for i in range(32): …   ->   <root>.extent.value
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.ir import SSAValue

from .array import Array
from .module import IRModule
from .object_path import ObjectPath
from .relax.expr import Constant, Expr, GlobalVar, Var
from .relax.function import Binding, BindingBlock, Function
from .tir.buffers import Buffer, Stmt
from .tir.dims import ExtentInt
from .tir.domains import BufferRegion, IterVar, MatchBufferRegion, Range
from .tir.expr_kinds import class_name, named_parts
from .tir.placeholders import is_free
from .tir.prim_expr import PrimExpr
from .tir.prim_func import PrimFunc
from .tir.variables import SizeVar

Paths = tuple[ObjectPath, ObjectPath]
"""The paths on both sides."""
_PARTS = {
    "For": "loop_var min extent kind annotations body",
    "While": "condition body",
    "IfThenElse": "condition then_case else_case",
    "BufferStore": "buffer value indices predicate",
    "Evaluate": "value",
    "AssertStmt": "condition message body",
    "AttrStmt": "node attr_key value body",
    "LetStmt": "value var body",
    "Allocate": "buffer_var dtype extents body",
    "AllocateConst": "buffer_var dtype extents body",
    "DeclBuffer": "buffer body",
    "SeqStmt": "seq",
    "Block": "iter_vars alloc_buffers match_buffers reads writes name_hint annotations init body",
    "BlockRealize": "iter_values predicate block",
    "PrimFunc": "params buffer_map ret_type body",
    "Buffer": "dtype shape strides elem_offset",
    "IterVar": "dom var iter_type",
    "Range": "min extent",
    "BufferRegion": "buffer region",
    "MatchBufferRegion": "buffer source",
    "SeqExpr": "blocks body",
    "BindingBlock": "bindings",
    "DataflowBlock": "bindings",
    "If": "cond true_branch false_branch",
    "Call": "op args sinfo_args",
    "Tuple": "fields",
    "TupleGetItem": "tuple_value index",
    "ShapeExpr": "values",
    "PrimValue": "value",
    "StringImm": "value",
    "DataTypeImm": "value",
    "ExternFunc": "global_symbol",
}
"""The parts of nodes, in the order in which they are compared."""
_NODES = (Stmt, PrimFunc, IterVar, Range, BufferRegion, MatchBufferRegion, BindingBlock)


def first_mismatch(lhs: Any, rhs: Any, path: ObjectPath, map_free_vars: bool) -> Paths | None:
    """Return the paths to the first difference of two nodes at `path`; None if the parts looked at are equal."""
    return _Comparison(map_free_vars).node(lhs, rhs, path)


class _Comparison:
    """A walk over two nodes in parallel, which maps the variables of one to those of the other."""

    def __init__(self, map_free_vars: bool):
        self._map_free_vars = map_free_vars
        self._variables: dict[Any, Any] = {}
        self._taken: set[Any] = set()

    def node(self, a: Any, b: Any, path: ObjectPath) -> Paths | None:
        """Compare two nodes of any kind."""
        for kind, compare in _KINDS:
            if isinstance(a, kind) and isinstance(b, kind):
                return compare(self, a, b, path)
        same = a == b or (a != a and b != b)
        return None if same else (path, path)

    def _parts(self, names: str, a: Any, b: Any, path: ObjectPath) -> Paths | None:
        for name in names.split():
            mismatch = self.node(getattr(a, name), getattr(b, name), path.attr(name))
            if mismatch is not None:
                return mismatch
        return None

    def module(self, a: IRModule, b: IRModule, path: ObjectPath) -> Paths | None:
        return self.table(a.functions, b.functions, path.attr("functions"))

    def table(self, a: Mapping[Any, Any], b: Mapping[Any, Any], path: ObjectPath) -> Paths | None:
        """Compare values under the same keys; variables that are mapped to each other are the same key."""
        keys = [(k, self._variables.get(_identity(k), _identity(k))) for k in a]
        theirs = {_identity(k): k for k in b}
        for key, counterpart in keys:
            if counterpart not in theirs:
                return path.map_value(key), path.missing_map_entry()
            mismatch = self.node(a[key], b[theirs[counterpart]], path.map_value(key))
            if mismatch is not None:
                return mismatch
        known = {counterpart for _, counterpart in keys}
        more = next((k for identity, k in theirs.items() if identity not in known), None)
        return None if more is None else (path.missing_map_entry(), path.map_value(more))

    def sequence(self, a: Sequence[Any], b: Sequence[Any], path: ObjectPath) -> Paths | None:
        """Compare elements first, then the lengths."""
        for i, (x, y) in enumerate(zip(a, b, strict=False)):
            mismatch = self.node(x, y, path.array_index(i))
            if mismatch is not None:
                return mismatch
        n = min(len(a), len(b))
        if len(a) == len(b):
            return None
        ends = [path.array_index(n) if n < len(s) else path.missing_array_element(n) for s in (a, b)]
        return ends[0], ends[1]

    def named(self, a: Any, b: Any, path: ObjectPath) -> Paths | None:
        """Compare nodes of one class, part by part."""
        kind = type(a).__name__
        return self._parts(_PARTS.get(kind, ""), a, b, path) if kind == type(b).__name__ else (path, path)

    def buffer(self, a: Buffer, b: Buffer, path: ObjectPath) -> Paths | None:
        """Compare buffers: a buffer is mapped to the one it was first compared with."""
        x, y = ("buffer", a.ssa), ("buffer", b.ssa)
        if x in self._variables or y in self._taken:
            return None if self._variables.get(x) == y else (path, path)
        mismatch = self._parts(_PARTS["Buffer"], a, b, path)
        return self._stand_for(x, y) if mismatch is None else mismatch

    def expression(self, a: PrimExpr, b: PrimExpr, path: ObjectPath) -> Paths | None:
        kind = class_name(a)
        if kind != class_name(b):
            return path, path
        if a.dtype != b.dtype:
            place = path.attr("dtype")
            return place, place
        if kind in ("Var", "SizeVar"):
            return None if self._is_same_variable(a, b) else (path, path)
        ours, theirs = named_parts(a), named_parts(b)
        pairs = ((path.attr(name), part, theirs[name]) for name, part in ours.items())
        return next((mismatch for place, x, y in pairs if (mismatch := self.node(x, y, place)) is not None), None)

    def number(self, a: ExtentInt, b: ExtentInt, path: ObjectPath) -> Paths | None:
        """Compare extents, which are nodes in TVM."""
        place = path.attr("value")
        return None if a == b else (place, place)

    def function(self, a: Function, b: Function, path: ObjectPath) -> Paths | None:
        """Compare Relax functions, with their parameters mapped to each other."""
        if len(a.params) != len(b.params):
            return self.sequence(a.params, b.params, path.attr("params"))
        for x, y in zip(a.params, b.params, strict=True):
            self._stand_for(x, y)
        return self._parts("body", a, b, path)

    def binding(self, a: Binding, b: Binding, path: ObjectPath) -> Paths | None:
        """Compare bound values, and map the variables from here on; those of local functions already inside them."""
        if type(a) is not type(b):
            return path, path
        recursive = isinstance(a.value, Function)
        if recursive:
            self._stand_for(a.var, b.var)
        mismatch = self._parts("value", a, b, path)
        return mismatch if mismatch is not None or recursive else self._stand_for(a.var, b.var)

    def variable(self, a: Var, b: Var, path: ObjectPath) -> Paths | None:
        """Compare Relax variables; an unbound one equals itself, or the one that it was first compared with."""
        if a in self._variables or b in self._taken:
            return None if self._variables.get(a) == b else (path, path)
        if a != b and not self._map_free_vars:
            return path, path
        return self._stand_for(a, b)

    def constant(self, a: Constant, b: Constant, path: ObjectPath) -> Paths | None:
        same = np.array_equal(a.data.numpy(), b.data.numpy()) and a.struct_info == b.struct_info
        return None if same else (path.attr("data"), path.attr("data"))

    def _is_same_variable(self, a: PrimExpr, b: PrimExpr) -> bool:
        x, y = _identity(a), _identity(b)
        if x in self._variables or y in self._taken:
            return self._variables.get(x) == y
        free = any(isinstance(v, SizeVar) or is_free(v.ssa) for v in (a, b))
        if free and not self._map_free_vars and x != y:
            return False
        self._stand_for(x, y)
        return True

    def _stand_for(self, a: Any, b: Any) -> None:
        self._variables[a] = b
        self._taken.add(b)


def _identity(value: Any) -> Any:
    """Return the identity of a variable: its value, or the name of a symbolic variable or a function."""
    if isinstance(value, SizeVar | GlobalVar):
        return value.name if isinstance(value, SizeVar) else value.name_hint
    return cast(SSAValue, value.ssa) if isinstance(value, PrimExpr) else value


_KINDS: tuple[tuple[Any, Callable[..., Paths | None]], ...] = (
    (IRModule, _Comparison.module),
    (Buffer, _Comparison.buffer),
    (PrimExpr, _Comparison.expression),
    (Function, _Comparison.function),
    (Binding, _Comparison.binding),
    (Var, _Comparison.variable),
    (Constant, _Comparison.constant),
    (GlobalVar, lambda c, a, b, path: None if a == b else (path, path)),
    (Expr, _Comparison.named),
    (_NODES, _Comparison.named),
    (ExtentInt, _Comparison.number),
    (Mapping, _Comparison.table),
    (Array | list | tuple, _Comparison.sequence),
)
"""The comparison for each kind of node; the first match is used. Others are compared by Python's equality."""
