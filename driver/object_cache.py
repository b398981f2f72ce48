"""Cache of objects, by their LLVM text and by the module that they come from.

    part of a module after `convert-host-to-func`  ->  key of its LLVM text  ->  object

A function that has changed is lowered again together with its part, but with no other. A large module is compiled in
parts (`parts.py`), on a separate thread while others are lowered (`llvm_thread.py`), and some of them by worker
processes (`part_workers.py`); `TIRAX_BUILD_THREADS=1` disables both. The objects are the same either way. A failed
build stores nothing but the parts that were finished.

The first step skips everything from the schedule on, so its key contains, besides the functions, the target and the
versions, the state of tirax's sources: a changed pass must not get the result of the old one. A module built inside a
`PassContext` with settings of its own, or with rules of the user's own (`ir/passes/additions.py`), is not looked up by
its content, only by its LLVM text.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..ir.digest import digest
from ..ir.passes.additions import are_any
from ..ir.passes.limits import LIMITS, limit
from ..ir.passes.transform import PassContext
from ..runtime import abi
from ..runtime.cache import ObjectCache, cache_key
from ..runtime.engine import join_objects
from ..target import Target
from .llvm_thread import Compiler
from .source_files import sources
from .timings import add_stages, stage
from .worker_pool import Kernels, PartWorkers

_cache = ObjectCache()
_ROOMS = ("dialects", "ir", "transforms", "schedule", "lowering", "driver")


Codes = dict[int, tuple[str, "bytes | Future[bytes]"]]
"""Keys of LLVM text and their objects, by module number."""


@dataclass
class Begun:
    """The state of the modules after the first one while that is still being lowered: their keys, and their
    cached objects.
    """

    keys: list[str] = field(default_factory=list[str])
    codes: Codes = field(default_factory=dict[int, tuple[str, "bytes | Future[bytes]"]])


@cache
def _versions() -> str:
    return json.dumps([version("tirax"), version("llvmlite"), version("xdsl"), abi.fingerprint()])


def machine_parts(target: Target, opt_level: int) -> tuple[str, ...]:
    """Return what code depends on besides the program: the target, the versions, limits and environment variables."""
    limits = [limit(name) for name in LIMITS]
    settings = os.environ.get("TIRAX_SANITIZE", "")
    return (target.text, f"{target.caches} {target.cores} {limits} {settings}", *_target_parts(target, opt_level))


def _target_parts(target: Target, opt_level: int) -> tuple[str, ...]:
    return (target.triple, target.cpu, target.feature_string, str(opt_level), _versions())


def text_key(text: str, target: Target, opt_level: int) -> str:
    """Return the cache key of the object of LLVM text."""
    return cache_key(text, *_target_parts(target, opt_level))


def object_of_modules(
    modules: Sequence[ModuleOp],
    text_of: Callable[[int], str],
    target: Target,
    opt_level: int,
    passes: Sequence[str] = (),
    workers: PartWorkers | None = None,
    begun: Begun | None = None,
) -> bytes:
    """Return the objects of modules, linked; `text_of` lowers the module of a number to LLVM text by `passes` if
    necessary.

    Without passes all are lowered here; otherwise `workers` may do all but the first one, and `begun` lists which they
    do.
    """
    keyed = bool(passes) and is_plain(PassContext.current())
    if begun is None:
        begun = begin([list(m.ops) for m in modules[1:]], passes, target, opt_level, workers) if keyed else Begun()
    keys = [*_keys([modules[0].ops], target, opt_level), *begun.keys] if keyed else []
    codes = {**_known(keys[:1]), **begun.codes}
    missing = [number for number in range(len(modules)) if number not in codes]
    with Compiler(target, opt_level) as compiler:
        for number in _left(missing, workers if keyed else None):
            text = text_of(number)
            key = text_key(text, target, opt_level)
            with stage("object"):
                codes[number] = key, _cache.get(key) or compiler.submit(text)
            gc.collect(0)  # the lowered module is garbage: otherwise all of it would be collected at the end
        for number, answer in workers.answers.items() if workers is not None else ():
            add_stages(answer.stages)
            codes[number] = answer.key, _completed(answer.code)
        with stage("object"):
            objects = [_finished(key, code) for key, code in dict(codes[n] for n in range(len(modules))).items()]
    for number in missing if keys else ():
        _cache.put(keys[number], codes[number][0].encode())
    return join_objects(objects)


def begin(
    parts: Sequence[Kernels], passes: Sequence[str], target: Target, opt_level: int, workers: PartWorkers | None
) -> Begun:
    """Look up the modules after the first one, given by their kernels, and send the missing ones to the workers.

    `passes` lower them.
    """
    begun = Begun(_keys(parts, target, opt_level))
    begun.codes.update(_known(begun.keys, first=1))
    if workers is not None:
        workers.offer({i: part for i, part in enumerate(parts, 1) if i not in begun.codes}, passes)
    return begun


def _left(missing: list[int], workers: PartWorkers | None) -> Iterator[int]:
    """Yield the numbers of missing modules that must be lowered here."""
    if workers is None:
        yield from missing
        return
    yield from (number for number in missing if not number)
    yield from workers.left()


def _keys(modules: Sequence[Iterable[Operation]], target: Target, opt_level: int) -> list[str]:
    """Return the keys of modules by their content, under which the cache stores the keys of their objects.

    Constants are attributes of the module, and not part of the object.
    """
    with stage("cache lookup"):
        common = (*machine_parts(target, opt_level), sources(_ROOMS))
        return [cache_key("module", digest(ops), *common) for ops in modules]


def _known(keys: list[str], first: int = 0) -> Codes:
    """Return the key of the object and the object of each module, by its number from `first` on, if both are cached."""
    known: Codes = {}
    with stage("cache lookup"):
        for number, place in enumerate(keys, first):
            key = (_cache.get(place) or b"").decode()
            code = _cache.get(key) if key else None
            if code is not None:
                known[number] = key, code
    return known


def _completed(code: bytes) -> Future[bytes]:
    done: Future[bytes] = Future()
    done.set_result(code)
    return done


def _finished(key: str, code: bytes | Future[bytes]) -> bytes:
    """Return an object, and store it if it was just compiled."""
    if isinstance(code, bytes):
        return code
    compiled = code.result()
    _cache.put(key, compiled)
    return compiled


def is_plain(context: PassContext) -> bool:
    """Return whether a pass context leaves the behavior of passes unchanged."""
    settings = (context.config, context.disabled_pass, context.required_pass, context.instruments)
    return context.opt_level == PassContext.opt_level and not any(settings) and not are_any()
