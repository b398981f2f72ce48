"""Regions of blocks: what each construct reads and writes, and that no access of random loops lies outside."""

from __future__ import annotations

import random
import textwrap
from itertools import product

import pytest
from xdsl.ir import Block

from tirax.dialects import tir
from tirax.dialects.names import name_of
from tirax.dialects.sym.expr import Const, SymExpr, Var, floordiv, floormod
from tirax.dialects.sym.operators import eq, le, lt, minimum, ne
from tirax.ir.affine.values import Materializer, sym_expr_of
from tirax.ir.buffers.regions import accessed, accessed_by, accesses_by_kind, infer_regions, relaxed
from tirax.script import parse_source, print_script

HEAD = """
@T.prim_func
def main(
    A: T.Buffer((T.int64(16), T.int64(8)), "float32"),
    X: T.Buffer((8,), "int32"),
    B: T.Buffer((T.int64(16), T.int64(4)), "float32"),
    C: T.Buffer((64,), "float32"),
):
    for i in range(16):
        with T.block("block"):
            vi = T.axis.spatial(16, i)
"""

INFERRED = {
    "casts": (
        'for k in range(4):\n    B[T.Cast("int64", vi), T.Cast("int64", k)] = '
        'A[T.Cast("int64", vi), T.Cast("int64", k) + T.int64(2)]',
        ('A[T.Cast("int64", vi), T.int64(2):T.int64(6)]', 'B[T.Cast("int64", vi), T.int64(0):T.int64(4)]'),
    ),
    "loads": (
        'for k in range(4):\n    B[T.Cast("int64", vi), T.Cast("int64", X[k])] = T.float32(0)',
        ("X[0:4]", 'B[T.Cast("int64", vi), T.int64(0):T.int64(4)]'),
    ),
    "digits": (
        "for k in range(4):\n    B[vi, k % 4] = A[k // 2 * k, (k + 8) % 8] + A[vi, k % 3]",
        ("A[T.int64(0):T.int64(16), 0:4]", "B[vi, 0:4]"),
    ),
    "a load that casts to fewer bits": (
        'for k in range(4):\n    C[T.Cast("int8", k)] = T.float32(0)',
        ("", "C[0:64]"),
    ),
    "a vector": ("C[T.Ramp(vi, 2, 4)] = C[T.Ramp(vi + 20, -1, 4)]", ("C[vi + 17:vi + 17 + 4]", "C[vi:vi + 7]")),
    "a repeated index": ("C[T.Broadcast(vi, 4)] = T.Broadcast(T.float32(1), 4)", ("", "C[vi]")),
    "vectors of vectors": (
        "for k in range(3):\n    C[T.Ramp(k * 4, 1, 4)] = T.Broadcast(T.float32(1), 4)",
        ("", "C[0:12]"),
    ),
    "a branch": (
        "if vi < 3:\n    C[vi] = A[T.int64(0), T.int64(1)]\nelse:\n    C[vi + 4] = A[T.int64(0), T.int64(3)]",
        ("A[T.int64(0), T.int64(1):T.int64(4)]", "C[vi:vi + 5]"),
    ),
    "a lazy choice": (
        "C[vi] = T.if_then_else(C[60] > T.float32(0), C[61], C[63])",
        ("C[60:64]", "C[vi]"),
    ),
    "an index that is loaded": ("C[vi] = C[X[vi % 8]]", ("C[X[vi % 8]], X[vi % 8]", "C[vi]")),
    "one that is loaded under a condition": (
        "if vi < 8:\n    C[vi] = C[X[vi]]",
        ("C[0:64], X[vi]", "C[vi]"),
    ),
    "one that is loaded under a condition, and inside anyway": (
        "if vi < 8:\n    C[vi] = C[X[vi // 2]]",
        ("C[X[vi // 2]], X[vi // 2]", "C[vi]"),
    ),
    "a name": ("x: T.int32 = vi * 2\nC[x] = C[x + 1]", ("C[vi * 2 + 1]", "C[vi * 2]")),
    "a named expression": (
        "y = T.int32()\nC[vi] = T.Let(C[y + 1], where={y: vi * 3})",
        ("C[vi * 3 + 1]", "C[vi]"),
    ),
    "a loop that counts from another": ("for k in range(vi, vi + 4):\n    C[k] = T.float32(0)", ("", "C[vi:vi + 4]")),
    "loops in loops": (
        "for k in range(3):\n    for l in range(k, k + 2):\n        C[l + vi] = T.float32(0)",
        ("", "C[vi:vi + 4]"),
    ),
    "a loop of a loaded extent": ("for k in range(X[2]):\n    C[k] = T.float32(0)", ("X[2]", "C[0:64]")),
    "a while": ("while C[0] > T.float32(0):\n    C[1] = T.float32(0)", ("C[0]", "C[1]")),
    "an assertion": ('assert X[3] > 0, "no"\nC[0] = T.float32(0)', ("X[3]", "C[0]")),
    "an address": ('T.evaluate(T.call_extern("int32", "f", C.data))', ("C[0:64]", "C[0:64]")),
    "an address to read": (
        'T.evaluate(T.call_extern("int32", "f", T.tvm_access_ptr(T.type_annotation("float32"), C.data, X[1], 4, 1)))',
        ("C[0:64], X[1]", ""),
    ),
    "an address to write": (
        'T.evaluate(T.call_extern("int32", "f", T.tvm_access_ptr(T.type_annotation("float32"), C.data, 0, 4, 2)))',
        ("", "C[0:64]"),
    ),
    "an address for both": (
        'T.evaluate(T.call_extern("int32", "f", T.tvm_access_ptr(T.type_annotation("float32"), C.data, 0, 4, 3)))',
        ("C[0:64]", "C[0:64]"),
    ),
    "a part of a buffer": (
        "D = T.match_buffer(C[vi:vi + 4], (4,))\nfor k in range(4):\n    D[k] = D[k] + T.float32(1)",
        ("C[vi:vi + 4]", "C[vi:vi + 4]"),
    ),
    "a buffer of its own": ("D = T.alloc_buffer((4,))\nD[0] = C[vi]\nC[0] = D[0]", ("C[vi]", "C[0]")),
    "an init": (
        "with T.init():\n    C[vi] = T.float32(0)\nC[vi] = C[vi] + C[vi + 1]",
        ("", "C[vi]"),
    ),
    "a block inside": (
        "for k in range(4):\n    with T.block():\n        vk = T.axis.spatial(4, k)\n        C[vk + vi] = C[vk * 8]",
        ("C[0:25]", "C[vi:vi + 4]"),
    ),
}


