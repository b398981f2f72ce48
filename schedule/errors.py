"""The error of a primitive that would change the meaning of a program, or that does not fit where it is applied."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from ..diagnostics import TiraxError
from ..dialects import tir


class ScheduleError(TiraxError):
    """A primitive refused: which rule is violated, and at which blocks or loops (`places`).

    `str` shows the function with a line of `^` below each place.
    """

    def __init__(self, message: str, places: Sequence[Operation] = (), **details: object):
        self.places = tuple(places)
        super().__init__(message, **details)  # pyright: ignore[reportArgumentType]

    def rendered(self, primitive: str, level: str = "detail") -> ScheduleError:
        """The error as the user sees it: with the primitive's name and, where `level` is `detail`, with the IR.

        Where it is `none`, there is the rule alone: for searches, which try something else.
        """
        if level == "none":
            return ScheduleError(f"{primitive}: {self.message}", self.places)
        notes = [*self.notes, *(_shown(self.places) if level == "detail" else ())]
        details = {"expected": self.expected, "found": self.found, "hint": self.hint, "location": self.location}
        return ScheduleError(f"{primitive}: {self.message}", self.places, notes=notes, **details)


def _shown(places: Sequence[Operation]) -> list[str]:
    """The function around the places, a line each. Built now: the IR may be put back as it was before it is printed."""
    from ..script import print_script

    funcs = dict.fromkeys(f for f in map(function_of, places) if f is not None)
    return [line for func in funcs for line in print_script(func, obj_to_underline=places).split("\n")]


def function_of(op: Operation) -> tir.FuncOp | None:
    """The tensor function that `op` is, or that it is in."""
    found: Operation | None = op
    while found is not None and not isinstance(found, tir.FuncOp):
        found = found.parent_op()
    return found
