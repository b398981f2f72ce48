"""Remove unused results of private functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, SSAValue

from ....dialects import relax
from ....dialects.names import set_name
from ....dialects.relax.types import is_base_of, tuple_type
from ....ir.names import NameSupply, function_names, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import erase, insert_before, replace_value
from ....ir.rewriting.infer import infer_users, refine_result
from ....transforms.functions.private import PrivateFunction, caller_of, clean_up, private_functions, replace_call


@dataclass(frozen=True)
class RemoveUnusedOutputs(Pass):
    """Removes fields of the result tuple of a private function that no call uses.

    f() {… return (a, b)}; f()[1]  ->  f() {… return b}; f()

    A single remaining field is returned by itself. Bindings that only removed fields used are removed as well.
    Functions whose result is used as a tuple, or nowhere, remain.
    """

    name = "remove-unused-outputs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        private = [(p, used) for p in private_functions(op) if (used := _used_fields(p)) and _drops(p.func, used)]
        calls = [call.result for p, _ in private for call in p.calls]
        gone = {*calls, *(use.operation.results[0] for result in calls for use in result.uses)}
        names = NameSupply([*function_names(op), *variable_names(op, gone)])
        changed: list[relax.FuncOp] = []
        for each, used in private:
            changed += [each.func, *map(caller_of, each.calls)]
            _narrow(each, used, names)
        clean_up(changed)


def _used_fields(private: PrivateFunction) -> list[int]:
    """Return the fields of the result that calls use, in order; none if a result is used as a tuple."""
    used = set[int]()
    for call in private.calls:
        if not isinstance(call.result.type, TupleType):
            return []
        for use in call.result.uses:
            if not isinstance(use.operation, relax.TupleGetItemOp):
                return []
            used.add(use.operation.index.data)
    return sorted(used)


def _drops(func: relax.FuncOp, used: list[int]) -> bool:
    """Return whether a function returns unused fields."""
    return isinstance(func.ret_type, TupleType) and len(used) < len(func.ret_type.types)


def _chosen(t: Attribute, used: list[int]) -> Attribute:
    assert isinstance(t, TupleType)
    fields = [t.types.data[i] for i in used]
    return fields[0] if len(fields) == 1 else tuple_type(fields)


def _narrow(private: PrivateFunction, used: list[int], names: NameSupply) -> None:
    end = private.func.return_op
    values = [_field(end, end.value, i) for i in used]
    if len(values) > 1:
        result_tuple = relax.TupleOp(values)
        insert_before(end, result_tuple)
        values = [result_tuple.result]
    end.operands[0] = values[0]
    private.func.ret_type = _chosen(private.func.ret_type, used)
    refine_result(private.func)
    for call in private.calls:
        caller = caller_of(call)
        _narrow_call(call, used, private.func, names)
        refine_result(caller)


def _field(anchor: relax.ReturnOp, value: SSAValue, index: int) -> SSAValue:
    source = value.owner
    if isinstance(source, relax.TupleOp):
        return source.fields_[index]
    item = relax.TupleGetItemOp(value, index)
    insert_before(anchor, item)
    return item.result


def _narrow_call(call: relax.CallOp, used: list[int], func: relax.FuncOp, names: NameSupply) -> None:
    """Narrow a call's result. New names are unique in the module, as in TVM."""
    base = "lv" if isinstance(call.parent_op(), relax.DataflowOp) else "gv"
    result = _chosen(call.result.type, used)
    constant = not relax.free_symbolic_vars([func.ret_type])
    new = replace_call(call, call.args, func.ret_type if constant and is_base_of(result, func.ret_type) else result)
    set_name(new.result, names.fresh(base))
    fields = [names.fresh(base) for _ in used] if len(used) > 1 else []
    for item in [use.operation for use in call.result.uses]:
        assert isinstance(item, relax.TupleGetItemOp)
        if len(used) == 1:
            bind: relax.BindOp | relax.TupleGetItemOp = relax.BindOp(new.result, new.result.type)
        else:
            bind = relax.TupleGetItemOp(new.result, used.index(item.index.data))
        insert_before(item, bind)
        replace_value(item.result, bind.result)
        if fields:
            set_name(bind.result, fields[used.index(item.index.data)])
        erase(item)
        infer_users([use.operation for use in bind.result.uses], is_base_of)
    erase(call)
