"""The kind of tensor functions: what TVM 0.27's analysis says of the same functions, but where noted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp

from tirax.dialects import tir
from tirax.transforms.fusion.pattern import AnnotateTIROpPattern, declared_pattern

ELEMWISE, BROADCAST, INJECTIVE, COMM_REDUCE, FUSABLE, OPAQUE = 0, 1, 2, 3, 4, 8

Program = Callable[[str, str, str], ModuleOp]

OPERATORS = [
    ("add", "x: f32[4, 8]; y: f32[4, 8]", "%o = relax.add %x, %y", "f32[4, 8]", ELEMWISE),
    ("add with bias", "x: f32[4, 8]; y: f32[8]", "%o = relax.add %x, %y", "f32[4, 8]", ELEMWISE),
    ("add with a unit extent", "x: f32[4, 8]; y: f32[4, 1]", "%o = relax.add %x, %y", "f32[4, 8]", ELEMWISE),
    ("symbolic add", "x: f32[n, 8]; y: f32[n, 1]", "%o = relax.add %x, %y", "f32[n, 8]", ELEMWISE),
    ("outer sum", "x: f32[1, 8]; y: f32[4, 1]", "%o = relax.add %x, %y", "f32[4, 8]", BROADCAST),
    ("expand_dims", "x: f32[4, 8]", "%o = relax.expand_dims %x {axis = [0]}", "f32[1, 4, 8]", BROADCAST),
    ("relu", "x: f32[4, 8]", "%o = relax.nn.relu %x", "f32[4, 8]", ELEMWISE),
    ("transpose", "x: f32[4, 8]", "%o = relax.permute_dims %x", "f32[8, 4]", INJECTIVE),
    ("symbolic transpose", "x: f32[n, 8]", "%o = relax.permute_dims %x", "f32[8, n]", INJECTIVE),
    ("concat", "x: f32[4, 8]", "%o = relax.concat (%x, %x) {axis = 1}", "f32[4, 16]", INJECTIVE),
    ("sum", "x: f32[4, 8]", "%o = relax.sum %x {axis = [1]}", "f32[4]", COMM_REDUCE),
    ("sum of all", "x: f32[4, 8]", "%o = relax.sum %x", "f32[]", COMM_REDUCE),
    ("max", "x: f32[4, 8]", "%o = relax.max %x {axis = [1]}", "f32[4]", COMM_REDUCE),
    ("mean", "x: f32[4, 8]", "%o = relax.mean %x {axis = [1]}", "f32[4]", FUSABLE),
    ("softmax", "x: f32[4, 8]", "%o = relax.nn.softmax %x", "f32[4, 8]", FUSABLE),
    ("matmul", "x: f32[4, 8]; y: f32[8, 4]", "%o = relax.matmul %x, %y", "f32[4, 4]", FUSABLE),
    ("batched matmul", "x: f32[2, 4, 8]; y: f32[2, 8, 4]", "%o = relax.matmul %x, %y", "f32[2, 4, 4]", FUSABLE),
    ("matrix times vector", "x: f32[4, 8]; y: f32[8]", "%o = relax.matmul %x, %y", "f32[4]", COMM_REDUCE),
    ("vector times vector", "x: f32[8]; y: f32[8]", "%o = relax.matmul %x, %y", "f32[]", COMM_REDUCE),
]


def patterns(module: ModuleOp) -> list[int | None]:
    return [declared_pattern(f) for f in module.body.block.ops if isinstance(f, tir.FuncOp)]


@pytest.mark.parametrize("case", OPERATORS, ids=lambda c: c[0])
def test_legalized_operators(program: Program, case: tuple[str, str, str, str, int]):
    _, params, body, result, kind = case
    assert patterns(program(params, f"{body} : {result}", f"o: {result}")) == [kind]


def reduction(buffers: str, dims: str, value: str) -> str:
    """`@f` that accumulates into C; `dims` are like `i:4 k:8r`, a reduction marked by r."""
    axes = [(d[0], d[2:].rstrip("r"), "reduce" if d.endswith("r") else "spatial") for d in dims.split()]
    loops = "".join(f"tir.for %{a} = 0 to {n} {{\n" for a, n, _ in axes)
    block = ", ".join(f"%v{a} = {kind}(%{a}, {n})" for a, n, kind in axes)
    params = ", ".join(f"%{b[0]}: !tir.buffer<[{b[2:]}], f32>" for b in buffers.split("; "))
    return f"""tir.func private @f({params}) {{
{loops}tir.block "c" ({block}) {{
{value}
}}
{"}" * len(axes)}
}}"""


def update(c: str, a: str, b: str, combine: str = "tir.add %c, %p : f32") -> str:
    return f"""%c = tir.load %C[{c}] : f32
%x = tir.load %A[{a}] : f32
%y = tir.load %B[{b}] : f32
%p = tir.mul %x, %y : f32
%s = {combine}
tir.store %s, %C[{c}]"""


MATMUL = "A:4, 8; B:8, 4; C:4, 4"
REDUCTIONS = [
    ("matmul", MATMUL, "i:4 j:4 k:8r", update("%vi, %vj", "%vi, %vk", "%vk, %vj"), FUSABLE),
    # TVM asks for the accumulator on the left
    (
        "matmul, accumulator on the right",
        MATMUL,
        "i:4 j:4 k:8r",
        update("%vi, %vj", "%vi, %vk", "%vk, %vj", "tir.add %p, %c : f32"),
        COMM_REDUCE,
    ),
    (
        "maximum of products",
        MATMUL,
        "i:4 j:4 k:8r",
        update("%vi, %vj", "%vi, %vk", "%vk, %vj", "tir.max %c, %p : f32"),
        COMM_REDUCE,
    ),
    ("rows times rows", "A:4, 8; B:4, 8; C:4", "i:4 k:8r", update("%vi", "%vi, %vk", "%vi, %vk"), COMM_REDUCE),
    ("gram", "A:4, 8; B:4, 8; C:4, 4", "i:4 j:4 k:8r", update("%vi, %vj", "%vi, %vk", "%vj, %vk"), FUSABLE),
    (
        "convolution",
        "A:10; B:3; C:8",
        "i:8 k:3r",
        "%w = tir.add %vi, %vk : i64\n" + update("%vi", "%w", "%vk"),
        FUSABLE,
    ),
    ("column sums", "A:4, 8; C:8", "i:8 k:4r", "", COMM_REDUCE),
]


@pytest.mark.parametrize("case", REDUCTIONS, ids=lambda c: c[0])
def test_reductions(parse: Callable[[str], ModuleOp], case: tuple[str, str, str, str, int]):
    _, buffers, dims, value, kind = case
    value = (
        value
        or """%c = tir.load %C[%vi] : f32
