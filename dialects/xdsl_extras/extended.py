"""xDSL's dialects with the operations that they lack: what reads text has these instead of xDSL's."""

from collections.abc import Sequence

from xdsl.dialects import (
    affine,
    arith,
    bufferization,
    func,
    linalg,
    llvm,
    math,
    memref,
    scf,
    tensor,
    tosa,
    transform,
    vector,
)
from xdsl.ir import Attribute, Dialect, Operation

from . import (
    affine_extras,
    arith_extras,
    bufferization_extras,
    func_extras,
    linalg_extras,
    llvm_extras,
    math_extras,
    memref_extras,
    scf_extras,
    tensor_extras,
    tosa_extras,
    transform_extras,
    vector_extras,
)
from .loop_annotation import LoopAnnotationAttr


def _extended(
    upstream: Dialect, ours: Sequence[type[Operation]], attributes: Sequence[type[Attribute]] = ()
) -> Dialect:
    names = {op.name for op in ours}
    kept = [op for op in upstream.operations if op.name not in names]
    return Dialect(upstream.name, [*kept, *ours], [*upstream.attributes, *attributes], list(upstream._interfaces))  # pyright: ignore[reportPrivateUsage]


Affine = _extended(affine.Affine, affine_extras.OPERATIONS)
Arith = _extended(arith.Arith, arith_extras.OPERATIONS)
Bufferization = _extended(bufferization.Bufferization, bufferization_extras.OPERATIONS)
Func = _extended(func.Func, func_extras.OPERATIONS)
LLVM = _extended(llvm.LLVM, llvm_extras.OPERATIONS, [LoopAnnotationAttr])

Linalg = _extended(linalg.Linalg, linalg_extras.OPERATIONS, [linalg_extras.ElementwiseKindAttr])
Math = _extended(math.Math, math_extras.OPERATIONS)
MemRef = _extended(memref.MemRef, memref_extras.OPERATIONS)
Scf = _extended(scf.Scf, scf_extras.OPERATIONS)
Tensor = _extended(tensor.Tensor, tensor_extras.OPERATIONS)
Tosa = _extended(tosa.TOSA, tosa_extras.OPERATIONS, tosa_extras.ATTRIBUTES)
Transform = _extended(transform.Transform, transform_extras.OPERATIONS)
Vector = _extended(vector.Vector, vector_extras.OPERATIONS, [vector_extras.IteratorTypeAttr])

__all__ = [
    "LLVM",
    "Affine",
    "Arith",
    "Bufferization",
    "Func",
    "Linalg",
    "Math",
    "MemRef",
    "Scf",
    "Tensor",
    "Tosa",
    "Transform",
    "Vector",
]
