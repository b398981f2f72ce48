"""Limits: each bounds what it says, names itself where it refuses, and is raised by the context and the environment."""

import time
from pathlib import Path

import pytest

from tirax.diagnostics import TiraxError
from tirax.driver.build import lower
from tirax.handles.tir.index_map import IndexMap
from tirax.ir.passes.limits import LIMITS, PREFIX, LimitError, limit, table, variable
from tirax.ir.passes.transform import PassContext
from tirax.script import parse_mlir, parse_source
from tirax.transforms.bindings.fold_constant import FoldConstant
from tirax.transforms.tir.unroll_loop import UnrollLoop
from tirax.transforms.tir.unroll_marked_loops import UnrollMarkedLoops

ROOT = Path(__file__).parents[3]
BUFFERS = '@T.prim_func\ndef f(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):\n'
UNROLLED = (
    BUFFERS + "    for i in T.unroll(n // 8):\n        for j in T.unroll(8):\n            B[i * 8 + j] = A[i * 8 + j]\n"
)
RAMP = BUFFERS + "    B[T.Ramp(0, 1, n)] = A[T.Ramp(0, 1, n)]\n"
DEEP = "@T.prim_func\ndef f():\n    T.evaluate(" + "-(" * 30 + "T.int32(1)" + ")" * 31


NAMES = [f"n{i}" for i in range(9)]
SIZES = "\n    ".join(
    [
        f"@R.function\ndef main(x: R.Tensor({NAMES}, 'float32')):",
        *(f"{name} = T.int64()" for name in NAMES),
        'y = R.zeros(R.shape([{}]), dtype="float32")'.format(" * ".join(f"({name} + 1)" for name in NAMES)),
        "return y",
    ]
)


