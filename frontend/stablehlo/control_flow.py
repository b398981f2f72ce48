"""Calls, branches, loops, and operations that say something about others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue

from ...diagnostics import ShapeError, UnsupportedError
from ...handles.relax.expr import Expr, const
from ..importing.relax_operators import R
from .graph import Graph, dims_of, rule
from .reductions import Windows, joined, reduced_windows
from .sorting import best
from .values import Numbers, Pair, Quantized, Splat, Value, attribute, integer, word


@rule("func.call")
def call(graph: Graph, op: Operation) -> None:
    """Convert the callee's body in place."""
    name = cast(SymbolRefAttr, attribute(op, "callee")).string_value()
    graph.set(op, *graph.call(name, [graph.values[v] for v in op.operands], op))


@rule("stablehlo.composite")
def composite(graph: Graph, op: Operation) -> None:
    """Convert the decomposition, unless the operation is known."""
    name = word(op, "name")
    details = attribute(op, "composite_attributes")
    if name == "chlo.top_k" and isinstance(details, DictionaryAttr):
        best(graph, op, cast(IntegerAttr, details.data["k"]).value.data)
        return
    callee = cast(SymbolRefAttr, attribute(op, "decomposition")).string_value()
    graph.set(op, *graph.call(callee, [graph.values[v] for v in op.operands], op))


@rule("stablehlo.optimization_barrier")
def barrier(graph: Graph, op: Operation) -> None:
    """Keep values."""
    graph.set(op, *(graph.values[v] for v in op.operands))


@rule("stablehlo.tuple")
def tuple_(graph: Graph, op: Operation) -> None:
    """Keep the operation itself: only `get_tuple_element` reads it."""
    graph.set(op, None)


@rule("stablehlo.get_tuple_element")
def get_tuple_element(graph: Graph, op: Operation) -> None:
    """Return an operand of `tuple`."""
    element = _element(op.operands[0], integer(op, "index"))
    graph.set(op, graph.values[element])


def _element(value: SSAValue, index: int) -> SSAValue:
    result = value.owner
    if isinstance(result, Operation) and result.name == "stablehlo.get_tuple_element":
        return _element(_element(result.operands[0], integer(result, "index")), index)
    if not isinstance(result, Operation) or result.name != "stablehlo.tuple":
        raise UnsupportedError("an element of a tuple from elsewhere")
    return result.operands[index]


@rule("stablehlo.create_token", "stablehlo.after_all")
def token(graph: Graph, op: Operation) -> None:
    """Order nothing."""
    graph.set(op, None)


@rule("stablehlo.replica_id", "stablehlo.partition_id")
def zero(graph: Graph, op: Operation) -> None:
    """Return the number of the only process."""
    graph.set(op, const(0, "uint32"))


# -- branches ----------------------------------------------------------------------------------------------------------


def flattened(graph: Graph, values: Sequence[Value]) -> list[Expr]:
    """Return the tensors that hold values."""
    results: list[Expr] = []
    for value in values:
        if isinstance(value, Pair):
            results += [value.re, value.im]
        elif isinstance(value, Splat | Numbers):
            results.append(graph.made(value))
        elif isinstance(value, Quantized):
            results.append(value.stored)
        elif value is not None:
            results.append(value)
    return results


def rebuilt(values: Sequence[SSAValue], parts: Sequence[Expr]) -> list[Value]:
    """Return values of the kinds of others, of the tensors that hold them."""
    rest = iter(parts)
    results: list[Value] = []
    for value in values:
        if str(value.type) == "!stablehlo.token":
            results.append(None)
        else:
            results += joined([next(rest) for _ in range(_count(value))], [value])
    return results


def _count(value: SSAValue) -> int:
    return 2 if "complex" in str(value.type) else 1


def _side(graph: Graph, block: Block) -> Callable[[], list[Expr]]:
    def run() -> list[Expr]:
        with graph.scope():
            return flattened(graph, graph.run(block))

    return run


def _branch(graph: Graph, condition: Expr, sides: Sequence[Callable[[], list[Expr]]]) -> list[Expr]:
    return list(graph.builder.if_then_else(condition, sides[0], sides[1]))


@rule("stablehlo.if")
def if_(graph: Graph, op: Operation) -> None:
    """Run one of two regions."""
    known = graph.number(op.operands[0])
    if known is not None:
        graph.set(op, *graph.inlined(op.regions[0 if known else 1].block, []))
        return
    result = _branch(graph, graph.tensor(op.operands[0]), [_side(graph, r.block) for r in op.regions])
    graph.set(op, *rebuilt(op.results, result))


