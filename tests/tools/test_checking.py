"""`--check-each` compares private tensor functions and native code, and fails where nothing was compared."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr

import tirax.interpreter as interpreter
from tirax.dialects import tir
from tirax.dialects.dtypes import dtype_of, numpy_dtype
from tirax.driver.pipelines import PIPELINES, make_passes
from tirax.interpreter import MeaningError, assert_same_meaning, compare, first_disagreement
from tirax.ir.passes.transform import PassContext, new_context
from tirax.script import parse_mlir, parse_source
from tirax.tools.checking import MeaningChangedError, MeaningCheck, save_reproducer
from tirax.tools.native import NativeModule
from tirax.tools.tirax_opt import main
from tirax.tvm_api import IRModule

TWICE = """
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.add(x, R.const(2.5, "float32"))
    return R.exp(y)
"""


def run_with(module, spoilt, spoil):
    """Run `default-cpu` with the check; the pass `spoilt` is followed by `spoil(module)`."""
    check = MeaningCheck((2,))
    check.start(module)
    for number, p in enumerate(make_passes(PIPELINES["default-cpu"]), 1):
        before = module.clone()
        p.apply(new_context(), module)
        if p.name == spoilt:
            spoil(module)
        check.check(before, module, number, p.name)
    return check


def change_constant(kind):
    def spoil(module):
        for op in module.walk():
            value = op.properties.get("value")
            if isinstance(op, kind) and isinstance(value, FloatAttr) and value.value.data == 2.5:
                op.properties["value"] = FloatAttr(3.5, value.type)
                return
        raise AssertionError("the constant is not there")

    return spoil


def test_every_pass_of_the_default_pipeline_is_compared():
    check = run_with(parse_source(TWICE), "", None)
    kernels = {name: count for name, count in check.counts.items() if name != "main"}
    assert check.counts["main"] >= 8 and min(kernels.values()) >= 8
    assert f"{len(PIPELINES['default-cpu'])} passes" in check.summary() and "@main" in check.summary()


@pytest.mark.parametrize(
    "spoilt, kind",
    [
        ("fuse-tir", tir.ConstOp),
        ("default-schedule", tir.ConstOp),
        ("flatten-buffer", tir.ConstOp),
        ("convert-tir-to-scf", arith.ConstantOp),
        ("promote-tiles", arith.ConstantOp),
    ],
)
def test_the_pass_that_changes_a_private_function_is_named(spoilt, kind):
    with pytest.raises(MeaningChangedError, match=f"'{spoilt}', changes what the program computes") as caught:
        run_with(parse_source(TWICE), spoilt, change_constant(kind))
    folder = Path(re.search("reproducer: (.*)", str(caught.value))[1])
    assert "relax.func @main" in (folder / "program.mlir").read_text()
    assert "--check-each" in (folder / "command.txt").read_text()
    assert np.load(folder / "inputs.npz")["input0"].dtype == np.float32


NOTHING = """
@R.function
def main(x: R.Object) -> R.Object:
    return x
