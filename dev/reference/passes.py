"""Generate docs/reference/passes.md."""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from typing import Any

from .markdown import NOTE, first_paragraph


def passes() -> str:
    """Return the page of passes with their options."""
    from ...driver.pipelines import pipelines_of
    from ...universe import TIRAX_UNIVERSE, passes_by_room

    lines = [NOTE, "# Passes\n"]
    classes = {name: factory() for name, factory in TIRAX_UNIVERSE.all_passes.items()}
    passes_of = Counter(cls.__module__ for cls in classes.values())
    for room, names in passes_by_room().items():
        lines.append(f"## Passes of `{room}/`\n")
        for name in names:
            cls = classes[name]
            lines.append(f"### `{name}`\n\n{first_paragraph(cls)}\n")
            if passes_of[cls.__module__] == 1:  # the docstring of the file is about this pass
                lines.append(f"{first_paragraph(sys.modules[cls.__module__])}\n")
            lines += [f"Pipelines: {', '.join(f'`{p}`' for p in pipelines_of(name)) or 'none'}.\n", *_options(cls)]
    return "\n".join(lines)


def _options(cls: type[Any]) -> list[str]:
    options = [f for f in dataclasses.fields(cls) if f.name != "name"]
    return [*(f"- `{f.name}: {f.type}`{_default(f)}" for f in options), *([""] if options else [])]


def _default(option: dataclasses.Field[Any]) -> str:
    return "" if option.default is dataclasses.MISSING else f", default `{option.default!r}`"
