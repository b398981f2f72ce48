"""Reasons why a binding is not fused with its users: the first condition of `groups` that does not hold."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from xdsl.ir import Operation

from ...dialects import relax
from ...dialects.names import name_of
from ...ir.locations import location_of
from .graph import BindingGraph
from .groups import Groups
from .pattern import OpPattern

logger = logging.getLogger("tirax.fusion")

_KINDS = {
    OpPattern.ELEMWISE: "element-wise",
    OpPattern.BROADCAST: "a broadcast",
    OpPattern.INJECTIVE: "a rearrangement of elements",
    OpPattern.COMM_REDUCE: "a reduction",
    OpPattern.OUT_ELEMWISE_FUSABLE: "a kernel like that of matmul",
    OpPattern.TUPLE: "a tuple",
    OpPattern.OPAQUE: "opaque",
}


_OPAQUE = "opaque: no call of a tensor function of a known kind"
_MOST_BETWEEN = dict.fromkeys(_KINDS, OpPattern.INJECTIVE) | {OpPattern.OUT_ELEMWISE_FUSABLE: OpPattern.BROADCAST}
_FUSED_INTO = {
    **dict.fromkeys((OpPattern.ELEMWISE, OpPattern.BROADCAST), "it is fused into what is at most a reduction"),
    **dict.fromkeys(
        (OpPattern.INJECTIVE, OpPattern.TUPLE), "it is fused into what is at most a rearrangement of elements"
    ),
    OpPattern.OUT_ELEMWISE_FUSABLE: "a kernel like that of matmul is fused into what is element-wise or a broadcast",
}


def log_unfused(graph: BindingGraph, groups: Groups) -> None:
    """Log, at `DEBUG`, why bindings are not in the same group as their users."""
    if logger.isEnabledFor(logging.DEBUG):
        for producer, consumer, reason in unfused_pairs(graph, groups):
            binding, loc = _described(producer), location_of(producer)
            at = "" if loc is None else f" at {loc}"
            logger.debug("%s%s is not fused into %s: %s", binding, at, _described(consumer), reason)


def unfused_pairs(graph: BindingGraph, groups: Groups) -> Iterator[tuple[Operation, Operation, str]]:
    """Yield (binding, user, reason why they are in different groups), in order."""
    for i, consumers in enumerate(graph.consumers):
        for j in consumers:
            if groups.of(i) != groups.of(j):
                yield graph.ops[i], graph.ops[j], reason_not_fused(graph, groups, i, j)


def reason_not_fused(graph: BindingGraph, groups: Groups, i: int, j: int) -> str:
    """Return the first condition that keeps binding i out of the group of its user j, for the final groups."""
    kinds, sink = groups.kinds, groups.dominator(i)
    if kinds[i] == OpPattern.OPAQUE:
        return f"it is {_OPAQUE}"
    if kinds[j] == OpPattern.OPAQUE:
        return f"what uses it is {_OPAQUE}"
    if kinds[i] == OpPattern.COMM_REDUCE:
        return "a reduction is never fused into what uses it"
    if sink is None:
        return _outside(graph, i)
    where, between = _described(graph.ops[sink]), groups.between(i, sink)
    hard = [k for k in between[1:] if groups.kind_of_group(k) > _MOST_BETWEEN[kinds[i]]]
    if hard:
        return f"{_described(graph.ops[hard[0]])} on the way to {where} is {_KINDS[groups.kind_of_group(hard[0])]}"
    if sum(groups.size(k) for k in {groups.of(k) for k in (*between, sink)}) > groups.max_size:
        return f"together with {where} it would be more than max_depth={groups.max_size} bindings"
    if groups.max_functions < sum(groups.functions(k) for k in {groups.of(k) for k in (*between, sink)}):
        return f"together with {where} it would be more than fuse.functions={groups.max_functions} elementary functions"
    group = groups.kind_of_group(sink)
    of_group = "" if group == kinds[sink] else f", its group {_KINDS[group]}"
    return f"{_FUSED_INTO[kinds[i]]}; {where} is {_KINDS[kinds[sink]]}{of_group}"


def _outside(graph: BindingGraph, i: int) -> str:
    if i in graph.external:
        return "its value leaves the dataflow block, too"
    return "it is used on several ways that do not meet before values leave the dataflow block"


def _described(op: Operation) -> str:
    """Return a description such as `'lv' (matmul)`."""
    name = next((name for r in op.results if (name := name_of(r))), None)
    called = op.callee_name if isinstance(op, relax.CallTIROp | relax.CallTIRInplaceOp) else op.name
    return f"'{name or '_'}' ({called})"
