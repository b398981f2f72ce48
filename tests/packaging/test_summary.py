"""The closing line of `make test`."""

from pathlib import Path

import pytest
from summary import STAMPS, summary

GOOD = '<testsuites><testsuite><testcase name="a"/><testcase name="b"/></testsuite></testsuites>'
BAD = '<testsuite><testcase name="a"><failure/></testcase><testcase name="b"><skipped/></testcase></testsuite>'


@pytest.fixture
def passed(tmp_path: Path) -> Path:
    """A folder as it is left when all is well."""
    for name in STAMPS:
        (tmp_path / name).touch()
    for name in ("pytest.xml", "lit.xml"):
        (tmp_path / name).write_text(GOOD)
    return tmp_path


def test_all_is_well(passed: Path):
    assert summary(passed) == ("7 passed, 0 failed", True)


def test_a_failed_test_counts(passed: Path):
    (passed / "lit.xml").write_text(BAD)
    assert summary(passed) == ("5 passed, 1 failed, 1 skipped", False)


@pytest.mark.parametrize("name", [*STAMPS, "lit.xml", "pytest.xml"])
def test_what_is_absent_did_not_pass(passed: Path, name: str):
    (passed / name).unlink()
    line, good = summary(passed)
    assert not good
    assert ", 1 failed" in line


def test_a_report_cut_short_did_not_pass(passed: Path):
    (passed / "pytest.xml").write_text(GOOD[:40])
    assert summary(passed) == ("5 passed, 1 failed", False)
