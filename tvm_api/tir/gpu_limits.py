"""`tir.analysis.verify_gpu_code`: whether a lowered function keeps the limits of a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import cast

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation

from ...diagnostics import unknown_name
from ...dialects import tir
from ...dialects.dtypes import bit_width, lanes_of, scalar_of
from ...handles.tir.prim_func import PrimFunc
from ...ir.affine.values import sym_expr_of

_LIMITS = (
    "max_local_memory_per_block", "max_shared_memory_per_block", "max_threads_per_block", "max_thread_x",
    "max_thread_y", "max_thread_z", "max_vthread", "max_vector_bytes", "max_kernels",
)  # fmt: skip
_UNLIMITED = 2**63 - 1


@dataclass
class _Kernel:
    """What a kernel uses: threads by tag, and bytes by the first part of their scope."""

    threads: dict[str, int] = field(default_factory=dict[str, int])
    memory: dict[str, int] = field(default_factory=lambda: {"local": 0, "shared": 0})
    agree: bool = True


def verify_gpu_code(func: PrimFunc, constraints: Mapping[str, int]) -> bool:
    """Return whether the kernels of a function keep the limits `constraints`, by TVM's names.

    The function is lowered: its buffers are flat, threads are launched by statements. Raises `NameLookupError` for
    an unknown limit.
    """
    for name in constraints:
        if name not in _LIMITS:
            raise unknown_name("limit", name, _LIMITS)
    limits = {name: int(constraints.get(name, _UNLIMITED)) for name in _LIMITS}
    kernels = list(_kernels(func.op))
    vectors = all(size <= limits["max_vector_bytes"] for size in _vectors(func.op))
    return vectors and len(kernels) <= limits["max_kernels"] and all(_fits(kernel, limits) for kernel in kernels)


def _fits(kernel: _Kernel, limits: Mapping[str, int]) -> bool:
    most = {f"threadIdx.{axis}": limits[f"max_thread_{axis}"] for axis in "xyz"} | {"vthread": limits["max_vthread"]}
    return (
        kernel.agree
        and all(count <= most[tag] for tag, count in kernel.threads.items())
        and prod(kernel.threads.values()) <= limits["max_threads_per_block"]
        and kernel.memory["local"] <= limits["max_local_memory_per_block"]
        and kernel.memory["shared"] <= limits["max_shared_memory_per_block"]
    )


def _kernels(root: Operation) -> Iterator[_Kernel]:
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                if isinstance(op, tir.LaunchThreadOp):
                    kernel = _Kernel()
                    _measure(op, kernel)
                    yield kernel
                else:
                    yield from _kernels(op)


def _measure(op: Operation, kernel: _Kernel) -> None:
    if isinstance(op, tir.LaunchThreadOp):
        tag, extent = op.tag.data, sym_expr_of(op.extent).constant
        if tag.startswith("threadIdx") or tag == "vthread":
            known = kernel.threads.setdefault(tag, extent or _UNLIMITED)
            kernel.agree = kernel.agree and (known == extent or tag == "vthread")
    elif isinstance(op, tir.AllocateOp | tir.AllocBufferOp):
        extents = op.extents if isinstance(op, tir.AllocateOp) else op.result.type.dims
        dtype = op.dtype if isinstance(op, tir.AllocateOp) else op.result.type.dtype
        scope = op.scope.data if isinstance(op, tir.AllocateOp) else op.result.type.scope.data
        kind = scope.partition(".")[0]
        if kind in kernel.memory:
            kernel.memory[kind] += prod(extent.constant or 0 for extent in extents) * _bytes(dtype)
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                _measure(inner, kernel)


def _bytes(dtype: Attribute) -> int:
    return max(8, bit_width(scalar_of(dtype))) // 8 * lanes_of(dtype)


def _vectors(root: Operation) -> Iterator[int]:
    """Yield the bytes of each vector that is loaded, stored, converted to or allocated."""
    for op in root.walk():
        value = op.value if isinstance(op, tir.StoreOp) else op.results[0] if isinstance(op, _VALUES) else None
        dtype = op.dtype if isinstance(op, tir.AllocateOp) else None if value is None else value.type
        if isinstance(dtype, VectorType):
            yield _bytes(cast(Attribute, dtype))


_VALUES = (tir.LoadOp, tir.CastOp)
__all__ = ["verify_gpu_code"]