@pytest.mark.parametrize("name", INFERRED)
def test_regions_of_constructs(name: str) -> None:
    body, expected = INFERRED[name]
    text = print_script(parse_source(HEAD + textwrap.indent(body, " " * 12) + "\n"))
    lines = [line.strip() for line in text.splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("T.reads("))
    assert lines[first : first + 2] == [f"T.reads({expected[0]})", f"T.writes({expected[1]})"]


I, J = Var("i"), Var("j")


def _index(draw: random.Random, depth: int) -> SymExpr:
    if depth == 0:
        return draw.choice((I, J, I, J, Const(draw.randrange(4))))
    a, b = _index(draw, depth - 1), _index(draw, depth - 1)
    return draw.choice(
        (
            lambda: a + b, lambda: a * draw.randint(-2, 3), lambda: a - b, lambda: floordiv(a, draw.choice((2, 3))),
            lambda: floormod(a, draw.choice((3, 4, 8))), lambda: minimum(a, b),
        )
    )()  # fmt: skip


def _nest(buffers: list, stores: list[tuple[SymExpr, SymExpr]], least: int, extents: tuple[int, int]) -> tir.BlockOp:
    """`for i, for j: A[write] = B[read]` of each pair."""
    outer = tir.ForOp(Const(0), Const(extents[0]), tir.body_region(I.dtype))
    inner = tir.ForOp(Const(least), Const(extents[1]), tir.body_region(J.dtype))
    outer.body.block.add_op(inner)
    values = {I: Var(outer.loop_var), J: Var(inner.loop_var)}
    body = inner.body.block
    for write, read in stores:
        build = Materializer(body.add_op)
        at, of = (build(e.substitute(values), I.dtype) for e in (write, read))
        body.add_op(load := tir.LoadOp(buffers[1], [of]))
        body.add_op(tir.StoreOp(load.result, buffers[0], [at]))
    return outer


