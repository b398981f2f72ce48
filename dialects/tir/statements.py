"""Simple statements: stores, evaluation, let bindings, assertions, attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr, i1
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    MemoryWriteEffect,
    NoTerminator,
    RecursiveMemoryEffect,
)
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..assembly import parse_optional_value, parse_value
from ..quick import fill
from .expressions import element_type
from .indices import check_indices, parse_access, print_access
from .types import BufferType, HandleType


@irdl_op_definition
class StoreOp(IRDLOperation):
    """`tir.store %v, %Y[%i, %j]`."""

    name = "tir.store"
    value = operand_def()
    buffer = operand_def(BufferType)
    indices = var_operand_def()
    traits = traits_def(MemoryWriteEffect())

    def __init__(self, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]):
        fill(self, (value, buffer, *indices))

    def verify_(self) -> None:
        check_indices(self, self.buffer, self.indices)
        element = element_type(self.buffer, self.indices)
        if self.value.type != element:
            raise VerifyException(f"tir.store of {self.value.type} into elements of {element}")

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.value)
        printer.print_string(", ")
        print_access(printer, self.buffer, self.indices)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        value = parse_value(parser)
        parser.parse_punctuation(",")
        return cls(value, *parse_access(parser))


@irdl_op_definition
class EvaluateOp(IRDLOperation):
    """`tir.evaluate %v : f32`: evaluates an expression for its effect."""

    name = "tir.evaluate"
    value = operand_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


@irdl_op_definition
class LetOp(IRDLOperation):
    """`%x = tir.let %v : i32 -> i32`: binds an expression, evaluated once here, to a name (TVM's LetStmt).

    The result has the type of the value; an address may change its element type.
    """

    name = "tir.let"
    value = operand_def()
    result = result_def()
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$value attr-dict `:` type($value) `->` type($result)"

    def __init__(self, value: SSAValue, dtype: Attribute | None = None):
        super().__init__(operands=[value], result_types=[dtype or value.type])

    def verify_(self) -> None:
        t = self.result.type
        if t != self.value.type and not (isinstance(t, HandleType) and isinstance(self.value.type, HandleType)):
            raise VerifyException(f"{self.name}: a value of {self.value.type} has a name of {t}")


@irdl_op_definition
class AssertOp(IRDLOperation):
    """`tir.assert %c, "message"`: stops the function if the condition does not hold."""

    name = "tir.assert"
    cond = operand_def(i1)
    message = prop_def(StringAttr)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$cond `,` $message attr-dict"

    def __init__(self, cond: SSAValue, message: str):
        super().__init__(operands=[cond], properties={"message": StringAttr(message)})


def _print_subject(printer: Printer, subject: Attribute | SSAValue) -> None:
    if isinstance(subject, SSAValue):
        printer.print_ssa_value(subject)
    else:
        printer.print_attribute(subject)


_ABOUT = asm.kind_of_part(
    _print_subject, lambda parser: parse_optional_value(parser) or parser.parse_attribute(), "{}", " "
)("on")


@irdl_op_definition
class AttrOp(asm.FormattedOp):
    """`tir.attr "key" %v {…}`: an annotation of a body (TVM's AttrStmt).

    Its node, `on`, is 0 by default, else an attribute or a value: `tir.attr "key" %v on "name" {…}`, `tir.attr "key" %v
    on %h {…}`.
    """

    name = "tir.attr"
    key = prop_def(StringAttr)
    node_attr = opt_prop_def(Attribute)
    value = operand_def()
    node_value = opt_operand_def()
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())
    FORMAT: ClassVar = (asm.string("key"), asm.value("value"), asm.optional(" on", _ABOUT), asm.region("body"))

    def __init__(self, key: str, value: SSAValue, body: Region, on: Attribute | SSAValue | None = None):
        is_value = isinstance(on, SSAValue)
        super().__init__(
            operands=[value, [on] if is_value else []],
            properties={"key": StringAttr(key), "node_attr": None if is_value else on},
            regions=[body],
        )

    @property
    def on(self) -> Attribute | SSAValue | None:
        return self.node_attr if self.node_value is None else self.node_value
