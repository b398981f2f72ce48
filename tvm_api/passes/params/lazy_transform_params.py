"""Load the weights of a transformation one by one, and store its results one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from ....diagnostics import TiraxError
from ....dialects import relax
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import TensorType
from ....handles.relax.expr import Var
from ....ir.functions.lookup import ops_of_type, relax_functions
from ....ir.names import NameSupply, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.dead_bindings import remove_dead_bindings
from ....ir.rewriting.edit import erase_unused, insert_before
from ....transforms.bindings.canonicalize_bindings import canonicalize_function
from ....transforms.bindings.to_non_dataflow import flatten_dataflow
from ....transforms.params.weights import add_param, remove_params
from .lazy import LazyLoader, hand_over

_SUFFIX = "transform_params"


@dataclass(frozen=True, init=False)
class LazyTransformParams(Pass):
    """Lets functions named `…transform_params` load weights where they use them, and store results as soon as possible.

    f(params) {w = params[0]; t = exp(w); return (t,)}
    ->  f() {w = match_cast(get_item(0)); t = exp(w); kill(w); set_item(0, t); kill(t); return ()}

    `fget_item` and `fset_item` are the names of packed functions; `fset_item=None` keeps the results as return
    values. `extra_get_item_params`, `extra_set_item_params`: variables that become parameters of the function
    and are passed before the index. A weight is loaded once (once in each branch that is the first to use it)
    and killed after its last use. Parameters other than tensors remain, such as `symbolic_var_holder`.
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
    """The rewriting of one function from a tuple of weights to lazy loads and stores."""

    def __init__(self, options: LazyTransformParams, func: relax.FuncOp):
        self.options = options
        self.func = func
        self.killable: list[SSAValue] = []

    def run(self) -> None:
        """Rewrite the function in place."""
        flatten_dataflow(self.func)
        weights = self._fields()
        self.names = NameSupply(variable_names(self.func, weights))
        block = self.func.body.block
        self.get_extra = [self._extra(v) for v in self.options.extra_get_item_params]
        self.set_extra = [self._extra(v) for v in self.options.extra_set_item_params]
        self.index = {w: i for i, w in enumerate(weights)}
        tensors = [w for w in weights if isinstance(w.type, TensorType)]
        for other in weights:
            if other not in tensors:
                holder = add_param(block, other.type, "symbolic_var_holder")
                other.replace_all_uses_with(holder)
        LazyLoader(self.func, tensors, self._load).run()
        remove_params(block, weights)
        self.func.impure = UnitAttr()
        if self.options.fset_item is not None:
            self._store_outputs(self.options.fset_item)
            kill_after_last_use(self.func, self.killable)

    def _fields(self) -> list[SSAValue]:
        """Return the weights as separate parameters: the fields if the only parameter is a tuple."""
        block = self.func.body.block
        params = list(block.args)
        if len(params) != 1 or not isinstance(params[0].type, TupleType):
            return list(params)
        fields = [add_param(block, t, None) for t in params[0].type.types]
        rebuilt = relax.TupleOp(fields)
        first = block.first_op
        assert first is not None
        block.insert_op_before(rebuilt, first)
        for item in ops_of_type(self.func, relax.TupleGetItemOp):
            if item.tuple_ is params[0]:
                param = fields[item.index.data]
                set_name(param, name_of(param) or name_of(item.result))
        params[0].replace_all_uses_with(rebuilt.result)
        remove_params(block, params)
        canonicalize_function(self.func)
        erase_unused([rebuilt])
        return list(fields)

    def _extra(self, var: Any) -> SSAValue:
        """Return a parameter for a user's variable."""
        if not isinstance(var, Var):
            raise TiraxError("an extra parameter is a variable", expected="a relax.Var", found=type(var).__name__)
        return add_param(self.func.body.block, var.ssa.type, self.names.fresh(var.name_hint))

    def _load(self, weight: SSAValue, before: Operation) -> SSAValue:
        number = relax.PrimValueOp(self.index[weight])
        call = relax.CallPackedOp(self.options.fget_item, [*self.get_extra, number.result])
        cast = relax.MatchCastOp(call.result, weight.type)
        set_name(call.result, self.names.fresh("lv"))
        set_name(cast.result, self.names.fresh(name_of(weight) or "param"))
        self.killable.append(cast.result)
        return insert_before(before, number, call, cast).results[0]

    def _store_outputs(self, store: str) -> None:
        def give(index: int, value: SSAValue) -> Sequence[Operation]:
            number = relax.PrimValueOp(index)
            call = relax.CallPackedOp(store, [*self.set_extra, number.result, value])
            set_name(call.result, self.names.fresh("_"))
            return number, call

        producer = self.func.return_op.value.owner
        outputs = list(producer.fields_) if isinstance(producer, relax.TupleOp) else [self.func.return_op.value]
        hand_over(self.func, outputs, give)
        self.killable += [v for v in outputs if isinstance(v.type, TensorType) and isinstance(v.owner, Operation)]
        remove_dead_bindings(self.func)


def kill_after_last_use(func: relax.FuncOp, values: Sequence[SSAValue]) -> None:
    """Kill values after their last use, unless that ends the block."""
    order = {op: i for i, op in enumerate(func.walk())}
    last: dict[Operation, list[SSAValue]] = {}
    for value in dict.fromkeys(values):
        block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
        uses = {_in_block(use.operation, block) for use in value.uses}
        if uses:
            last.setdefault(max(uses, key=order.__getitem__), []).append(value)
    for op, killed in last.items():
        following = op.next_op
        if following is not None:
            insert_before(following, *(relax.OPERATORS["relax.vm.kill_object"].make(v) for v in killed))


def _in_block(op: Operation, block: Block | None) -> Operation:
    """Return the op of a block that is `op` or contains it."""
    while op.parent is not block:
        outer = op.parent_op()
        assert outer is not None
        op = outer
    return op
