"""Operations of MLIR's `llvm` dialect that xDSL's lacks, or that reject vectors there.

LLVM intrinsics need no operations of their own: `llvm.call_intrinsic` covers them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    VectorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.llvm import FastMathAttr, GenericCastOp, LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from .arith_extras import FLOAT_PREDICATES
from .loop_annotation import LoopAnnotationAttr
from .type_guards import element_type, is_vector, with_element


@irdl_op_definition
class FPToSIOp(GenericCastOp):
    """Convert floats to signed integers, truncating."""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(GenericCastOp):
    """Convert floats to unsigned integers, truncating."""

    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(GenericCastOp):
    """Convert unsigned integers to floats."""

    name = "llvm.uitofp"


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A poison value of any type."""

    name = "llvm.mlir.poison"

    res = result_def()

    traits = traits_def(NoMemoryEffect())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """`%x = llvm.extractelement %v[%i : i32] : vector<4xf32>`: an element at a position that is not constant."""

    name = "llvm.extractelement"

    vector = operand_def(VectorType)
    position = operand_def(IntegerType)
    res = result_def()

    traits = traits_def(Pure())

    def verify_(self) -> None:
        if not is_vector(self.vector.type) or self.vector.type.element_type != self.res.type:
            raise VerifyException(f"an element of {self.vector.type} is not {self.res.type}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        vector = parser.parse_unresolved_operand()
        parser.parse_punctuation("[")
        position = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        kind = parser.parse_type()
        parser.parse_punctuation("]")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        operands = parser.resolve_operands([vector, position], [type, kind], parser.pos)
        return cls.create(operands=operands, result_types=[element_type(type)], attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_operand(self.vector)
        with printer.in_square_brackets():
            printer.print_operand(self.position)
            printer.print_string(" : ")
            printer.print_attribute(self.position.type)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.vector.type)


@irdl_op_definition
class GEPOp(llvm.GEPOp):
    """The address of an element; for a vector of indices those of several."""

    name = "llvm.getelementptr"

    ptr = operand_def()
    ssa_indices = var_operand_def()
    elem_type = prop_def()
    noWrapFlags = prop_def(IntegerAttr.constr(i32))
    rawConstantIndices = prop_def(DenseArrayBase.constr(i32))
    inbounds = opt_prop_def(UnitAttr)
    result = result_def()

    @classmethod
    def each(cls, base: SSAValue, indices: SSAValue, element: Attribute) -> Self:
        """Return the addresses of the elements at `indices`, a vector, of an array of `element` at `base`."""
        properties = {
            "rawConstantIndices": DenseArrayBase.from_list(i32, [llvm.GEP_USE_SSA_VAL]),
            "elem_type": element,
            "noWrapFlags": IntegerAttr(0, i32),
            "inbounds": UnitAttr(),
        }
        return cls.create(
            operands=(base, indices),
            result_types=(with_element(indices.type, LLVMPointerType()),),
            properties=properties,
        )

    def verify_(self) -> None:
        shapes = {v.type.shape for v in self.operands if is_vector(v.type)}
        expected: Attribute = VectorType(LLVMPointerType(), shapes.pop()) if shapes else LLVMPointerType()
        if shapes or self.result.type != expected:
            raise VerifyException(f"'{self.name}' gives a pointer for each index, got {self.result.type}")


@irdl_op_definition
class SelectOp(llvm.SelectOp):
    """`llvm.select` by an i1, or by an i1 per element."""

    name = "llvm.select"
    assembly_format = None

    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    res = result_def()
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    def verify_(self) -> None:
        flags = (i1, with_element(self.lhs.type, i1))
        if not (self.lhs.type == self.rhs.type == self.res.type) or self.cond.type not in flags:
            raise VerifyException(f"'{self.name}' needs two values of one type and one i1 for each element")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = [parser.parse_unresolved_operand()]
        for _ in range(2):
            parser.parse_punctuation(",")
            names.append(parser.parse_unresolved_operand())
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        flags = parser.parse_type()
        parser.parse_punctuation(",")
        type = parser.parse_type()
        operands = parser.resolve_operands(names, [flags, type, type], parser.pos)
        properties = {"fastmathFlags": attributes.pop("fastmathFlags", FastMathAttr(None))}
        return cls.create(operands=operands, result_types=[type], properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.cond, self.lhs, self.rhs), printer.print_operand)
        flags = {} if self.fastmathFlags == FastMathAttr(None) else {"fastmathFlags": self.fastmathFlags}
        printer.print_op_attributes(flags | self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.cond.type)
        printer.print_string(", ")
        printer.print_attribute(self.res.type)


