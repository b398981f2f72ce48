"""Markdown helpers of the reference pages."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

NOTE = "<!-- Written by `python -m tirax.dev.reference`. Do not edit. -->\n"


def first_paragraph(thing: Any) -> str:
    """Return the first paragraph of an own docstring on one line; empty if there is none."""
    text = inspect.cleandoc(own_doc(thing))
    return " ".join(text.split("\n\n")[0].split())


def own_doc(thing: Any) -> str:
    """Return a docstring, unless a dataclass generated it or it is inherited from a base that is not ours."""
    doc = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    generated = isinstance(thing, type) and doc is not None and doc.startswith(f"{thing.__name__}(")
    return "" if doc is None or generated else doc


def summary(thing: Any) -> str:
    """As `first_paragraph`, with a fallback to the base class or overridden method."""
    bases = [b for b in thing.__mro__[1:] if b.__module__.startswith("tirax")] if isinstance(thing, type) else ()
    return first_paragraph(thing) or next((text for b in bases if (text := first_paragraph(b))), "")


def row(*cells: str) -> str:
    """Return a row of a table."""
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """Return the lines of a table."""
    titles = list(head)
    return [row(*titles), row(*["---"] * len(titles)), *(row(*r) for r in rows)]


def anchor(heading: str) -> str:
    """Return the anchor of a heading, as in GitHub and mkdocs: `tir.for` is `#tirfor`."""
    kept = "".join(c for c in heading.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
