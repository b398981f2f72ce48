"""Calls in TIR expressions, of intrinsics, of functions of the module and of foreign code, and what only calls take."""

from __future__ import annotations

from collections.abc import Sequence
from keyword import iskeyword
from typing import ClassVar, Self, cast

from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    NoneType,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
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
    SymbolTable,
    SymbolUserOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..assembly import parse_type, parse_values, print_type, print_values
from ..dtypes import is_dtype, ui32
from .arithmetic import BINARY
from .expressions import ConstOp, LoadOp
from .function import FuncOp
from .intrinsics import DEVICE_INTRINSICS
from .types import HANDLE, BufferType, HandleType

VOID = NoneType()
"""The result type of a call without a result."""


class CallExpr(IRDLOperation):
    """`%r = tir.call_intrin "exp"(%x) : f32`: a call by name."""

    func = prop_def(StringAttr)
    call_args = var_operand_def()
    result = result_def()

    def __init__(self, func: str, args: Sequence[SSAValue], dtype: Attribute):
        super().__init__(operands=[args], properties={"func": StringAttr(func)}, result_types=[dtype])

    def _print_func(self, printer: Printer) -> None:
        printer.print_attribute(self.func)

    @classmethod
    def _parse_func(cls, parser: Parser) -> str:
        return parser.parse_str_literal()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        self._print_func(printer)
        print_values(printer, self.call_args)
        printer.print_op_attributes(self.attributes)
        print_type(printer, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        func = cls._parse_func(parser)
        args = parse_values(parser)
        attributes = parser.parse_optional_attr_dict()
        op = cls(func, args, parse_type(parser))
        op.attributes = attributes
        return op

    def verify_(self) -> None:
        self.verify_result()

    def verify_result(self) -> None:
        """Verify that a call returns a scalar, a vector, an untyped address, or nothing: what its text can express."""
        if self.result.type not in (VOID, HANDLE) and not is_dtype(self.result.type):
            raise VerifyException(f"a call gives a data type, a handle or nothing, not {self.result.type}")


@irdl_op_definition
class CallIntrinOp(CallExpr):
    """A pure intrinsic by TVM's name without the prefix: `exp`, `sqrt`, `shift_left`, `bitwise_and`, `likely`, …"""

    name = "tir.call_intrin"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        name = self.func.data
        if not all(part.isidentifier() and not iskeyword(part) for part in name.split(".")):
            raise VerifyException(f"'{name}' is no name of an intrinsic")
        if name in DEVICE_INTRINSICS:
            raise VerifyException(f"'{name}' is for other devices: it is called by tir.device_call")
        address = self.address()
        if address is None:
            self.verify_result()
        elif self.result.type != address:
            raise VerifyException(f"the address is {address}, not {self.result.type}")

    def address(self) -> HandleType | None:
        """The result type of `address_of` an element, None for other calls."""
        of = self.call_args[0].owner if self.func.data == "address_of" and len(self.call_args) == 1 else None
        return address_type(of.buffer) if isinstance(of, LoadOp) else None


def is_vscale(value: SSAValue) -> bool:
    """Return whether a value is `vscale()`: the processor's vector length as a multiple of the shortest one."""
    return isinstance(value.owner, CallIntrinOp) and value.owner.func.data == "vscale"


def vscale_factor(value: SSAValue) -> int | None:
    """Return the factor of `vscale()` in a number of lanes; None if it is not such a product."""
    op = value.owner
    if not isinstance(op, BINARY["mul"]):
        return None
    for number, rest in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if isinstance(number.owner, ConstOp) and is_vscale(rest):
            return int(number.owner.py_value)
    return None


@irdl_op_definition
class CallExternOp(CallExpr):
    """A C function by name: `tir.call_extern "sinf"(%x) : f32`."""

    name = "tir.call_extern"


@irdl_op_definition
class CallPureExternOp(CallExpr):
    """A C function without effects."""

    name = "tir.call_pure_extern"
    traits = traits_def(Pure())


class _CallsFunction(SymbolUserOpInterface):
    """Trait: the arguments and the result must match the callee, if the module has it."""

    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp)
        callee = SymbolTable.lookup_symbol(op, op.func.data)
        if not isinstance(callee, FuncOp):
            return
        if len(callee.params) != len(op.call_args):
            raise VerifyException(f"@{op.func.data} takes {len(callee.params)} arguments, found {len(op.call_args)}")
        for i, (param, value) in enumerate(zip(callee.params, op.call_args, strict=True)):
            is_address = isinstance(param.type, BufferType | HandleType)
            if not isinstance(value.type, HandleType) if is_address else value.type != param.type:
                raise VerifyException(f"argument {i} of @{op.func.data} is of {value.type}, not {param.type}")
        if op.result.type != (VOID if callee.ret_type is None else callee.ret_type):
            raise VerifyException(f"@{op.func.data} does not give {op.result.type}")


