"""The notebooks of docs/course run, their solutions pass their checks, and wrong answers do not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from notebooks import run_cells
from strength import thinned

from tirax.dialects.sym.expr import Var
from tirax.tvm_api.relax.dpl import is_op, wildcard

COURSE = Path(__file__).parents[2] / "docs" / "course"
NOTEBOOKS = sorted(COURSE.glob("[0-9]*.py"))
INDEX = COURSE / "README.md"


@pytest.fixture(scope="module")
def ran():
    """`ran(path)`: what a notebook defines, once for all tests of a process."""
    known = {}

    def run(path):
        if path not in known:
            known[path] = run_cells(path)
        return known[path]

    return run


WRONG = {
    "01_an_einsum": [
        ("check_1", "bhij,bjhd->bhid", "shape (batch, i, heads, d)"),
        ("check_1", "bhij,bihd->bjhd", "numpy says"),
        ("check_2", lambda x: x, "one element a row"),
        ("check_3", lambda function: 800, "2 times as many"),
    ],
    "02_programs_as_text": [("check_3", "@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n    return y", "y")],
    "03_patterns": [("check_1", is_op("relax.divide")(wildcard(), is_op("relax.sum")(wildcard())), "x / sum(exp(x))")],
    "04_a_pass": [("check_1", lambda op, emit: op.operands[0], "only zeros")],
    "05_symbolic_shapes": [("check_1", 5, "one `n` only"), ("check_1", Var("n") // 2, "For n = 4")],
    "06_schedules": [
        ("check_1", lambda sch: None, "64 lines of A and 256 of B"),
        ("check_2", lambda sch: None, "S, X, Y"),
    ],
    "07_tuning_and_extending": [("check_1", lambda sch: None, "no loop is vectorized")],
    "08_a_transformer": [
        ("check_1", lambda n: n, "times as many"),
        ("check_3", lambda text, count: text, "shape (3,)"),
    ],
    "09_a_proof": [
        ("check_1", ["bits", "bits", "bits", "wrong"], "not `bits`"),
        ("check_2", lambda op, emit: op.operands[0], "wrong @main"),
    ],
}
"""Of notebooks: a check, an answer that is wrong, and part of what is said of it."""


@thinned("path", NOTEBOOKS, 1, lambda path: path.stem)
def test_a_notebook_runs_and_its_checks_tell_right_from_wrong(path, ran):
    defined = ran(path)  # the solutions are checked by `right`, in cells
    checks = {name: check for name, check in defined.items() if re.fullmatch(r"check_\d", name)}
    text = path.read_text()
    assert sorted(checks) == [f"check_{n + 1}" for n in range(max(3, len(checks)))]
    for name, check in checks.items():
        number = name.removeprefix("check_")
        assert f"right(check_{number}(solution_{number}" in text and f"verdict(check_{number}(answer_{number}" in text
        assert isinstance(check(None), str)
    for name, answer, reason in WRONG[path.stem]:
        assert reason in checks[name](answer)


def test_the_index_has_every_notebook():
    assert re.findall(r"\]\((\d\w+\.py)\)", INDEX.read_text()) == [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_marimo_itself_runs_a_notebook(path):
    """Its rules hold: no name is defined twice, cells depend on each other in no circle, and all succeed."""
    pytest.importorskip("marimo", reason="`make course` or `pip install 'tirax[course]'` installs it")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=path.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "critical[" not in done.stdout + done.stderr
