"""`Executable`: compiled code with everything needed to load, save and call it."""

from __future__ import annotations

import functools
import importlib.metadata
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..locks import Lock
from ..untrusted import checked_shape, open_file
from . import abi
from .arguments import bind_keywords, normalize_arguments
from .container import read_container, write_container
from .devices import CPU, Device, require_cpu
from .dtypes import to_dtype
from .errors import (
    ArgumentError,
    DamagedFileError,
    ExecutableFileError,
    IncompatibleFileError,
    LoadError,
    TiraxError,
    unknown_name,
)
from .library.load import Library, load_library
from .metadata import FunctionInfo, MetadataError
from .module import Functions, Module, Unpicklable, functions_text
from .ndarray import ALIGNMENT, array, empty
from .profiling import recorder
from .profiling.report import Report
from .profiling.sites import Site
from .profiling.watched import Tell, watched
from .registry import PackedFunction
from .slots import SLOT_KINDS, SlotSpec
from .timing import Evaluator

if TYPE_CHECKING:
    from .profiling.session import Session


@dataclass(frozen=True)
class TargetInfo:
    """The target of compiled code: its text, LLVM's triple, the processor and the features used."""

    text: str = "llvm"
    triple: str = ""
    cpu: str = ""
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cached:
    """The key of an executable in the cache; for each constant its number in the program, None if the file has it."""

    key: str
    places: tuple[int | None, ...]


