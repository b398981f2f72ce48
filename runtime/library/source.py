"""The C source and the header of a library: its table, and functions that C programs call.

For each function of the executable, `NAME` being that of the library:

    int NAME_main(const DLTensor *x, DLManagedTensor **result);          tensors of DLPack; the results are the caller's
    int NAME_main_raw(const float *x, int64_t n, float *result);         plain memory, where sizes say all there is

Both return 0, or -1 with the reason in `NAME_error()`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..abi import ABI_VERSION, ARRAY_LAYOUT, FIXED_SLOTS, TABLE_SYMBOL, TUPLE_ITEMS, TUPLE_SIZE, Slot
from ..dtypes import DTYPES
from ..slots import SlotSpec
from .functions import c_string, definitions, dlpack_type, prototype
from .signature import Signature

_HERE = Path(__file__).parent

_SLOTS = {
    Slot.NDARRAY_TYPE: "&array_kind",
    Slot.TIRAX_NDARRAY_TYPE: "&array_kind",
    Slot.NEW_FROM_DESCR: "new_from_descr",
    Slot.EMPTY: "empty_array",
    Slot.SET_BASE_OBJECT: "set_base_object",
    Slot.TUPLE_TYPE: "&tuple_kind",
    Slot.LONG_TYPE: "&long_kind",
    Slot.FLOAT_TYPE: "&float_kind",
    Slot.BOOL_TYPE: "&bool_kind",
    Slot.NONE: "&none_object",
    Slot.TRUE: "&true_object",
    Slot.FALSE: "&false_object",
}
"""The C expressions for the fixed slots; any object will do for exception types."""


@dataclass(frozen=True)
class Weights:
    """The offset of each constant in the weights, their size, and the file to map (None: they are in the library)."""

    offsets: Sequence[int]
    size: int
    digest: bytes
    file: str | None = None


@dataclass(frozen=True)
class Interface:
    """The functions of a library, and its target."""

    name: str
    functions: Sequence[Signature]
    left_out: Mapping[str, str]
    target: str
    weights: Weights
    has_matrix_registers: bool = False

    def header(self) -> str:
        """Return the header for C and C++."""
        guard = f"{self.name.upper()}_H"
        return "\n".join(
            [
                f"/* {self.name}: compiled by tirax for {self.target}.",
                "",
                f"Functions give 0, or -1 where {self.name}_error() says why. They may be called from several threads.",
                "DLTensor arguments are dense and lie in the processor's memory; a DLManagedTensor that is given is",
                "the caller's: result->deleter(result) ends it. Memory of *_raw functions is dense, too. */",
                f"#ifndef {guard}",
                f"#define {guard}",
                "",
                "#include <stdbool.h>",
                (_HERE / "dlpack.h").read_text(encoding="utf-8"),
                "#ifdef __cplusplus",
                'extern "C" {',
                "#endif",
                "",
                *self._declarations(),
                "#ifdef __cplusplus",
                "}",
                "#endif",
                "",
                "#endif",
                "",
            ]
        )

    def _declarations(self) -> Iterator[str]:
        for function in self.functions:
            yield f"/* {function.info} -> {function.info.result} */"
            yield f"{prototype(function)};"
            yield (
                "/* no plain form: sizes do not say how large all memory is */"
                if function.sizes is None
                else f"{prototype(function, raw=True)};"
            )
            yield ""
        for name, reason in self.left_out.items():
            yield f"/* {name} has no form in C: {reason} */"
        yield "/* Why the last call of this thread failed. */"
        yield f"const char *{self.name}_error(void);"
        yield "/* How many threads a call may use: TIRAX_NUM_THREADS, or all cores, at first. */"
        yield f"void {self.name}_set_threads(int32_t count);"
        yield "/* Return to the system what is kept for the next calls. */"
        yield f"void {self.name}_release_memory(void);"
        if self.weights.file is not None:
            yield f"/* Map the weights, {self.weights.file}; beside the library if that is not called. */"
            yield f"int {self.name}_open(const char *path);"
        yield ""

    @property
    def exports(self) -> list[str]:
        """Return all symbols that programs may use, except `INFO`."""
        forms = [[f.symbol, f"{f.symbol}_raw"] if f.sizes is not None else [f.symbol] for f in self.functions]
        opener = [f"{self.name}_open"] if self.weights.file is not None else []
        return [s for each in forms for s in each] + [*(f"{self.name}_{own}" for own in OWN[:-1]), *opener]

    def source(self, slots: Sequence[SlotSpec], constants: Sequence[np.ndarray], blob: str | None) -> str:
        """Return the C source; `blob` is the file of weights to embed in the library."""
        return "\n".join(
            [
                "#define _GNU_SOURCE",
                self.header(),
                (_HERE / "python.c").read_text(encoding="utf-8"),
                (_HERE / "calls.c").read_text(encoding="utf-8"),
                (_HERE / "halves.c").read_text(encoding="utf-8"),
                *([(_HERE / "matrix_registers.c").read_text(encoding="utf-8")] if self.has_matrix_registers else []),
                *_layout(),
                *_descriptions(),
                *_constants(slots, constants),
                *_objects(slots, {f.info.name: f"{f.info}" for f in self.functions}),
                *self._table(slots),
                *self._weights(blob),
                *(line for function in self.functions for line in definitions(function)),
                f"PUBLIC const char *{self.name}_error(void) {{ return error_text; }}",
                f"PUBLIC void {self.name}_set_threads(int32_t count) {{ pool_set_threads(count < 1 ? 1 : count); }}",
                f"PUBLIC void {self.name}_release_memory(void) {{ release_blocks(); }}",
                f"PUBLIC const char {INFO}[] = {c_string(self._info())};",
                "",
            ]
        )

    def _info(self) -> str:
        functions = [{**f.info.to_json(), "symbol": f.symbol} for f in self.functions]
        return json.dumps({"abi": ABI_VERSION, "name": self.name, "functions": functions})

    def _table(self, slots: Sequence[SlotSpec]) -> Iterator[str]:
        fixed = [_fixed_slot(slot) for slot in Slot]
        own = [_own_slot(kind, payload, i) for i, (kind, payload) in enumerate(slots)]
        yield f"extern void *{TABLE_SYMBOL}[{FIXED_SLOTS + len(slots)}];"
        yield "static void *const table[] = {"
        yield from (f"  (void *){value}," for value in (*fixed, *own))
        yield "};"
        yield "static void fill_table(const unsigned char *weights) {"
        yield f"  memcpy({TABLE_SYMBOL}, table, sizeof table);"
        yield "  (void)weights;"
        for i, (kind, payload) in enumerate(slots):
            if kind == "constant":
                at = self.weights.offsets[payload]
                yield f"  {TABLE_SYMBOL}[{FIXED_SLOTS + i}] = (void *)(weights + {at});"
            elif kind == "constant_object":
                yield f"  constant_{payload}.data = (void *)(weights + {self.weights.offsets[payload]});"
        yield "}"

    def _weights(self, blob: str | None) -> Iterator[str]:
        """Yield the code that provides weights: `start` for embedded ones, `open_weights` for those in a file."""
        if self.weights.file is not None:
            digest = ", ".join(map(str, self.weights.digest))
            yield f"static const unsigned char weights_digest[] = {{{digest}}};"
            yield f"static const char weights_file[] = {c_string(self.weights.file)};"
            yield f"enum {{ WEIGHTS_SIZE = {self.weights.size} }};"
            yield (_HERE / "mapped_weights.c").read_text(encoding="utf-8")
            yield f"PUBLIC int {self.name}_open(const char *path) {{ return open_weights(path) ? 0 : -1; }}"
            return
        yield "static inline bool ready(void) { return true; }"
        if blob is not None:
            path = blob.replace("\\", "\\\\").replace('"', '\\"')
            included = c_string(f'.incbin "{path}"\n')
            yield '__asm__(".section .rodata\\n.balign 64\\ntirax_weights:\\n"'
            yield f'        {included} ".text\\n");'
            yield 'extern const unsigned char tirax_weights[] __attribute__((visibility("hidden")));'
        yield "__attribute__((constructor)) static void start(void) {"
        yield f"  fill_table({'NULL' if blob is None else 'tirax_weights'});"
        yield "  start_threads();"
        yield "}"


OWN = ("error", "set_threads", "release_memory", "open")
"""Functions of every library besides those of the program, appended to its name."""
INFO = "tirax_library"
"""The symbol of the JSON text that describes a library."""


# The table and its entries.


def _layout() -> Iterator[str]:
    """Yield assertions that the objects of this file have the layout that the code expects."""
    fields = {"ob_type": "head.kind", "data": "data", "nd": "nd", "dims": "dims", "strides": "strides", "base": "base"}
    for name, member in {**fields, "descr": "descr", "flags": "flags"}.items():
        yield f'_Static_assert(offsetof(Array, {member}) == {ARRAY_LAYOUT[name]}, "{name}");'
    yield f'_Static_assert(offsetof(Tuple, size) == {TUPLE_SIZE} && offsetof(Tuple, items) == {TUPLE_ITEMS}, "tuple");'


def _descriptions() -> Iterator[str]:
    yield 'static const Kind descr_kind = {"dtype", NULL, NULL};'
    for slot in Slot:
        name = _dtype_of(slot)
        if name is not None:
            code, bits = dlpack_type(name)
            head = "{FOREVER, &descr_kind}"
            yield f'static const Descr descr_{name} = {{{head}, "{name}", {{{code}, {bits}, 1}}, {bits // 8}}};'


def _dtype_of(slot: Slot) -> str | None:
    name = slot.name.removeprefix("DTYPE_").lower()
    return name if slot.name.startswith("DTYPE_") and name in DTYPES else None


def _fixed_slot(slot: Slot) -> str:
    name = _dtype_of(slot)
    return f"&descr_{name}" if name is not None else _SLOTS.get(slot, "&error_object")


def _constants(slots: Sequence[SlotSpec], constants: Sequence[np.ndarray]) -> Iterator[str]:
    for kind, payload in slots:
        if kind == "constant_object":
            array = constants[payload]
            dims = ", ".join(map(str, array.shape)) or "0"
            yield f"static int64_t constant_{payload}_dims[] = {{{dims}}};"
            fields = f".nd = {array.ndim}, .dims = constant_{payload}_dims, .descr = &descr_{array.dtype.name}"
            head = ".head = {FOREVER, &array_kind}"
            yield f"static Array constant_{payload} = {{{head}, {fields}, .flags = CONTIGUOUS | ALIGNED}};"


def _objects(slots: Sequence[SlotSpec], signatures: Mapping[str, str]) -> Iterator[str]:
    for i, (kind, payload) in enumerate(slots):
        if kind == "fail":
            texts = [payload.get(key) for key in ("message", "expected", "found")]
            yield _failure(i, *texts)
        elif kind == "cast":
            yield _failure(i, f"'{payload['name']}' is not what a match_cast says of it", None, None)
        elif kind == "explain":
            text = c_string(signatures.get(payload, str(payload)))
            yield f"static Explanation own_{i} = {{{{FOREVER, &explanation_kind}}, {text}}};"
        elif kind == "stack":
            yield f"static Stack own_{i} = {{{{FOREVER, &stack_kind}}, &descr_{payload}}};"


def _failure(number: int, *texts: str | None) -> str:
    fields = ", ".join("NULL" if text is None else c_string(text) for text in texts)
    return f"static Failure own_{number} = {{{{FOREVER, &failure_kind}}, {fields}}};"


def _own_slot(kind: str, payload: Any, number: int) -> str:
    if kind == "constant":
        return "NULL"
    if kind == "constant_object":
        return f"&constant_{payload}"
    return "&none_object" if kind == "value" else f"&own_{number}"
