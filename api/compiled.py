"""`Compiled`: what `tirax.compile` returns."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..diagnostics import TiraxError, UnsupportedError
from ..runtime.container import read_container
from ..runtime.errors import ArgumentError, DamagedFileError, unknown_name
from ..runtime.executable import Executable
from ..runtime.metadata import FunctionInfo, TupleInfo, dim_text
from .kinds import native_call
from .signature import Signature
from .structure import paths

_KEY = "signature"
"""The entry of a file's header that `Executable` does not read."""
_PROFILED = 5
"""Calls to time for a page, of which the fastest is shown."""


class Compiled:
    """A compiled model: call it with arrays of torch, numpy or jax, or with `tirax.runtime` arrays.

    Arguments are those of the model, by position or by keyword; results have the structure of the model's, and are
    arrays of the library that the arguments came from. Calls are thread safe.
    """

    def __init__(
        self,
        executable: Executable,
        function: str = "main",
        signature: Signature | None = None,
        build_again: Callable[[], Executable] | None = None,
    ):
        self.executable = executable
        self.function = function
        self.info: FunctionInfo = executable.functions[function]
        self.signature = signature or Signature.of_names([p.name for p in self.info.params])
        self._flat_count = len(self.signature.parameters) if self.signature.is_flat else -1
        self._restored = self.signature.restoring(isinstance(self.info.result, TupleInfo))
        self._calls: dict[type, Callable[..., Any]] = {}
        self._build_again = build_again

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the model.

        Raises `ArgumentError`, `ShapeError` or `DTypeError` for arguments that do not fit the signature.
        """
        if kwargs or len(args) != self._flat_count:
            args = tuple(self.signature.arguments(args, kwargs))
        kind = type(args[0]) if args else object
        call = self._calls.get(kind)
        if call is None:
            call = self._calls[kind] = native_call(self.executable[self.function], self.info, kind)
        return call(*args) if self._restored is None else self._restored(call(*args))

    @property
    def inputs(self) -> dict[str, str]:
        """The arrays that a call takes, by path, with dtype and shape: `{"x": "float32[batch, 4]"}`."""
        names = [path for name, s in self.signature.parameters.items() for path in paths(s, name)]
        return dict(zip(names, (_text(p.info) for p in self.info.params), strict=True))

    @property
    def outputs(self) -> dict[str, str]:
        """The arrays that a call returns, by path, with dtype and shape; "" is the path of a single one."""
        result = self.info.result
        fields = list(result.fields) if isinstance(result, TupleInfo) else [result]
        if self.signature.result is None:
            names = [""] if not isinstance(result, TupleInfo) else [f"[{i}]" for i in range(len(fields))]
        else:
            names = list(paths(self.signature.result))
        return dict(zip(names, map(_text, fields), strict=False))

    @property
    def fallbacks(self) -> list[str]:
        """The operators that run in the model's framework, such as `aten.geqrf.default`; a C library has none."""
        return sorted({name.partition("(")[0] for name in self.executable.packed_functions if ".ops." in name})

    def profile(self, *args: Any, **options: Any) -> Any:
        """Return where the time of a call goes, by kernel; options are those of `Executable.profile`."""
        return self.executable.profile(self.function, *self.signature.arguments(args, {}), **options)

    def explain(self, path: str | os.PathLike[str], *args: Any, **kwargs: Any) -> None:
        """Write an HTML page of every pass and every level, down to assembly; with arguments of a call, with its times.

        The model is compiled again for it. Raises `UnsupportedError` for a model that was loaded or pickled: it has
        only machine code; `TiraxError` if the page cannot be written.
        """
        if self._build_again is None:
            raise UnsupportedError(
                "a model that was loaded has no levels to show, only machine code",
                hint="compile it in this process, tirax.compile(model, …).explain(path); or in a shell: tirax explain",
            )
        from ..driver.tracing import trace

        values = self.signature.arguments(args, kwargs) if args or kwargs else None
        with trace(os.fspath(path), self.function) as recorder:
            executable = self._build_again()
            if values is not None:
                recorder.profile(executable.profile(self.function, *values, repeat=_PROFILED))

    def export_library(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a C library (`.so`, `.a`, `.o`); options and errors are those of `Executable.export_library`."""
        self.executable.export_library(path, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model, with its machine code and weights, to one file; `tirax.load` reads it. Raises `OSError`."""
        self.executable.save(path, {_KEY: {"function": self.function, **self.signature.to_json()}})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Compiled:
        """Read a file that `save` wrote. It contains machine code: load only files that you trust.

        Raises `OSError` or a subclass of `ExecutableFileError`.
        """
        executable = Executable.load(path)
        data = read_container(path)[0].get(_KEY)
        if data is None:  # written by `Executable.save`
            return Compiled(executable, callable_function(executable))
        try:
            return Compiled(executable, str(data["function"]), Signature.from_json(data))
        except TiraxError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            message = f"{os.fspath(path)} is damaged: its signature is malformed"
            raise DamagedFileError(message, notes=[str(error)]) from error

    def __copy__(self) -> Compiled:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Compiled:
        return self  # machine code and constants never change

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.tirax"
            self.save(path)
            return _from_bytes, (path.read_bytes(),)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {text}" for name, text in self.inputs.items())
        outputs = ", ".join(f"{name}: {text}" if name else text for name, text in self.outputs.items())
        return f"<tirax.Compiled {self.function}({inputs}) -> {outputs}>"


def _from_bytes(data: bytes) -> Compiled:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tirax"
        path.write_bytes(data)
        return Compiled.load(path)


def callable_function(executable: Executable, name: str | None = None) -> str:
    """Return the name of the function to call: `name`, else `main`, else the only one.

    Raises `NameLookupError` for an unknown name, `ArgumentError` if there is no function that is called by default.
    """
    names = list(executable.functions)
    if name is not None and name not in names:
        raise unknown_name("function", name, names)
    if name is None and "main" not in names and len(names) != 1:
        found = ", ".join(names) or "none"
        raise ArgumentError("the program has no function main", expected="main, or one function", found=found)
    return name or ("main" if "main" in names else names[0])


def _text(info: Any) -> str:
    dtype, shape = getattr(info, "dtype", None), getattr(info, "shape", None)
    if shape is None:
        return str(info)
    return f"{dtype or '?'}[{', '.join(map(dim_text, shape))}]"
