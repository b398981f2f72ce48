"""Operations of `memref` that xDSL lacks, or reads in generic form only."""

from __future__ import annotations

from typing import Any, Self, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, StringAttr, TensorType, UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.parser import Parser

from .forms import PlainOp, formed, generic, read_form

_INDEX = IndexType()
_ATOMIC = (
    "addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli", "ori", "andi",
    "maxnumf", "minnumf", "xori",
)  # fmt: skip


def _formed(cls: Any, parser: Parser, form: str) -> Any:
    place = parser.pos
    r = read_form(parser, cls.name, form)
    operands = parser.resolve_operands(r.operands, cast("list[Attribute]", r.types), place)
    return cls.create(operands=operands, result_types=r.results, attributes=r.attributes)


class CastOp(memref.CastOp):
    """`memref.cast %m : memref<…> to memref<…>`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _formed(cls, parser, "% {} : T to R")


class MemorySpaceCastOp(memref.MemorySpaceCastOp):
    """`memref.memory_space_cast %m : memref<…> to memref<…>`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _formed(cls, parser, "% {} : T to R")


class CopyOp(memref.CopyOp):
    """`memref.copy %a, %b : memref<…> to memref<…>`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return _formed(cls, parser, "% , % {} : T to T")

    def verify_(self) -> None:
        """MLIR takes operands whose shapes may agree, such as `?` and 4."""


class GlobalOp(memref.GlobalOp):
    """`memref.global "private" constant @name : memref<…> = dense<…> {alignment = 64 : i64}`."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        visibility = parser.parse_optional_str_literal()
        properties: dict[str, Any] = {"sym_visibility": StringAttr(visibility or "public")}
        if parser.parse_optional_keyword("constant"):
            properties["constant"] = UnitAttr()
        properties["sym_name"] = parser.parse_symbol_name()
        parser.parse_punctuation(":")
        kind: Any = parser.parse_type()
        properties["type"] = kind
        parser.parse_punctuation("=")
        if parser.parse_optional_keyword("uninitialized"):
            properties["initial_value"] = UnitAttr()
        else:
            shape = TensorType(kind.element_type, kind.get_shape())
            parser.parse_keyword("dense")
            properties["initial_value"] = parser.parse_dense_int_or_fp_elements_attr(shape)
        attributes = parser.parse_optional_attr_dict()
        return cls.create(properties=properties | attributes)


class AtomicRMWOp(PlainOp):
    """`memref.atomic_rmw addf %v, %m[%i] : (f32, memref<…>) -> f32`."""

    name = "memref.atomic_rmw"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        place = parser.pos
        word = parser.parse_identifier()
        if word not in _ATOMIC:
            parser.raise_error(f"expected one of {', '.join(_ATOMIC)}", place)
        value = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        target = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_operand(_INDEX))
        parser.parse_punctuation(":")
        kind = parser.parse_function_type()
        ends = parser.resolve_operands([value, target], kind.inputs.data, place)
        return cls.create(
            operands=[*ends, *indices],
            result_types=kind.outputs.data,
            properties={"kind": IntegerAttr(_ATOMIC.index(word), i64)},
        )


class GenericAtomicRMWOp(PlainOp):
    """`memref.generic_atomic_rmw %m[%i] : memref<…> { ^bb0(%old: f32): … memref.atomic_yield %new : f32 }`."""

    name = "memref.generic_atomic_rmw"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        target = parser.parse_unresolved_operand()
        indices = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_operand(_INDEX))
        parser.parse_punctuation(":")
        kind: Any = parser.parse_type()
        source = parser.resolve_operand(target, kind)
        body = parser.parse_region()
        attributes = parser.parse_optional_attr_dict()
        return cls.create(
            operands=[source, *indices], result_types=[kind.element_type], regions=[body], attributes=attributes
        )


class AllocaScopeOp(PlainOp):
    """`memref.alloca_scope -> (f32) { … memref.alloca_scope.return %x : f32 }`."""

    name = "memref.alloca_scope"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        results = ()
        if parser.parse_optional_punctuation("->"):
            results = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)
        body = parser.parse_region()
        if body.block.last_op is None or body.block.last_op.name != AllocaScopeReturnOp.name:
            body.block.add_op(AllocaScopeReturnOp.create())
        return cls.create(result_types=results, regions=[body])


class _Values(PlainOp):
    """A terminator: `%x : f32`, or nothing."""

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        if not names:
            return cls.create()
        parser.parse_punctuation(":")
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.create(operands=parser.resolve_operands(names, types, parser.pos))


AllocaScopeReturnOp = type("AllocaScopeReturnOp", (_Values,), {"name": "memref.alloca_scope.return"})
AtomicYieldOp = type("AtomicYieldOp", (_Values,), {"name": "memref.atomic_yield"})


class ReallocOp(PlainOp):
    """`memref.realloc %m(%n) : memref<?xf32> to memref<?xf32>`."""

    name = "memref.realloc"

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        source = parser.parse_unresolved_operand()
        sizes = parser.parse_optional_comma_separated_list(parser.Delimiter.PAREN, lambda: parser.parse_operand(_INDEX))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        parser.parse_keyword("to")
        result = parser.parse_type()
        return cls.create(
            operands=[parser.resolve_operand(source, kind), *(sizes or ())],
            result_types=[result],
            properties={name: attributes[name] for name in attributes},
        )


OPERATIONS = (
    CastOp,
    MemorySpaceCastOp,
    CopyOp,
    GlobalOp,
    AtomicRMWOp,
    GenericAtomicRMWOp,
    AllocaScopeOp,
    AllocaScopeReturnOp,
    AtomicYieldOp,
    ReallocOp,
    formed("memref.rank", "% {} : T", lambda operands, results: [_INDEX]),
    formed("memref.reshape", "% ( % ) {} : F"),
    formed("memref.transpose", "% map:permutation {} : T to R"),
    formed("memref.distinct_objects", "%* {} : T*", lambda operands, results: operands),
    *(generic(f"memref.{name}") for name in ("prefetch",)),
)
"""What the dialect `memref` has in addition to xDSL's operations, or instead of those of these names."""
