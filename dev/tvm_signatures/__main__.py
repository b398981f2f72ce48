"""`python -m tirax.dev.tvm_signatures`: print the differences that have no reason."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from .compare import TABLE, differences
from .theirs import read, table


def main() -> None:
    """Print the differences and their number by kind; rebuild the table if TVM's sources are named."""
    parser = argparse.ArgumentParser(prog="python -m tirax.dev.tvm_signatures", description=__doc__)
    parser.add_argument("--read", type=Path, metavar="PATH", help="TVM's python/tvm, from which the table is written")
    options = parser.parse_args()
    if options.read is not None:
        TABLE.write_text(table(read(options.read)), encoding="utf-8")
    found = [*differences()]
    for difference in found:
        print(difference)
    print(dict(Counter(d.kind for d in found)), len(found))


if __name__ == "__main__":
    main()
