"""Leaves of Relax programs: constants, shapes, scalars, strings, dtypes and references to functions.

They print as an operand in TVMScript if they have no name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self, cast

from xdsl.dialects.builtin import (
    FloatAttr,
    NoneType,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    Pure,
)
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..dtypes import dtype_name
from ..sym import SymAttr
from ..sym.expr import ExprLike
from ..sym.text import exprs_part, parse_expr
from ..sym.writing import expr_text
from .data import CONTENTS, TensorDataAttr
from .types import (
    OBJECT,
    CallableType,
    Dims,
    PrimType,
    ShapeType,
    TensorType,
    dims_attr,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@irdl_op_definition
class ConstantOp(asm.FormattedOp):
    """`%c = relax.constant #relax.data<f32 [] 1.0>`: a constant tensor."""

    name = "relax.constant"
    value = prop_def(TensorDataAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (CONTENTS,)

    def __init__(self, value: TensorDataAttr):
        result = TensorType.of(value.data.shape, value.data.dtype)
        super().__init__(properties={"value": value}, result_types=[result])

    @classmethod
    def of(cls, array: ArrayLike, dtype: Attribute) -> Self:
        """Return the constant with the contents of `array`, converted to `dtype`."""
        return cls(TensorDataAttr.from_numpy(array, dtype))

    def named_after(self, *values: SSAValue) -> Self:
        """Name the constant after the first named constant from which `values` are computed, and return it."""
        key = next(filter(None, map(_key, values)), None)
        if key is not None:
            self.value = TensorDataAttr(replace(self.value.data, key=key))
        return self

    def verify_(self) -> None:
        data = self.value.data
        if self.result.type != TensorType.of(data.shape, data.dtype):
            raise VerifyException(f"a constant of {data.dtype} {list(data.shape)} has the type {self.result.type}")


def _key(value: SSAValue) -> str | None:
    """Return the model's name of the constant that a value is, or is computed from by its first operands."""
    op = value.owner
    while isinstance(op, Operation) and op.operands:
        op = op.operands[0].owner
    return op.value.data.key if isinstance(op, ConstantOp) else None


@irdl_op_definition
class ShapeOp(asm.FormattedOp):
    """`%s = relax.shape [n, 4]`: a shape value."""

    name = "relax.shape"
    values_ = prop_def(Dims)
    result = result_def(ShapeType)
    traits = traits_def(Pure())
    FORMAT: ClassVar = (exprs_part("values", "values_"),)

    def __init__(self, values: Iterable[ExprLike | str]):
        dims = dims_attr(values)
        super().__init__(properties={"values_": dims}, result_types=[ShapeType.of(d.data for d in dims)])

    def verify_(self) -> None:
        if self.result.type != ShapeType.of(d.data for d in self.values_):
            raise VerifyException("the type of relax.shape must hold its values")


@irdl_op_definition
class PrimValueOp(IRDLOperation):
    """`%v = relax.prim_value n + 1`: a symbolic integer as a value; `relax.prim_value float 1.5 : f32` a float."""

    name = "relax.prim_value"
    value = prop_def(SymAttr | FloatAttr)
    result = result_def(PrimType)
    traits = traits_def(Pure())

    def __init__(self, value: SymAttr | FloatAttr | ExprLike | str):
        attr = value if isinstance(value, SymAttr | FloatAttr) else SymAttr.of(value)
        result = PrimType.of(attr.data.dtype, attr.data) if isinstance(attr, SymAttr) else PrimType.of(attr.type, attr)
        super().__init__(properties={"value": attr}, result_types=[result])

    def print(self, printer: Printer) -> None:
        if isinstance(self.value, SymAttr):
            printer.print_string(" " + expr_text(self.value.data))
        else:
            printer.print_string(" float ")
            printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        if parser.parse_optional_keyword("float") is None:
            return cls(parse_expr(parser))
        number = parser.parse_attribute()
        if not isinstance(number, FloatAttr):
            parser.raise_error(f"expected a float such as 1.0 : f32, found {number}")
        return cls(cast("FloatAttr", number))


@irdl_op_definition
class StringOp(IRDLOperation):
    """`%s = relax.string "text"`."""

    name = "relax.string"
    value = prop_def(StringAttr)
    result = result_def(OBJECT)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict"

    def __init__(self, value: str):
        super().__init__(properties={"value": StringAttr(value)}, result_types=[OBJECT])


@irdl_op_definition
class DataTypeOp(asm.FormattedOp):
    """`%d = relax.dtype f32`: a data type as a value; `none` is the unknown one, void in TVM."""

    name = "relax.dtype"
    value = prop_def(Attribute)
    result = result_def()
    traits = traits_def(Pure())
    FORMAT: ClassVar = (asm.type_of("value"),)

    def __init__(self, value: Attribute | None):
        super().__init__(properties={"value": NoneType() if value is None else value}, result_types=[OBJECT])

    @property
    def is_void(self) -> bool:
        """True if it is unknown."""
        return isinstance(self.value, NoneType)

    @property
    def text(self) -> str:
        """TVM's name of the data type."""
        return "void" if self.is_void else dtype_name(self.value)


@irdl_op_definition
class NullValueOp(IRDLOperation):
    """`%n = relax.null_value`: the null object."""

    name = "relax.null_value"
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self) -> None:
        super().__init__(result_types=[OBJECT])


@irdl_op_definition
class FunctionRefOp(IRDLOperation):
    """`%f = relax.function_ref @f : !relax.callable<…>`: a function of the module as a value."""

    name = "relax.function_ref"
    callee = prop_def(SymbolRefAttr)
    result = result_def(CallableType)
    traits = traits_def(Pure())
    assembly_format = "$callee attr-dict `:` type($result)"

    def __init__(self, callee: str, result_type: CallableType):
        super().__init__(properties={"callee": SymbolRefAttr(callee)}, result_types=[result_type])


@irdl_op_definition
class ExternFuncOp(IRDLOperation):
    """`%f = relax.extern_func "name" : !relax.callable<…>`: a packed function as a value."""

    name = "relax.extern_func"
    global_symbol = prop_def(StringAttr)
    result = result_def(CallableType)
    traits = traits_def(Pure())
    assembly_format = "$global_symbol attr-dict `:` type($result)"

    def __init__(self, name: str, result_type: CallableType | None = None):
        result = result_type or CallableType.of(None, OBJECT, pure=False)
        super().__init__(properties={"global_symbol": StringAttr(name)}, result_types=[result])


LEAVES: tuple[type[Operation], ...] = (
    ConstantOp,
    ShapeOp,
    PrimValueOp,
    StringOp,
    DataTypeOp,
    NullValueOp,
    FunctionRefOp,
    ExternFuncOp,
)
"""Ops that print as an operand in TVMScript if they have no name."""
