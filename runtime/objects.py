"""The code of an executable: one object, or several in an archive as `ar` writes it, so that binutils can look inside.

They are linked into one: each may use what the others define.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from .errors import LoadError

_MAGIC = b"!<arch>\n"
_HEADER = struct.Struct("16s12s6s6s8s10s2s")
_END = b"`\n"


def join_objects(objects: Sequence[bytes]) -> bytes:
    """The objects as one; a single one as it is. The same objects give the same bytes."""
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
    """What `join_objects` joined. Raises `LoadError` for a damaged archive."""
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
