"""Load native objects into the process and fill their tables; `jit.py` links them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Mapping, Sequence

from . import abi, result_pool, stack, thread_pool
from .errors import AbiError, LoadError
from .jit import link


class LoadedObject:
    """An object in memory; `address(symbol)` of its exports. Its code is unmapped when nothing refers to it.

    `references` are the objects that its table points to; they live as long as this object.
    """

    __slots__ = ("_addresses", "_code", "references")

    def __init__(self, code: object, addresses: dict[str, int], references: Sequence[object]):
        self._code = code
        self._addresses = addresses
        self.references = references

    def address(self, symbol: str) -> int:
        """Return the address of an exported symbol."""
        return self._addresses[symbol]


def load_object(
    code: bytes,
    symbols: Iterable[str],
    own_slots: Sequence[int] = (),
    references: Sequence[object] = (),
    imports: Mapping[str, int] | None = None,
) -> LoadedObject:
    """Link `code` (an object as described in `abi.py`) and fill its table.

    `symbols` are exported; `own_slots` are the addresses for the slots after the fixed ones, `references` the objects
    at these addresses; `imports` are further symbols to link with, by address.

    Raises `LoadError` for a damaged object or missing symbols, `AbiError` if the object's table has another form.
    """
    required = [*symbols, abi.TABLE_SYMBOL, abi.ABI_SYMBOL]
    kept, addresses = link(split_objects(code), _imports(code, imports or {}), required)
    loaded = LoadedObject(kept, addresses, references)
    _fill_table(loaded, own_slots)
    return loaded


def _imports(code: bytes, explicit: Mapping[str, int]) -> dict[str, int]:
    """Return the symbols to link an object with, by address: those of `explicit`, and the runtime's symbols that
    it uses.
    """
    imports = dict(explicit)
    if thread_pool.SYMBOL.encode() in code and thread_pool.SYMBOL not in imports:
        imports[thread_pool.SYMBOL] = thread_pool.parallel_for_address()
    if stack.SYMBOL.encode() in code:
        imports[stack.SYMBOL] = stack.has_stack_address()
    for symbol in result_pool.SYMBOLS:
        if symbol.encode() in code:
            imports[symbol] = result_pool.addresses()[symbol]
    return imports


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


# The code of an executable: one object, or several in an archive as `ar` writes it, so that binutils can look inside.
#
# They are linked into one: each may use what the others define.

_MAGIC = b"!<arch>\n"
_HEADER = struct.Struct("16s12s6s6s8s10s2s")
_END = b"`\n"


def join_objects(objects: Sequence[bytes]) -> bytes:
    """Return the objects as one archive; a single object is returned as it is. Deterministic."""
    if len(objects) == 1:
        return objects[0]
    parts = [_MAGIC]
    for number, code in enumerate(objects):
        fields = (f"part{number}.o/", "0", "0", "0", "644", str(len(code)))
        parts += [_HEADER.pack(*(_padded(field, at) for at, field in enumerate(fields)), _END), code]
        parts.append(b"\n" * (len(code) % 2))
    return b"".join(parts)


def _padded(text: str, field: int) -> bytes:
    return text.encode().ljust((16, 12, 6, 6, 8, 10)[field])


def split_objects(code: bytes) -> list[bytes]:
    """Return the objects joined by `join_objects`. Raises `LoadError` for a damaged archive."""
    if not code.startswith(_MAGIC):
        return [code]
    objects: list[bytes] = []
    at = len(_MAGIC)
    while at < len(code):
        header = code[at : at + _HEADER.size]
        if len(header) < _HEADER.size or not header.endswith(_END):
            raise LoadError("the archive of native objects is damaged")
        at += _HEADER.size
        size = header[-12:-2].strip()
        end = at + int(size) if size.isdigit() else len(code) + 1
        if end > len(code):
            raise LoadError("the archive of native objects is damaged")
        objects.append(code[at:end])
        at = end + end % 2
    return objects
