"""InjectVirtualThread: what threads do is written out; programs mean what they mean with a thread after the other."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import UnsupportedError
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source

HEAD = """
@T.prim_func
def main(A: T.Buffer((32,), "float32"), C: T.Buffer((64,), "float32"), m: T.int32):
    {thread} = T.launch_thread("{tag}", {count})
"""
MEMORY = """
    B_data = T.allocate([8], "float32", "shared")
    B = T.Buffer((8,), data=B_data, scope="shared")
"""
BODIES = {
    "memory of its own": MEMORY
    + """
    B[1] = A[v]
    C[v] = B[1] + 1.0
""",
    "memory that is alike in all": MEMORY
    + """
    B[1] = A[0]
    C[v] = B[1]
""",
    "loops around": MEMORY
    + """
    for i in range(4):
        B[i] = A[i * 2 + v]
        C[i * 2 + v] = B[i]
""",
    "loops inside": MEMORY
    + """
    if v < 1:
        for i in range(4):
            B[i] = A[i + v]
    C[v] = B[2]
""",
    "a branch": MEMORY
    + """
    for i in range(4):
        if i == 0:
            B[i] = A[v]
        else:
            B[i] = A[i] + 1.0
        if v + i < 3:
            C[v * 4 + i] = B[i] * 2.0
""",
    "a name": MEMORY
    + """
    B[0] = A[3]
    w: T.int32 = v * 2
    B[w % 4] = A[w]
    C[w] = B[w % 4]
""",
    "bounds of a loop": """
    for i in range(v, v + 2):
        C[i * 2 + v] = A[i]
""",
    "a buffer of two dimensions": """
    B = T.alloc_buffer((2, 4))
    for i, j in T.grid(2, 4):
        B[i, j] = A[i * 4 + j + v]
    C[v] = B[1, 3]
""",
    "what comes to depend on it later": MEMORY
    + """
    for i in range(4):
        C[i] = B[0]
        B[0] = B[1] + A[i]
        B[1] = A[v]
""",
}


def program(body, tag="vthread", count="2", thread="v"):
    return tvm.IRModule({"main": from_source(HEAD.format(tag=tag, count=count, thread=thread) + body)})


def written_out(mod):
    after = tir.transform.InjectVirtualThread()(mod)
    assert "launch_thread" not in after.script()
    return after


@pytest.mark.parametrize("count", ["1", "3", "16"])
@pytest.mark.parametrize("name", [n for n in BODIES if "later" not in n])
def test_means_the_same(name, count):
    mod = program(BODIES[name], count=count)
    assert_same_meaning(mod, written_out(mod))


def test_threads_have_memory_of_their_own():
    """One thread after the other they would see each other's: not so where all run each statement together."""
    text = written_out(program(BODIES["what comes to depend on it later"])).script()
    assert 'B_data = T.allocate([16], "float32", "shared")' in text
    assert "C[i] = B[T.Mul(0, 8)]" in text and "C[i] = B[T.Mul(1, 8)]" in text


def test_what_is_alike_occurs_once():
    text = written_out(program(BODIES["memory that is alike in all"])).script()
    assert text.count("B[1] = A[0]") == 1 and "T.allocate([8]" in text


def test_threads_of_c_share_nothing():
    text = written_out(program(BODIES["memory that is alike in all"], tag="cthread")).script()
    assert "T.allocate([16]" in text and "= A[0]" in text and text.count("= A[0]") == 2


def test_inside_of_each_other():
    inner = '    w = T.launch_thread("vthread", 3)\n' + MEMORY + "    B[0] = A[v * 3 + w]\n    C[v * 3 + w] = B[0]\n"
    after = written_out(program(inner))
    assert_same_meaning(program(inner), after)
    assert "T.allocate([48]" in after.script()


def test_many_are_a_loop():
    assert "for v_s in range(16):" in written_out(program("    C[v] = A[v]\n", count="16")).script()


def test_by_a_builder():
    """TVM's `tvm_context_id` and accesses by address, each in the part of its thread."""
    thread = tvm.te.thread_axis("cthread")
    ib = tir.ir_builder.create()
    with ib.for_range(0, 100):
        ib.scope_attr(thread, "virtual_thread", 2)
        memory = ib.allocate("float32", 4, name="B", scope="shared")
        number = tir.call_intrin("int32", "tir.tvm_context_id")
        ib.emit(tir.call_extern("int32", "run", memory.asobject().access_ptr("rw", offset=1), number))
    func = tir.transform.InjectVirtualThread()(tvm.IRModule.from_expr(tir.PrimFunc([], ib.get())))["main"]
    assert [int(e) for e in func.body.body.extents] == [8]
    calls = [stmt.value.args for stmt in func.body.body.body]
    assert [int(number) for _, _, number in calls] == [0, 1]
    assert [tvm.arith.Analyzer().simplify(access.args[2]) for _, access, _ in calls] == [1, 5]


@pytest.mark.parametrize(
    ("body", "count", "message"),
    [
        ("    C[v] = A[v]\n", "m", "the number of virtual threads must be a constant"),
        (
            '    with T.block("b"):\n        i = T.axis.spatial(2, v)\n        C[i] = A[i]\n',
            "2",
            "virtual threads run over flat memory",
        ),
        (
            '    D = T.allocate([8], "float32", "shared")\n    B = T.Buffer((4,), data=D, scope="shared")\n'
            "    B[0] = A[v]\n    C[v] = B[0]\n",
            "2",
            "a buffer of virtual threads is a part of its memory",
        ),
    ],
)
def test_refused(body, count, message):
    with pytest.raises(UnsupportedError, match=message):
        tir.transform.InjectVirtualThread()(program(body, count=count))
