"""Files of strangers: what SECURITY.md promises, each promise attacked."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.llvm import LLVM

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.interpreter.run import InterpreterError
from tirax.ir.passes.extern import ALLOW_EXTERN, LIBM, ExternError
from tirax.ir.passes.transform import PassContext, new_context
from tirax.script import parse_source
from tirax.script.mlir_text import parse_mlir
from tirax.tools.tirax_cli import main
from tirax.transforms.bindings.fold_constant import FoldConstant
from tirax.tuning.database import JSONDatabase

PROGRAM = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("b"):
                v = T.axis.spatial(4, i)
                B[v] = {call}

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            y = R.call_tir(M.k, ({argument},), out_sinfo=R.Tensor((4,), "float32"))
            R.output(y)
        return y
"""
HARMFUL = ["system", "exit", "abort", "dlopen", "PyRun_SimpleString", "execv", "strlen", "malloc", "printf", "remove"]


def program(function: str, argument: str = "x") -> str:
    return PROGRAM.format(call=f'T.call_extern("float32", "{function}", A[v])', argument=argument)


@pytest.mark.parametrize("name", HARMFUL)
def test_a_program_links_no_function_that_is_not_listed(name):
    with pytest.raises(ExternError, match=f"(?s){name}.*--allow-extern {name}") as refused:
        build(parse_source(program(name)))
    assert refused.value.location is not None and name not in LIBM


def test_what_the_caller_names_is_linked():
    x = np.array([-1, 2, -3, 4], "float32")
    executable = build(parse_source(program("sinf")))
    np.testing.assert_allclose(np.asarray(executable["main"](x)), np.sin(x), rtol=1e-6)
    with pytest.raises(ExternError):
        build(parse_source(program("erand48f")))
    with pytest.raises(TiraxError, match="expected: a list"), PassContext(config={ALLOW_EXTERN: "system"}):
        build(parse_source(program("rand")))
    with PassContext(config={ALLOW_EXTERN: ["significandf"]}):
        executable = build(parse_source(program("significandf")))
    np.testing.assert_allclose(np.asarray(executable["main"](x)), [-1, 1, -1.5, 1])
    with pytest.raises(ExternError):
        build(parse_source(program("significandf")))  # and nothing of it is in a cache


def test_functions_that_are_declared_below_tir_are_checked_too():
    context = new_context()
    context.load_dialect(LLVM)
    call = "%r = llvm.call @system(%p) : (!llvm.ptr) -> i32"
    declared = f"llvm.func @system(!llvm.ptr) -> i32 llvm.func @f(%p: !llvm.ptr) {{ {call} llvm.return }}"
    module = parse_source(program("sinf"))
    for op in list(parse_mlir(declared, ctx=context).body.block.ops):
        op.detach()
        module.body.block.add_op(op)
    with pytest.raises(ExternError, match="'system'"):
        build(module)


def test_the_command_line_asks_for_the_name(tmp_path, capsys):
    path = tmp_path / "stranger.py"
    path.write_text(program("significandf"))
    assert main(["run", str(path)]) != 0
    assert "--allow-extern significandf" in capsys.readouterr().err
    assert main(["run", str(path), "--allow-extern", "significandf"]) == 0
    assert main(["build", str(path), "-o", str(tmp_path / "out")]) != 0 and not (tmp_path / "out").exists()


def test_neither_the_interpreter_nor_folding_calls_it():
    mod = parse_source(program("exit"))
    with pytest.raises(InterpreterError, match="'exit', which it may not"):
        interpret(mod, "main", (np.zeros(4, "float32"),))
    constant = parse_source(program("exit", 'R.const([1.0, 2.0, 3.0, 4.0], "float32")'))
    assert "relax.call_tir" in str(FoldConstant()(constant))


SCRIPTS = [
    "import os\nos.system('touch {mark}')\n",
    "__import__('os').system('touch {mark}')\n",
    "open('{mark}', 'w')\n",
    "@I.ir_module\nclass M:\n    open('{mark}', 'w')\n",
    "@(lambda f: open('{mark}', 'w'))\ndef f(): pass\n",
    "@T.prim_func\ndef f(A: T.Buffer((len(open('{mark}', 'w').name),), 'float32')):\n    pass\n",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32') = open('{mark}', 'w')):\n    pass\n",
    "@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return eval(\"open('{mark}', 'w')\")\n",
    "@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return ().__class__.__base__.__subclasses__()\n",
]


@pytest.mark.parametrize("text", SCRIPTS)
def test_a_script_is_read_and_never_run(tmp_path, text):
    mark = tmp_path / "mark"
    with pytest.raises(TiraxError):
        parse_source(text.format(mark=mark))
    assert not mark.exists()


def test_a_place_that_text_names_is_not_read_without_end():
    place = 'loc("/dev/zero":1:1)'
    text = f"tir.func @f(%A: !tir.buffer<[4], f32>) {{ %z = tir.const 0 : i64 %x = tir.load %A[%z, %z] : f32 {place} }}"
    command = [sys.executable, "-c", "from tirax.tools.tirax_opt import main; raise SystemExit(main([]))"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "/dev/zero:1:1: error" in done.stderr


def test_a_database_writes_where_it_is_and_nowhere_else(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "database_workload.json").write_text('["../../escape", "../../module"]\n')
    (folder / "database_tuning_record.json").write_text("")
    before = set(os.listdir(tmp_path))
    database = JSONDatabase(work_dir=str(folder))
    assert database.get_all_tuning_records() == []
    assert set(os.listdir(tmp_path)) == before


def test_arrays_with_objects_are_refused(tmp_path):
    path = Path(tmp_path, "x.npy")
    np.save(path, np.array([print], dtype=object), allow_pickle=True)
    script = tmp_path / "m.py"
    script.write_text(program("sinf"))
    assert main(["run", str(script), "--input", f"x={path}"]) != 0
