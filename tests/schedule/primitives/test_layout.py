"""`transform_layout`, `transform_block_layout`, `set_axis_separator`: text (tests/golden/schedule/layout), meaning."""

from __future__ import annotations

import json

import numpy as np
import pytest
from prologue import CONV, HEAD, scheduled
from prologue import MATMUL_AND_ONE as MATMUL
from prologue import TWO_STEPS as FIXED

from tirax import te
from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.handles.tir.index_map import IndexMap
from tirax.interpreter import assert_same_meaning, interpret
from tirax.schedule import Schedule, ScheduleError, Trace
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source

TWO_STEPS = """\
        B = T.alloc_buffer((ROWS, COLS))
        for i, j in T.grid(ROWS, COLS):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for i, j in T.grid(ROWS, COLS):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + T.float32(1)
"""

SYMBOLIC = (
    HEAD
    + """\
    def main(a: T.handle, c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(16)))
        C = T.match_buffer(c, (n, T.int64(16)))
"""
    + TWO_STEPS.replace("ROWS", "n").replace("COLS", "T.int64(16)")
)


def tiled(i, j):
    return i // 4, j, i % 4


def fused(i, j):
    return (i * 16 + j,)


def on(block: str, *args, **kwargs):
    return lambda sch: sch.transform_layout(sch.get_block(block), *args, **kwargs)


def after_split(sch: Schedule) -> None:
    block = sch.get_block("B")
    sch.split(sch.get_loops(block)[0], [None, 7])
    sch.transform_layout(block, ("write", 0), tiled, pad_value=0.0)


