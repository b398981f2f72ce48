"""Where buffers are allocated and how large they are: what must not move, and what must not shrink."""

import numpy as np
import pytest
from tir_kernels import Kernel, function, lower_tir, parse

from tirax.diagnostics import UnsupportedError
from tirax.dialects import tir
from tirax.driver.build import build
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import Sequential
from tirax.schedule import Schedule
from tirax.transforms.tir.flatten_buffer import FlattenBuffer
from tirax.transforms.tir.lower_match_buffer import LowerMatchBuffer
from tirax.transforms.tir.plan_and_update_buffer_allocation_location import PlanAndUpdateBufferAllocationLocation
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform as T

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
PLAN = [
    T.LowerInitBlock(),
    PlanAndUpdateBufferAllocationLocation(),
    T.ConvertBlocksToOpaque(),
    T.CompactBufferAllocation(),
    LowerMatchBuffer(),
    T.LowerOpaqueBlock(),
]


def allocations(module):
    """Each buffer's extents, and whether a loop is around it."""
    ops = [op for op in module.op.walk() if isinstance(op, tir.AllocBufferOp)]
    return [
        (tuple(d.constant or str(d) for d in op.result.type.dims), isinstance(op.parent_op(), tir.ForOp | tir.BlockOp))
        for op in ops
    ]


def lowered(body, params='A: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")'):
    module = from_source(HEAD + f"    def main({params}):\n" + body)
    changed = Sequential(PLAN)(module)
    assert_same_meaning(T.LowerInitBlock()(module).op, changed.op)
    return changed


CARRIED = {
    "a running value that is read before it is written": """
        C = T.alloc_buffer((1,))
        for i in range(16):
            if i == 0:
                C[0] = T.float32(0)
            C[0] = C[0] + A[i]
            D[i] = C[0]
""",
    "the element of the iteration before": """
        C = T.alloc_buffer((16,))
        for i in range(16):
            C[i] = A[i] + T.float32(1)
            D[i] = C[i] + C[T.max(i - 1, 0)]
""",
    "a reduction over the loop": """
        C = T.alloc_buffer((1,))
        for k in range(16):
            with T.block("C"):
                vk = T.axis.reduce(16, k)
                with T.init():
                    C[0] = T.float32(0)
                C[0] = C[0] + A[vk]
            with T.block("D"):
                v = T.axis.spatial(16, k)
                D[v] = C[0]
""",
    "an iterator whose order matters": """
        C = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("C"):
                v = T.axis.scan(16, i)
                T.reads(A[v])
                T.writes(C[v])
                C[v] = A[v]
            with T.block("D"):
                v = T.axis.spatial(16, i)
                D[v] = C[v]
""",
    "what a predicate leaves from the iterations before": """
        C = T.alloc_buffer((16,))
        for i in range(16):
            for j in range(16):
                with T.block("C"):
                    v = T.axis.spatial(16, j)
                    T.where(j >= i)
                    C[v] = A[v] + T.Cast("float32", i)
            for j in range(16):
                with T.block("D"):
                    v = T.axis.spatial(16, j)
                    D[v] = C[v]
""",
    "what a while loop keeps": """
        C = T.alloc_buffer((1,), "int32")
        C[0] = 0
        while C[0] < 16:
            D[C[0]] = A[C[0]]
            C[0] = C[0] + 1
""",
}


@pytest.mark.parametrize("name", CARRIED)
def test_what_iterations_share_stays_outside(name):
    (actual,) = allocations(lowered(CARRIED[name]))
    assert not actual[1]


def test_what_one_iteration_needs_is_inside_and_small():
    module = lowered("""
        C = T.alloc_buffer((16,))
        for i in range(16):
            C[i] = A[i] + T.float32(1)
            D[i] = C[i] * T.float32(2)
""")
    assert allocations(module) == [((1,), True)]


def test_tiles_of_what_is_no_multiple_of_them_are_inside():
    module = lowered(
        """
        C = T.alloc_buffer((37,))
        for i in range(5):
            for j in range(8):
                with T.block("C"):
                    v = T.axis.spatial(37, i * 8 + j)
                    T.where(i * 8 + j < 37)
                    C[v] = A[v] + T.float32(1)
            for j in range(8):
                with T.block("D"):
                    v = T.axis.spatial(37, i * 8 + j)
                    T.where(i * 8 + j < 37)
                    D[v] = C[v]
""",
        'A: T.Buffer((37,), "float32"), D: T.Buffer((37,), "float32")',
    )
    assert allocations(module) == [((8,), True)]


