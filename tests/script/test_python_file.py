"""Ordinary Python files: the programs in them are read as they would be made by a run, and nothing is run."""

import runpy
from pathlib import Path

import pytest

from tirax.diagnostics import TiraxError
from tirax.ir.equality import assert_structural_equal
from tirax.script import parse_source

FILE = '''
#!/usr/bin/env python
"""A file as people write it."""
import os
try:
    import tvm
    from tvm.script import ir as I, relax as R, tir as T
except ImportError:
    import tirax.tvm_api as tvm
    from tirax.tvm_api.script import ir as I, relax as R, tir as T

N: int = 8
M, DTYPE = N * 2, "float32"
SHAPE = [N, M]
if os.environ.get("NEVER"):
    WIDTH = 5
n = int(os.environ.get("ROWS", "3"))
GROWN = [N]
GROWN.append(4)
OTHER = SHARED = [N, 4]
OTHER[0] = 5
COUNT = 1
TWICE = 1
TWICE = 2

def count():
    global COUNT
    COUNT += 1

@T.prim_func
def add1(x: T.Buffer((N, M), DTYPE), y: T.Buffer((N, M), DTYPE)):
    for i, j in T.grid(N, M):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] + T.float32(1)

class Plain:
    size = N

@I.ir_module
class First:
    @R.function
    def main(x: R.Tensor((N, M), DTYPE)) -> R.Tensor(SHAPE, DTYPE):
        y = R.call_tir(add1, (x,), R.Tensor((N, M), DTYPE))
        return y

@tvm.script.ir_module
class Second:
    @R.function
    def main(x: R.Tensor(("k", M), DTYPE)):
        return R.exp(x)

built = tvm.relax.transform.LegalizeOps()(Second)
N = 100
if __name__ == "__main__":
    count()
'''


def test_programs_are_what_a_run_makes_of_them(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(FILE)
    ran = runpy.run_path(str(path))
    for name in ("First", "Second"):
        assert_structural_equal(parse_source(FILE, program=name), ran[name].op)
    (function,) = parse_source(FILE, program="add1").ops
    assert_structural_equal(function, ran["add1"].op)


def test_one_program_needs_no_name() -> None:
    text = FILE.replace("@I.ir_module", "@plain").replace("@T.prim_func", "@plain")
    assert_structural_equal(parse_source(text), parse_source(FILE, program="Second"))


FAILURES = [
    (None, "@T.prim_func", "a script is one module, or functions", "found: add1, First, Second"),
    (None, "@T.prim_func", "a script is one module, or functions", "expected: one of them: t.py:add1"),
    ("Secnd", "@T.prim_func", "unknown program 'Secnd'", "did you mean 'Second'?"),
    ("built", "@T.prim_func", "'built' is no module or function that can be read", "what only a run makes"),
    ("Plain", "@T.prim_func", "'Plain' is no module or function that can be read", "what only a run makes"),
    ("add1", "@T.prim_fun", "this is no decorator of TVMScript", "@T.prim_func"),
]


@pytest.mark.parametrize(("program", "decorator", "message", "rest"), FAILURES)
def test_the_selected_program(program: str | None, decorator: str, message: str, rest: str) -> None:
    with pytest.raises(TiraxError) as info:
        parse_source(FILE.replace("@T.prim_func", decorator), "t.py", program=program)
    assert message in info.value.message
    assert rest in str(info.value)


UNKNOWN = [
    ("n", 'n = int(os.environ.get("ROWS", "3"))'),
    ("WIDTH", 'if os.environ.get("NEVER"):'),
    ("GROWN[0]", "GROWN.append(4)"),
    ("SHARED[0]", "OTHER[0] = 5"),
    ("COUNT", "def count():"),
    ("TWICE", "TWICE = 2"),
    ("Plain", "class Plain:"),
    ("os", "import os"),
]


@pytest.mark.parametrize(("expression", "line"), UNKNOWN)
def test_what_only_a_run_would_give_is_an_error_where_it_is_used(expression: str, line: str) -> None:
    with pytest.raises(TiraxError) as info:
        parse_source(FILE.replace("R.exp(x)", f"R.reshape(x, ({expression},))"), "t.py", program="Second")
    name = expression.partition("[")[0]
    assert f"the value of '{name}' is not known" in info.value.message
    assert any(line in note for note in info.value.notes), info.value.notes
    assert "never run" in str(info.value.hint)


def test_an_extent_in_quotes_may_be_a_name_of_the_file() -> None:
    with pytest.raises(TiraxError, match="the value of 'n' is not known"):
        parse_source(FILE.replace('"k"', '"n"'), program="Second")


def test_foreign_names_may_hide_constants() -> None:
    text = "W = 4\nfrom elsewhere import *\n@R.function\ndef f(x: R.Tensor((W,))):\n    return x\n"
    with pytest.raises(TiraxError, match="the value of 'W' is not known: it is imported"):
        parse_source(text)


PASSED_BY = [
    "import os\nos.system('touch {mark}')",
    "from os import system",
    "open({mark!r}, 'w')",
    "x = open({mark!r}, 'w')",
    "class C:\n    x = open({mark!r}, 'w')",
    "@(lambda f: open({mark!r}, 'w'))\ndef g(x=open({mark!r}, 'w')):\n    pass",
    "if open({mark!r}, 'w'):\n    import os",
    "for i in range(3):\n    open({mark!r}, 'w')",
    "with open({mark!r}, 'w') as f, g() as (a, b):\n    pass",
    "match open({mark!r}, 'w'):\n    case [x, *rest]:\n        pass",
    "y = 10 ** 10 ** 10",
    "z = [open({mark!r}, 'w') for _ in range(3)]",
    "metadata = tvm.ir.load_json('nonsense')",
]


@pytest.mark.parametrize("head", PASSED_BY)
def test_what_surrounds_a_program_is_passed_by(head: str, tmp_path: Path) -> None:
    function = "@R.function\ndef f(x: R.Object):\n    return x\n"
    mark = tmp_path / "mark"
    text = f"{head.format(mark=str(mark))}\n{function}"
    assert_structural_equal(parse_source(text), parse_source(function))
    after = text.replace(function, "")
    assert_structural_equal(parse_source(function + after), parse_source(function))
    assert not mark.exists()
