"""Counts what the checks left in their folder and prints one line: `N passed, N failed` (and skipped, where any).

pytest and lit leave JUnit files, the other checks an empty `<name>.ok` when they pass. What is absent did not pass.
The command line names the folder, then the results to count: those of `.ci/run` by default.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

RESULTS = (
    *("lint.ok", "types.ok", "pytest.xml", "lit.xml", "wheel.ok"),
    *("pytest-full.xml", "pytest-models.xml", "fuzz.ok"),
)
FAILED = ("failure", "error")


def count_report(path: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped of one JUnit file; a file that is absent or cut short is one failure."""
    if not path.is_file():
        return 0, 1, 0
    try:
        cases = list(ElementTree.parse(path).iter("testcase"))
    except ElementTree.ParseError:
        return 0, 1, 0
    failed = sum(any(case.find(tag) is not None for tag in FAILED) for case in cases)
    skipped = sum(case.find("skipped") is not None for case in cases)
    return len(cases) - failed - skipped, failed, skipped


def count(path: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped of one result; a stamp is one check."""
    if path.suffix == ".xml":
        return count_report(path)
    return (1, 0, 0) if path.is_file() else (0, 1, 0)


def summary(folder: Path, names: Sequence[str] = RESULTS) -> tuple[str, bool]:
    """The closing line for these results in `folder`, and whether all passed."""
    counts = [count(folder / name) for name in names]
    passed, failed, skipped = (sum(column) for column in zip(*counts, strict=True))
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), failed == 0


def main() -> int:
    """Print the line for what the command line names; 1 where something failed."""
    line, good = summary(Path(sys.argv[1]), sys.argv[2:] or RESULTS)
    print(line)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
