"""Prim_funcs: each construct of the language, by what it prints as and by what it becomes."""

import textwrap

import pytest
from xdsl.dialects.builtin import FileLineColLoc, VectorType, i1, i32, i64

from tirax.dialects import tir
from tirax.dialects.names import name_of
from tirax.dialects.sym.expr import Const, Var
from tirax.handles.tir.prim_expr import const
from tirax.handles.tir.variables import SizeVar
from tirax.script import ScriptError, parse_function, parse_source, print_script

SIGNATURE = '@T.prim_func\ndef f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n'


def function(body: str, signature: str = SIGNATURE) -> tir.FuncOp:
    """The verified function of a body."""
    op = parse_function(signature + textwrap.indent(textwrap.dedent(body).strip(), "    "))
    assert isinstance(op, tir.FuncOp)
    op.parent_op().verify()
    return op


def printed(body: str, signature: str = SIGNATURE) -> str:
    """The body as it prints; printing and parsing again must change nothing."""
    module = function(body, signature).parent_op()
    text = print_script(module)
    assert print_script(parse_source(text)) == text
    lines = text.split("@T.prim_func\n", 1)[1].splitlines()[1:]
    return "\n".join(line[8:] for line in lines if "# with T.block" not in line)


SAME = {
    "bindings of another type": """
        with T.block("b"):
            v = T.axis.spatial(1, T.int64(0))
            w = T.axis.spatial(T.int64(2), T.int64(1))
            T.reads()
            T.writes(A[0])
            A[0] = T.float32(1.0)
        """,
    "vectors": """
        A[0:4] = B[0:4] + T.Broadcast(T.float32(1.0), 4)
        for i in range(4):
            A[i * 4:i * 4 + 4] = B[i * 4:i * 4 + 4]
        """,
    "loop kinds": """
        for i in T.parallel(16):
            for j in T.vectorized(4):
                for k in T.unroll(4):
                    for l in T.serial(1, 4, annotations={"a": 1}):
                        for t in T.thread_binding(4, thread="threadIdx.x"):
                            A[i] = B[j] + T.Cast("float32", k + l + t)
        """,
    "let": """
        x: T.float32 = B[0] + T.float32(1.0)
        A[0] = x
        """,
    "branches": """
        for i in range(16):
            if i < 3 and B[i] > T.float32(0.0) or not i == 4:
                A[i] = T.float32(1.0)
            else:
                A[i] = T.if_then_else(i % 2 == 0, B[i], T.float32(0.0))
        """,
    "select": """
        for i in range(16):
            A[i] = T.Select(0 <= i and i < 8, B[i], T.float32("-inf"))
        """,
    "intrinsics": """
        A[0] = T.exp(B[0]) + T.pow(B[1], T.float32(2.0)) + T.sqrt(B[2]) + T.sigmoid(B[3]) + T.floor(B[1])
        A[1] = T.max(B[0], T.float32(0.0)) + T.min(B[1], T.float32(3.0))
        A[2] = T.fma(B[0], B[1], B[2])
        """,
    "integers": """
        for i in range(16):
            A[i] = T.Cast("float32", i // 4 + i % 4 + T.shift_left(i, 2) + T.bitwise_and(i, 3))
            B[i] = T.Cast("float32", T.bitwise_or(i, 1) + T.bitwise_xor(i, 2) + T.shift_right(i, 1) + T.bitwise_not(i))
        """,
    "calls": """
        T.call_extern("int32", "f", A.data, 3)
        T.call_packed("g", A, B[0], "text")
        A[0] = T.call_llvm_pure_intrin("float32", "llvm.fma", B[0], B[1], B[2])
        A[2] = T.reinterpret("float32", 7)
        """,
    "while": """
        i = T.alloc_buffer((1,), "int32")
        i[0] = 0
        while i[0] < 16:
            A[i[0]] = B[i[0]]
            i[0] = i[0] + 1
        """,
    "assert and attr": """
        assert B[0] > T.float32(0.0), "positive"
        T.attr(0, "pragma", 1)
        A[1] = T.float32(1.0)
        """,
    "block": """
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi = T.axis.spatial(16, i * 4 + j)
                T.where(i * 4 + j < 15)
                T.reads(B[vi])
                T.writes(A[vi])
                T.block_attr({"x": 1})
                A[vi] = B[vi]
        """,
    "match_buffer of a region": """
        for i in range(4):
            with T.block("m"):
                vi = T.axis.spatial(4, i)
                T.reads(B[vi * 4:vi * 4 + 4])
                T.writes(A[vi * 4:vi * 4 + 4])
                S = T.match_buffer(B[vi * 4:vi * 4 + 4], (4,))
                for j in range(4):
                    A[vi * 4 + j] = S[j]
        """,
    "constants": """
        C = T.allocate_const([1.0, 2.0], "float32", [2])
        A[0] = C[1]
        D = T.decl_buffer((16,), data=A.data)
        D[0] = T.float32(1.0)
        """,
    "attributes": """
        T.func_attr({"l": [1, 2], "s": "x", "tir.noalias": T.bool(True)})
        A[0] = T.float32(1.0)
        """,
    "no reads": """
        with T.block("o"):
            T.reads()
            T.writes(A[0])
            A[0] = T.float32(1.0)
        """,
    "int64 loops": """
        for i in range(T.int64(16)):
            A[i] = B[i]
        """,
}


