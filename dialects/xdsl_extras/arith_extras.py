"""`arith` operations that also work on vectors.

xDSL's `arith.cmpi`, `cmpf`, `select`, `extsi`, `extui`, `trunci`, `sitofp`, `uitofp`, `fptosi`, `fptoui` and
`index_cast` accept scalars only. The operations here are elementwise on scalars and on vectors of one shape, like
MLIR's.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import (
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    StringAttr,
    i1,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .type_guards import element_type, is_vector, with_element

INTEGER_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
FLOAT_PREDICATES = (
    ("false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord")
    + ("ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true")
)  # fmt: skip


_FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)

Kind = type | tuple[type, ...]

# operation -> (kind of source elements, kind of result elements, 1: wider, -1: narrower, 0: any width)
_CASTS: dict[str, tuple[Kind, Kind, int]] = {
    "arith_extras.extsi": (IntegerType, IntegerType, 1),
    "arith_extras.extui": (IntegerType, IntegerType, 1),
    "arith_extras.trunci": (IntegerType, IntegerType, -1),
    "arith_extras.sitofp": (IntegerType, _FLOATS, 0),
    "arith_extras.uitofp": (IntegerType, _FLOATS, 0),
    "arith_extras.fptosi": (_FLOATS, IntegerType, 0),
    "arith_extras.fptoui": (_FLOATS, IntegerType, 0),
    "arith_extras.index_cast": ((IntegerType, IndexType), (IntegerType, IndexType), 0),
    "arith_extras.index_castui": ((IntegerType, IndexType), (IntegerType, IndexType), 0),
}

# operation -> (kinds of elements, predicates)
_COMPARISONS: dict[str, tuple[Kind, tuple[str, ...]]] = {
    "arith_extras.cmpi": ((IntegerType, IndexType), INTEGER_PREDICATES),
    "arith_extras.cmpf": (_FLOATS, FLOAT_PREDICATES),
}


def _shape(type: Attribute) -> tuple[int, ...] | None:
    return type.get_shape() if is_vector(type) else None


def _is_a(kind: Kind, value: SSAValue) -> bool:
    return isinstance(element_type(value.type), kind)


def _width(type: Attribute) -> int:
    element = element_type(type)
    return element.bitwidth if isinstance(element, FixedBitwidthType) else 64


class CastOp(IRDLOperation, ABC):
    """An elementwise conversion, between the element types listed in `_CASTS`."""

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
        from_kind, to_kind, growth = _CASTS[self.name]
        if not (_is_a(from_kind, self.input) and _is_a(to_kind, self.result)):
            raise VerifyException(f"'{self.name}' cannot convert {source} to {target}")
        if growth and growth * (_width(target) - _width(source)) <= 0:
            raise VerifyException(f"'{self.name}' needs a {'wider' if growth > 0 else 'narrower'} result, got {target}")


@irdl_op_definition
class ExtSIOp(CastOp):
    """Sign-extend integers."""

    name = "arith_extras.extsi"


@irdl_op_definition
class ExtUIOp(CastOp):
    """Zero-extend integers."""

    name = "arith_extras.extui"


@irdl_op_definition
class TruncIOp(CastOp):
    """Truncate integers: the high bits are dropped."""

    name = "arith_extras.trunci"


@irdl_op_definition
class SIToFPOp(CastOp):
    """Convert signed integers to floats."""

    name = "arith_extras.sitofp"


@irdl_op_definition
class UIToFPOp(CastOp):
    """Convert unsigned integers to floats."""

    name = "arith_extras.uitofp"


@irdl_op_definition
class FPToSIOp(CastOp):
    """Convert floats to signed integers, truncating."""

    name = "arith_extras.fptosi"


@irdl_op_definition
class FPToUIOp(CastOp):
    """Convert floats to unsigned integers, truncating."""

    name = "arith_extras.fptoui"


class _IndexCast(CastOp, ABC):
    def verify_(self) -> None:
        super().verify_()
        if _is_a(IndexType, self.input) == _is_a(IndexType, self.result):
            raise VerifyException(f"'{self.name}' converts between index and an integer, not {self.input.type}")


@irdl_op_definition
class IndexCastOp(_IndexCast):
    """Convert between signed integers and indices."""

    name = "arith_extras.index_cast"


@irdl_op_definition
class IndexCastUIOp(_IndexCast):
    """Convert between unsigned integers and indices."""

    name = "arith_extras.index_castui"


class CompareOp(IRDLOperation, ABC):
    """An elementwise comparison; the result has an i1 per element."""

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
        kinds, predicates = _COMPARISONS[self.name]
        if self.predicate.data not in predicates:
            raise VerifyException(f"unknown predicate '{self.predicate.data}'; known: {', '.join(predicates)}")
        if self.lhs.type != self.rhs.type or self.result.type != with_element(self.lhs.type, i1):
            raise VerifyException(
                f"'{self.name}' compares two values of one type, got {self.lhs.type}, {self.rhs.type}"
            )
        if not _is_a(kinds, self.lhs):
            raise VerifyException(f"'{self.name}' cannot compare values of {self.lhs.type}")


@irdl_op_definition
class CmpIOp(CompareOp):
    """Compare integers or indices: an i1 per element."""

    name = "arith_extras.cmpi"


@irdl_op_definition
class CmpFOp(CompareOp):
    """Compare floats: an i1 per element."""

    name = "arith_extras.cmpf"


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Select per element by an i1 or a vector of i1."""

    name = "arith_extras.select"

    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()

    traits = traits_def(Pure())
    assembly_format = (
        "$cond `,` $lhs `,` $rhs attr-dict `:` type($cond) `,` type($lhs) `,` type($rhs) `->` type($result)"
    )

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
