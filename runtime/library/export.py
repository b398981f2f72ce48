"""`Executable.export_library`: a shared library, a static one, or an object, with a header for C."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..container import write_atomically
from ..engine import split_objects
from ..errors import ArgumentError, UnsupportedError
from ..matrix_registers import MATRIX_FEATURES
from ..metadata import FunctionInfo
from ..ndarray import ALIGNMENT
from ..slots import SlotSpec
from ..thread_pool import pool_text
from .signature import NoForm, Signature, c_name, signature_of
from .source import INFO, OWN, Interface, Weights
from .toolchain import Toolchain, find_toolchain

_MAGIC = b"TIRAXWTS"
_PORTION = 1 << 20


def export_library(
    path: str | os.PathLike[str],
    code: bytes,
    functions: Iterable[FunctionInfo],
    slots: Sequence[SlotSpec],
    constants: Sequence[np.ndarray],
    target: Any,
    *,
    header: str | os.PathLike[str] | None = None,
    name: str | None = None,
    weights: str | os.PathLike[str] | None = None,
) -> None:
    """See `Executable.export_library`."""
    output = Path(path)
    require_distinct({"the library": path, "header": header, "weights": weights})
    interface = interface_of(
        c_name(name) if name else _name_of(output), functions, slots, target, _laid_out(constants, weights)
    )
    toolchain = find_toolchain(target.triple)
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        blob = room / "weights"
        if constants:
            _write_weights(blob, constants, interface.weights)
        inside = str(blob) if constants and weights is None else None
        source = room / "library.c"
        source.write_text(interface.source(slots, constants, inside), encoding="utf-8")
        objects = [room / "library.o", *_written(room, code, target)]
        toolchain.compile(source, objects[0])
        _link(toolchain, objects, interface, room, output)
        if weights is not None and constants:
            _moved(blob, Path(weights))
    if header is not None:
        write_atomically(header, [interface.header().encode()])


def require_distinct(outputs: Mapping[str, str | os.PathLike[str] | None]) -> None:
    """Raise `ArgumentError` if two outputs are the same file, even under different paths."""
    places: dict[object, str] = {}
    for what, path in outputs.items():
        if path is None:
            continue
        for place in _places(path):
            other = places.setdefault(place, what)
            if other != what:
                found = f"{what}={os.fspath(path)!r}"
                raise ArgumentError(f"{other} and {what} are the same file", expected="a path for each", found=found)


def _places(path: str | os.PathLike[str]) -> list[object]:
    """Return identities of a path: its resolved path, and the existing file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return [os.path.realpath(path)]
    return [os.path.realpath(path), (status.st_dev, status.st_ino)]


def interface_of(
    name: str, functions: Iterable[FunctionInfo], slots: Sequence[SlotSpec], target: Any, weights: Weights
) -> Interface:
    """Return the interface of a library. Raises `UnsupportedError` if code calls Python, or nothing has a form in C."""
    packed = sorted({payload for kind, payload in slots if kind == "packed"})
    if packed:
        hint = "Executable.save writes a file that Python reads"
        if "relax.run.random_state" in packed:
            hint += '; a model that is imported with a seed, seed=0 or seed="input", does not ask the runtime for one'
        raise UnsupportedError(
            f"the program calls packed functions, which a library has not: {', '.join(packed)}", hint=hint
        )
    known: list[Signature] = []
    left_out: dict[str, str] = {}
    taken = {f"{name}_{own}" for own in OWN}
    for function in functions:
        symbol = _symbol(f"{name}_{function.name}", taken)
        try:
            known.append(signature_of(function, symbol))
        except NoForm as reason:
            left_out[function.name] = str(reason)
    if not known:
        notes = [f"{function}: {reason}" for function, reason in left_out.items()]
        raise UnsupportedError("no function of the program has a form in C", notes=notes)
    matrices = "linux" in target.triple and any(feature.startswith(MATRIX_FEATURES) for feature in target.features)
    return Interface(name, known, left_out, f"{target.triple}, {target.cpu}", weights, matrices)


def _symbol(name: str, taken: set[str]) -> str:
    """Return an unused name for both forms of a function."""
    symbol = c_name(name)
    while symbol in taken or f"{symbol}_raw" in taken:
        symbol += "_"
    taken |= {symbol, f"{symbol}_raw"}
    return symbol


def _name_of(output: Path) -> str:
    """Return `model` for `libmodel.so`, as linkers do."""
    return c_name(output.name.split(".")[0].removeprefix("lib") or "model")


def _laid_out(constants: Sequence[np.ndarray], file: str | os.PathLike[str] | None) -> Weights:
    """Lay out constants one after the other, each at a multiple of 64 bytes."""
    offsets: list[int] = []
    end = 0
    digest = hashlib.sha256()
    for constant in constants:
        offsets.append(end)
        end += -(-constant.nbytes // ALIGNMENT) * ALIGNMENT
        if file is not None:
            digest.update(_bytes_of(constant))
    return Weights(offsets, end, digest.digest(), Path(file).name if file is not None and constants else None)


def _bytes_of(constant: np.ndarray) -> memoryview:
    return constant.reshape(-1).view(np.uint8).data


def _write_weights(path: Path, constants: Sequence[np.ndarray], weights: Weights) -> None:
    with path.open("wb") as file:
        if weights.file is not None:
            file.write((_MAGIC + weights.digest).ljust(ALIGNMENT, b"\0"))
        for constant in constants:
            file.write(_bytes_of(constant))
            file.write(bytes(-constant.nbytes % ALIGNMENT))


def _written(room: Path, code: bytes, target: Any) -> list[Path]:
    """Return the objects of an executable, and that of the thread pool if there are parallel loops."""
    parts = [*split_objects(code), _pool_object(target)]
    paths = [room / f"part{i}.o" for i in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        path.write_bytes(part)
    return paths


def _pool_object(target: Any) -> bytes:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    architecture = target.triple.split("-")[0]
    machine = llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=",".join(f"+{f}" for f in target.features), opt=2, reloc="pic", codemodel="default"
    )
    text = pool_text("linux" if "linux" in target.triple else "", architecture)
    plain = re.sub(r"^target (triple|datalayout) = .*$", "", text, flags=re.MULTILINE)
    module = llvm.parse_assembly(f'target triple = "{target.triple}"\n{plain}')
    return machine.emit_object(module)


def _link(toolchain: Toolchain, objects: Sequence[Path], interface: Interface, room: Path, output: Path) -> None:
    result = room / f"result{output.suffix}"
    if output.suffix == ".so":
        exports = room / "exports"
        exports.write_text("{ global: " + " ".join(f"{s};" for s in (*interface.exports, INFO)) + " local: *; };")
        toolchain.link_shared(objects, exports, result)
    else:
        merged = result.with_suffix(".o")
        toolchain.link_object(objects, interface.exports, merged)
        if output.suffix == ".a":
            toolchain.archive([merged], result)
    _moved(result, output)


def _moved(source: Path, target: Path) -> None:
    """Copy the content of a file to another, like `write_atomically`. Raises `OSError`."""
    with source.open("rb") as file:
        portions = iter(partial(file.read, _PORTION), b"")
        write_atomically(target, portions, mode=0o777 if target.suffix == ".so" else 0o666)
