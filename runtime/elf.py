"""A linker that loads objects into this process without LLVM: ELF objects for x86-64 Linux, with the features that LLVM
usually emits.

Loading LLVM takes four megabytes and noticeable time; code from a cache only needs its sections in memory and some
relocations. Objects with unsupported features (`link` returns None) are left to LLVM, which links them or reports what
is wrong.

    code   sections with instructions, then a jump for each symbol from elsewhere: jmp *[its address]
    data   sections that nobody writes to, then the addresses of symbols that are asked for by address
    rest   sections that are written to
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

_HEADER = struct.Struct("<4sBBB9xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_EXPECTED = (b"\x7fELF", 2, 1, 1, 1, 62, 1)
"""64 bits, little endian, version 1; an object, of x86-64."""
_BITS, _SYMBOLS, _RELOCATIONS, _ZEROS, _UNWIND = 1, 2, 4, 8, 0x70000001
"""Section types."""
_WRITTEN, _LOADED, _CODE, _THREAD = 1, 2, 4, 0x400
_RUN_BEFORE = (b".ctors", b".dtors", b".init", b".fini")
"""Prefixes of sections with functions that run when code is loaded or unloaded."""
_ABSOLUTE, _RESERVED = 0xFFF1, 0xFF00
_WORD, _NEAR, _CALL, _SLOTS = 1, 2, 4, (9, 41, 42)
"""Relocation types: R_X86_64_64, PC32, PLT32; GOTPCREL, GOTPCRELX, REX_GOTPCRELX."""
_JUMP = struct.Struct("<2sixx")
_READ, _RUN = 1, 4
_PAGE = mmap.PAGESIZE


class _UnknownPartError(Exception):
    """An object has an unsupported feature, or is damaged."""


@dataclass
class _Section:
    kind: int
    flags: int
    content: memoryview
    size: int
    align: int
    link: int
    info: int
    at: int = -1
    """Its address in memory, for loaded sections."""


@dataclass
class _Object:
    sections: list[_Section]
    symbols: list[tuple[str, bool, int, int]]
    """(name, is it global, index of its section, value); section 0 means undefined."""


@dataclass
class LinkedCode:
    """Code in memory, unmapped together with this object. `addresses` are those of its global symbols."""

    memory: mmap.mmap
    addresses: dict[str, int] = field(default_factory=dict[str, int])


def link(parts: Sequence[bytes], imports: Mapping[str, int], required: Iterable[str]) -> LinkedCode | None:
    """Link objects with each other, with `imports` by address, and with the process.

    Returns None if an object has an unsupported feature, a symbol is undefined or defined twice, or one of `required`
    is missing.
    """
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return None
    try:
        linked = _link([_parsed(memoryview(part)) for part in parts], imports)
    except (_UnknownPartError, struct.error, IndexError, ValueError):
        return None  # LLVM reports the error
    return linked if all(name in linked.addresses for name in required) else None


def _parsed(data: memoryview) -> _Object:
    head = _HEADER.unpack_from(data)
    if head[:7] != _EXPECTED or head[14] != _SECTION.size:
        raise _UnknownPartError
    sections = [_section(data, head[9] + i * _SECTION.size) for i in range(head[15])]
    tables = [s for s in sections if s.kind == _SYMBOLS]
    if len(tables) != 1 or any(s.flags & _THREAD for s in sections):
        raise _UnknownPartError
    kinds, names = (bytes(sections[at].content) for at in (head[16], tables[0].link))
    if any(name in kinds for name in _RUN_BEFORE):
        raise _UnknownPartError
    return _Object(sections, [_symbol(names, *row) for row in _SYMBOL.iter_unpack(tables[0].content)])


def _section(data: memoryview, at: int) -> _Section:
    _, kind, flags, _, offset, size, link, info, align, _ = _SECTION.unpack_from(data, at)
    content = data[:0] if kind == _ZEROS else data[offset : offset + size]
    known = not flags & _LOADED or kind in (_BITS, _ZEROS, _UNWIND) and flags & (_WRITTEN | _CODE) != _WRITTEN | _CODE
    if not known or len(content) != (0 if kind == _ZEROS else size) or align > _PAGE:
        raise _UnknownPartError
    return _Section(kind, flags, content, size, max(align, 1), link, info)


def _symbol(
    names: bytes, name: int, info: int, _: int, section: int, value: int, __: int
) -> tuple[str, bool, int, int]:
    binding, kind = info >> 4, info & 15
    if binding > 1 or kind > 4 or section >= _RESERVED and section != _ABSOLUTE:  # weak, of threads, common, …
        raise _UnknownPartError
    return names[name : names.index(b"\0", name)].decode() if name else "", binding == 1, section, value


def _link(objects: Sequence[_Object], imports: Mapping[str, int]) -> LinkedCode:
    foreign = _foreign(objects, imports)
    code, data, rest = ([s for o in objects for s in o.sections if _part(s) == part] for part in range(3))
    jumps = _placed(code, 0)
    jumps = _up(jumps, _JUMP.size)
    begin_data = _up(jumps + _JUMP.size * len(foreign), _PAGE)
    own = {name for o in objects for name, seen, section, _ in o.symbols if seen and section}
    slots = _up(_placed(data, begin_data), 8)
    begin_rest = _up(slots + 8 * len({*foreign, *own}), _PAGE)
    end = max(_placed(rest, begin_rest), 1)
    memory = mmap.mmap(-1, end, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    linked = LinkedCode(memory, {name: base + at for name, at in _defined(objects).items()})
    image = _Image(memory, base, {**foreign, **linked.addresses}, foreign, jumps, slots)
    for section in (*code, *data, *rest):
        memory[section.at : section.at + len(section.content)] = bytes(section.content)
    image.write_addresses()
    for each in objects:
        for section in each.sections:
            if section.kind == _RELOCATIONS and each.sections[section.info].at >= 0:
                image.relocate(each, section, each.sections[section.info])
    _protect(base, begin_data, _READ | _RUN)
    _protect(base + begin_data, begin_rest - begin_data, _READ)
    return linked


def _part(section: _Section) -> int:
    """Return the part of the memory that a section belongs to, or -1 for none."""
    if not section.flags & _LOADED:
        return -1
    return 0 if section.flags & _CODE else 2 if section.flags & _WRITTEN else 1


def _placed(sections: Iterable[_Section], at: int) -> int:
    """Assign addresses to sections from `at` on; return the end of the last one."""
    for section in sections:
        section.at = _up(at, section.align)
        at = section.at + section.size
    return at


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _defined(objects: Sequence[_Object]) -> dict[str, int]:
    """Return the addresses of the global symbols."""
    places: dict[str, int] = {}
    for each in objects:
        for name, seen, section, value in each.symbols:
            if seen and section:
                if name in places or section == _ABSOLUTE or each.sections[section].at < 0:
                    raise _UnknownPartError
                places[name] = each.sections[section].at + value
    return places


def _foreign(objects: Sequence[_Object], imports: Mapping[str, int]) -> dict[str, int]:
    """Return the addresses of symbols that no object defines."""
    own = {name for o in objects for name, seen, section, _ in o.symbols if seen and section}
    names = {name for o in objects for name, _, section, _ in o.symbols if name and not section} - own
    process = ctypes.CDLL(None)
    return {name: imports[name] if name in imports else _address(process, name) for name in sorted(names)}


def _address(process: ctypes.CDLL, name: str) -> int:
    """Return the address of a symbol of the process."""
    try:
        function = process[name]
    except AttributeError:
        raise _UnknownPartError from None
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class _Image:
    """Memory that is being filled: `known` are the addresses of symbols, those of `foreign` have jump stubs."""

    def __init__(
        self, memory: mmap.mmap, base: int, known: Mapping[str, int], foreign: Iterable[str], jumps: int, slots: int
    ):
        self.memory = memory
        self.base = base
        self.known = known
        self.slots = {name: slots + 8 * i for i, name in enumerate(known)}
        self.jumps = {name: jumps + _JUMP.size * i for i, name in enumerate(foreign)}

    def write_addresses(self) -> None:
        """Write the addresses of all symbols, and the jump stubs."""
        for name, at in self.slots.items():
            struct.pack_into("<Q", self.memory, at, self.known[name])
        for name, at in self.jumps.items():
            _JUMP.pack_into(self.memory, at, b"\xff\x25", self.slots[name] - at - 6)

    def relocate(self, each: _Object, relocations: _Section, section: _Section) -> None:
        """Apply the relocations of a section."""
        for offset, info, addend in _RELOCATION.iter_unpack(relocations.content):
            kind, symbol = info & 0xFFFF_FFFF, each.symbols[info >> 32]
            size = 8 if kind == _WORD else 4
            if offset + size > len(section.content):
                raise _UnknownPartError
            at = section.at + offset
            if kind == _WORD:
                struct.pack_into("<Q", self.memory, at, self.base + self._place(each, symbol, kind) + addend)
            else:
                struct.pack_into("<i", self.memory, at, self._place(each, symbol, kind) + addend - at)

    def _place(self, each: _Object, symbol: tuple[str, bool, int, int], kind: int) -> int:
        """Return the address that a relocation refers to."""
        name, _, section, value = symbol
        if kind in _SLOTS:
            return self.slots[name] if name in self.slots else _unknown()
        if section:
            at = each.sections[section].at if section < _RESERVED else -1
            return at + value if at >= 0 else _unknown()
        if name in self.jumps:
            return self.jumps[name] if kind == _CALL else _unknown()
        return self.known[name] - self.base if kind in (_WORD, _NEAR, _CALL) and name in self.known else _unknown()


def _unknown() -> int:
    raise _UnknownPartError


def _protect(address: int, size: int, how: int) -> None:
    """Make pages read-only."""
    if size and ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), how):
        raise _UnknownPartError
