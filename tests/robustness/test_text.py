"""Texts of every kind: a program or a diagnostic comes out, and what is printed is read again."""

from __future__ import annotations

import random
import re
import signal
import textwrap
from io import StringIO
from pathlib import Path

import pytest
from strength import thinned
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.ir.passes.transform import new_context
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_source, print_script
from tirax.script.mlir_text import parse_mlir
from tirax.tools.tirax_opt import main as tirax_opt
from tirax.tvm_api import relax, te
from tirax.tvm_api.script import from_source
from tirax.universe import TIRAX_UNIVERSE

TESTS = Path(__file__).parent.parent
SCRIPTS = [p.read_text() for p in sorted((TESTS / "golden" / "script").glob("*.txt"))]
MLIR = [
    part
    for path in sorted((TESTS / "filecheck" / "transforms").rglob("fuse_*.mlir"))
    for part in re.sub(r"//.*", "", path.read_text()).split("\n\n\n")
    if part.strip()
]
TOKENS = re.compile(r"[%@!#^]?[\w.]+|\s+|[^\w\s]")
STRANGE = {
    "script": (
        "None True -1 0 2**63 1<<62 9223372036854775808 1e400 1j b'x' ... * lambda:0 (yield) [] {} () '' x:=1 nan 1.5 "
        "'n' T R I cls T.int64 T.handle R.Object R.Tensor T.Buffer [0] .x (1) [1:2] @ if else while é \0 \ufeff // %"
    ),
    "mlir": (
        '-1 0 9223372036854775807 1e400 0x10 "" " i32 f32 i1 index () [] {} <> * %nosuch @nosuch !relax.object tuple<> '
        "!relax.tensor<[n],f32> !relax.tensor<[0],f32> !relax.tensor<*> none dense<1> #x é \0 vector<4xf32> "
        "!tir.handle !tir.buffer<[n],f32> 99999999999999999999999999 true floordiv mod :"
    ),
}


def mutants(texts: list[str], strange: list[str], seed: int, count: int):
    """Texts of which one to three tokens are dropped, doubled, swapped or replaced."""
    rng = random.Random(seed)
    pieces = [TOKENS.findall(text) for text in texts]
    known = sorted({token for each in pieces for token in each})
    for _ in range(count):
        tokens = list(rng.choice(pieces))
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
            match rng.randrange(5):
                case 0:
                    del tokens[i : i + 1]
                case 1:
                    tokens[i] = rng.choice(known)
                case 2:
                    tokens[i] = rng.choice(strange)
                case 3:
                    tokens[i], tokens[j] = tokens[j], tokens[i]
                case _:
                    tokens[i : i + 4] *= 2
        yield "".join(tokens)


@pytest.fixture(autouse=True)
def _no_endless_loops():
    """A parser that hangs would hang all tests."""

    def stop(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@thinned("seed", range(4), 2)
def test_mutated_scripts(seed):
    read = 0
    for text in mutants(SCRIPTS, STRANGE["script"].split(" "), seed, 250):
        try:
            module = parse_source(text, "f.py")
        except TiraxError as error:
            assert str(error)
            continue
        read += 1
        printed = print_script(module)
        assert print_script(parse_source(printed, "g.py")) == printed, text
    assert read > 0


@pytest.mark.parametrize("seed", range(4))
def test_mutated_mlir(seed):
    read = 0
    for text in mutants(MLIR, STRANGE["mlir"].split(" "), seed, 120):
        try:
            module = parse_mlir(text, "f.mlir")
            verify_module(module)
        except (TiraxError, DiagnosticException) as error:
            assert str(error)
            continue
        read += 1
        printed = str(module)
        assert str(parse_mlir(printed, "g.mlir")) == printed, text
    assert read > 0


SCRIPT = """\
@R.function
def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    lv = R.exp(x)
    return lv
"""


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.replace("\n", "\r\n"),
        lambda t: "\ufeff" + t,
        lambda t: t.replace("    ", "\t"),
        lambda t: t.replace("lv", "größe"),
        lambda t: t.replace("lv", "a" * 10_000),
        lambda t: t + "#" + "x" * 1_000_000,
        lambda t: "\n" * 10_000 + t,
        lambda t: t.replace("R.exp(x)", "R.exp(x) # \U0001f600"),
    ],
)
def test_unusual_text_is_read(change):
    printed = print_script(parse_source(change(SCRIPT), "t.py"))
    assert "R.exp(x)" in printed
    assert print_script(parse_source(printed, "t.py")) == printed


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("", "    lv = R.expp(x)"),
        ("\t", "\tlv = R.expp(x)"),
        ("é", "    é = R.expp(x)"),
        ("😀", "    a = '😀'; lv = R.expp(x)"),
    ],
    ids=["plain", "tab", "accent", "emoji"],
)
def test_the_caret_is_below_the_place(before, line):
    text = SCRIPT.replace("    lv = R.exp(x)", line)
    text = text.replace("    return", line[:1] * (1 if before == "\t" else 4) + "return")
    if before == "é":
        text = text.replace("lv", "é")
    with pytest.raises(TiraxError) as caught:
        parse_source(text, "t.py")
    _, shown, carets = str(caught.value).splitlines()[:3]
    at = carets.index("^")
    assert shown[at:].startswith("R.expp") or before == "😀"


