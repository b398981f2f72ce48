"""Compare the table of TVM's names with `tirax.tvm_api`."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from xdsl.ir import Attribute

from ...diagnostics import TiraxError
from ...dialects.dtypes import dtype_of
from ...tvm_api._refused import why_refused
from ...tvm_api._refused_names import REFUSED_NAMES
from .reasons import reason_of

TABLE = Path(__file__).with_name("tvm_0_20.txt")
_API = "tirax.tvm_api"
_MISSING: Any = object()
_INHERITED = frozenset(("span",))
"""Parameters that are places in sources: operations know theirs."""


@dataclass
class Row:
    """A definition of the table: its paths, its parameters, and its members with theirs."""

    kind: str
    path: str
    parameters: str
    others: list[str] = field(default_factory=list[str])
    members: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Difference:
    """What differs (`kind`) at a path of TVM, and the parameter or name of which it does."""

    path: str
    kind: str
    what: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.kind} {self.what}".rstrip()


def rows(text: str) -> Iterator[Row]:
    """Read the table."""
    row: Row | None = None
    for line in text.splitlines():
        if row is not None and line.startswith("  = "):
            row.others = line[4:].split()
        elif row is not None and line.startswith("  ."):
            name, found, parameters = line[3:].partition("(")
            row.members[name] = found + parameters
        else:
            if row is not None:
                yield row
            kind, _, rest = line.partition(" ")
            path, found, parameters = rest.partition("(")
            row = Row(kind, path, found + parameters)
    if row is not None:
        yield row


def differences() -> Iterator[Difference]:
    """Yield every difference without a reason."""
    import_module(f"{_API}.ir")  # which gives members to classes
    for row in rows(TABLE.read_text(encoding="utf-8")):
        for difference in _of_row(row):
            if reason_of(difference.path, difference.kind, difference.what) is None:
                yield difference


def _of_row(row: Row) -> Iterator[Difference]:
    found: Any = _MISSING
    for path in (*row.others, row.path):
        ours = _ours(path)
        if ours is not _MISSING:
            found = ours
        elif not _is_refused(path):
            yield Difference(path, "name")
    if found is _MISSING or found is None:
        return
    yield from _of_parameters(row.path, row.parameters, found)
    if isinstance(found, type):
        for name, parameters in row.members.items():
            member = inspect.getattr_static(found, name, _MISSING)
            if member is _MISSING and not _has_member(found, name):
                yield Difference(row.path, "member", name)
            elif parameters:
                bound = isinstance(member, staticmethod | classmethod)
                yield from _of_parameters(f"{row.path}.{name}", parameters, getattr(found, name, None), not bound)


def _has_member(found: type, name: str) -> bool:
    """Return whether a class has a member that is not in its dictionaries: an annotated field, or a row of a table."""
    fields: set[str] = set()
    for base in found.__mro__:
        fields |= set(vars(base).get("__annotations__", {}))
        fields |= set(vars(base).get("__dataclass_fields__", {}))
        fields |= set(vars(base).get("PARTS", ()))
        fields |= _assigned(base)
    parts = getattr(getattr(found, "row", None), "parts", ())  # of an expression, which is a view of an operation
    return name in fields or name in parts or hasattr(found, name)


@cache
def _assigned(cls: type) -> frozenset[str]:
    """Return the attributes that the methods of a class set, as `self.x = …` and in tuples of them."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    except (OSError, TypeError):
        return frozenset()
    nodes = (n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    return frozenset(n.attr for n in nodes if isinstance(n.value, ast.Name) and n.value.id == "self")


def _ours(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(f"{_API}.{module}".rstrip(".")), name)
    except (AttributeError, ImportError, TiraxError):
        pass
    try:
        return reduce(getattr, path.split("."), import_module(_API))
    except (AttributeError, ImportError, TiraxError):
        return _MISSING


def _is_refused(path: str) -> bool:
    """Return whether the error of a missing name says why it is."""
    if why_refused(path) is not None:
        return True
    parent, _, last = path.rpartition(".")
    try:
        getattr(import_module(f"{_API}.{parent}".rstrip(".")), last)
    except (AttributeError, ImportError, TiraxError) as error:
        if "is not provided:" in str(error):
            return True
    module, _, name = path.rpartition(".")
    while True:
        if name in REFUSED_NAMES.get(module, {}):
            return True
        module, _, above = module.rpartition(".")
        if not above:
            return False


def _of_parameters(path: str, parameters: str, ours: Any, is_method: bool = False) -> Iterator[Difference]:
    if not parameters or not callable(ours):
        return
    try:
        found = inspect.signature(ours).parameters
    except (TypeError, ValueError):
        return
    known = [*found.values()][1:] if is_method and inspect.isfunction(ours) else [*found.values()]
    theirs = ast.parse(f"def f{parameters.replace('=...', '=Ellipsis')}: ...").body[0]
    assert isinstance(theirs, ast.FunctionDef)
    yield from _of_named(path, theirs.args, known)


def _of_named(path: str, theirs: ast.arguments, ours: list[inspect.Parameter]) -> Iterator[Difference]:
    by_name = {p.name: p for p in ours}
    takes_any = any(p.kind is p.VAR_KEYWORD for p in ours)
    is_open = any(p.kind is p.VAR_POSITIONAL for p in ours)
    plain = [*theirs.posonlyargs, *theirs.args]
    padded = [*[None] * (len(plain) - len(theirs.defaults)), *theirs.defaults]
    for arg, default in (*zip(plain, padded, strict=True), *zip(theirs.kwonlyargs, theirs.kw_defaults, strict=True)):
        if arg.arg in by_name:
            yield from _of_default(path, arg.arg, default, by_name[arg.arg])
        elif not takes_any and arg.arg not in _INHERITED:
            yield Difference(path, "parameter", arg.arg)
    if theirs.vararg and theirs.kwarg:
        return  # its own signature says nothing
    if not is_open:
        yield from _of_places(path, [a.arg for a in plain], ours)
    names = {a.arg for a in (*plain, *theirs.kwonlyargs)}
    for p in ours:
        if p.name not in names and p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            yield Difference(path, "more", p.name)
    if theirs.vararg and not is_open:
        yield Difference(path, "parameter", f"*{theirs.vararg.arg}")


def _of_places(path: str, theirs: list[str], ours: list[inspect.Parameter]) -> Iterator[Difference]:
    places = [p.name for p in ours if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    known = {p.name for p in ours}
    for place, name in enumerate(theirs):
        if name in known and (place >= len(places) or places[place] != name):
            yield Difference(path, "order", name)


def _of_default(path: str, name: str, default: ast.expr | None, ours: inspect.Parameter) -> Iterator[Difference]:
    if default is None:
        return
    if ours.default is ours.empty:
        yield Difference(path, "required", name)
        return
    try:
        value = ast.literal_eval(default)
    except ValueError:
        return
    if not _are_alike(value, ours.default):
        yield Difference(path, "default", f"{name}={value!r}, ours {ours.default!r}")


def _are_alike(theirs: Any, ours: Any) -> bool:
    """Return whether defaults mean the same: lists and tuples, a number and the list of it for each dimension, dtypes
    and their names, nothing and what is empty, the memory without a name and the global one, what a field makes new.
    """
    if repr(ours) == "<factory>":
        return not theirs
    if ours is None or theirs is None:
        return (theirs or None) == (ours or None)
    if theirs == "" and ours == "global":
        return True
    if isinstance(ours, tuple | list):
        listed: list[Any] = list(theirs) if isinstance(theirs, tuple | list) else [theirs]
        return listed == list(ours) or bool(listed) and all(value == listed[0] for value in (*listed, *ours))
    return theirs == ours or isinstance(ours, Attribute) and isinstance(theirs, str) and dtype_of(theirs) == ours


__all__ = ["TABLE", "Difference", "Row", "differences", "rows"]