@pytest.mark.parametrize("name", SAME)
def test_prints_as_written(name: str) -> None:
    assert printed(SAME[name]) == textwrap.dedent(SAME[name]).strip()


BECOMES = {
    "python numbers": ("A[0] = B[0] * 2 + 1", "A[0] = B[0] * T.float32(2.0) + T.float32(1.0)"),
    "folding": ("A[0] = B[0] * T.float32(1) + 0", "A[0] = B[0]"),
    "folded bounds": ("for i in range(2 * 3 + 1):\n    A[i + 0] = B[i * 1]", "for i in range(7):\n    A[i] = B[i]"),
    "augmented": ("A[0] += B[0]", "A[0] = A[0] + B[0]"),
    "chained": (
        "A[0] = T.Select(0 < B[0] < 1, 1.0, 2.0)",
        "A[0] = T.Select(T.float32(0.0) < B[0] and B[0] < T.float32(1.0), T.float32(1.0), T.float32(2.0))",
    ),
    "negation": ("A[0] = -B[0]", "A[0] = B[0] * T.float32(-1.0)"),
    "casts": ("A[0] = T.float32(B[0] > 0.0)", 'A[0] = T.Cast("float32", B[0] > T.float32(0.0))'),
    "astype": (
        'A[0] = B[0].astype("float16") + T.float16(1)',
        'A[0] = T.Cast("float32", T.Cast("float16", B[0]) + T.float16(1.0))',
    ),
    "mixed integers": (
        "for i, j in T.grid(T.int64(4), 4):\n    A[i + j] = B[i]",
        'for i, j in T.grid(T.int64(4), 4):\n    A[i + T.Cast("int64", j)] = B[i]',
    ),
    "elif": (
        "if B[0] > 1.0:\n    A[0] = 1\nelif B[0] > 0.0:\n    A[0] = 2",
        "if B[0] > T.float32(1.0):\n    A[0] = T.float32(1.0)\nelse:\n    if B[0] > T.float32(0.0):\n"
        "        A[0] = T.float32(2.0)",
    ),
    "constant branches": ("if 1 < 2:\n    A[0] = 1\nelse:\n    A[0] = 2", "A[0] = T.float32(1.0)"),
    "let statements of declared variables": (
        "x = T.float32()\nwith T.let(x, B[0]):\n    n = T.int32()\n    with T.LetStmt(4, var=n):\n        A[n] = x",
        "x: T.float32 = B[0]\nn: T.int32 = 4\nA[n] = x",
    ),
    "nodes are not folded": (
        "A[T.Add(0, 1)] = T.Add(B[0], T.float32(0.0)) + (B[0] + 0)",
        "A[T.Add(0, 1)] = T.Add(B[0], T.float32(0.0)) + B[0]",
    ),
    "vectors by method": (
        'A.vstore([4], B.vload([8], "float32x4"))\nA.vstore(0, B[1])',
        "A[4:8] = B[8:12]\nA[0] = B[1]",
    ),
    "falling ramp": ("A[T.Ramp(15, -1, 4)] = B[0:4]", "A[T.Ramp(15, -1, 4)] = B[0:4]"),
    "let statements": ("with T.LetStmt(B[0]) as x:\n    A[0] = x", "x: T.float32 = B[0]\nA[0] = x"),
    "ceildiv": ("for i in range(T.ceildiv(10, 4)):\n    A[i] = 0", "for i in range(3):\n    A[i] = T.float32(0.0)"),
    "ramp": ("A[T.Ramp(0, 2, 4)] = T.Broadcast(B[0], 4)", "A[0:8:2] = T.Broadcast(B[0], 4)"),
    "constants of Python": ("A[0] = (1 + 2) ** 2 % 5", "A[0] = T.float32(4.0)"),
    "infinity": ('A[0] = T.infinity("float32")', 'A[0] = T.float32("inf")'),
    "own name": (
        'T.func_attr({"global_symbol": "f", "x": 1})\nA[0] = 1',
        'T.func_attr({"x": 1})\nA[0] = T.float32(1.0)',
    ),
}


