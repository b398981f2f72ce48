"""Writes docs/onnx_operators.md: what becomes of each operator of ONNX, and of ONNX Runtime where that is installed."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from operator_reasons import REASONS

from tirax.frontend.onnx import coverage

PAGE = Path(__file__).parents[3] / "docs" / "onnx_operators.md"
MICROSOFT = "com.microsoft"
OLDEST = 7
"""The opset from which on versions of operators count: older models are converted to it."""
NATIVE, DECOMPOSED, FALLBACK, LEFT_OUT = "native", "decomposed", "fallback", "left out"
TITLES = {
    NATIVE: "converted",
    DECOMPOSED: "written in other operators by ONNX, and converted",
    FALLBACK: "computed by the package onnx",
    LEFT_OUT: "left out",
}
"""From the best to the worst."""
Rows = dict[str, tuple[str, str]]
"""Operators with their status, and the reason where that is a fallback or nothing."""

_INTRODUCTION = """\
# Operators of ONNX

What becomes of each operator in an imported model, in all versions from opset 7 on; the worst of them counts.
*Converted*: the importer has a row for it; those on strings and `ImageDecoder` call the package onnx when the program
runs. *Written in other operators*: ONNX's schema has a definition, which is converted. *Computed by the package onnx*:
it becomes a call of its reference implementation when the program runs, with `from_onnx(…, fallback="onnx")`, or an
error. A converter may refuse some forms, and says which: nothing is computed wrongly.
`tests/frontend/onnx/operator_page.py` writes this page, tests check its rows; `node_tests.py` runs the cases of ONNX.
"""


def rows_of(domain: str) -> Rows:
    """The rows of a domain of ONNX, from the tables of converters and schemas."""
    from onnx import defs

    versions: dict[str, list[tuple[int, bool]]] = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == domain:
            versions[schema.name].append((schema.since_version, schema.deprecated))
    return {name: _row(domain, name, _counting(domain, known)) for name, known in sorted(versions.items())}


def _counting(domain: str, versions: Iterable[tuple[int, bool]]) -> list[int]:
    """The versions that models of opset 7 and later may have, without those in which an operator is deprecated."""
    every = sorted(versions)
    first = max([since for since, _ in every if since <= OLDEST], default=0) if not domain else 0
    return [max(since, OLDEST if not domain else 1) for since, deprecated in every if since >= first and not deprecated]


def _row(domain: str, name: str, versions: Iterable[int]) -> tuple[str, str]:
    reason = REASONS.get(f"{domain}.{name}" if domain else name, "")
    statuses = {_status(domain, name, version) for version in versions}
    if not statuses:
        return LEFT_OUT, reason or "deprecated before opset 7"
    return (LEFT_OUT, reason) if reason else (max(statuses, key=list(TITLES).index), "")


def _status(domain: str, name: str, version: int) -> str:
    from onnx import helper

    node = helper.make_node(name, [], [], domain=domain)
    status = coverage._status(node, {domain: version}, {}, coverage.Converters(), fallback=True)
    words = {"CONVERTED": NATIVE, "EXPANDED": DECOMPOSED, "FALLBACK": FALLBACK}
    return words.get(status.name, LEFT_OUT)


def domains() -> list[str]:
    """The domains of ONNX that have operators."""
    from onnx import defs

    return sorted({schema.domain for schema in defs.get_all_schemas()})


def rows_of_onnx_runtime() -> Rows:
    """The rows of all operators that the installed ONNX Runtime contributes."""
    import onnxruntime.capi.onnxruntime_pybind11_state as state

    names = {s.name for s in state.get_all_operator_schema() if s.domain == MICROSOFT}
    here = {k.op_name for k in state.get_all_opkernel_def() if k.domain == MICROSOFT}
    rows: Rows = {}
    for name in sorted(names):
        known = coverage.lookup(MICROSOFT, name, 1) is not None
        other = "" if name in here else "ONNX Runtime computes it on other devices alone"
        rows[name] = (NATIVE, "") if known else (LEFT_OUT, REASONS.get(f"{MICROSOFT}.{name}", other))
    return rows


def page() -> str:
    """The text of the page."""
    sections = [(domain or "ai.onnx", rows_of(domain)) for domain in domains()]
    sections.append((MICROSOFT, rows_of_onnx_runtime()))
    return "\n".join([_INTRODUCTION, *(f"## {title}\n\n{_table(rows)}" for title, rows in sections)])


def _table(rows: Rows) -> str:
    by_status = {s: {n: why for n, (status, why) in rows.items() if status == s} for s in TITLES}
    counts = ", ".join(f"{len(by_status[s])} {title}" for s, title in TITLES.items() if by_status[s])
    return f"{len(rows)} operators: {counts}.\n\n" + "\n".join(_sections(by_status))


def _sections(by_status: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for status, names in by_status.items():
        if not names:
            continue
        yield f"### {_heading(status)}\n"
        if status == LEFT_OUT:
            yield "| operators | why |\n|---|---|"
            reasons = dict.fromkeys(names.values())
            yield "\n".join(f"| {_listed(n for n in names if names[n] == why)} | {why} |" for why in reasons) + "\n"
        else:
            yield textwrap.fill(_listed(names), 128, break_on_hyphens=False) + "\n"


def _heading(status: str) -> str:
    return TITLES[status][0].upper() + TITLES[status][1:]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def written() -> dict[str, dict[str, str]]:
    """The statuses on the page: `{"ai.onnx": {"Add": "native", …}, …}`."""
    tables: dict[str, dict[str, str]] = {}
    table: dict[str, str] = {}
    status = ""
    titles = {_heading(s): s for s in TITLES}
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            table, status = tables.setdefault(line[3:], {}), ""
        elif line.startswith("### "):
            status = titles[line[4:]]
        elif status:
            table.update(dict.fromkeys(re.findall(r"`([^`]+)`", line), status))
    return tables


def is_as_good(status: str, as_written: str) -> bool:
    """Whether an operator is converted as well as the page says, or better."""
    order = list(TITLES)
    return order.index(status) <= order.index(as_written)


if __name__ == "__main__":
    PAGE.write_text(page())
