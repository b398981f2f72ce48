"""Where what has no declaration is declared in TVMScript, and that the text is read back."""

from tirax.tvm_api import ir, tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import tir as T


def lines(node):
    return [line for line in node.script().splitlines() if line and not line.startswith("#")]


@T.prim_func
def views(A: T.Buffer((4, 4), "float32"), B: T.Buffer((16,), "float32")):
    flat = T.Buffer((16,), data=A.data)
    both = T.Buffer((4,), data=B.data)
    unused = T.Buffer((2,), data=B.data)  # noqa: F841
    for i in range(4):
        for j in range(4):
            B[i * 4 + j] = flat[i * 4 + j]
    for i in range(4):
        both[i] = flat[i] + both[i]


def test_aliases_stand_in_the_innermost_scope_around_their_uses():
    assert lines(views)[2:] == [
        "    flat = T.Buffer((16,), data=A.data)",
        "    for i, j in T.grid(4, 4):",
        "        B[i * 4 + j] = flat[i * 4 + j]",
        "    for i in range(4):",
        "        both = T.Buffer((4,), data=B.data)",
        "        both[i] = flat[i] + both[i]",
    ]
    again = from_source(views.script())
    ir.assert_structural_equal(again, views)
    assert lines(again) == lines(views)


def test_a_different_view_is_a_difference():
    other = from_source(views.script().replace("T.Buffer((4,), data=B.data)", "T.Buffer((4,), data=A.data)"))
    assert not ir.structural_equal(other, views)


def test_memory_of_blocks_and_other_memory_are_distinguished():
    source = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    with T.block("root"):
        C = T.alloc_buffer((4,))
        for i in range(4):
            D = T.decl_buffer((1,))
            D[0] = C[i]
            A[i] = D[0]"""
    func = from_source("from tvm.script import tir as T\n" + source)
    text = func.script()
    assert "    C = T.alloc_buffer((4,))" in text and "        D = T.decl_buffer((1,))" in text
    assert from_source(text).script() == text


def test_blocks_that_tvm_would_not_add_are_written_out():
    source = """# from tvm.script import tir as T

@T.prim_func
def main(A: T.Buffer((1,), "int32")):
    with T.block("root"):
        T.reads()
        T.writes()
        A[0] = 0"""
    assert from_source(source).script() == source


def test_a_block_alone_has_no_values():
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    buffer = tir.decl_buffer((8,), "float32", "A")
    v = tir.IterVar((0, 8), "v", tir.IterVar.DataPar)
    block = tir.Block(
        [v],
        [],
        [tir.BufferRegion(buffer, [ir.Range.from_min_extent(v.var, 1)])],
        "put",
        tir.BufferStore(buffer, 1.0, [v.var]),
    )
    assert lines(block) == [
        'with T.block("put", no_realize=True):',
        "    v = T.axis.spatial(8)",
        "    T.reads()",
        "    A = T.Buffer((8,))",
        "    T.writes(A[v])",
        "    A[v] = T.float32(1.0)",
    ]
    realized = lines(tir.BlockRealize([i + j], True, block))
    assert realized[:3] == ["i = T.int32()", "j = T.int32()", 'with T.block("put"):']
    assert realized[3] == "    v = T.axis.spatial(8, i + j)"


def test_zero_does_nothing_among_statements():
    body = tir.SeqStmt([tir.Evaluate(0), tir.Evaluate(1), tir.Evaluate(0)])
    assert lines(body) == ["T.evaluate(1)"]
    assert lines(tir.PrimFunc([], tir.Evaluate(0)))[-1] == "    T.evaluate(0)"


@T.prim_func(check_well_formed=False)
def constant_places():
    a = T.Buffer((4,), "float32")
    b = T.Buffer((4,), "float32")
    for i in range(4):
        with T.block("copy"):
            vi = T.axis.spatial(4, i)
            T.reads(a[0], b[vi])
            b[vi] = a[0] + b[vi]


def test_declarations_stand_in_front_of_the_regions_that_need_them():
    assert lines(constant_places)[-5:] == [
        "            a = T.Buffer((4,))",
        "            b = T.Buffer((4,))",
        "            T.reads(a[0], b[vi])",
        "            T.writes(b[vi])",
        "            b[vi] = a[0] + b[vi]",
    ]
    text = constant_places.script()
    assert from_source(text, check_well_formed=False).script() == text
