"""Options of passes that the context has: `PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}})`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from ...diagnostics import TiraxError, unknown_name
from ...ir.passes.transform import Pass, PassContext

_PassT = TypeVar("_PassT", bound=Pass)


def configured(given: _PassT, key: str) -> _PassT:
    """The pass with the options that the current context has under `key`, a mapping; those of the context count.

    Raises `NameLookupError` for an option that the pass does not have, `TiraxError` for what is no mapping.
    """
    config: Any = (PassContext.current().config or {}).get(key)
    if config is None:
        return given
    if not isinstance(config, Mapping):
        raise TiraxError(f"the options of {key}", expected="a mapping of names to values", found=type(config).__name__)
    values = dict(cast("Mapping[str, Any]", config))
    known = [f.name for f in fields(cast(Any, given))]
    for name in values:
        if name not in known:
            raise unknown_name(f"option of {key}", name, known)
    return replace(cast(Any, given), **values)
