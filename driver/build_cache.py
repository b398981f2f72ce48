"""A program that was built before is not even optimized again: executables by the module that was given.

    module, target, passes  ->  key  ->  executable, its constants mapped

The key says all that an executable depends on: the module's text and what its constants contain, the passes, the target
and the machine, versions, and what the sources of tirax are. What it cannot say is not looked up: passes that are given
as objects, settings of a `PassContext`, rules, operators and functions that are not tirax's own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from io import StringIO

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ..dialects.quick import operations
from ..dialects.relax.data import collected_contents
from ..dialects.relax.external import external_functions
from ..dialects.relax.registered import is_changed
from ..ir.passes.transform import PassContext
from ..runtime.cache import cache_enabled, cache_key, secret
from ..runtime.checksum import checksum
from ..runtime.executable import Executable
from ..runtime.executable_cache import ExecutableCache
from ..target import Target
from ..universe import TIRAX_UNIVERSE
from .object_cache import is_plain, machine_parts, sources
from .timings import stage
from .tracing import VARIABLE

_cache = ExecutableCache()
_ROOMS = (
    *(
        "dialects",
        "ir",
        "interpreter",
        "handles",
        "te",
        "topi",
        "transforms",
        "schedule",
        "lowering",
        "driver",
        "runtime",
    ),
    *("target.py", "hardware.py", "universe.py"),
)
_OWN = ("tirax.", "xdsl.")


@dataclass(frozen=True)
class Entry:
    """A program's place in the cache, and the bytes of its constants."""

    key: str
    contents: tuple[np.ndarray, ...]

    def load(self) -> Executable | None:
        """The executable, None where there is none."""
        with stage("look-up"):
            return _cache.get(self.key, self.contents)

    def store(self, executable: Executable) -> None:
        """Keep it for the next time."""
        if not executable.external and not executable.sites:
            with stage("store"):
                _cache.put(self.key, executable, self.contents)


def entry_of(op: ModuleOp, passes: Sequence[str], target: Target, opt_level: int) -> Entry | None:
    """The place of a module that these passes compile; None where it has none (see above)."""
    if not (cache_enabled(_cache.name) and passes and is_plain(PassContext.current()) and _is_own(op, passes)):
        return None
    with stage("look-up"):
        out = StringIO()
        with collected_contents() as contents:
            Printer(out).print_op(op)
        arrays = tuple(np.frombuffer(data.raw, np.uint8) for data in contents)
        try:
            own = secret()
        except (OSError, RuntimeError):  # there is no home for a secret
            return None
        sums = [checksum(array, own) for array in arrays]
        program = ("program", out.getvalue(), b"".join(sums), " ".join(passes), version("numpy"))
        return Entry(cache_key(*program, *machine_parts(target, opt_level), sources(_ROOMS)), arrays)


def described_entry(description: str, rooms: tuple[str, ...], passes: Sequence[str], target: Target) -> Entry | None:
    """The place of a program that a text and the sources of `rooms` determine, so that it is looked up unwritten.

    None where programs have no place, and where a trace of them is asked for.
    """
    if os.environ.get(VARIABLE) or not (cache_enabled(_cache.name) and is_plain(PassContext.current())):
        return None
    parts = ("described", description, " ".join(passes), version("numpy"), *machine_parts(target, 3))
    return Entry(cache_key(*parts, sources((*_ROOMS, *rooms))), ())


def _is_own(op: ModuleOp, passes: Sequence[str]) -> bool:
    """Whether nothing of a program or its passes is what others wrote."""
    if external_functions(op) or not all(name in TIRAX_UNIVERSE.all_passes for name in passes):
        return False
    if any(is_changed(inner.name) for inner in operations(op)):
        return False
    values = {type(v.type) for inner in operations(op) for v in inner.results}
    return all(kind.__module__.startswith(_OWN) for kind in {*map(type, operations(op)), *values})
