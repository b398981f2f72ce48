"""Which blocks are structured: loops around one block that computes elements at affine indices, in any order.

What is not, has a reason, a phrase that completes 'block "C" is no structured operation: …'.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sym.expr import SymExpr
from ...dialects.tir import ForKind, IterKind
from ...ir.affine.values import sym_expr_of
from ..tir_to_scf.statements import EXPRESSIONS
from .indices import Index, Scope

_ORDERED = (ForKind.SERIAL, ForKind.PARALLEL, ForKind.VECTORIZED, ForKind.UNROLLED)
_PURE = (*EXPRESSIONS, tir.LetOp, tir.LetInOp, tir.IfThenElseOp, tir.ReduceOp, tir.LoadOp)


class NotStructuredError(Exception):
    """Carries the reason why a block is no structured operation."""


@dataclass(frozen=True)
class NestIterator:
    """An iterator of a nest: the values that it is, its extent, and whether it is one of a reduction."""

    values: tuple[SSAValue, ...]
    extent: SymExpr
    reduction: bool


@dataclass(frozen=True)
class Access:
    """An element of a buffer at each point."""

    buffer: SSAValue
    indices: tuple[Index, ...]


@dataclass(frozen=True)
class Computation:
    """The statements of a block, or of its init: what they read and write at each point of the iterators."""

    body: Block
    iterators: tuple[NestIterator, ...]
    inputs: tuple[Access, ...]
    outputs: tuple[Access, ...]
    stores: tuple[tir.StoreOp, ...]
    loads: Mapping[SSAValue, int]
    """The loads that are operands, by position among inputs and outputs; others are element reads in the body."""

    @property
    def updates(self) -> bool:
        """Whether previous elements of the outputs count."""
        return any(number >= len(self.inputs) for number in self.loads.values())


@dataclass(frozen=True)
class Nest:
    """A block in its loops; `fixed` iterators have one value there."""

    block: tir.BlockOp
    root: Operation
    fixed: Mapping[SSAValue, SSAValue]
    update: Computation
    init: Computation | None


def nest_of(block: tir.BlockOp) -> Nest:
    """Return the largest nest around a structured block. Raises `NotStructuredError`."""
    _check_header(block)
    root, loops = _climb(block)
    iterators: list[NestIterator] = []
    fixed: dict[SSAValue, SSAValue] = {}
    rows = zip(block.iter_vars, block.bindings, block.kinds, block.extents, strict=True)
    for variable, binding, kind, extent in rows:
        if binding in loops:
            iterators.append(NestIterator((variable, binding), extent, kind is IterKind.REDUCE))
        elif extent.constant == 1 or (kind is IterKind.SPATIAL and not _uses(binding, loops)):
            fixed[variable] = binding
        else:
            raise NotStructuredError(f"the iterator {_name(variable)} is no loop of its own")
    if not iterators and any(e.constant != 1 for e in block.extents):
        raise NotStructuredError("none of its iterators is a loop of its own")
    constants = {v: sym_expr_of(b, through_casts=True) for v, b in fixed.items()}
    update = _computation(block.body.block, iterators, constants, root)
    init = None
    if block.init is not None:
        spatial = [i for i in iterators if not i.reduction]
        init = _computation(block.init.body.block, spatial, constants, root)
        _check_init(init, update)
    return Nest(block, root, fixed, update, init)


def _check_header(block: tir.BlockOp) -> None:
    for variable, kind, low in zip(block.iter_vars, block.kinds, block.mins, strict=True):
        if kind not in (IterKind.SPATIAL, IterKind.REDUCE):
            raise NotStructuredError(f"the iterator {_name(variable)} is of the kind {kind.value}")
        if low.constant != 0:
            raise NotStructuredError(f"the iterator {_name(variable)} begins at {low}")
    if block.predicate is not None:
        raise NotStructuredError("it has a condition")


def _climb(block: tir.BlockOp) -> tuple[Operation, set[SSAValue]]:
    """Return the outermost loop of the nest, and the loop variables."""
    root: Operation = block
    loops: set[SSAValue] = set()
    while isinstance(loop := root.parent_op(), tir.ForOp) and _is_iterator(loop, block, root):
        loops.add(loop.loop_var)
        root = loop
    return root, loops


def _is_iterator(loop: tir.ForOp, block: tir.BlockOp, inner: Operation) -> bool:
    """Return whether a loop around only `inner` runs one iterator of the block over its domain."""
    if loop.kind not in _ORDERED or getattr(loop.min, "constant", None) != 0:
        return False
    if any(op is not inner and not isinstance(op, tuple(EXPRESSIONS)) for op in loop.body.block.ops):
        return False
    bound = [i for i, binding in enumerate(block.bindings) if _uses(binding, {loop.loop_var})]
    return len(bound) == 1 and block.bindings[bound[0]] is loop.loop_var and block.extents[bound[0]] == loop.extent


def _uses(value: SSAValue, variables: set[SSAValue]) -> bool:
    return any(v.value in variables for v in sym_expr_of(value, through_casts=True).free_vars())


def _computation(
    body: Block, iterators: Sequence[NestIterator], constants: Mapping[SSAValue, SymExpr], root: Operation
) -> Computation:
    dims = {value: number for number, i in enumerate(iterators) for value in i.values}
    scope = Scope(root, dims, constants)
    stores = _stores(body)
    outputs = [Access(buffer, _written(store, scope, iterators)) for buffer, store in stores.items()]
    elements: dict[SSAValue, Access] = {}
    inputs: list[Access] = []
    for load, conditional in _loads(body):
        access = _access(load, scope)
        if load.buffer in stores:
            _check_own(load, access, outputs, body, stores[load.buffer])
            elements[load.result] = outputs[list(stores).index(load.buffer)]
        elif access is not None and not conditional:
            elements[load.result] = access
            inputs += [] if access in inputs else [access]
    every = [*inputs, *outputs]
    loads = {value: every.index(access) for value, access in elements.items()}
    _check_reduction(iterators, outputs, [access.buffer for access in elements.values()])
    return Computation(body, tuple(iterators), tuple(inputs), tuple(outputs), tuple(stores.values()), loads)


def _stores(body: Block) -> dict[SSAValue, tir.StoreOp]:
    """Return the store to each buffer that a body writes."""
    stores: dict[SSAValue, tir.StoreOp] = {}
    for op in body.ops:
        if isinstance(op, tir.StoreOp):
            if op.buffer in stores:
                raise NotStructuredError(f"it writes {_name(op.buffer)} twice")
            stores[op.buffer] = op
        elif not isinstance(op, _PURE) and not isinstance(op, tir.ReadsOp | tir.WritesOp | tir.InitOp):
            raise NotStructuredError(f"it contains '{op.name}'")
    if not stores:
        raise NotStructuredError("it writes nothing")
    return stores


def _check_reduction(iterators: Sequence[NestIterator], outputs: Sequence[Access], read: Sequence[SSAValue]) -> None:
    """Without reading what it writes, a reduction keeps its last value, and linalg knows no last one."""
    for output in outputs:
        if output.buffer not in read and any(i.reduction for i in iterators):
            raise NotStructuredError(f"its reduction does not read {_name(output.buffer)}")


def _loads(body: Block) -> Iterator[tuple[tir.LoadOp, bool]]:
    """Yield the loads of statements and expressions, and whether a condition guards them."""
    for op in body.ops:
        if isinstance(op, tir.LoadOp):
            yield op, False
        elif not isinstance(op, tir.InitOp):
            for inner in op.walk():
                if isinstance(inner, tir.LoadOp):
                    yield inner, True


def _access(load: tir.LoadOp, scope: Scope) -> Access | None:
    indices = [scope.index(i) for i in load.indices]
    known = [i for i in indices if i is not None]
    return Access(load.buffer, tuple(known)) if len(known) == len(indices) else None


def _written(store: tir.StoreOp, scope: Scope, iterators: Sequence[NestIterator]) -> tuple[Index, ...]:
    """Return the indices of a store: each point of the parallel iterators has an element of its own."""
    indices = [scope.index(i) for i in store.indices]
    known = [i for i in indices if i is not None]
    if len(known) < len(indices):
        raise NotStructuredError(f"an index of {_name(store.buffer)}, which it writes, is not affine")
    for number, iterator in enumerate(iterators):
        if iterator.reduction:
            if any(iterator.values[0] in _values(scope, i) for i in store.indices):
                raise NotStructuredError(f"{_name(iterator.values[0])}, of a reduction, indexes what it writes")
        elif iterator.extent.constant != 1 and all(i.bare != number for i in known):
            name = _name(iterator.values[0])
            raise NotStructuredError(f"no index of {_name(store.buffer)}, which it writes, is {name}")
    return tuple(known)


def _values(scope: Scope, index: SSAValue) -> set[SSAValue | None]:
    return {v.value for v in scope.expr(index).free_vars()}


def _check_own(
    load: tir.LoadOp, access: Access | None, outputs: Sequence[Access], body: Block, store: tir.StoreOp
) -> None:
    """Check that a read of a buffer that the block writes is of the same element, before it is written."""
    if access is None or access not in outputs:
        raise NotStructuredError(f"it reads other elements of {_name(load.buffer)} than it writes")
    place: Operation = load
    while place.parent is not body:
        place = place.parent_op() or place
    ops = list(body.ops)
    if ops.index(place) > ops.index(store):
        raise NotStructuredError(f"it reads {_name(load.buffer)} after it writes it")


def _check_init(init: Computation, update: Computation) -> None:
    """An init that comes before the whole reduction is the same as one at the first point of each."""
    written = {access.buffer for access in update.outputs}
    if {access.buffer for access in init.outputs} != written:
        raise NotStructuredError("its init writes other buffers than it does")
    if init.updates or any(load.buffer in written for load, _ in _loads(init.body)):
        raise NotStructuredError("its init reads what it writes")


def _name(value: SSAValue) -> str:
    return f"%{name_of(value) or '?'}"
