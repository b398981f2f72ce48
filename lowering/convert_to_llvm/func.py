"""`func` to llvm, and casts between types that are equal after conversion.

- `func.func private @f` with a body becomes internal, any other function external; without a body it is declared.
- Several results become one struct.
- `tirax.noalias` on the function makes every memref argument `noalias`; argument attributes `llvm.*` (`llvm.noalias`,
  `llvm.align`, `llvm.nocapture`, `llvm.readonly`, `llvm.nonnull`, `llvm.dereferenceable`, …) are kept.
- `target_cpu`, `target_features`, `passthrough`, `no_inline` among the function's attributes become properties of
  `llvm.func`. All functions are `nounwind`.
- `func.constant` is the function's address.
- `builtin.unrealized_conversion_cast` between types that are the same after conversion (index and i64, memref and
  `!llvm.ptr`) is removed.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects.quick import make
from ...dialects.xdsl_extras import func_extras
from ...dialects.xdsl_extras.type_guards import is_memref
from .core import Lowerer, Rules, make_call
from .types import PTR, convert_type, function_type, result_type

Values = Sequence[SSAValue]
_FUNCTION_PROPERTIES = ("target_cpu", "target_features", "tune_cpu", "passthrough", "no_inline", "frame_pointer")
_FUNCTION_ATTRIBUTES = ("tirax.noalias",)


def make_function(op: func.FuncOp) -> llvm.FuncOp:
    """Return an `llvm.func` with the signature and attributes of `op`; the body is moved into it."""
    internal = op.sym_visibility is not None and op.sym_visibility.data == "private" and op.body.first_block
    properties: dict[str, Attribute | None] = {
        key: op.attributes[key] for key in _FUNCTION_PROPERTIES if key in op.attributes
    }
    properties["no_unwind"] = UnitAttr()
    properties["arg_attrs"] = _argument_attributes(op)
    skip = {*_FUNCTION_PROPERTIES, *_FUNCTION_ATTRIBUTES}
    return llvm.FuncOp(
        op.sym_name,
        function_type(op.function_type.inputs.data, op.function_type.outputs.data),
        llvm.LinkageAttr("internal" if internal else "external"),
        body=op.detach_region(op.body),
        other_props=properties,
        extra_attrs={k: v for k, v in op.attributes.items() if k not in skip},
    )


def _argument_attributes(op: func.FuncOp) -> ArrayAttr[DictionaryAttr] | None:
    if "tirax.noalias" not in op.attributes:
        return op.arg_attrs
    inputs = op.function_type.inputs.data
    attributes = op.arg_attrs.data if op.arg_attrs is not None else [DictionaryAttr({}) for _ in inputs]
    return ArrayAttr(
        [
            DictionaryAttr({**attrs.data, "llvm.noalias": UnitAttr()}) if is_memref(type) else attrs
            for attrs, type in zip(attributes, inputs, strict=True)
        ]
    )


def _return(op: func.ReturnOp, at: Lowerer) -> Values:
    values: Sequence[SSAValue] = op.arguments
    if len(values) > 1:
        struct = result_type(tuple(v.type for v in values))
        packed = at.value(make(llvm.UndefOp, result_types=(struct,)))
        for i, value in enumerate(values):
            properties: dict[str, Attribute] = {"position": DenseArrayBase.from_list(i64, [i])}
            packed = at.value(make(llvm.InsertValueOp, (packed, value), result_types=(struct,), properties=properties))
        values = (packed,)
    at.insert(make(llvm.ReturnOp, values))
    return ()


def _call(op: func.CallOp, at: Lowerer) -> Values:
    types = tuple(r.type for r in op.results)
    packed = at.insert(make_call(list(op.operands), result_type(types) if types else None, op.callee)).results
    if len(types) < 2:
        return packed
    return [
        at.value(
            make(
                llvm.ExtractValueOp,
                packed,
                result_types=(convert_type(type),),
                properties={"position": DenseArrayBase.from_list(i64, [i])},
            )
        )
        for i, type in enumerate(types)
    ]


def _cast(op: UnrealizedConversionCastOp, at: Lowerer) -> Values:
    before, after = [v.type for v in op.operands], [convert_type(r.type) for r in op.results]
    if before != after:
        raise UnsupportedError(f"a conversion of {before} to {after} remains that nothing lowers")
    return tuple(op.operands)


def _constant(op: func_extras.ConstantOp, at: Lowerer) -> Values:
    return (at.value(make(llvm.AddressOfOp, result_types=(PTR,), properties={"global_name": op.value})),)


RULES: Rules = {
    func.ReturnOp: _return,
    func.CallOp: _call,
    func_extras.ConstantOp: _constant,
    UnrealizedConversionCastOp: _cast,
}
