"""Work grows with the program and not with its square: calls are counted, of programs of n, 2n and 4n operations."""

import sys
from io import StringIO

import numpy as np
import pytest
from strength import only_full, thinned
from xdsl.printer import Printer

from tirax.dev.fuzz.structures import STRUCTURES
from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes, pipeline_passes
from tirax.ir.passes.transform import Sequential, new_context
from tirax.ir.text import TextParser
from tirax.ir.verification.verify import Verifier
from tirax.script.mlir_text import parse_mlir
from tirax.script.parser.evaluator import Evaluator
from tirax.script.printer import print_script
from tirax.transforms.tir.guard_indices import GuardIndices, ReportIndices
from tirax.tvm_api import script

N = 16
T = 'R.Tensor((16,), dtype="float32")'


def operators(count):
    """A chain of operators; there is no dataflow block, so nothing is fused."""
    names = ["x", *(f"lv{i}" for i in range(count))]
    lines = [f"        {b}: {T} = R.add({a}, x)" for a, b in zip(names, names[1:], strict=False)]
    head = f"    @R.function\n    def main(x: {T}) -> {T}:"
    return "\n".join(["@I.ir_module", "class Module:", head, *lines, f"        return {names[-1]}"])


def stores(count):
    """A tensor function of one block that is long."""
    head = '    @T.prim_func\n    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):'
    lines = [f"        B[{i % 16}] = A[{i * 7 % 16}] + T.float32({i % 5}.5)" for i in range(count)]
    return "\n".join(["@I.ir_module", "class Module:", head, *lines])


def calls(run):
    """The result of `run()`, and how many functions were called, those of C, too."""
    counted = [0]

    def count(frame, event, arg):
        counted[0] += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        return run(), counted[0]
    finally:
        sys.setprofile(None)


def printed(module):
    stream = StringIO()
    Printer(stream=stream).print_op(module)
    return stream.getvalue()


def work(text, passes=()):
    """What each step on a program calls: reading, printing, verifying, and the passes."""
    by_name = {}

    def step(name, run):
        result, by_name[name] = calls(run)
        return result

    module = step("parse TVMScript", lambda: script.from_source(text)).op
    step("print TVMScript", lambda: print_script(module))
    mlir = step("print MLIR", lambda: printed(module))
    module, verifier, context = step("parse MLIR", lambda: parse_mlir(mlir)), Verifier(), new_context()
    step("verify", lambda: verifier.verify(module))
    for number, p in enumerate(passes):
        step(f"{number}. {p.name}", lambda p=p: p.apply(context, module))
        step(f"verify after {number}. {p.name}", lambda: verifier.verify(module))
    return by_name


def worse_than_linear(program, n, growth, passes=()):
    """The steps whose calls grow by more than `growth` where the growth of the program doubles."""
    work(program(n), passes)  # what is cached once is not counted
    one, two, four = (work(program(size), passes) for size in (n, 2 * n, 4 * n))
    slack = 1000  # calls that come and go: caches, thresholds
    return {k: (one[k], two[k], four[k]) for k in one if four[k] - two[k] > growth * max(two[k] - one[k], 0) + slack}


PROGRAMS = pytest.mark.parametrize("program", [operators, stores])


@only_full
@PROGRAMS
def test_no_pass_is_worse_than_linear(program):
    assert not worse_than_linear(program, N, 2.4, pipeline_passes("default-cpu"))


@PROGRAMS
def test_reading_printing_and_verifying_is_linear(program):
    """With larger programs, whose square is seen beside the many calls that each operation takes."""
    assert not worse_than_linear(program, 4 * N, 2.1)


def test_a_quadratic_step_is_seen(monkeypatch):
    """One call more for each operation before."""
    emit = Evaluator.emit
    monkeypatch.setattr(Evaluator, "emit", lambda p, op, node: (list(p.block.ops), emit(p, op, node))[1])
    assert list(worse_than_linear(operators, 4 * N, 2.1)) == ["parse TVMScript"]