@irdl_op_definition
class CallOp(CallExpr):
    """`tir.call @g(%h, %n) : none`: a call of another tensor function of the module; buffers are passed by address.

    The result is the scalar that the function returns, or none. An argument that is the address of a buffer
    (`tir.buffer_data`) binds the callee's symbolic extents to the buffer's. Functions may be recursive; native code is
    not supported for recursive functions that may fail or return a number.
    """

    name = "tir.call"
    SIZES: ClassVar[str] = "tirax.sizes"
    """The attribute for the callee's symbolic variables, once the buffers that determine them are flat."""
    traits = traits_def(_CallsFunction())

    def _print_func(self, printer: Printer) -> None:
        printer.print_symbol_name(self.func.data)

    @classmethod
    def _parse_func(cls, parser: Parser) -> str:
        return parser.parse_symbol_name().data


@irdl_op_definition
class CallPackedOp(CallExpr):
    """A packed function by name; a buffer among the arguments is passed as an array."""

    name = "tir.call_packed"


class LLVMCall(CallExpr):
    """A call of an LLVM intrinsic."""

    COUNTED: ClassVar[str] = "tirax.counted"

    @property
    def counted(self) -> int | None:
        """The number of arguments in the signature, if the text has it; it has no effect."""
        attribute = self.attributes.get(self.COUNTED)
        return cast("IntegerAttr[IntegerType]", attribute).value.data if isinstance(attribute, IntegerAttr) else None

    @counted.setter
    def counted(self, number: int | None) -> None:
        if number is not None:
            self.attributes[self.COUNTED] = IntegerAttr(number, ui32)


@irdl_op_definition
class CallLLVMIntrinOp(LLVMCall):
    """An LLVM intrinsic by name: `tir.call_llvm_intrin "llvm.fma"(%a, %b, %c) : f32`."""

    name = "tir.call_llvm_intrin"
    traits = traits_def(Pure())


@irdl_op_definition
class CallLLVMEffectOp(LLVMCall):
    """An LLVM intrinsic with effects: `tir.call_llvm_effect "llvm.prefetch"(…) : none`."""

    name = "tir.call_llvm_effect"


@irdl_op_definition
class StringImmOp(IRDLOperation):
    """`tir.string "text"`: a string as an argument of a call."""

    name = "tir.string"
    value = prop_def(StringAttr)
    result = result_def(HANDLE)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict"

    def __init__(self, value: str):
        super().__init__(properties={"value": StringAttr(value)}, result_types=[HANDLE])


def address_type(buffer: SSAValue) -> HandleType:
    """Return the type of an address into a buffer."""
    t = cast(BufferType, buffer.type)
    return HandleType(t.dtype, t.scope)


@irdl_op_definition
class BufferDataOp(asm.FormattedOp):
    """`%h = tir.buffer_data %X`: the pointer to a buffer's memory (`X.data`)."""

    name = "tir.buffer_data"
    buffer = operand_def(BufferType)
    result = result_def(HandleType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (asm.value("buffer"),)

    def __init__(self, buffer: SSAValue):
        super().__init__(operands=[buffer], result_types=[address_type(buffer)])
