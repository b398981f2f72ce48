"""`tirax-opt` on wrong input, files that cannot be used and processes that end early: a message and a code."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from strength import only_full
from xdsl.passes import ModulePass

from tirax.dialects import relax
from tirax.ir.passes.transform import Pass, new_context
from tirax.script.mlir_text import MLIRSyntaxError, parse_mlir
from tirax.tools.checking import MeaningChangedError, MeaningCheck
from tirax.tools.specs import instantiate
from tirax.tools.tirax_opt import main

TOOL = Path(sys.executable).with_name("tirax-opt")

BAD_TEXTS = {
    "": "<stdin> is empty",
    " \n\t\n": "<stdin> is empty",
    "relax.funk @f() {}": "<stdin>:1:1: error: unknown operation 'relax.funk'",
    "relx.func @f() {}": "hint: did you mean 'relax'?",
    '%a = "foo.bar"() : () -> i32': "hint: --allow-unregistered-dialect",
    "relax.func @f(%x: !relax.tensor<[n], f33>) {}": "<stdin>:1:38: error: type expected",
    "func.func @f() {\n  %x = arith.constant 300 : i8\n}": "<stdin>:2:3: error: integer value 300 is out of range",
    "\x01": "<stdin>:1:1: error: unexpected character",
    "{" * 50: "<stdin>:1:1: error:",
    "func.func @f(%a: i32) {\n  func.return\n} }": "<stdin>:3:3: error:",
    'tir.func @f() { tir.block "never closed ' + "x" * 200: "<stdin>:1:27: error: end of file reached before closing",
    "builtin.module {": "<stdin>:1:17: error:",
}


@pytest.mark.parametrize("text", BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_bad_text_is_a_diagnostic(opt, text):
    result = opt(stdin=text)
    assert (result.code, result.out) == (1, "")
    assert BAD_TEXTS[text].lower() in result.err.lower()


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"builtin.module {\0}", b"\x7fELF" + bytes(range(256))])
def test_binary_garbage_is_no_program(opt, data):
    result = opt(stdin=data)
    assert result.code == 1
    assert "<stdin> is not a text file" in result.err


def test_nesting_is_deep_before_it_is_too_deep(opt):
    def nested(depth: int) -> str:
        return "func.func @f(%a: i1) {" + "scf.if %a {\n" * depth + "}" * depth + "func.return }"

    assert opt(stdin=nested(100)).code == 0
    result = opt(stdin=nested(5000))
    assert (result.code, result.out) == (1, "")
    assert "nested too deeply" in result.err


def test_deep_script_is_a_diagnostic(opt):
    result = opt("-f", "py", stdin="x = " + "(" * 5000 + ")" * 5000)
    assert result.code == 1
    assert "error" in result.err


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d / "absent.mlir", "No such file or directory"),
        (lambda d: d, "Is a directory"),
        (lambda d: d / "a.txt", "the language of the file is unknown"),
        (lambda d: d / "noextension", "the language of the file is unknown"),
    ],
)
def test_files_that_cannot_be_read(opt, tmp_path, make, message):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "noextension").write_text("x")
    result = opt(make(tmp_path))
    assert result.code == 1
    assert message in result.err


def test_bad_bytes_in_file_name(opt):
    assert opt("a\0b.mlir").code == 1


@pytest.mark.parametrize(
    "args",
    [
        ["--nonsense"],
        ["-p", "nonsense"],
        ["-p", "normalize,,"],
        ["-p", "normalize{"],
        ["-p", "normalize}"],
        ["-p", "$"],
        ["-p"],
        ["-t", ""],
        ["-t", "nonsense"],
        ["-t", "mlir,llvm"],
        ["-t", "mlir{x=1}"],
        ["-f", "c++"],
        ["--pipeline", "nonsense"],
        ["--check-sizes", "a"],
        ["--check-sizes", "-1"],
        ["--check-sizes", ""],
        ["--print-ir-after", "normalize"],
        ["--print-ir-as", "x"],
        ["a.mlir", "b.mlir"],
    ],
)
def test_bad_command_lines(opt, args):
    result = opt(*args)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(("error:", "--passes:1:", "-t:1:"))


def test_output_replaces_a_file_only_when_done(opt, tmp_path, mlp):
    target = tmp_path / "out.mlir"
    target.write_text("old")
    assert opt("-o", target, stdin=mlp + "}").code == 1
    assert target.read_text() == "old"
    assert opt("-o", target, stdin=mlp).code == 0
    assert "relax.matmul" in target.read_text()
    assert os.listdir(tmp_path) == ["out.mlir"]


def test_output_that_cannot_be_written(opt, tmp_path, mlp):
    for path in (tmp_path / "absent" / "x", tmp_path):
        result = opt("-o", path, stdin=mlp)
        assert result.code == 1
        assert "cannot write" in result.err


def test_output_to_a_device_leaves_it_a_device(opt, mlp):
    assert opt("-o", "/dev/null", stdin=mlp).code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_dumps_that_cannot_be_written(opt, tmp_path, mlp):
    (tmp_path / "file").write_text("")
    result = opt("--print-ir-dir", tmp_path / "file", stdin=mlp)
    assert result.code == 1
    assert "cannot write" in result.err


def test_timing_comes_even_where_a_pass_fails(opt):
    result = opt("--timing", stdin="relax.funk")
    assert result.code == 1
    assert "total" in result.err


@dataclass(frozen=True)
class Swap(Pass):
    """Replaces relu by exp: another meaning."""

    name = "swap"

    def apply(self, ctx, op):
        for inner in list(op.walk()):
            if isinstance(inner, relax.OPERATORS["relax.nn.relu"]):
                new = relax.OPERATORS["relax.exp"].make(inner.operands[0])
                inner.parent.insert_op_before(new, inner)
                inner.results[0].replace_all_uses_with(new.results[0])
                inner.detach()


def test_check_each_names_the_pass_and_shows_the_inputs(mlp):
    before = parse_mlir(mlp)
    after = before.clone()
    check = MeaningCheck((2,))
    check.check(before, after, 1, "nothing")
    Swap().apply(new_context(), after)
    with pytest.raises(MeaningChangedError, match="pass 3, 'swap', changes what the program computes") as caught:
        check.check(before, after, 3, "swap")
    shown = str(caught.value)
    assert "@main at {'n': 2}" in shown
    assert "input 0: float32[2, 6]" in shown
    assert "before: float32[2, 4]" in shown


def test_every_op_knows_its_place(mlp):
    module = parse_mlir(mlp, "m.mlir")
    places = [(op.name, op.location.line.data, op.location.column.data) for op in module.walk()]
    assert ("relax.matmul", 4, 5) in places
    assert ("relax.func", 2, 1) in places
    assert ("relax.return", 8, 3) in places


def test_a_location_in_the_text_wins():
    text = 'func.func @f() {\n  func.return loc("other.py":7:3)\n}'
    module = parse_mlir(text)
    places = {op.name: str(op.location) for op in module.walk()}
    assert "other.py" in places["func.return"]


def new_context_with_func():
    from xdsl.dialects.func import Func

    ctx = new_context()
    ctx.load_dialect(Func)
    return ctx


def test_contents_of_weights_are_left_out_on_request(opt, tmp_path):
    small, large = "<f32 [2] [1.0, 2.0]>", f'<f32 [100] "0x{"00" * 400}">'
    text = f"""relax.func @f() -> !relax.tensor<[100], f32> {{
      %a = relax.constant {small} %b = relax.constant {large} relax.return %b : !relax.tensor<[100], f32> }}"""
    shown = opt("--elide-constants", "100", "-p", "simplify", "--print-ir-dir", tmp_path, stdin=text)
    assert shown.code == 0 and small in shown.out and "<f32 [100] elided>" in shown.out, shown.err
    assert "<f32 [100] elided>" in (tmp_path / "00-input.mlir").read_text()
    again = opt(stdin=shown.out)
    assert again.code == 1 and "were left out when it was printed" in again.err
    assert large in opt(stdin=text).out


def test_values_of_options_with_other_signs_are_quoted(opt, mlp):
    result = opt("-p", "apply-dpl-patterns{file=boom.py}", stdin=mlp)
    assert result.code == 2 and 'are quoted: file="a.py"' in result.err
    assert "boom.py" in opt("-p", 'apply-dpl-patterns{file="boom.py"}', stdin=mlp).err


def test_caret_points_at_the_token():
    with pytest.raises(MLIRSyntaxError) as caught:
        parse_mlir("relax.func @f() -> !relax.object {\n  relax.retrun\n}", "f.mlir")
    assert str(caught.value).split("\n")[:3] == [
        "f.mlir:2:3: error: unknown operation 'relax.retrun'",
        "    2 |   relax.retrun",
        "      |   ^^^^^^^^^^^^",
    ]


@dataclass(frozen=True)
class Options(ModulePass):
    """All kinds of options."""

    name = "options"
    flag: bool = False
    number: int = 1
    ratio: float = 0.5
    names: tuple[str, ...] = ()
    maybe: int | None = None

    def apply(self, ctx, op):
        raise NotImplementedError


def test_options_are_converted():
    arguments = {"flag": (), "number": (3,), "ratio": (2,), "names": ("a", "b"), "maybe": (4,)}
    assert instantiate(Options, arguments, "pass") == Options(True, 3, 2.0, ("a", "b"), 4)
    assert instantiate(Options, {"names": ("a",), "flag": (False,)}, "pass") == Options(False, names=("a",))


@pytest.mark.parametrize("inputs", [{"number": ()}, {"number": (True,)}, {"number": (1, 2)}, {"ratio": ("x",)}])
def test_options_of_a_wrong_type(inputs):
    from tirax.tools.guard import UsageError

    with pytest.raises(UsageError, match="has a wrong value"):
        instantiate(Options, inputs, "pass")


def test_help_imports_no_compiler():
    code = (
        "import sys; from tirax.tools.tirax_opt import main; main(['--help']); "
        "sys.exit(' '.join(m for m in ('numpy', 'llvmlite', 'tirax.dialects', 'xdsl.universe') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stderr.strip() == ""
    assert "--list-passes" in done.stdout


@only_full
def test_closed_pipe_is_silent():
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as out:
        args = [str(TOOL), "--list-passes"]
        done = subprocess.run(args, stdout=out, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 1, "error: out of memory"),
        (OSError(28, "No space left on device", "x"), 1, "error: No space left on device: 'x'"),
        (
            ZeroDivisionError("oops\nmore"),
            1,
            "internal error: ZeroDivisionError: oops, please report; run with",
        ),
    ],
)
def test_whatever_happens_is_one_line(opt, monkeypatch, error, code, message):
    def fail(_options):
        raise error

    monkeypatch.delenv("TIRAX_DEBUG", raising=False)
    monkeypatch.setattr("tirax.tools.driver.run", fail)
    result = opt()
    assert (result.code, result.out) == (code, "")
    assert result.err.startswith(message)
    assert result.err.count("\n") == 1


def test_debugging_shows_the_traceback(monkeypatch, capsys):
    monkeypatch.setenv("TIRAX_DEBUG", "1")
    monkeypatch.setattr("tirax.tools.driver.run", lambda _options: 1 // 0)
    assert main([]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_contents_of_weights_are_left_out_of_what_is_looked_at(opt, tmp_path):
    text = f"""relax.func @f() -> !relax.tensor<[1000], f32> {{
      %a = relax.constant <f32 [1000] "0x{"00" * 4000}"> relax.return %a : !relax.tensor<[1000], f32> }}"""
    dumps = ("-p", "normalize", "--print-ir-after-all", "--print-ir-dir", tmp_path)
    shown = opt(*dumps, stdin=text)
    assert shown.code == 0 and "elided" in shown.err and "elided" not in shown.out, shown.err
    assert opt(stdin=(tmp_path / "01-normalize.mlir").read_text()).out == shown.out
    full = opt(*dumps, "--elide-constants", "none", stdin=text)
    assert "elided" not in full.err and full.out == shown.out
    assert opt("--elide-constants", "few", stdin=text).code == 2