@pytest.mark.parametrize(
    "text",
    [
        SCRIPT.replace("x)\n    ret", "x)\0\n    ret"),
        SCRIPT + "\0",
        SCRIPT.replace("return", "retürn"),
        "\ufeff",
        "\ufeff\ufeff" + SCRIPT,
        "\r",
        "x = " + "[" * 3000,
        SCRIPT.replace("R.exp(x)", "R.exp(" * 3000 + "x" + ")" * 3000),
        SCRIPT.replace("R.exp(x)", " + ".join(["y"] * 3000)),
        SCRIPT.replace("R.exp(x)", "-" * 3000 + "y"),
        SCRIPT.replace("R.exp(x)", "x" + ".a" * 3000),
        SCRIPT.replace("R.exp(x)", "x" + "[0]" * 3000),
        SCRIPT.replace('"n"', '"' + "(" * 3000 + "n" + ")" * 3000 + '"'),
        SCRIPT.replace('"n"', '"' + "n + " * 3000 + '"'),
        SCRIPT.replace('"n"', "9" * 5000),
        SCRIPT.replace('"n"', '"' + "9" * 5000 + '"'),
        SCRIPT.replace('"n"', "2**63"),
        SCRIPT.replace('"n"', "-1"),
        SCRIPT.replace('"n"', "float('nan')"),
        SCRIPT.replace('"n"', "'n\\0'"),
        SCRIPT.replace('"float32"', '"float32\\0"'),
        textwrap.indent(SCRIPT, "  "),
    ],
    ids=range(22),
)
def test_text_that_is_refused(text):
    with pytest.raises(TiraxError) as caught:
        parse_source(text, "t.py")
    assert len(str(caught.value)) < 100_000


DEEP = [
    lambda n: SCRIPT.replace("R.exp(x)", "R.exp(" * n + "x" + ")" * n),
    lambda n: SCRIPT.replace("R.exp(x)", " + ".join(["x"] * n)),
    lambda n: "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = " + " + ".join(["A[1]"] * n),
    lambda n: "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = " + "T.exp(" * n + "A[1]" + ")" * n,
    lambda n: (
        "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n"
        + "".join("    " + " " * i + f"for i{i} in range(1):\n" for i in range(n))
        + " " * (n + 4)
        + "A[0] = 1.0"
    ),
]


@pytest.mark.parametrize("make", DEEP, ids=range(len(DEEP)))
@pytest.mark.parametrize("depth", [15, 60, 90, 200, 500, 2000])
def test_depth(make, depth):
    """What can be read can be printed and verified; what is too deep is refused, not a RecursionError."""
    try:
        module = parse_source(make(depth), "t.py")
    except TiraxError:
        assert depth > 60
        return
    verify_module(module)
    printed = print_script(module)
    assert print_script(parse_source(printed, "t.py")) == printed


