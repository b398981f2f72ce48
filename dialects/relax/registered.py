"""Operator attributes that programs register at run time, with TVM's names: `FLegalize`, `FPrimalGradient`, ….

Built-in attributes of an operator are in the tables of the packages; a registered one takes precedence, and a reset one
is absent in either case. Registering an attribute for an unknown name declares an operator, a `RegisteredOperator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from xdsl.ir import Attribute, SSAValue

from ...diagnostics import TiraxError
from .operator import OPERATORS, Operator, define_operator

MISSING: Final = object()
"""Marks an attribute that is not registered."""
RESET: Final = object()
"""Marks an attribute that was reset."""
INFER, PURITY, LEGALIZE, GRADIENT = "FInferStructInfo", "FPurity", "FLegalize", "FPrimalGradient"
NORMALIZE = "FNormalize"

MOST_STEPS = 100
"""Maximum number of successive normalizations of a call."""
_VALUES: dict[str, dict[str, tuple[int, Any]]] = {}
"""Level and value, by operator and attribute."""


class RegisteredOperator(Operator):
    """An operator declared by registering attributes: any number of arguments, one result."""

    SPREAD: ClassVar[bool] = True
    INFER_CALL: ClassVar[Callable[[Operator, Any], Attribute]]
    """Infers the result type by the registered function; set by the handles."""
    NORMALIZE_CALL: ClassVar[Callable[[Operator, Any], SSAValue]]
    """Normalizes a call by the registered function; set by the handles."""

    def infer(self) -> Attribute:
        function = own_function(self.name, INFER)
        if function is None:
            raise TiraxError(
                f"what {self.name} gives is unknown", hint=f'register_op_attr("{self.name}", "{INFER}", …) says it'
            )
        return RegisteredOperator.INFER_CALL(self, function)


def register(name: str, key: str, value: Any, level: int = 10) -> None:
    """Set an attribute of an operator, which is declared if its name is unknown.

    Of several values, the one with the highest level is used. Raises `TiraxError` for a second one of the same level.
    """
    before, _ = _VALUES.get(name, {}).get(key, (-1, None))
    if level == before:
        raise TiraxError(
            f"attribute {key} of {name} is registered already with the level {level}",
            hint=f'Op.get("{name}").reset_attr("{key}") takes it away',
        )
    if level < before:
        return
    _VALUES.setdefault(name, {})[key] = (level, value)
    known = OPERATORS.get(name)
    if known is None or (key == PURITY and issubclass(known, RegisteredOperator)):
        _declare(name)


def reset(name: str, key: str) -> None:
    """Remove an attribute, registered or built-in."""
    _VALUES.setdefault(name, {})[key] = (-1, RESET)


def forget(name: str, key: str) -> None:
    """Restore the attribute that an operator had before anything was registered or reset.

    An operator declared by its attributes is removed with the last of them.
    """
    values = _VALUES.get(name, {})
    values.pop(key, None)
    if not values:
        _VALUES.pop(name, None)
        if issubclass(OPERATORS.get(name, Operator), RegisteredOperator):
            OPERATORS.remove(name)


def registered(name: str, key: str) -> Any:
    """Return the value of an attribute; `MISSING` if nothing is registered, `RESET` if it was reset."""
    values = _VALUES.get(name)
    return MISSING if values is None else values.get(key, (0, MISSING))[1]


def own_function(name: str, key: str) -> Callable[..., Any] | None:
    """Return the function that a program registered, None if there is none or it was reset."""
    value = registered(name, key)
    return None if value is MISSING or value is RESET else value


def normal_form(op: Operator) -> SSAValue:
    """Return the normal form of a call by the function registered for its operator; its own result if it is normal.

    The normal form consists of detached operations.
    """
    function = own_function(op.name, NORMALIZE)
    return op.results[0] if function is None else RegisteredOperator.NORMALIZE_CALL(op, function)


def endless(name: str) -> TiraxError:
    """Return the error for a normal form that does not terminate."""
    return TiraxError(
        f"the {NORMALIZE} of {name} comes to no end", expected=f"the call itself after {MOST_STEPS} steps at most"
    )


def is_changed(name: str) -> bool:
    """Return whether a program has changed the attributes of an operator."""
    return name in _VALUES


def _declare(name: str) -> None:
    effects = registered(name, PURITY) is False

    class Registered(RegisteredOperator):
        """An operator declared by a program."""

        PURE: ClassVar[bool] = not effects

    define_operator(Registered, name, ("values*",), {})


__all__ = [
    "GRADIENT", "INFER", "LEGALIZE", "MISSING", "MOST_STEPS", "NORMALIZE", "PURITY", "RESET", "RegisteredOperator",
    "endless", "forget", "is_changed", "normal_form", "own_function", "register", "registered", "reset",
]  # fmt: skip
