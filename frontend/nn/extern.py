"""External functions: modules with packed functions, and their calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...diagnostics import TiraxError, UnsupportedError, unknown_name
from ...handles.relax.calls import call_dps_packed, to_expr
from ...handles.relax.expr import Expr
from ...handles.struct_info import StructInfo
from ...runtime.capsules import DLTensor
from .exporter import add_extern
from .tensor import Object, Tensor, unwrap, wrap_nested


def emit_dps(name: str, args: Sequence[Any], out: Any) -> Any:
    """Call a packed function that writes to tensors like `out`, and return these: one, or a list or tuple of them."""
    values = [to_expr(a) for a in unwrap(list(args))]
    return wrap_like(call_dps_packed(name, values, infos_of(out)), name, out)


def infos_of(out: Any) -> list[StructInfo]:
    """Return the struct info of one placeholder, or of a list or tuple of them."""
    return [o.expr_handle.struct_info for o in (out if isinstance(out, tuple | list) else [out])]


def wrap_like(call: Expr, name: str, out: Any) -> Any:
    """Bind a call and return its results in the form of `out`: a tensor, or a list or tuple of tensors."""
    results = wrap_nested(call, name)
    if not isinstance(out, tuple | list):
        return results
    return type(out)(results if isinstance(results, tuple) else [results])


class ExternModule:
    """Packed functions that a model calls by `module["name"](x, y)`.

    `symbols` maps each name to a function of the same arguments (tensors, numbers, strings) that returns a
    placeholder for the result. The functions are registered packed functions (`tvm.register_func`).
    """

    def __init__(self, symbols: Mapping[str, Callable[..., Any]]):
        self.symbols = dict(symbols)

    def __getitem__(self, func_name: str) -> Callable[..., Any]:
        """Return a function by name. Raises `NameLookupError`."""
        infer = self.symbols.get(func_name)
        if infer is None:
            raise unknown_name("external function", func_name, self.symbols)

        def call(*args: Any) -> Any:
            add_extern(self)
            operands = [a if isinstance(a, Tensor | Object | Expr | int | float | str) else to_expr(a) for a in args]
            return emit_dps(func_name, operands, infer(*operands))

        call.__name__ = call.__qualname__ = func_name
        return call

    def load(self) -> None:
        """Check that the functions are registered in the runtime. Raises `NameLookupError` for one that is not."""
        from ...runtime import get_global_func

        for name in self.symbols:
            get_global_func(name)


class ObjectModule(ExternModule):
    """The functions of an object file or shared library (`.o`, `.so`), compiled from C for example.

    A function takes a `DLTensor *` for each tensor, an `int64_t` or a `double` for each number and a `char *`
    for each string, then the results, and returns an `int` that is 0 on success.
    """

    def __init__(self, symbols: Mapping[str, Callable[..., Any]], filepath: str | Path):
        super().__init__(symbols)
        self.filepath = Path(filepath)
        if not self.filepath.is_file():
            raise TiraxError("there is no such object file", found=str(self.filepath))

    def load(self) -> None:
        """Register the functions, replacing those of the same names. Raises `TiraxError` for missing symbols."""
        from ...runtime import register_func

        shared = self.filepath.suffix in (".so", ".dylib", ".dll")
        addresses = _in_library(self.filepath) if shared else _in_object(self.filepath)
        for name in self.symbols:
            address = addresses(name)
            if not address:
                raise TiraxError(f"the symbol '{name}' is not in the file", found=str(self.filepath))
            register_func(name, _packed(name, address), override=True)


class SourceModule(ExternModule):
    """Unsupported: C++ and CUDA sources require a compiler."""

    def __init__(
        self,
        symbols: Mapping[str, Callable[..., Any]],
        source_code: str | Path,
        source_format: str,
        compile_options: Sequence[str] | None = None,
        compiler: str | None = None,
        output_format: str = "obj",
    ):
        raise UnsupportedError(
            f"sources ({source_format}) are not compiled",
            hint="compile them to an object file, and use ObjectModule(symbols, filepath)",
        )


_CODES = {"i": 0, "u": 1, "f": 2, "b": 6, "c": 5}
_CPU = 1


def _dl_tensor(value: np.ndarray) -> DLTensor:
    extents = (ctypes.c_int64 * value.ndim)(*value.shape)
    strides = (ctypes.c_int64 * value.ndim)(*(s // value.itemsize for s in value.strides))
    code = _CODES.get(value.dtype.kind, 4)
    pointer = ctypes.POINTER(ctypes.c_int64)
    places = ctypes.cast(extents, pointer), ctypes.cast(strides, pointer)
    return DLTensor(value.ctypes.data, _CPU, 0, value.ndim, code, value.itemsize * 8, 1, *places, 0)


def _argument(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.pointer(_dl_tensor(value))
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_int64(int(value))


def _packed(name: str, address: int) -> Callable[..., None]:
    function = ctypes.CFUNCTYPE(ctypes.c_int)(address)

    def call(*args: Any) -> None:
        status = function(*map(_argument, args))
        if status:
            raise TiraxError(f"the external function {name} failed", found=f"status {status}")

    return call


def _in_library(path: Path) -> Callable[[str], int]:
    library = ctypes.CDLL(str(path))

    def address(name: str) -> int:
        function = getattr(library, name, None)
        return 0 if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0

    return address


def _in_object(path: Path) -> Callable[[str], int]:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_path(str(path)))
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address


_engines: list[Any] = []
"""The engines that own the loaded code of object files."""

__all__ = ["ExternModule", "ObjectModule", "SourceModule", "emit_dps", "infos_of", "wrap_like"]
