"""Files of programs that were compiled before, with the same options: their code is loaded without reading them.

    content of the file, options, machine, sources of tirax, installed packages  ->  key
    key  ->  key of the executable (`driver/build_cache.py`), the constants that it shares with the program, signature

Only the first program of a process is looked up here, before the compiler is imported: what a program means cannot have
been changed by rules, operators or converters of the user, who imports the compiler to register them. For the programs
after it, reading the file costs no more than a part of what the import costs, and builds have a cache of their own.

A program is not stored where its file does not determine it: weights in other files, operators that run in Python,
operators, passes or rules that are not tirax's own.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..diagnostics import TiraxError
from ..driver.source_files import sources
from ..runtime.cache import cache_enabled, cache_key, secret
from ..runtime.checksum import checksum
from ..runtime.executable import Executable, constant_bytes
from ..runtime.executable_cache import ExecutableCache
from ..target import Target
from ..untrusted import mapped_file
from .compiled import Compiled
from .options import Options
from .signature import Signature

_SUFFIXES = (".onnx", ".pt2", ".py", ".mlir", ".mlirbc")
_COMPILER = ("tirax.dialects", "tirax.frontend", "tirax.extend", "tirax.tvm_api")
"""What a program that registers something imports."""
_ROOMS = (
    *("api", "dialects", "driver", "frontend", "handles", "interpreter", "ir", "lowering", "runtime", "schedule"),
    *("script", "te", "topi", "transforms", "untrusted", "target.py", "hardware.py", "tables.py", "universe.py"),
)
_OTHER_FILE = b"location"
"""What an ONNX model contains that has weights in another file."""
_PIECE = 1 << 20
"""Bytes that are searched at once: mapped files themselves are searched byte by byte."""
_cache = ExecutableCache()

Build = Callable[[], Compiled]


@dataclass(frozen=True)
class KnownFile:
    """A file of a program, and the key of what it becomes by some options."""

    path: str
    options: Options
    key: str

    def compiled(self, build: Build) -> Compiled:
        """Return what was stored of the program; else what `build`, which reads and compiles it, returns."""
        stored = self._stored(build)
        if stored is not None:
            return stored
        with warnings.catch_warnings(record=True) as seen:
            built = build()
        for warning in seen:
            warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
        if not seen and not self._needs_others():
            self._store(built)
        return built

    def _store(self, built: Compiled) -> None:
        executable = built.executable
        if executable.cached is None:
            return
        own = {at: c for c, at in zip(executable.constants, executable.cached.places, strict=True) if at is not None}
        header = {
            "executable": executable.cached.key,
            "places": list(own),
            "function": built.function,
            "call": built.signature.to_json(),
        }
        _cache.put_blobs(self.key, header, [constant_bytes(constant) for constant in own.values()])

    def _stored(self, build: Build) -> Compiled | None:
        mapped = _cache.load(self.key)
        if mapped is None:
            return None
        header, blobs = mapped
        executable = _cache.get(header["executable"], dict(zip(header["places"], blobs, strict=True)))
        if executable is None:
            return None
        executable.instrument = lambda: self._again(build).instrumented
        signature = Signature.from_json(header["call"])
        return Compiled(executable, header["function"], signature, lambda: self._again(build))

    def _again(self, build: Build) -> Executable:
        known = known_file(self.path, self.options, first=False)
        if known is None or known.key != self.key:
            hint = "call tirax.compile again"
            raise TiraxError(f"'{self.path}' is not what it was when it was compiled", hint=hint)
        return build().executable

    def _needs_others(self) -> bool:
        if not self.path.lower().endswith(".onnx"):
            return False
        data, size = mapped_file(Path(self.path)), _PIECE + len(_OTHER_FILE)
        return any(_OTHER_FILE in bytes(data[at : at + size]) for at in range(0, len(data), _PIECE))


def known_file(model: Any, options: Options, first: bool = True) -> KnownFile | None:
    """Return the entry of a model that is the path of a file, or None for one that is not looked up here.

    `first`: not where something may have been registered. Raises `TargetError`.
    """
    if first and any(name in sys.modules for name in _COMPILER):
        return None
    if not isinstance(model, str | os.PathLike) or not cache_enabled(_cache.name) or "TIRAX_TRACE" in os.environ:
        return None
    path = os.fspath(model)
    described = _described(options)
    if described is None or not isinstance(path, str) or not path.lower().endswith(_SUFFIXES):
        return None
    target = Target.host() if options.target is None else Target(options.target)
    try:
        own = secret()
        content = checksum(mapped_file(Path(path)), own)
        state = json.dumps([_settings(), _folders()])
    except (OSError, RuntimeError):  # reading the file says why; there is no home for a secret
        return None
    machine = (target.text, target.triple, target.cpu, target.feature_string, f"{target.caches} {target.cores}")
    key = cache_key("file", Path(path).suffix.lower(), content, described, state, *machine, sources(_ROOMS))
    return KnownFile(path, options, key)


def _described(options: Options) -> str | None:
    """Return a text of the options, or None if some are objects."""
    objects = (options.args, options.kwargs, options.dynamic_shapes, options.params, options.validate)
    if any(o is not None for o in objects) or not isinstance(options.target, str | None):
        return None
    shapes: Mapping[str, Any] = options.input_shapes or {}
    try:
        return json.dumps([dict(shapes), options.pipeline, options.function, options.fallback])
    except TypeError:
        return None


def _settings() -> list[tuple[str, str]]:
    return sorted((name, value) for name, value in os.environ.items() if name.startswith("TIRAX_"))


def _folders() -> list[tuple[str, int]]:
    """Return the folders of installed packages and when they were last changed: frameworks, plug-ins and versions."""
    return [(folder, os.stat(folder).st_mtime_ns) for folder in sys.path if folder.endswith("-packages")]
