"""The signature of the kernel that a tir function becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, IntegerType, MemRefType, i32, i64
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute

from ...dialects import tir
from ...dialects.dtypes import bit_width
from ...dialects.names import name_of
from ...dialects.tir import BufferType, HandleType
from ...transforms.tir.asserts import STATUS, failures

POINTER = LLVMPointerType()
STATUS_TYPE = i32


@dataclass(frozen=True)
class KernelSignature:
    """The calling convention of a kernel (see the package).

    `params` are the tir types of the function's parameters; `names` their names; `symbolic_vars` the variables that
    follow as i64; `assertions` the messages of its assertions, by number; `result` the type of the scalar result,
    None if there is none.
    """

    name: str
    params: tuple[Attribute, ...]
    names: tuple[str, ...]
    symbolic_vars: tuple[str, ...]
    assertions: tuple[str, ...] = ()
    result: Attribute | None = None
    noalias: bool = False
    raises: bool = False
    """True if it calls a packed function, which may raise: then its status is not 0 and a Python exception is set."""

    @property
    def parameter_types(self) -> list[Attribute]:
        """The types of all parameters of the kernel, which returns a `STATUS_TYPE`."""
        place = [] if self.result is None else [memref_of(self.result)]
        return [*map(param_type, self.params), *[i64] * len(self.symbolic_vars), *place]


def kernel_signature(func: tir.FuncOp) -> KernelSignature:
    """Return the signature of the kernel of `func`. After `lower-asserts` the messages of its assertions are lost."""
    names = tuple(name_of(p) or f"arg{i}" for i, p in enumerate(func.params))
    scalars = {n for n, p in zip(names, func.params, strict=True) if isinstance(p.type, IntegerType)}
    variables: dict[str, None] = {}
    for buffer in func.buffer_params:
        for expr in cast(BufferType, buffer.type).exprs():
            variables |= {v.name: None for v in expr.free_vars() if isinstance(v.name, str) and v.name not in scalars}
    noalias = None if func.func_attrs is None else func.func_attrs.data.get("tir.noalias")
    return KernelSignature(
        name=func.sym_name.data,
        params=tuple(p.type for p in func.params),
        names=names,
        symbolic_vars=tuple(variables),
        assertions=tuple(message for _, messages in failures(func) for message in messages),
        result=None if STATUS in func.attributes else func.ret_type,
        raises=any(isinstance(op, tir.CallPackedOp) for op, _ in failures(func, through_calls=True)),
        noalias=isinstance(noalias, IntegerAttr) and bool(noalias.value.data),
    )


PACKED_ENTRY, PACKED_DIMS = "tirax.entry", "tirax.dims"
"""Attributes of a call of a packed function: the entry point to call for it, and the extents of each argument."""


_scalars: dict[Attribute, Attribute] = {}


def scalar_type(dtype: Attribute) -> Attribute:
    """Return the lowered type of a value of `dtype`: integers are signless."""
    lowered = _scalars.get(dtype)
    if lowered is None:
        lowered = IntegerType(bit_width(cast(Attribute, dtype))) if isinstance(dtype, IntegerType) else dtype
        _scalars[cast(Attribute, dtype)] = lowered
    return lowered


_memrefs: dict[Attribute, MemRefType[Attribute]] = {}


def memref_of(dtype: Attribute) -> MemRefType[Attribute]:
    """Return a one-dimensional memref of unknown extent of elements of a tir dtype."""
    memref_type = _memrefs.get(dtype)
    if memref_type is None:
        memref_type = _memrefs[dtype] = MemRefType(scalar_type(dtype), [DYNAMIC_INDEX])
    return memref_type


def param_type(t: Attribute) -> Attribute:
    """Return the type of a kernel's parameter for a tir function's parameter of type `t`."""
    if isinstance(t, BufferType):
        return memref_of(t.dtype)
    return POINTER if isinstance(t, HandleType) else scalar_type(t)
