"""Tensor intrinsics: hardware operations with a description and an implementation.

    TensorIntrin.register("dot_4", desc, impl)
    sch.tensorize(loop, "dot_4")

`desc` describes the computation by plain loops and blocks, and `impl` implements it. Both take the same buffers in
the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..diagnostics import TiraxError, unknown_name
from ..dialects import tir
from ..dialects.tir import BufferType
from ..handles.tir.prim_func import PrimFunc
from ..script import parse_source
from ..transforms.tir.walk import functions


@dataclass(frozen=True)
class TensorIntrin:
    """A description and an implementation of the same computation.

    Raises `TiraxError` if they do not take buffers of the same shapes and dtypes in the same order.
    """

    desc: PrimFunc
    impl: PrimFunc

    registered: ClassVar[dict[str, TensorIntrin]] = {}

    def __post_init__(self) -> None:
        desc, impl = _signature(self.desc), _signature(self.impl)
        if desc != impl:
            raise TiraxError("desc and impl take different buffers", expected=desc, found=impl)

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """Register an intrinsic by name for `tensorize`.

        Raises `TiraxError` if the name is taken, unless `override`.
        """
        if not override and name in TensorIntrin.names():
            raise TiraxError(f"there is a tensor intrinsic '{name}' already", hint="override=True takes its place")
        TensorIntrin.registered[name] = TensorIntrin(desc, impl)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """Return the intrinsic `name`.

        If there is none, return None with `allow_missing`, else raise `NameLookupError`.
        """
        names = TensorIntrin.names()
        if name not in TensorIntrin.registered and name in names:
            TensorIntrin.registered[name] = BUILTIN[name]()
        intrin = TensorIntrin.registered.get(name)
        if intrin is None and not allow_missing:
            raise unknown_name("tensor intrinsic", name, names)
        return intrin

    @staticmethod
    def names() -> list[str]:
        """Return the names of all intrinsics."""
        return sorted({*TensorIntrin.registered, *BUILTIN})


def _signature(func: Any) -> list[str]:
    if not isinstance(func, PrimFunc):
        raise TiraxError("an intrinsic is made of tensor functions", expected="PrimFunc", found=type(func).__name__)
    op = func.op
    assert isinstance(op, tir.FuncOp)
    rows: list[str] = []
    for param in op.params:
        if not isinstance(param.type, BufferType):
            raise TiraxError("the parameters of an intrinsic are buffers", found=param.type)
        rows.append(f"{param.type.dtype}{[str(d) for d in param.type.dims]}")
    return rows


_HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n"


def from_script(desc: str, impl: str) -> TensorIntrin:
    """Return the intrinsic defined by two functions, each the text of a `T.prim_func`."""
    return TensorIntrin(_function(desc), _function(impl))


def _function(text: str) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in text.strip("\n").split("\n"))
    (func,) = functions(parse_source(_HEAD + lines))
    func.detach()
    return PrimFunc.on(func)


MICROKERNEL_ROWS, MICROKERNEL_DEPTH = 4, 4


def microkernel(lanes: int, rows: int = MICROKERNEL_ROWS, depth: int = MICROKERNEL_DEPTH) -> TensorIntrin:
    """Return C[rows, lanes] += A[rows, depth] @ B[depth, lanes] of float32; a row of C is a vector."""
    head = f"""\
@T.prim_func
def main(
    A: T.Buffer(({rows}, {depth}), "float32", offset_factor=1),
    B: T.Buffer(({depth}, {lanes}), "float32", offset_factor=1),
    C: T.Buffer(({rows}, {lanes}), "float32", offset_factor=1),
):
    with T.block("root"):
        T.reads(C[0:{rows}, 0:{lanes}], A[0:{rows}, 0:{depth}], B[0:{depth}, 0:{lanes}])
        T.writes(C[0:{rows}, 0:{lanes}])
"""
    desc = f"""\
        for i, j, k in T.grid({rows}, {lanes}, {depth}):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    steps = [f"C[{i}, 0:{lanes}]" for i in range(rows)]
    for k in range(depth):
        steps = [
            f'T.call_llvm_pure_intrin("float32x{lanes}", "llvm.fma",'
            f" T.Broadcast(A[{i}, {k}], {lanes}), B[{k}, 0:{lanes}], {step})"
            for i, step in enumerate(steps)
        ]
    impl = "".join(f"        C[{i}, 0:{lanes}] = {step}\n" for i, step in enumerate(steps))
    return from_script(head + desc, head + impl)


VNNI_DOT_16x4 = "dot_16x4_vnni"
AVX512_DOT_16x4 = "dot_16x4_avx512"
BF16_DOT_16x2 = "dot_16x2_bf16"