def read(text: str, n: int = 64):
    return parse_source(text.replace("n // 8", str(n // 8)).replace("(n,)", f"({n},)").replace(", n)", f", {n})"))


def raised(name: str, value: int) -> PassContext:
    return PassContext(config={PREFIX + name: value})


REFUSED = {
    "unroll.statements": lambda: UnrollLoop()(read(UNROLLED)),
    "vector.lanes": lambda: lower(read(RAMP)),
    "parse.depth": lambda: parse_source(
        "@T.prim_func\ndef f():\n    T.evaluate(" + "-(" * 30 + "T.int32(1)" + ")" * 31
    ),
    "parse.bits": lambda: parse_source("@T.prim_func\ndef f(A: T.Buffer((2**40 // 2**39,), 'int8')):\n    pass"),
    "parse.length": lambda: parse_source("@T.prim_func\ndef f(A: T.Buffer([2] + [3] + [4], 'int8')):\n    pass"),
    "sym.terms": lambda: parse_source(SIZES),
    "parse.macros": lambda: parse_source(macros(4)),
    "parse.aliases": lambda: parse_mlir(aliases(4)),
    "parse.elements": lambda: parse_mlir(SPLAT),
}
LOW = {"parse.length": 2, "parse.depth": 20}


def macros(times: int) -> str:
    """Macros that call the one before twice."""
    first = "@T.macro\ndef m0(A):\n    A[0] = A[0] + T.float32(1)\n\n"
    calls = [f"@T.macro\ndef m{i + 1}(A):\n    m{i}(A)\n    m{i}(A)\n\n" for i in range(times)]
    return f'{first}{"".join(calls)}@T.prim_func\ndef main(A: T.Buffer((16,), "float32")):\n    m{times}(A)\n'


def aliases(times: int, first: str = "#a0 = [1, 1]", each: str = "#a{0} = [#a{1}, #a{1}]", last: str = "#a") -> str:
    """Aliases that name the one before twice."""
    lines = [first, *(each.format(i + 1, i) for i in range(times))]
    return "\n".join([*lines, f"func.func @main() attributes {{x = {last}{times}}} {{", "  func.return", "}"])


SPLAT = """func.func @main() -> tensor<900xf32> {
  %0 = arith.constant dense<1.0> : tensor<900xf32>
  func.return %0 : tensor<900xf32>
}
"""
BOMBS = {
    "macros": lambda: parse_source(macros(30)),
    "attributes": lambda: parse_mlir(aliases(40)),
    "dictionaries": lambda: parse_mlir(aliases(40, "#a0 = {a = 1}", "#a{0} = {{a = #a{1}, b = #a{1}}}")),
    "types": lambda: parse_mlir(aliases(40, "!a0 = tuple<i8, i8>", "!a{0} = tuple<!a{1}, !a{1}>", "!a")),
    "splat": lambda: parse_mlir(SPLAT.replace("900", "1000000x1000000")),
    "splat of bytes": lambda: parse_mlir(SPLAT.replace("900", "1000000x1000000").replace("1.0", '"0x00000000"')),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_texts_of_large_programs_are_refused(name):
    before = time.process_time()
    with pytest.raises(LimitError, match="raises the limit"):
        BOMBS[name]()
    assert time.process_time() - before < 20


def doubled(times: int) -> IndexMap:
    """A map whose result has 6 * 2**times parts, of which few are different."""

    def function(i):
        for _ in range(times):
            i = (i * 3 + 1) // 2 + i % 7
        return (i,)

    return IndexMap.from_func(function)


def test_an_index_map_is_no_larger_than_its_limit():
    doubled(10)
    for times in (12, 200):
        with pytest.raises(LimitError, match=r"(?s)at most .*sym.size.*tirax\.limit\.sym\.size"):
            doubled(times)
    with raised("sym.size", 1 << 16):
        doubled(12)


@pytest.mark.parametrize("name", REFUSED)
def test_a_limit_refuses_with_its_name_and_how_to_raise_it(name, monkeypatch):
    REFUSED[name]()
    hint = f"(?s)at most .*{name}.*{PREFIX}{name}.*{variable(name)}"
    with raised(name, LOW.get(name, 16)), pytest.raises(LimitError, match=hint) as error:
        REFUSED[name]()
    assert error.value.location is not None
    monkeypatch.setenv(variable(name), str(LOW.get(name, 16)))
    with pytest.raises(LimitError):
        REFUSED[name]()
    with raised(name, 1000):
        REFUSED[name]()


def test_a_mark_is_a_wish_that_a_limit_does_not_grant():
    assert "tir.for" not in str(UnrollMarkedLoops()(read(UNROLLED)))
    with raised("unroll.statements", 16):
        text = str(UnrollMarkedLoops()(read(UNROLLED)))
    assert text.count("tir.for") == 1 and text.count("tir.store") == 8, "the inner loop alone is written out"


MATMUL = """@R.function
def main():
    y = R.matmul(R.const([[1.0, 2.0], [3.0, 4.0]], "float32"), R.const([[1.0, 2.0], [3.0, 4.0]], "float32"))
    return y
"""
TILE = '@R.function\ndef main():\n    y = R.zeros(R.shape([64, 64]), "float32")\n    return y\n'
LOOP = """@I.ir_module
class M:
    @T.prim_func(private=True)
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        {loop}
            B[i] = A[i]
    @R.function
    def main():
        y = R.call_tir(M.k, (R.const([1.0, 2.0, 3.0, 4.0], "float32"),), out_sinfo=R.Tensor((4,), "float32"))
        return y
"""
FOLDED = {"fold.operations": (MATMUL, 7), "fold.bytes": (TILE, 1000)}
FOLDED["fold.iterations"] = (LOOP.format(loop="for i in range(4):"), 4)


@pytest.mark.parametrize("name", FOLDED)
def test_folding_leaves_what_costs_more(name):
    text, low = FOLDED[name]
    assert str(FoldConstant()(parse_source(text))).count("relax.constant") == 1
    with raised(name, low):
        unchanged = FoldConstant()(parse_source(text))
    assert str(unchanged) == str(parse_source(text))


def test_a_while_that_does_not_end_is_not_folded():
    module = parse_source(LOOP.format(loop="i: T.int32 = 0\n        while i < 1:"))
    assert "relax.call_tir" in str(FoldConstant()(module))


@pytest.mark.parametrize("value", ["many", "1.5"])
def test_a_limit_is_a_number(value, monkeypatch):
    with pytest.raises(TiraxError, match=r"'tirax\.limit\.vector\.lanes'"):
        raised("vector.lanes", value)
    monkeypatch.setenv("TIRAX_LIMIT_VECTOR_LANES", value)
    with pytest.raises(TiraxError, match="'vector.lanes' is no number"):
        limit("vector.lanes")


def test_the_page_is_the_table():
    assert table() in (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    files = [
        p
        for room in ("transforms", "schedule", "script", "lowering", "interpreter", "frontend")
        for p in (ROOT / room).rglob("*.py")
    ]
    used = "".join(p.read_text(encoding="utf-8") for p in [*files, ROOT / "ir" / "text.py"])
    assert [name for name in LIMITS if name not in used and not name.startswith(("fold.", "sym."))] == []
