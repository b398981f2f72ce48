"""The closing lines of `make test`, `make test-all` and `.ci/run`."""

from pathlib import Path

import pytest
from summary import RESULTS, summary

GOOD = '<testsuites><testsuite><testcase name="a"/><testcase name="b"/></testsuite></testsuites>'
BAD = '<testsuite><testcase name="a"><failure/></testcase><testcase name="b"><skipped/></testcase></testsuite>'


@pytest.fixture
def passed(tmp_path: Path) -> Path:
    """A folder as it is left when all is well."""
    for name in RESULTS:
        (tmp_path / name).write_text(GOOD if name.endswith(".xml") else "")
    return tmp_path


def test_all_is_well(passed: Path):
    assert summary(passed) == ("12 passed, 0 failed", True)


def test_what_is_not_requested_does_not_count(passed: Path):
    (passed / "pytest-full.xml").unlink()
    assert summary(passed, ["lint.ok", "pytest.xml"]) == ("3 passed, 0 failed", True)


def test_a_failed_test_counts(passed: Path):
    (passed / "lit.xml").write_text(BAD)
    assert summary(passed) == ("10 passed, 1 failed, 1 skipped", False)


@pytest.mark.parametrize("name", RESULTS)
def test_what_is_absent_did_not_pass(passed: Path, name: str):
    (passed / name).unlink()
    line, good = summary(passed)
    assert not good
    assert ", 1 failed" in line


def test_a_report_cut_short_did_not_pass(passed: Path):
    (passed / "pytest.xml").write_text(GOOD[:40])
    assert summary(passed) == ("10 passed, 1 failed", False)