%x = tir.load %A[%vk, %vi] : f32
%s = tir.add %c, %x : f32
tir.store %s, %C[%vi]"""
    )
    assert patterns(AnnotateTIROpPattern()(parse(reduction(buffers, dims, value)))) == [kind]


def single(body: str, a: str = "8", kind: str = "spatial") -> str:
    return f"""tir.func private @f(
  %A: !tir.buffer<[{a}], f32>, %I: !tir.buffer<[8], i64>, %C: !tir.buffer<[16], f32>
) {{
  tir.for %i = 0 to 8 {{
    tir.block "c" (%v = {kind}(%i, 8)) {{
      {body}
    }}
  }}
}}"""


BLOCKS = [
    ("reversed", "%c = tir.const 7 : i64 %j = tir.sub %c, %v : i64 %x = tir.load %A[%j] : f32 tir.store %x, %C[%v]", 2),
    ("diagonal", "%x = tir.load %A[%v, %v] : f32 tir.store %x, %C[%v]", 1),
    ("gather", "%j = tir.load %I[%v] : i64 %x = tir.load %A[%j] : f32 tir.store %x, %C[%v]", 8),
    ("scatter", "%j = tir.load %I[%v] : i64 %x = tir.load %A[%v] : f32 tir.store %x, %C[%j]", 8),
    ("strided store", "%x = tir.load %A[%v] : f32 %j = tir.add %v, %v : i64 tir.store %x, %C[%j]", 8),
    # TVM takes a size for a variable that the store does not have, and says that this is opaque
    (
        "by a symbolic extent",
        "%n = sym.value n : i64 %j = tir.sub %n, %v : i64 %x = tir.load %A[%j] : f32 tir.store %x, %C[%v]",
        2,
    ),
    (
        "lazy choice",
        """%c = tir.const 4 : i64 %p = tir.lt %v, %c : i64
        %x = tir.if_then_else %p { %y = tir.load %A[%v] : f32 tir.yield %y : f32 }
        else { %k = tir.sub %v, %c : i64 %z = tir.load %A[%k] : f32 tir.yield %z : f32 }
        tir.store %x, %C[%v]""",
        2,
    ),
    ("constant", "%x = tir.const 1.0 : f32 tir.store %x, %C[%v]", 0),
    ("no store", "%x = tir.load %A[%v] : f32", 8),
]  # fmt: skip


@pytest.mark.parametrize(("body", "kind"), [c[1:] for c in BLOCKS], ids=[c[0] for c in BLOCKS])
def test_blocks(parse: Callable[[str], ModuleOp], body: str, kind: int):
    source = single(body, "8, 8" if "%v, %v]" in body else "n" if "sym.value" in body else "8")
    assert patterns(AnnotateTIROpPattern()(parse(source))) == [kind]


def test_opaque_iterators(parse: Callable[[str], ModuleOp]):
    body = "%c = tir.const 7 : i64 %j = tir.sub %c, %v : i64 %x = tir.load %A[%v] : f32 tir.store %x, %C[%j]"
    assert patterns(AnnotateTIROpPattern()(parse(single(body, kind="opaque")))) == [OPAQUE]


def test_what_is_not_a_block_is_opaque(parse: Callable[[str], ModuleOp]):
    """TVM calls these element-wise and fails when it fuses them."""
    loop = """tir.func private @f(%A: !tir.buffer<[8], f32>, %C: !tir.buffer<[8], f32>) {
      tir.for %i = 0 to 8 { %x = tir.load %A[%i] : f32 tir.store %x, %C[%i] } }"""
    call = """tir.func private @f(%A: !tir.buffer<[8], f32>) {
      %h = tir.buffer_data %A %r = tir.call_extern "f"(%h) : i32 tir.evaluate %r : i32 }"""
    for source in (loop, call):
        assert patterns(AnnotateTIROpPattern()(parse(source))) == [OPAQUE]


def test_an_attribute_that_is_there_stays(parse: Callable[[str], ModuleOp]):
    source = single("%x = tir.load %A[%v] : f32 tir.store %x, %C[%v]")
    source = source.replace("\n) {", "\n) attributes {op_pattern = 5 : i64} {")
    before = parse(source)
    after = AnnotateTIROpPattern()(before)
    assert patterns(after) == [5]
    assert str(before) == str(after)


def test_the_original_is_not_changed(parse: Callable[[str], ModuleOp]):
    before = parse(single("%x = tir.load %A[%v] : f32 tir.store %x, %C[%v]"))
    after = AnnotateTIROpPattern()(before)
    assert patterns(before) == [None]
    func = after.body.block.first_op
    assert isinstance(func, tir.FuncOp) and func.func_attrs is not None
    assert func.func_attrs.data["op_pattern"] == IntegerAttr(0, 64)
