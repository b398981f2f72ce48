"""LLVM's description of this machine, cached on disk until the machine restarts."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, replace
from pathlib import Path

from .cache import SilentCache, cache_key
from .matrix_registers import MATRIX_FEATURES, has_matrix_registers

_objects = SilentCache()


@dataclass(frozen=True)
class Host:
    """A machine by LLVM's names: an ordered list of features, each with whether it is present."""

    triple: str
    processor: str
    features: tuple[tuple[str, bool], ...]

    @functools.cached_property
    def flags(self) -> tuple[str, ...]:
        """The features in the form passed to LLVM: +avx2, -avx512f, …"""
        return tuple(("+" if present else "-") + name for name, present in self.features)


@functools.cache
def host() -> Host:
    """Return this machine; matrix registers only count if this process may use them."""
    machine = _host()
    if any(name.startswith(MATRIX_FEATURES) and present for name, present in machine.features):
        return replace(machine, features=tuple((name, on and _is_permitted(name)) for name, on in machine.features))
    return machine


def _is_permitted(name: str) -> bool:
    return not name.startswith(MATRIX_FEATURES) or has_matrix_registers()


def _host() -> Host:
    """Return this machine from the disk, or from LLVM: a processor's features change at most at a restart."""
    import llvmlite

    start = _start()
    key = None if start is None else cache_key("host", llvmlite.__version__, start)
    known = None if key is None else _objects.get(key)
    if known is not None:
        triple, processor, features = json.loads(known)
        return Host(triple, processor, tuple((name, present) for name, present in features))
    import llvmlite.binding as llvm

    features = tuple(sorted(dict(llvm.get_host_cpu_features()).items()))
    machine = Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)
    if key is not None:
        _objects.put(key, json.dumps([machine.triple, machine.processor, features]).encode())
    return machine


def _start() -> str | None:
    """Return a text that identifies this boot of the machine: its boot id and its processors; None if unknown."""
    try:
        number = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        processors = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    lines = {line for line in processors.splitlines() if line.startswith(("flags", "model", "vendor", "cpu family"))}
    return "\n".join([number, *sorted(lines)])
