"""Loops: functions of the module that are called repeatedly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import NoneAttr, TupleType, i1
from xdsl.ir import Attribute, OpResult, SSAValue

from ..sym.expr import Const, SymExpr, Var
from .leaves import FunctionRefOp
from .operator import Operator, operator
from .signatures import derive_result, matched
from .types import OBJECT, CallableType, PrimType, TensorType, least_common_ancestor, tuple_type


@operator("relax.while_loop", "cond body init* invariants*?", collected=0)
class WhileLoop(Operator):
    """Run `body` while `cond` holds; return the carried values, and the `collected` results, stacked.

    `cond(*carried, *invariants)` returns a bool scalar, `body(*carried, *invariants)` a tuple: the next carried values,
    and then `collected` tensors, which have the same shape in every iteration. Those of all iterations are stacked
    along a new first dimension. Both are pure functions of the module. The extents of carried tensors may change if the
    corresponding parameters have unknown extents, or symbolic ones, which each iteration determines again.

        s = init
        while cond(*s, *invariants):
            s, y = body(*s, *invariants)
            ys += [y]
        (*s, *stack(ys))
    """

    def infer(self) -> Attribute:
        cond, body = self.function("cond"), self.function("body")
        carried, invariants = self.types("init"), self.types("invariants")
        if cond is None or body is None:
            return OBJECT
        self._check_condition(derive_result(f"{self.name}: cond", cond, [*carried, *invariants]))
        types, results = carried, self._results(body, carried, invariants)
        while True:
            wider = [least_common_ancestor(a, b) for a, b in zip(types, results, strict=False)]
            if wider == types:
                break
            types, results = wider, self._results(body, wider, invariants)
        return tuple_type([*types, *(_stacked(t) for t in results[len(types) :])])

    def function(self, arg: str) -> CallableType | None:
        """Return the type of a function, None if it is unknown. Raises `DTypeError` if it is not a pure function."""
        t = getattr(self, arg).type
        if t == OBJECT or (isinstance(t, CallableType) and isinstance(t.params, NoneAttr)):
            return None
        if not isinstance(t, CallableType):
            self.fail_dtype(f"argument {arg} must be a function", "a function of the module", t)
        if not t.pure:
            self.fail_dtype(f"argument {arg} may have effects", "a pure function")
        return t

    def values(self, arg: str) -> Sequence[SSAValue]:
        """Return the values of `init` or `invariants`; a single tuple built by an op is replaced by its fields."""
        return getattr(self, arg)

    def types(self, arg: str) -> list[Attribute]:
        """Return the struct infos of the values of `init` or `invariants`."""
        values = self.values(arg)
        if len(values) == 1 and isinstance(values[0].type, TupleType):
            return list(values[0].type.types)
        return [v.type for v in values]

    @property
    def collected_count(self) -> int:
        """Return the number of results of each iteration that are stacked."""
        return self.attr("collected")

    def _check_condition(self, t: Attribute) -> None:
        tensor = isinstance(t, TensorType) and t.rank in (None, 0) and t.element in (None, i1)
        if not (tensor or t == OBJECT or (isinstance(t, PrimType) and t.dtype == i1)):
            self.fail_dtype("cond must give a condition", "a bool scalar", t)

    def _results(self, body: CallableType, carried: Sequence[Attribute], rest: Sequence[Attribute]) -> list[Attribute]:
        """Return the types of an iteration's results for carried values of these types: the next ones, then the
        collected ones.
        """
        result = derive_result(f"{self.name}: body", body, [*carried, *rest])
        count = len(carried) + self.collected_count
        if not isinstance(result, TupleType) or len(result.types) != count:
            self.fail_shape("body must give the carried values and the collected ones", f"a tuple of {count}", result)
        for i, t in enumerate(result.types.data[len(carried) :]):
            if not isinstance(t, TensorType):
                self.fail_dtype(f"collected result {i} must be a tensor", "a tensor", t)
        return list(result.types)

    def carried_types(self) -> list[Attribute]:
        """Return the struct infos of the carried values that hold before and after each iteration."""
        t = self.result_type
        return list(t.types.data[: len(t.types) - self.collected_count]) if isinstance(t, TupleType) else []

    def elements(self) -> list[TensorType]:
        """Return the types of the collected results of one iteration; extents that only the iteration determines
        are 0.
        """
        body = self.function("body")
        if body is None or not isinstance(body.ret, TupleType) or not isinstance(self.result_type, TupleType):
            return []
        carried = self.carried_types()
        mapping = matched(body, [*carried, *self.types("invariants")])
        collected = body.ret.types.data[len(carried) :]
        return [_with_known_extents(t, mapping) for t in collected if isinstance(t, TensorType)]

    def callee(self, arg: str) -> str | None:
        """Return the name of the module function that `cond` or `body` is, None for another value."""
        value: SSAValue = getattr(self, arg)
        ref = value.op if isinstance(value, OpResult) else None
        return ref.callee.root_reference.data if isinstance(ref, FunctionRefOp) else None


def _with_known_extents(t: TensorType, mapping: Mapping[Var, SymExpr]) -> TensorType:
    """Return the type of a function's tensor in the caller; extents with variables that are not in `mapping`
    become 0.
    """
    dims = t.dims or [Const(0)] * (t.rank or 0)
    known = [d.substitute(mapping) if mapping.keys() >= set(d.free_vars()) else Const(0) for d in dims]
    return TensorType.of(known, t.element)


def _stacked(t: Attribute) -> Attribute:
    assert isinstance(t, TensorType)
    return TensorType.of(None, t.element, None if t.rank is None else t.rank + 1)
