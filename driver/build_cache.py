"""Cache of executables by the unoptimized module: a program that was built before is not even optimized again.

    module, target, passes  ->  key  ->  executable, its constants mapped

The key contains everything that an executable depends on: the module's text and a digest of its constants, the passes,
the target and the machine, versions, and the sources of tirax. A build that a key cannot describe is not cached: passes
given as objects, settings of a `PassContext`, rules, operators and functions that are not tirax's own.
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
from .object_cache import is_plain, machine_parts
from .source_files import sources
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
    """A program's entry in the cache, and the bytes of its constants."""

    key: str
    contents: tuple[np.ndarray, ...]

    def load(self) -> Executable | None:
        """Return the executable, or None if there is none."""
        with stage("cache lookup"):
            return _cache.get(self.key, dict(enumerate(self.contents)))

    def store(self, executable: Executable) -> None:
        """Store the executable."""
        if not executable.external and not executable.sites:
            with stage("store"):
                _cache.put(self.key, executable, self.contents)


def entry_of(op: ModuleOp, passes: Sequence[str], target: Target, opt_level: int) -> Entry | None:
    """Return the entry of a module compiled by these passes, or None if it cannot be cached (see above)."""
    if not (cache_enabled(_cache.name) and passes and is_plain(PassContext.current()) and _is_own(op, passes)):
        return None
    with stage("cache lookup"):
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
    """Return the entry of a program that a description and the sources of `rooms` determine, without writing its text.

    Returns None if programs are not cached, and while a trace is recorded.
    """
    if os.environ.get(VARIABLE) or not (cache_enabled(_cache.name) and is_plain(PassContext.current())):
        return None
    parts = ("described", description, " ".join(passes), version("numpy"), *machine_parts(target, 3))
    return Entry(cache_key(*parts, sources((*_ROOMS, *rooms))), ())


def _is_own(op: ModuleOp, passes: Sequence[str]) -> bool:
    """Return whether a program and its passes contain nothing registered by users."""
    if external_functions(op) or not all(name in TIRAX_UNIVERSE.all_passes for name in passes):
        return False
    if any(is_changed(inner.name) for inner in operations(op)):
        return False
    values = {type(v.type) for inner in operations(op) for v in inner.results}
    return all(kind.__module__.startswith(_OWN) for kind in {*map(type, operations(op)), *values})
