"""Pattern rewriting: `rewrite_call`, and `PatternMatchingRewriter` with its compositions.

A round matches the bindings of each segment in order. Later matches of the round do not look through rewritten
bindings. Then bindings are canonicalized, common subexpressions eliminated and unused bindings removed until nothing
changes, and the next round begins, until a round changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError, UnsupportedError, VerifyError
from ...dialects import relax
from ...dialects.quick import clone
from ...handles.module import IRModule
from ...handles.relax.call import Call
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr, Tuple, TupleGetItem, Var, bound_expr
from ...handles.relax.function import Function
from ...ir.equality import fingerprint
from ...ir.functions.lookup import binding_blocks, relax_functions
from ...ir.names import make_unique
from ...ir.passes.transform import like_module, module_op, no_gc
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.verification.dominance import check_dominance
from ..bindings.canonicalize_bindings import canonicalize_function
from ..bindings.eliminate_common_subexpr import eliminate_in_function
from . import patterns as p
from .from_module import import_subroutines, rule_of
from .graph import consumers
from .matcher import Matcher, Matches, roots_of
from .place import Placer, names_of
from .segments import Segment, segments

Callback = Callable[[Any, Any], Any]
"""A user's rewriter: (matched expression, matches of the pattern's parts) -> replacement."""
_MAX_IMPLICIT_FIELDS = 3


class DivergenceError(TiraxError, RuntimeError):
    """Rewriting does not terminate."""


class PatternMatchingRewriter:
    """A rewriter of functions and modules: `rewriter(func)`. `a | b` tries `a` everywhere, then `b` on the rest."""

    subroutines: Mapping[str, Operation] = {}
    """Functions that replacements may call, by name."""

    def rewrite_segment(self, segment: Segment) -> bool:
        """Rewrite the bindings of a segment, each at most once; return whether any changed."""
        raise NotImplementedError(type(self).__name__)

    def rules(self) -> Iterator[ExprPatternRewriter]:
        """Yield the single rules in the order in which they are tried."""
        raise NotImplementedError(type(self).__name__)

    @staticmethod
    def from_pattern(pattern: p.DFPattern, func: Callback) -> PatternMatchingRewriter:
        """Return a rewriter that replaces matches of `pattern` by `func(expr, matches)`.

        `expr` itself or None keep them. A tuple pattern also matches up to three bindings that are not in a tuple; then
        `expr` is a tuple of them.
        """
        return _from_pattern(pattern, func, ())

    @staticmethod
    def from_module(mod: Any) -> PatternMatchingRewriter:
        """Return a rewriter from the function `pattern` of a module to its function `replacement`."""
        rule = rule_of(mod)
        rewriter = PatternMatchingRewriter.from_pattern(rule.pattern, rule.rewrite)
        rewriter.subroutines = rule.subroutines
        return rewriter

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        return OrRewriter(self, other)

    def __call__(self, obj: Any) -> Any:
        """Return a rewritten copy of a function or module.

        Raises `DivergenceError` if rewriting does not terminate, and `UnsupportedError` if a single function would call
        a subroutine of the rewriter.
        """
        if isinstance(obj, Function):
            return _rewritten_copy(self, obj)
        op = clone(module_op(obj))
        rewrite_module(self, op)
        return like_module(obj, op)


class ExprPatternRewriter(PatternMatchingRewriter):
    """A rewriter for one pattern. `also` are patterns that have this one as a side, and match the same expression."""

    def __init__(self, pattern: p.DFPattern, func: Callback, also: Sequence[p.DFPattern] = ()):
        self.pattern = pattern
        self.func = func
        self.also = tuple(also)
        self.roots = roots_of(pattern)

    def rules(self) -> Iterator[ExprPatternRewriter]:
        yield self

    def rewrite_segment(self, segment: Segment) -> bool:
        changed = False
        for op in segment.candidates(self.roots):
            matches = self.matches(Matcher(segment.lookup), bound_expr(op))
            if matches is not None:
                expr = matches[self.pattern]
                changed |= self._apply(segment, op, expr, matches)
        return changed

    def matches(self, matcher: Matcher, expr: Expr) -> Matches | None:
        """Return the match of the pattern with an expression, or None."""
        matches = matcher.first(self.pattern, expr)
        if matches is not None:
            matches.update(dict.fromkeys(self.also, matches[self.pattern]))
        return matches

    def _apply(self, segment: Segment, op: Operation, expr: Any, matches: Matches) -> bool:
        new = self.func(expr, matches)
        segment.placer.placed.clear()
        return new is not None and new is not expr and segment.replace(op, new, matches)


class OrRewriter(PatternMatchingRewriter):
    """The left rewriter on all bindings, then the right one on those that the left one did not rewrite."""

    def __init__(self, lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter):
        self.left = lhs
        self.right = rhs
        self.subroutines = {**lhs.subroutines, **rhs.subroutines}

    def rules(self) -> Iterator[ExprPatternRewriter]:
        yield from self.left.rules()
        yield from self.right.rules()

    def rewrite_segment(self, segment: Segment) -> bool:
        changed = self.left.rewrite_segment(segment)
        return self.right.rewrite_segment(segment) or changed


class TupleRewriter(ExprPatternRewriter):
    """A rewriter for tuples: existing ones, or bindings that match the fields and are not used before all are bound."""

    pattern: p.TuplePattern

    def rewrite_segment(self, segment: Segment) -> bool:
        changed = super().rewrite_segment(segment)
        if not 0 < len(self.pattern.fields) <= _MAX_IMPLICIT_FIELDS:
            return changed
        for first in list(segment.candidates(roots_of(self.pattern.fields[0]))):
            if first not in segment.rewritten:
                changed |= self._from(segment, first)
        return changed

    def _from(self, segment: Segment, first: Operation) -> bool:
        """Rewrite the first bindings that match with `first` as field 0; return whether there were any."""
        matcher = Matcher(segment.lookup)
        search = self._bindings(segment, matcher, [first])
        for ops in search:
            expr = Tuple([bound_expr(op) for op in ops])
            matches = Matches(matcher.bound)
            matches.update(dict.fromkeys((self.pattern, *self.also), expr))
            search.close()
            return self._apply_fields(segment, ops, expr, matches)
        return False

    def _bindings(
        self, segment: Segment, matcher: Matcher, ops: list[Operation]
    ) -> Generator[list[Operation], None, None]:
        """Yield the bindings that match the fields; `ops` are those chosen so far, the last not yet matched."""
        fields = self.pattern.fields
        for _ in matcher.match(fields[len(ops) - 1], bound_expr(ops[-1])):
            if len(ops) < len(fields):
                for op in _next_candidates(segment, matcher, fields[len(ops)]):
                    if op not in ops:
                        yield from self._bindings(segment, matcher, [*ops, op])
            elif not _used_early(segment, ops):
                yield ops

    def _apply_fields(self, segment: Segment, ops: list[Operation], expr: Tuple, matches: Matches) -> bool:
        new = self.func(expr, matches)
        if new is None or new is expr:
            return False
        new_tuple = to_expr(new)
        if len(new_tuple) != len(ops):
            raise TiraxError(
                "the rewriter of a tuple gives a tuple", expected=f"{len(ops)} fields", found=len(new_tuple)
            )
        segment.placer.placed.clear()
        last = max(ops, key=segment.position.__getitem__)
        if isinstance(new_tuple, Tuple):
            rows = [(op, field, last) for op, field in zip(ops, new_tuple.fields, strict=True)]
        else:
            items = [(op, TupleGetItem(new_tuple, i)) for i, op in enumerate(ops)]
            items.sort(key=lambda row: segment.position[row[0]])
            together = not _is_known_before(segment, new_tuple.ssa, items[0][0])
            rows = [(op, item, last if together else op) for op, item in items]
        changed = [segment.replace(op, field, matches, anchor) for op, field, anchor in rows]
        return any(changed)


def _is_known_before(segment: Segment, value: SSAValue, op: Operation) -> bool:
    """Return whether everything that a detached value uses is certainly defined before a binding of the segment."""
    end = segment.position[op]
    seen: set[Operation] = set()
    todo = [value.owner]
    while todo:
        owner = todo.pop()
        if not isinstance(owner, Operation) or owner in seen:
            continue
        seen.add(owner)
        if owner.parent is None or relax.is_inline(owner):
            todo += [v.owner for v in owner.operands]
        elif owner.parent is op.parent and segment.position.get(owner, end) >= end:
            return False
    return True


def _next_candidates(segment: Segment, matcher: Matcher, pattern: p.DFPattern) -> list[Operation]:
    """Return candidates for the next field, in order: users of an already matched argument, if there is one."""
    roots = roots_of(pattern)
    for arg in pattern.args if isinstance(pattern, p.CallPattern) else ():
        known = matcher.bound.get(arg)
        if isinstance(known, Var | Call | TupleGetItem):
            users = [op for op in consumers(known.ssa) if op in segment.position and op not in segment.rewritten]
            users.sort(key=segment.position.__getitem__)
            return [op for op in users if roots is None or op.name in roots]
    return list(segment.candidates(roots))


def _used_early(segment: Segment, ops: list[Operation]) -> bool:
    """Return whether one of the bindings is used before the last of them is bound."""
    last = max(segment.position[op] for op in ops)
    users = (user for op in ops for user in consumers(op.results[0]))
    return any(segment.position.get(user, last + 1) <= last for user in users)


def _from_pattern(pattern: p.DFPattern, func: Callback, also: tuple[p.DFPattern, ...]) -> PatternMatchingRewriter:
    if isinstance(pattern, p.OrPattern):
        sides = (_from_pattern(side, func, (*also, pattern)) for side in (pattern.left, pattern.right))
        return OrRewriter(*sides)
    kind = TupleRewriter if isinstance(pattern, p.TuplePattern) else ExprPatternRewriter
    return kind(pattern, func, also)


def rewrite_call(pattern: p.DFPattern, rewriter: Callback, func: Function) -> Function:
    """Return a copy of `func` with matches of `pattern` replaced by `rewriter(expr, matches)`, until nothing changes.

    Raises `DivergenceError` if this does not terminate, and errors for invalid results of the rewriter.
    """
    return cast(Function, PatternMatchingRewriter.from_pattern(pattern, rewriter)(func))


def _rewritten_copy(rewriter: PatternMatchingRewriter, func: Function) -> Function:
    module = IRModule({func.name: func.copy()})
    rewrite_module(rewriter, module.op)
    if len(module.names) > 1:
        raise UnsupportedError("what the function calls now is of the rewriter's module", hint="rewrite a module")
    return module[func.name].copy()


def rewrite_module(rewriter: PatternMatchingRewriter, module: ModuleOp) -> bool:
    """Rewrite every Relax function of a module in place; return whether anything changed."""
    with no_gc():
        changed = [rewrite_function(rewriter, func) for func in relax_functions(module)]
        for func, is_new in zip(relax_functions(module), changed, strict=True):
            if is_new:
                make_unique(func)
    if any(changed) and rewriter.subroutines:
        import_subroutines(module, rewriter.subroutines)
    return any(changed)


def rewrite_function(rewriter: PatternMatchingRewriter, func: relax.FuncOp) -> bool:
    """Rewrite a function in place until nothing changes; return whether anything did."""
    placer = Placer(names_of(func))
    before = first = fingerprint(func)
    seen = {hash(before)}
    size = bindings = size_of(func)
    for rounds in range(1, 64 + 2 * bindings):
        changed = [rewriter.rewrite_segment(s) for s in segments(func, placer)]
        if not any(changed):
            return rounds > 1 and before != first
        verify(func)
        after = clean_up(func)
        if after == before:
            return before != first
        if hash(after) in seen:
            raise divergence(func, f"after {rounds} rounds it is what it was before")
        seen.add(hash(after))
        before, size = after, size_of(func)
        if size > 1000 + 64 * bindings:
            break
    raise divergence(func, f"it had {bindings} bindings and has {size} now, and more is rewritten in each round")


def size_of(func: Operation) -> int:
    """Return the number of ops in the blocks of a function."""
    return sum(len(block.ops) for block in binding_blocks(func))


def verify(func: relax.FuncOp) -> None:
    """Raise `VerifyError` if the results of rewriters are invalid."""
    check_dominance(func)
    try:
        func.verify()
    except VerifyException as error:
        raise VerifyError(f"@{func.sym_name.data} is not well formed after rewriting by patterns: {error}") from error


def divergence(func: relax.FuncOp, found: str) -> DivergenceError:
    """Return the error for a function whose rewriting does not terminate."""
    return DivergenceError(
        f"the rewriting of @{func.sym_name.data} does not come to an end",
        expected="a round in which nothing changes",
        found=found,
        hint="what the rewriter gives is matched again: let it return what it was given where there is nothing to do",
    )


def clean_up(func: relax.FuncOp) -> Hashable:
    """Canonicalize, eliminate common subexpressions and remove unused bindings until nothing changes.

    Return a fingerprint.
    """
    forget_discarded(func)
    before: Hashable = None
    while before != (before := fingerprint(func)):
        canonicalize_function(func)
        eliminate_in_function(func)
        remove_dead_bindings(func)
    return before


def forget_discarded(func: Operation) -> None:
    """Drop the operands of expressions that a rewriter built but did not return."""
    for block in binding_blocks(func):
        for value in (*block.args, *(r for op in block.ops for r in op.results)):
            for user in {use.operation for use in value.uses if use.operation.parent is None}:
                user.operands = ()
