"""Arrays of other libraries: a result becomes an array of the library that the arguments came from, without a copy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..runtime.errors import ArgumentError
from ..runtime.metadata import FunctionInfo, Info, TensorInfo, TupleInfo
from ..runtime.ndarray import NDArray


def _to_torch(array: NDArray) -> Any:
    return sys.modules["torch"].from_dlpack(array)


def _to_jax(array: NDArray) -> Any:
    jax = sys.modules["jax"]
    if not array.flags.writeable:  # memory of an argument, which DLPack does not export
        return jax.numpy.array(np.asarray(array))
    return jax.dlpack.from_dlpack(array)


def _own(array: np.ndarray[Any, Any]) -> NDArray:
    return array if isinstance(array, NDArray) else array.view(NDArray)


_CONVERTERS: dict[str, Callable[[NDArray], Any]] = {
    "torch": _to_torch,
    "jax": _to_jax,
    "jaxlib": _to_jax,
    "numpy": np.asarray,
    "tirax": _own,
}
"""By the top package of an argument's class."""


_EXACT: dict[type, Callable[[NDArray], Any]] = {np.ndarray: np.asarray, NDArray: _own}


def converter_for(arguments: Iterable[Any]) -> Callable[[NDArray], Any]:
    """Return what makes results of the kind of the first array among the arguments; numpy's if there is none."""
    for value in arguments:
        convert = _CONVERTERS.get(type(value).__module__.partition(".")[0])
        if convert is not None and not isinstance(value, np.generic):
            return convert
    return np.asarray


def native_call(function: Callable[..., Any], info: FunctionInfo, kind: type) -> Callable[..., Any]:
    """Return a compiled function for calls whose first argument is of type `kind`.

    It returns arrays of the library that the first array among the arguments comes from.
    """

    def converting(*args: Any) -> Any:
        return convert(function(*args), converter_for(args))

    torch = sys.modules.get("torch")
    if torch is not None and kind is torch.Tensor:
        from ..runtime.exchange import exchanging

        return exchanging(function, info, [kind], converting, plain=True)
    to = _EXACT.get(kind)
    if to is not None and isinstance(info.result, TensorInfo):
        return lambda *args: to(function(*args))
    if to is not None and isinstance(info.result, TupleInfo) and all(map(_is_tensor, info.result.fields)):
        return lambda *args: tuple(map(to, function(*args)))
    return converting


def _is_tensor(info: Info) -> bool:
    return isinstance(info, TensorInfo)


def convert(result: Any, to: Callable[[NDArray], Any]) -> Any:
    """Return a native result with its arrays converted."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result  # strings, which other libraries lack
    if isinstance(result, np.ndarray):  # a plain array is the memory of an argument that is returned
        return to(result if isinstance(result, NDArray) else result.view(NDArray))
    return tuple(convert(item, to) for item in result) if isinstance(result, tuple) else result


def as_pairs(value: Any, path: str) -> Any:
    """Return an array of complex numbers as real ones with a last dimension of pairs, of the same library if possible.

    Raises `ArgumentError`, with the path of the argument, for other arrays.
    """
    dtype = getattr(value, "dtype", None)
    if "complex" not in str(dtype):
        raise ArgumentError(f"{path} is an array of complex numbers", expected="complex64 or complex128", found=dtype)
    if type(value).__module__.partition(".")[0] == "torch":
        return sys.modules["torch"].view_as_real(value.detach().resolve_conj())
    plain = np.ascontiguousarray(np.asarray(value))
    return plain.view(np.finfo(plain.dtype).dtype).reshape(*np.shape(value), 2)


def as_complex(pairs: Any) -> Any:
    """Return an array whose last dimension is pairs as complex numbers, without a copy in torch and numpy."""
    kind = type(pairs).__module__.partition(".")[0]
    if kind == "torch":
        return sys.modules["torch"].view_as_complex(pairs)
    if kind in ("jax", "jaxlib"):
        return sys.modules["jax"].lax.complex(pairs[..., 0], pairs[..., 1])
    plain = np.asarray(pairs)
    return plain.view(np.result_type(plain.dtype, np.complex64))[..., 0]
