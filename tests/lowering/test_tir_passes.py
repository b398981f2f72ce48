"""Each pass on tir means what it got: run before and after on the reference interpreter."""

import pytest
from strength import thinned
from test_tir_kernels import bias_relu, product, softmax
from tir_kernels import function, nest, parse

from tirax.diagnostics import UnsupportedError
from tirax.interpreter.compare import first_disagreement
from tirax.ir.passes.transform import Sequential
from tirax.lowering.tir_to_scf import ConvertTirToScf
from tirax.schedule.cpu.policy.default_schedule import DefaultSchedule
from tirax.transforms.tir.compact_buffer_allocation import CompactBufferAllocation
from tirax.transforms.tir.convert_blocks_to_opaque import ConvertBlocksToOpaque
from tirax.transforms.tir.flatten_buffer import FlattenBuffer
from tirax.transforms.tir.lower_init_block import LowerInitBlock
from tirax.transforms.tir.lower_match_buffer import LowerMatchBuffer
from tirax.transforms.tir.lower_opaque_block import LowerOpaqueBlock
from tirax.transforms.tir.plan_and_update_buffer_allocation_location import PlanAndUpdateBufferAllocationLocation
from tirax.transforms.tir.simplify import TirSimplify

NARROW = "llvm -mcpu=x86-64 -vector-width=128"
BLOCKS = [
    LowerInitBlock(),
    PlanAndUpdateBufferAllocationLocation(),
    ConvertBlocksToOpaque(),
    CompactBufferAllocation(),
    LowerMatchBuffer(),
    LowerOpaqueBlock(),
]
PASSES = [DefaultSchedule(NARROW), *BLOCKS, FlattenBuffer(), TirSimplify()]

PREDICATED = function("A:11:f32 Y:11:f32", """tir.for %o = 0 to 3 {
  tir.for %i = 0 to 4 {
    %four = tir.const 4 : i64
    %base = tir.mul %o, %four : i64
    %at = tir.add %base, %i : i64
    %end = tir.const 11 : i64
    %in = tir.lt %at, %end : i64
    tir.block "Y" (%v = spatial(%at, 11)) where %in {
      %a = tir.load %A[%v] : f32
      %r = tir.add %a, %a : f32
      tir.store %r, %Y[%v]
    }
  }
}""")  # fmt: skip
REGION = function("Y:6,8:f32", """%one = tir.const 1.0 : f32
tir.for %i = 0 to 3 {
  tir.block "b" (%vi = spatial(%i, 3)) {
    %two = tir.const 2 : i64
    %M = tir.match_buffer %Y[%two : 2, %vi : 4] : !tir.buffer<[2, 4], f32, strides = [8, 1]>
    tir.for %p = 0 to 2 {
      tir.for %q = 0 to 4 {
        tir.store %one, %M[%p, %q]
      }
    }
  }
}""")  # fmt: skip
PROGRAMS = {
    "matmul": function("A:n,5:f32 B:5,9:f32 C:n,9:f32", product("i:n j:9 k:5r", "%vi, %vj", "%vi, %vk", "%vk, %vj")),
    "matmul transposed": function(
        "A:n,5:f32 B:9,5:f32 C:n,9:f32", product("i:n j:9 k:5r", "%vi, %vj", "%vi, %vk", "%vj, %vk")
    ),
    "softmax": softmax(6),
    "predicate": PREDICATED,
    "region": REGION,
    "transpose": function("A:n,6:f32 T:6,n:f32", nest("T", "i:6 j:n", """%a = tir.load %A[%vj, %vi] : f32
tir.store %a, %T[%vi, %vj]""")),
}  # fmt: skip


@thinned("name", PROGRAMS, 1)
def test_each_pass_keeps_the_meaning(name):
    module = parse(PROGRAMS[name])
    for number in range(len(PASSES)):
        changed = Sequential(PASSES[: number + 1])(module)
        different = first_disagreement(module, changed, sizes=(0, 1, 5))
        assert different is None, f"{PASSES[number].name}: {different}"


def test_without_the_schedule_too():
    module = parse(PROGRAMS["matmul"])
    assert first_disagreement(module, Sequential(PASSES[1:])(module), sizes=(0, 2)) is None


def test_the_order_of_passes_is_checked():
    module = parse(bias_relu())
    with pytest.raises(UnsupportedError, match="run lower-init-block before"):
        ConvertBlocksToOpaque()(module)
    with pytest.raises(UnsupportedError, match="convert-blocks-to-opaque and lower-opaque-block"):
        ConvertTirToScf()(module)
    with pytest.raises(UnsupportedError, match="run flatten-buffer before"):
        Sequential([*BLOCKS, ConvertTirToScf()])(module)


def test_a_repeated_pass_does_nothing_more():
    once = Sequential(PASSES[1:])(parse(bias_relu()))
    assert str(Sequential(PASSES[1:])(once)) == str(once)
