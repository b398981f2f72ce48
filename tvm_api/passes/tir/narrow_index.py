"""`narrow-data-type` and `force-narrow-index-to-int32`: int64 loop variables, indices and extents become int32.

for %i : i64 = 0 to 16 {load %A[%i * 8]}     ->     for %i : i32 = 0 to 16 {load %A[%i * 8]}

The first pass does so if all values fit, the second one always.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, IntegerType, ModuleOp, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.dtypes import lanes_of, scalar_of
from ....dialects.names import name_of
from ....dialects.sym import SymAttr, ValueOp
from ....dialects.sym.analyzer import Analyzer
from ....dialects.sym.expr import SymExpr, Var, i32, i64
from ....dialects.sym.rebuild import retyped
from ....ir.affine.values import sym_expr_of
from ....ir.functions.lookup import callee_names
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import set_type
from ....transforms.tir.walk import bind_loop, erase_with_tree, functions, values_of


def is_wide(t: Attribute) -> bool:
    """Return whether a type is int64 or a vector of it."""
    return scalar_of(t) == i64


def wide(values: Iterable[SSAValue]) -> list[SSAValue]:
    """Return the values of type int64."""
    return [v for v in values if is_wide(v.type)]


def narrow_expr(e: SymExpr) -> SymExpr:
    """Convert an expression to int32."""
    return retyped(e, i32, {v: Var(v.name, i32) for v in e.free_vars() if v.dtype == i64})


def narrow_attribute(attr: Attribute) -> Attribute:
    """Convert expressions in properties and in buffer types to int32."""
    if isinstance(attr, SymAttr):
        return SymAttr(narrow_expr(attr.data))
    if isinstance(attr, ArrayAttr):
        return ArrayAttr([narrow_attribute(a) for a in cast("ArrayAttr[Attribute]", attr)])
    if isinstance(attr, tir.BufferType):
        return attr.replaced(**{name: narrow_attribute(getattr(attr, name)) for name in ("shape", "strides", "offset")})
    if not is_wide(attr):
        return attr
    return i32 if attr == i64 else VectorType(i32, [lanes_of(attr)])


def narrow_operation(op: Operation, *, buffers: bool) -> None:
    """Convert int64 to int32 in the results and properties of an operation; in buffer types if `buffers`."""
    for value in values_of(op):
        if buffers or not isinstance(value.type, tir.BufferType):
            set_type(value, narrow_attribute(value.type))
    if isinstance(op, tir.ConstOp):
        if isinstance(op.value, IntegerAttr) and op.value.type == i64:
            op.properties["value"] = IntegerAttr(op.value.value.data, i32)
        return
    for name in ("min_attr", "extent_attr", "dom_mins", "dom_extents", "extents_attr"):
        if name in op.properties:
            op.properties[name] = narrow_attribute(op.properties[name])
    if isinstance(op, ValueOp):
        op.properties["expr"] = narrow_attribute(op.properties["expr"])


_ARITHMETIC = (*tir.BINARY.values(), tir.ConstOp, tir.CastOp, tir.SelectOp, tir.LetOp, ValueOp)
_USERS = (*_ARITHMETIC, tir.LoadOp, tir.ForOp, tir.IfOp, tir.EvaluateOp, tir.IfThenElseOp)


@dataclass(frozen=True)
class NarrowDataType(Pass):
    """Narrow the index arithmetic of a function to `target_bits`, 32 (64 changes nothing), as far as it fits.

    Loops, indices and what they are computed from stay int64 if something may not fit, or if int64 data is involved:
    what is loaded or passed. Values that are stored are converted back. Raises `UnsupportedError` for other widths.
    """

    name = "narrow-data-type"
    target_bits: int = 32

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.target_bits not in (32, 64):
            raise UnsupportedError("indices have 32 or 64 bits", expected="32 or 64", found=self.target_bits)
        for func in functions(op) if self.target_bits == 32 else ():
            _narrow(func, _Narrowable.of(func))


@dataclass
class _Narrowable:
    """The int64 values of a function that may become int32: they fit, and only such values meet them."""

    values: set[SSAValue]

    @staticmethod
    def of(func: tir.FuncOp) -> _Narrowable:
        """Return the largest set of such values."""
        analyzer, ops = Analyzer(), list(func.walk())[1:]
        found = _Narrowable({v for op in ops for v in _candidates(op, analyzer)})
        while True:
            before = len(found.values)
            for op in ops:
                found.keep(op)
            if len(found.values) == before:
                return found

    def keep(self, op: Operation) -> None:
        """Remove the values that an operation mixes with others, or uses as data."""
        defined, used = wide(values_of(op)), wide(op.operands)
        if isinstance(op, tir.StoreOp):
            used = [v for v in used if v is not op.value]
        known = isinstance(op, (*_USERS, tir.BlockOp, tir.RegionOp, tir.RampOp, tir.StoreOp))
        meets = used if isinstance(op, tir.LoadOp | tir.CastOp) else [*defined, *used]
        if not known or not self.values.issuperset(meets):
            self.values.difference_update(meets)

    def has(self, op: Operation) -> bool:
        """Return whether an operation becomes one on int32."""
        defined = wide(v for v in values_of(op) if not isinstance(v.type, tir.BufferType))
        return self.values.issuperset(defined) if defined else any(v in self.values for v in op.operands)


def _candidates(op: Operation, analyzer: Analyzer) -> list[SSAValue]:
    """Return the int64 values that an operation defines for indices, if they fit."""
    if isinstance(op, tir.ForOp):
        bind_loop(analyzer, op)
    if isinstance(op, tir.BlockOp):
        for variable, first, extent in zip(op.iter_vars, op.mins, op.extents, strict=True):
            analyzer.bind_range(Var(variable, cast(IntegerType, variable.type)), first, extent)
    if not isinstance(op, (*_ARITHMETIC, tir.ForOp, tir.BlockOp, tir.RampOp)):
        return []
    return [v for v in wide(values_of(op)) if _value_fits(v, analyzer)]


def _value_fits(value: SSAValue, analyzer: Analyzer) -> bool:
    if not isinstance(value.type, IntegerType):
        return True
    bounds = analyzer.bounds(sym_expr_of(value))
    return bounds.low >= -(2**31) and bounds.high < 2**31


def _narrow(func: tir.FuncOp, only: _Narrowable | None) -> None:
    """Convert a function to int32: some values, or everything, buffers too."""
    counts = [op for op in func.walk() if only is None and _counts_zeros(op) and is_wide(op.operands[0].type)]
    for op in list(func.walk()) if only is None else [op for op in list(func.walk())[1:] if only.has(op)]:
        narrow_operation(op, buffers=only is None)
    for store in [op for op in func.walk() if only is not None and isinstance(op, tir.StoreOp)]:
        if only is not None and store.value in only.values:
            _store_wide(store)
    for op in counts:
        _count_upper_half(op)
    for op in list(func.walk()):
        if isinstance(op, tir.CastOp) and op.value.type == op.result.type:
            op.result.replace_all_uses_with(op.value)
            erase_with_tree(op)


def _store_wide(store: tir.StoreOp) -> None:
    """Convert a stored value, which is now of int32, back to int64."""
    t = store.value.type
    wider = tir.CastOp(store.value, VectorType(i64, [lanes_of(t)]) if isinstance(t, VectorType) else i64)
    cast(Block, store.parent).insert_op_before(wider, store)
    store.operands[0] = wider.result


def _counts_zeros(op: Operation) -> bool:
    return isinstance(op, tir.CallIntrinOp) and op.func.data == "clz"


def _count_upper_half(op: Operation) -> None:
    """Adjust the count of leading zeros of an operand that is now 32 bits wide: `clz(i) - 32 + 64`."""
    (count,) = op.results
    block = cast(Block, op.parent)
    narrow, full = (tir.ConstOp(bits, count.type) for bits in (32, 64))
    beyond = tir.SubOp(count, narrow.result)
    total = tir.AddOp(beyond.result, full.result)
    block.insert_ops_after([narrow, beyond, full, total], op)
    count.replace_uses_with_if(total.result, lambda use: use.operation is not beyond)


@dataclass(frozen=True)
class ForceNarrowIndexToInt32(Pass):
    """Convert all int64 to int32. The caller must ensure that all values are below 2**31.

    Scalar parameters become int32 as well. Raises `UnsupportedError` if a function computes with int64 data:
    for buffers and results of int64, and for scalars that other functions of the module pass.
    """

    name = "force-narrow-index-to-int32"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        called = {name for inner in op.walk() for name in callee_names(inner)}
        for func in functions(op):
            _check(func, func.sym_name.data in called)
            _narrow(func, None)


def _check(func: tir.FuncOp, called: bool) -> None:
    if func.ret_type is not None and is_wide(func.ret_type):
        raise _refused(f"what @{func.sym_name.data} gives is int64, not only indices are", func, func.ret_type)
    for op in func.walk():
        for value in values_of(op):
            data = isinstance(value.type, tir.BufferType) and is_wide(value.type.dtype)
            if data or (called and op is func and is_wide(value.type)):
                message = f"'{name_of(value)}' of @{func.sym_name.data} holds int64, not only indices are"
                raise _refused(message, op, value.type)


def _refused(message: str, op: Operation, found: Attribute) -> UnsupportedError:
    return UnsupportedError(message, location=location_of(op), expected="int64 in indices only", found=found)
