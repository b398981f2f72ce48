"""The `golden` fixture: what it accepts, what it refuses, and `--update-golden`."""

from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

pytest_plugins = ["pytester"]


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with the real conftest and one test that compares `two`, a newline and `lines`."""
    pytester.makeconftest(CONFTEST.read_text())
    pytester.makepyfile(r'def test_it(golden): golden("room/a.txt", "two\nlines")')
    return pytester


def write(project: pytest.Pytester, text: str) -> Path:
    path = project.path / "golden" / "room" / "a.txt"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_the_same_text_passes(project: pytest.Pytester):
    write(project, "two\nlines\n")
    project.runpytest("-p", "no:xdist").assert_outcomes(passed=1)


def test_another_text_fails_with_a_diff(project: pytest.Pytester):
    path = write(project, "two\nrows\n")
    result = project.runpytest("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*-rows", "*+lines", "*--update-golden*"])
    assert path.read_text() == "two\nrows\n"


def test_an_absent_file_fails(project: pytest.Pytester):
    result = project.runpytest("-p", "no:xdist")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no golden file 'room/a.txt'*"])


def test_update_writes_it(project: pytest.Pytester):
    project.runpytest("-p", "no:xdist", "--update-golden").assert_outcomes(passed=1)
    assert (project.path / "golden" / "room" / "a.txt").read_text() == "two\nlines\n"
    project.runpytest("-p", "no:xdist").assert_outcomes(passed=1)


def test_a_name_outside_of_the_folder_is_refused(project: pytest.Pytester):
    project.makepyfile('def test_it(golden): golden("../a.txt", "text")')
    result = project.runpytest("-p", "no:xdist", "--update-golden")
    result.assert_outcomes(failed=1)
    assert not (project.path / "a.txt").exists()
