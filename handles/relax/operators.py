"""Python's operators on Relax expressions: each builds a detached call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


def _binary(name: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        return Operators.build_binary(name, other, self) if swapped else Operators.build_binary(name, self, other)

    return operator


class Operators:
    """The operators of `Expr`, each a `Call`. A Python number becomes a constant of the other side's dtype."""

    __slots__ = ()

    # How calls are built; `calls` fills them in.
    build_binary: ClassVar[Callable[[str, Any, Any], Any]]
    build_operator: ClassVar[Callable[..., Any]]
    build_call: ClassVar[Callable[[Any, Any], Any]]

    __add__, __radd__ = _binary("add"), _binary("add", swapped=True)
    __sub__, __rsub__ = _binary("subtract"), _binary("subtract", swapped=True)
    __mul__, __rmul__ = _binary("multiply"), _binary("multiply", swapped=True)
    __truediv__, __rtruediv__ = _binary("divide"), _binary("divide", swapped=True)
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _binary("floor_divide", swapped=True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", swapped=True)
    __pow__, __rpow__ = _binary("power"), _binary("power", swapped=True)
    __lt__ = _binary("less")
    __le__ = _binary("less_equal")
    __gt__ = _binary("greater")
    __ge__ = _binary("greater_equal")

    def __neg__(self) -> Any:
        return Operators.build_operator("relax.negative", self)

    def astype(self, dtype: str) -> Any:
        """Return the tensor converted to `dtype`."""
        return Operators.build_operator("relax.astype", self, dtype)

    def __call__(self, *args: Any) -> Any:
        return Operators.build_call(self, args)
