"""MLIR text that MLIR's own tools read: xDSL's, except for operations whose pretty form they refuse.

MLIR takes inherent attributes from its properties `<{…}>` only, while xDSL prints many of them into the attribute
dictionary. Such an operation is printed in generic form, like all of tirax's own with `generic`.
"""

from __future__ import annotations

from functools import cache
from io import StringIO
from typing import IO, Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.printer import Printer

_PRETTY: dict[str, frozenset[str]] = {
    name: frozenset(properties.split())
    for name, properties in {
        "arith.cmpi": "predicate",
        "arith.cmpf": "predicate fastmath",
        "arith.trunci": "overflowFlags",
        "arith.extui": "nonNeg",
        "arith.uitofp": "nonNeg",
        "func.func": "sym_name function_type sym_visibility arg_attrs res_attrs",
        "scf.for": "",
        "scf.if": "",
        "scf.while": "",
        "transform.named_sequence": "sym_name function_type sym_visibility arg_attrs res_attrs",
        "memref.global": "sym_name sym_visibility type initial_value constant",
        "llvm.func": "sym_name function_type CConv linkage arg_attrs res_attrs sym_visibility visibility_ "
        "frame_pointer no_inline no_unwind optimize_none passthrough target_cpu target_features tune_cpu unnamed_addr",
        "llvm.call": "callee",
        "llvm.icmp": "predicate",
        "llvm.fcmp": "predicate",
        "llvm.select": "",
        "llvm.getelementptr": "elem_type noWrapFlags rawConstantIndices inbounds",
        **dict.fromkeys(("llvm.add", "llvm.sub", "llvm.mul", "llvm.shl", "llvm.trunc"), "overflowFlags"),
        **dict.fromkeys(("llvm.udiv", "llvm.sdiv", "llvm.lshr", "llvm.ashr"), "isExact"),
        **dict.fromkeys(("llvm.and", "llvm.or", "llvm.xor", "llvm.urem", "llvm.srem"), ""),
        "llvm.br": "",
        "llvm.cond_br": "",
        "llvm.load": "",
        "llvm.store": "",
        "llvm.mlir.constant": "value",
        "llvm.mlir.global": "global_type constant sym_name linkage value thread_local_ unnamed_addr "
        "addr_space alignment dso_local section visibility_",
        "llvm.extractvalue": "position",
        "llvm.insertvalue": "position",
        "llvm.extractelement": "",
    }.items()
}  # fmt: skip
"""Operations with a printer written by hand, and their properties that have a place in MLIR's pretty form."""

_UPSTREAM = frozenset(("arith", "cf", "func", "llvm", "math", "memref", "scf", "transform", "vector"))


@cache
def _spelled(kind: type[IRDLOperation]) -> frozenset[str] | None:
    """Return the properties that MLIR's pretty form has a place for; None if xDSL has another form, or none."""
    definition = kind.get_irdl_definition()
    if kind.dialect_name() not in _UPSTREAM:
        return frozenset(definition.properties)
    if definition.assembly_format is None:
        return _PRETTY.get(kind.name, frozenset() if kind.dialect_name() == "arith" else None)
    return frozenset(name for name in definition.properties if f"${name}" in definition.assembly_format)


def _agrees(op: Operation) -> bool:
    """Return whether MLIR reads the pretty form of `op`."""
    if not isinstance(op, IRDLOperation):
        return True
    spelled = _spelled(type(op))
    if spelled is None:
        return False
    known = op.get_irdl_definition().properties
    for name, value in op.properties.items():
        written = name in spelled or name.endswith("SegmentSizes")
        if not written and (name not in known or known[name].default_value != value):
            return False
    return True


CONSTANTS = "host.constants"
"""The attribute of a module with the constants of its functions: of our own type, hence printed as strings."""


class UpstreamPrinter(Printer):
    """Prints what MLIR reads; with `generic`, every operation in generic form."""

    def __init__(self, stream: IO[str] | None = None, generic: bool = False, **options: Any):
        super().__init__(stream=stream, **options)
        self.generic = generic

    def print_op(self, op: Operation) -> None:
        data = op.attributes.get(CONSTANTS)
        if isinstance(data, ArrayAttr):
            op.attributes[CONSTANTS] = ArrayAttr(
                [StringAttr(attribute_text(a)) for a in cast("ArrayAttr[Attribute]", data)]
            )
        outer, self.print_generic_format = self.print_generic_format, self.generic or not _agrees(op)
        super().print_op(op)
        self.print_generic_format = outer
        if data is not None:
            op.attributes[CONSTANTS] = data

    def print_op_with_default_format(self, op: Operation) -> None:
        inherent = _inherent(op)
        if inherent is None:
            return super().print_op_with_default_format(op)
        own, op.properties = op.properties, inherent
        try:
            super().print_op_with_default_format(op)
        finally:
            op.properties = own


def attribute_text(attribute: Attribute) -> str:
    """Return the text of an attribute or a type."""
    stream = StringIO()
    Printer(stream).print_attribute(attribute)
    return stream.getvalue()


def _inherent(op: Operation) -> dict[str, Attribute] | None:
    """Return the properties of an operation that MLIR has under other names than xDSL, else None."""
    if op.name == "llvm.getelementptr" and "inbounds" in op.properties:
        kept = {name: value for name, value in op.properties.items() if name != "inbounds"}
        return kept | {"noWrapFlags": _INBOUNDS}
    return None


_INBOUNDS = IntegerAttr(3, i32)
"""`inbounds` and the `nusw` that it implies."""


def upstream_text(module: ModuleOp, generic: bool = False) -> str:
    """Return a module as text that MLIR's tools read; with `generic`, in generic form throughout."""
    stream = StringIO()
    UpstreamPrinter(stream, generic).print_op(module)
    return stream.getvalue()