def test_frequent_tokens_are_read_as_xdsl_reads_them():
    """Blanks, comments, letters that are not ASCII, and what looks like punctuation and is not."""
    from xdsl.utils.exceptions import ParseError
    from xdsl.utils.lexer import Input
    from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

    def tokens(lexer):
        results = []
        try:
            while not results or results[-1][0] is not MLIRTokenKind.EOF:
                token = lexer.lex()
                results.append((token.kind, token.span.start, token.span.end))
        except ParseError as error:
            results.append(str(error))
        return results

    def own(text):
        parser = TextParser(new_context(), "x")
        return type(parser._parser_state.lexer)(Input(text, "f"))

    pieces = ["%a$.b-1", "%1a", "%-", "% a", "a$.b", "é", "aé", "%é", "//c\n/", "/", "->", "-", "{-#", "{", "#-}", "^b"]
    pieces += ["!t<2x?xf32>", "@f", '"s"', "\x0b\xa0", "\x85", "1.0e3", "0x1F", "...", "::", "a//", "|=*+"]
    for a in pieces:
        for b in pieces:
            for gap in ("", " ", "\t// c\n"):
                text = f"{a}{gap}{b}"
                assert tokens(own(text)) == tokens(MLIRLexer(Input(text, "f"))), text


DEEP = 600
HEAD = """tir.func @main(%A: !tir.buffer<[2], i32>, %B: !tir.buffer<[2], i32>) {
  %z = tir.const 0 : i64
  %w = tir.load %B[%z] : i32
  %v0 = tir.load %A[%z] : i32
"""
SUM = [f"  %v{i + 1} = tir.add %v{i}, %w : i32\n" for i in range(DEEP)]
CHAIN = [f"  %v{i + 1} = tir.load %A[%v{i}] : i32\n" for i in range(DEEP)]


@pytest.mark.parametrize(
    ("ops", "end", "inputs", "expected"),
    [
        (SUM, f"tir.store %v{DEEP}, %B[%z]", ([7, 0], [2, 0]), [7 + 2 * DEEP, 0]),
        (SUM, f"tir.store %w, %B[%v{DEEP}]", ([1 - 2 * DEEP, 0], [2, 0]), [2, 2]),
    ],
    ids=["value", "index"],
)
def test_expressions_may_be_deeper_than_the_stack(ops, end, inputs, expected):
    kernel = build(parse_mlir(HEAD + "".join(ops) + end + "\n}"))["main"]
    a, b = (np.array(x, "int32") for x in inputs)
    kernel(a, b)
    assert b.tolist() == expected


@only_full
def test_what_is_too_deep_is_reported_with_its_pass():
    """Not all passes: some follow an expression by calling themselves."""
    module = parse_mlir(HEAD + "".join(CHAIN) + f"tir.store %w, %B[%v{DEEP}]\n}}")
    with pytest.raises(TiraxError, match="(?s)nested too deeply.*setrecursionlimit.*in the pass guard-indices"):
        Sequential([ReportIndices(), GuardIndices()])(module)


COMPOSED = ["squares", "reshapes, symbolic", "diamonds", "concat", "concat, symbolic", "stack", "where", "nests"]
"""What once was composed into expressions that doubled with each operator, or with the sizes of all before."""


@thinned("name", COMPOSED, 2)
def test_what_is_composed_grows_with_the_program(name):
    """The passes up to the schedule, on n and 2 n operators or inputs."""
    passes = make_passes([*OPTIMIZE, *SCHEDULE], "llvm -num-cores=1")

    def scheduled(n):
        module, context = script.from_source(STRUCTURES[name](n)).op, new_context()
        for p in passes:
            p.apply(context, module)

    scheduled(N // 2)  # what is cached once is not counted
    few, many = (calls(lambda n=n: scheduled(n))[1] for n in (N, 2 * N))
    assert many <= 2.8 * few
