"""Constant tensors as attributes: `#relax.data<f32 [2, 2] [[1.0, 2.0], [3.0, 4.0]]>`.

Small tensors print as numbers, large ones as hexadecimal bytes (`"0x…"`, little endian, row-major), and tensors stored
in a file of weights as a reference to it: `#relax.data<f32 [1000, 512] in "model.safetensors" : "fc.weight">`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..assembly import kind_of_part
from ..dtypes import dtype_name, float_text, is_float, numpy_dtype
from .copying import Copy, Write

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

_MAX_NUMBERS = 64
_most_bytes: ContextVar[int | None] = ContextVar("most_bytes", default=None)
_collected: ContextVar[list[TensorData] | None] = ContextVar("collected", default=None)
_folder: ContextVar[str | None] = ContextVar("folder", default=None)
_SAMPLES = 64
"""Number of bytes sampled for a hash: large contents are not read completely."""

ALIGNMENT = 64
"""Alignment in bytes: that of the runtime's arrays."""


@contextmanager
def elided_contents(above: int | None) -> Generator[None]:
    """Print contents larger than `above` bytes as `elided` inside; such text is for display and cannot be parsed."""
    token = _most_bytes.set(above)
    try:
        yield
    finally:
        _most_bytes.reset(token)


@contextmanager
def collected_contents() -> Generator[list[TensorData]]:
    """Print contents as `elided` inside and append them to the list, so that text and list describe the program."""
    collected: list[TensorData] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


@contextmanager
def printed_for(folder: str | None) -> Generator[None]:
    """Print references to files of weights relative to `folder` inside, where the text will be read again."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


@dataclass(frozen=True, eq=False)
class TensorData:
    """Immutable contents of a constant: dtype, shape and the bytes (little endian, row-major).

    `raw` is read-only memory; the memory of `TensorDataAttr.filled` is aligned for compiled code, so it is not copied
    again. Accesses wait while the contents are still being copied. `key` is the constant's name in its model, `file`
    the absolute path of a file that stores it under that name; neither affects equality.
    """

    dtype: Attribute
    shape: tuple[int, ...]
    memory: bytes | memoryview = field(repr=False)
    key: str | None = None
    file: str | None = None
    copy: Copy | None = field(default=None, repr=False)

    @property
    def raw(self) -> bytes | memoryview:
        """The bytes."""
        if self.copy is not None:
            self.copy.wait()
        return self.memory

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, TensorData)
            and (self.dtype, self.shape) == (other.dtype, other.shape)
            and bool((self._bytes() == other._bytes()).all())
        )

    def __hash__(self) -> int:
        step = len(self.raw) // _SAMPLES + 1
        return hash((self.dtype, self.shape, bytes(self.raw[::step]), bytes(self.raw[:_SAMPLES])))

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the contents as a read-only array that shares the bytes."""
        return self._bytes().view(numpy_dtype(self.dtype)).reshape(self.shape)

    def _bytes(self) -> np.ndarray[Any, Any]:
        import numpy as np

        return np.frombuffer(self.raw, np.uint8)


@irdl_attr_definition
class TensorDataAttr(Data[TensorData]):
    """The contents of a constant tensor."""

    name = "relax.data"

    @classmethod
    def from_numpy(cls, array: ArrayLike, dtype: Attribute) -> TensorDataAttr:
        """Return the contents of `array`, converted to `dtype`."""
        import numpy as np

        values = np.asarray(array, dtype=numpy_dtype(dtype))
        return cls.filled(values.shape, dtype, lambda contents: np.copyto(contents, values))

    @classmethod
    def filled(
        cls, shape: Sequence[int], dtype: Attribute, fill: Callable[[np.ndarray[Any, Any]], object]
    ) -> TensorDataAttr:
        """Return the contents that `fill` writes into its argument, in aligned memory that is not modified
        afterwards.
        """
        own = _aligned(shape, dtype)
        fill(own)
        return cls(TensorData(dtype, tuple(shape), _bytes_of(own)))

    @classmethod
    def written(cls, shape: Sequence[int], dtype: Attribute, write: Write) -> TensorDataAttr:
        """Like `filled`, but `write` may run on a thread while the compiler continues (`copying.Copy`).

        Its sources must not be modified afterwards.
        """
        own = _aligned(shape, dtype)
        return cls(TensorData(dtype, tuple(shape), _bytes_of(own), copy=Copy(own, write)))

    @classmethod
    def rearranged(cls, array: np.ndarray[Any, Any], dtype: Attribute) -> TensorDataAttr:
        """Return the contents of `array`, row-major and aligned; its numpy dtype must be that of `dtype`.

        The array must not be modified afterwards: it may be copied while the compiler continues.
        """

        def copy(own: np.ndarray[Any, Any], _: bool) -> None:
            own[...] = array

        return cls.written(array.shape, dtype, copy)

    @classmethod
    def sharing(cls, array: np.ndarray[Any, Any], dtype: Attribute, key: str | None = None) -> TensorDataAttr:
        """Return the contents of `array`, without a copy if it is row-major; its numpy dtype must be that of `dtype`.

        The array must not be modified afterwards. `key` is its name in the model.
        """
        import numpy as np

        return cls(TensorData(dtype, array.shape, _bytes_of(np.ascontiguousarray(array)), key))

    def numpy(self) -> np.ndarray[Any, Any]:
        """Return the contents as a read-only array."""
        return self.data.numpy()

    @property
    def scalar(self) -> int | float | bool | None:
        """The value of a rank-0 tensor, None for others."""
        return None if self.data.shape else self.numpy().item()

    def print_parameter(self, printer: Printer) -> None:
        data = self.data
        with printer.in_angle_brackets():
            printer.print_attribute(data.dtype)
            printer.print_string(f" [{', '.join(map(str, data.shape))}] ")
            array, most, collected = data.numpy(), _most_bytes.get(), _collected.get()
            if collected is not None:
                collected.append(data)
            if collected is not None or (most is not None and len(data.raw) > most):
                printer.print_string("elided")
            elif data.file is not None and data.key is not None:
                name = os.path.relpath(data.file, _folder.get() or ".").replace(os.sep, "/")
                printer.print_string(f'in "{_quoted(name)}" : "{_quoted(data.key)}"')
            elif array.size > _MAX_NUMBERS or (is_float(data.dtype) and not _all_finite(array)):
                printer.print_string(f'"0x{data.raw.hex()}"')
            else:
                printer.print_string(_numbers(array.astype(float).tolist() if is_float(data.dtype) else array.tolist()))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> TensorData:
        with parser.in_angle_brackets():
            dtype = parser.parse_type()
            shape = tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))
            if parser.parse_optional_keyword("elided"):
                parser.raise_error("the contents of this constant were left out when it was printed")
            if parser.parse_optional_keyword("in"):
                return _checked(parser, _stored(parser, dtype), shape)
            text = parser.parse_optional_str_literal()
            if text is None:
                numbers = _parse_numbers(parser)
                return _checked(parser, cls.from_numpy(cast("ArrayLike", numbers), dtype).data, shape)
            try:
                raw = bytes.fromhex(text.removeprefix("0x"))
            except ValueError:
                parser.raise_error("the bytes of a constant are a string of hexadecimal digits that begins with 0x")
        return _checked(parser, TensorData(dtype, shape, raw), shape)

    def __str__(self) -> str:
        return f"{dtype_name(self.data.dtype)}{list(self.data.shape)}"


