"""Loading parameters where they are used, and handing results over as soon as they are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...dialects import relax
from ...dialects.names import name_of
from ...dialects.relax.types import erase_unbound
from ...dialects.sym.expr import Var
from ...ir.functions.symbolic_vars import definable_vars
from ..functions.symbols import mentioned_in

Load = Callable[[SSAValue, Operation], SSAValue]
"""`load(parameter, before)` makes bindings before an op; it gives what stands for the parameter from there on."""


class LazyLoader:
    """Replaces parameters by values that are loaded before their first use in a block, or around it.

    A parameter whose type determines a symbolic variable is loaded before that is needed, too.
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
        """Replace the parameters, in place; nothing uses them afterwards."""
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
            given = definable_vars([op.results[0].type]) if isinstance(op, relax.MatchCastOp) else []
            for v in mentioned_in([op]):
                if v not in known and v not in given and v in self._determined_by:
                    self._loaded(self._determined_by[v], op, loaded, known)
            known.update(given)

    def _regions(self, op: Operation, loaded: dict[SSAValue, SSAValue], known: set[Var]) -> None:
        for region in op.regions:
            for block in region.blocks:
                # What is loaded inside is not there outside; a dataflow block is always run, a branch is not.
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
    """Let a function hand over outputs by `call(index, value)` as soon as they are there, and return nothing, in place.

    There must be no dataflow block in the function: the calls have effects.
    """
    block, end = func.body.block, func.return_op
    start = block.first_op
    assert start is not None
    places: dict[SSAValue, list[int]] = {}
    for i, value in enumerate(outputs):
        places.setdefault(value, []).append(i)
    for value, indices in places.items():
        made = [op for i in indices for op in call(i, value)]
        block.insert_ops_before(made, _place(block, value, start, end))
    nothing = relax.TupleOp([])
    block.insert_op_before(nothing, end)
    end.operands = [nothing.result]
    func.ret_type = nothing.result.type
    func.impure = UnitAttr()


def _place(block: Block, value: SSAValue, start: Operation, end: Operation) -> Operation:
    """Before which op a value is handed over: parameters first, what is part of the return expression last."""
    if not isinstance(value, OpResult):
        return start
    following = value.op.next_op
    bound = value.op.parent is block and name_of(value) is not None
    return following if bound and following is not None else end


def inline_fields(value: SSAValue) -> list[SSAValue]:
    """The fields of a tuple that is written in place; any other value by itself."""
    whole = value.owner
    return list(whole.fields_) if isinstance(whole, relax.TupleOp) and name_of(value) is None else [value]
