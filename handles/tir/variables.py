"""Variables in scalar expressions: free ones, and symbolic ones by name, as in shapes."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ...diagnostics import DTypeError
from ...dialects import tir
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of, set_name
from ...dialects.sym import ValueOp
from ...dialects.sym import expr as sym
from ..types import PointerType, PrimType, Type
from .placeholders import FreeBlock
from .prim_expr import DTypeLike, PrimExpr, as_type


class Var(PrimExpr):
    """A variable: a placeholder that `place` replaces by its mapping, else by the symbolic variable.

    An integer variable may be negative; in an extent it is the symbolic variable of its name, which may not.
    """

    __slots__ = ()

    def __init__(self, name: str, dtype: DTypeLike = "int32"):
        if not isinstance(name, str):
            raise DTypeError("the name of a variable is a string", found=repr(name))
        value = FreeBlock(arg_types=[as_type(dtype)]).args[0]
        set_name(value, name)
        super().__init__(value)

    @classmethod
    def of(cls, placeholder: SSAValue) -> Var:
        """Return the variable of a placeholder."""
        var = cls.__new__(cls)
        var.ssa = placeholder
        return var

    @property
    def name(self) -> str:
        return name_of(self.ssa) or ""

    @property
    def type_annotation(self) -> Type:
        """The type: a scalar's, or a pointer's."""
        t = self.ssa.type
        if not isinstance(t, tir.HandleType) or t.element is None:
            return PrimType("handle" if isinstance(t, tir.HandleType) else dtype_name(t))
        return PointerType(PrimType("void" if t.element == tir.VOID else dtype_name(t.element)), t.scope.data)


class SizeVar(PrimExpr):
    """A symbolic variable by name, as in shapes; its run-time value is `sym.value`.

    `owner` is the value whose shape has the variable: functions may have variables of equal names, and it belongs to
    the owner's function.
    """

    __slots__ = ("name", "owner")

    def __init__(self, name: str, dtype: DTypeLike = "int32", owner: SSAValue | None = None):
        self.name, self.owner = name, owner
        integer = as_type(dtype)
        if not isinstance(integer, IntegerType):
            raise DTypeError(
                f"the symbolic variable '{name}' must be an integer", expected="int32 or int64", found=dtype
            )
        super().__init__(ValueOp(sym.Var(name, integer)).result)
