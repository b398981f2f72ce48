"""Patterns for `FuseOpsByPattern`, with names and checks, and a registry of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.ir import Operation

from ...diagnostics import TiraxError
from ...handles.relax.expr import Expr, Var, bound_expr, expr_of
from ...tables import Table
from ..dpl.graph import BlockIndex, consumers
from ..dpl.matcher import Matches
from ..dpl.patterns import DFPattern

Check = Callable[["PatternCheckContext"], bool]


@dataclass(frozen=True)
class PatternCheckContext:
    """The argument of a check: information about a match.

    `annotated_expr`: the matches of the annotated parts. `matched_bindings`: the bindings of the group, by variable.
    `var_usages`: the variables that use each variable. `value_to_bound_var`: the variable of each value.
    """

    matched_expr: Expr
    annotated_expr: dict[str, Any]
    matched_bindings: dict[Var, Expr]
    _index: BlockIndex = field(repr=False)

    @property
    def var_usages(self) -> dict[Var, list[Var]]:
        position = self._index.position
        usages: dict[Var, list[Var]] = {}
        for value in self._index.values:
            users = sorted((op for op in consumers(value) if op in position), key=position.__getitem__)
            usages[cast(Var, expr_of(value))] = [cast(Var, expr_of(op.results[0])) for op in users]
        return usages

    @property
    def value_to_bound_var(self) -> dict[Expr, Var]:
        return {bound_expr(op): cast(Var, expr_of(op.results[0])) for op in self._index.bindings}


@dataclass(frozen=True)
class FusionPattern:
    """A pattern whose matches become functions with the attribute `Composite` of this name.

    `check` may reject a match; it gets the matches of `annotation_patterns`. `attrs_getter` returns further attributes
    of the function from these parts.
    """

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] = field(default_factory=dict[str, DFPattern])
    check: Check | None = None
    attrs_getter: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None

    def annotated(self, matches: Matches) -> dict[str, Any]:
        """Return the matches of the annotated parts, without those on the side of a `|` that was not taken."""
        return {name: matches[p] for name, p in self.annotation_patterns.items() if p in matches}

    def accepts(self, matches: Matches, ops: Sequence[Operation], index: BlockIndex) -> bool:
        """Return whether the check accepts a match."""
        if self.check is None:
            return True
        bindings = {cast(Var, expr_of(op.results[0])): bound_expr(op) for op in ops}
        context = PatternCheckContext(matches[self.pattern], self.annotated(matches), bindings, index)
        return bool(self.check(context))


def fusion_pattern(pattern: Any) -> FusionPattern:
    """Return a `FusionPattern` from one, or from a tuple of its fields. Raises `TiraxError` for anything else."""
    if isinstance(pattern, FusionPattern):
        return pattern
    if isinstance(pattern, tuple) and 2 <= len(cast("tuple[Any, ...]", pattern)) <= 5:
        fields = cast("tuple[Any, ...]", pattern)
        if isinstance(fields[0], str) and isinstance(fields[1], DFPattern):
            return FusionPattern(fields[0], fields[1], fields[2] if len(fields) > 2 and fields[2] else {}, *fields[3:])
    raise TiraxError(
        "not a fusion pattern", expected="a FusionPattern or (name, pattern, …)", found=repr(cast(Any, pattern))
    )


# The fusion patterns of libraries and code generators, by name.

PATTERNS: Table[FusionPattern] = Table("fusion pattern")


def register_patterns(patterns: Iterable[Any]) -> None:
    """Register fusion patterns, or tuples of their fields. Later ones have priority.

    A pattern with a registered name replaces the old one, with the priority of a new one. Raises `TiraxError` for
    values that are not patterns.
    """
    for p in [fusion_pattern(p) for p in patterns]:
        PATTERNS.add(p.name, p, override=True)


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """Return the patterns whose names begin with `prefix`, by priority: the last one registered comes first."""
    return [p for name, p in reversed(list(PATTERNS.items())) if name.startswith(prefix)]


def get_pattern(name: str) -> FusionPattern | None:
    """Return the pattern of this name, or None."""
    return PATTERNS.get(name)


def remove_patterns(prefix: str) -> None:
    """Unregister the patterns whose names begin with `prefix`."""
    for name in [n for n in PATTERNS if n.startswith(prefix)]:
        PATTERNS.remove(name)
