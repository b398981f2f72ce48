"""Run programs of any lowering stage natively: functions through their entry points, kernels one by one."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp

from ..dialects import host, relax, tir
from ..dialects.dtypes import numpy_dtype
from ..dialects.tir import BufferType
from ..driver.assemble import assemble
from ..driver.pipelines import BACKEND, HOST, KERNELS, make_passes
from ..driver.run import run_passes
from ..interpreter import InterpreterError
from ..interpreter.environment import Environment
from ..interpreter.foreign import C_TYPES
from ..ir.passes.transform import new_context
from ..lowering.host.convert import SLOTS
from ..lowering.host.symbols import KERNEL_PREFIX, kernel_symbol
from ..lowering.tir_to_scf.signature import kernel_signature
from ..runtime import empty
from ..runtime.engine import load_object
from ..runtime.errors import OutOfMemoryError
from ..runtime.slots import SlotContext, resolve
from ..target import Target

_HALVES = frozenset(("float16", "bfloat16"))
"""Types passed in the low bits of a floating-point register by the calling conventions of x86-64 and AArch64."""


class NativeModule:
    """A loaded module; the passes of `lower-cpu-unscheduled` that remain are first run on a copy.

    Raises what lowering and loading raise.
    """

    def __init__(self, module: ModuleOp, target: Target | None = None):
        target, op = target or Target.host(), module.clone()
        run_passes(make_passes(_missing(op), target.text), new_context(), op, verify_each=False)
        self._symbols = [f.sym_name.data for f in op.ops if isinstance(f, llvm.FuncOp) and _export(f)]
        self._executable = executable = assemble(op, target)
        context = SlotContext(executable.functions, executable.constants, executable.external)
        addresses, references = resolve(executable.slots, context)
        entries = [info.entry for info in executable.functions.values()]
        self._loaded = load_object(executable.code, [*entries, *self._symbols], addresses, references)

    def has_kernel(self, name: str) -> bool:
        """Return whether there is a kernel of the tensor function `name`."""
        return _symbol(name) in self._symbols

    def call(self, name: str, args: Sequence[Any]) -> Any:
        """Return the result of an entry point."""
        return self._executable[name](*args)

    def call_kernel(self, func: tir.FuncOp, args: Sequence[Any]) -> Any:
        """Run the kernel of the tensor function `func`, which writes into `args` as the interpreter does.

        Raises `InterpreterError` if an assertion in it fails, or its arguments cannot be passed from Python.
        """
        signature, env = kernel_signature(func), Environment()
        env.bind_tir(func, args)
        pairs = list(zip(func.params, args, strict=True))
        arrays = {i: _aligned(a) for i, (p, a) in enumerate(pairs) if isinstance(p.type, BufferType)}
        values = [_pointer(arrays[i]) if i in arrays else _scalar(a) for i, (_, a) in enumerate(pairs)]
        values += [ctypes.c_int64(env.variables[name]) for name in signature.symbolic_vars]
        result = None if signature.result is None else np.zeros((), numpy_dtype(signature.result))
        values += [] if result is None else [_pointer(result)]
        address = self._loaded.address(_symbol(func.sym_name.data))
        status = ctypes.PYFUNCTYPE(ctypes.c_int32, *map(type, values))(address)(*values)
        if status < 0:
            raise OutOfMemoryError(f"@{signature.name}: {-status} KiB of memory cannot be allocated")
        if status:
            raise InterpreterError(f"@{signature.name}: {signature.assertions[status - 1]}")
        for i, array in arrays.items():
            args[i][...] = array
        return None if result is None else result[()]


def _missing(op: ModuleOp) -> tuple[str, ...]:
    """Return the passes that remain to lower a module from its current stage."""
    kinds = {type(inner) for inner in op.walk()}
    if relax.FuncOp in kinds or SLOTS not in op.attributes:
        planned = host.ArenaOp in kinds or host.ViewOp in kinds
        return (*(HOST[HOST.index("plan-memory") + 1 :] if planned else HOST), *KERNELS, *BACKEND)
    return (*(KERNELS if tir.FuncOp in kinds else ()), *BACKEND)


def _symbol(name: str) -> str:
    return name if name.startswith(KERNEL_PREFIX) else kernel_symbol(name)


def _export(function: llvm.FuncOp) -> bool:
    """Give a kernel external linkage; return whether the function is one."""
    if not function.sym_name.data.startswith(KERNEL_PREFIX) or function.body.first_block is None:
        return False
    function.properties["linkage"] = llvm.LinkageAttr("external")
    return True


def _aligned(value: Any) -> Any:
    """Copy arrays for kernels, which require them aligned and contiguous."""
    copy = empty(value.shape, value.dtype)
    np.copyto(copy, value)
    return copy


def _pointer(array: Any) -> Any:
    return ctypes.c_void_p(array.ctypes.data)


def _scalar(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype.name in _HALVES:
        return ctypes.c_float(np.uint32(array.view(np.uint16)).view(np.float32).item())
    return _c_type_of(array.dtype)(array.item())


def _c_type_of(dtype: np.dtype[Any]) -> Any:
    kind = ctypes.c_float if dtype.name in _HALVES else cast("Mapping[str, Any]", C_TYPES).get(dtype.name)
    if kind is None:
        raise InterpreterError("a number of this dtype cannot be passed to a kernel from here", found=dtype)
    return kind
