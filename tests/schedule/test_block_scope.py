"""Dependencies of blocks, and whether producers give all that a consumer reads: against sets of elements."""

import random

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.schedule.block_scope import CachedFlags, cached_flags, is_covered
from tirax.tvm_api import tir
from tirax.tvm_api.script import tir as T
from tirax.tvm_api.tir.schedule import DepKind


def blocks_of(state, func="main"):
    """The places of the blocks of a function by name."""
    by_name = {}

    def visit(node):
        if isinstance(node, tir.Block):
            by_name[node.name_hint] = state.get_sref(node)

    tvm.tir.stmt_functor.post_order_visit(state.mod[func].body, visit)
    return by_name


@T.prim_func
def chain(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("first"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
        with T.block("second"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
        with T.block("again"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.float32(0)


def test_dependencies():
    state = tir.ScheduleState(chain)
    at = blocks_of(state)
    scope = state.get_block_scope(at["root"])
    of_first = {(d.dst.stmt.name_hint, d.kind) for d in scope.get_deps_by_src(at["first"])}
    assert of_first == {("second", DepKind.RAW), ("again", DepKind.WAW)}
    of_again = {(d.src.stmt.name_hint, d.kind) for d in scope.get_deps_by_dst(at["again"])}
    assert of_again == {("first", DepKind.WAW), ("second", DepKind.WAR)}
    assert scope.get_deps_by_dst(at["first"]) == []
    assert state._get_cached_flags(at["root"]) == CachedFlags(True, True, False)
    assert state._get_cached_flags(at["second"]) == CachedFlags(True, True, True)


def test_what_is_no_block_of_the_module():
    state, other = tir.ScheduleState(chain), tir.ScheduleState(tvm.IRModule({"main": chain}))
    block = blocks_of(other)["first"].stmt
    with pytest.raises(TiraxError, match="the statement is of another module"):
        state.get_sref(block)
    with pytest.raises(TiraxError, match="neither a block nor a loop"):
        state.get_sref(state.mod["main"].body)
    loop = blocks_of(state)["first"].parent
    with pytest.raises(TiraxError, match="a block is expected"):
        state.get_block_scope(loop)


def test_the_state_of_a_schedule_is_its_module():
    sch = tir.Schedule(chain)
    block = sch.get_block("first")
    sch.split(sch.get_loops(block)[0], [2, None])
    assert sch.state.get_sref(sch.get(block)).same_as(sch.get_sref(block))


def pieces(written, read, size):
    """A function whose blocks write intervals of `A`, and one that reads one."""
    lines = ["@T.prim_func", f"def f(B: T.Buffer(({size},), 'float32')):", f"    A = T.alloc_buffer(({size},))"]
    for k, (low, high) in enumerate([*written, read]):
        value = f"T.axis.spatial(({low}, {high}), i + {low})"
        lines += [f"    for i in range({high - low}):", f"        with T.block('b{k}'):", f"            v = {value}"]
        lines += ["            A[v] = T.float32(1)" if k < len(written) else "            B[v] = A[v]"]
    return tvm.script.from_source("\n".join(lines))


def interval(rng, size):
    low = rng.randrange(size)
    return low, rng.randrange(low + 1, size + 1)


def test_what_is_covered_against_sets_of_elements():
    rng, outcomes = random.Random(0), []
    for _ in range(120):
        size = rng.choice([4, 7, 12])
        written = [interval(rng, size) for _ in range(rng.randrange(1, 5))]
        read = interval(rng, size)
        func = pieces(written, read, size)
        consumer = [op for op in func.op.walk() if op.name == "tir.block"][-1]
        expected = set(range(*read)) <= {x for w in written for x in range(*w)}
        assert is_covered(consumer) == expected, (written, read)
        outcomes.append(expected)
    assert len(set(outcomes)) == 2


@pytest.mark.parametrize(("low", "high", "expected"), [(0, 8, True), (0, 9, False), (-1, 8, False)])
def test_in_a_loop_around_both(low, high, expected):
    text = f"""
@T.prim_func
def f(B: T.Buffer((64,), "float32")):
    A = T.alloc_buffer((80,))
    for o in range(8):
        for i in range(8):
            with T.block("producer"):
                v = T.axis.spatial((8, 72), o * 8 + i + 8)
                A[v] = T.float32(1)
        for i in range({high - low}):
            with T.block("consumer"):
                v = T.axis.opaque((0, 80), o * 8 + i + {8 + low})
                T.reads(A[v])
                T.writes(B[0:64])
                B[o] = A[v]
"""
    func = tvm.script.from_source(text)
    consumer = [op for op in func.op.walk() if op.name == "tir.block"][-1]
    assert is_covered(consumer) == expected


@pytest.mark.parametrize(("scope", "thread", "expected"), [
    ("shared", "threadIdx.x", True), ("shared", "blockIdx.x", False), ("local", "threadIdx.x", False),
    ("warp", "threadIdx.x", True), ("warp", "threadIdx.y", False),
])  # fmt: skip
def test_memory_that_threads_share(scope, thread, expected):
    text = f"""
@T.prim_func
def f(B: T.Buffer((8, 8), "float32")):
    A = T.alloc_buffer((8, 8), scope="{scope}")
    for i in T.thread_binding(8, thread="{thread}"):
        for j in range(8):
            with T.block("producer"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.float32(1)
        for j in range(8):
            with T.block("consumer"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vj, vi] = A[vj, vi]
"""
    func = tvm.script.from_source(text)
    consumer = [op for op in func.op.walk() if op.name == "tir.block"][-1]
    assert is_covered(consumer) == expected
    assert cached_flags(func.op).stage_pipeline == expected


def test_bindings_that_are_not_affine():
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("product"):
                v = T.axis.opaque(64, i * j)
                T.writes(A[v])
                A[v] = T.float32(1)

    state = tir.ScheduleState(func)
    assert state._get_cached_flags(blocks_of(state)["product"]) == CachedFlags(False, True, True)
