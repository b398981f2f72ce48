"""Vectors of scalars: their types, and the expressions that build and shuffle them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    IntAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from ..assembly import parse_value
from ..dtypes import is_scalable, lanes_of, scalar_of
from ..quick import fill


def with_lanes(dtype: Attribute, like: Attribute) -> Attribute:
    """Return `dtype` with as many lanes as `like`."""
    lanes = lanes_of(like)
    return dtype if lanes == 1 else vector_of(dtype, lanes, is_scalable(like))


def with_lanes_of(dtype: Attribute, lanes: int) -> Attribute:
    """Return `dtype` for one lane, else a vector of it."""
    return dtype if lanes == 1 else vector_of(dtype, lanes)


_SCALABLE = ArrayAttr([BoolAttr.from_bool(True)])


@lru_cache(maxsize=1024)
def vector_of(dtype: Attribute, lanes: int, scalable: bool = False) -> VectorType[Attribute]:
    """Return a vector of `lanes` elements of `dtype`; with `scalable`, of `lanes` times vscale elements."""
    return VectorType(dtype, [lanes], _SCALABLE if scalable else None)


@irdl_op_definition
class RampOp(IRDLOperation):
    """`%v = tir.ramp %base, %stride : i32, i32 -> vector<4xi32>`: base, base + stride, …"""

    name = "tir.ramp"
    base = operand_def(IntegerType)
    stride = operand_def(IntegerType)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$base `,` $stride attr-dict `:` type($base) `,` type($stride) `->` type($result)"

    def __init__(self, base: SSAValue, stride: SSAValue, lanes: int, scalable: bool = False):
        fill(self, (base, stride), result_types=(vector_of(base.type, lanes, scalable),))


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """`%v = tir.broadcast %x : f32 -> vector<4xf32>`: x in each lane."""

    name = "tir.broadcast"
    value = operand_def()
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, lanes: int, scalable: bool = False):
        fill(self, (value,), result_types=(vector_of(value.type, lanes, scalable),))


@irdl_op_definition
class ShuffleOp(IRDLOperation):
    """`%v = tir.shuffle [%a, %b] [0, 5] : f32`: lanes, by number, of the concatenation of all vectors (or scalars)."""

    name = "tir.shuffle"
    vectors = var_operand_def()
    lanes = prop_def(ArrayAttr[IntAttr])
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, vectors: Sequence[SSAValue], lanes: Sequence[int]):
        element = scalar_of(vectors[0].type)
        result = element if len(lanes) == 1 else VectorType(element, [len(lanes)])
        properties = {"lanes": ArrayAttr(IntAttr(i) for i in lanes)}
        super().__init__(operands=[vectors], properties=properties, result_types=[result])

    def verify_(self) -> None:
        elements = {scalar_of(v.type) for v in self.vectors}
        if len(elements) != 1:
            raise VerifyException("tir.shuffle of vectors of several types, or of none")
        count = sum(lanes_of(v.type) for v in self.vectors)
        wrong = [i.data for i in self.lanes if not 0 <= i.data < count]
        if wrong or not self.lanes.data:
            raise VerifyException(f"tir.shuffle: lane {wrong[0]} of {count}" if wrong else "tir.shuffle gives no lane")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_square_brackets():
            printer.print_list(self.vectors, printer.print_ssa_value)
        printer.print_string(f" [{', '.join(str(i.data) for i in self.lanes)}] : ")
        printer.print_attribute(scalar_of(self.result.type))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        vectors = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_value(parser))
        lanes = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parser.parse_integer())
        parser.parse_punctuation(":")
        parser.parse_type()
        if not vectors or not lanes:
            parser.raise_error("tir.shuffle takes vectors and numbers of lanes, at least one of each")
        return cls(vectors, lanes)
