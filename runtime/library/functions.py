"""The functions that C programs call: their prototypes, and their conversion of arguments and results (`calls.c`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..dtypes import DTYPES
from ..metadata import PrimInfo, ShapeInfo, TensorInfo
from .signature import Leaf, Path, Signature, dim_in_c, dims_of

_C_TYPES = {"bool": "bool", "float32": "float", "float64": "double", "float16": "uint16_t", "bfloat16": "uint16_t"}
"""The C types of elements; integers are `int8_t`, …, and other floats of 8 bits `uint8_t`."""
_DLPACK_CODES = {
    "bfloat16": 4, "bool": 6, "float8_e3m4": 7, "float8_e4m3": 8, "float8_e4m3b11fnuz": 9, "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11, "float8_e5m2": 12, "float8_e5m2fnuz": 13, "float8_e8m0fnu": 14, "float4_e2m1fn": 17,
}  # fmt: skip
"""DLDataTypeCode, but 0 for int, 1 for uint, 2 for float."""


def c_string(text: str) -> str:
    """Return a C string literal."""
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text.encode())
    return '"' + "".join(plain) + '"'


def dlpack_type(dtype: str) -> tuple[int, int]:
    """Return the code and the bits of an element type in DLPack."""
    code = _DLPACK_CODES.get(dtype, 2 if dtype.startswith("float") else int(dtype.startswith("uint")))
    return code, DTYPES[dtype].itemsize * 8


def c_type(dtype: str) -> str:
    """Return the C type of an element in memory."""
    if dtype in _C_TYPES:
        return _C_TYPES[dtype]
    size = DTYPES[dtype].itemsize * 8
    return f"{'' if dtype.startswith('int') else 'u'}int{size}_t"


def _number_type(dtype: str) -> str:
    return (
        "bool" if dtype == "bool" else "double" if "float" in dtype else "uint64_t" if dtype == "uint64" else "int64_t"
    )


def prototype(function: Signature, raw: bool = False) -> str:
    """Return the declaration of a form of a function for a header."""
    leaves = [(leaf, leaf.name) for leaf in (*function.params, *function.results)]
    return _prototype(function, raw, [name for _, name in leaves], function.shown_sizes())


def _prototype(function: Signature, raw: bool, names: Sequence[str], sizes: Sequence[str]) -> str:
    declared = [
        _declared(leaf, name, raw, result=i >= len(function.params))
        for i, (leaf, name) in enumerate(zip((*function.params, *function.results), names, strict=True))
    ]
    if raw:
        at = len(function.params)
        declared[at:at] = [f"int64_t {size}" for size in sizes]
    return f"int {function.symbol}{'_raw' * raw}({', '.join(declared) or 'void'})"


def _declared(leaf: Leaf, name: str, raw: bool, result: bool) -> str:
    """Return a C parameter; outputs and written arguments are pointers to non-const data."""
    info, constant = leaf.info, "" if leaf.written else "const "
    if isinstance(info, PrimInfo):
        return f"{_number_type(info.dtype)} {'*' * result}{name}"
    if isinstance(info, ShapeInfo):
        return f"{constant}int64_t *{name}"
    if raw:
        return f"{constant}{c_type(str(info.dtype))} *{name}"
    return f"DLManagedTensor **{name}" if result else f"const DLTensor *{name}"


def definitions(function: Signature) -> Iterator[str]:
    """Yield both forms of a function, or only those that it has."""
    yield f"extern Object *entry_of_{function.symbol}(Object *, Object *const *, int64_t)"
    yield f"    __asm__({c_string(function.info.entry)});"
    for raw in (False, True) if function.sizes is not None else (False,):
        yield from _Form(function, raw).lines()


@dataclass
class _Form:
    """One form of one function."""

    function: Signature
    raw: bool

    def lines(self) -> Iterator[str]:
        """Yield its definition: convert arguments to objects in its frame, call the entry point, return the results."""
        f, sizes = self.function, self.function.local_sizes()
        names = [leaf.local for leaf in (*f.params, *f.results)]
        yield f"PUBLIC {_prototype(f, self.raw, names, [sizes[v] for v in f.sizes or ()])} {{"
        yield "  PyErr_Clear();"
        yield "  if (!ready()) return -1;"
        if not self.raw:
            yield from (
                f"  if ({leaf.local} != NULL) *{leaf.local} = NULL;"
                for leaf in f.results
                if isinstance(leaf.info, TensorInfo)
            )
        for leaf in f.params:
            yield from (f"  {line}" for line in self._read_argument(leaf))
        objects = {leaf.path: _object(leaf) for leaf in f.params}
        items: list[str] = []
        for i, parameter in enumerate(f.info.params):
            lines, item = _nested(objects, (i,), parameter.info)
            yield from (f"  {line}" for line in lines)
            items.append(f"(Object *){item}")
        yield f"  Object *const items[] = {{{', '.join(items) or 'NULL'}}};"
        yield f"  Object *object = entry_of_{f.symbol}(NULL, items, {len(items)});"
        yield "  if (object == NULL) return -1;"
        yield f"  bool done = {' && '.join(map(self._store_result, f.results)) or 'true'};"
        yield "  Py_DecRef(object);"
        if not self.raw:
            yield from (
                f"  if (!done) drop_given({leaf.local});" for leaf in f.results if isinstance(leaf.info, TensorInfo)
            )
        yield "  return done ? 0 : -1;"
        yield "}"

    def _read_argument(self, leaf: Leaf) -> Iterator[str]:
        info, name, shown = leaf.info, leaf.local, c_string(leaf.name)
        if isinstance(info, PrimInfo):
            yield from _number(name, name, info.dtype)
        elif isinstance(info, ShapeInfo):
            if info.ndim:
                yield f'if ({name} == NULL) return fail("argument %s is null", {shown}), -1;'
            for i in range(info.ndim):
                yield from _number(f"{name}_{i}", f"{name}[{i}]", "int64")
            yield from _tuple(f"{name}_object", [f"&{name}_{i}_object" for i in range(info.ndim)])
        elif self.raw:
            dims = [dim_in_c(d, self.function.local_sizes()) for d in dims_of(info) or ()]
            yield f"int64_t {name}_dims[] = {{{', '.join(dims) or '0'}}};"
            yield f"Array {name}_object;"
            where = f"&{name}_object, {shown}, (void *){name}, &descr_{info.dtype}, {len(dims)}, {name}_dims"
            yield f"if (!take_memory({where})) return -1;"
        else:
            yield f"Array {name}_object;"
            yield f"if (!take_tensor(&{name}_object, {shown}, {name}, &descr_{info.dtype})) return -1;"

    def _store_result(self, leaf: Leaf) -> str:
        item = "object"
        for i in leaf.path:
            item = f"((Tuple *){item})->items[{i}]"
        info = leaf.info
        if isinstance(info, PrimInfo):
            return f"give_{_number_type(info.dtype).removesuffix('_t')}({item}, {leaf.local})"
        if isinstance(info, ShapeInfo):
            return f"give_shape({item}, {leaf.local})"
        return f"give_{'memory' if self.raw else 'tensor'}({item}, {leaf.local})"


def _object(leaf: Leaf) -> str:
    """Return the object of an argument: in the frame, except for the two bool objects."""
    if isinstance(leaf.info, PrimInfo) and leaf.info.dtype == "bool":
        return f"({leaf.local} ? &true_object : &false_object)"
    return f"&{leaf.local}_object"


def _number(name: str, value: str, dtype: str) -> Iterator[str]:
    kind = _number_type(dtype)
    if kind == "double":
        yield f"Number {name}_object = {{{{FOREVER, &float_kind}}, {{.real = {value}}}}};"
    elif kind != "bool":
        yield f"Number {name}_object = {{{{FOREVER, &long_kind}}, {{(int64_t){value}}}}};"


def _tuple(name: str, items: Sequence[str]) -> Iterator[str]:
    fields = ", ".join(f"(Object *){item}" for item in items) or "NULL"
    yield f"struct {{ Object head; int64_t size; Object *items[{max(len(items), 1)}]; }} {name} ="
    yield f"    {{{{FOREVER, &tuple_kind}}, {len(items)}, {{{fields}}}}};"


def _nested(objects: Mapping[Path, str], path: Path, info: Any) -> tuple[list[str], str]:
    """Return the tuples that hold the leaves of an argument, and the argument itself."""
    if path in objects:
        return [], objects[path]
    lines: list[str] = []
    items: list[str] = []
    for i, each in enumerate(info.fields):
        inner, item = _nested(objects, (*path, i), each)
        lines += inner
        items.append(item)
    name = "tuple_" + "_".join(map(str, path))
    return [*lines, *_tuple(name, items)], f"&{name}"
