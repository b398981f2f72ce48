"""Load the weights of a transformation one by one, and store its results one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, TupleType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ....diagnostics import TiraxError
from ....dialects import relax
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import PrimType, ShapeType
from ....handles.relax.expr import Var
from ....ir.functions.lookup import ops_of_type, relax_functions
from ....ir.functions.symbolic_vars import definable_vars
from ....ir.names import NameSupply, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import erase, insert_before, replace_op
from ....transforms.bindings.to_non_dataflow import flatten_dataflow
from ....transforms.params.weights import add_param, num_input, remove_params
from ..memory.remove_purity_checking import FORCE_PURE
from .lazy import LazyLoader

_SUFFIX = "transform_params"


@dataclass(frozen=True, init=False)
class LazyTransformParams(Pass):
    """Lets functions named `…transform_params` load weights where they use them, and store results as soon as possible.

    f(params) {w = params[0]; t = exp(w); return (t,)}
    ->  f() {w = match_cast(get_item(0)); t = exp(w); kill(w); set_item(0, t); return ()}

    `fget_item` and `fset_item` are the names of packed functions; `fset_item=None` keeps the results as return
    values. `extra_get_item_params`, `extra_set_item_params`: variables that become parameters of the function
    and are passed before the index. A field of a tuple of weights is loaded where it is taken, and killed after its
    last use; weights that are parameters are loaded before their first use. Shapes and numbers among them remain as
    parameters `symbolic_var_holder`.
    """

    name = "lazy-transform-params"
    fget_item: str = "get_item"
    fset_item: str | None = "set_item"
    extra_get_item_params: Sequence[Any] = field(init=False, default=())
    extra_set_item_params: Sequence[Any] = field(init=False, default=())

    def __init__(
        self,
        fget_item: str | None = "get_item",
        fset_item: str | None = "set_item",
        extra_get_item_params: Sequence[Any] | None = None,
        extra_set_item_params: Sequence[Any] | None = None,
    ):
        if fget_item is None:
            raise TiraxError("lazy-transform-params: only storing lazily is not supported", expected="a fget_item")
        object.__setattr__(self, "fget_item", fget_item)
        object.__setattr__(self, "fset_item", fset_item)
        object.__setattr__(self, "extra_get_item_params", tuple(extra_get_item_params or ()))
        object.__setattr__(self, "extra_set_item_params", tuple(extra_set_item_params or ()))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if func.sym_name.data.endswith(_SUFFIX):
                _LazyTransform(self, func).run()


class _LazyTransform:
    """The rewriting of one function from weights to lazy loads and stores."""

    def __init__(self, options: LazyTransformParams, func: relax.FuncOp):
        self.options = options
        self.func = func
        self.block = func.body.block
        self.inputs: set[SSAValue] = set()
        """The fields of the tuple of weights, by their variables."""

    def run(self) -> None:
        """Rewrite the function in place."""
        flatten_dataflow(self.func)
        params: list[SSAValue] = list(self.block.args[num_input(self.func) or 0 :])
        self.names = NameSupply(variable_names(self.func))
        self.get_extra = [self._extra(v) for v in self.options.extra_get_item_params]
        self.set_extra = [self._extra(v) for v in self.options.extra_set_item_params]
        for t in _holders(params):
            add_param(self.block, t, "symbolic_var_holder")
        self._load_all(params)
        remove_params(self.block, params)
        self.func.impure = UnitAttr()
        if self.func.func_attrs is not None:
            rest = {k: v for k, v in self.func.func_attrs.data.items() if k != FORCE_PURE}
            self.func.func_attrs = DictionaryAttr(rest) if rest else None
        if self.options.fset_item is not None:
            self._store_all(self.options.fset_item)

    def _extra(self, var: Any) -> SSAValue:
        """Return a parameter for a user's variable."""
        if not isinstance(var, Var):
            raise TiraxError("an extra parameter is a variable", expected="a relax.Var", found=type(var).__name__)
        return add_param(self.block, var.ssa.type, self.names.fresh(var.name_hint))

    # Loads

    def _load_all(self, params: list[SSAValue]) -> None:
        """Load the fields of the only weight, a tuple, where they are taken, or the weights at their first use."""
        if len(params) != 1 or not isinstance(params[0].type, TupleType):
            self.index = {w: i for i, w in enumerate(params)}
            LazyLoader(self.func, params, self._load).run()
            return
        for item in [op for op in ops_of_type(self.func, relax.TupleGetItemOp) if op.tuple_ is params[0]]:
            cast = self._fetch(item.index.data, item.result.type, "gv", item)
            alias = relax.BindOp(cast, item.result.type)
            replace_op(item, alias)
            self.inputs.add(alias.result)
        if params[0].first_use is not None:
            raise TiraxError("the tuple of weights is used by more than its fields", found=name_of(params[0]))

    def _load(self, weight: SSAValue, before: Operation) -> SSAValue:
        return self._fetch(self.index[weight], weight.type, name_of(weight) or "param", before)

    def _fetch(self, index: int, t: Attribute, name: str, before: Operation) -> SSAValue:
        number = relax.PrimValueOp(index)
        call = relax.CallPackedOp(self.options.fget_item, [*self.get_extra, number.result])
        cast = relax.MatchCastOp(call.result, t)
        set_name(call.result, self.names.fresh("lv"))
        set_name(cast.result, self.names.fresh(name))
        return insert_before(before, number, call, cast).results[0]

    # Stores

    def _store_all(self, store: str) -> None:
        """Store each output after the last binding that uses it, and kill weights after theirs."""
        end = self.func.return_op
        producer = end.value.owner
        made = producer if isinstance(producer, relax.TupleOp) else None
        outputs: dict[SSAValue, list[int]] = {}
        for i, value in enumerate([end.value] if made is None else made.fields_):
            outputs.setdefault(value, []).append(i)
        for op, ended in _last_uses([op for op in self.block.ops if op is not made and op is not end]):
            following = op.next_op
            assert following is not None
            for value in ended:
                for i in outputs.pop(value, ()):
                    self._store(store, i, value, following)
                if value in self.inputs:
                    kill = relax.OPERATORS["relax.vm.kill_object"].make(value)
                    set_name(kill.results[0], self.names.fresh("_"))
                    insert_before(following, kill)
        nothing = relax.TupleOp([])
        insert_before(end if made is None else made, nothing)
        set_name(nothing.result, name_of(end.value) if made is not None else self.names.fresh("gv"))
        end.operands = [nothing.result]
        self.func.ret_type = nothing.result.type
        for value, places in outputs.items():
            for i in places:
                self._store(store, i, value, end)
        if made is not None:
            erase(made)

    def _store(self, store: str, index: int, value: SSAValue, before: Operation) -> None:
        number = relax.PrimValueOp(index)
        call = relax.CallPackedOp(store, [*self.set_extra, number.result, value])
        set_name(call.result, self.names.fresh("_"))
        insert_before(before, number, call)


