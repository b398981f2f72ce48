"""Lazy loading of parameters at their uses, and early hand-over of results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ....dialects import relax
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import OBJECT, PrimType, erase_unbound, tuple_type
from ....dialects.sym.expr import Var
from ....ir.functions.lookup import relax_functions
from ....ir.functions.symbolic_vars import definable_vars, mentioned_by
from ....ir.names import NameSupply, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import erase, insert_before
from ....transforms.bindings.to_non_dataflow import flatten_dataflow
from ....transforms.params.weights import add_param, num_input, remove_params, set_num_input

Load = Callable[[SSAValue, Operation], SSAValue]
"""`load(parameter, before)` emits bindings before an op and returns the loaded value of the parameter."""


class LazyLoader:
    """Replaces parameters by values loaded before their first use in a block or its branches.

    A parameter whose type determines a symbolic variable is also loaded before uses of that variable.
    """

    def __init__(self, func: relax.FuncOp, params: Sequence[SSAValue], load: Load):
        self._func = func
        self._params = dict.fromkeys(params)
        self._load = load
        self._determined_by: dict[Var, SSAValue] = {}
        for param in params:
            for v in definable_vars([param.type]):
                self._determined_by.setdefault(v, param)

    def run(self) -> None:
        """Replace the parameters in place; they are unused afterwards."""
        others = [p.type for p in self._func.params if p not in self._params]
        known = set(definable_vars(others))
        self._func.ret_type = erase_unbound(self._func.ret_type, known)
        self._block(self._func.body.block, {}, known)

    def _block(self, block: Block, loaded: dict[SSAValue, SSAValue], known: set[Var]) -> None:
        for op in list(block.ops):
            for i, operand in enumerate(op.operands):
                if operand in self._params:
                    op.operands[i] = self._loaded(operand, op, loaded, known)
            if op.regions:
                self._regions(op, loaded, known)
                continue
            defined = definable_vars([op.results[0].type]) if isinstance(op, relax.MatchCastOp) else []
            for v in mentioned_by([op]):
                if v not in known and v not in defined and v in self._determined_by:
                    self._loaded(self._determined_by[v], op, loaded, known)
            known.update(defined)

    def _regions(self, op: Operation, loaded: dict[SSAValue, SSAValue], known: set[Var]) -> None:
        for region in op.regions:
            for block in region.blocks:
                # Loads in a branch are not visible outside; a dataflow block always runs, a branch does not.
                self._block(block, dict(loaded), known if isinstance(op, relax.DataflowOp) else set(known))

    def _loaded(self, param: SSAValue, op: Operation, loaded: dict[SSAValue, SSAValue], known: set[Var]) -> SSAValue:
        if param not in loaded:
            own = definable_vars([param.type])
            for v in relax.free_symbolic_vars([param.type]):
                if v not in known and v not in own and v in self._determined_by:
                    self._loaded(self._determined_by[v], op, loaded, known)
            loaded[param] = self._load(param, op)
            known.update(own)
        return loaded[param]


def hand_over(
    func: relax.FuncOp, outputs: Sequence[SSAValue], call: Callable[[int, SSAValue], Sequence[Operation]]
) -> None:
    """Hand over each output with `call(index, value)` as soon as it is computed, and return nothing, in place.

    The function must not have dataflow blocks: the calls have effects.
    """
    block, end = func.body.block, func.return_op
    start = block.first_op
    assert start is not None
    places: dict[SSAValue, list[int]] = {}
    for i, value in enumerate(outputs):
        places.setdefault(value, []).append(i)
    for value, indices in places.items():
        calls = [op for i in indices for op in call(i, value)]
        block.insert_ops_before(calls, _place(block, value, start, end))
    nothing = relax.TupleOp([])
    block.insert_op_before(nothing, end)
    end.operands = [nothing.result]
    func.ret_type = nothing.result.type
    func.impure = UnitAttr()


def _place(block: Block, value: SSAValue, start: Operation, end: Operation) -> Operation:
    """Return the op before which a value is handed over: parameters first, parts of the return expression last."""
    if not isinstance(value, OpResult):
        return start
    following = value.op.next_op
    bound = value.op.parent is block and name_of(value) is not None
    return following if bound and following is not None else end


def inline_fields(value: SSAValue) -> list[SSAValue]:
    """Return the fields of an inline tuple, or any other value itself."""
    producer = value.owner
    return list(producer.fields_) if isinstance(producer, relax.TupleOp) and name_of(value) is None else [value]


GETTER = relax.CallableType.of([PrimType.of(i64), OBJECT], OBJECT)
"""`fget_param(index, name)` returns a parameter."""


@dataclass(frozen=True)
class LazyGetInput(Pass):
    """Fetches the weights of public functions, the parameters after the first `num_input`, at their uses.

    f(x, w) {… w …}  ->  f(x, fget_param) {… w = match_cast(fget_param(0, "w")); w …}

    `fget_param(index, name)` is a pure function passed by the caller; unused weights are not fetched. Each is
    fetched once, or once in each branch that is the first to use it. Without the attribute `num_input` all
    parameters are weights; otherwise it is increased to count `fget_param`.
    """

    name = "lazy-get-input"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if not func.private:
                _load_lazily(func, num_input(func) or 0)


def _load_lazily(func: relax.FuncOp, inputs: int) -> None:
    block = func.body.block
    weights: list[SSAValue] = list(block.args[inputs:])
    index = {w: i for i, w in enumerate(weights)}
    names = NameSupply(variable_names(func, weights))
    getter = add_param(block, GETTER, names.fresh("fget_param"), inputs)

    def load(weight: SSAValue, before: Operation) -> SSAValue:
        name = name_of(weight) or "param"
        number, label = relax.PrimValueOp(index[weight]), relax.StringOp(name)
        call = relax.CallValueOp(getter, [number.result, label.result], OBJECT)
        cast = relax.MatchCastOp(call.result, weight.type)
        set_name(call.result, names.fresh(f"{name}_untyped"))
        set_name(cast.result, names.fresh(name))
        return insert_before(before, number, label, call, cast).results[0]

    LazyLoader(func, weights, load).run()
    remove_params(block, weights)
    set_num_input(func, inputs + 1)


NOTHING = tuple_type(())
SETTER = relax.CallableType.of([PrimType.of(i64), OBJECT], NOTHING, pure=False)
"""`fset_output(index, value)` receives a result."""


@dataclass(frozen=True)
class LazySetOutput(Pass):
    """Hands the results of public functions to a callback of the caller, each as soon as it is computed.

    f(x) {y = exp(x); return (y, x)}
    ->  f(x, fset_output) {fset_output(1, x); y = exp(x); fset_output(0, y); return ()}

    `fset_output` returns the empty tuple. It is the last parameter, or with the attribute `num_input` the last
    input, which increases that number. Dataflow blocks become plain bindings, since its calls have effects.
    """

    name = "lazy-set-output"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            if not func.private:
                _give_lazily(func)


def _give_lazily(func: relax.FuncOp) -> None:
    flatten_dataflow(func)
    inputs = num_input(func)
    setter = add_param(func.body.block, SETTER, NameSupply(variable_names(func)).fresh("fset_output"), inputs)
    if inputs is not None:
        set_num_input(func, inputs + 1)

    def give(index: int, value: SSAValue) -> Sequence[Operation]:
        number = relax.PrimValueOp(index)
        return number, relax.CallValueOp(setter, [number.result, value], NOTHING)

    returned = func.return_op.value
    outputs = inline_fields(returned)
    hand_over(func, outputs, give)
    if outputs != [returned]:
        producer = returned.owner
        assert isinstance(producer, relax.TupleOp)
        erase(producer)