@pytest.mark.parametrize("name", BECOMES)
def test_becomes(name: str) -> None:
    source, expected = BECOMES[name]
    assert printed(source) == expected


REGIONS = {
    "reduction": (
        "for i, k in T.grid(4, 4):\n    with T.block('r'):\n        vi, vk = T.axis.remap('SR', [i, k])\n"
        "        with T.init():\n            A[vi] = 0\n        A[vi] = A[vi] + B[vi * 4 + vk]",
        ["T.reads(B[vi * 4 + vk])", "T.writes(A[vi])"],
    ),
    "update": (
        "for i, k in T.grid(4, 4):\n    with T.block('r'):\n        vi, vk = T.axis.remap('SR', [i, k])\n"
        "        A[vi] = A[vi] + B[vi * 4 + vk]",
        ["T.reads(A[vi], B[vi * 4 + vk])", "T.writes(A[vi])"],
    ),
    "window": (
        "for i in range(4):\n    with T.block('w'):\n        vi = T.axis.spatial(4, i)\n        for j in range(3):\n"
        "            A[vi] = B[vi + j]",
        ["T.reads(B[vi:vi + 3])", "T.writes(A[vi])"],
    ),
    "stencil": (
        "for i in range(4):\n    with T.block('w'):\n        vi = T.axis.spatial(4, i)\n"
        "        A[vi] = B[vi + 2] + B[vi]",
        ["T.reads(B[vi:vi + 3])", "T.writes(A[vi])"],
    ),
    "gather": (
        "for i in range(4):\n    with T.block('w'):\n        vi = T.axis.spatial(4, i)\n"
        "        A[vi] = B[T.Cast('int32', B[vi])]",
        ["T.reads(B[0:16])", "T.writes(A[vi])"],
    ),
    "pointer": (
        "with T.block('w'):\n    T.evaluate(T.call_extern('int32', 'f', A.data))",
        ["T.reads(A[0:16])", "T.writes(A[0:16])"],
    ),
    "nested blocks": (
        "for i in range(4):\n    with T.block('o'):\n        vi = T.axis.spatial(4, i)\n        for j in range(4):\n"
        "            with T.block('i'):\n                vj = T.axis.spatial(4, j)\n"
        "                A[vi * 4 + vj] = B[vi * 4 + vj]",
        ["T.reads(B[vi * 4:vi * 4 + 4])", "T.writes(A[vi * 4:vi * 4 + 4])"],
    ),
    "modulo": (
        "with T.block('o'):\n    for j in range(9):\n        A[j % 4] = B[j // 2]",
        ["T.reads(B[0:5])", "T.writes(A[0:4])"],
    ),
    "vectors": ("with T.block('o'):\n    A[0:4] = B[4:8]", ["T.reads(B[4:8])", "T.writes(A[0:4])"]),
    "local buffers": (
        "with T.block('o'):\n    C = T.alloc_buffer((4,))\n    C[0] = B[0]\n    A[0] = C[0]",
        ["T.reads(B[0])", "T.writes(A[0])"],
    ),
    "only writes given": (
        "with T.block('o'):\n    T.writes(A[0:2])\n    A[0] = B[0]",
        ["T.reads(B[0])", "T.writes(A[0:2])"],
    ),
    "conditions": (
        "with T.block('o'):\n    for j in range(4):\n        A[j] = T.if_then_else(j < 2, B[j], B[8])",
        ["T.reads(B[0:9])", "T.writes(A[0:4])"],
    ),
}


@pytest.mark.parametrize("name", REGIONS)
def test_regions_are_inferred(name: str) -> None:
    source, expected = REGIONS[name]
    lines = [line.strip() for line in printed(source).splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("T.reads"))
    assert lines[start : start + 2] == expected


