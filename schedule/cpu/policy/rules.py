"""The rule tables of the default schedule: the first rule that fits emits the loops of a stage.

`NESTS` are for nests that are not stages, because they store two elements or consist of statements.

User rules are added to the table by `register_rule` permanently, or by `added_rules` temporarily. A rule is a pair
of functions, like the built-in rules; `primitive_rules` creates rules from functions on a `Schedule` and from
traces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, Generic, TypeVar

from xdsl.ir import Operation

from ....diagnostics import TiraxError, unknown_name
from ....dialects.relax import OPERATORS
from ....dialects.sym.expr import SymExpr
from ....ir.passes.additions import Additions
from ...loop_builder import LoopBuilder
from ..analysis.plan import Machine, NestPlan, Plan
from ..kernels.argreduce import emit_argreduce, plan_argreduce
from ..kernels.dequantized_matmul import emit_block_floats, plan_block_floats
from ..kernels.dot_products import emit_dot_products, plan_dot_products
from ..kernels.gemv import emit_row_streams, plan_row_streams
from ..kernels.multi_reduce import emit_multi_reduce, plan_multi_reduce
from ..kernels.panels import emit_panels, plan_panels
from ..kernels.pointwise import emit_pointwise, plan_pointwise
from ..kernels.quantized_matmul import emit_block_products, plan_block_products
from ..kernels.register_tiles import emit_register_tiles, plan_register_tiles
from ..kernels.scans import emit_scan, plan_scan
from ..kernels.split_iter import emit_interleave, emit_split_iter, plan_interleave, plan_split_iter
from ..kernels.statements import emit_statements, plan_statements
from ..kernels.transpose import emit_transpose, plan_transpose
from ..kernels.vector_reduction import emit_vector_reduction, plan_vector_reduction
from ..library.epilogue import Epilogue
from .limits import MIN_PANEL_ROWS, MIN_VECTOR_RUN, NEAR_LANES

P = TypeVar("P", bound=Plan)


@dataclass(frozen=True)
class StageRule(Generic[P]):
    """A rule for one kind of stage: `plan` returns a plan if the stage fits (else None), `emit` appends the loops
    of a plan.

    `decides` are the fields of its plans that may be overridden: numbers, names, lists of numbers with their
    iterators. A rule that only pays off for a size of at least `least` returns that size by `size`; if it is
    unknown at build time, the next rule that fits emits alternative loops for smaller sizes.
    """

    name: str
    plan: Callable[[Epilogue, Machine], P | None]
    emit: Callable[[LoopBuilder, P], None]
    decides: tuple[str, ...] = ()
    size: Callable[[P], SymExpr] | None = None
    least: int = 1


AnyRule = StageRule[Any]


_TILE = ("lanes", "vectors", "rows", "order")
_LANES = ("tile", "lanes", "chains")
_PANEL = ("groups", "lanes", "vectors", "rows", "panel_bytes", "strips")
RULES: tuple[AnyRule, ...] = (
    StageRule("block_products", plan_block_products, emit_block_products, ("tile",)),
    StageRule("dot_products", plan_dot_products, emit_dot_products, ("vectors", "tile")),
    StageRule("panels", plan_panels, emit_panels, _PANEL, size=attrgetter("served_rows"), least=MIN_PANEL_ROWS),
    StageRule("block_floats", plan_block_floats, emit_block_floats, ("tile",)),
    StageRule("row_streams", plan_row_streams, emit_row_streams, ("streams", "prefetch_bytes")),
    StageRule("register_tiles", plan_register_tiles, emit_register_tiles, _TILE),
    StageRule("vector_reduction", partial(plan_vector_reduction, fewest=MIN_VECTOR_RUN), emit_vector_reduction, _LANES),
    StageRule("strided_register_tiles", partial(plan_register_tiles, allowed=NEAR_LANES), emit_register_tiles, _TILE),
    StageRule("gathering_register_tiles", partial(plan_register_tiles, allowed=None), emit_register_tiles, _TILE),
    StageRule("short_vector_reduction", plan_vector_reduction, emit_vector_reduction, _LANES),
    StageRule("transpose", plan_transpose, emit_transpose, ("size",)),
    StageRule("split_iter", plan_split_iter, emit_split_iter),
    StageRule("interleave", plan_interleave, emit_interleave),
    StageRule("pointwise", plan_pointwise, emit_pointwise, ("stores",)),
)
"""The built-in rules, in the order in which they are tried."""


_added = Additions[tuple[AnyRule, str | None]]()
"""Added rules, each with the rule that it precedes."""


def register_rule(rule: StageRule[P], *, before: str | None = None) -> StageRule[P]:
    """Add a user rule to the table, before the rule `before`, or by default before all others, and return it.

    Raises `TiraxError` if there is a rule with this name, and `NameLookupError` if `before` does not exist.
    """
    _added.add(_checked(rule, before))
    return rule


def unregister_rule(name: str) -> None:
    """Remove a registered rule. Raises `NameLookupError` if there is none with this name."""
    registered = {item[0].name: item for item in _added.lasting}
    if name not in registered:
        raise unknown_name("rule", name, registered)
    _added.remove(registered[name])


@contextmanager
def added_rules(*added: AnyRule, before: str | None = None) -> Iterator[None]:
    """Add these rules to the table within the context, in order, as by `register_rule`."""
    with ExitStack() as stack:
        for rule in added:
            stack.enter_context(_added.added(_checked(rule, before)))
        yield


def rules() -> tuple[AnyRule, ...]:
    """Return the rules for stages, including those of plug-ins, in the order in which they are tried."""
    len(OPERATORS)  # the first access of that table imports the plug-ins
    return _table()


def _table() -> tuple[AnyRule, ...]:
    table = list(RULES)
    for rule, before in _added:
        names = [r.name for r in table]
        table.insert(names.index(before if before in names else RULES[0].name), rule)
    return tuple(table)


def _checked(rule: AnyRule, before: str | None) -> tuple[AnyRule, str | None]:
    names = [r.name for r in _table()]
    if rule.name in names:
        raise TiraxError(f"there is a rule '{rule.name}' already", hint="rules are found by their names")
    if before is not None and before not in names:
        raise unknown_name("rule", before, names)
    return rule, before


N = TypeVar("N", bound=NestPlan)


@dataclass(frozen=True)
class Nest(Generic[N]):
    """A rule for nests of loops, or for blocks of statements."""

    rule: StageRule[N]
    plan: Callable[[Operation, Machine], N | None]

    @staticmethod
    def of(
        name: str,
        plan: Callable[[Operation, Machine], N | None],
        emit: Callable[[LoopBuilder, N], None],
        *decides: str,
    ) -> Nest[N]:
        """Return the rule with this name, which fits no stage."""
        return Nest(StageRule(name, lambda epilogue, machine: None, emit, decides), plan)


NESTS: tuple[Nest[Any], ...] = (
    Nest.of("argreduce", plan_argreduce, emit_argreduce, "vectors"),
    Nest.of("multi_reduce", plan_multi_reduce, emit_multi_reduce),
    Nest.of("scan", plan_scan, emit_scan),
    Nest.of("statements", plan_statements, emit_statements),
)
"""The rules for nests, in the order in which they are tried."""
