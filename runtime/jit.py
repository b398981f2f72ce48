"""Linking into this process, and the runtime's own code (`native/*.ll`).

The runtime's own code is compiled once per processor and cached on disk, and `elf.py` links whatever it can, so that
LLVM, which takes megabytes and a tenth of a second, is only loaded to compile something or to link with ORC.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..locks import Lock
from . import elf, failing_memory
from .cache import SilentCache, cache_key
from .errors import LoadError
from .host import host

_lock = Lock()
_numbers = itertools.count()
_UNDEFINED = "if the object is sound, it needs a symbol that this process does not have"
_NATIVE = Path(__file__).with_name("native")


_objects = SilentCache()


@functools.cache
def engine() -> Any:
    """Return the one LLJIT of the process."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    with contextlib.suppress(OSError):  # absent: then only objects that need it fail to load
        ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)  # float16 and 128-bit helpers that LLVM calls by name
    return llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)


@functools.cache
def host_features() -> frozenset[str]:
    """Return the features of this processor, as LLVM names them."""
    return frozenset(name for name, present in host().features if present)


def host_triple() -> str:
    """Return LLVM's triple of this process."""
    return host().triple


def native_text(*names: str) -> str:
    """Return the files `native/<name>.ll`, linked with each other, as LLVM text."""
    import llvmlite.binding as llvm

    linked, *parts = (llvm.parse_assembly((_NATIVE / f"{name}.ll").read_text(encoding="utf-8")) for name in names)
    for part in parts:
        linked.link_in(part)
    return str(linked)


def link_text(text: str, symbols: Sequence[str]) -> tuple[object, dict[str, int]]:
    """Compile LLVM text; return an object that keeps the code in memory, and the addresses of `symbols`."""
    return link([_compiled(text)], {}, symbols)


def link_native(files: Sequence[str], symbols: Sequence[str]) -> tuple[object, dict[str, int]]:
    """Like `link_text` for `native_text(*files)`, which is compiled once per processor."""
    return link([_native_object(files)], {}, symbols)


def _link_alone(files: Sequence[str], symbols: Sequence[str]) -> tuple[object, dict[str, int]]:
    """Like `link_native`, with the C library's allocation functions."""
    return _link([_native_object(files)], {}, symbols)


def _native_object(files: Sequence[str]) -> bytes:
    import llvmlite

    sources = [(_NATIVE / f"{name}.ll").read_text(encoding="utf-8") for name in files]
    key = cache_key("native", llvmlite.__version__, repr(host()), *sources)
    code = _objects.get(key)
    if code is None:
        code = _compiled(native_text(*files))
        _objects.put(key, code)
    return code


def _compiled(text: str) -> bytes:
    """Return the object of LLVM text for this processor."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=host().processor, features=",".join(host().flags), opt=2, reloc="pic", codemodel="default"
    )
    return machine.emit_object(llvm.parse_assembly(text))


def link(parts: Sequence[bytes], imports: Mapping[str, int], symbols: Sequence[str]) -> tuple[object, dict[str, int]]:
    """Link objects, with `imports` by address; return an object that keeps them in memory, and the addresses of
    `symbols`.

    Raises `LoadError`.
    """
    return _link(parts, {**failing_memory.imports(_link_alone), **imports}, symbols)


def _link(parts: Sequence[bytes], imports: Mapping[str, int], symbols: Sequence[str]) -> tuple[object, dict[str, int]]:
    linked = elf.link(parts, imports, symbols)
    if linked is not None:
        return linked, {symbol: linked.addresses[symbol] for symbol in symbols}
    import llvmlite.binding as llvm

    library = llvm.JITLibraryBuilder().add_current_process()
    for part in parts:
        library.add_object_img(part)
    for symbol, address in imports.items():
        library.import_symbol(symbol, address)
    for symbol in symbols:
        library.export_symbol(symbol)
    loaded = engine()
    with _lock:
        try:
            tracker = library.link(loaded, f"tirax{next(_numbers)}")
        except RuntimeError as error:
            raise LoadError("the native object cannot be loaded", found=str(error).strip(), hint=_UNDEFINED) from error
    return (loaded, tracker), {symbol: tracker[symbol] for symbol in symbols}  # the tracker goes first
