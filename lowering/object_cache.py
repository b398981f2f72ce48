"""What was compiled before is not compiled again: objects by their LLVM text, and by the module that it comes from.

    module after `convert-host-to-llvm`  ->  key of its LLVM text  ->  object

The first step saves everything from the schedule on, so its key says besides the functions, the target and the versions
what the sources of tirax are: a changed pass must not find what the old one made. A module built inside of a
`PassContext` with settings of its own is not looked up by itself, its text is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from ..ir.transform import PassContext
from ..runtime import abi
from ..runtime.cache import ObjectCache, cache_key
from ..target import Target
from .timings import stage

_cache = ObjectCache()
_ROOMS = ("dialects", "ir", "transforms", "schedule", "lowering")


@cache
def _versions() -> str:
    return json.dumps([version("tirax"), version("llvmlite"), version("xdsl"), abi.fingerprint()])


@cache
def _sources() -> str:
    """Sizes and times of the files that take part from the schedule on."""
    root = Path(__file__).parents[1]
    files = sorted(path for room in _ROOMS for path in (root / room).rglob("*.py"))
    status = [(str(path.relative_to(root)), path.stat()) for path in files]
    return json.dumps([(name, s.st_size, s.st_mtime_ns) for name, s in status])


def _target_parts(target: Target, opt_level: int) -> tuple[str, ...]:
    return (target.triple, target.cpu, target.feature_string, str(opt_level), _versions())


def object_of_text(text: str, target: Target, opt_level: int) -> bytes:
    """The object of LLVM text, compiled where it is not in the cache."""
    return _object(cache_key(text, *_target_parts(target, opt_level)), text, target, opt_level)


def _object(key: str, text: str, target: Target, opt_level: int) -> bytes:
    with stage("object"):
        found = _cache.get(key)
        if found is not None:
            return found
        from .machine import compile_object

        code = compile_object(text, target, opt_level)
        _cache.put(key, code)
        return code


def object_of_module(op: ModuleOp, target: Target, opt_level: int, text_of: Callable[[], str]) -> bytes:
    """The object of a module of entry points and tir functions; `text_of` lowers the module to LLVM text if it must."""
    if not _plain(PassContext.current()):
        return object_of_text(text_of(), target, opt_level)
    with stage("look-up"):
        key = cache_key("module", _functions(op), target.text, *_target_parts(target, opt_level), _sources())
        link = _cache.get(key)
        found = None if link is None else _cache.get(link.decode())
    if found is not None:
        return found
    text = text_of()
    of_text = cache_key(text, *_target_parts(target, opt_level))
    code = _object(of_text, text, target, opt_level)
    _cache.put(key, of_text.encode())
    return code


def _plain(context: PassContext) -> bool:
    """Whether passes run as they do by themselves."""
    settings = (context.config, context.disabled_pass, context.required_pass, context.instruments)
    return context.opt_level == PassContext.opt_level and not any(settings)


def _functions(op: ModuleOp) -> str:
    """The functions as text; constants are attributes of the module, and no part of the object."""
    out = StringIO()
    printer = Printer(out)
    for inner in op.body.block.ops:
        printer.print_op(inner)
        out.write("\n")
    return out.getvalue()
