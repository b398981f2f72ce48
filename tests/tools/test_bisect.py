"""`tirax bisect` names the pass, the function, and the command that makes the program small."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import pytest
from strength import only_full, thinned
from wrong_passes import change_constant, forget_reshape, swap_differences
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, ModuleOp
from xdsl.ir import Operation

from tirax.dialects import tir
from tirax.driver.pipelines import PIPELINES
from tirax.lowering.tir_to_scf.convert import ConvertTirToScf
from tirax.schedule.cpu.policy.choices import Decision
from tirax.schedule.registry import PRIMITIVES
from tirax.schedule.state import State
from tirax.script import parse_mlir
from tirax.tools.reduce.edits import operations
from tirax.transforms.bindings.normalize import Normalize
from tirax.transforms.tir.flatten_buffer import FlattenBuffer

SMALL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")):
        for i, j in T.grid(4, 3):
            with T.block("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((4, 3), "float32")):
        cls = Module
        with R.dataflow():
            mean = R.mean(x, axis=[1], keepdims=True)
            centred = R.subtract(x, mean)
            twice = R.call_tir(cls.scale, (centred,), out_sinfo=R.Tensor((4, 3), "float32"))
            R.output(twice)
        return twice
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.py"
    path.write_text(SMALL)
    return path


def change_arith_constant(module: ModuleOp) -> None:
    """2 -> 3 in kernels."""
    for op in module.walk():
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, FloatAttr) and op.value.value.data == 2:
            op.properties["value"] = FloatAttr(3.0, op.value.type)


@thinned(
    ("cls", "change", "function", "exact"),
    [
        (Normalize, swap_differences, "main", True),
        (FlattenBuffer, change_constant, "scale", True),
        (ConvertTirToScf, change_arith_constant, "scale", False),
    ],
    1,
)
def test_the_first_pass_and_the_innermost_function_are_named(cli, spoil, small, cls, change, function, exact):
    spoil(cls, change)
    result = cli("bisect", small, "--sizes", "2")
    assert result.code == 0, result.err
    passes = PIPELINES["default-cpu"]
    at = passes.index(cls.name) + 1
    assert (
        f"pass {at} of {len(passes)}, '{cls.name}', is the first that changes what the program computes" in result.out
    )
    assert re.search(rf"function: @(fused_\w*)?{function}\n", result.out)
    assert ("or a later one is wrong" in result.out) is not exact
    assert int(re.search(r"comparisons: (\d+)", result.out)[1]) < len(passes) // 2


def after(out: str, what: str) -> list[str]:
    """The words of the command that the output names."""
    return shlex.split(re.search(f"{what}: (.*)", out)[1])


@only_full
def test_the_command_that_it_names_makes_the_program_small(cli, spoil, model, tmp_path, monkeypatch):
    spoil(Normalize, swap_differences)
    output = cli("bisect", model, "-p", "canonicalize-bindings,normalize,legalize", "--sizes", "2,1").out
    assert "pass 2 of 3, 'normalize'" in output
    tool, *words = after(output, "make it smaller")
    monkeypatch.chdir(tmp_path)
    assert tool == "tirax" and cli(*words).code == 0
    assert operations(parse_mlir(Path("small.mlir").read_text())) <= 10
    assert (Path(re.search("reproducer: (.*)", output)[1]) / "inputs.npz").exists()


def test_the_reproducer_shows_the_change(cli, opt, spoil, small):
    spoil(FlattenBuffer, change_constant)
    folder = re.search("reproducer: (.*)", cli("bisect", small, "--sizes", "2").out)[1]
    result = opt(folder, "--run-reproducer")
    assert result.code == 1 and "'flatten-buffer', changes what the program computes" in result.err


def test_a_program_that_is_not_well_formed(cli, spoil, model, tmp_path, monkeypatch):
    spoil(Normalize, forget_reshape)
    output = cli("bisect", model, "-p", "canonicalize-bindings,normalize,legalize").out
    assert "pass 2 of 3, 'normalize', is the first after which the program is not well formed" in output
    assert "function: @main" in output and "the results of a dataflow block must have the types" in output
    monkeypatch.chdir(tmp_path)
    assert cli(*after(output, "make it smaller")[1:]).code == 0
    assert operations(parse_mlir(Path("small.mlir").read_text())) <= 10


def top(op: Operation) -> ModuleOp:
    """The module around an operation."""
    while (parent := op.parent_op()) is not None:
        op = parent
    assert isinstance(op, ModuleOp)
    return op


@only_full
def test_the_rule_of_the_default_schedule_is_named(cli, small, monkeypatch):
    """A rule that writes 3 for 2: the second one of the function."""
    right = Decision.apply

    def put(self: Decision[object]) -> None:
        module = top(self.roots[-1])
        right(self)
        if any(stage.name == "tir.for" for stage in module.walk()) and self.rule.name == "pointwise":
            change_constant(module)

    monkeypatch.setattr(Decision, "apply", put)
    output = cli("bisect", small, "--sizes", "2").out
    assert "'default-schedule', is the first that changes what the program computes" in output
    assert re.search(r'decision: 2 of 3, sched.rule "pointwise" on "scale"', output), output


SCHEDULED = """
tir.func @main(%A: !tir.buffer<[8], f32>, %B: !tir.buffer<[8], f32>) {
  tir.for %i = 0 for 8 {
    tir.block "B" (%vi = spatial(%i, 8)) {
      tir.reads %A[%vi]
      tir.writes %B[%vi]
      %x = tir.load %A[%vi] : f32
      %two = tir.const 2.0 : f32
      %y = tir.mul %x, %two : f32
      tir.store %y, %B[%vi]
    }
  }
}
sched.sequence {
  %b = sched.get_block(name = "B") : block
  %l = sched.get_loops(block = %b) : loop
  %o, %i = sched.split(loop = %l, factors = [2, 4]) : loop, loop
  sched.vectorize(loop = %i)
  sched.unroll(loop = %o)
}
"""


def test_the_step_of_a_schedule_is_named(cli, tmp_path, monkeypatch):
    right = PRIMITIVES["vectorize"]

    def vectorize(state: State, loop: tir.ForOp) -> None:
        right.function(state, loop)
        change_constant(state.module)

    monkeypatch.setitem(PRIMITIVES._entries, "vectorize", dataclasses.replace(right, function=vectorize))
    path = tmp_path / "scheduled.mlir"
    path.write_text(SCHEDULED)
    output = cli("bisect", path, "-p", "normalize,apply-schedule", "--sizes", "2").out
    assert "pass 2 of 2, 'apply-schedule'" in output and "function: @main" in output
    decision = re.search("decision: (.*)", output)[1]
    assert decision.startswith("4 of 5, sched.vectorize(loop = ") and decision.endswith(f"at {path}:18:3")


def test_passes_that_change_nothing_are_sound(cli, model):
    result = cli("bisect", model, "-p", "normalize,legalize", "--sizes", "2")
    assert result.code == 0 and not result.err
    assert "nothing is wrong: none of 2 passes changes what the program computes\n  comparisons: 1" in result.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-p", "normalise"), "did you mean 'normalize'?"),
        (("--sizes", "a"), "argument --sizes: invalid sizes: 'a' (expected: n=2,m=3, or 2,5,0"),
    ],
)
def test_command_lines_that_make_no_sense(cli, model, options, message):
    result = cli("bisect", model, *options)
    assert result.code == 2 and message in result.err
