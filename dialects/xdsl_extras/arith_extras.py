"""`arith` operations that work on vectors, too.

xDSL's `arith.cmpi`, `cmpf`, `select`, `extsi`, `extui`, `trunci`, `sitofp`, `uitofp`, `fptosi`, `fptoui` and `index_cast`
accept scalars only. The operations here are elementwise on scalars and on vectors of one shape, as MLIR's are.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, cast

from xdsl.dialects.builtin import AnyFloat, FixedBitwidthType, IndexType, IntegerType, StringAttr, VectorType, i1
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord")
    + ("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
)  # fmt: skip


def element_type(type: Attribute) -> Attribute:
    """The element type of a vector type; any other type itself."""
    return cast(Attribute, type.element_type) if isinstance(type, VectorType) else type


def with_element(type: Attribute, element: Attribute) -> Attribute:
    """`type` with its element type replaced: a vector of the same shape, or `element` itself for a scalar."""
    return VectorType(element, type.shape) if isinstance(type, VectorType) else element


def _shape(type: Attribute) -> tuple[int, ...] | None:
    return type.get_shape() if isinstance(type, VectorType) else None


def _is_a(kind: type | tuple[type, ...], value: SSAValue) -> bool:
    return isinstance(element_type(value.type), kind)


def _width(type: Attribute) -> int:
    element = element_type(type)
    return element.bitwidth if isinstance(element, FixedBitwidthType) else 64


class CastOp(IRDLOperation, ABC):
    """An elementwise conversion; subclasses say between which kinds of elements and whether the width must grow."""

    KINDS: ClassVar[tuple[type, type]]
    GROWTH: ClassVar[int] = 0  # 1: the result is wider, -1: narrower, 0: any

    input = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, value: SSAValue | Operation, type: Attribute):
        super().__init__(operands=[value], result_types=[type])

    def verify_(self) -> None:
        source, target = self.input.type, self.result.type
        if _shape(source) != _shape(target):
            raise VerifyException(f"'{self.name}' changes the shape: {source} to {target}")
        if not (_is_a(self.KINDS[0], self.input) and _is_a(self.KINDS[1], self.result)):
            raise VerifyException(f"'{self.name}' cannot convert {source} to {target}")
        if self.GROWTH * (_width(target) - _width(source)) < 0 or (self.GROWTH and _width(target) == _width(source)):
            raise VerifyException(f"'{self.name}' needs a {'wider' if self.GROWTH > 0 else 'narrower'} result")


@irdl_op_definition
class ExtSIOp(CastOp):
    name = "arith_extras.extsi"
    KINDS, GROWTH = (IntegerType, IntegerType), 1


@irdl_op_definition
class ExtUIOp(CastOp):
    name = "arith_extras.extui"
    KINDS, GROWTH = (IntegerType, IntegerType), 1


@irdl_op_definition
class TruncIOp(CastOp):
    name = "arith_extras.trunci"
    KINDS, GROWTH = (IntegerType, IntegerType), -1


@irdl_op_definition
class SIToFPOp(CastOp):
    name = "arith_extras.sitofp"
    KINDS = (IntegerType, AnyFloat)


@irdl_op_definition
class UIToFPOp(CastOp):
    name = "arith_extras.uitofp"
    KINDS = (IntegerType, AnyFloat)


@irdl_op_definition
class FPToSIOp(CastOp):
    name = "arith_extras.fptosi"
    KINDS = (AnyFloat, IntegerType)


@irdl_op_definition
class FPToUIOp(CastOp):
    name = "arith_extras.fptoui"
    KINDS = (AnyFloat, IntegerType)


class _IndexCast(CastOp, ABC):
    KINDS = (Attribute, Attribute)

    def verify_(self) -> None:
        super().verify_()
        if _is_a(IndexType, self.input) == _is_a(IndexType, self.result):
            raise VerifyException(f"'{self.name}' converts between index and an integer, not {self.input.type}")


@irdl_op_definition
class IndexCastOp(_IndexCast):
    name = "arith_extras.index_cast"


@irdl_op_definition
class IndexCastUIOp(_IndexCast):
    name = "arith_extras.index_castui"


class CompareOp(IRDLOperation, ABC):
    """An elementwise comparison; the result has an i1 for each element."""

    KINDS: ClassVar[tuple[type, ...]]
    PREDICATES: ClassVar[tuple[str, ...]]

    predicate = prop_def(StringAttr)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, predicate: str, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        lhs = SSAValue.get(lhs)
        super().__init__(
            operands=[lhs, rhs],
            result_types=[with_element(lhs.type, i1)],
            properties={"predicate": StringAttr(predicate)},
        )

    def verify_(self) -> None:
        if self.predicate.data not in self.PREDICATES:
            raise VerifyException(f"unknown predicate '{self.predicate.data}'; known: {', '.join(self.PREDICATES)}")
        if self.lhs.type != self.rhs.type or self.result.type != with_element(self.lhs.type, i1):
            raise VerifyException(f"'{self.name}' compares two values of one type, got {self.lhs.type}, {self.rhs.type}")
        if not _is_a(self.KINDS, self.lhs):
            raise VerifyException(f"'{self.name}' cannot compare values of {self.lhs.type}")


@irdl_op_definition
class CmpIOp(CompareOp):
    name = "arith_extras.cmpi"
    KINDS, PREDICATES = (IntegerType, IndexType), INTEGER_PREDICATES


@irdl_op_definition
class CmpFOp(CompareOp):
    name = "arith_extras.cmpf"
    KINDS, PREDICATES = (AnyFloat,), FLOAT_PREDICATES


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Chooses for each element by an i1 or a vector of i1."""

    name = "arith_extras.select"

    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($lhs) `,` type($rhs) `->` type($result)"

    def __init__(self, cond: SSAValue | Operation, lhs: SSAValue | Operation, rhs: SSAValue | Operation):
        super().__init__(operands=[cond, lhs, rhs], result_types=[SSAValue.get(lhs).type])

    def verify_(self) -> None:
        if not (self.lhs.type == self.rhs.type == self.result.type):
            raise VerifyException(f"'{self.name}' chooses between values of one type")
        if self.cond.type not in (i1, with_element(self.lhs.type, i1)):
            raise VerifyException(f"'{self.name}' needs i1 or one i1 for each element, got {self.cond.type}")


ArithExtras = Dialect(
    "arith_extras",
    [
        ExtSIOp, ExtUIOp, TruncIOp, SIToFPOp, UIToFPOp, FPToSIOp, FPToUIOp, IndexCastOp, IndexCastUIOp,
        CmpIOp, CmpFOp, SelectOp,
    ],
)  # fmt: skip