@pytest.mark.parametrize("seed", range(3))
def test_no_access_lies_outside(seed: int) -> None:
    draw = random.Random(seed)
    module = parse_source("@T.prim_func\ndef f(A: T.Buffer((T.int64(99),)), B: T.Buffer((T.int64(99),))):\n    pass\n")
    func = next(op for op in module.walk() if isinstance(op, tir.FuncOp))
    for _ in range(60):
        stores = [
            (_index(draw, draw.randint(0, 2)), _index(draw, draw.randint(0, 2))) for _ in range(draw.randint(1, 3))
        ]
        least, extents = draw.randint(-2, 2), (draw.randint(1, 4), draw.randint(1, 4))
        nest = _nest(list(func.params), stores, least, extents)
        regions = accessed(Block([nest]))
        for kind, actual in enumerate((regions[1], regions[0])):
            ((low, high),) = actual[func.params[kind]]  # type: ignore[misc]
            at = [
                pair[kind].evaluate({"i": i, "j": j})
                for pair in stores
                for i, j in product(range(extents[0]), range(least, least + extents[1]))
            ]
            assert low.evaluate({}) <= min(at) and max(at) <= high.evaluate({}), stores
        nest.detach()


@pytest.mark.parametrize("seed", range(3))
def test_no_access_under_a_condition_lies_outside(seed: int) -> None:
    draw = random.Random(seed)
    module = parse_source("@T.prim_func\ndef f(A: T.Buffer((T.int64(99),)), B: T.Buffer((T.int64(99),))):\n    pass\n")
    func = next(op for op in module.walk() if isinstance(op, tir.FuncOp))
    smaller = 0
    for _ in range(80):
        sides = [(_index(draw, draw.randint(0, 1)), _index(draw, draw.randint(0, 1))) for _ in range(2)]
        condition = draw.choice((lt, le, eq, ne))(_index(draw, 1), _index(draw, 1))
        least, extents = draw.randint(-2, 2), (draw.randint(0, 4), draw.randint(1, 4))
        nest = _nest(list(func.params), sides, least, extents)
        full = accessed(Block([nest]))
        _choose(nest, condition)
        regions = accessed(Block([nest.clone()]))
        for kind, actual in enumerate((regions[1], regions[0])):
            ((low, high),) = actual[func.params[kind]]  # type: ignore[misc]
            smaller += actual[func.params[kind]] != full[1 - kind][func.params[kind]]
            for i, j in product(range(extents[0]), range(least, least + extents[1])):
                values = {"i": i, "j": j}
                at = sides[0 if condition.evaluate(values) else 1][kind].evaluate(values)
                assert low.evaluate({}) <= at <= high.evaluate({}), (condition, sides)
        nest.detach()
    assert smaller > 3


def _choose(nest: tir.ForOp, condition: SymExpr) -> None:
    """Of two stores do the first where the condition holds, else the second."""
    inner = next(op for op in nest.walk() if isinstance(op, tir.ForOp) and op is not nest)
    ops = list(inner.body.block.ops)
    first = next(k for k, op in enumerate(ops) if isinstance(op, tir.StoreOp)) + 1
    values = {I: Var(nest.loop_var), J: Var(inner.loop_var)}
    build = Materializer(inner.body.block.add_op)
    choice = tir.IfOp(build(condition.substitute(values)), tir.body_region(), tir.body_region())
    for k, op in enumerate(ops):
        op.detach()
        (choice.then_region if k < first else choice.else_region).block.add_op(op)
    inner.body.block.add_op(choice)


def _block(body: str) -> tir.BlockOp:
    module = parse_source(HEAD + textwrap.indent(body, " " * 12) + "\n")
    return next(op for op in module.walk() if isinstance(op, tir.BlockOp))


def _names(body: str) -> list[list[str | None]]:
    """What the block reads, writes, and hands on."""
    return [[name_of(b) for b in actual] for actual in accesses_by_kind(_block(body))]


def test_what_an_init_writes_is_not_read() -> None:
    update = "C[vi] = C[vi] + A[T.int64(0), T.int64(0)]\n"
    escapes = 'T.evaluate(T.call_extern("int32", "f", B.data))'
    assert _names(f"with T.init():\n    C[vi] = T.float32(0)\n{update}{escapes}") == [["A"], ["C"], ["B"]]
    assert _names(update) == [["C", "A"], ["C"], []]


