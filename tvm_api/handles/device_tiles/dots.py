"""Dot products of short vectors of bytes: of GPUs (`dp4a`, `sdot4`), ARM (`smull`, `sdot`, `udot`) and Hexagon."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ....schedule.tensor_intrin import TensorIntrin, from_script
from .texts import Operand, function

_SHORT = {"int8": "s8", "uint8": "u8", "int32": "s32", "uint32": "u32"}


def _operands_of_4(a: str, b: str, out: str) -> tuple[Operand, ...]:
    return (
        Operand("A", (4,), a, "shared", align=4),
        Operand("B", (4,), b, "shared", align=4),
        Operand("C", (1,), out, "local", align=4),
    )


def _one(a: str, b: str, out: str, step: str) -> TensorIntrin:
    """Return C[0] += A . B for vectors of four, with its step in the implementation."""
    body = f"""\
for i in range(4):
    with T.block("update"):
        vi = T.axis.reduce(4, i)
        C[0] = C[0] + T.Cast("{out}", A[vi]) * T.Cast("{out}", B[vi])
"""
    operands = _operands_of_4(a, b, out)
    reads = (Operand("C", (1,), out, "local"), *operands[:2])
    names = [o.name for o in reads]
    desc, impl = (function(operands, names, "C", text).replace("C[0:1]", "C[0]") for text in (body, step))
    return from_script(desc, impl)


def dp4a(a: str, b: str, out: str) -> TensorIntrin:
    """Return C[0] += A . B by the function `__dp4a` of CUDA."""
    call = f'T.call_pure_extern("{out}", "__dp4a", A[0:4], B[0:4], T.{out}(0))'
    return _one(a, b, out, f"C[0] = C[0] + {call}")


def sdot4() -> TensorIntrin:
    """Return C[0] += A . B by the instruction of AMD's GPUs."""
    vectors = 'T.reinterpret("int32", A[0:4]), T.reinterpret("int32", B[0:4])'
    call = f'T.call_llvm_pure_intrin("int32", "llvm.amdgcn.sdot4", T.uint32(4), {vectors}, 0, T.bool(True))'
    return _one("int8", "int8", "int32", f"C[0] = C[0] + {call}")


def rows(count: int, depth: int, a: str, b: str, out: str, step: str, scope: str = "global") -> TensorIntrin:
    """Return C[count] += B[count, depth] @ A[depth], with its steps in the implementation."""
    body = f"""\
for i in T.serial(0, {count}):
    for k in T.serial(0, {depth}):
        with T.block("update"):
            vi, vk = T.axis.remap("SR", [i, k])
            C[vi] = C[vi] + T.Cast("{out}", A[vk]) * T.Cast("{out}", B[vi, vk])
"""
    operands = (
        Operand("A", (depth,), a, scope),
        Operand("B", (count, depth), b, scope),
        Operand("C", (count,), out, scope),
    )
    desc, impl = (function(operands, "CAB", "C", text) for text in (body, step))
    return from_script(desc, impl)


def neon() -> TensorIntrin:
    """Return the dot products of four rows by long multiplications and sums of pairs."""
    parts = {"low": "low", "high": "high"}
    long, pairs, total = (f"llvm.aarch64.neon.{n}" for n in ("smull.v8i16", "saddlp.v4i32.v8i16", "addp.v4i32"))
    lines = [
        "A_int8 = A[0:4]",
        're_int32 = T.reinterpret("int32", A_int8)',
        "vec_ai32 = T.Broadcast(re_int32, 2)",
        'vec_a = T.reinterpret("int8x8", vec_ai32)',
        "vec_b = B[0, 0:16]",
    ]
    for part in parts:
        lines += [
            f'vec_b_{part} = T.vector{part}("int8x8", vec_b)',
            f'multiply_{part} = T.call_llvm_pure_intrin("int16x8", "{long}", T.uint32(2), vec_a, vec_b_{part})',
            f'pairwise_{part} = T.call_llvm_pure_intrin("int32x4", "{pairs}", T.uint32(1), multiply_{part})',
        ]
    call = f'T.call_llvm_pure_intrin("int32x4", "{total}", T.uint32(2), pairwise_low, pairwise_high)'
    return rows(4, 4, "int8", "int8", "int32", "\n".join([*lines, f"C[0:4] = C[0:4] + {call}"]))


def dot_product(dtype: str, out: str) -> TensorIntrin:
    """Return the dot products of four rows by ARM's instruction for them."""
    name = "udot.v4u32.v16u8" if dtype == "uint8" else "sdot.v4i32.v16i8"
    step = f"""\
A_i8x4 = A[0:4]
A_i32 = T.reinterpret("{out}", A_i8x4)
vec_ai32 = T.Broadcast(A_i32, 4)
vec_a = T.reinterpret("{dtype}x16", vec_ai32)
vec_b = B[0, 0:16]
vec_c = C[0:4]
C[0:4] = T.call_llvm_pure_intrin("{out}x4", "llvm.aarch64.neon.{name}", T.uint32(3), vec_c, vec_a, vec_b)
"""
    return rows(4, 4, dtype, dtype, out, step)


def hexagon(depth: int, a: str, b: str, name: str, order: tuple[str, str], scope: str = "global") -> TensorIntrin:
    """Return the dot products of 32 rows by an instruction of Hexagon; `order` has its vectors."""
    step = f"""\
A_part = A[0:{depth}]
A_i32 = T.reinterpret("int32", A_part)
B_rows = B[0, 0:{32 * depth}]
B_i32x32 = T.reinterpret("int32x32", B_rows)
C[0:32] = T.call_llvm_pure_intrin(
    "int32x32", "llvm.hexagon.V6.{name}.acc.128B", T.uint32(3), C[0:32], {order[0]}, {order[1]})
"""
    return rows(32, depth, a, b, "int32", step, scope)


def _builders() -> dict[str, Callable[[], TensorIntrin]]:
    table: dict[str, Callable[[], TensorIntrin]] = {}
    for a, b, out in (
        ("int8", "int8", "int32"),
        ("uint8", "int8", "int32"),
        ("int8", "uint8", "int32"),
        ("uint8", "uint8", "uint32"),
    ):
        table[f"dp4a_{_SHORT[a]}{_SHORT[b]}{_SHORT[out]}"] = partial(dp4a, a, b, out)
    many = ("T.Broadcast(A_i32, 32)", "B_i32x32")
    for scope, suffix in (("global", ""), ("global.vtcm", "_vtcm")):
        one = partial(hexagon, 4, "uint8", "uint8", "vrmpyub", ("B_i32x32", "A_i32"), scope)
        table[f"dot_32x4_u8u8i32{suffix}_vrmpy"] = one
        table[f"dot_32x4_u8i8i32{suffix}_vrmpy"] = partial(hexagon, 4, "uint8", "int8", "vrmpybusv", many, scope)
    return {
        **table,
        "sdot4": sdot4,
        "dot_4x4_i8i8s32_neon": neon,
        "dot_4x4_i8i8s32_sdot": partial(dot_product, "int8", "int32"),
        "dot_4x4_u8u8u32_udot": partial(dot_product, "uint8", "uint32"),
        "dot_4x4_u8u8i32_hdot": partial(dot_product, "uint8", "int32"),
        "dot_product_32x2_i16i16i32_vdmpy": partial(hexagon, 2, "int16", "int16", "vdmpyhvsat", many),
    }


BUILDERS = _builders()
"""The name of an intrinsic -> what builds it."""