@rule("stablehlo.case")
def case(graph: Graph, op: Operation) -> None:
    """Run the region of a number; the last one for any number without one."""
    known = graph.number(op.operands[0])
    if known is not None:
        chosen = int(known) if 0 <= known < len(op.regions) else -1
        graph.set(op, *graph.inlined(op.regions[chosen].block, []))
        return
    number = graph.tensor(op.operands[0])
    sides = [_side(graph, r.block) for r in op.regions]

    def rest(k: int) -> list[Expr]:
        if k == len(sides) - 1:
            return sides[k]()
        condition = graph.emit(R.equal(number, const(k, "int32")))
        return _branch(graph, condition, [sides[k], lambda: rest(k + 1)])

    graph.set(op, *rebuilt(op.results, rest(0)))


@rule("stablehlo.while")
def while_(graph: Graph, op: Operation) -> None:
    """Run a region while another one holds."""
    init = flattened(graph, [graph.values[v] for v in op.operands])
    test, step = (region.block for region in op.regions)

    def run(block: Block, carried: Sequence[Expr]) -> list[Expr]:
        with graph.scope():
            return flattened(graph, graph.inlined(block, rebuilt(block.args, carried)))

    def stepped(*carried: Expr) -> list[Expr]:
        result = run(step, carried)
        return [graph.matched(new, dims_of(old)) for new, old in zip(result, carried, strict=True)]

    result = graph.builder.while_loop(lambda *c: run(test, c)[0], stepped, init)
    graph.set(op, *rebuilt(op.results, result))


# -- custom calls ------------------------------------------------------------------------------------------------------

CustomCall = Callable[[Graph, Operation], None]
CUSTOM_CALLS: dict[str, CustomCall] = {}
"""target -> its conversion"""


def custom(*names: str) -> Callable[[CustomCall], CustomCall]:
    """Register the conversion of custom calls."""

    def register(function: CustomCall) -> CustomCall:
        CUSTOM_CALLS.update(dict.fromkeys(names, function))
        return function

    return register


@rule("stablehlo.custom_call")
def custom_call(graph: Graph, op: Operation) -> None:
    """Convert a call of a function that has a meaning here."""
    name = word(op, "call_target_name")
    found = CUSTOM_CALLS.get(name)
    if found is None:
        raise UnsupportedError(f"the custom call @{name}", hint=f"known ones: {', '.join(sorted(CUSTOM_CALLS))}")
    found(graph, op)


@custom("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "LayoutConstraint")
def placement(graph: Graph, op: Operation) -> None:
    """Keep a value: there is one device."""
    graph.set(op, *(graph.values[v] for v in op.operands))


@custom("stablehlo.dynamic_reduce_window")
def dynamic_reduce_window(graph: Graph, op: Operation) -> None:
    """Reduce windows whose extents are sizes."""
    count = (len(op.operands) - 5) // 2
    inputs, starts = op.operands[:count], op.operands[count : 2 * count]
    sizes, *steps, padding = (graph.sizes(v) for v in op.operands[2 * count :])
    numbers = [[d.constant for d in row] for row in steps]
    if any(n is None for row in numbers for n in row):
        raise UnsupportedError("windows whose strides depend on sizes")
    rows = list(zip(padding[::2], padding[1::2], strict=True))
    called: Any = attribute(op, "called_computations")
    block = graph.functions[called.data[0].string_value()].body.block
    strides, base, dilations = cast("list[list[int]]", numbers)
    windows = Windows(graph.dims(inputs[0]), sizes, strides, base, dilations, rows)
    reduced_windows(graph, op, block, windows, inputs, starts)


@custom("shape_assertion")
def shape_assertion(graph: Graph, op: Operation) -> None:
    """Check a condition on sizes: one that is not known to hold is an assertion at run time."""
    holds = graph.number(op.operands[0])
    if holds == 0:
        raise ShapeError(_message(op, [graph.values[v] for v in op.operands[1:]]))
    condition = graph.values[op.operands[0]]
    if holds is None and isinstance(condition, Numbers):
        graph.analyzer.assume(condition.content.flat[0])
    if holds is None:
        graph.builder.emit(R.assert_op(graph.tensor(op.operands[0]), format=_plain_message(op)))
    graph.set(op)


def _plain_message(op: Operation) -> str:
    return word(op, "error_message").replace("{", "<").replace("}", ">")


def _message(op: Operation, values: Sequence[Any]) -> str:
    text = word(op, "error_message")
    for k, value in enumerate(values):
        number = value.content.flat[0] if isinstance(value, Numbers) else "?"
        text = text.replace(f"{{{k}}}", str(number))
    return text
