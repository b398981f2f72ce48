"""Python's operators on Relax expressions: each builds a detached call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class Operators:
    """The operators of `Expr`, each a `Call`. A Python number becomes a constant of the other side's dtype."""

    __slots__ = ()

    # How calls are built; `calls` fills them in.
    build_binary: ClassVar[Callable[[str, Any, Any], Any]]
    build_operator: ClassVar[Callable[..., Any]]
    build_call: ClassVar[Callable[[Any, Any], Any]]

    def _binary(self, name: str, other: Any, swapped: bool = False) -> Any:
        return Operators.build_binary(name, other, self) if swapped else Operators.build_binary(name, self, other)

    def __add__(self, other: Any) -> Any:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Any:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Any:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Any:
        return self._binary("subtract", other, True)

    def __mul__(self, other: Any) -> Any:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any) -> Any:
        return self._binary("multiply", other, True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary("divide", other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary("floor_divide", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary("floor_divide", other, True)

    def __mod__(self, other: Any) -> Any:
        return self._binary("mod", other)

    def __rmod__(self, other: Any) -> Any:
        return self._binary("mod", other, True)

    def __pow__(self, other: Any) -> Any:
        return self._binary("power", other)

    def __rpow__(self, other: Any) -> Any:
        return self._binary("power", other, True)

    def __lt__(self, other: Any) -> Any:
        return self._binary("less", other)

    def __le__(self, other: Any) -> Any:
        return self._binary("less_equal", other)

    def __gt__(self, other: Any) -> Any:
        return self._binary("greater", other)

    def __ge__(self, other: Any) -> Any:
        return self._binary("greater_equal", other)

    def __neg__(self) -> Any:
        return Operators.build_operator("relax.negative", self)

    def astype(self, dtype: str) -> Any:
        """The tensor converted to `dtype`."""
        return Operators.build_operator("relax.astype", self, dtype)

    def __call__(self, *args: Any) -> Any:
        return Operators.build_call(self, args)