"""
OTHER = NOTHING.replace("def main", "def other")


@pytest.mark.parametrize("after", [NOTHING, OTHER, TWICE.replace("main", "third")])
def test_nothing_compared_is_an_error(after):
    before, after = parse_source(NOTHING), parse_source(after)
    with pytest.raises(MeaningError, match="nothing was compared"):
        first_disagreement(before, after)
    with pytest.raises(MeaningError, match="nothing was compared"):
        assert_same_meaning(before, after)


def test_a_function_that_is_named_must_be_compared():
    with pytest.raises(MeaningError, match="@other: it is not there before"):
        assert_same_meaning(parse_source(TWICE), parse_source(TWICE), functions=["main", "other"])


def test_check_each_fails_where_nothing_was_compared():
    with pytest.raises(MeaningError, match="'rename': nothing was compared"):
        MeaningCheck((2,)).check(parse_source(NOTHING), parse_source(OTHER), 1, "rename")


LOOPS = """
@T.prim_func
def main(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int64")
    for j, i in T.grid(n, {extent}):
        A[j] = i
"""
EXP = "@R.function\ndef main(x: R.Tensor(SHAPE)):\n    y = R.exp(x)\n    return y\n"


def test_what_takes_too_many_iterations_is_passed_over():
    loops = parse_source(LOOPS.format(extent="T.int64(3000000000)"))
    result = compare(loops, loops, sizes=(5, 0))
    assert result.compared == {"main": 1}, "where n is 0 nothing runs"
    few = parse_source(LOOPS.format(extent="T.int64(3)"))
    assert compare(few, few, sizes=(5, 0)).compared == {"main": 2}
    with PassContext(config={"tirax.limit.check.iterations": 2}):
        result = compare(few, few, sizes=(5, 2))
    assert result.skipped == {"main": "it takes too many iterations (check.iterations)"}


@pytest.mark.parametrize(
    ("before", "after", "compared"),
    [
        ("('n', 4)", "(4, 'n')", 0),
        ("('n', 4)", "('m', 4)", 4),
        ("('n', 'm')", "('m', 'n')", 2),
        ("('n', 4)", "(5, 4)", 1),
        ("('n', 4)", "('n', 4, 1)", 0),
        ("('n', 4)", "('n', 4), 'float16'", 0),
    ],
)
def test_what_takes_other_parameters_is_passed_over(before, after, compared):
    programs = [EXP.replace("SHAPE", s if "float" in s else f"{s}, 'float32'") for s in (before, after)]
    result = compare(*map(parse_source, programs))
    assert result.disagreement is None
    assert result.compared.get("main", 0) == compared
    if not compared:
        assert result.skipped == {"main": "the types of its parameters change"}


def test_comparisons_are_counted():
    result = compare(parse_source(TWICE), parse_source(TWICE))
    assert str(result) == "compared: @main on 1 inputs" and result.disagreement is None


def test_modules_are_of_either_kind():
    module = IRModule(parse_source(TWICE))
    assert_same_meaning(module, module)
    x = np.ones(4, np.float32)
    np.testing.assert_allclose(interpreter.interpret(module, "main", [x]), np.exp(x + 2.5), rtol=1e-6)


def test_kernels_run_by_themselves():
    module = parse_source("""
@T.prim_func(private=True)
def scale(a: T.handle, factor: T.int32, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    assert factor > 0, "no factor"
    for i in range(n):
        B[i] = A[i] * T.Cast("float32", factor)
""")
    native, func = NativeModule(module), next(iter(module.ops))
    a, b = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    native.call_kernel(func, [a, np.int32(3), b])
    np.testing.assert_array_equal(b, a * 3)
    with pytest.raises(interpreter.InterpreterError, match="no factor"):
        native.call_kernel(func, [a, np.int32(-3), b])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_kernels_take_and_give_numbers_of_two_bytes(dtype):
    """They travel in the lowest bits of a register of floats; a denormal and an infinity among them."""
    func = parse_source(f"""
@T.prim_func(private=True)
def twice(a: T.{dtype}) -> T.{dtype}:
    return a + a
""")
    native, func = NativeModule(func), next(iter(func.ops))
    for number in (1.5, -0.0, 6e-8 if dtype == "float16" else 1e-40, float("inf"), -3.0):
        value = np.asarray(number, numpy_dtype(dtype_of(dtype)))[()]
        result = native.call_kernel(func, [value])
        assert result.dtype == value.dtype and np.signbit(result) == np.signbit(value)
        np.testing.assert_array_equal(np.float64(result), np.float64(value + value))


def test_a_reproducer_keeps_shapes_and_the_fields_of_tuples():
    folder = save_reproducer("builtin.module {}", [np.ones(2), (np.zeros(3), (2, 5))], "true")
    try:
        with np.load(folder / "inputs.npz") as saved:
            arrays = {name: saved[name].tolist() for name in saved.files}
    finally:
        shutil.rmtree(folder)
    assert arrays == {"input0": [1, 1], "input1.0": [0, 0, 0], "input1.1": [2, 5]}


def test_dumps_of_an_earlier_run_go(tmp_path, capfd):
    """What stands in the folder beside them stays."""
    folder, program = tmp_path / "stages", tmp_path / "model.py"
    program.write_text(TWICE)
    (tmp_path / "stages").mkdir()
    (folder / "mine.mlir").write_text("")
    for passes in ("normalize,legalize-ops", "normalize"):
        assert main([str(program), "-p", passes, "--print-ir-dir", str(folder)]) == 0
    assert sorted(p.name for p in folder.iterdir()) == ["00-input.mlir", "01-normalize.mlir", "mine.mlir"]


@pytest.mark.parametrize(
    ("middle", "factor", "same"),
    [("float16", 1.002, True), ("float16", 1.1, False), ("float32", 1.002, False)],
)
def test_what_was_rounded_to_narrow_floats_is_right_to_their_roundings(middle, factor, same):
    program = """
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.astype(x, "{}")
    z = R.astype(R.exp(y), "float32")
    return R.multiply(z, R.const({}, "float32"))
"""
    before, after = (parse_source(program.format(middle, by)) for by in (1.0, factor))
    assert (first_disagreement(before, after) is None) is same


def test_private_functions_on_arrays_without_dimensions_are_compared():
    module = parse_source("""
@T.prim_func(private=True)
def twice(x: T.Buffer((), "float32"), y: T.Buffer((), "float32")):
    y[()] = x[()] * T.float32(2)
""")
    assert compare(module, module.clone(), private=True).compared == {"twice": 1}


def test_a_reproducer_runs_by_itself(opt, monkeypatch, tmp_path):
    program = "relax.func @f(%x: T) -> T { relax.return %x : T }".replace("T", "!relax.tensor<[2], f32>")
    monkeypatch.setattr("tempfile.mkdtemp", lambda prefix: str(tmp_path))
    save_reproducer(program, [np.ones(2)], "true", ["-p", "normalize,legalize-ops", "--check-each"])
    result = opt(tmp_path, "--run-reproducer")
    assert result.code == 0 and "check-each: 2 passes" in result.err


STATUS = """
tir.func private @f(%A: !tir.buffer<[4], i64>) {CHECK
  %one = tir.const 1 : i64
  %i = tir.const 0 : i64
  %x = tir.load %A[%i] : i64
  %y = tir.add %x, %one : i64
  tir.store %y, %A[%i]
}"""


def test_a_status_of_success_is_nothing():
    """What `lower-asserts` adds to a function that gave nothing; what it computes is compared."""
    text = STATUS.replace("CHECK", '\n  %ok = tir.const true\n  tir.assert %ok, "fine"')
    before = parse_mlir(text)
    after = make_passes(["lower-asserts"])[0](before)
    assert "-> i32" in str(after)
    assert_same_meaning(before, after, private=True)
    with pytest.raises(MeaningError):
        wrong = make_passes(["lower-asserts"])[0](parse_mlir(text.replace("tir.add", "tir.sub")))
        assert_same_meaning(before, wrong, private=True)