class Executable(Unpicklable):
    """A compiled module. `ex["main"](x)` calls a function, and so does `VirtualMachine(ex, cpu())["main"](x)`."""

    def __init__(
        self,
        code: bytes | np.ndarray,
        functions: Iterable[FunctionInfo],
        *,
        slots: Sequence[SlotSpec] = (),
        constants: Sequence[np.ndarray] = (),
        target: TargetInfo | None = None,
        external: Mapping[str, PackedFunction] | None = None,
        sites: Sequence[Site] = (),
    ):
        """`code` is an object as described in `abi.py`, or its bytes in a mapped file; `slots` are its own slots
        (`slots.py`), in the order of its table.

        `constants` that are not aligned, C-contiguous and immutable are copied. `external` are packed functions of this
        executable: they take precedence over registered ones, and are not saved. `sites` are the profiling sites of the
        code. Raises `MetadataError` for a malformed slot.
        """
        self._code = code
        self.functions: Mapping[str, FunctionInfo] = {function.name: function for function in functions}
        self.slots = tuple(_checked_slot(slot) for slot in slots)
        self.constants = tuple(_frozen_copy(constant) for constant in constants)
        self.target = target or TargetInfo()
        self.external = dict(external or {})
        self.sites = tuple(sites)
        self.instrument: Callable[[], Executable] | None = None
        """Builds the same program so that it says what runs; None where only code is left of it."""
        self.watch: Tell | None = None
        """Takes profiles of the first calls of each function, which are made in the place of these calls."""
        self.cached: Cached | None = None
        """Where the cache of executables has it, if it does."""
        self.proofs: Any = None
        """What `build(…, validate="proof")` proved of each pass."""
        self._instrumented: Executable | None = None
        self._module: Module | None = None
        self._lock = Lock()

    def __repr__(self) -> str:
        return functions_text("Executable", self.functions.values())

    @property
    def code(self) -> bytes:
        """The object; copied if the file is mapped, since it is not needed once it is linked."""
        return bytes(self._code)

    @property
    def packed_functions(self) -> list[str]:
        """The names of the registered Python functions that the code calls."""
        return sorted({payload for kind, payload in self.slots if kind == "packed"})

    def jit(self) -> Module:
        """Return the module in memory, loaded at the first call, when packed functions are looked up.

        Raises `LoadError`, `AbiError`, `NameLookupError` (packed functions that are not registered).
        """
        loaded = self._module
        if loaded is not None:  # a child of fork may find the lock held by a thread that it does not have
            return loaded
        with self._lock:
            if self._module is None:
                self._module = self.fresh_module()
            return self._module

    def fresh_module(self) -> Module:
        """Load the module once more, with the packed functions registered now. Raises like `jit`."""
        foreign = _foreign(self.target)
        if foreign is not None:
            what, expected, found = foreign
            hint = "it can be saved, and loaded there"
            raise LoadError(f"the code was made for another {what}", expected=expected, found=found, hint=hint)
        imports = recorder.imports() if self.sites else None
        rows = recorder.new_rows(len(self.sites)) if self.sites else None
        module = Module(self.code, self.functions, self.slots, self.constants, self.external, imports, rows)
        if self.watch is not None:
            module.replace(functools.partial(watched, profile=self.profile, tell=self.watch))
        return module

    @property
    def instrumented(self) -> Executable:
        """The same program instrumented for profiling, built on first use; the kernels are the same.

        Raises `ArgumentError` for an executable that was read from a file.
        """
        if self.instrument is None and not self.sites:
            hint = "profile where it is built: tirax run model.py --profile, or build(mod).profile(…)"
            raise ArgumentError("an executable from a file has no program to be profiled", hint=hint)
        with self._lock:
            if self._instrumented is None:
                self._instrumented = self.instrument() if self.instrument is not None else self
            return self._instrumented

    def profile(self, func_name: str, *args: Any, **options: Any) -> Report:
        """Return the profile of a call, by kernel; the options are those of `profiling.profile.profile`."""
        from .profiling.session import profile

        return profile(self.instrumented.jit(), self.instrumented.sites, func_name, *args, **options)

    def profiling(self) -> AbstractContextManager[Session]:
        """Profile calls of `session["main"]` in `with executable.profiling() as session:`; then `session.report()`.

        Only one thread has a session at a time; others wait. Raises `ArgumentError` inside a profiled call.
        """
        from .profiling.session import profiling

        return profiling(self.instrumented.jit(), self.instrumented.sites)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function by name. Raises `NameLookupError` with a suggestion."""
        return self.jit()[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function `main`, or the only one, by position or by keyword.

        Raises `NameLookupError` if there are several others, and what calls raise.
        """
        name = next(iter(self.functions)) if len(self.functions) == 1 else "main"
        if kwargs:
            args = bind_keywords(self.functions[name], args, kwargs)
        return self[name](*args)

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Write everything to one file (format: `container.py`), replacing it atomically. Raises `OSError`.

        `extra` are further entries of the header, JSON data, which `read_container` returns.

        Packed functions, including `external` ones, are not saved: they must be registered when the file is loaded.
        """
        header = {"tirax": _version(), "abi": abi.fingerprint(), **self.to_json(), **(extra or {})}
        write_container(path, header, [self.code, *map(constant_bytes, self.constants)])

    def export_library(
        self,
        path: str | os.PathLike[str],
        *,
        header: str | os.PathLike[str] | None = None,
        name: str | None = None,
        weights: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write a library for programs without Python: `.so`, `.a`, `.o`; with another extension, write what `save`
        writes.

        Each function becomes `NAME_function` on DLPack tensors, and `NAME_function_raw` on plain memory; `header` is
        the C header to write, `name` that of the library (by default the file's). Constants are stored in the library,
        or in the file `weights`, which is mapped before the first call; it is not written if there are none.
        `load_library` calls the library from Python, too.

        Raises `LibraryError` if no C compiler is found or it fails, `UnsupportedError` for packed functions and if no
        function has a form in C, `ArgumentError` for library options with another extension, `OSError`.
        """
        if not os.fspath(path).endswith(SUFFIXES):
            if header or name or weights:
                found = f"a file named '{os.fspath(path)}'"
                message = "header, name and weights are of libraries"
                raise ArgumentError(message, expected=", ".join(SUFFIXES), found=found)
            return self.save(path)
        from .library.export import export_library

        rest = self.code, self.functions.values(), self.slots, self.constants, self.target
        return export_library(path, *rest, header=header, name=name, weights=weights)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Executable:
        """Read a file written by `save`. It contains machine code: load only files that you trust.

        Raises `OSError`, or a subclass of `ExecutableFileError`: the file is foreign, damaged, newer, or built for
        another processor, Python or numpy.
        """
        header, blobs = read_container(path)
        name = os.fspath(path)
        try:
            _check_compatible(name, header, _target(header["target"]))
            return cls.from_json(header, blobs[0].tobytes(), blobs[1:])
        except ExecutableFileError:
            raise
        except (TiraxError, KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
            raise DamagedFileError(f"{name} is damaged: its metadata are malformed", notes=[str(error)]) from error

    def to_json(self) -> dict[str, Any]:
        """Return everything but the code and the contents of the constants, as JSON data."""
        return {
            "target": asdict(self.target),
            "functions": [function.to_json() for function in self.functions.values()],
            "slots": self.slots,
            "constants": [{"dtype": c.dtype.name, "shape": c.shape} for c in self.constants],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], code: bytes | np.ndarray, contents: Sequence[np.ndarray]) -> Executable:
        """Return the inverse of `to_json`; `contents` are the bytes of the constants, which are copied if not aligned.

        Raises `MetadataError`, `KeyError`, `TypeError`, `ValueError` for other data.
        """
        return cls(
            code,
            [FunctionInfo.from_json(function) for function in data["functions"]],
            slots=[tuple(slot) for slot in data["slots"]],
            constants=[_constant(row, b) for row, b in zip(data["constants"], contents, strict=True)],
            target=_target(data["target"]),
        )


