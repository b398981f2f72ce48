"""Names of LLVM's intrinsics without the types that they are for."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.ir.llvm_names import base_name, is_llvm_intrinsic
from tirax.tvm_api.script import tir as T

NAMES = {
    "llvm.fma": "llvm.fma",
    "llvm.fma.f32": "llvm.fma",
    "llvm.ctpop.i8": "llvm.ctpop",
    "llvm.vector.reduce.fadd.v8f32": "llvm.vector.reduce.fadd",
    "llvm.masked.gather.nxv4f32.nxv4p0": "llvm.masked.gather",
    "llvm.aarch64.neon.sdot.v4i32.v16i8": "llvm.aarch64.neon.sdot",
    "llvm.x86.avx512.vpermi2var.d.512": "llvm.x86.avx512.vpermi2var.d.512",
    "llvm.nvvm.fma.rn.f16": "llvm.nvvm.fma.rn.f16",  # LLVM has it for this type alone, by this name
    "llvm.dummy.i8": "llvm.dummy.i8",
}


@pytest.mark.parametrize("name", NAMES)
def test_types_are_no_part_of_a_name(name: str) -> None:
    assert base_name(name) == NAMES[name]
    assert is_llvm_intrinsic(name) == ("dummy" not in name)


@pytest.mark.parametrize("name", ["ctpop", 'llvm.ctpop"', "llvm.ctpop)\n", "llvm."])
def test_what_is_no_name(name: str) -> None:
    assert not is_llvm_intrinsic(name)


@T.prim_func
def bits(A: T.Buffer((16,), "uint8"), B: T.Buffer((16,), "uint8")):
    for i in range(16):
        B[i] = T.call_llvm_pure_intrin("uint8", "llvm.ctpop.i8", T.uint32(1), A[i])


def test_a_program_has_it_without_and_calls_it_for_its_types() -> None:
    assert '"llvm.ctpop", T.uint32(1), A[i]' in bits.script()
    numbers = np.arange(16, dtype="uint8") * 16 + 5
    out = tvm.nd.array(np.zeros(16, "uint8"))
    tvm.build(bits, target="llvm")["bits"](tvm.nd.array(numbers), out)
    assert out.numpy().tolist() == [int(n).bit_count() for n in numbers]
