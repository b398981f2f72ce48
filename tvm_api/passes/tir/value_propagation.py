"""Contents of buffers, propagated from stores and assumptions to later loads.

A fact states that the elements `B[q]`, for all `q` that satisfy conditions, equal `value`, an expression of
`q` and of variables. A store adds a fact and removes the element from others; a branch makes facts depend
on its condition; a loop generalizes the facts of an iteration to all iterations. Anything unsupported (a
buffer whose address is taken, stores at indices shared by several iterations) is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ....dialects import tir
from ....dialects.dtypes import is_scalable, lanes_of
from ....handles.tir.placeholders import placeholder_value
from ....handles.tir.prim_expr import from_sym
from ....transforms.tir.walk import bound_expr
from ...handles.arith.terms import FALSE, TRUE, Term, build, const, mentions, raw, substituted, term_of

_MOST_FACTS = 32
"""The maximal number of facts about one buffer; older ones are dropped."""


@dataclass(frozen=True)
class _Fact:
    """`buffer[places] == value` for all places that satisfy the conditions."""

    buffer: SSAValue
    places: tuple[Term, ...]
    conditions: tuple[Term, ...]
    value: Term

    def at(self, indices: Sequence[Term], term: Term) -> Term:
        """Return a term of the fact for one element."""
        for place, index in zip(self.places, indices, strict=True):
            term = substituted(term, place, index)
        return term

    def under(self, *conditions: Term) -> _Fact:
        return replace(self, conditions=(*self.conditions, *conditions))

    @property
    def terms(self) -> tuple[Term, ...]:
        return (*self.conditions, self.value)


class KnownContents:
    """The facts that hold at a program point; `holds` proves a condition there."""

    def __init__(self, holds: Callable[[Term], bool]):
        self._holds = holds
        self._facts: list[_Fact] = []

    # Reading

    def resolved(self, term: Term) -> Term:
        """Return a term with loads replaced by known values."""
        args = [self.resolved(a) for a in term.args]
        if any(a is not b for a, b in zip(args, term.args, strict=True)):
            term = raw(term.op, *args, dtype=term.dtype, value=term.value)
        element = self._element(term) if term.op == "load" else None
        return term if element is None else element

    def _element(self, load: Term) -> Term | None:
        buffer, *indices = load.args
        for fact in reversed(self._facts):
            if fact.buffer is not buffer.value or any(map(_loads, indices)) or not _fits(indices, fact.places):
                continue
            if all(self._holds(fact.at(indices, c)) for c in fact.conditions):
                return fact.at(indices, fact.value)
        return None

    # Statements

    def store(self, op: tir.StoreOp) -> None:
        """Record the new value of an element, or of adjacent ones."""
        indices, value = [term_of(i) for i in op.indices], self.resolved(term_of(op.value))
        if not _is_followed(op.buffer) or any(_loads(i) for i in indices):
            self._forget(op.buffer)
            return
        places = _places(op.buffer)
        here = _box(places, indices)
        if here is None:
            self._forget(op.buffer)
            return
        elsewhere = reduce(_or, (_negated(c) for c in here), FALSE)
        self._facts = [f.under(f.at(places, elsewhere)) if f.buffer is op.buffer else f for f in self._facts]
        element = _lane(value, indices, places)
        if element is not None and not _loads(element):
            self._add(_Fact(op.buffer, places, tuple(here), element))

    def assume(self, condition: Term) -> None:
        """Assume a condition; for `a || B[i] == x` the equation is known where `a` is false."""
        if condition.op == "and":
            for side in condition.args:
                self.assume(side)
            return
        *others, last = sorted(_sides(condition), key=lambda t: _equation(t) is not None)
        equation = _equation(last)
        if equation is None or any(_loads(t) for t in others):
            return
        load, value = equation
        buffer, *indices = load.args
        places = _places(buffer.value)
        if _is_followed(buffer.value) and not any(map(_loads, indices)) and _fits(indices, places):
            here = [raw("eq", p, i) for p, i in zip(places, indices, strict=True)]
            self._add(_Fact(buffer.value, places, (*here, *map(_negated, others)), value))

    def _add(self, fact: _Fact) -> None:
        same = [f for f in self._facts if f.buffer is fact.buffer]
        dropped = same[: max(len(same) + 1 - _MOST_FACTS, 0)]
        self._facts = [f for f in self._facts if f not in dropped] + [fact]

    def _forget(self, buffer: SSAValue) -> None:
        self._facts = [f for f in self._facts if f.buffer is not buffer]

    def forget_stores(self, op: Operation) -> None:
        """Forget the contents stored to anywhere below an operation."""
        for store in _stores(op):
            self._forget(store.buffer)

    # Branches

    def copy(self) -> KnownContents:
        """Copy the facts, for one path of the program."""
        out = KnownContents(self._holds)
        out._facts = list(self._facts)
        return out

    def rename(self, values: Iterable[tuple[Term, Term]]) -> None:
        """Replace variables in all facts by what they are bound to."""
        for old, new in values:
            self._facts = [
                replace(
                    f,
                    conditions=tuple(substituted(c, old, new) for c in f.conditions),
                    value=substituted(f.value, old, new),
                )
                for f in self._facts
            ]

    def join(self, condition: Term, taken: KnownContents, other: KnownContents) -> None:
        """Set the facts after a branch from those at the ends of its two sides."""
        decidable = not _loads(condition)
        facts: list[_Fact] = []
        for fact in self._facts:
            ways = [_added(fact, way._facts) for way in (taken, other)]
            if ways[0] is not None and ways[1] is not None:
                unless = (_negated(condition), condition)
                more = [_or(u, c) if decidable else c for u, way in zip(unless, ways, strict=True) for c in way or ()]
                facts.append(fact.under(*more))
        for side, way in ((condition, taken), (_negated(condition), other)) if decidable else ():
            facts += [f.under(side) for f in way._facts if not any(_added(o, [f]) is not None for o in self._facts)]
        self._facts = facts

    # Loops

    def enter(self, loop: tir.ForOp) -> KnownContents:
        """Enter a loop: return the facts after it that it does not invalidate, and set those known in an iteration."""
        before, ends = self._facts, (_first(loop), _end(loop))
        after = KnownContents(self._holds)
        for fact in before:
            shifts = _shifts(fact.buffer, loop)
            if shifts is None:
                continue
            disjoint = [
                _or(raw("lt", _at_shift(fact, s), ends[0]), raw("le", ends[1], _at_shift(fact, s))) for s in shifts
            ]
            after._facts.append(fact.under(*disjoint))
        variable = term_of(loop.loop_var)
        relation = "le" if _is_serial(loop) else "eq"
        self._facts = []
        for fact in before:
            shifts = _shifts(fact.buffer, loop)
            if shifts is not None:
                self._facts.append(fact.under(*(raw(relation, variable, _at_shift(fact, s)) for s in shifts)))
        return after

    def leave(self, loop: tir.ForOp, after: KnownContents, entered: Sequence[_Fact]) -> None:
        """Set the facts after a loop: those from before that remain valid, and those learned in every iteration."""
        inside = {id(r) for op in loop.walk() for r in _defined(op)} - {id(loop.loop_var)}
        learnt = [f for f in self._facts if all(_added(o, [f]) is None for o in entered)]
        self._facts = list(after._facts)
        for fact in learnt:
            general = _general(fact, loop)
            if general is not None and not any(_mentions_any(t, inside) for t in general.terms):
                self._add(general)

    @property
    def facts(self) -> list[_Fact]:
        """All known facts."""
        return list(self._facts)


def _general(fact: _Fact, loop: tir.ForOp) -> _Fact | None:
    """Generalize a fact about each iteration's element to all elements, or return None if they overlap."""
    variable = term_of(loop.loop_var)
    shifts = _shifts(fact.buffer, loop)
    if shifts is None or not any(mentions(c, variable) for c in fact.conditions):
        return None
    for axis, place in enumerate(fact.places):
        for condition in fact.conditions:
            offset = _offset(condition, place, variable)
            if offset is None or any(s.axis != axis or s.offset != offset for s in shifts):
                continue
            at = _minus(place, offset)
            terms = [substituted(c, variable, at) for c in fact.conditions if c is not condition]
            bounds = (raw("le", _first(loop), at), raw("lt", at, _end(loop)))
            return _Fact(fact.buffer, fact.places, (*bounds, *terms), substituted(fact.value, variable, at))
    return None