def load_module(path: str | os.PathLike[str]) -> Executable | Library:
    """Load a file written by `export_library`, under TVM's name: an executable, or a shared library. Raises like
    their loaders.
    """
    with open_file(path) as file:
        is_library = file.read(4) == b"\x7fELF"
    return load_library(path) if is_library else Executable.load(path)


SUFFIXES = (".so", ".a", ".o")
"""The file extensions of libraries for programs without Python."""


def _version() -> str:
    return importlib.metadata.version("tirax")


def _checked_slot(slot: Sequence[Any]) -> SlotSpec:
    if len(slot) != 2 or slot[0] not in SLOT_KINDS:
        raise MetadataError(
            "malformed table slot", expected=f"(kind, payload), kind of {sorted(SLOT_KINDS)}", found=slot
        )
    return slot[0], slot[1]


def _frozen_copy(constant: np.ndarray) -> np.ndarray:
    """Return an aligned immutable array: the constant itself if it is one, else a copy."""
    if constant.flags.c_contiguous and not constant.ctypes.data % ALIGNMENT and _is_immutable(constant):
        return constant
    copy = empty(constant.shape, constant.dtype)
    np.copyto(copy, constant)
    copy.flags.writeable = False
    return copy


def _is_immutable(array: np.ndarray) -> bool:
    """Return whether an array's memory is inherently read-only, so that no other view of it can be written to."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return isinstance(owner, bytes) or (isinstance(owner, memoryview) and owner.readonly)


def constant_bytes(constant: np.ndarray) -> memoryview:
    """Return the bytes of a constant of an executable."""
    return constant.reshape(-1).view(np.uint8).data


def _constant(data: Mapping[str, Any], blob: np.ndarray) -> np.ndarray:
    """Return a constant over the bytes read from the file."""
    dtype = to_dtype(str(data["dtype"]))
    return blob.view(dtype).reshape(checked_shape(data["shape"], dtype.itemsize, "a constant", MetadataError))


def _target(data: Mapping[str, Any]) -> TargetInfo:
    features = tuple(str(feature) for feature in data["features"])
    return TargetInfo(str(data["text"]), str(data["triple"]), str(data["cpu"]), features)


def _check_compatible(name: str, header: Mapping[str, Any], target: TargetInfo) -> None:
    """Reject code that would crash here: another ABI, another array layout, missing instructions."""

    def refuse(what: str, expected: object, found: object) -> None:
        hint = f"build it again on this machine (written by tirax {header['tirax']})"
        raise IncompatibleFileError(f"{name} was made for another {what}", expected=expected, found=found, hint=hint)

    here, there = abi.fingerprint(), dict(header["abi"])
    if here != there:
        names = sorted(key for key in here | there if here.get(key) != there.get(key))
        expected, found = ({key: side.get(key) for key in names} for side in (here, there))
        refuse("ABI version of tirax" if "abi" in names else "build of Python or numpy", expected, found)
    foreign = _foreign(target)
    if foreign is not None:
        refuse(*foreign)


def _foreign(target: TargetInfo) -> tuple[str, str, str] | None:
    """Return (what differs, expected, found) if code for a target cannot run here, else None."""
    from .jit import host_features, host_triple

    if target.triple and _platform(target.triple) != _platform(host_triple()):
        return "platform", host_triple(), target.triple
    missing = sorted(set(target.features) - host_features())
    if missing:
        return "processor", f"a processor with {', '.join(missing)} ({target.cpu})", "this one"
    return None


def _platform(triple: str) -> tuple[str, str]:
    """Return architecture and system; the vendor differs between names of one platform."""
    parts = triple.split("-")
    return parts[0], next((s for s in ("linux", "darwin", "windows") if s in triple), parts[-1])


# `VirtualMachine`: TVM's way to call an executable. There is no interpreter: functions are native.


class VirtualMachine(Unpicklable):
    """Calls functions of an executable: `vm["main"](x)`. Thread-safe, except for the stateful methods."""

    def __init__(
        self,
        executable: Executable | Functions,
        device: Device | Sequence[Device] = CPU,
        memory_cfg: Any = None,
        profile: bool = False,
    ):
        """`memory_cfg` and `profile` are accepted for compatibility with TVM and ignored: `profile()` needs no
        preparation.

        Packed functions are looked up now. Raises `DeviceError`, `NameLookupError`, `LoadError`, `ArgumentError`.
        """
        for each in [device] if isinstance(device, Device) else device:
            require_cpu(each)
        if not isinstance(executable, (Executable, Functions)):
            found = type(executable).__name__
            raise ArgumentError("not an executable", expected="what relax.build returns", found=found)
        self.module = executable.fresh_module() if isinstance(executable, Executable) else executable
        self._executable = executable if isinstance(executable, Executable) else None
        self._functions = {name: self.module[name] for name in self.module.function_names}
        self._inputs: dict[str, tuple[Any, ...]] = {}
        self._outputs: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function by name. Raises `NameLookupError` with a suggestion."""
        function = self._functions.get(name)
        if function is None and name not in self.module:
            raise unknown_name("function", name, self._functions)
        return self.module[name] if function is None else function

    def __repr__(self) -> str:
        return functions_text("VirtualMachine", self.module.functions.values())

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Copy the arguments for a later `invoke_stateful`; raises what a call with them would raise."""
        info = self._info(func_name)
        values = normalize_arguments(info, *bind_keywords(info, args, kwargs))
        self._inputs[func_name] = tuple(map(_copy, values))

    def invoke_stateful(self, func_name: str) -> None:
        """Call a function with the inputs set before; `get_outputs` returns the result. Raises `ArgumentError`."""
        if func_name not in self._inputs:
            self._info(func_name)
            raise ArgumentError(f"no inputs were set for '{func_name}'", hint=f"vm.set_input('{func_name}', …)")
        self._outputs[func_name] = self.module[func_name](*self._inputs[func_name])

    def get_outputs(self, func_name: str) -> Any:
        """Return the result of the last `invoke_stateful` of a function. Raises `ArgumentError` if there is none."""
        if func_name not in self._outputs:
            self._info(func_name)
            raise ArgumentError(f"'{func_name}' was not invoked", hint=f"vm.invoke_stateful('{func_name}')")
        return self._outputs[func_name]

    def save_function(self, func_name: str, saved_name: str, *args: Any, **kwargs: Any) -> None:
        """Save a function with its arguments under another name: `vm[saved_name]()`. Raises like `set_input`."""
        info = self._info(func_name)
        values = normalize_arguments(info, *bind_keywords(info, args, kwargs))
        self._functions[saved_name] = functools.partial(self.module[func_name], *values)

    def time_evaluator(self, func_name: str, dev: Device | None = None, *args: Any, **options: Any) -> Evaluator:
        """Like `Module.time_evaluator`; also for saved functions."""
        if dev is not None:
            require_cpu(dev)
        return Evaluator(self[func_name], *args, **options)

    def profile(self, func_name: str, *args: Any, **options: Any) -> Report:
        """Return the profile of a call, by kernel. Raises like a call, and `ArgumentError` if there is no
        program to instrument.
        """
        if self._executable is None:
            raise ArgumentError("a loaded module has no program to be profiled", hint="VirtualMachine(executable)")
        return self._executable.profile(func_name, *args, **options)

    def profiling(self) -> AbstractContextManager[Session]:
        """Like `Executable.profiling`. Raises `ArgumentError` if there is no program to instrument."""
        if self._executable is None:
            raise ArgumentError("a loaded module has no program to be profiled", hint="VirtualMachine(executable)")
        return self._executable.profiling()

    def _info(self, name: str) -> Any:
        return self.module.info(name)


def _copy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return array(value)
    return tuple(map(_copy, value)) if isinstance(value, tuple) else value
