"""LLVM's ORC in this process: what is linked into it, and the runtime's own code (`native/*.ll`).

llvmlite is imported at the first use.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .errors import LoadError

_lock = threading.Lock()
_numbers = itertools.count()
_UNDEFINED = "if the object is sound, it needs a symbol that this process does not have"
_NATIVE = Path(__file__).with_name("native")


@functools.cache
def engine() -> Any:
    """The one LLJIT of the process."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    with contextlib.suppress(OSError):  # absent: then only objects that need it fail to load
        ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)  # float16 and 128-bit helpers that LLVM calls by name
    return llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)


@functools.cache
def host_features() -> frozenset[str]:
    """The features of this processor, as LLVM names them."""
    import llvmlite.binding as llvm

    return frozenset(name for name, present in llvm.get_host_cpu_features().items() if present)


@functools.cache
def host_triple() -> str:
    """What this process runs on, as LLVM names it."""
    import llvmlite.binding as llvm

    return llvm.get_process_triple()


def native_text(*names: str) -> str:
    """The files `native/<name>.ll`, linked with each other, as LLVM text."""
    import llvmlite.binding as llvm

    whole, *parts = (llvm.parse_assembly((_NATIVE / f"{name}.ll").read_text(encoding="utf-8")) for name in names)
    for part in parts:
        whole.link_in(part)
    return str(whole)


def link_text(text: str, symbols: Sequence[str]) -> tuple[object, dict[str, int]]:
    """Compile LLVM text; what keeps its code in memory, and the addresses of `symbols`."""
    import llvmlite.binding as llvm

    tracker, addresses = link(llvm.JITLibraryBuilder().add_ir(text).add_current_process(), symbols)
    return (engine(), tracker), addresses


def link(library: Any, symbols: Sequence[str]) -> tuple[Any, dict[str, int]]:
    """Link a library; what keeps it in memory, and the addresses of `symbols`. Raises `LoadError`."""
    for symbol in symbols:
        library.export_symbol(symbol)
    with _lock:
        try:
            tracker = library.link(engine(), f"tirax{next(_numbers)}")
        except RuntimeError as error:
            raise LoadError("the native object cannot be loaded", found=str(error).strip(), hint=_UNDEFINED) from error
    return tracker, {symbol: tracker[symbol] for symbol in symbols}
