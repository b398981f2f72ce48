"""Instruments: objects that observe passes, passed as `PassContext(instruments=[…])`.

An instrument is any object with some of the methods of `PassInstrument`. They are called in the listed order.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..verification.verify import verify_module
from ..verification.well_formed import well_formed_problems
from .transform import PassInfo

_T = TypeVar("_T")


class PassInstrument:
    """Base class of instruments; override the methods of interest."""

    def enter_pass_ctx(self) -> None:
        """Called when `with PassContext(...)` is entered."""

    def exit_pass_ctx(self) -> None:
        """Called when `with PassContext(...)` is left."""

    def should_run(self, mod: Any, info: PassInfo) -> bool:
        """Return whether the pass should run."""
        return True

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Called before each pass."""

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Called after each pass."""


def pass_instrument(cls: type[_T] | None = None) -> Any:
    """Turn a plain class with some of the methods into an instrument; TVM's decorator."""
    return (lambda c: c) if cls is None else cls


class WellFormedInstrument(PassInstrument):
    """Check before and after each pass that the module is well formed; before it only if `validate_before_transform`.

    Passes for arbitrary programs (`Pass.takes_ill_formed`) are not checked.
    """

    def __init__(self, validate_before_transform: bool = True):
        self.validate_before_transform = validate_before_transform

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Raise the `IllFormedError` of the first violated rule, with the other problems in its notes."""
        if self.validate_before_transform and not info.takes_ill_formed:
            _check(mod, f" before {info.name}", None)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Check like `run_before_pass`; the error names the pass."""
        if not info.takes_ill_formed:
            _check(mod, f" after {info.name}", info.name)


def _check(mod: Any, context: str, after: str | None) -> None:
    verify_module(mod.op, after=after)
    problems = well_formed_problems(mod) if _is_script(mod) else []
    if problems:
        first, *others = problems
        first.message += context
        first.notes = (*first.notes, *(f"{p.rule}: {p.message}" for p in others))
        raise first


_SCRIPT = frozenset(("builtin", "relax", "tir", "sym"))


def _is_script(mod: Any) -> bool:
    """Return whether a module contains only relax and tir."""
    return all(op.name.partition(".")[0] in _SCRIPT for op in mod.op.walk())


def _text(mod: Any) -> str:
    """Return TVMScript while a module is relax and tir, MLIR after lowering."""
    return mod.script() if _is_script(mod) else str(mod.op)


class PassPrintingInstrument(PassInstrument):
    """Print the module before and after the named passes."""

    def __init__(self, print_before_pass_names: Sequence[str] = (), print_after_pass_names: Sequence[str] = ()):
        self._before = frozenset(print_before_pass_names)
        self._after = frozenset(print_after_pass_names)

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module if the pass is named."""
        if any(map(info.is_called, self._before)):
            print(f"Print IR before: {info.name}\n{_text(mod)}\n")

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module if the pass is named."""
        if any(map(info.is_called, self._after)):
            print(f"Print IR after: {info.name}\n{_text(mod)}\n")


class PrintBeforeAll(PassInstrument):
    """Print the module before each pass."""

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module."""
        print(f"Before Running Pass: {info}\n{_text(mod)}")


class PrintAfterAll(PassInstrument):
    """Print the module after each pass."""

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Print the module."""
        print(f"After Running Pass: {info}\n{_text(mod)}")


class DumpIR(PassInstrument):
    """Write the module to a folder after each pass: `000_legalize-ops.py`, `001_fuse-ops.py`, …, as MLIR below tir.

    `refresh` removes the files of an earlier run when the context is entered.
    """

    def __init__(self, dump_dir: str | Path, refresh: bool = False):
        self.dump_dir = Path(dump_dir)
        self.refresh = refresh
        self.counter = 0

    def enter_pass_ctx(self) -> None:
        """Create the folder; numbering starts at 0."""
        self.dump_dir.mkdir(parents=True, exist_ok=True)
        self.counter = 0
        if self.refresh:
            for old in self.dump_dir.glob("[0-9][0-9][0-9]_*"):
                if old.suffix in (".py", ".mlir"):
                    old.unlink()

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Write the module."""
        name = re.sub(r"[^\w.-]", "_", info.name)
        extension = "py" if _is_script(mod) else "mlir"
        (self.dump_dir / f"{self.counter:03d}_{name}.{extension}").write_text(_text(mod) + "\n")
        self.counter += 1


@dataclass
class _Profile:
    """The duration of a pass, and the passes nested in it."""

    name: str
    start: float
    end: float = 0.0
    inside: list[_Profile] = field(default_factory=list["_Profile"])

    @property
    def duration(self) -> float:
        return self.end - self.start


class PassTimingInstrument(PassInstrument):
    """Measure how long passes run; `render()` returns the text while the context is open."""

    def __init__(self) -> None:
        self._root = _Profile("root", 0.0)
        self._stack = [self._root]

    def enter_pass_ctx(self) -> None:
        """Reset the measurements."""
        self.__init__()

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Start timing a pass."""
        profile = _Profile(info.name, time.perf_counter())
        self._stack[-1].inside.append(profile)
        self._stack.append(profile)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Stop timing the pass that started last."""
        if len(self._stack) > 1:
            self._stack.pop().end = time.perf_counter()

    def render(self) -> str:
        """Return a line for each pass, with nested passes indented below it.

        `name: time [time without nested passes] (% of the total; % of the enclosing pass)`, times in microseconds.
        """
        total = sum(p.duration for p in self._root.inside)
        lines = [line for p in self._root.inside for line in _render(p, 0, total, total)]
        return "".join(f"{line}\n" for line in lines)


def _render(profile: _Profile, depth: int, total: float, parent: float) -> Iterator[str]:
    duration = max(profile.duration, 0.0)
    own = duration - sum(p.duration for p in profile.inside)
    shares = [100 * duration / part if part else 0.0 for part in (total, parent)]
    indent = "\t" * depth
    yield f"{indent}{profile.name}: {duration * 1e6:.0f}us [{own * 1e6:.0f}us] ({shares[0]:.2f}%; {shares[1]:.2f}%)"
    for inner in profile.inside:
        yield from _render(inner, depth + 1, total, duration)