_INT8_DOT = """\
@T.prim_func
def desc(
    A: T.Buffer((4,), "uint8", offset_factor=1),
    B: T.Buffer((16, 4), "int8", offset_factor=1),
    C: T.Buffer((16,), "int32", offset_factor=1),
):
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        for i, k in T.grid(16, 4):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.Cast("int32", A[vk]) * T.Cast("int32", B[vi, vk])
"""
"""The description of C[16] += B[16, 4] @ A[4] for bytes."""
_INT8_IMPL = """\
@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (4,), "uint8", strides=[1], offset_factor=1)
    B = T.match_buffer(b, (16, 4), "int8", strides=[4, 1], offset_factor=1)
    C = T.match_buffer(c, (16,), "int32", strides=[1], offset_factor=1)
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
"""
"""The beginning of its implementations, followed by their steps."""


def vnni_dot_16x4() -> TensorIntrin:
    """Return C[16] += B[16, 4] @ A[4] of int8 and uint8 into int32, without saturation; requires `avx512vnni`.

    The rows of B are contiguous.
    """
    steps = """\
        C[0:16] = T.call_llvm_pure_intrin(
            "int32x16",
            "llvm.x86.avx512.vpdpbusd.512",
            C[0:16],
            T.Broadcast(T.reinterpret("int32", A[0:4]), 16),
            T.reinterpret("int32x16", B[0, 0:64]),
        )
"""
    return from_script(_INT8_DOT, _INT8_IMPL + steps)


def avx512_dot_16x4() -> TensorIntrin:
    """Return `vnni_dot_16x4` for every AVX-512 (`avx512bw`): products of bytes are exact in 16 bits.

    Even and odd bytes are multiplied separately, so that no sum saturates.
    """
    steps = """\
        x = T.reinterpret("int16x32", T.Broadcast(T.reinterpret("int32", A[0:4]), 16))
        y = T.reinterpret("int16x32", B[0, 0:64])
        low = T.Broadcast(T.int16(255), 32)
        bits = T.Broadcast(T.int16(8), 32)
        C[0:16] = (
            C[0:16]
            + T.call_llvm_pure_intrin(
                "int32x16",
                "llvm.x86.avx512.pmaddw.d.512",
                T.bitwise_and(x, low),
                T.shift_right(T.shift_left(y, bits), bits),
            )
            + T.call_llvm_pure_intrin(
                "int32x16",
                "llvm.x86.avx512.pmaddw.d.512",
                T.bitwise_and(T.shift_right(x, bits), low),
                T.shift_right(y, bits),
            )
        )
"""
    return from_script(_INT8_DOT, _INT8_IMPL + steps)


def bf16_dot_16x2() -> TensorIntrin:
    """Return C[16] += B[16, 2] @ A[2] of bfloat16 into float32; requires `avx512bf16`. The rows of B are contiguous."""
    desc = """\
@T.prim_func
def desc(
    A: T.Buffer((2,), "bfloat16", offset_factor=1),
    B: T.Buffer((16, 2), "bfloat16", offset_factor=1),
    C: T.Buffer((16,), "float32", offset_factor=1),
):
    with T.block("root"):
        T.reads(C[0:16], A[0:2], B[0:16, 0:2])
        T.writes(C[0:16])
        for i, k in T.grid(16, 2):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.Cast("float32", A[vk]) * T.Cast("float32", B[vi, vk])
"""
    impl = """\
@T.prim_func
def impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (2,), "bfloat16", strides=[1], offset_factor=1)
    B = T.match_buffer(b, (16, 2), "bfloat16", strides=[2, 1], offset_factor=1)
    C = T.match_buffer(c, (16,), "float32", strides=[1], offset_factor=1)
    with T.block("root"):
        T.reads(C[0:16], A[0:2], B[0:16, 0:2])
        T.writes(C[0:16])
        C[0:16] = T.call_llvm_pure_intrin(
            "float32x16",
            "llvm.x86.avx512bf16.dpbf16ps.512",
            C[0:16],
            T.reinterpret("bfloat16x32", T.Broadcast(T.reinterpret("int32", A[0:2]), 16)),
            B[0, 0:32],
        )
"""
    return from_script(desc, impl)


BUILTIN: dict[str, Callable[[], TensorIntrin]] = {
    VNNI_DOT_16x4: vnni_dot_16x4,
    AVX512_DOT_16x4: avx512_dot_16x4,
    BF16_DOT_16x2: bf16_dot_16x2,
    **{
        f"gemm_{MICROKERNEL_ROWS}x{lanes}x{MICROKERNEL_DEPTH}_f32": lambda lanes=lanes: microkernel(lanes)
        for lanes in (4, 8, 16)
    },
}
"""Name -> a function that creates a built-in intrinsic, on first use.

These are a small matrix product that stays in registers, for any machine, and the dot products of AVX-512 and of
its extensions VNNI and BF16.
"""
