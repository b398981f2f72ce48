"""Threads and intrinsics of other devices: read, printed, rewritten; run one thread after the other, or refused."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.dialects import tir as dialect
from tirax.interpreter import interpret
from tirax.tvm_api import tir
from tirax.tvm_api.script import tir as T


def same_again(func):
    """The text of a function, which reads as the function; as MLIR it does, too."""
    text = func.script()
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), func)
    mod = tvm.IRModule({"main": func})
    tvm.ir.assert_structural_equal(tvm.script.from_mlir(str(mod.op)), mod)
    return text


@T.prim_func
def scaled(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (64,), "float32")
    C = T.match_buffer(c, (64,), "float32")
    i0 = T.env_thread("blockIdx.x")
    i1 = T.env_thread("threadIdx.x")
    i2 = T.env_thread("vthread", "int64")
    T.launch_thread(i0, 4)
    T.launch_thread(i1, 8)
    T.launch_thread(i2, 2)
    C[i0 * 16 + i1 * 2 + T.int32(i2)] = A[i0 * 16 + i1 * 2 + T.int32(i2)] * T.float32(2)


def test_threads_that_hold_for_the_rest():
    text = same_again(scaled)
    assert '    i0 = T.launch_thread("blockIdx.x", 4)\n    i1 = T.launch_thread("threadIdx.x", 8)\n' in text
    assert '    i2 = T.launch_thread("vthread", T.int64(2))\n' in text


@pytest.mark.parametrize("extent", [0, 1, 5])
def test_threads_run_one_after_the_other(extent):
    @T.prim_func
    def func(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (extent, 3), "float32")
        C = T.match_buffer(c, (extent, 3), "float32")
        with T.launch_thread("blockIdx.x", extent) as b, T.launch_thread("threadIdx.x", 3) as t:
            C[b, t] = A[b, t] + T.float32(1)
        with T.launch_thread("blockIdx.x", extent) as b:
            C[b, 0] = C[b, 0] * T.Cast("float32", b)

    x = np.random.default_rng(0).normal(size=(extent, 3)).astype("float32")
    expected = x + np.float32(1)
    expected[:, 0] *= np.arange(extent, dtype="float32")
    for execute in (tvm.build(func)["func"], lambda *args: interpret(tvm.IRModule({"main": func}), "main", args)):
        out = tvm.nd.array(np.full((extent, 3), np.nan, "float32"))
        execute(tvm.nd.array(x), out)
        np.testing.assert_array_equal(out.numpy(), expected)
    same_again(func)


def test_threads_as_nodes():
    seen = []

    def visit(node):
        if isinstance(node, tir.AttrStmt):
            seen.append((node.attr_key, node.node.thread_tag, node.node.var.name, int(node.value)))

    tvm.tir.stmt_functor.post_order_visit(scaled.body, visit)
    assert seen == [
        ("virtual_thread", "vthread", "i2", 2),
        ("thread_extent", "threadIdx.x", "i1", 8),
        ("thread_extent", "blockIdx.x", "i0", 4),
    ]
    stmt = scaled.body
    again = tir.AttrStmt(stmt.node, stmt.attr_key, stmt.value, stmt.body)
    tvm.ir.assert_structural_equal(again, stmt, map_free_vars=True)


def test_loops_on_threads_launch_them():
    @T.prim_func
    def before(A: T.Buffer((8, 4), "float32")):
        for i in T.thread_binding(8, thread="blockIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                A[i, j] = T.float32(1)

    @T.prim_func
    def after(A: T.Buffer((8, 4), "float32")):
        blockIdx_x = T.launch_thread("blockIdx.x", 8)
        threadIdx_x = T.launch_thread("threadIdx.x", 4)
        A[blockIdx_x, threadIdx_x] = T.float32(1)

    result = tir.transform.LowerOpaqueBlock()(tvm.IRModule({"main": before}))["main"]
    tvm.ir.assert_structural_equal(result, after.with_attr("global_symbol", "before"))
    assert result.script().splitlines()[-3:] == after.script().splitlines()[-3:]


def test_a_condition_on_a_thread_is_simplified():
    @T.prim_func
    def before(A: T.Buffer((8,), "float32")):
        with T.launch_thread("threadIdx.x", 8) as i:
            if i < 8:
                A[i] = T.float32(1)

    @T.prim_func
    def after(A: T.Buffer((8,), "float32")):
        with T.launch_thread("threadIdx.x", 8) as i:
            A[i] = T.float32(1)

    result = tir.transform.Simplify()(tvm.IRModule({"main": before}))["main"]
    tvm.ir.assert_structural_equal(result, after.with_attr("global_symbol", "before"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("i = T.env_thread(3)", "a thread is named by its tag"),
        ('i = T.env_thread("threadIdx.x", "float32")', "the number of a thread is an integer"),
        ("i = T.launch_thread(3, 3)", "threads are launched by their tag"),
        ('i = T.launch_thread("threadIdx.x", 3.0)', "the number of threads is an integer"),
        ('i, j = T.launch_thread("threadIdx.x", 3)', "a thread has one name"),
    ],
)
def test_what_is_no_thread(line, message):
    text = f"@T.prim_func\ndef f(A: T.Buffer(4, 'float32')):\n    {line}\n    A[0] = 1.0\n"
    with pytest.raises(TiraxError, match=message):
        tvm.script.from_source(text)


@T.prim_func
def on_a_device(A: T.Buffer((64,), "float16"), args: T.handle):
    first: T.handle = T.tvm_struct_get(args, 0, 12, dtype="handle")
    count: T.int32 = T.tvm_struct_get(first, 0, 4, "int32")
    T.tvm_storage_sync("shared")
    T.tvm_fill_fragment(A.data, 16, 16, 16, 0, T.float32(1), dtype="handle")
    T.mma_fill("float32", 8, A.data, 0)
    T.ptx_commit_group()
    A[0] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[count], 0, 32, 32)
    T.evaluate(T.call_intrin("handle", "tir.tvm_thread_allreduce", T.uint32(1), A[0], True, A.data))
    T.evaluate(T.call_packed_lowered("f", args, args, 0, 1))
    T.evaluate(T.reinterpret("handle", T.uint64(0)))


def test_intrinsics_of_devices_keep_their_types():
    text = same_again(on_a_device)
    for line in (
        'first: T.handle = T.tvm_struct_get(args, 0, 12, "handle")',
        'count: T.int32 = T.tvm_struct_get(first, 0, 4, "int32")',
        'T.tvm_storage_sync("shared")',
        "T.tvm_fill_fragment(A.data, 16, 16, 16, 0, T.float32(1.0))",
        'T.mma_fill("float32", 8, A.data, 0)',
        "T.ptx_commit_group()",
        "A[0] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[count], 0, 32, 32)",
        "T.tvm_thread_allreduce(T.uint32(1), A[0], T.bool(True), A.data)",
        'T.call_packed_lowered("f", args, args, 0, 1)',
        'T.reinterpret("handle", T.uint64(0))',
    ):
        assert f"    {line}\n" in f"{text}\n"


def test_intrinsics_of_devices_are_calls():
    call = tir.call_intrin("uint32", "tir.tvm_warp_activemask")
    assert isinstance(call, tir.Call) and call.op.name == "tir.tvm_warp_activemask" and call.dtype == "uint32"
    assert isinstance(call.ssa.owner, dialect.DeviceCallOp)


@pytest.mark.parametrize(
    ("name", "why"), [("tvm_storage_sync", "for GPUs"), ("tvm_throw_last_error", "lowering of packed calls")]
)
def test_no_code_is_generated_for_them(name, why):
    argument = '"shared"' if name == "tvm_storage_sync" else ""
    text = f"@T.prim_func\ndef f(A: T.Buffer(4, 'float32')):\n    A[0] = 1.0\n    T.{name}({argument})\n"
    with pytest.raises(UnsupportedError, match=f"(?s)no code is made for T.{name}.*{why}"):
        tvm.build(tvm.script.from_source(text))


def test_an_unknown_intrinsic_of_a_device():
    mod = tvm.IRModule({"main": on_a_device})
    text = str(mod.op).replace('"tvm_storage_sync"', '"unheard_of"')
    with pytest.raises(TiraxError, match="'unheard_of' is no intrinsic of a device"):
        tvm.script.from_mlir(text)


def test_intrinsics_of_llvm_by_their_number():
    @T.prim_func
    def counted(A: T.Buffer((4,), "uint8"), B: T.Buffer((4,), "uint8")):
        for i in range(4):
            B[i] = T.call_llvm_pure_intrin("uint8", T.llvm_lookup_intrinsic_id("llvm.ctpop.i8"), T.uint32(1), A[i])

    same_again(counted)
    assert 'B[i] = T.call_llvm_pure_intrin("uint8", "llvm.ctpop", T.uint32(1), A[i])' in counted.script()
    tvm.ir.assert_structural_equal(counted, tvm.script.from_source(counted.script().replace("T.uint32(1), ", "")))
    out = tvm.nd.array(np.zeros(4, "uint8"))
    tvm.build(counted)["counted"](tvm.nd.array(np.array([0, 1, 7, 255], "uint8")), out)
    np.testing.assert_array_equal(out.numpy(), [0, 1, 3, 8])


def test_a_range_with_annotations():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        for i in range(0, 4, annotations={"pragma_a": "text", "pragma_b": 0.5}):
            A[i] = T.float32(1)

    outer = tir.transform.LowerOpaqueBlock()(tvm.IRModule({"main": func}))["main"].body
    assert (outer.attr_key, outer.body.attr_key) == ("pragma_a", "pragma_b")
    assert outer.value == "text" and outer.value != "other"
    tvm.ir.assert_structural_equal(outer.body.value, tir.FloatImm("float32", 0.5))