def test_handles_symbolic_shapes_and_scalars() -> None:
    signature = (
        "@T.prim_func(private=True)\ndef f(a: T.handle, n: T.int32, var_B: T.handle, p: T.handle, s: T.float32):\n"
    )
    op = function(
        """
        m = T.int64()
        A = T.match_buffer(a, (n, m), "float16", strides=(m, 1), scope="local", align=128, offset_factor=4)
        B = T.match_buffer(var_B, (m * 2 + 1,))
        for i in range(n):
            B[i] = T.Cast("float32", A[i, 0]) * s + T.Cast("float32", n)
        """,
        signature,
    )
    assert op.private
    assert [h.data for h in op.handle_names] == ["a", "n", "var_B", "p", "s"]
    assert [name_of(p) for p in op.params] == ["A", "n", "B", "p", "s"]
    a, n, b, p, _ = (v.type for v in op.params)
    assert (n, p) == (i32, tir.HANDLE)
    assert a.dims == (Var("n", i32), Var("m"))
    assert a.explicit_strides == (Var("m"), Const(1, i32))
    assert (a.scope.data, a.align.data, a.offset_factor.data) == ("local", 128, 4)
    assert b.dims == (Var("m") * 2 + 1,)
    loop = next(o for o in op.body.block.ops if isinstance(o, tir.ForOp))
    assert loop.extent == Var("n", i32)
    uses = [o for o in loop.walk() if isinstance(o, tir.CastOp) and o.value is op.params[1]]
    assert len(uses) == 1  # the scalar itself, not its symbolic value


@pytest.mark.parametrize("dtype", [i32, i64])
def test_named_strides_are_of_the_type_of_the_extents(dtype) -> None:
    body = f"""
        n = T.int{dtype.width.data}()
        A = T.match_buffer(a, (n, n), strides=("row", 1), elem_offset="start")
        A[n - 1, 0] = T.float32(A.strides[0])
    """
    op = function(body, "@T.prim_func\ndef f(a: T.handle):\n")
    t = op.params[0].type
    assert t.explicit_strides[0] == Var("row", dtype)
    assert t.elem_offset == Var("start", dtype)


def test_integer_literals_are_int32_in_shapes() -> None:
    op = function("A[0] = B[T.int64(0)]")
    assert op.params[0].type.dims[0].dtype == i32
    load = next(o for o in op.walk() if isinstance(o, tir.LoadOp))
    assert load.indices[0].type == i64


def test_ranges_with_a_start() -> None:
    op = function("for i in range(16):\n    for j in range(i, 16):\n        A[j] = B[i]")
    inner = [o for o in op.walk() if isinstance(o, tir.ForOp)][1]
    assert inner.min is op.body.block.first_op.loop_var
    assert isinstance(inner.extent.owner, tir.SubOp)


def test_loops_of_one_name_and_shadowing() -> None:
    op = function("for i in range(4):\n    A[i] = 0\nfor i in range(8):\n    A[i] = 1")
    assert [o.extent.constant for o in op.body.block.ops] == [4, 8]


def test_if_then_else_is_lazy_and_select_is_not() -> None:
    op = function("A[0] = T.if_then_else(B[0] > 0.0, B[1], 0)\nA[1] = T.Select(B[0] > 0.0, B[1], 0)")
    lazy = next(o for o in op.walk() if isinstance(o, tir.IfThenElseOp))
    assert any(isinstance(o, tir.LoadOp) for o in lazy.then_region.block.ops)
    select = next(o for o in op.walk() if isinstance(o, tir.SelectOp))
    assert isinstance(select.true_value.owner, tir.LoadOp)
    assert select.parent is op.body.block


def test_no_expression_is_left_unused() -> None:
    op = function("for i in range(4):\n    A[i * 4:i * 4 + 4] = B[0:4]")
    for inner in op.walk():
        assert not inner.results or any(r.uses for r in inner.results)


def test_return_value() -> None:
    op = function("T.evaluate(T.ret(B[0]))")
    assert isinstance(op.body.block.last_op, tir.ReturnOp)
    assert str(op.ret_type) == "f32"


def test_root_block_is_implicit() -> None:
    body = "with T.block('root'):\n    C = T.alloc_buffer((4,))\n    C[0] = B[0]\n    A[0] = C[0]"
    assert not any(isinstance(o, tir.BlockOp) for o in function(body).walk())


def test_locations_are_those_of_the_text() -> None:
    module = parse_source("\n\n" + SIGNATURE + "    A[0] = 1.0\n    A[1] = B[2] + 1.0\n", "kernel.py")
    stores = [o for o in module.walk() if isinstance(o, tir.StoreOp)]
    assert [(o.location.line.data, o.location.column.data) for o in stores] == [(5, 5), (6, 5)]
    load = next(o for o in module.walk() if isinstance(o, tir.LoadOp))
    assert isinstance(load.location, FileLineColLoc)
    assert (load.location.filename.data, load.location.line.data, load.location.column.data) == ("kernel.py", 6, 12)


