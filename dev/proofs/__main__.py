"""Run the measurements: `python -m tirax.dev.proofs coverage|faults|alarms`."""

from __future__ import annotations

import argparse

from .alarms import alarms
from .coverage import coverage
from .faults import faults


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tirax.dev.proofs", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    covered = commands.add_parser("coverage", help="the share of passes and functions that are proved")
    covered.add_argument("models", nargs="*")
    seeded = commands.add_parser("faults", help="how many seeded faults are found, by the proof and by random inputs")
    false = commands.add_parser("alarms", help="verdicts on what is right: passes and random programs")
    for each, count in ((seeded, 510), (false, 40)):
        each.add_argument("--count", type=int, default=count)
        each.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.command == "coverage":
        return coverage(options.models)
    return {"faults": faults, "alarms": alarms}[options.command](options.count, options.seed)


if __name__ == "__main__":
    raise SystemExit(main())