def after_reorder(sch: Schedule) -> None:
    block = sch.get_block("C")
    i, _, k = sch.get_loops(block)
    sch.reorder(k, i)
    sch.transform_layout(block, ("write", 0), lambda i, j: (i // 3, j, i % 3), pad_value=0.0)


def of_block(block: str, index_map):
    return lambda sch: sch.transform_block_layout(sch.get_block(block), index_map)


def gemm(n, h, w, co, kh, kw, ci):
    return n * 36 + h * 6 + w, co, kh * 9 + kw * 3 + ci


def as_matmul(sch: Schedule) -> None:
    """A convolution as a matrix product: image, weights and result in buffers of rank 2."""
    block = sch.get_block("conv")
    for buffer in (("read", 0), ("read", 1), ("write", 0)):
        sch.reindex(block, buffer)
    sch.transform_layout(block, ("read", 0), lambda n, h, w, kh, kw, ci: (n * 36 + h * 6 + w, kh * 9 + kw * 3 + ci))
    sch.transform_layout(block, ("read", 1), lambda co, kh, kw, ci: (kh * 9 + kw * 3 + ci, co))
    sch.transform_layout(block, ("write", 0), lambda n, h, w, co: (n * 36 + h * 6 + w, co))
    sch.transform_block_layout(block, gemm)


CASES = {
    "conv_as_matmul": (CONV, as_matmul),
    "swapped": (FIXED, on("B", ("write", 0), lambda i, j: (j, i))),
    "two_tiles": (FIXED, on("B", ("write", 0), lambda i, j: (i // 7, j // 4, i % 7, j % 4))),
    "fused_as_read": (FIXED, on("C", ("read", 0), fused)),
    "padded": (FIXED, on("B", ("write", 0), tiled, pad_value=0.0)),
    "padded_behind_a_base": (FIXED, on("B", "B", lambda i, j: ((i + 3) // 4, j, (i + 3) % 4), pad_value=0.0)),
    "padded_after_split": (FIXED, after_split),
    "padded_reduction": (MATMUL, on("C", ("write", 0), lambda i, j: (i // 3, j, i % 3), pad_value=0.0)),
    "padded_inside_a_loop": (MATMUL, after_reorder),
    "assumed_injective": (
        MATMUL,
        on("C", ("write", 0), lambda i, j: (i // 3, j, i % 3), assume_injective_transform=True),
    ),
    "symbolic": (SYMBOLIC, on("B", ("write", 0), lambda i, j: (i, j // 4, j % 4))),
    "symbolic_any_rank": (SYMBOLIC, on("B", ("write", 0), lambda *i: i[::-1])),
    "symbolic_padded": (SYMBOLIC, on("B", ("write", 0), tiled, pad_value=0.0)),
    "block_fused": (FIXED, of_block("B", fused)),
    "block_tiled": (FIXED, of_block("B", lambda i, j: (j, i // 7, i % 7))),
    "block_gemm": (CONV, of_block("conv", gemm)),
    "block_symbolic": (SYMBOLIC, of_block("B", fused)),
}


@pytest.mark.parametrize("name", CASES)
def test_text_and_meaning(name, golden) -> None:
    module, sch = scheduled(*CASES[name])
    golden(f"schedule/layout/{name}.txt", f"{sch.mod.script()}\n{sch.trace}")
    assert_same_meaning(module.op, sch.mod.op)


@pytest.mark.parametrize("name", CASES)
def test_traces_travel(name) -> None:
    module, sch = scheduled(*CASES[name])
    for trace in (Trace.from_json(json.loads(json.dumps(sch.trace.as_json()))), Trace.from_mlir(sch.trace.mlir())):
        other = Schedule(module)
        trace.apply_to_schedule(other)
        assert other.mod.script() == sch.mod.script()
        assert str(other.trace) == str(sch.trace)


@pytest.mark.parametrize(
    ("block", "buffer", "index_map", "parameter"),
    [
        ("B", "A", lambda i, j: (j // 4, i, j % 4), 0),
        ("B", "A", lambda i, j: (i // 4, j, i % 4), 0),
        ("C", "C", lambda i, j: (j // 4, i, j % 4), 1),
        ("C", "C", lambda i, j: (i // 4, j, i % 4), 1),
    ],
)
@pytest.mark.parametrize("native", [False, True])
def test_a_parameter_has_another_shape(block, buffer, index_map, parameter, native) -> None:
    module, sch = scheduled(FIXED, on(block, buffer, index_map, pad_value=0.0))
    arrays = [np.random.default_rng(0).random((14, 16), np.float32), np.zeros((14, 16), np.float32)]
    expected = [*arrays]
    expected[1] = arrays[0] * 2 + 1
    expected[parameter] = IndexMap.from_func(index_map).map_ndarray(expected[parameter])
    arrays[parameter] = IndexMap.from_func(index_map).map_ndarray(arrays[parameter])
    if native:
        build(sch.mod.op)["main"](*arrays)
    else:
        interpret(sch.mod.op, "main", arrays)
    np.testing.assert_allclose(arrays[1], expected[1], rtol=1e-6)


def test_padding_of_a_buffer_that_nothing_writes_is_assumed() -> None:
    _, sch = scheduled(FIXED, on("B", "A", tiled, pad_value=0.0))
    text = sch.mod.script()
    assert 'with T.block("buffer_A_assumptions"):' in text
    assert "T.assume(not (v_axis0 == 3 and 2 <= v_axis2) or A[v_axis0, v_j, v_axis2] == T.float32(0.0))" in text


def test_padding_as_a_function_of_new_indices() -> None:
    source = FIXED.replace('"float32"', '"int32"').replace("T.float32", "T.int32").replace("16))\n", '16), "int32")\n')
    module, sch = scheduled(source, on("B", ("write", 0), tiled, pad_value=lambda a, b, c: b * 4 + c))
    assert "T.if_then_else(v_axis0 == 3 and 2 <= v_axis2, v_j * 4 + v_axis2, " in sch.mod.script()
    assert "pad_value=lambda a, b, c: (b * 4 + c,)" in str(sch.trace)
    assert_same_meaning(module.op, sch.mod.op)


def test_padding_as_a_function_that_is_no_integer() -> None:
    """The text is TVM's."""
    pad = {"pad_value": lambda a, b, c: te.exp(b.astype("float32")) * 1.5}
    module, sch = scheduled(FIXED, on("B", ("write", 0), tiled, **pad))
    assert 'v_axis0 == 3 and 2 <= v_axis2, T.exp(T.Cast("float32", v_j)) * T.float32(1.5), A[' in sch.mod.script()
    assert 'pad_value=lambda a, b, c: (T.exp(T.Cast("float32", b)) * T.float32(1.5),)' in str(sch.trace)
    assert_same_meaning(module.op, sch.mod.op)
    for trace in (Trace.from_json(sch.trace.as_json()), Trace.from_mlir(sch.trace.mlir())):
        again = Schedule(module)
        trace.apply_to_schedule(again)
        assert again.mod.script() == sch.mod.script()


def test_what_was_computed_before_the_padding_is_not_left() -> None:
    """A choice that reads was left behind, and read out of bounds where the new index is one of padding."""
    source = FIXED.replace("A[vi, vj] * T.float32(2)", "T.if_then_else(1 <= vj, A[vi, vj - 1], T.float32(0))")
    module, sch = scheduled(source, on("B", ("write", 0), tiled, pad_value=1.5))
    assert_same_meaning(module.op, sch.mod.op)


def test_what_a_block_does_besides_is_not_done_for_the_padding() -> None:
    """The block ran over the padding, too, and wrote what stands beside the buffer out of bounds."""
    extra = "B[vi, vj] = A[vi, vj] * T.float32(2)\n                C[vi, vj] = T.float32(0)\n"
    source = FIXED.replace("B[vi, vj] = A[vi, vj] * T.float32(2)\n", extra)
    module, sch = scheduled(source, on("B", ("write", 0), tiled, pad_value=1.5))
    assert "for i, j in T.grid(14, 16):" in sch.mod.script()
    assert 'with T.block("buffer_B_padding"):' in sch.mod.script()
    assert_same_meaning(module.op, sch.mod.op)


def test_an_opaque_block_runs_over_the_padding_too() -> None:
    source = f"""{HEAD}\
    def main(C: T.Buffer((14,), "int32")):
        B = T.alloc_buffer((14,), "int32")
        for i in range(14):
            with T.block("B"):
                B[i] = i * 3
        for i in range(14):
            with T.block("C"):
                vi = T.axis.spatial(14, i)
                C[vi] = B[vi]
"""
    module, sch = scheduled(source, on("B", "B", lambda i: [i // 4, i % 4], pad_value=7))
    text = sch.mod.script()
    assert "for axis0, axis1 in T.grid(4, 4):" in text and "axis0 == 3 and 2 <= axis1, 7, " in text
    assert_same_meaning(module.op, sch.mod.op)


def test_a_written_root_block_is_implicit_where_there_is_more_in_it() -> None:
    source = f"""{HEAD}\
    def main(A: T.Buffer((14,), "int32")):
        with T.block("root"):
            T.reads()
            T.writes()
            with T.block("block"):
                A[0] = 0
"""
    sch = Schedule(from_source(source))
    root = sch.get_block("root")
    sch.transform_layout("block", "A", lambda i: [i // 4, i % 4], pad_value=0)
    text = sch.mod.script()
    assert '# with T.block("root"):\n        with T.block("block"):' in text
    assert len(sch.get_child_blocks(root)) == 2
    alone = Schedule(from_source(source))
    alone.annotate(alone.get_block("block"), "note", 1)
    assert '\n        with T.block("root"):' in alone.mod.script()  # of one block alone TVM would make the root block


def test_an_index_beyond_the_buffers_of_a_block_is_refused_as_by_tvm() -> None:
    with pytest.raises(AssertionError, match="the block writes 1 buffers"):
        scheduled(FIXED, lambda sch: sch.set_axis_separator(sch.get_block("B"), ("write", 1), [1]))
    with pytest.raises(ScheduleError, match="the block reads 1 buffers"):
        scheduled(FIXED, lambda sch: sch.set_axis_separator(sch.get_block("B"), ("read", -1), [1]))


def test_index_maps_of_another_integer_type_are_taken() -> None:
    mapping = IndexMap.from_func(lambda i, j: (j // 4, i, j % 4), index_dtype="int64")
    _, sch = scheduled(FIXED, on("B", ("write", 0), mapping))
    assert "B = T.alloc_buffer((4, 14, 4))" in sch.mod.script()
    assert "index_map=lambda i, j: (j // 4, i, j % 4,)" in str(sch.trace)


def test_handles_follow_a_replaced_block() -> None:
    _, sch = scheduled(FIXED, lambda sch: None)
    block = sch.get_block("B")
    sch.transform_block_layout(block, fused)
    (loop,) = sch.get_loops(block)
    sch.parallel(loop)
    assert "for ax0 in T.parallel(224):" in sch.mod.script()


def test_an_axis_separator_in_the_index_map_is_a_step_of_its_own() -> None:
    index_map = lambda *i: (i[1] // 4, IndexMap.AXIS_SEPARATOR, i[0], i[1] % 4)  # noqa: E731
    module, sch = scheduled(FIXED, on("B", ("write", 0), index_map))
    assert "B = T.alloc_buffer((4, 14, 4), axis_separators=[1])" in sch.mod.script()
    assert str(sch.trace).endswith('sch.set_axis_separator(block=b0, buffer=("write", 0), axis_separators=[1])')
    assert_same_meaning(module.op, sch.mod.op)


def test_axis_separators() -> None:
    module, sch = scheduled(FIXED, lambda sch: sch.set_axis_separator(sch.get_block("B"), ("write", 0), [1]))
    assert "B = T.alloc_buffer((14, 16), axis_separators=[1])" in sch.mod.script()
    assert 'sch.set_axis_separator(block=b0, buffer=("write", 0), axis_separators=[1])' in str(sch.trace)
    assert_same_meaning(module.op, sch.mod.op)


WINDOW = """\
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    for i in range(4):
        with T.block("outer"):
            vi = T.axis.spatial(4, i)
            W = T.match_buffer(A[vi * 4:vi * 4 + 4], (4,), "float32", offset_factor=1)
            for j in range(4):
                with T.block("B"):
                    vj = T.axis.spatial(4, j)
                    W[vj] = T.float32(1)
"""
EXTERN = """\
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((16,), "float32")):
    with T.block("B"):
        T.reads(A[0:16])
        T.writes(A[0:16])
        T.evaluate(T.call_extern("int32", "f", A.data))
"""
REFUSED = {
    "pads": (FIXED, on("B", ("write", 0), tiled), "the index map pads the buffer"),
    "not_one_to_one": (FIXED, on("B", ("write", 0), lambda i, j: (i,)), "has no inverse"),
    "no_such_name": (FIXED, on("B", "X", tiled), "the block accesses 0 buffers called X"),
    "no_such_buffer": (FIXED, on("B", ("write", 1), tiled), "the block writes 1 buffers"),
    "window": (WINDOW, on("B", ("write", 0), lambda i: (i // 2, i % 2)), "neither a parameter nor allocated"),
    "address": (EXTERN, on("B", ("write", 0), lambda i: (i // 4, i % 4)), "more than accesses of elements"),
    "lost_size": (
        HEAD
        + """\
    def main(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, T.int64(16)))
        for i, j in T.grid(n, T.int64(16)):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.float32(1)
""",
        on("B", ("write", 0), fused),
        "no shape would say any more what n",
    ),
    "block_pads": (FIXED, of_block("B", lambda i, j: (i // 4, i % 4, j)), "it pads"),
    "block_mixes_kinds": (
        CONV,
        of_block("conv", lambda n, h, w, co, kh, kw, ci: (n * 36 + h * 6 + w, co * 27 + kh * 9 + kw * 3 + ci)),
        "iterators of several kinds",
    ),
    "block_after_split": (
        FIXED,
        lambda sch: (
            sch.split(sch.get_loops(sch.get_block("B"))[0], [2, 7]),
            sch.transform_block_layout(sch.get_block("B"), fused),
        ),
        "not the variables of the loops",
    ),
    "separators": (
        FIXED,
        lambda sch: sch.set_axis_separator(sch.get_block("B"), ("write", 0), [2, 1]),
        "axis separators ascend",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name) -> None:
    source, steps, message = REFUSED[name]
    sch = Schedule(from_source(source))
    before = sch.mod.script()
    with pytest.raises(ScheduleError, match=message) as caught:
        steps(sch)
    assert "^^^" in str(caught.value)
    assert name == "block_after_split" or sch.mod.script() == before


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (on("B", ("both", 0), tiled), "which regions of the block"),
        (on("B", ("write", 0), tiled, pad_value=1), "of another type"),
        (on("B", ("write", 0), tiled, pad_value="0.5"), "the text of a lambda"),
        (on("B", ("write", 0), tiled, pad_value="lambda a, b: (T.float32(1),)"), "another number of indices"),
        (on("B", ("write", 0), tiled, pad_value=lambda a, b, c: te.exp(c.astype("float16"))), "of another type"),
        (of_block("B", lambda i, j: (i, IndexMap.AXIS_SEPARATOR, j)), "takes no axis separators"),
        (on("B", ("write", 0), lambda i: (i,)), "another number of indices"),
        (on("B", ("write", 0), 3), "not an index map"),
    ],
)
def test_wrong_arguments(steps, message) -> None:
    with pytest.raises(TiraxError, match=message):
        steps(Schedule(from_source(FIXED)))


def test_a_padding_reads_no_other_buffer() -> None:
    sch = Schedule(from_source(FIXED))
    other = tir.decl_buffer((1,), "float32", name="other")
    with pytest.raises(ScheduleError, match="the padding reads another buffer"):
        sch.transform_layout("B", ("write", 0), lambda i, j: [i // 4, i % 4, j], pad_value=lambda i, j, k: other[0])


def test_digits_of_a_fused_iterator() -> None:
    sch = Schedule(from_source(DIGITS))
    sch.transform_block_layout("B", lambda i, j, k: (i * 21 + j * 3 + k,))
    assert "v0 // 21, v0 % 21 // 3, v0 % 3" in sch.mod.script()
    assert_same_meaning(from_source(DIGITS).op, sch.mod.op)


DIGITS = (
    HEAD
    + """\
    def main(A: T.Buffer((4, 7, 3), "float32"), B: T.Buffer((4, 7, 3), "float32")):
        for i, j, k in T.grid(4, 7, 3):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                B[vi, vj, vk] = A[vi, vj, vk]
"""
)
SPLITS = [1, 2, 3, 4, 5, 7, 16]


@pytest.mark.parametrize("seed", range(12))
def test_random_layouts_keep_the_meaning(seed) -> None:
    """Each axis is split somewhere, all pieces are shuffled, and neighbours fused."""
    random = np.random.default_rng(seed)
    a, b = (int(random.choice(SPLITS)) for _ in range(2))
    order, fuse = random.permutation(4), bool(random.integers(2))

    def index_map(i, j):
        pieces = [(i // a, None), (i % a, a), (j // b, None), (j % b, b)]
        shuffled = [pieces[k] for k in order]
        if fuse and shuffled[1][1] is not None:
            (first, _), (second, extent) = shuffled[:2]
            return [first * extent + second, *(p for p, _ in shuffled[2:])]
        return [p for p, _ in shuffled]

    for source, block in ((MATMUL, "C"), (FIXED, "B")):
        module, sch = scheduled(source, on(block, ("write", 0), index_map, pad_value=float(seed)))
        assert_same_meaning(module.op, sch.mod.op)
