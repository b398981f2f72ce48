"""`tvm.tir`: classes of expressions and statements, visitors and rewriters, functions made of them, the builder."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.interpreter import interpret
from tirax.ir.equality import structural_equal
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import te, tir
from tirax.tvm_api.script import from_source

TEXT = """
@T.prim_func
def main(A: T.Buffer((16, 24), "float32"), D: T.Buffer((16, 24), "float32")):
    C = T.alloc_buffer((16, 24))
    for i, j in T.grid(16, 24):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.exp(A[vi, vj]) + T.float32(1)
    for i in range(16):
        for j in T.parallel(24):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                x = C[vi, vj] * T.float32(2)
                D[vi, vj] = x + x
"""
A = np.random.default_rng(2).standard_normal((16, 24)).astype("float32")


@pytest.fixture(scope="module")
def func():
    return from_source(TEXT.strip())


def run(func, *args):
    """The last argument after a run."""
    mod = tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    verify_module(mod.op)
    copies = [a.copy() for a in args]
    interpret(mod.op, "main", copies)
    return copies[-1]


def rewritten(func, before=None, after=None, only=None):
    return func.with_body(tir.stmt_functor.ir_transform(func.body, before, after, only))


# Expressions

X, Y = tir.Var("x", "int32"), tir.Var("y", "int32")
BINARY = ["Add", "Sub", "Mul", "Mod", "Div", "FloorDiv", "FloorMod", "Min", "Max", "EQ", "NE", "LT", "LE", "GT", "GE"]


@pytest.mark.parametrize("name", BINARY)
def test_binary_expressions(name):
    node = getattr(tir, name)(X, Y)
    assert isinstance(node, getattr(tir, name)) and isinstance(node, tir.PrimExpr)
    assert not any(isinstance(node, getattr(tir, other)) for other in BINARY if other != name)
    assert node.a.same_as(X) or (node.a.name, node.b.name) == ("x", "y")
    assert node.dtype == ("bool" if name in ("EQ", "NE", "LT", "LE", "GT", "GE") else "int32")


def test_operators_make_instances_of_the_classes():
    assert isinstance(X + Y, tir.Add) and isinstance(X // 2, tir.FloorDiv) and isinstance(X < Y, tir.LT)
    assert isinstance((X + 3).b, tir.IntImm) and (X + 3).b.value == 3
    assert isinstance(tir.all(X > 0, Y > 0), tir.And) and isinstance(tir.any(X > 0, Y > 0), tir.Or)
    assert isinstance(tir.exp(X.astype("float32")), tir.Call) and isinstance(X, tir.Var)
    assert not isinstance(X, tir.Add | tir.IntImm) and not isinstance(3, tir.IntImm)
    with pytest.raises(AttributeError):
        (X + Y).value_that_is_not_there  # noqa: B018
    assert not hasattr(X + Y, "buffer")


def test_constructors_fold_nothing():
    assert isinstance(tir.Add(1, tir.IntImm("int32", 2)), tir.Add) and isinstance(X + 0, tir.Var)


def test_other_expressions():
    buffer = tir.decl_buffer((4, 8), "float32", "B")
    load = tir.BufferLoad(buffer, [X, 3])
    assert load.buffer == buffer and load.indices[1].value == 3 and load.dtype == "float32"
    cast = tir.Cast("float16", load)
    assert isinstance(cast, tir.Cast) and isinstance(cast.value, tir.BufferLoad) and cast.dtype == "float16"
    select = tir.Select(X > 1, 1.5, load)
    assert isinstance(select.condition, tir.GT) and isinstance(select.true_value, tir.FloatImm)
    assert (tir.FloatImm("float32", 1.5).value, tir.StringImm("s").value) == (1.5, "s")
    assert isinstance(tir.Not(X > 1).a, tir.GT)
    ramp, same = tir.Ramp(X, 2, 4), tir.Broadcast(load, 4)
    assert (ramp.lanes, ramp.stride.value, same.lanes, same.dtype) == (4, 2, 4, "float32x4")
    picked = tir.Shuffle([ramp, ramp], [0, 5])
    assert len(picked.vectors) == 2 and [int(i) for i in picked.indices] == [0, 5]
    let = tir.Let(X, 3, X * Y)
    assert let.var.name == "x" and let.value.value == 3 and isinstance(let.body, tir.Mul)


def test_calls():
    extern = tir.call_extern("float32", "sinf", tir.FloatImm("float32", 1.0))
    assert extern.op.name == "tir.call_extern" and extern.args[0].value == "sinf" and extern.args[1].value == 1.0
    assert tir.call_intrin("float32", "tir.exp", 1.0).op.name == "tir.exp"
    packed = tir.call_packed("f", X, tir.decl_buffer((4,), "float32", "B"))
    assert packed.dtype == "int32" and isinstance(packed.args[2], tir.Buffer)
    fma = tir.call_llvm_pure_intrin("float32", "llvm.fma", tir.const(3, "uint32"), 1.0, 2.0, 3.0)
    assert [a.value for a in fma.args] == ["llvm.fma", 1.0, 2.0, 3.0]
    assert str(fma).startswith('T.call_llvm_pure_intrin("float32", "llvm.fma", T.uint32(3), ')
    assert tir.if_then_else(X > 1, X, Y).op.name == "tir.if_then_else"
    address = tir.address_of(tir.BufferLoad(tir.decl_buffer((4,), "int8", "B"), [X]))
    assert address.dtype == "handle" and tir.isnullptr(address).dtype == "bool"
    assert tir.ceildiv(X, 4).dtype == "int32" and tir.reinterpret("float32", X).dtype == "float32"
    with pytest.raises(TiraxError, match="the same number of bits"):
        tir.reinterpret("int64", X)
    with pytest.raises(TiraxError, match="the name of a function"):
        tir.Call("int32", "tir.call_extern", [X])


# Views and visitors


def test_views(func):
    root = func.body
    assert isinstance(root, tir.BlockRealize) and root.block.name_hint == "root"
    assert [b.name for b in root.block.alloc_buffers] == ["C"]
    seq = root.block.body
    assert isinstance(seq, tir.SeqStmt) and len(seq) == 2 and len(tir.stmt_list(seq)) == 2
    loop = seq[1]
    assert isinstance(loop, tir.For) and (loop.loop_var.name, int(loop.min), loop.extent.value) == ("i", 0, 16)
    assert loop.kind == tir.ForKind.SERIAL and loop.body.kind == tir.ForKind.PARALLEL
    block = loop.body.body.block
    assert [v.name for v in loop.body.body.iter_values] == ["i", "j"] and loop.body.body.predicate.value == 1
    assert [(v.var.name, v.iter_type, int(v.dom.extent)) for v in block.iter_vars] == [("vi", 0, 16), ("vj", 0, 24)]
    assert [r.buffer.name for r in block.reads] == ["C"] and int(block.writes[0].region[0].extent) == 1
    let = block.body
    assert isinstance(let, tir.LetStmt) and isinstance(let.value, tir.Mul) and isinstance(let.body, tir.BufferStore)
    assert let.body.buffer == func.buffer_map[func.params[1]] and let.body.value.a.same_as(let.var)
    assert let == block.body and let != let.body and root != root.block


def test_post_order_visit(func):
    seen = []
    tir.stmt_functor.post_order_visit(func.body, seen.append)
    kinds = [next((k for k in ("BufferLoad", "BufferStore", "For", "Block") if isinstance(n, getattr(tir, k))), None)
             for n in seen]  # fmt: skip
    assert [k for k in kinds if k] == ["BufferLoad", "BufferStore", "Block", "For", "For"] * 2 + ["Block"]
    assert isinstance(seen[-1], tir.BlockRealize)
    first = []
    tir.stmt_functor.pre_order_visit(func.body, lambda n: first.append(n) or not isinstance(n, tir.For))
    kinds = (tir.BlockRealize, tir.Block, tir.SeqStmt, tir.For)
    assert [type(n) for n in first if isinstance(n, kinds)] == [tir.BlockRealize, tir.Block, tir.SeqStmt] + [
        tir.For
    ] * 2


# Rewriting


def test_nothing_changes_without_functions(func):
    for same in (rewritten(func), rewritten(func, after=lambda n: n)):
        assert same.script() == func.script() and structural_equal(same.op, func.op)


def test_loops_are_replaced(func):
    def unrolled(loop):
        return tir.For(loop.loop_var, loop.min, loop.extent, tir.ForKind.UNROLLED, loop.body)

    new = rewritten(func, None, unrolled, ["tir.For"])
    assert new.script().count("T.unroll(") == 4 and "range(" not in new.script()
    np.testing.assert_allclose(run(new, A, np.zeros_like(A)), 4 * (np.exp(A) + 1), rtol=1e-5)


def test_expressions_are_replaced(func):
    def changed(node):
        if isinstance(node, tir.Call):
            return tir.sqrt(node.args[0] * node.args[0])
        return tir.FloatImm("float32", node.value * 10) if isinstance(node, tir.FloatImm) else None

    new = rewritten(func, after=changed)
    np.testing.assert_allclose(run(new, A, np.zeros_like(A)), 40 * (abs(A) + 10), rtol=1e-5)


def test_what_comes_first_is_not_looked_into(func):
    def zero(node):
        return tir.FloatImm("float32", 0.0) if isinstance(node, tir.BufferLoad) else None

    seen = []
    new = rewritten(func, zero, lambda n: seen.append(n) if isinstance(n, tir.BufferLoad) else None)
    assert not seen and (run(new, A, np.zeros_like(A)) == 0).all()


def test_a_let_and_its_body_are_replaced(func):
    def inlined(node):
        return tir.stmt_functor.substitute(node.body, {node.var: node.value})

    new = rewritten(func, None, inlined, ["tir.LetStmt"])
    assert "x" not in [n.split(":")[0].strip() for n in new.script().splitlines()]
    assert "D[vi, vj] = C[vi, vj] * T.float32(2.0) + C[vi, vj] * T.float32(2.0)" in new.script()


def test_blocks_keep_their_bindings(func):
    def renamed(block):
        return tir.Block(block.iter_vars, block.reads, block.writes, block.name_hint + "_new", block.body,
                         annotations={"a": 1}) if block.name_hint == "D" else None  # fmt: skip

    new = rewritten(func, None, renamed, ["tir.Block"])
    assert 'T.block("D_new")' in new.script() and 'T.block_attr({"a": 1})' in new.script()
    np.testing.assert_allclose(run(new, A, np.zeros_like(A)), 4 * (np.exp(A) + 1), rtol=1e-5)


def test_statements_may_become_several(func):
    def twice(store):
        return tir.SeqStmt([store, tir.BufferStore(store.buffer, store.value + 1.0, store.indices)])

    new = rewritten(func, None, twice, ["tir.BufferStore"])
    np.testing.assert_allclose(run(new, A, np.zeros_like(A)), 4 * (np.exp(A) + 2) + 1, rtol=1e-5)
    with pytest.raises(TiraxError, match="a statement is expected"):
        rewritten(func, None, lambda n: 3, ["tir.For"])


def test_substitute():
    n, m = tir.SizeVar("n", "int64"), tir.SizeVar("m", "int64")
    assert str(tir.stmt_functor.substitute(X * 2 + Y, {X: Y})) == "y * 2 + y"
    assert str(tir.stmt_functor.substitute(X + 1, {X: X + 1}).a.b.value) == "1"
    assert str(tir.stmt_functor.substitute(n * 2, {n: m + 1})) == "m * T.int64(2) + T.int64(2)"
    source, target = (tir.decl_buffer((n,), "float32", name) for name in "ST")
    store = tir.BufferStore(target, tir.BufferLoad(source, [X]), [X])
    moved = tir.stmt_functor.substitute(store, {X: 3, source: target})
    assert moved.value.buffer == target and moved.indices[0].value == 3 and store.indices[0].same_as(X)
    loop = tir.For(X, 0, n, 0, store)
    assert tir.stmt_functor.substitute(loop, {n: 4}).extent.value == 4
    with pytest.raises(TiraxError, match="can only become"):
        tir.stmt_functor.substitute(loop, {n: X})


# Functions


def test_functions_of_handles():
    n = tir.SizeVar("n", "int32")
    source, target = tir.decl_buffer((n,), "float32", "S"), tir.decl_buffer((n,), "float32", "T")
    scale, i, x = tir.Var("scale", "float32"), tir.Var("i", "int32"), tir.Var("x", "float32")
    handle = tir.Var("s", "handle")
    body = tir.SeqStmt([
        tir.For(i, 0, n, tir.ForKind.PARALLEL, tir.IfThenElse(
            i < n // 2,
            tir.LetStmt(x, tir.BufferLoad(source, [i]) * scale, tir.BufferStore(target, x + x, [i])),
            tir.BufferStore(target, 1.0, [i]),
        ), annotations={"k": 2}),
        tir.AssertStmt(n > 0, "none", tir.Evaluate(0)),
    ])  # fmt: skip
    result = tir.PrimFunc([handle, target, scale], body, buffer_map={handle: source}, attrs={"global_symbol": "f"})
    text = result.script()
    assert "def f(s: T.handle, " in text and "S = T.match_buffer(s, (n,))" in text
    assert from_source(text).script() == text
    data = np.arange(6, dtype="float32")
    expected = np.where(np.arange(6) < 3, 4 * data, 1)
    out = tvm.nd.array(np.zeros(6, "float32"))
    tvm.build(result, target="llvm")["f"](tvm.nd.array(data), out, 2.0)
    np.testing.assert_allclose(out.numpy(), expected)


def test_blocks_of_handles():
    a, b = (tir.decl_buffer((4, 8), "float32", name) for name in "AB")
    i, k = tir.Var("i", "int32"), tir.Var("k", "int32")
    vi, vk = (
        tir.IterVar(tvm.ir.Range(0, 4), tir.Var("vi", "int32"), 0),
        tir.IterVar((0, 8), "vk", tir.IterVar.CommReduce),
    )
    here = [vi.var, 0]
    block = tir.Block(
        [vi, vk],
        [tir.BufferRegion(a, [tvm.ir.Range.from_min_extent(vi.var, 1), tvm.ir.Range.from_min_extent(vk.var, 1)])],
        [tir.BufferRegion(b, [tvm.ir.Range.from_min_extent(vi.var, 1), tvm.ir.Range(0, 1)])],
        "sum",
        tir.BufferStore(b, tir.BufferLoad(b, here) + tir.BufferLoad(a, [vi.var, vk.var]), here),
        init=tir.BufferStore(b, 0.0, here),
    )
    body = tir.For(i, 0, 4, 0, tir.For(k, 0, 8, 0, tir.BlockRealize([i, k], k < 6, block)))
    result = tir.PrimFunc([a, b], body)
    text = result.script()
    assert 'vi, vk = T.axis.remap("SR", [i, k])' in text and "T.where(k < 6)" in text and "with T.init():" in text
    data = np.random.default_rng(0).standard_normal((4, 8)).astype("float32")
    np.testing.assert_allclose(run(result, data, np.zeros_like(data))[:, 0], data[:, :6].sum(1), rtol=1e-5)


def test_other_statements_of_handles():
    a, local = tir.decl_buffer((8,), "float32", "A"), tir.decl_buffer((8,), "float32", "L")
    i, c = tir.Var("i", "int32"), tir.decl_buffer((1,), "int32", "c")
    place = tir.Var("p", "handle")
    count = tir.BufferStore(c, tir.BufferLoad(c, [0]) + 1, [0])
    fill = tir.While(tir.BufferLoad(c, [0]) < 8, tir.SeqStmt([
        tir.BufferStore(local, tir.BufferLoad(c, [0]).astype("float32"), [tir.BufferLoad(c, [0])]), count,
    ]))  # fmt: skip
    copy = tir.For(i, 0, 8, tir.ForKind.VECTORIZED, tir.BufferStore(a, tir.BufferLoad(local, [i]), [i]))
    inner = tir.DeclBuffer(c, tir.SeqStmt([tir.BufferStore(c, 0, [0]), fill, tir.AttrStmt("x", "key", 1, copy)]))
    body = tir.Allocate(place, "float32", [8], True, tir.DeclBuffer(local, inner, data=place))
    result = tir.PrimFunc([a], body)
    np.testing.assert_allclose(run(result, np.zeros(8, "float32")), np.arange(8))
    assert from_source(result.script()).script() == result.script()
    assert isinstance(result.body, tir.Allocate) and result.body.extents[0].value == 8


def test_specialize():
    text = """
