"""Replace tensor functions by implementations that require other layouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TupleType
from xdsl.ir import Attribute, SSAValue

from ....diagnostics import DTypeError, ShapeError, TiraxError
from ....dialects import relax, tir
from ....dialects.relax.types import TensorType, tuple_type
from ....dialects.sym import IndexMapAttr, IndexMapping
from ....dialects.sym.expr import Var
from ....handles.tir.index_map import IndexMap, index_mapping
from ....handles.tir.prim_expr import PrimExpr
from ....ir.functions.lookup import functions, relax_functions
from ....ir.names import NameSupply, function_names, name_bindings
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_to
from ....te.create import build_func
from ....te.tensor import compute, placeholder
from ....transforms.layout.attributes import OPERATOR_NAME, operator_name, with_attrs

REMOVE_PAD = "remove_pad"
"""The operator name of the functions that remove a layout's padding."""
Separators = Mapping[str, Sequence[Sequence[int] | None]]


@dataclass(frozen=True)
class AlterOpImpl(Pass):
    """Replaces tensor functions with an `operator_name` attribute by other implementations.

    y = call_tir(add, (a, b))
    # {"relax.add": add2d}, {"relax.add": [lambda i: (i // 4, i % 4)] * 3}
    y = layout_transform(call_tir(relax_add_replacement, (layout_transform(a), layout_transform(b))), inverse)

    `op_impl_map` maps operator names to new functions, and `op_buffer_transforms` to an index map for each
    buffer, inputs before outputs (an `IndexMap`, a function of indices, or None for an unchanged buffer);
    `op_buffer_axis_separators` and `op_buffer_input_axis_separators` are the separators of the
    `layout_transform` of each buffer, before the call for inputs and after it for outputs. If a layout pads,
    `remove_pad` crops the result.

    Raises `TiraxError` if maps and buffers do not agree.
    """

    name: ClassVar[str] = "alter-op-impl"
    op_impl_map: Mapping[str, Any] | None = None
    op_buffer_transforms: Mapping[str, Sequence[Any]] | None = None
    op_buffer_axis_separators: Separators | None = None
    op_buffer_input_axis_separators: Separators | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = functions(op)
        implementations = {n: _function_of(n, f) for n, f in (self.op_impl_map or {}).items()}
        alteration = _Alteration(op, self, implementations)

        def altered(call: relax.CallTIROp, emit: Emit) -> SSAValue | None:
            name = operator_name(table.get(call.callee_name))
            return alteration.call(call, name, emit) if name in implementations else None

        for func in relax_functions(op):
            if apply_to(func, {relax.CallTIROp.name: altered}):
                name_bindings(func)


def _function_of(name: str, value: Any) -> tir.FuncOp:
    op: object = getattr(value, "op", value)
    if not isinstance(op, tir.FuncOp):
        raise TiraxError(f"the implementation of {name} is no tensor function", found=type(value).__name__)
    return op


def _mapping_of(value: Any) -> IndexMapping | None:
    """Return an index map from an `IndexMap` or a function of indices, optionally with axis separators."""
    first: Any = next(iter(cast("Sequence[Any]", value)), None) if isinstance(value, tuple | list) else value
    if callable(first):
        return IndexMap.from_func_with_separators(cast("Callable[..., Any]", first))[0].mapping
    return None if first is None else index_mapping(first)


@dataclass(frozen=True)
class _Change:
    """The change of one buffer: its index map, and both kinds of separators of its `layout_transform`."""

    mapping: IndexMapping | None
    separators: Sequence[int]
    outer_separators: Sequence[int]


