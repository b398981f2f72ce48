"""`python -m tirax.dev.tvm_diff [WORD …]`: run the rows whose names have these words through tirax and Apache TVM."""

from __future__ import annotations

import argparse
import difflib
import sys

from .compare import AGREED, agreed, outcomes
from .rows import rows


def main() -> int:
    """Print the rows that differ without a reason, and those with a reason that are the same."""
    parser = argparse.ArgumentParser(prog="python -m tirax.dev.tvm_diff", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--python", default=sys.executable, help="a Python that has Apache TVM")
    parser.add_argument("--show", action="store_true", help="print both texts in full")
    parser.add_argument("--write", action="store_true", help="record the rows that are the same, which tests check")
    options = parser.parse_args()
    table = list(rows(options.words))
    same = reasoned = 0
    known = agreed() if options.words else {}
    for outcome in outcomes(table, options.python):
        same += outcome.same
        known |= {outcome.row.name: outcome.digest} if outcome.same else {}
        if outcome.row.reason:
            reasoned += not outcome.same
            if outcome.same:
                print(f"--- {outcome.row.name}\nthe same: the reason is out of date")
        elif not outcome.same or options.show:
            lines = difflib.unified_diff(
                outcome.ours.splitlines(), outcome.theirs.splitlines(), "tirax", "TVM", lineterm="", n=100
            )
            print(f"--- {outcome.row.name}", *([outcome.ours] if outcome.same else lines), sep="\n")
    if options.write:
        AGREED.write_text("".join(f"{known[name]} {name}\n" for name in sorted(known)), encoding="utf-8")
    print(f"{len(table)} rows: {same} the same, {reasoned} differ with a reason")
    return int(same + reasoned < len(table))


if __name__ == "__main__":
    sys.exit(main())