@irdl_op_definition
class FCmpOp(llvm.FCmpOp):
    """`llvm.fcmp` on floats, or vectors of them."""

    name = "llvm.fcmp"

    lhs = operand_def()
    rhs = operand_def()
    res = result_def()
    predicate = prop_def(IntegerAttr.constr(i64))
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    def verify_(self) -> None:
        if not 0 <= self.predicate.value.data < len(FLOAT_PREDICATES):
            raise VerifyException(f"unknown predicate {self.predicate.value.data}; known: 0 to 15")
        if self.lhs.type != self.rhs.type or self.res.type != with_element(self.lhs.type, i1):
            raise VerifyException(
                f"'{self.name}' compares two values of one type, got {self.lhs.type}, {self.rhs.type}"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        at = parser.pos
        word = parser.parse_str_literal()
        word = word if word.startswith("_") else {"false": "_false", "true": "_true"}.get(word, word)
        if word.lstrip("_") not in FLOAT_PREDICATES:
            parser.raise_error(f"unknown predicate '{word}'; known: {', '.join(FLOAT_PREDICATES)}", at)
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        rhs = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        properties: dict[str, Attribute] = {"predicate": IntegerAttr(llvm.FCmpPredicateFlag(word).to_int(), i64)}
        properties["fastmathFlags"] = attributes.pop("fastmathFlags", FastMathAttr(None))
        operands = parser.resolve_operands([lhs, rhs], [type, type], parser.pos)
        return cls.create(
            operands=operands, result_types=[with_element(type, i1)], properties=properties, attributes=attributes
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{llvm.FCmpPredicateFlag.from_int(self.predicate.value.data)}" ')
        printer.print_list((self.lhs, self.rhs), printer.print_operand)
        flags = {} if self.fastmathFlags == FastMathAttr(None) else {"fastmathFlags": self.fastmathFlags}
        printer.print_op_attributes(flags | self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.lhs.type)


@irdl_op_definition
class LoadOp(llvm.LoadOp):
    """`llvm.load`, which may be `nontemporal`."""

    name = "llvm.load"

    ptr = operand_def(LLVMPointerType)
    alignment = opt_prop_def(IntegerAttr)
    ordering = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    nontemporal = opt_prop_def(UnitAttr)
    dereferenced_value = result_def()

    def verify_(self) -> None:
        """The constraints are all: those of the class derived from do not know the new property."""


@irdl_op_definition
class BrOp(llvm.BrOp):
    """`llvm.br` with hints for the loop that it goes back in."""

    name = "llvm.br"
    assembly_format = None

    arguments = var_operand_def()
    loop_annotation = opt_prop_def(LoopAnnotationAttr)
    successor = successor_def()

    def verify_(self) -> None:
        """The constraints are all: those of the class derived from do not know the new property."""


@irdl_op_definition
class CondBrOp(llvm.CondBrOp):
    """`llvm.cond_br` with hints for the loop that it goes back in, or the number of times that it takes each way."""

    name = "llvm.cond_br"
    assembly_format = None

    cond = operand_def(i1)
    then_arguments = var_operand_def()
    else_arguments = var_operand_def()
    branch_weights = opt_prop_def(DenseArrayBase.constr(i32))
    loop_annotation = opt_prop_def(LoopAnnotationAttr)
    then_block = successor_def()
    else_block = successor_def()

    def verify_(self) -> None:
        """The constraints are all: those of the class derived from do not know the new property."""


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """A branch to one of several blocks by an integer; `case_operand_segments` has the number of operands of each.

        "llvm.switch"(%value, …)[^default, ^case, …] <{case_operand_segments = …, case_values = …, …}> : (i32, …) -> ()

    It only has MLIR's generic form.
    """

    name = "llvm.switch"

    value = operand_def(IntegerType)
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    case_values = opt_prop_def(DenseIntOrFPElementsAttr)
    case_operand_segments = prop_def(DenseArrayBase.constr(i32))
    branch_weights = opt_prop_def(DenseArrayBase.constr(i32))
    default_block = successor_def()
    case_blocks = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(IsTerminator())

    def __init__(
        self,
        value: SSAValue | Operation,
        default: tuple[Block, Sequence[SSAValue]],
        cases: Sequence[tuple[int, Block, Sequence[SSAValue]]],
    ):
        value = SSAValue.get(value)
        segments = DenseArrayBase.from_list(i32, [len(values) for _, _, values in cases])
        properties: dict[str, Attribute] = {"case_operand_segments": segments}
        if cases:
            type = VectorType(cast("IntegerType[int]", value.type), [len(cases)])
            properties["case_values"] = DenseIntOrFPElementsAttr.from_list(type, [c for c, _, _ in cases])
        super().__init__(
            operands=[value, default[1], [v for _, _, values in cases for v in values]],
            successors=[default[0], [block for _, block, _ in cases]],
            properties=properties,
        )

    @property
    def cases(self) -> Sequence[int]:
        """The value of each case."""
        values = self.case_values
        return () if values is None else [int(v) for v in cast("DenseIntOrFPElementsAttr[Any]", values).get_values()]

    def edges(self) -> list[tuple[int | None, Block, list[SSAValue]]]:
        """Return (case or None for the default, block, operands) of each edge."""
        edges: list[tuple[int | None, Block, list[SSAValue]]] = [
            (None, self.default_block, list(self.default_operands))
        ]
        rest = list(self.case_operands)
        segments = self.case_operand_segments.get_values()
        for case, block, count in zip(self.cases, self.case_blocks, segments, strict=True):
            edges.append((case, block, rest[: int(count)]))
            rest = rest[int(count) :]
        return edges

    def verify_(self) -> None:
        segments = [int(n) for n in self.case_operand_segments.get_values()]
        if not len(self.cases) == len(segments) == len(self.case_blocks) or sum(segments) != len(self.case_operands):
            raise VerifyException("cases, segments, blocks and operands of a switch do not fit together")


OPERATIONS = (
    FPToSIOp, FPToUIOp, UIToFPOp, PoisonOp, ExtractElementOp, GEPOp, SelectOp, FCmpOp, LoadOp, BrOp, CondBrOp, SwitchOp,
)  # fmt: skip
"""What the dialect `llvm` has in addition to xDSL's operations, or instead of those of these names."""