@dataclass(frozen=True)
class _Shift:
    """A store at the loop variable plus a constant along one axis."""

    axis: int
    offset: int


def _at_shift(fact: _Fact, shift: _Shift) -> Term:
    return _minus(fact.places[shift.axis], shift.offset)


def _minus(term: Term, number: int) -> Term:
    return term if number == 0 else build("sub", term, const(number, term.dtype))


def _shifts(buffer: SSAValue, loop: tir.ForOp) -> list[_Shift] | None:
    """Return the stores of a loop to a buffer, or None if one is not at the variable plus a constant along one axis."""
    variable = term_of(loop.loop_var)
    shifts: list[_Shift] = []
    for store in _stores(loop):
        if store.buffer is not buffer:
            continue
        offsets = [(axis, _distance(term_of(i), variable)) for axis, i in enumerate(store.indices)]
        shift = next((_Shift(axis, o) for axis, o in offsets if o is not None), None)
        if shift is None:
            return None
        shifts.append(shift)
    return list(dict.fromkeys(shifts))


def _distance(index: Term, variable: Term) -> int | None:
    """Return the constant difference of an index and a variable, or None."""
    if index is variable:
        return 0
    if index.op in ("add", "sub") and index.args[0] is variable and index.args[1].op == "const":
        number = int(index.args[1].value)
        return number if index.op == "add" else -number
    return None


def _offset(condition: Term, place: Term, variable: Term) -> int | None:
    """Return c if a condition is `place == variable + c`, or None."""
    if condition.op != "eq" or condition.args[0] is not place:
        return None
    return _distance(condition.args[1], variable)