def _holders(params: Sequence[SSAValue]) -> list[Attribute]:
    """Return the types of the weights that are no tensors: parameters of these types define symbolic variables."""
    if not definable_vars([p.type for p in params]):
        return []
    todo, holders = [p.type for p in params], list[Attribute]()
    while todo:
        t = todo.pop(0)
        if isinstance(t, TupleType):
            todo[:0] = t.types
        elif isinstance(t, PrimType | ShapeType):
            holders.append(t)
    return holders


def _last_uses(bindings: Sequence[Operation]) -> list[tuple[Operation, list[SSAValue]]]:
    """Return the variables that each binding uses last, in order; its own, if nothing uses it."""
    seen: set[SSAValue] = set()
    ends: list[tuple[Operation, list[SSAValue]]] = []
    for op in reversed(bindings):
        if _is_inline(op):
            continue
        ended = [v for v in dict.fromkeys(_variables(op)) if v not in seen]
        seen.update(ended)
        own = [r for r in op.results if r not in seen]
        seen.update(own)
        if not isinstance(op, relax.MatchCastOp):
            ends.append((op, ended + own))
    return ends[::-1]


def _is_inline(op: Operation) -> bool:
    """Return whether an operation is part of the expressions of bindings."""
    return isinstance(op, (*relax.LEAVES, relax.TupleOp)) and all(name_of(r) is None for r in op.results)


def _variables(op: Operation) -> list[SSAValue]:
    """Return the variables that a binding uses, in order."""
    out: list[SSAValue] = []
    for inner in op.walk():
        for value in inner.operands:
            if isinstance(value.owner, Operation) and _is_inline(value.owner):
                out += _variables(value.owner)
            elif not isinstance(value.owner, Operation) or not op.is_ancestor(value.owner):
                out.append(value)
    return out
