"""`tvm.ir.instrument`: watching passes."""

from __future__ import annotations

from typing import Any, TypeVar

from ...ir.transform import PassInfo
from ...ir.verify import verify_module

_T = TypeVar("_T")


class PassInstrument:
    """The base of instruments; override what is wanted."""

    def enter_pass_ctx(self) -> None:
        """Called when `with PassContext(...)` is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when it is left."""

    def should_run(self, mod: Any, info: PassInfo) -> bool:
        """Whether the pass is to run."""
        return True

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Called before each pass."""

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Called after each pass."""


def pass_instrument(cls: type[_T] | None = None) -> Any:
    """TVM's decorator of instruments; a plain class with some of the methods is one."""
    return (lambda c: c) if cls is None else cls


@pass_instrument
class WellFormedInstrument(PassInstrument):
    """Verifies the module before and after each pass."""

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Raise `VerifyError` for a module that is not well formed."""
        verify_module(mod.op)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Raise `VerifyError`, which names the pass, for a module that is not well formed."""
        verify_module(mod.op, after=info.name)


class PrintBeforeAll(PassInstrument):
    """Prints the module before each pass."""

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        print(f"Before Running Pass: {info.name}\n{mod.script()}")


class PrintAfterAll(PassInstrument):
    """Prints the module after each pass."""

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        print(f"After Running Pass: {info.name}\n{mod.script()}")


__all__ = ["PassInstrument", "PrintAfterAll", "PrintBeforeAll", "WellFormedInstrument", "pass_instrument"]
