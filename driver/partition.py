"""Divide a module of entry points and kernels into several, which are lowered and compiled one after the other.

While LLVM compiles one on its own thread (`llvm_thread`), the next one is lowered. The division depends only on the
module, and so do the objects, however many threads compile them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from ..dialects import tir
from ..dialects.quick import operations
from ..ir.locations import location_of
from ..ir.passes.extern import check_extern
from ..ir.passes.transform import PassContext, new_context
from ..lowering.host.symbols import ENTRY_PREFIX
from ..lowering.llvm_text import print_llvm
from ..lowering.tir_to_scf.signature import STATUS_TYPE, kernel_signature
from ..runtime import abi, result_pool, stack, thread_pool
from ..runtime.profiling import recorder
from .kernel_partition import FEWEST_PARTS, KERNELS_IN_A_PART, kernels_by_part
from .run import run_passes
from .timings import stage

_ENTRY_POINTS = (
    "PyBool_FromLong PyCallable_Check PyErr_CheckSignals PyErr_Clear PyErr_NoMemory PyErr_Occurred "
    "PyEval_RestoreThread PyEval_SaveThread PyFloat_AsDouble PyFloat_FromDouble PyGILState_Ensure PyGILState_Release "
    "PyByteArray_AsString PyByteArray_FromStringAndSize PyByteArray_Resize "
    "PyLong_AsLongLong PyLong_AsUnsignedLongLong PyLong_FromLongLong "
    "PyLong_FromUnsignedLongLong PyObject_Vectorcall PySequence_GetItem PyTuple_New PyTuple_SetItem Py_DecRef "
    "Py_EnterRecursiveCall Py_IncRef Py_LeaveRecursiveCall aligned_alloc free"
)
_OWN_SYMBOLS = frozenset(
    (
        *_ENTRY_POINTS.split(),
        *(thread_pool.SYMBOL, stack.SYMBOL, *result_pool.SYMBOLS, *recorder.SYMBOLS),
        *(abi.TABLE_SYMBOL, abi.ABI_SYMBOL),
    )
)
"""Symbols that generated code may link with: CPython's API as used by entry points, memory, the runtime."""


_LONG = 20_000
"""Operations of entry points above which they are compiled separately."""


@dataclass(frozen=True)
class Part:
    """A module, and the names of its functions that other parts call."""

    module: ModuleOp
    exported: frozenset[str] = frozenset()

    def export(self) -> None:
        """Make these functions callable from other parts, once the module is in the llvm dialect."""
        for function in self.module.ops:
            if isinstance(function, llvm.FuncOp) and function.sym_name.data in self.exported:
                function.properties["linkage"] = llvm.LinkageAttr("external")


def check_declared(module: ModuleOp, elsewhere: Collection[str] = ()) -> None:
    """Run `check_extern` on everything that a module of the llvm dialect declares and does not define.

    `elsewhere` are the functions of the modules that it is linked with.
    """
    known = _OWN_SYMBOLS.union(elsewhere)
    for op in module.body.block.ops:
        if isinstance(op, llvm.FuncOp | llvm.GlobalOp) and op.body.first_block is None:
            defined = isinstance(op, llvm.GlobalOp) and op.value is not None
            name = op.sym_name.data
            if not (defined or name in known or name.startswith("llvm.")):
                check_extern(name, location_of(op))


def lowered_text(part: Part, passes: Sequence[Any], elsewhere: Collection[str] = ()) -> str:
    """Lower a part by passes and return its LLVM text; `elsewhere` as for `check_declared`."""
    where = PassContext.current()
    where.notify("begin_part", part.module)
    run_passes(passes, new_context(), part.module, verify_each=False)
    check_declared(part.module, elsewhere)
    part.export()
    with stage("print-llvm"):
        text = print_llvm(part.module)
    where.notify("lowered", part.module)
    return text


def has_long_entry_point(op: ModuleOp) -> bool:
    """Return whether entry points are so long that kernels are compiled without them, at another optimization level."""
    entries = [f for f in op.ops if isinstance(f, func.FuncOp) and f.sym_name.data.startswith(ENTRY_PREFIX)]
    return sum(len(operations(f)) for f in entries) > _LONG


def divide(op: ModuleOp, fewest: int = FEWEST_PARTS * KERNELS_IN_A_PART) -> list[Part]:
    """Return the parts of `op` after `convert-host-to-func`; the first one declares the kernels that the other parts
    define.

    Kernels that call others or packed functions stay in the first part, and so do those that they call; all kernels
    stay if there are fewer than `fewest`.
    """
    parts = [Part(op)]
    for kernels in kernels_by_part(op, fewest):
        op.body.block.add_ops([_declaration(f) for f in kernels])
        for f in kernels:
            f.detach()
        parts.append(Part(ModuleOp(list[Operation](kernels)), frozenset(f.sym_name.data for f in kernels)))
    return parts


def _declaration(f: tir.FuncOp) -> func.FuncOp:
    signature = kernel_signature(f)
    declared = func.FuncOp.external(signature.name, signature.parameter_types, [STATUS_TYPE])
    if signature.noalias:
        declared.attributes["tirax.noalias"] = UnitAttr()
    return declared