def _added(fact: _Fact, facts: Iterable[_Fact]) -> tuple[Term, ...] | None:
    """Return the conditions that a fact has gained in `facts`, or None if it is gone."""
    for other in facts:
        same = other.buffer is fact.buffer and other.value is fact.value
        if same and other.conditions[: len(fact.conditions)] == fact.conditions:
            return other.conditions[len(fact.conditions) :]
    return None


_PLACES: dict[Attribute, list[SSAValue]] = {}


def _places(buffer: SSAValue) -> tuple[Term, ...]:
    """Return the variables for the indices of an element."""
    assert isinstance(buffer.type, tir.BufferType)
    types = [e.dtype for e in buffer.type.dims]
    out: list[Term] = []
    for axis, dtype in enumerate(types):
        known = _PLACES.setdefault(dtype, [])
        while len(known) <= axis:
            known.append(placeholder_value(dtype, f"q{len(known)}"))
        out.append(term_of(known[axis]))
    return tuple(out)


def _box(places: Sequence[Term], indices: Sequence[Term]) -> list[Term] | None:
    """Return the conditions that a place is among those of a store, of one element or of adjacent lanes."""
    conditions: list[Term] = []
    for place, index in zip(places, indices, strict=True):
        if index.op == "ramp" and index.args[1].number == 1 and not is_scalable(index.dtype):
            base, count = index.args[0], const(lanes_of(index.dtype), place.dtype)
            conditions += [raw("le", base, place), raw("lt", place, build("add", base, count))]
        elif lanes_of(index.dtype) == 1 and index.dtype == place.dtype:
            conditions.append(raw("eq", place, index))
        else:
            return None
    return conditions


def _fits(indices: Sequence[Term], places: Sequence[Term]) -> bool:
    return [i.dtype for i in indices] == [p.dtype for p in places]


def _lane(value: Term, indices: Sequence[Term], places: Sequence[Term]) -> Term | None:
    """Return the value stored at a place, or None."""
    ramps = [(i, p) for i, p in zip(indices, places, strict=True) if i.op == "ramp"]
    if not ramps:
        return value if lanes_of(value.dtype) == 1 else None
    if value.op == "broadcast":
        return value.args[0]
    (index, place), *more = ramps
    if value.op != "ramp" or more or value.args[0].dtype != place.dtype:
        return None
    return build("add", value.args[0], build("mul", build("sub", place, index.args[0]), value.args[1]))


def _sides(condition: Term) -> list[Term]:
    return [s for side in condition.args for s in _sides(side)] if condition.op == "or" else [condition]


def _equation(condition: Term) -> tuple[Term, Term] | None:
    """Return an element and the load-free integer expression that it equals, or None."""
    if condition.op != "eq" or not isinstance(condition.args[0].dtype, IntegerType):
        return None
    for element, value in (condition.args, condition.args[::-1]):
        if element.op == "load" and not _loads(value):
            return element, value
    return None


def _negated(condition: Term) -> Term:
    if condition.op in ("and", "or"):
        return raw("or" if condition.op == "and" else "and", *map(_negated, condition.args))
    if condition in (TRUE, FALSE):
        return FALSE if condition is TRUE else TRUE
    opposite = _OPPOSITES.get(condition.op)
    return raw("not", condition) if opposite is None else raw(opposite, *condition.args)


_OPPOSITES = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def _or(a: Term, b: Term) -> Term:
    return build("or", a, b)


def _loads(term: Term) -> bool:
    """Return whether a term depends on memory or may change between evaluations."""
    return term.op in ("load", "call", "if") or any(map(_loads, term.args)) or _is_opaque(term)


def _is_opaque(term: Term) -> bool:
    value: object = term.value
    return isinstance(value, OpResult) and not isinstance(value.op, tir.LetOp)


def _is_followed(buffer: SSAValue) -> bool:
    """Return whether a buffer is memory of its own, used only by loads and stores of elements."""
    owner = buffer.owner
    own = (
        isinstance(owner, tir.AllocBufferOp)
        or isinstance(owner.parent_op(), tir.FuncOp)
        and not isinstance(owner, Operation)
    )
    return own and all(
        isinstance(use.operation, tir.LoadOp | tir.StoreOp | tir.ReadsOp | tir.WritesOp) for use in buffer.uses
    )


def _stores(op: Operation) -> Iterator[tir.StoreOp]:
    return (inner for inner in op.walk() if isinstance(inner, tir.StoreOp))


def _defined(op: Operation) -> list[SSAValue]:
    return [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]


def _mentions_any(term: Term, values: set[int]) -> bool:
    return term.op == "leaf" and id(term.value) in values or any(_mentions_any(a, values) for a in term.args)


def _is_serial(loop: tir.ForOp) -> bool:
    return loop.thread is None and loop.kind in (tir.ForKind.SERIAL, tir.ForKind.UNROLLED)


def _end(loop: tir.ForOp) -> Term:
    """Return the end of a loop's range, exclusive."""
    return term_of(from_sym(bound_expr(loop.min) + bound_expr(loop.extent)).ssa)


def _first(loop: tir.ForOp) -> Term:
    return term_of(from_sym(bound_expr(loop.min)).ssa)