def test_captured_values() -> None:
    text = SIGNATURE + "    for i in range(shape[0] // cfg):\n        A[i] = value\n"
    op = parse_function(text, extra_vars={"shape": (16, 3), "cfg": 2, "value": 0.5})
    assert op.body.block.first_op.extent == Const(8, i32)


def test_captured_scalars_of_tir() -> None:
    text = SIGNATURE + "    for i in range(n):\n        A[i] = B[i] * x + half\n"
    values = {"n": const(4, "int32"), "x": const(3, "float32"), "half": const(0.5, "float16")}
    op = parse_function(text, extra_vars=values)
    assert "A[i] = B[i] * T.float32(3.0) + T.float32(0.5)" in print_script(op)
    symbolic = {"n": SizeVar("n", "int64") * 2}
    relax = parse_function('@R.function\ndef f(x: R.Tensor((n, 4), "float32")):\n    return x', extra_vars=symbolic)
    assert 'R.Tensor(("n * 2", 4)' in print_script(relax)


def test_a_condition_beside_conditions_of_lanes_holds_for_each():
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "bool"), n: T.int32):
    B[0:8] = A[0:8] < 3 and n > 0
"""
    func = parse_function(text)
    (junction,) = (op for op in func.walk() if isinstance(op, tir.CallIntrinOp))
    assert junction.func.data == "bitwise_and" and junction.result.type == VectorType(i1, [8])
    assert isinstance(junction.operands[1].owner, tir.BroadcastOp)


@pytest.mark.parametrize("name", ["And", "Or", "bitwise_and", "bitwise_or"])
def test_junctions_of_lanes_keep_their_kind(name):
    body = f"A[0:16] = T.Select(T.{name}(A[0:16] < B[0:16], A[0:16] < A[0:16]), A[0:16], B[0:16])"
    assert printed(body) == body


@pytest.mark.parametrize(("kind", "broadcast"), [("", False), ("default", False), ("auto", True)])
def test_the_type_of_a_buffer(kind: str, broadcast: bool) -> None:
    func = parse_function(
        f"""@T.prim_func
def f(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), strides=("s",), buffer_type={kind!r})
    T.evaluate(A.strides[0])"""
    )
    (param,) = func.params
    assert param.type.is_broadcast is broadcast


def test_an_unknown_type_of_a_buffer_is_refused() -> None:
    with pytest.raises(ScriptError, match="an unknown buffer_type"):
        parse_function("@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (4,), buffer_type='wide')")


@pytest.mark.parametrize(
    ("inputs", "rest", "printed_as"),
    [
        ("elem_offset=o", "0", "offset_factor=1"),
        ("elem_offset=o, offset_factor=8", "0", "offset_factor=8"),
        ("elem_offset=o", "o", "elem_offset=o"),
        ("elem_offset=o * 2", "0", "elem_offset=o * 2"),
        ("elem_offset=n", "0", "elem_offset=n"),
    ],
)
def test_an_offset_of_which_nothing_else_is_known_is_any(inputs: str, rest: str, printed_as: str) -> None:
    text = f"""
@T.prim_func
def f(n: T.int32):
    o = T.int32()
    A = T.decl_buffer((4,), {inputs})
    A[{rest}] = T.float32(0)
"""
    func = parse_function(text)
    shown = print_script(func)
    assert f"    A = T.decl_buffer((4,), {printed_as})\n" in shown
    assert print_script(parse_function(shown)) == shown


def test_iterators_in_attributes_launch_threads() -> None:
    lines = """\
t = T.int32()
v = T.env_thread("vthread")
T.attr(T.iter_var(t, T.Range(0, 32), "ThreadIndex", "threadIdx.x"), "thread_extent", 32)
with T.attr(T.iter_var(v, None, "ThreadIndex", "vthread"), "virtual_thread", 2):
    A[0] = B[0]"""
    outer, inner = (o for o in function(lines).walk() if isinstance(o, tir.LaunchThreadOp))
    assert (outer.tag.data, inner.tag.data) == ("threadIdx.x", "vthread")
    assert (name_of(outer.index), name_of(inner.index)) == ("t", "v")
    with pytest.raises(ScriptError, match="an iterator in an attribute is a thread"):
        function('t = T.int32()\nT.attr(T.iter_var(t, None, "ThreadIndex", "threadIdx.x"), "note", 32)\nA[0] = B[0]')
