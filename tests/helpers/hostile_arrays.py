"""Malformed files of numpy's: headers, archives, and measurements in them."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from hostile_values import OTHERS, PATHS, SHAPES

HEADERS = [
    *({"shape": tuple(shape)} for shape in SHAPES),
    *({"shape": shape} for shape in OTHERS),
    *({"fortran_order": order} for order in OTHERS),
    *({"descr": descr} for descr in (*OTHERS, "|O", "<f3", "<U99999999999", "<U0", "|V0", "|S0", "<m8[ns]")),
    *({"descr": f"<M8[2{'0' * 30}s]"},),
    *({"descr": descr} for descr in ([("a", "<f4")], [("a", "<f4", 2**40)], [("a", "|O")], [("a", [("a", "|O")])])),
    {"descr": "|V0", "shape": (2**40,)}, {"descr": "<U0", "shape": (2**62,)}, {"more": 1},
]  # fmt: skip
RAW_HEADERS = ["", "{", "(" * 9000, "[" * 9000, "{'descr': " * 900, "-" * 9000 + "1", "x" * 9000, "9" * 9000,
               "{1: 2}", "__import__('os')", "{'descr': '<f4', 'fortran_order': False, 'shape': (1,) * 99}", "\0",
               "\xff", " " * 70000]  # fmt: skip


def npy(header: str, version: int = 1, data: bytes = bytes(24)) -> bytes:
    text = header.encode("latin-1")
    return (
        b"\x93NUMPY"
        + bytes((version, 0))
        + struct.pack("<H" if version == 1 else "<I", len(text) & 0xFFFF)
        + text
        + data
    )


def arrays() -> Iterator[tuple[str, bytes]]:
    """Arrays of numpy's whose header contradicts them."""
    for fields in HEADERS:
        header = repr({"descr": "<f4", "fortran_order": False, "shape": (2, 3), **fields})
        yield f"header {str(fields)[:60]}", npy(header)
    for text in RAW_HEADERS:
        for version in (1, 2, 3, 9):
            yield f"header {version} {text[:20]!r}", npy(text, version)


def archives() -> Iterator[tuple[str, bytes]]:
    """Archives of malformed arrays, of others, of some that are compressed otherwise or come twice."""
    for row, data in arrays():
        yield row, zipped({"features.npy": data})
    one = npy(repr({"descr": "<f4", "fortran_order": False, "shape": (2, 3)}))
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield f"method {method}", zipped({"a.npy": one}, method)
    for name in PATHS:
        yield f"member {name[:9]!r}", zipped({name: one})
    yield "a bomb", bomb(1 << 28)
    right = measured(3)
    for name in right:
        for value in ("x", np.nan, -1, 1 << 40, b"x"):
            for count in (0, 3, 4):
                other = {**right, name: np.full((count,), value)}
                yield f"{name} {value} {count}", saved(other)
    yield "an object", saved({"a": np.array([{}], dtype=object)})


def bomb(size: int) -> bytes:
    """An array of so many zeros, compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new, new.open("a.npy", "w") as file:
        file.write(npy(repr({"descr": "|u1", "fortran_order": False, "shape": (size,)}), data=b""))
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
    return out.getvalue()


def zipped(files: dict[str, bytes], method: int = 0) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as new:
        for name, data in files.items():
            new.writestr(zipfile.ZipInfo(name) if not method else name, data)
    return out.getvalue()


def saved(arrays: Mapping[str, Any]) -> bytes:
    """The archive that numpy writes."""
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def measured(width: int) -> dict[str, Any]:
    features = np.zeros((4, width), "float32")
    return {"features": features, "seconds": np.ones(4), "tasks": np.asarray(["a", "a", "b", "b"])}
