"""Loops and branches of scf and affine, and calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import affine, arith, cf, func, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    AffineSetAttr,
    ArrayAttr,
    DenseIntElementsAttr,
    IntegerAttr,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.sym.expr import Const
from ....ir.locations import location_of
from ...importing.callee import callee_of
from ..payload import affine_index
from ..scalars import RULES, scalar_type
from ..structured import attribute, integers
from .branches import run_region
from .core import Kernel, Variable
from .values import Bound, is_array


def _for(k: Kernel, op: scf.ForOp) -> None:
    bounds = k.bound(op.lb), k.bound(op.ub), k.bound(op.step)
    carrying_loop(k, op.body.block, op.iter_args, op.results, bounds, scalar_type(op.lb.type))


def carrying_loop(
    k: Kernel,
    block: Block,
    inits: Sequence[SSAValue],
    results: Sequence[SSAValue],
    bounds: tuple[Bound, Bound, Bound],
    index_type: Attribute = i64,
) -> None:
    """Add a loop over `bounds` (first, end, step) whose body takes the index and the values that it carries."""
    cells = k.variables(inits)

    def body(index: SSAValue) -> None:
        k.sizes.pop(block.args[0], None)
        k.known[block.args[0]] = index
        k.enter(cells, block.args[1:])
        k.leave(cells, k.run(block))

    k.loop(*bounds, body, type=index_type)
    k.enter(cells, results)


def nested(
    k: Kernel, bounds: Sequence[tuple[Bound, Bound, Bound, SSAValue]], body: Callable[[], None], parallel: bool
) -> None:
    """Add loops over (first, end, step, index) around a body."""

    def nest(rest: Sequence[tuple[Bound, Bound, Bound, SSAValue]], kind: tir.ForKind) -> None:
        if not rest:
            body()
            return
        *bounds, arg = rest[0]

        def inner(index: SSAValue) -> None:
            k.sizes.pop(arg, None)
            k.known[arg] = index
            nest(rest[1:], tir.ForKind.SERIAL)

        k.loop(*cast("tuple[Bound, Bound, Bound]", tuple(bounds)), inner, kind)

    nest(bounds, tir.ForKind.PARALLEL if parallel else tir.ForKind.SERIAL)


def _parallel(k: Kernel, op: scf.ParallelOp) -> None:
    """Loops in any order; with reductions one after another, as their results are carried along."""
    block = op.body.block
    bounds = [
        (k.bound(low), k.bound(high), k.bound(step), arg)
        for low, high, step, arg in zip(op.lowerBound, op.upperBound, op.step, block.args, strict=True)
    ]
    cells = k.variables(op.initVals)

    def body() -> None:
        values = k.run(block)
        last = block.last_op
        for cell, value, region in zip(cells, values, last.regions if last is not None else (), strict=True):
            reduction = region.block
            k.enter([cell], [reduction.args[0]])
            k.same(reduction.args[1], value)
            k.leave([cell], k.run(reduction))

    nested(k, bounds, body, parallel=not cells)
    k.enter(cells, op.results)


def _forall(k: Kernel, op: Operation) -> None:
    """A loop over tensors, of which each iteration writes its part."""
    block = op.regions[0].block
    counts = [len(integers(attribute(op, f"static{name}"))) for name in ("LowerBound", "UpperBound", "Step")]
    dynamic = integers(attribute(op, "operandSegmentSizes"))
    outputs = list(op.operands[sum(dynamic[:3]) :])
    rest = iter(op.operands)

    def numbers(name: str) -> list[Bound]:
        static = integers(attribute(op, f"static{name}"))
        return [k.bound(next(rest)) if n == DYNAMIC_INDEX else Const(n) for n in static]

    low, high, step = (numbers(name) for name in ("LowerBound", "UpperBound", "Step"))
    rank = counts[0]
    bounds = list(zip(low, high, step, block.args[:rank], strict=True))
    cells = k.variables(outputs)
    k.enter(cells, block.args[rank:])

    def body() -> None:
        k.run(block)
        last = block.last_op
        for insert in last.regions[0].block.ops if last is not None else ():
            k.statement(insert)

    nested(k, bounds, body, parallel=False)
    k.enter(cells, op.results)


def choice(k: Kernel, cond: SSAValue, results: Sequence[SSAValue], sides: Sequence[Region | None]) -> None:
    """Add a branch whose sides yield the results."""
    cells: list[Variable] = []
    outer = k.e.block
    outputs: list[Region] = []
    for side in sides:
        block = Block()
        with k.inside(block):
            values = run_region(k, side) if side is not None and side.blocks else []
            if len(cells) < len(values):
                with k.inside(outer):
                    cells = [k.variable(v) for v in values]
            k.leave(cells, values)
        outputs.append(Region(block))
    otherwise = outputs[1] if len(outputs) > 1 and outputs[1].block.first_op is not None else None
    k.e.block.add_op(tir.IfOp(cond, outputs[0], otherwise))
    k.enter(cells, results)


def _if(k: Kernel, op: scf.IfOp) -> None:
    choice(k, k.value(op.cond), op.results, op.regions)


def _index_switch(k: Kernel, op: Operation) -> None:
    """The region of a number, the first one of all others."""
    cases = integers(attribute(op, "cases"))
    number = k.e.add(tir.LetOp(k.value(op.operands[0])))
    default, *regions = op.regions
    cells: list[Variable] = []
    outer = k.e.block

    def side(region: Region) -> Block:
        nonlocal cells
        block = Block()
        with k.inside(block):
            values = run_region(k, region)
            if len(cells) < len(values):
                with k.inside(outer):
                    cells = [k.variable(v) for v in values]
            k.leave(cells, values)
        return block

    last = side(default)
    for case, region in reversed(list(zip(cases, regions, strict=True))):
        chosen = side(region)
        around = Block()
        with k.inside(around):
            hit = k.e.binary("eq", number, k.e.const(case, number.type))
            around.add_op(tir.IfOp(hit, Region(chosen), Region(last)))
        last = around
    for inner in list(last.ops):
        inner.detach()
        outer.add_op(inner)
    k.enter(cells, op.results)


def _execute_region(k: Kernel, op: Operation) -> None:
    for result, value in zip(op.results, run_region(k, op.regions[0]), strict=True):
        k.same(result, value)


def _while(k: Kernel, op: scf.WhileOp) -> None:
    """`before` runs once ahead of the loop, and again at the end of each iteration."""
    before, after = op.before_region.block, op.after_region.block
    cells = k.variables(op.arguments)
    flag = k.cell(i1)
    passed: list[Variable] = []

    def check() -> None:
        k.enter(cells, before.args)
        cond, *rest = k.run(before)
        if len(passed) < len(rest):
            passed.extend(k.variable(v) for v in rest)
        holds = k.e.add(tir.LetOp(k.value(cond)))
        k.leave(passed, rest)
        k.set(flag, holds)

    check()
    condition, body = Block(), Block()
    with k.inside(condition):
        condition.add_op(tir.YieldOp(k.e.add(tir.LoadOp(flag, [k.e.const(0, i64)]))))
    with k.inside(body):
        k.enter(passed, after.args)
        k.leave(cells, k.run(after))
        check()
    k.e.block.add_op(tir.WhileOp(Region(condition), Region(body)))
    k.enter(passed, op.results)


# -- affine ------------------------------------------------------------------------------------------------------------


def _applied(k: Kernel, data: AffineMap, operands: Sequence[SSAValue]) -> list[SSAValue]:
    numbers = k.values(operands)
    dims, symbols = numbers[: data.num_dims], numbers[data.num_dims :]
    return [affine_index(k.e, result, dims, symbols) for result in data.results]


def _extreme(k: Kernel, values: Sequence[SSAValue], name: str) -> SSAValue:
    first, *rest = values
    for value in rest:
        first = k.e.binary(name, first, value)
    return first


def _bound(k: Kernel, data: AffineMap, operands: Sequence[SSAValue], name: str) -> Bound:
    if len(data.results) == 1 and not operands:
        return Const(data.eval([], [])[0])
    if len(data.results) == 1 and len(operands) == 1 and isinstance(data.results[0], type(AffineExpr.symbol(0))):
        return k.bound(operands[0])
    return _extreme(k, _applied(k, data, operands), name)


def _affine_for(k: Kernel, op: affine.ForOp) -> None:
    low = _bound(k, op.lowerBoundMap.data, op.lowerBoundOperands, "max")
    high = _bound(k, op.upperBoundMap.data, op.upperBoundOperands, "min")
    carrying_loop(k, op.body.block, op.inits, op.results, (low, high, Const(op.step.value.data)))


_REDUCTIONS = {
    "addf": "arith.addf", "addi": "arith.addi", "mulf": "arith.mulf", "muli": "arith.muli",
    "maximumf": "arith.maximumf", "minimumf": "arith.minimumf", "maxnumf": "arith.maxnumf",
    "minnumf": "arith.minnumf", "maxs": "arith.maxsi", "mins": "arith.minsi", "maxu": "arith.maxui",
    "minu": "arith.minui", "andi": "arith.andi", "ori": "arith.ori", "xori": "arith.xori",
    "maxsi": "arith.maxsi", "minsi": "arith.minsi", "maxui": "arith.maxui", "minui": "arith.minui",
}  # fmt: skip
"""The kinds of reductions, of affine's and vector's names."""
_NEUTRAL: dict[str, float] = {
    "arith.addf": 0.0, "arith.addi": 0, "arith.mulf": 1.0, "arith.muli": 1, "arith.andi": -1, "arith.ori": 0,
    "arith.xori": 0, "arith.maximumf": float("-inf"), "arith.minimumf": float("inf"),
}  # fmt: skip


def reduction(k: Kernel, name: str, a: SSAValue, b: SSAValue, at: Operation) -> SSAValue:
    """Return two elements combined by a kind of reduction. Raises `UnsupportedError` for an unknown one."""
    rule = _REDUCTIONS.get(name)
    if rule is None:
        raise UnsupportedError(f"a reduction by '{name}'", location=location_of(at))
    return RULES[rule](k.e, (a, b), at)


def _affine_parallel(k: Kernel, op: Operation) -> None:
    lows, highs = (cast(AffineMapAttr, attribute(op, f"{side}BoundsMap")).data for side in ("lower", "upper"))
    split = lows.num_dims + lows.num_symbols
    groups = [cast(DenseIntElementsAttr, attribute(op, f"{side}BoundsGroups")) for side in ("lower", "upper")]
    low = _grouped(k, _applied(k, lows, op.operands[:split]), integers(groups[0]), "max")
    high = _grouped(k, _applied(k, highs, op.operands[split:]), integers(groups[1]), "min")
    steps = [Const(cast(IntegerAttr, s).value.data) for s in cast("ArrayAttr[Attribute]", attribute(op, "steps"))]
    block = op.regions[0].block
    kinds = [_kind_name(kind) for kind in cast("ArrayAttr[Attribute]", attribute(op, "reductions"))]
    cells: list[SSAValue] = []
    for kind, result in zip(kinds, op.results, strict=True):
        dtype = scalar_type(result.type, op)
        first = _NEUTRAL.get(_REDUCTIONS.get(kind, ""))
        if first is None:
            raise UnsupportedError(f"'affine.parallel' with a reduction by '{kind}'", location=location_of(op))
        cell = k.cell(dtype)
        k.set(cell, k.e.const(abs(int(first)) if dtype == i1 else first, dtype))
        cells.append(cell)

    def body() -> None:
        for cell, kind, value in zip(cells, kinds, k.run(block), strict=True):
            k.set(cell, reduction(k, kind, k.get(cell), k.value(value), op))

    bounds = list(zip(low, high, cast("list[Bound]", steps), block.args, strict=True))
    nested(k, cast("list[tuple[Bound, Bound, Bound, SSAValue]]", bounds), body, parallel=not cells)
    for cell, result in zip(cells, op.results, strict=True):
        k.known[result] = k.get(cell)


ATOMIC_KINDS = (
    "addf", "addi", "assign", "maximumf", "maxs", "maxu", "minimumf", "mins", "minu", "mulf", "muli", "ori", "andi",
    "maxnumf", "minnumf", "xori",
)  # fmt: skip
"""The kinds of `arith.atomic_rmw`, by their numbers."""


def _kind_name(kind: Attribute) -> str:
    return ATOMIC_KINDS[kind.value.data] if isinstance(kind, IntegerAttr) else cast(StringAttr, kind).data


def _grouped(k: Kernel, values: Sequence[SSAValue], counts: Sequence[int], name: str) -> list[SSAValue]:
    rest = iter(values)
    return [_extreme(k, [next(rest) for _ in range(count)], name) for count in counts]


def _affine_if(k: Kernel, op: Operation) -> None:
    data = cast(AffineSetAttr, attribute(op, "condition")).data
    numbers = k.values(op.operands)
    dims, symbols = numbers[: data.num_dims], numbers[data.num_dims :]
    holds = k.e.const(1, i1)
    for constraint in data.constraints:
        left, right = (affine_index(k.e, side, dims, symbols) for side in (constraint.lhs, constraint.rhs))
        compare = {"==": "eq", ">=": "ge", "<=": "le"}[constraint.kind.value]
        holds = k.e.binary("and", holds, k.e.binary(compare, left, right))
    choice(k, holds, op.results, op.regions)


def _affine_apply(k: Kernel, op: Operation) -> None:
    (k.known[op.results[0]],) = _applied(k, cast(AffineMapAttr, attribute(op, "map")).data, op.operands)


def _affine_extreme(k: Kernel, op: Operation) -> None:
    values = _applied(k, cast(AffineMapAttr, attribute(op, "map")).data, op.operands)
    k.known[op.results[0]] = _extreme(k, values, op.name.partition(".")[2])


def _basis(k: Kernel, op: Operation, dynamic: Sequence[SSAValue], static: str) -> list[SSAValue]:
    rest = iter(dynamic)
    return [k.value(next(rest)) if n == DYNAMIC_INDEX else k.e.const(n, i64) for n in integers(attribute(op, static))]


def _delinearize(k: Kernel, op: Operation) -> None:
    """The remainders by the basis, whose first number may be left out."""
    index, *dynamic = op.operands
    basis = _basis(k, op, dynamic, "static_basis")
    if len(basis) == len(op.results):
        basis = basis[1:]
    rest = k.value(index)
    for result, size in zip(reversed(op.results[1:]), reversed(basis), strict=True):
        k.known[result] = k.e.add(tir.LetOp(k.e.binary("floormod", rest, size)))
        rest = k.e.add(tir.LetOp(k.e.binary("floordiv", rest, size)))
    k.known[op.results[0]] = rest


def _linearize(k: Kernel, op: Operation) -> None:
    count = integers(attribute(op, "operandSegmentSizes"))[0]
    indices = k.values(op.operands[:count])
    basis = _basis(k, op, op.operands[count:], "static_basis")
    if len(basis) == len(indices):
        basis = basis[1:]
    total = indices[0] if indices else k.e.const(0, i64)
    for index, size in zip(indices[1:], basis, strict=True):
        total = k.e.binary("add", k.e.binary("mul", total, size), index)
    k.known[op.results[0]] = total


# -- calls -------------------------------------------------------------------------------------------------------------


def _call(k: Kernel, op: func.CallOp) -> None:
    """A call of another function becomes its body."""
    callee = callee_of(k.functions, op.callee.string_value(), op, k.open)
    k.open.append(callee)
    for arg, value in zip(callee.args, op.arguments, strict=True):
        k.same(arg, value)
        k.owned.discard(arg)
    for result, value in zip(op.results, run_region(k, callee.body), strict=True):
        k.same(result, value)
        k.owned.discard(result)
    k.open.pop()


def _assert(k: Kernel, op: cf.AssertOp) -> None:
    test = op.arg.owner
    if isinstance(test, arith.CmpiOp):
        sizes = [k.sizes.get(v) for v in test.operands]
        if sizes[0] is not None and sizes[0] == sizes[1] and cast(IntegerAttr, test.predicate).value.data == 0:
            return
    k.e.block.add_op(tir.AssertOp(k.value(op.arg), op.msg.data))


def _nothing(k: Kernel, op: Operation) -> None:
    """What has no effect here: buffers live as long as the function."""


def _select(k: Kernel, op: Operation) -> None:
    """`arith.select` of a condition for all elements, between arrays."""
    cond, a, b = op.operands
    if is_array(a) and not is_array(cond):
        truth = k.value(cond)
        k.array(op.results[0], k.dims[a], lambda i: k.e.select(truth, k.read(k.places[a], i), k.read(k.places[b], i)))
    elif is_array(a):
        k.array(op.results[0], k.dims[a], lambda i: k.e.select(*(k.read(k.places[v], i) for v in op.operands)))
    else:
        k.known[op.results[0]] = k.e.select(*k.values(op.operands))


def _dead(k: Kernel, op: Operation) -> None:
    raise UnsupportedError("code that is never reached", location=location_of(op))


STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {
    "scf.for": _for,
    "scf.parallel": _parallel,
    "scf.forall": _forall,
    "scf.if": _if,
    "scf.index_switch": _index_switch,
    "scf.execute_region": _execute_region,
    "memref.alloca_scope": _execute_region,
    "scf.while": _while,
    "affine.for": _affine_for,
    "affine.parallel": _affine_parallel,
    "affine.if": _affine_if,
    "affine.apply": _affine_apply,
    "affine.min": _affine_extreme,
    "affine.max": _affine_extreme,
    "affine.delinearize_index": _delinearize,
    "affine.linearize_index": _linearize,
    "affine.prefetch": _nothing,
    "arith.select": _select,
    "func.call": _call,
    "cf.assert": _assert,
    "ub.unreachable": _dead,
}
"""operation -> its translation."""
