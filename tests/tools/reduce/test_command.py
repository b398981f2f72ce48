"""`tirax reduce`: one command from a program like a model to at most ten operations that show the fault."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time

import pytest
from strength import only_full, thinned
from wrong_passes import MODEL, change_constant, forget_reshape, look_up_softmax, swap_differences
from xdsl.dialects.builtin import ModuleOp

from tirax.driver.pipelines import OPTIMIZE, PIPELINES, make_passes
from tirax.ir.verification.verify import Verifier
from tirax.script import parse_mlir, parse_source
from tirax.tools.checking import MeaningCheck
from tirax.tools.reduce.edits import operations
from tirax.tools.reduce.predicates import PREDICATES, Question
from tirax.transforms.bindings.normalize import Normalize
from tirax.transforms.tir.flatten_buffer import FlattenBuffer


def counts(output: str) -> tuple[int, int]:
    """The numbers of operations that the command tells."""
    before, after = re.search(r"(\d+) operations to (\d+)", output).groups()
    return int(before), int(after)


@thinned(
    ("predicate", "cls", "change", "passes", "names"),
    [
        ("crash", Normalize, look_up_softmax, "normalize", ["relax.multiply", "relax.nn.softmax"]),
        ("verify-error", Normalize, forget_reshape, "normalize", ["relax.reshape"]),
        ("meaning-changes", Normalize, swap_differences, "normalize,legalize", ["relax.mean", "relax.subtract"]),
        ("native-differs", FlattenBuffer, change_constant, None, ["tir.store"]),
    ],
    1,
)
def test_a_model_with_a_wrong_pass_becomes_small(cli, spoil, model, tmp_path, predicate, cls, change, passes, names):
    spoil(cls, change)
    small = tmp_path / "small.mlir"
    result = cli("reduce", model, "--predicate", predicate, *(["-p", passes] if passes else []), "-o", small)
    assert result.code == 0, result.err
    module = parse_mlir(small.read_text())
    Verifier().verify(module)
    assert counts(result.err) == (operations(parse_source(MODEL)), operations(module))
    assert operations(parse_source(MODEL)) > 30 and operations(module) <= 10
    assert set(names) <= {op.name for op in module.walk()}
    again = cli("reduce", small, "--predicate", predicate, *(["-p", passes] if passes else []))
    assert again.code == 0 and again.out == small.read_text(), "it has the fault, and nothing more can go"


@only_full
def test_the_smallest_is_the_same_each_time_and_however_many_are_tried_at_once(cli, spoil, model):
    spoil(Normalize, look_up_softmax)
    first, second = (cli("reduce", model, "--predicate", "crash", "-p", "normalize", "-j", n).out for n in (1, 3))
    assert first == second != ""


SLOW = """
@R.function
def main(x: R.Tensor((96, 96), "float32"), w: R.Tensor((96, 96), "float32")):
    return R.matmul(x, w)
"""


CANCELLED = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    y = R.add(x, R.const(1e8, "float32"))
    return R.subtract(y, R.const(1e8, "float32"))
"""


def test_numpy_with_64_bits_sees_what_the_interpreter_rounds_as_native_code_does():
    question, module = Question(make_passes(PIPELINES["default-cpu"]), (2,)), parse_source(CANCELLED)
    assert PREDICATES["numpy-differs"][0](question, module) == "differs from numpy"
    assert PREDICATES["native-differs"][0](question, module) is None
    harmless = parse_source(CANCELLED.replace("1e8", "0.5"))
    assert PREDICATES["numpy-differs"][0](question, harmless) is None


def test_what_is_slower_than_other_passes_and_than_a_time():
    slow, fast = (make_passes([*OPTIMIZE, *PIPELINES[name]]) for name in ("lower-cpu-unscheduled", "lower-cpu"))
    ask, module = PREDICATES["slower"][0], parse_source(SLOW)
    assert ask(Question(slow, (2,), fast, ratio=1.5), module) == "it is slower"
    assert ask(Question(fast, (2,), slow, ratio=1.5), module) is None
    assert ask(Question(fast, (2,), limit=1e-9), module) == "it is slower"
    assert ask(Question(fast, (2,), limit=1e3), module) is None


