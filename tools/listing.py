"""The output of `--list-passes`, `--list-pipelines`, `--list-dialects` and `--list-targets`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xdsl.universe import XDSL_UNIVERSE

from ..universe import TIRAX_UNIVERSE, full_universe, passes_by_room
from .outputs import OWN_TARGETS
from .specs import ALIASES, option_texts

_WIDTH = 110


def _summary(cls: type[Any]) -> str:
    """Return the first paragraph of a docstring on one line; empty if `dataclass` generated it."""
    text = (cls.__doc__ or "").strip()
    return "" if text.startswith(f"{cls.__name__}(") else " ".join(text.split("\n\n")[0].split())


def _wrapped(text: str, indent: int) -> list[str]:
    pad = " " * indent
    return textwrap.wrap(text, _WIDTH, initial_indent=pad, subsequent_indent=pad, break_on_hyphens=False)


def _entry(name: str, cls: type[Any], mark: str = "") -> list[str]:
    options = [f"      {text}" for text in option_texts(cls)]
    return [f"  {name}{mark}", *_wrapped(_summary(cls), 6), *options]


def _others(kind: str, names: Iterable[str]) -> list[str]:
    return [f"{kind} of xDSL:", *_wrapped(", ".join(sorted(names)), 2)]


def _of_plugins(known: Iterable[str], ours: Iterable[str], xdsl: Iterable[str]) -> list[str]:
    """Return the names that neither tirax nor xDSL provides."""
    return sorted(set(known) - set(ours) - set(xdsl))


def passes_text() -> str:
    """List our passes and those of plug-ins with summaries and options, then the names of xDSL's."""
    from ..driver.pipelines import pipelines_of

    ours, others, known = TIRAX_UNIVERSE.all_passes, XDSL_UNIVERSE.all_passes, full_universe().all_passes
    lines: list[str] = []
    for room, names in passes_by_room().items():
        lines.append(f"passes of {room}/ (* is in no pipeline):")
        for name in names:
            lines += _entry(name, ours[name](), "" if pipelines_of(name) else " *")
    lines += ["short names:", *(f"  {short} = {name}" for short, name in ALIASES.items())]
    plugins = _of_plugins(known, ours, others)
    lines += ["passes of plug-ins:"] if plugins else []
    for name in plugins:
        lines += _entry(name, known[name]())
    return "\n".join([*lines, *_others("passes", others)])


def pipelines_text() -> str:
    """List each pipeline and its passes."""
    from ..driver.pipelines import PIPELINES

    lines = ["pipelines:"]
    for name, passes in PIPELINES.items():
        lines += [f"  {name}", *_wrapped(", ".join(passes), 6)]
    return "\n".join(lines)


def dialects_text() -> str:
    """List our dialects and those of plug-ins with their numbers of operations and attributes, then the names
    of xDSL's.
    """
    ours, others, known = TIRAX_UNIVERSE.all_dialects, XDSL_UNIVERSE.all_dialects, full_universe().all_dialects
    plugins = _of_plugins(known, ours, others)
    lines: list[str] = []
    for head, names in (("dialects:", sorted(ours)), ("dialects of plug-ins:", plugins)):
        lines += [head] if names else []
        for name in names:
            dialect = known[name]()
            operations, attributes = len(list(dialect.operations)), len(list(dialect.attributes))
            lines.append(f"  {name}: {operations} operations, {attributes} types and attributes")
    return "\n".join([*lines, *_others("dialects", others)])


def targets_text(known: Mapping[str, Callable[[], type[Any]]]) -> str:
    """List our targets and those of plug-ins with their options, then the names of xDSL's."""
    ours, others = OWN_TARGETS.keys() | TIRAX_UNIVERSE.all_targets.keys(), XDSL_UNIVERSE.all_targets.keys()
    lines: list[str] = []
    for head, names in (("targets:", sorted(ours)), ("targets of plug-ins:", _of_plugins(known, ours, others))):
        lines += [head] if names else []
        for name in names:
            lines += _entry(name, known[name]())
    return "\n".join([*lines, *_others("targets", others - ours)])