def test_statements_alone() -> None:
    block = _block("C[0] = C[1]\nC[2] = C[3]")
    stores = [op for op in block.body.block.ops if isinstance(op, tir.StoreOp)]
    for number, store in enumerate(stores):
        (read,), (written,) = (list(actual.values()) for actual in accessed_by([store]))
        ends = [e.constant for interval in (read[0], written[0]) for e in interval or ()]
        assert ends == [1 + 2 * number] * 2 + [2 * number] * 2


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("if i < 5:\n        C[i] = A[i, 0]", (0, 4)),
        ("if i < 5:\n        C[i] = A[i, 0]\n    else:\n        C[i] = A[i - 1, 0]", (0, 6)),
        ("C[i] = T.if_then_else(2 <= i and i < 5, A[i, 0], T.float32(0))", (2, 4)),
        ("C[i] = T.if_then_else(i == 3, T.float32(0), A[i, 0])", (0, 7)),
        ("C[i] = T.if_then_else(i != 0, A[i - 1, 0], T.float32(0))", (0, 6)),
        ("C[i] = T.if_then_else(i * 2 + 1 < 8, A[i, 0], T.float32(0))", (0, 3)),
        ("C[i] = T.if_then_else(i < 6, T.if_then_else(2 < i, A[i, 0], T.float32(0)), T.float32(0))", (3, 5)),
        ("C[i] = T.if_then_else(i < 5, A[i, 0], T.float32(0)) + A[i, 0]", (0, 7)),  # and without a condition
        ("C[i] = T.if_then_else(i < 9, A[i, 0], T.float32(0))", (0, 7)),  # it always holds
        ("C[i] = T.if_then_else(i < 0, A[i, 0], T.float32(0))", (0, 7)),  # it never does
        ("C[i] = T.if_then_else(A[0, 0] < T.float32(1), A[i, 0], T.float32(0))", (0, 7)),
        ("C[i] = T.Select(i < 5, A[i, 0], T.float32(0))", (0, 7)),  # both are computed
    ],
)
def test_what_conditions_leave_of_loops(body: str, read: tuple[int, int]) -> None:
    block = _block(f"for i in range(8):\n    {body}")
    (region,) = block.reads
    first, extent = sym_expr_of(region.starts[0]).constant, region.extents[0].constant
    assert first is not None and extent is not None and (first, first + extent - 1) == read


def test_regions_are_put_on_request() -> None:
    block = _block("C[0] = C[1]")
    for op in list(block.body.block.ops):
        if isinstance(op, tir.ReadsOp | tir.WritesOp):
            op.detach()
    infer_regions(block, reads=False)
    assert [len(block.reads), len(block.writes)] == [0, 1]
    infer_regions(block, writes=False)
    kinds = [type(op) for op in block.body.block.ops if isinstance(op, tir.ReadsOp | tir.WritesOp)]
    assert sorted(k.__name__ for k in kinds) == ["ReadsOp", "WritesOp"]


def test_an_expression_over_some_variables() -> None:
    block = _block("for k in range(4):\n    C[vi + k * 3] = T.float32(0)")
    loop = next(op for op in block.walk() if isinstance(op, tir.ForOp))
    store = next(op for op in block.walk() if isinstance(op, tir.StoreOp))
    expr = sym_expr_of(store.indices[0])
    low, high = relaxed(expr, {loop.loop_var: (Const(1), Const(2))})  # type: ignore[misc]
    vi = Var(block.iter_vars[0], expr.dtype)
    assert (low, high) == (vi + 3, vi + 6)
    assert relaxed(expr, {loop.loop_var: None}) is None


def test_accesses_through_a_matched_buffer_are_those_of_its_source() -> None:
    block = _block("W = T.match_buffer(A[vi, 2:6], (4,))\nfor k in range(2):\n    C[vi] = C[vi] + W[k + 1]")
    (read,) = [region for region in block.reads if name_of(region.buffer) == "A"]
    assert [e.constant for e in read.extents] == [1, 2]
    assert sym_expr_of(read.starts[1]).constant == 3


@pytest.mark.parametrize("declared, read", [("T.Buffer", ["A"]), ("T.decl_buffer", ["A", "named"])])
def test_constants_by_an_undeclared_name_are_in_no_region(declared: str, read: list[str]) -> None:
    text = f"""
@T.prim_func
def f(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    held = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
    named = {declared}((4,), data=held)
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + named[vi]
"""
    block = next(op for op in parse_source(text).walk() if isinstance(op, tir.BlockOp))
    regions = [op for op in block.body.block.ops if isinstance(op, tir.RegionOp)]
    assert [name_of(op.buffer) for op in regions] == [*read, "B"]
