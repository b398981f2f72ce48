"""Loading native objects into the process, through LLVM's ORC (llvmlite is imported at the first load)."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import abi, result_pool, thread_pool
from .errors import AbiError, LoadError
from .objects import split_objects

_lock = threading.Lock()
_numbers = itertools.count()
_UNDEFINED = "if the object is sound, it needs a symbol that this process does not have"


class LoadedObject:
    """An object in memory; `address(symbol)` of what was exported. Its code is unmapped when nothing refers to it.

    `references` are what its table points at; they live as long as the object.
    """

    __slots__ = ("_addresses", "_engine", "_tracker", "references")

    def __init__(self, engine: Any, tracker: Any, addresses: dict[str, int], references: Sequence[object]):
        self._engine = engine  # the tracker must go before the engine does
        self._tracker = tracker
        self._addresses = addresses
        self.references = references

    def address(self, symbol: str) -> int:
        """The address of an exported symbol."""
        return self._addresses[symbol]


@functools.cache
def _engine() -> Any:
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


def load_object(
    code: bytes,
    symbols: Iterable[str],
    own_slots: Sequence[int] = (),
    references: Sequence[object] = (),
    imports: Mapping[str, int] | None = None,
) -> LoadedObject:
    """Link `code` (an object as `abi.py` describes it) and fill its table.

    `symbols` are exported; `own_slots` are the addresses for the slots behind the fixed ones, `references` the objects
    behind these addresses; `imports` are further symbols to link with, by address.

    Raises `LoadError` for a damaged object or symbols that are missing, `AbiError` where the object's table has another
    form.
    """
    wanted = [*symbols, abi.TABLE_SYMBOL, abi.ABI_SYMBOL]
    tracker, addresses = _link(_object(code, imports or {}), wanted)
    loaded = LoadedObject(_engine(), tracker, addresses, references)
    _fill_table(loaded, own_slots)
    return loaded


def link_text(text: str, symbols: Sequence[str]) -> tuple[object, dict[str, int]]:
    """Compile LLVM text; what keeps its code in memory, and the addresses of `symbols`."""
    import llvmlite.binding as llvm

    engine = _engine()
    tracker, addresses = _link(llvm.JITLibraryBuilder().add_ir(text).add_current_process(), symbols)
    return (engine, tracker), addresses


def _object(code: bytes, imports: Mapping[str, int]) -> Any:
    """What is to be linked for an object: its code, the process, the symbols to import."""
    import llvmlite.binding as llvm

    library = llvm.JITLibraryBuilder().add_current_process()
    for part in split_objects(code):
        library.add_object_img(part)
    for symbol, address in imports.items():
        library.import_symbol(symbol, address)
    if thread_pool.SYMBOL.encode() in code:
        library.import_symbol(thread_pool.SYMBOL, thread_pool.parallel_for_address())
    for symbol in result_pool.SYMBOLS:
        if symbol.encode() in code:
            library.import_symbol(symbol, result_pool.addresses()[symbol])
    return library


def _link(library: Any, symbols: Sequence[str]) -> tuple[Any, dict[str, int]]:
    for symbol in symbols:
        library.export_symbol(symbol)
    with _lock:
        try:
            tracker = library.link(_engine(), f"tirax{next(_numbers)}")
        except RuntimeError as error:
            raise LoadError("the native object cannot be loaded", found=str(error).strip(), hint=_UNDEFINED) from error
    return tracker, {symbol: tracker[symbol] for symbol in symbols}


def _fill_table(loaded: LoadedObject, own_slots: Sequence[int]) -> None:
    found = tuple((ctypes.c_int64 * 2).from_address(loaded.address(abi.ABI_SYMBOL)))
    expected = abi.abi_constant(len(own_slots))
    if found != expected:
        raise AbiError(
            "the native object does not fit this runtime",
            expected=f"ABI version {expected[0]}, {expected[1]} table slots",
            found=f"ABI version {found[0]}, {found[1]} table slots",
            hint="compile it again",
        )
    values = (*abi.fixed_slots(), *own_slots)
    (ctypes.c_size_t * len(values)).from_address(loaded.address(abi.TABLE_SYMBOL))[:] = values
