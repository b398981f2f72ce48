"""Operators by name, and their attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...diagnostics import unknown_name
from ...dialects import relax
from ...dialects.relax import registered

CALLS = frozenset(
    cls.name
    for cls in (
        relax.CallBuiltinWithCtxOp, relax.CallDPSPackedOp, relax.CallInplacePackedOp, relax.CallOp, relax.CallPackedOp,
        relax.CallPurePackedOp, relax.CallTIRInplaceOp, relax.CallTIROp, relax.CallValueOp,
    )
)  # fmt: skip
"""Call ops that are operators in TVM."""


class Op:
    """An operator by name, `Op.get("relax.add")`; two with the same name are equal."""

    __slots__ = ("name",)

    provided: ClassVar[dict[str, Callable[[str], Any]]] = {}
    """The providers of built-in operator attributes, by attribute; each package adds its own."""
    of_tensor_functions: ClassVar[Callable[[str], Any] | None] = None
    """Returns the operator of calls in tensor functions; set by `tvm_api`."""

    def __init__(self, name: str):
        self.name = name

    @staticmethod
    def get(op_name: str) -> Op:
        """Return the operator called `op_name`. Raises `NameLookupError` with a suggestion for an unknown one."""
        if op_name.startswith("tir.") and Op.of_tensor_functions is not None:
            return Op.of_tensor_functions(op_name)
        if op_name not in relax.OPERATORS and op_name not in CALLS:
            raise unknown_name("operator", op_name, [*relax.OPERATORS, *CALLS])
        return Op(op_name)

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of all operators."""
        return sorted({*relax.OPERATORS, *CALLS})

    def get_attr(self, attr_name: str) -> Any:
        """Return an attribute, or None.

        Built-in attributes are `FInferStructInfo(call, builder)`, `FPurity`, `FLegalize(builder, call)` and
        `FPrimalGradient(var, call, gradient, builder)`.
        """
        value = registered.registered(self.name, attr_name)
        if value is registered.MISSING:
            provide = Op.provided.get(attr_name)
            return None if provide is None else provide(self.name)
        return None if value is registered.RESET else value

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the operator has this attribute."""
        return self.get_attr(attr_name) is not None

    def set_attr(self, attr_name: str, value: Any, plevel: int = 10) -> None:
        """Set an attribute of the operator; see `register_op_attr`."""
        provide = Op.provided.get(attr_name)
        if provide is not None and provide(self.name) == value:
            registered.forget(self.name, attr_name)
        else:
            registered.register(self.name, attr_name, value, plevel)

    def reset_attr(self, attr_name: str) -> None:
        """Remove an attribute: `LegalizeOps` keeps an operator without `FLegalize`."""
        registered.reset(self.name, attr_name)

    def __tirax_script_value__(self) -> Any:
        return relax.OPERATORS.get(self.name, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Op) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def same_as(self, other: object) -> bool:
        return self == other

    def __repr__(self) -> str:
        return f'Op("{self.name}")'


def _purity(name: str) -> bool | None:
    cls = relax.OPERATORS.get(name)
    return None if cls is None else cls.PURE


Op.provided[registered.PURITY] = _purity

__all__ = ["Op"]
