"""Counts what `make test` left in its folder and prints one line: `N passed, N failed` (and skipped, where any).

pytest and lit leave JUnit files, the other checks an empty `<name>.ok` when they pass. What is absent did not pass.
"""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

REPORTS = ("pytest.xml", "lit.xml")
STAMPS = ("lint.ok", "types.ok", "wheel.ok")
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


def summary(folder: Path) -> tuple[str, bool]:
    """The closing line for the results in `folder`, and whether all passed."""
    stamps = [(folder / name).is_file() for name in STAMPS]
    counts = [count_report(folder / name) for name in REPORTS]
    counts.append((sum(stamps), len(stamps) - sum(stamps), 0))
    passed, failed, skipped = (sum(column) for column in zip(*counts, strict=True))
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""), failed == 0


def main() -> int:
    """Print the line for the folder named on the command line; 1 where something failed."""
    line, good = summary(Path(sys.argv[1]))
    print(line)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