def test_what_a_block_keeps_to_itself_is_allocated_in_it():
    module = lowered(
        """
        C = T.alloc_buffer((16, 8))
        for i in range(4):
            with T.block("outer"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi * 4:vi * 4 + 4, 0:8])
                T.writes(D[vi * 4:vi * 4 + 4, 0:8])
                for a, b in T.grid(4, 8):
                    with T.block("C"):
                        va, vb = T.axis.remap("SS", [a, b])
                        C[vi * 4 + va, vb] = A[vi * 4 + va, vb] * T.float32(2)
                for a, b in T.grid(4, 8):
                    with T.block("D"):
                        va, vb = T.axis.remap("SS", [a, b])
                        D[vi * 4 + va, vb] = C[vi * 4 + va, 7 - vb]
""",
        'A: T.Buffer((16, 8), "float32"), D: T.Buffer((16, 8), "float32")',
    )
    assert allocations(module) == [((4, 8), True)]


def test_data_as_an_index_keeps_the_full_buffer():
    module = lowered(
        """
        C = T.alloc_buffer((16, 4))
        for i in range(4):
            for j in range(16):
                C[j, i] = A[j] + T.float32(1)
            for j in range(16):
                D[j] = C[I[j], i]
""",
        'A: T.Buffer((16,), "float32"), I: T.Buffer((16,), "int32"), D: T.Buffer((16,), "float32")',
    )
    assert allocations(module) == [((16, 1), True)]


def test_symbolic_buffers_are_constant_inside_of_symbolic_loops():
    module = lowered(
        """
        n = T.int64()
        A = T.match_buffer(a, (n, n))
        D = T.match_buffer(d, (n, n))
        C = T.alloc_buffer((n, n))
        for i in range(n):
            for j in range(n):
                C[i, j] = A[i, j] + T.float32(1)
            for j in range(n):
                D[i, j] = C[i, n - 1 - j]
""",
        "a: T.handle, d: T.handle",
    )
    assert allocations(module) == [((1, "n"), True)]


def test_address_taken_buffers_stay():
    source = function("Y:4:f32", """%B = tir.alloc_buffer {tirax.declared} : !tir.buffer<[4], f32>
tir.for %i = 0 to 4 {
  %h = tir.buffer_data %B
  %V = tir.decl_buffer %h : !tir.buffer<[4], f32>
  %one = tir.const 1.0 : f32
  tir.store %one, %V[%i]
  %x = tir.load %B[%i] : f32
  tir.store %x, %Y[%i]
}""")  # fmt: skip
    module = parse(source)
    assert str(Sequential(PLAN)(module)) == str(module)