def _aligned(shape: Sequence[int], dtype: Attribute) -> np.ndarray[Any, Any]:
    """Return an uninitialized, aligned array."""
    import numpy as np

    size = math.prod(shape) * numpy_dtype(dtype).itemsize
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size].view(numpy_dtype(dtype)).reshape(shape)


def _bytes_of(array: np.ndarray[Any, Any]) -> memoryview:
    """Return the bytes of a row-major array, read-only."""
    return array.reshape(-1).view("uint8").data.toreadonly()


CONTENTS = kind_of_part(
    lambda printer, attr: attr.print_parameter(printer),
    lambda parser: TensorDataAttr(TensorDataAttr.parse_parameter(parser)),
    "<{}>",
    " ",
)("value")
"""` <f32 [2] [1.0, 2.0]>` in the `FORMAT` of an operation with the contents `value`."""


def _all_finite(array: np.ndarray[Any, Any]) -> bool:
    import numpy as np

    return bool(np.isfinite(array.astype(np.float64)).all())


def _numbers(value: object) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_numbers(v) for v in cast(list[object], value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return float_text(value) if isinstance(value, float) else str(value)


def _parse_numbers(parser: AttrParser) -> object:
    items = parser.parse_optional_comma_separated_list(parser.Delimiter.SQUARE, lambda: _parse_numbers(parser))
    if items is not None:
        return items
    return parser.parse_number(allow_boolean=True)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _stored(parser: AttrParser, dtype: Attribute) -> TensorData:
    """Parse the rest of `in "model.safetensors" : "fc.weight"`. The file must be in the folder of the text, or
    below it.
    """
    name = parser.parse_str_literal()
    parser.parse_punctuation(":")
    key = parser.parse_str_literal()
    folder = os.path.realpath(os.path.dirname(parser.lexer.input.name))
    path = os.path.realpath(os.path.join(folder, name))
    if os.path.commonpath([folder, path]) != folder:
        parser.raise_error(f"weights must lie in the folder of the text that names them, and '{name}' does not")
    try:
        status = os.stat(path)
        weights = _weights(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        parser.raise_error(f"cannot read the weights in '{name}': {error.strerror}")
    array = weights.get(key)
    if array is None:
        parser.raise_error(f"'{name}' has no weights '{key}'")
    if array.dtype != numpy_dtype(dtype):
        parser.raise_error(f"'{key}' in '{name}' is {array.dtype.name}, not {dtype_name(dtype)}")
    return TensorData(dtype, array.shape, array.reshape(-1).view("uint8").data, key, path)


@lru_cache(maxsize=8)
def _weights(path: str, _changed: int, _size: int) -> Mapping[str, np.ndarray[Any, Any]]:
    """Return the tensors of a file, opened once as long as it does not change."""
    from ...runtime.safetensors import read_weights

    return read_weights(path)


def _checked(parser: AttrParser, data: TensorData, shape: tuple[int, ...]) -> TensorData:
    size = numpy_dtype(data.dtype).itemsize
    for extent in shape:
        size *= extent
    if data.shape != shape or len(data.raw) != size:
        if 0 in shape and not data.raw:
            return TensorData(data.dtype, shape, b"")
        parser.raise_error(f"the contents do not fill a {dtype_name(data.dtype)} tensor of shape {list(shape)}")
    return data