@T.prim_func
def main(a: T.handle, b: T.handle, k: T.int32, s: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (n, 4))
    B = T.match_buffer(b, (n, k))
    for i, j in T.grid(n, k):
        B[i, j] = A[i, j] * s + T.Cast("float32", k)
"""
    func = from_source(text.strip())
    a, _, k, s = func.params
    new = func.specialize({a: tir.decl_buffer((16, 4)), k: 3, s: 2.0})
    assert 'def main(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16, 3), "float32")):' in new.script()
    data = np.ones((16, 4), "float32")
    np.testing.assert_allclose(run(new, data, np.zeros((16, 3), "float32")), 5)
    assert func.script().count("T.handle") == 2
    for wrong in ({a: tir.decl_buffer((16, 5))}, {a: tir.decl_buffer((16,))}, {tir.Var("q"): 1}):
        with pytest.raises(TiraxError):
            func.specialize(wrong)


# The builder


def test_ir_builder_in_te():
    n = te.var("n")
    source = te.placeholder((n, 4), name="A")

    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, n, "i", kind="parallel") as i:
            total = ib.allocate("float32", (1,), "total", scope="local")
            total[0] = 0.0
            with ib.for_range(0, 4, "j") as j:
                total[0] = total[0] + a[i * 4 + j]
            twice = ib.let("twice", total[0] * 2.0)
            with ib.if_scope(ib.likely(i > 1)):
                b[i] = twice
            with ib.else_scope():
                b[i] = -1.0
        return ib.get()

    out = te.extern((n,), [source], body, name="B", dtype="float32")
    func = te.create_prim_func([source, out])
    assert from_source(func.script()).script() == func.script()
    data = np.random.default_rng(3).standard_normal((5, 4)).astype("float32")
    actual = tvm.nd.array(np.zeros(5, "float32"))
    tvm.build(func, target="llvm")["main"](tvm.nd.array(data), actual)
    np.testing.assert_allclose(actual.numpy(), np.where(np.arange(5) > 1, 2 * data.sum(1), -1), rtol=1e-5)


def test_ir_builder_refuses():
    ib = tir.ir_builder.create()
    with pytest.raises(TiraxError, match="follows an if_scope"), ib.else_scope():
        pass
    with pytest.raises(TiraxError, match="no loops of the kind"), ib.for_range(0, 4, kind="fast"):
        pass
    buffer = ib.buffer_ptr(tir.decl_buffer((4,), "float32"))
    with pytest.raises(TiraxError, match="another dtype"):
        buffer[0] = tir.IntImm("int32", 1)


# Buffers


def test_accesses_of_buffers():
    n = tir.SizeVar("n", "int32")
    buffer = tir.decl_buffer((4, 8), "float32", "B")
    assert isinstance(buffer[X, 2], tir.BufferLoad) and buffer[X, 2].indices[1].value == 2
    vector = buffer[X, 0:8:2]
    assert vector.dtype == "float32x4" and vector.indices[1].stride.value == 2
    part = buffer[0:2, X]
    assert isinstance(part, tir.BufferRegion) and [int(r.extent) for r in part.region] == [2, 1]
    assert isinstance(buffer[X, 0:n], tir.BufferRegion)
    ranges = [tvm.ir.Range.from_min_extent(X * 4 + 2, 3), tvm.ir.Range.from_min_extent(1, 3)]
    assert str(tir.BufferRegion(buffer, ranges)) == "B[x * 4 + 2:x * 4 + 2 + 3, 1:4]"
    assert buffer.vload([X, 0], "float32x8").dtype == "float32x8" and buffer.vload([X, 0]).dtype == "float32"
    store = buffer.vstore([X, 0], tir.Broadcast(tir.const(1.0, "float32"), 4))
    assert isinstance(store, tir.BufferStore) and store.indices[1].lanes == 4
    assert str(buffer.offset_of([2, 3])[0]) == "19" and buffer.get_flattened_buffer().shape == [32]
    strided = tir.decl_buffer((4, 8), "float32", "S", strides=[16, 1], elem_offset=n)
    assert strided.offset_of([1, 2])[0].b.value == 18 and strided.access_ptr("r").args[4].value == 1
    assert buffer.data.dtype == "handle" and buffer.axis_separators == []
    assert [str(d) for d in strided.get_flattened_buffer().shape] == ["64"]
    separate = tir.decl_buffer((4, 16, 32), axis_separators=[2]).get_flattened_buffer()
    assert separate.shape == [64, 32] and separate.axis_separators == [1]
    assert buffer.data.same_as(buffer.get_flattened_buffer().data) and not buffer.data.same_as(strided.data)
    assert str(strided.access_ptr("r").args[3]) == "64"
    digits = tir.decl_buffer((4, 14, 8)).offset_of([(X * 49 + n) // 14, (X * 7 + n) % 14, 3])[0]
    assert str(digits) == f"{X} * 392 + {n} * 8 + 3"
    wide = tir.decl_buffer((n, 3), "float32", strides=[n + 1, 1])
    assert str(wide.access_ptr("r").args[3]) == "(n + 1) * n"
    assert str(wide.access_ptr("r", offset=100).args[3]) == "(n + 1) * n - 100"
    line = tir.decl_buffer((8,))
    assert line.get_flattened_buffer().same_as(line)
    for wrong in (
        lambda: buffer[1],
        lambda: buffer.vload([0, 0], "int32"),
        lambda: tir.decl_buffer((1,), axis_separators=[1, 2]),
    ):
        with pytest.raises(TiraxError):
            wrong()


def test_text(func):
    x = tir.Var("x", "float32")
    assert str(tir.exp(x) * 2.0) == "T.exp(x) * T.float32(2.0)" and str(x) == "x"
    assert str(tir.if_then_else(Y > 1, x, 0.0)) == "T.if_then_else(y > 1, x, T.float32(0.0))"
    assert tir.Add(X, 1).script() == "x + 1" and tir.StringImm("s").script() == '"s"'
    buffer = tir.decl_buffer((8,), "float16", "B")
    store = tir.For(X, 0, 8, 0, tir.BufferStore(buffer, buffer[X] * Y.astype("float16"), [X]))
    assert store.script().splitlines() == [
        "for x in range(8):",
        '    B = T.Buffer((8,), "float16")',
        "    y = T.int32()",
        '    B[x] = B[x] * T.Cast("float16", y)',
    ]
    assert 'with T.block("C"):' in func.body.block.body[0].script()
    assert "for i, j in T.grid(16, 24):" in str(func.body)


def test_definitions_are_renewed():
    f = tvm.script.from_source(
        "from tvm.script import tir as T\n@T.prim_func\n"
        "def f(A: T.Buffer((8,), 'float32'), n: T.int32):\n"
        "    B = T.alloc_buffer((8,))\n"
        "    for i in range(n):\n        with T.block('B'):\n"
        "            vi = T.axis.spatial(8, i)\n            B[vi] = A[vi]\n"
    )
    new = tir.stmt_functor.renew_defs(f)
    tvm.ir.assert_structural_equal(f, new)
    assert f != new and all(a != b for a, b in zip(f.params, new.params, strict=True))
    assert all(f.buffer_map[a] != new.buffer_map[b] for a, b in zip(f.buffer_map, new.buffer_map, strict=True))
    ours, theirs = f.body.block, new.body.block
    assert ours.alloc_buffers[0] != theirs.alloc_buffers[0] and ours.body.loop_var != theirs.body.loop_var


def test_free_buffers_and_variables_of_scripts():
    """They are declared in the body; only where a script is checked they are refused."""
    text = """
