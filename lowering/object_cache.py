"""What was compiled before is not compiled again: objects by their LLVM text, and by the module that it comes from.

    part of a module after `convert-host-to-func`  ->  key of its LLVM text  ->  object

So a function that has changed is lowered again with its part, and no other. A large module is compiled in parts
(`parts.py`), on a thread of their own while others are lowered (`llvm_thread.py`; `TIRAX_BUILD_THREADS=1`: none). The
objects are the same either way. Nothing is stored of a build that fails, but the parts that were finished.

The first step saves everything from the schedule on, so its key says besides the functions, the target and the versions
what the sources of tirax are: a changed pass must not find what the old one made. A module built inside of a
`PassContext` with settings of its own, or with rules of the user's own (`ir/passes/additions.py`), is not looked up by
itself, its text is.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cache
from importlib.metadata import version
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ..ir.passes.additions import are_any
from ..ir.passes.limits import LIMITS, limit
from ..ir.passes.transform import PassContext
from ..runtime import abi
from ..runtime.cache import ObjectCache, cache_key
from ..runtime.engine import join_objects
from ..target import Target
from .llvm_thread import Compiler
from .timings import stage

_cache = ObjectCache()
_ROOMS = ("dialects", "ir", "transforms", "schedule", "lowering")


@cache
def _versions() -> str:
    return json.dumps([version("tirax"), version("llvmlite"), version("xdsl"), abi.fingerprint()])


@cache
def sources(rooms: tuple[str, ...]) -> str:
    """Names, sizes and times of the files of rooms, which are folders, and modules (`target.py`)."""
    root = str(Path(__file__).parents[1])
    rows: list[tuple[str, int, int]] = []
    pending = [os.path.join(root, room) for room in rooms if not room.endswith(".py")]
    while pending:
        for entry in os.scandir(pending.pop()):
            if entry.is_dir():
                pending.append(entry.path)
            elif entry.name.endswith((".py", ".ll")):
                rows.append(_row(entry.path))
    return json.dumps([*sorted(rows), *(_row(os.path.join(root, room)) for room in rooms if room.endswith(".py"))])


def _row(path: str) -> tuple[str, int, int]:
    status = os.stat(path)
    return path, status.st_size, status.st_mtime_ns


def machine_parts(target: Target, opt_level: int) -> tuple[str, ...]:
    """What code depends on besides the program: the target, the versions, limits and settings of the environment."""
    limits = [limit(name) for name in LIMITS]
    settings = os.environ.get("TIRAX_SANITIZE", "")
    return (target.text, f"{target.caches} {target.cores} {limits} {settings}", *_target_parts(target, opt_level))


def _target_parts(target: Target, opt_level: int) -> tuple[str, ...]:
    return (target.triple, target.cpu, target.feature_string, str(opt_level), _versions())


def object_of_modules(
    modules: Sequence[ModuleOp], text_of: Callable[[int], str], target: Target, opt_level: int, look_up: bool = True
) -> bytes:
    """The objects of modules as one; `text_of` lowers the module of a number to LLVM text, if it must.

    Without `look_up` all are lowered.
    """
    base = _target_parts(target, opt_level)
    places = _places(target, opt_level) if look_up and is_plain(PassContext.current()) else None
    codes: dict[str, bytes | Future[bytes]] = {}
    lowered: dict[str, str] = {}
    with Compiler(target, opt_level) as compiler:
        for number, module in enumerate(modules):
            place = None
            if places is not None:
                with stage("look-up"):
                    place = cache_key("module", _functions(module), *places)
                    key, known = _linked(place)
                if known is not None:
                    codes[key] = known
                    continue
            text = text_of(number)
            key = cache_key(text, *base)
            with stage("object"):
                codes[key] = _cache.get(key) or compiler.submit(text)
            if place is not None:
                lowered[place] = key
        with stage("object"):
            if any(isinstance(code, Future) and not code.done() for code in codes.values()):
                gc.collect(0)  # what was lowered is garbage: while LLVM works, it costs nothing to collect it
            objects = [_finished(key, code) for key, code in codes.items()]
    for place, key in lowered.items():
        _cache.put(place, key.encode())
    return join_objects(objects)


def _places(target: Target, opt_level: int) -> tuple[str, ...]:
    """What the place of a module says besides its functions."""
    return (*machine_parts(target, opt_level), sources(_ROOMS))


def _linked(place: str) -> tuple[str, bytes | None]:
    """The key of the object of a module at a place, and the object; None where either is missing."""
    key = (_cache.get(place) or b"").decode()
    return key, _cache.get(key) if key else None


def _finished(key: str, code: bytes | Future[bytes]) -> bytes:
    """An object, which is stored where it was just compiled."""
    if isinstance(code, bytes):
        return code
    compiled = code.result()
    _cache.put(key, compiled)
    return compiled


def is_plain(context: PassContext) -> bool:
    """Whether passes run as they do by themselves."""
    settings = (context.config, context.disabled_pass, context.required_pass, context.instruments)
    return context.opt_level == PassContext.opt_level and not any(settings) and not are_any()


def _functions(op: ModuleOp) -> str:
    """The functions as text; constants are attributes of the module, and no part of the object."""
    out = StringIO()
    printer = Printer(out)
    for inner in op.body.block.ops:
        printer.print_op(inner)
        out.write("\n")
    return out.getvalue()