def test_a_command_says_what_is_kept(cli, model, tmp_path):
    script, small = tmp_path / "grep.py", tmp_path / "small.py"
    script.write_text("import sys; sys.exit('R.nn.gelu' not in open(sys.argv[1]).read())")
    command = shlex.join([sys.executable, "-S", str(script), "{}"])
    result = cli("reduce", model, "--command", command, "-o", small)
    assert result.code == 0, result.err
    assert "R.nn.gelu" in small.read_text()
    assert operations(parse_source(small.read_text())) == 3, "a function, the operator, the return"


def test_a_program_without_the_fault_is_refused(cli, model, tmp_path):
    small = tmp_path / "small.mlir"
    result = cli("reduce", model, "--predicate", "crash", "-p", "normalize", "-o", small)
    assert result.code == 1 and not small.exists()
    assert "error: the program does not have the fault\n  expected: a pass ends with an internal error" in result.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--predicate or --command says what is to be kept"),
        (("--predicate", "crash", "--command", "true {}"), "--predicate or --command says what is to be kept"),
        (("--predicate", "crashs"), "did you mean 'crash'?"),
        (("--predicate", "crash", "-p", "normalise"), "did you mean 'normalize'?"),
        (("--command", "true"), "--command takes a file as {}"),
        (("--command", "true '{}"), "--command is not understood: No closing quotation"),
        (("--command", "no-such-command {}"), "there is no command 'no-such-command'"),
        (("--command", "true {}", "-p", "normalize"), "passes belong to --predicate"),
        (("--predicate", "crash", "--sizes", "-1"), "argument --sizes: invalid sizes: '-1'"),
        (("--predicate", "slower"), "slower than what?"),
        (("--predicate", "crash", "--than", "1us"), "slower than what?"),
        (("--predicate", "slower", "--than", "default-cpus"), "unknown pass 'default-cpus'"),
        (("--predicate", "slower", "--than", "0us"), "a time is longer than nothing"),
        (("--predicate", "crash", "-p", "normalize", "-j", "0"), "-j is how many programs are tried at once"),
    ],
)
def test_command_lines_that_make_no_sense(cli, model, options, message):
    result = cli("reduce", model, *options)
    assert result.code == 2 and message in result.err and result.out == ""


def test_a_program_that_is_not_well_formed_is_refused(cli, tmp_path):
    path = tmp_path / "wrong.mlir"
    path.write_text(
        "relax.func @f(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[5], f32> { relax.return %x : "
        "!relax.tensor<[4], f32> }"
    )
    result = cli("reduce", path, "--predicate", "crash")
    assert result.code == 1 and "declares the result" in result.err


def end_process(module: ModuleOp) -> None:
    if any(op.name == "relax.nn.gelu" for op in module.walk()):
        os.abort()


def hang(module: ModuleOp) -> None:
    if any(op.name == "relax.nn.gelu" for op in module.walk()):
        time.sleep(60)


def test_a_pass_that_ends_the_process_is_a_fault(cli, spoil, model):
    spoil(Normalize, end_process)
    result = cli("reduce", model, "--predicate", "crash", "-p", "normalize")
    assert result.code == 0 and "ended by SIGABRT" in result.err
    assert counts(result.err)[1] == 3


def test_the_time_is_limited(cli, spoil, model):
    spoil(Normalize, hang)
    result = cli("reduce", model, "--predicate", "crash", "-p", "normalize", "--limit", "0.3", "--seconds", "0.5")
    assert result.code == 0 and "the time was over" in result.err


def test_the_check_knows_the_fault(spoil):
    spoil(Normalize, swap_differences)
    module = parse_source(MODEL)
    after = Normalize()(module)
    assert MeaningCheck((2,)).difference(module.clone(), after, "the passes", "normalize") is not None
