"""`tvm.tir.schedule.testing`: checks that a trace reproduces a schedule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...diagnostics import TiraxError
from ...handles.equality import assert_structural_equal
from ...handles.module import IRModule
from ...handles.tir.prim_func import PrimFunc
from ...schedule.schedule import Schedule
from ...schedule.trace import Trace


def assert_structural_equal_ignore_global_symbol(func1: PrimFunc, func2: PrimFunc, map_free_vars: bool = False) -> None:
    """Assert that two tensor functions are equal except for their symbols. Raises as `assert_structural_equal`."""
    funcs = [f.with_attr("global_symbol", "main") for f in (func1, func2)]
    assert_structural_equal(*funcs, map_free_vars=map_free_vars)


def verify_trace_roundtrip(
    sch: Schedule,
    mod: PrimFunc | IRModule,
    *,
    debug_mask: str | int = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> Schedule:
    """Replay a schedule's serialized trace on its original module, check that the result is equal, and return it.

    `text_format` is `"python"` (`Trace.as_python`), `"json"` (`Trace.as_json`, serialized), or both. Raises
    `ValueError` for other formats, `TiraxError` if the texts differ, and as `assert_structural_equal`.
    """
    formats = [text_format] if isinstance(text_format, str) else list(text_format)
    unknown = [f for f in formats if f not in _READERS]
    if unknown or not formats:
        raise ValueError(f"a text of a trace is one of {', '.join(_READERS)}, not {text_format!r}")
    for each in formats:
        new = Schedule(mod, debug_mask=debug_mask)
        _READERS[each](sch.trace, new)
        assert_structural_equal(new.mod, sch.mod)
    return new


def _from_json(trace: Trace, new: Schedule) -> None:
    Trace.apply_json_to_schedule(json.loads(json.dumps(trace.as_json())), new)


def _from_python(trace: Trace, new: Schedule) -> None:
    from ... import tvm_api as tvm
    from ..script import tir as script

    names: dict[str, Any] = {"sch": new, "T": script, "tvm": tvm}
    exec("\n".join(trace.as_python()), names)  # noqa: S102 (statements that the trace itself wrote)
    if str(new.trace) != str(trace):
        raise TiraxError("the trace reads otherwise after it was applied", expected=str(trace), found=str(new.trace))


_READERS = {"python": _from_python, "json": _from_json}

__all__ = ["assert_structural_equal_ignore_global_symbol", "verify_trace_roundtrip"]
