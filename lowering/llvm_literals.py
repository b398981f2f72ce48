"""LLVM text of types, constants, symbols and initializers of globals."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntAttr,
    StringAttr,
    SymbolRefAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..diagnostics import UnsupportedError
from ..dialects.xdsl_extras import llvm_extras
from ..dialects.xdsl_extras.type_guards import is_integer, is_integer_attr, is_vector

_PLAIN_SYMBOL = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*")
_FLOATS: dict[type[Attribute], str] = {
    Float64Type: "double",
    Float32Type: "float",
    Float16Type: "half",
    BFloat16Type: "bfloat",
    llvm.LLVMVoidType: "void",
}


@lru_cache(maxsize=4096)
def type_text(type_: Attribute) -> str:
    """Return a type as LLVM text. Raises `UnsupportedError` for types of other dialects."""
    plain = _FLOATS.get(type(type_))
    if plain is not None:
        return plain
    if is_integer(type_):
        return f"i{type_.width.data}"
    if isinstance(type_, llvm.LLVMPointerType):
        space = type_.addr_space
        return f"ptr addrspace({space.data})" if isinstance(space, IntAttr) else "ptr"
    return _aggregate_text(type_)


def _aggregate_text(type_: Attribute) -> str:
    if is_vector(type_) and type_.get_num_dims() == 1:
        return f"<{type_.get_shape()[0]} x {type_text(type_.element_type)}>"
    if isinstance(type_, llvm.LLVMArrayType):
        return f"[{type_.size.data} x {type_text(type_.type)}]"
    if isinstance(type_, llvm.LLVMStructType):
        return "{ " + ", ".join(type_text(t) for t in type_.types) + " }" if type_.types.data else "{}"
    if isinstance(type_, llvm.LLVMFunctionType):
        dots = ["..."] if type_.is_variadic else []
        return f"{type_text(type_.output)} ({', '.join([type_text(t) for t in type_.inputs] + dots)})"
    raise UnsupportedError(f"type {type_} is not a type of LLVM", hint="run convert-to-llvm before printing LLVM text")


def symbol(name: str) -> str:
    """Return `@name`, quoted if necessary."""
    return f"@{name}" if _PLAIN_SYMBOL.fullmatch(name) else f"@{quoted(name.encode())}"


def quoted(data: bytes) -> str:
    """Return bytes as an LLVM string."""
    body = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
    return f'"{body}"'


def _float32(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _double_text(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _single_text(value: float) -> str:
    return _double_text(_float32(value))


def _half_text(value: float) -> str:
    try:
        packed = struct.pack("<e", value)
    except OverflowError:
        packed = struct.pack("<e", float("inf") if value > 0 else float("-inf"))
    return f"0xH{struct.unpack('<H', packed)[0]:04X}"


def _bfloat_text(value: float) -> str:
    bits = struct.unpack("<I", struct.pack("<f", _float32(value)))[0]
    if value != value:
        return "0xR7FC0"
    return f"0xR{(bits + 0x7FFF + ((bits >> 16) & 1)) >> 16:04X}"


_FLOAT_TEXTS: dict[type[Attribute], Callable[[float], str]] = {
    Float64Type: _double_text,
    Float32Type: _single_text,
    Float16Type: _half_text,
    BFloat16Type: _bfloat_text,
}


def scalar_text(value: float | int, type_: Attribute) -> str:
    """Return a number as a constant of a scalar type."""
    if is_integer(type_):
        if type_.width.data == 1:
            return "true" if value else "false"
        return str(int(value))
    if isinstance(type_, llvm.LLVMPointerType) and value == 0:
        return "null"
    text = _FLOAT_TEXTS.get(type(type_))
    if text is None:
        raise UnsupportedError(f"no constants of type {type_}")
    return text(float(value))


def constant_text(value: Attribute, type_: Attribute) -> str:
    """Return an attribute as a constant of a type, without the leading type."""
    if is_integer_attr(value):
        return scalar_text(value.value.data, type_)
    if isinstance(value, FloatAttr):
        return scalar_text(value.value.data, type_)
    if isinstance(value, DenseIntOrFPElementsAttr):
        return _dense_text(cast("DenseIntOrFPElementsAttr[Any]", value), type_)
    if isinstance(value, StringAttr):
        return "c" + quoted(value.data.encode())
    if isinstance(value, BytesAttr):
        return "c" + quoted(value.data)
    if isinstance(value, SymbolRefAttr):
        return symbol(value.string_value())
    if isinstance(value, DenseArrayBase):
        array = cast("DenseArrayBase[Any]", value)
        return _sequence_text(iter(array.get_values()), type_)
    raise UnsupportedError(f"{value} is not a constant of LLVM")


def _dense_text(value: DenseIntOrFPElementsAttr[Any], type_: Attribute) -> str:
    values = value.get_values()
    if value.is_splat() and is_vector(type_):
        element = type_.element_type
        return f"splat ({type_text(element)} {scalar_text(values[0], element)})"
    if not any(value.data.data) and isinstance(type_, llvm.LLVMArrayType):
        return "zeroinitializer"
    count = _count(type_)
    return _sequence_text(iter(values if len(values) == count else values * count), type_)


def _count(type_: Attribute) -> int:
    if isinstance(type_, llvm.LLVMArrayType):
        return type_.size.data * _count(type_.type)
    return type_.get_shape()[0] if is_vector(type_) else 1


def _sequence_text(values: Iterator[Any], type_: Attribute) -> str:
    """Return the next values as a constant of an array (of arrays) or a vector."""
    if isinstance(type_, llvm.LLVMArrayType):
        element, count, brackets = type_.type, type_.size.data, "[]"
    elif is_vector(type_):
        element, count, brackets = type_.element_type, type_.get_shape()[0], "<>"
    else:
        return scalar_text(next(values), type_)
    prefix = type_text(element) + " "
    return brackets[0] + ", ".join(prefix + _sequence_text(values, element) for _ in range(count)) + brackets[1]


class Initialiser:
    """The value computed by the body of an `llvm.mlir.global`, as a constant."""

    def __init__(self) -> None:
        self.values: dict[SSAValue, str | list[Any]] = {}

    def text(self, ops: Sequence[Operation]) -> str:
        """Return the constant that the final `llvm.return` of `ops` returns."""
        for op in ops:
            if isinstance(op, llvm.ReturnOp):
                returned = op.operands[0]
                return self._spell(self.values[returned], returned.type)
            self.values[op.results[0]] = self._evaluate(op)
        raise UnsupportedError("the body of a global does not return its value")

    def _evaluate(self, op: Operation) -> str | list[Any]:
        literal = literal_of(op)
        if literal is not None:
            return literal
        if isinstance(op, llvm.InsertValueOp):
            container = self.values[op.operands[0]]
            path = [int(i) for i in op.position.get_values()]
            return self._insert(container, op.operands[0].type, path, self.values[op.operands[1]])
        raise UnsupportedError(f"'{op.name}' is not a constant: it cannot initialise a global")

    def _insert(self, container: str | list[Any], type_: Attribute, path: list[int], value: Any) -> list[Any]:
        parts: list[Any] = list(container) if isinstance(container, list) else [container] * len(_element_types(type_))
        inner = _element_types(type_)[path[0]]
        parts[path[0]] = value if len(path) == 1 else self._insert(parts[path[0]], inner, path[1:], value)
        return parts

    def _spell(self, value: str | list[Any], type_: Attribute) -> str:
        if isinstance(value, str):
            return value
        opening, closing = ("[", "]") if isinstance(type_, llvm.LLVMArrayType) else ("{ ", " }")
        parts = [f"{type_text(t)} {self._spell(v, t)}" for v, t in zip(value, _element_types(type_), strict=True)]
        return opening + ", ".join(parts) + closing


def _element_types(type_: Attribute) -> Sequence[Attribute]:
    if isinstance(type_, llvm.LLVMArrayType):
        return [type_.type] * type_.size.data
    if isinstance(type_, llvm.LLVMStructType):
        return type_.types.data
    raise UnsupportedError(f"{type_} has no elements")


def literal_of(op: Operation) -> str | None:
    """Return the text to write for the op's result if it is a constant and not an instruction, else None."""
    rule = _LITERALS.get(type(op))
    return None if rule is None else rule(op)


def _zero(op: llvm.ZeroOp) -> str:
    return "null" if isinstance(op.res.type, llvm.LLVMPointerType) else "zeroinitializer"


_LITERALS: dict[type[Operation], Callable[[Any], str]] = {
    llvm.ConstantOp: lambda op: constant_text(op.value, op.result.type),
    llvm.UndefOp: lambda op: "undef",
    llvm_extras.PoisonOp: lambda op: "poison",
    llvm.ZeroOp: _zero,
    llvm.AddressOfOp: lambda op: symbol(op.global_name.string_value()),
}