LONG = "99999999999999999999999999"
TOO_LONG = [
    f"@T.prim_func\ndef f(A: T.Buffer((4,), 'int64')):\n    A[0] = T.int64({LONG})",
    f"@T.prim_func\ndef f(A: T.Buffer(({LONG},), 'int64')):\n    pass",
    f"@T.prim_func\ndef f(A: T.Buffer((4,), 'int64')):\n    for i in range({LONG}):\n        A[0] = T.int64(0)",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'int64')):\n    for i in range(2**70):\n        A[0] = T.int64(0)",
    f"@T.prim_func\ndef f():\n    T.func_attr({{'k': {LONG}}})\n    T.evaluate(0)",
    f"@R.function\ndef main():\n    y = R.prim_value({LONG})\n    return y",
    "@R.function\ndef main():\n    y = R.prim_value(2**63 + 2**64)\n    return y",
    f"@R.function\ndef main(x: R.Tensor((4,), 'int64')):\n    y = R.sum(x, axis=[{LONG}])\n    return y",
]


@pytest.mark.parametrize("text", TOO_LONG)
def test_integers_beyond_64_bits_are_refused_when_they_are_read(text):
    with pytest.raises(TiraxError, match="does not fit 64 bits") as error:
        parse_source(text)
    assert error.value.location is not None


@pytest.mark.parametrize("name", ["True", "None", "class", "a b", "1st", "a.b"])
@pytest.mark.parametrize("kind", ["relax", "tir"])
def test_a_function_whose_name_python_has_not_is_not_printed_as_a_script(name, kind):
    body = "relax.return %x : !relax.object" if kind == "relax" else ""
    head = "(%x: !relax.object) -> !relax.object" if kind == "relax" else "(%x: i32)"
    module = parse_mlir(f'{kind}.func @"{name}"{head} {{ {body} }}')
    with pytest.raises(TiraxError, match=f"called '{name}' has no form in TVMScript"):
        print_script(module)


def test_a_scalar_of_a_name_comes_back():
    text = '@R.function\ndef main(n: R.Prim("int64"), x: R.Prim(value="n")) -> R.Prim("int64"):\n    return n'
    once = print_script(parse_source(text))
    assert print_script(parse_source(once)) == once


def test_what_the_tool_prints_of_constants_comes_back(tmp_path, capsys):
    path = tmp_path / "m.mlir"
    path.write_text(
        "relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {\n"
        "  %c = relax.constant <f32 [4] [1.0, 2.0, 3.0, 4.0]>\n"
        "  %y = relax.add %x, %c : !relax.tensor<[4], f32>\n"
        "  relax.return %y : !relax.tensor<[4], f32>\n}\n"
    )
    assert tirax_opt([str(path), "-t", "tvmscript", "-o", str(tmp_path / "m.py")]) == 0
    module = parse_source((tmp_path / "m.py").read_text())
    assert str(module) == str(parse_mlir(path.read_text()))


def test_rules_of_schedules_in_generic_form_come_back():
    rule = 'sched.rule "register_tiles" on "b" {lane = "i", row = "j", lanes = 8}'
    text = f"sched.sequence @f {{ {rule} }}"
    context = new_context()
    context.register_dialect("sched", TIRAX_UNIVERSE.all_dialects["sched"])
    module = parse_mlir(text, ctx=context)
    out = StringIO()
    Printer(out, print_generic_format=True).print_op(module)
    assert str(parse_mlir(out.getvalue(), ctx=context)) == str(module)


NAMES = ["a.b", "main 2", "main", "é", "日本", "a-b", "'q'", '"q"', "T", "R", "cls", "_", "a%b", "self", "x_0"]


@pytest.mark.parametrize("name", NAMES)
def test_names_come_back(name):
    """Of a function, a parameter, a variable and a block, from TVMScript and from MLIR text."""
    modules = []
    for function, parameter, variable in ((name, "x", "y"), ("main", name, "y"), ("main", "x", name)):
        builder, x = relax.BlockBuilder(), relax.Var(parameter, relax.TensorStructInfo((4,), "float32"))
        with builder.function(function, [x]):
            builder.emit_func_output(builder.emit(relax.op.exp(x), variable))
        modules.append(builder.get())
    a = te.placeholder((4,), name="A")
    block = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0, name=name)])
    modules.append(tvm.IRModule({"main": block}))
    for module in modules:
        for again in (from_source(module.script()), tvm.IRModule(parse_mlir(str(module.op)))):
            assert tvm.ir.structural_equal(again, module)