@T.prim_func(private=True)
def main():
    given = T.handle("float32")
    flag = T.bool()
    free = T.Buffer((4,), "int32")
    buffer = T.decl_buffer((1,), data=given)
    if flag:
        free[1] = T.Cast("int32", buffer[0])
"""
    func = from_source(text, check_well_formed=False)
    again = from_source(func.script(), check_well_formed=False)
    assert structural_equal(again.op, func.op) and again.script() == func.script()
    with pytest.raises(TiraxError, match="where it is not defined"):
        from_source(text)


def test_floating_point_constants_are_of_floating_point_types():
    with pytest.raises(TypeError, match="FloatImm"):
        tir.FloatImm("int32", 1.0)


def test_addresses_and_bits_that_stay():
    address = tvm.script.tir.handle("int32", "shared")
    assert isinstance(address, tir.Var) and address.type_annotation.storage_scope == "shared"
    x = tir.Var("x", "float32")
    assert tir.reinterpret("float32", x) is x and tir.reinterpret("int32", x).dtype == "int32"
    func = from_source('@T.prim_func\ndef main(x: T.float32):\n    T.evaluate(T.reinterpret("float32", x))\n')
    assert "reinterpret" not in func.script()
    text = from_source('@T.prim_func\ndef main(x: T.float32):\n    T.evaluate(T.reinterpret(x, dtype="int32"))\n')
    assert 'T.reinterpret("int32", x)' in text.script()


def test_the_node_of_an_attribute_is_the_variable_itself():
    n, other = tir.Var("n", "int32"), tir.Var("n", "int32")
    node = tir.AttrStmt(n, "key", 1, tir.Evaluate(0)).node
    assert node == n and n == node and node.same_as(n) and {n: 1}[node] == 1
    assert node != other and other != node


def test_a_junction_of_lanes_by_itself_prints_as_an_infix():
    a, b = tir.Var("a", "boolx4"), tir.Var("b", "boolx4")
    assert (str(tir.And(a, b)), str(tir.Or(a, b))) == ("a and b", "a or b")
