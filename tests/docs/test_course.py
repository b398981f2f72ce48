"""The notebooks of docs/course run, their solutions pass their checks, and wrong answers do not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from notebooks import run_cells
from strength import thinned

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


@thinned("path", NOTEBOOKS, 2, lambda path: path.stem)
def test_a_notebook_runs_and_its_checks_tell_right_from_wrong(path, ran):
    defined = ran(path)  # the solutions are checked by `right`, in cells
    checks = {name: check for name, check in defined.items() if re.fullmatch(r"check_\d", name)}
    text = path.read_text()
    assert len(checks) >= 3 and list(checks) == sorted(checks)
    for name, check in checks.items():
        number = name.removeprefix("check_")
        assert f"right(check_{number}(solution_{number}" in text and f"verdict(check_{number}(answer_{number}" in text
        assert isinstance(check(None), str)


def test_the_index_has_every_notebook():
    assert re.findall(r"\]\((\d\w+\.py)\)", INDEX.read_text()) == [path.name for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_marimo_itself_runs_a_notebook(path):
    """Its rules hold: no name is defined twice, cells depend on each other in no circle, and all succeed."""
    pytest.importorskip("marimo", reason="`make course` or `pip install 'tirax[course]'` installs it")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, cwd=path.parent)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "critical[" not in done.stdout + done.stderr