class _Alteration:
    """Replaces the calls of one module."""

    def __init__(self, module: ModuleOp, options: AlterOpImpl, implementations: Mapping[str, tir.FuncOp]):
        self.module = module
        self.options = options
        self.implementations = implementations
        self.names = NameSupply(function_names(module))
        self.added: dict[object, str] = {}
        self.changes: dict[str, list[_Change]] = {}

    def call(self, call: relax.CallTIROp, name: str, emit: Emit) -> SSAValue:
        """Return the result of one call of the operator `name`."""
        outputs = list(call.result_type.types) if isinstance(call.result_type, TupleType) else [call.result_type]
        changes = self._changes(name, len(call.args) + len(outputs))
        inputs, results = changes[: len(call.args)], changes[len(call.args) :]
        args = [self._transformed(v, c, emit) for v, c in zip(call.args, inputs, strict=True)]
        types = [_type(t, c.mapping) for t, c in zip(outputs, results, strict=True)]
        several = isinstance(call.result_type, TupleType)
        result_type = tuple_type(types) if several else types[0]
        value = emit.put(relax.CallTIROp(self._implementation(name), args, result_type, call.tir_vars))
        if not several:
            return self._restored(value, outputs[0], results[0], emit)
        fields: list[SSAValue] = []
        for i, (original, change) in enumerate(zip(outputs, results, strict=True)):
            fields.append(self._restored(emit.put(relax.TupleGetItemOp(value, i)), original, change, emit))
        return emit.put(relax.TupleOp(fields))

    def _changes(self, name: str, count: int) -> list[_Change]:
        changes = self.changes.get(name)
        if changes is None:
            maps = list((self.options.op_buffer_transforms or {}).get(name) or [None] * count)
            separators = self._separators(self.options.op_buffer_axis_separators, name, len(maps))
            outer = self._separators(self.options.op_buffer_input_axis_separators, name, len(maps))
            rows = zip(maps, separators, outer, strict=True)
            changes = self.changes[name] = [_Change(_mapping_of(m), s, o) for m, s, o in rows]
        if len(changes) != count:
            message = f"{name}: there is a transformation for every buffer, or for none"
            raise TiraxError(message, expected=f"{count} transformations", found=len(changes))
        return changes

    @staticmethod
    def _separators(of_operators: Separators | None, name: str, count: int) -> list[Sequence[int]]:
        rows = list((of_operators or {}).get(name) or [None] * count)
        if len(rows) != count:
            raise TiraxError(f"{name}: axis separators are given for every buffer", expected=count, found=len(rows))
        return [list(r or ()) for r in rows]

    def _implementation(self, name: str) -> str:
        if name not in self.added:
            func = self.implementations[name].clone()
            with_attrs(func, {OPERATOR_NAME: StringAttr(name)})
            self.added[name] = self._add(func, name.replace(".", "_") + "_replacement")
        return self.added[name]

    def _add(self, func: tir.FuncOp, base: str) -> str:
        name = self.names.fresh(base)
        func.sym_name = StringAttr(name)
        func.sym_visibility = StringAttr("private")
        first = self.module.body.block.first_op
        assert first is not None
        self.module.body.block.insert_op_before(func, first)
        return name

    # Values

    @staticmethod
    def _transformed(value: SSAValue, change: _Change, emit: Emit) -> SSAValue:
        if change.mapping is None or _is_scalar_constant(value):
            return value
        return _transform(value, change.mapping, change.separators, change.outer_separators, emit)

    def _restored(self, value: SSAValue, original: Attribute, change: _Change, emit: Emit) -> SSAValue:
        """Return a result converted back to the `original` type."""
        if change.mapping is None:
            return value
        t = cast(TensorType, original)
        inverse = change.mapping.padded_inverse(t.dims or ())
        transformed = _transform(value, inverse.map, change.separators, change.outer_separators, emit)
        if transformed.type == original:
            return transformed
        return emit.put(relax.CallTIROp(self._remove_pad(t), [transformed], original))

    def _remove_pad(self, t: TensorType) -> str:
        """Return the name of a function that crops each dimension of a tensor, for all extents."""
        key = (t.rank, t.element)
        if key not in self.added:
            assert t.dims is not None and t.element is not None
            source = placeholder([Var(f"p{i}") for i in range(len(t.dims))], t.element, "input")
            dims = [Var(f"i{i}") for i in range(len(t.dims))]

            def element(*i: PrimExpr) -> PrimExpr:
                return source(*i)

            out = compute(dims, element, "output", "elemwise", None, [f"ax{i}" for i in range(len(dims))])
            func = build_func(REMOVE_PAD, [source, out], index_dtype="int64")
            with_attrs(func, {OPERATOR_NAME: StringAttr(REMOVE_PAD)})
            self.added[key] = self._add(func, REMOVE_PAD)
        return self.added[key]


def _is_scalar_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, relax.ConstantOp) and value.owner.value.scalar is not None


def _type(t: Attribute, mapping: IndexMapping | None) -> Attribute:
    """Return the type of an implementation's output."""
    if mapping is None:
        return t
    if not isinstance(t, TensorType) or t.dims is None:
        raise DTypeError("only the layout of a tensor of known shape can change", expected="a tensor", found=t)
    if len(t.dims) != len(mapping.params):
        raise ShapeError("the index map does not fit the buffer", expected=f"rank {len(mapping.params)}", found=t)
    return TensorType.of(mapping.shape(t.dims), t.element)


def _transform(
    value: SSAValue, mapping: IndexMapping, separators: Sequence[int], outer: Sequence[int], emit: Emit
) -> SSAValue:
    return emit(
        "layout_transform",
        value,
        index_map=IndexMapAttr(mapping),
        axis_separators=list(separators),
        input_axis_separators=list(outer),
    )
