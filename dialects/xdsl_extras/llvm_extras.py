"""Operations of MLIR's `llvm` dialect that xDSL's lacks, or that reject vectors there.

LLVM intrinsics need no operations of their own: `llvm.call_intrinsic` covers them.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, StringAttr, VectorType, i1, i32, i64
from xdsl.dialects.llvm import FastMathAttr, GenericCastOp, LLVMPointerType
from xdsl.ir import Attribute, Block, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.traits import IsTerminator, NoMemoryEffect, Pure
from xdsl.utils.exceptions import VerifyException

from .arith_extras import FLOAT_PREDICATES
from .type_guards import is_vector, with_element


@irdl_op_definition
class FPToSIOp(GenericCastOp):
    """Convert floats to signed integers, truncating."""

    name = "llvm_extras.fptosi"


@irdl_op_definition
class FPToUIOp(GenericCastOp):
    """Convert floats to unsigned integers, truncating."""

    name = "llvm_extras.fptoui"


@irdl_op_definition
class UIToFPOp(GenericCastOp):
    """Convert unsigned integers to floats."""

    name = "llvm_extras.uitofp"


@irdl_op_definition
class PoisonOp(IRDLOperation):
    """A poison value of any type."""

    name = "llvm_extras.poison"

    res = result_def()

    traits = traits_def(NoMemoryEffect())
    assembly_format = "attr-dict `:` type($res)"

    def __init__(self, type: Attribute):
        super().__init__(result_types=[type])


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """An element of a vector, at a position only known at run time."""

    name = "llvm_extras.extractelement"

    vector = operand_def(VectorType)
    position = operand_def(IntegerType)
    res = result_def()

    traits = traits_def(Pure())
    assembly_format = "$vector `[` $position `:` type($position) `]` attr-dict `:` type($vector) `->` type($res)"

    def verify_(self) -> None:
        if not is_vector(self.vector.type) or self.vector.type.element_type != self.res.type:
            raise VerifyException(f"an element of {self.vector.type} is not {self.res.type}")


@irdl_op_definition
class VectorGEPOp(IRDLOperation):
    """The addresses of array elements at several indices: `llvm.getelementptr` with a vector of indices."""

    name = "llvm_extras.getelementptr"

    base = operand_def(LLVMPointerType)
    indices = operand_def(VectorType)
    res = result_def(VectorType)
    elem_type = prop_def()

    traits = traits_def(Pure())
    assembly_format = (
        "$base `[` $indices `]` `,` $elem_type attr-dict `:` type($base) `,` type($indices) `->` type($res)"
    )

    def __init__(self, base: SSAValue, indices: SSAValue, element: Attribute):
        result = with_element(indices.type, LLVMPointerType())
        super().__init__(operands=[base, indices], result_types=[result], properties={"elem_type": element})

    def verify_(self) -> None:
        if self.res.type != with_element(self.indices.type, LLVMPointerType()):
            raise VerifyException(f"'{self.name}' gives a pointer for each index")


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`llvm.select` with an i1 per element."""

    name = "llvm_extras.select"

    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    res = result_def()
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($lhs) `,` type($rhs) `->` type($res)"

    def verify_(self) -> None:
        if not (self.lhs.type == self.rhs.type == self.res.type) or self.cond.type != with_element(self.lhs.type, i1):
            raise VerifyException(f"'{self.name}' needs two values of one type and one i1 for each element")


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """`llvm.fcmp` on vectors."""

    name = "llvm_extras.fcmp"

    predicate = prop_def(StringAttr)
    lhs = operand_def()
    rhs = operand_def()
    res = result_def()
    fastmathFlags = prop_def(FastMathAttr, default_value=FastMathAttr(None))

    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(Pure())
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($res)"

    def verify_(self) -> None:
        if self.predicate.data not in FLOAT_PREDICATES:
            raise VerifyException(f"unknown predicate '{self.predicate.data}'; known: {', '.join(FLOAT_PREDICATES)}")
        if self.lhs.type != self.rhs.type or self.res.type != with_element(self.lhs.type, i1):
            raise VerifyException(
                f"'{self.name}' compares two values of one type, got {self.lhs.type}, {self.rhs.type}"
            )


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """A branch to one of several blocks by an integer; `segments` has the number of operands of each case.

        "llvm_extras.switch"(%value, …)[^default, ^case, …] <{cases = …, segments = …, …}> : (i32, …) -> ()

    It only has MLIR's generic form.
    """

    name = "llvm_extras.switch"

    value = operand_def(IntegerType)
    default_operands = var_operand_def()
    case_operands = var_operand_def()
    cases = prop_def(DenseArrayBase.constr(i64))
    segments = prop_def(DenseArrayBase.constr(i32))
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
        super().__init__(
            operands=[value, default[1], [v for _, _, values in cases for v in values]],
            successors=[default[0], [block for _, block, _ in cases]],
            properties={
                "cases": DenseArrayBase.from_list(i64, [c for c, _, _ in cases]),
                "segments": DenseArrayBase.from_list(i32, [len(values) for _, _, values in cases]),
            },
        )

    def edges(self) -> list[tuple[int | None, Block, list[SSAValue]]]:
        """Return (case or None for the default, block, operands) of each edge."""
        edges: list[tuple[int | None, Block, list[SSAValue]]] = [
            (None, self.default_block, list(self.default_operands))
        ]
        rest = list(self.case_operands)
        segments = self.segments.get_values()
        for case, block, count in zip(self.cases.get_values(), self.case_blocks, segments, strict=True):
            edges.append((int(case), block, rest[: int(count)]))
            rest = rest[int(count) :]
        return edges

    def verify_(self) -> None:
        segments = [int(n) for n in self.segments.get_values()]
        if not len(self.cases) == len(segments) == len(self.case_blocks) or sum(segments) != len(self.case_operands):
            raise VerifyException("cases, segments, blocks and operands of a switch do not fit together")


LLVMExtras = Dialect(
    "llvm_extras",
    [FPToSIOp, FPToUIOp, UIToFPOp, PoisonOp, ExtractElementOp, VectorGEPOp, SelectOp, FCmpOp, SwitchOp],
)
