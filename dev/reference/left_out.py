"""Generate docs/reference/left_out.md."""

from __future__ import annotations

from importlib import import_module

from .markdown import NOTE, table


def left_out() -> str:
    """Return the page of TVM's modules, passes and names that are not provided, with the reasons in their errors."""
    modules: dict[str, tuple[str, str]] = import_module("...tvm_api._refused", __package__).REFUSED
    passes_left_out: dict[str, str] = import_module("...tvm_api.tir.transform", __package__).LEFT_OUT
    lines = [NOTE, "# What of TVM is left out\n", "Programs for TVM: [from_tvm.md](../from_tvm.md).\n", "## Modules\n"]
    rows = ((f"`tvm.{path}`", why, f"`{instead}`") for path, (why, instead) in sorted(modules.items()))
    lines += table(("TVM", "why", "instead"), rows)
    lines += ["\n## Passes on tensor functions\n"]
    lines += table(("`tvm.tir.transform`", "why"), ((f"`{n}`", why) for n, why in sorted(passes_left_out.items())))
    names: dict[str, dict[str, str]] = import_module("...tvm_api._refused_names", __package__).REFUSED_NAMES
    lines += ["\n## Names\n"]
    rows_of_names = (
        (f"`{'.'.join(filter(None, ('tvm', path, n)))}`", why)
        for path, row in sorted(names.items())
        for n, why in sorted(row.items())
    )
    lines += table(("TVM", "why, and what instead"), rows_of_names)
    return "\n".join([*lines, ""])
