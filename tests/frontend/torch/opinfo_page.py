"""Writes docs/torch_operators.md: what becomes of each operator of PyTorch.

With the results of opinfo.py as its argument it writes all of it, without core ATen and the primitives alone.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from opinfo_reasons import REASONS

PAGE = Path(__file__).parents[3] / "docs" / "torch_operators.md"
NATIVE, DECOMPOSED, FALLBACK, LEFT_OUT = "native", "decomposed", "fallback", "left out"
TITLES = {
    NATIVE: "converted",
    DECOMPOSED: "decomposed by PyTorch, and converted",
    FALLBACK: "computed by PyTorch",
    LEFT_OUT: "left out",
}
NAMESPACES = {"Core ATen": "aten", "Primitives": "prims"}
Rows = dict[str, tuple[str, str]]
"""Operators with their status, and the reason where that is a fallback or nothing."""

_INTRODUCTION = """\
# Operators of PyTorch

What becomes of each operator in an exported program. *Converted*: the importer has a row for it. *Decomposed*:
PyTorch writes it in operators that have one. *Computed by PyTorch*: it becomes a call of PyTorch when the program
runs, or an error with `fallback="error"`. The first table is of the samples in PyTorch's own list of operators
(OpInfo), forward, in float32, float64, bfloat16, int64 and bool, one or more of each, in the interpreter or as native
code: the results agree with PyTorch's, and the worst of an operator's samples counts. Of linear algebra, Fourier
transforms and complex numbers a sample in float32 is imported, and not run. It is written by
`tests/frontend/torch/opinfo.py` and `opinfo_page.py`, and rows of it are checked by `make test-models`.
"""


def rows_of(results: Path) -> Rows:
    """The rows of the file that opinfo.py has written."""
    entries = {e["operator"]: e for e in map(json.loads, results.read_text().splitlines())}
    return {name: row_of(entry) for name, entry in sorted(entries.items())}


def row_of(entry: Mapping[str, Any]) -> tuple[str, str]:
    """The row of an operator's outcome."""
    statuses = {status for counts in entry["counts"].values() for status in counts} - {"not exported"}
    reason = REASONS.get(entry["operator"], "")
    for status in statuses - {NATIVE, DECOMPOSED, FALLBACK}:
        return LEFT_OUT, reason or _first(entry, status)
    if not entry["counts"]:
        return LEFT_OUT, "it takes none of these dtypes"
    if not statuses:
        return LEFT_OUT, reason or f"PyTorch does not export it: {_first(entry, 'not exported')}"
    if FALLBACK in statuses:
        return FALLBACK, reason or _first(entry, FALLBACK)
    return (DECOMPOSED if DECOMPOSED in statuses else NATIVE), ""


def _first(entry: Mapping[str, Any], status: str) -> str:
    text = (entry["problems"].get(status) or ["no sample"])[0].partition(": ")[2]
    if "complex numbers are not supported" in text:
        return "complex numbers"
    text = re.sub(r", \d+ × at [^:;]*(:\d+)?", "", text)
    text = re.sub(r"^\S+:\d+:\d+: error: ", "", text)
    return re.sub(r"\s+", " ", text).replace("|", "/")[:160]


def rows_of_namespace(namespace: str) -> Rows:
    """The rows of core ATen (`aten`) or of all primitives (`prims`), from the tables of converters and of PyTorch."""
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    known = {**decomposition_table, **default_decompositions()}
    return {str(o): _row_of_overload(o, known) for o in overloads(namespace) if namespace == "prims" or _is_core(o)}


def overloads(namespace: str) -> Iterator[Any]:
    """All overloads of a namespace of operators."""
    packets = getattr(torch.ops, namespace)
    for name in sorted(dir(packets)):
        packet = getattr(packets, name)
        for overload in packet.overloads() if hasattr(packet, "overloads") else ():
            yield getattr(packet, overload)


def _is_core(overload: Any) -> bool:
    return torch.Tag.core in overload.tags


def _row_of_overload(overload: Any, known: Mapping[Any, Any]) -> tuple[str, str]:
    from tirax.frontend.torch.arguments import changes_operand, operator_name
    from tirax.frontend.torch.table import lookup

    if lookup(*operator_name(overload)) is not None:
        return NATIVE, ""
    if overload in known or changes_operand(overload):
        return DECOMPOSED, ""
    if not any("Tensor" in str(r.type) for r in overload._schema.returns):
        return LEFT_OUT, "it has no tensor as a result"
    return FALLBACK, "no row"


def page(samples: Rows) -> str:
    """The text of the page."""
    return "\n".join([_INTRODUCTION, f"## OpInfo\n\n{_table(samples)}", _namespaces()])


def _namespaces() -> str:
    return "\n".join(f"## {title}\n\n{_table(rows_of_namespace(name))}" for title, name in NAMESPACES.items())


def _table(rows: Rows) -> str:
    by_status = {s: {n: why for n, (status, why) in rows.items() if status == s} for s in TITLES}
    counts = ", ".join(f"{len(by_status[s])} {title}" for s, title in TITLES.items() if by_status[s])
    return f"{len(rows)} operators: {counts}.\n\n" + "\n".join(_sections(by_status))


def _sections(by_status: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    for status, names in by_status.items():
        if not names:
            continue
        yield f"### {TITLES[status].capitalize()}\n"
        if status in (NATIVE, DECOMPOSED):
            yield textwrap.fill(", ".join(f"`{n}`" for n in names), 128, break_on_hyphens=False) + "\n"
        else:
            yield "| operator | why |\n|---|---|"
            yield "\n".join(f"| `{n}` | {why} |" for n, why in names.items()) + "\n"


def is_as_good(status: str, as_written: str) -> bool:
    """Whether an operator is converted as well as the page says, or better."""
    order = list(TITLES)
    return order.index(status) <= order.index(as_written)


def written() -> dict[str, dict[str, str]]:
    """The statuses on the page: `{"OpInfo": {"add": "native", …}, …}`."""
    tables: dict[str, dict[str, str]] = {}
    table: dict[str, str] = {}
    status = ""
    titles = {title.capitalize(): status for status, title in TITLES.items()}
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            table = tables.setdefault(line[3:], {})
        elif line.startswith("### "):
            status = titles[line[4:]]
        elif status:
            names = re.findall(r"`([^`]+)`", line.split(" | ")[0] if line.startswith("| ") else line)
            table.update(dict.fromkeys(names, status))
    return tables


if __name__ == "__main__":
    if len(sys.argv) > 1:
        PAGE.write_text(page(rows_of(Path(sys.argv[1]))))
    else:
        PAGE.write_text(PAGE.read_text().partition("## Core ATen")[0] + _namespaces())