MATMUL = """
    def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
        T.func_attr({"tir.is_scheduled": True, "tir.noalias": True})
        for i, j, k in T.grid(32, 32, 32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def tuned():
    """A schedule as tuning finds them: a cache of what is written, and loops that may be unrolled."""
    sch = Schedule(from_source(HEAD + MATMUL))
    block = sch.get_block("C")
    cache = sch.cache_write(block, 0, "global")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 16])
    sch.reorder(i0, j0, k, i1, j1)
    sch.reverse_compute_at(cache, j0)
    sch.annotate(i0, "pragma_auto_unroll_max_step", 16)
    sch.annotate(i0, "pragma_unroll_explicit", 1)
    sch.vectorize(j1)
    sch.decompose_reduction(block, k)
    return sch.mod


def test_a_tuned_schedule_has_a_small_buffer_on_the_stack_and_no_inner_loops():
    module = tuned()
    loops = str(lower_tir(module.op))
    assert "memref<64xf32>" in loops and "memref.alloc()" not in loops and "memref.alloc(" not in loops
    a, b = (np.random.default_rng(n).random((32, 32), dtype="float32") for n in (0, 1))
    c = np.zeros((32, 32), "float32")
    build(module.op)["main"](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_marked_loops_are_written_out_by_the_lowering():
    source = (
        HEAD
        + """
    def main(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.func_attr({"tir.is_scheduled": True})
        for i in T.serial(8, annotations={"pragma_auto_unroll_max_step": 8}):
            for j in range(8):
                D[i * 8 + j] = A[i * 8 + j] + T.float32(1)
"""
    )
    text = str(lower_tir(from_source(source).op))
    assert text.count("scf.for") == 1
    assert text.count("memref.store") == 8


def test_constant_order_of_passes_is_checked():
    module = from_source(HEAD + MATMUL)
    with pytest.raises(UnsupportedError, match="run lower-init-block before"):
        T.ConvertBlocksToOpaque()(module)
    with pytest.raises(UnsupportedError, match="iterators"):
        T.LowerOpaqueBlock()(T.LowerInitBlock()(module))


def test_kernels_with_compacted_buffers_compute_the_same():
    source = function("A:8,16:f32 Y:8,16:f32", """%B = tir.alloc_buffer : !tir.buffer<[8, 16], f32>
tir.for %i = 0 to 8 {
  tir.for %j = 0 to 16 {
    tir.block "B" (%v = spatial(%i, 8), %w = spatial(%j, 16)) {
      tir.reads %A[%v, %w]
      tir.writes %B[%v, %w]
      %x = tir.load %A[%v, %w] : f32
      %y = tir.add %x, %x : f32
      tir.store %y, %B[%v, %w]
    }
  }
  tir.for %j = 0 to 16 {
    tir.block "Y" (%v = spatial(%i, 8), %w = spatial(%j, 16)) {
      tir.reads %B[%v, %w]
      tir.writes %Y[%v, %w]
      %x = tir.load %B[%v, %w] : f32
      tir.store %x, %Y[%v, %w]
    }
  }
}""")  # fmt: skip
    kernel = Kernel(source, schedule=False)
    a, y = np.arange(128, dtype="float32").reshape(8, 16), np.zeros((8, 16), "float32")
    kernel(a, y)
    np.testing.assert_array_equal(y, 2 * a)
    assert "memref<16xf32>" in kernel.loops


def test_aligned_storage_runs():
    sch = Schedule(from_source(HEAD + MATMUL))
    cache = sch.cache_read(sch.get_block("C"), 0, "global")
    sch.storage_align(cache, 0, 0, 32, 8)
    (strides,) = {
        op.result.type.explicit_strides
        for op in T.CompactBufferAllocation()(T.LowerInitBlock()(sch.mod)).op.walk()
        if isinstance(op, tir.AllocBufferOp)
    }
    assert [s.constant for s in strides] == [40, 1]
    a, b = (np.random.default_rng(n).random((32, 32), dtype="float32") for n in (0, 1))
    c = np.zeros((32, 32), "float32")
    build(sch.mod.op)["main"](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@pytest.mark.parametrize("row", [[1, 0, 16, 8], [0, 2, 16, 8], [0, 0, 0, 8], [0, 0]])
def test_alignments_of_nothing(row):
    mod = from_source(HEAD + f"""
    def main(A: T.Buffer((16,), "float32")):
        C = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("C"):
                v = T.axis.spatial(16, i)
                T.block_attr({{"buffer_dim_align": [{row}]}})
                C[v] = A[v]
""")  # fmt: skip
    with pytest.raises(UnsupportedError, match='buffer_dim_align of block "C"'):
        T.CompactBufferAllocation()(mod)


def test_a_users_local_buffer_shrinks_and_a_padded_one_does_not():
    source = function("A:8:f32 Y:8:f32", """%B = tir.alloc_buffer : !tir.buffer<[16], f32, scope = "local">
tir.for %i = 0 to 8 {
  %x = tir.load %A[%i] : f32
  tir.store %x, %B[%i]
  %y = tir.load %B[%i] : f32
  tir.store %y, %Y[%i]
}""")  # fmt: skip
    for text, size in ((source, 8), (source.replace("alloc_buffer :", "alloc_buffer {tirax.padded} :"), 16)):
        changed = Sequential([T.CompactBufferAllocation()])(parse(text))
        (actual,) = (op for op in changed.walk() if isinstance(op, tir.AllocBufferOp))
        assert actual.result.type.dims[0].constant == size


MATCHED = """        for i in range(16):
            with T.block("D"):
                vi = T.axis.spatial(16, i)
                part = T.match_buffer(A[vi, 0], (1, 1))
                D[vi] = part[0, 0]
"""


def test_matched_buffers_are_lowered_before_buffers_are_flattened():
    signature = '    def main(A: T.Buffer((16, 2), "float32"), D: T.Buffer((16,), "float32")):\n'
    module = from_source(HEAD + signature + MATCHED)
    with pytest.raises(
        UnsupportedError, match="(?s)found: part, made by tir.match_buffer.*run lower-match-buffer before"
    ):
        FlattenBuffer()(module)
    assert "D[vi] = A[vi, 0]" in LowerMatchBuffer()(module).script()
