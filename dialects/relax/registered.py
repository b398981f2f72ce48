"""Attributes of operators that programs register while they run, by TVM's names: `FLegalize`, `FPrimalGradient`, ….

What an operator has from this package stands in the tables of the rooms; what is registered goes before it, and an
attribute that was reset is gone, wherever it came from. Who registers an attribute of a name that is no operator
declares one, a `RegisteredOperator`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from xdsl.ir import Attribute, SSAValue

from ...diagnostics import TiraxError
from .operator import OPERATORS, Operator, define_operator

MISSING: Final = object()
"""What nothing is registered for."""
RESET: Final = object()
"""What an attribute is that was taken away."""
INFER, PURITY, LEGALIZE, GRADIENT = "FInferStructInfo", "FPurity", "FLegalize", "FPrimalGradient"
NORMALIZE = "FNormalize"

MOST_STEPS = 100
"""How often a call is put into normal form, one after the other."""
_VALUES: dict[str, dict[str, tuple[int, Any]]] = {}
"""By operator and attribute: level and value."""


class RegisteredOperator(Operator):
    """An operator that a program declares by its attributes: any number of arguments, one result."""

    SPREAD: ClassVar[bool] = True
    INFER_CALL: ClassVar[Callable[[Operator, Any], Attribute]]
    """What the registered function says of a call; the handles fill it in."""
    NORMALIZE_CALL: ClassVar[Callable[[Operator, Any], SSAValue]]
    """The value that the registered function makes of a call; the handles fill it in."""

    def infer(self) -> Attribute:
        function = own_function(self.name, INFER)
        if function is None:
            raise TiraxError(
                f"what {self.name} gives is unknown", hint=f'register_op_attr("{self.name}", "{INFER}", …) says it'
            )
        return RegisteredOperator.INFER_CALL(self, function)


def register(name: str, key: str, value: Any, level: int = 10) -> None:
    """Give an operator an attribute, which is declared where there is none of this name.

    Of several values the one of the highest level counts. Raises `TiraxError` for a second one of the same level.
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
    """Take an attribute away, registered or not."""
    _VALUES.setdefault(name, {})[key] = (-1, RESET)


def forget(name: str, key: str) -> None:
    """Let an operator have the attribute that it had before anything was registered or reset.

    One that was declared by its attributes goes with the last of them.
    """
    values = _VALUES.get(name, {})
    values.pop(key, None)
    if not values:
        _VALUES.pop(name, None)
        if issubclass(OPERATORS.get(name, Operator), RegisteredOperator):
            OPERATORS.remove(name)


def registered(name: str, key: str) -> Any:
    """Return the value of an attribute; `MISSING` where nothing is registered, `RESET` where it was taken away."""
    values = _VALUES.get(name)
    return MISSING if values is None else values.get(key, (0, MISSING))[1]


def own_function(name: str, key: str) -> Callable[..., Any] | None:
    """What a program registered, None where it did not, or took it away."""
    value = registered(name, key)
    return None if value is MISSING or value is RESET else value


def normal_form(op: Operator) -> SSAValue:
    """Return the value that stands for a call in normal form, by what is registered for its operator; its own where
    it may.

    It is made of detached operations.
    """
    function = own_function(op.name, NORMALIZE)
    return op.results[0] if function is None else RegisteredOperator.NORMALIZE_CALL(op, function)


def endless(name: str) -> TiraxError:
    """Return the error for a normal form that has one itself, and so on."""
    return TiraxError(
        f"the {NORMALIZE} of {name} comes to no end", expected=f"the call itself after {MOST_STEPS} steps at most"
    )


def is_changed(name: str) -> bool:
    """Return whether an operator has other attributes than those of this package."""
    return name in _VALUES


def _declare(name: str) -> None:
    effects = registered(name, PURITY) is False

    class Registered(RegisteredOperator):
        """What a program declared."""

        PURE: ClassVar[bool] = not effects

    define_operator(Registered, name, ("values*",), {})


__all__ = [
    "GRADIENT", "INFER", "LEGALIZE", "MISSING", "MOST_STEPS", "NORMALIZE", "PURITY", "RESET", "RegisteredOperator",
    "endless", "forget", "is_changed", "normal_form", "own_function", "register", "registered", "reset",
]  # fmt: skip
