"""Functions with a single dataflow block, which differentiation and losses require."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...ir.locations import location_of


def dataflow_block(func: relax.FuncOp) -> relax.DataflowOp:
    """Return the single dataflow block of a function with all its bindings. Raises `TiraxError` for other functions."""
    bindings = [op for op in func.body.block.ops if not (isinstance(op, relax.ReturnOp) or relax.is_inline(op))]
    if len(bindings) != 1 or not isinstance(bindings[0], relax.DataflowOp):
        others = [op for op in bindings if not isinstance(op, relax.DataflowOp)] or bindings[1:]
        raise TiraxError(
            f"the function '{func.sym_name.data}' is no single dataflow block",
            location=location_of(others[0] if others else func),
            expected="one dataflow block that holds all bindings",
            found=f"{len(bindings) - len(others)} dataflow blocks, and {len(others)} other bindings or blocks",
            hint="ConvertToDataflow makes one of pure bindings",
        )
    return bindings[0]


def bind_outputs(dataflow: relax.DataflowOp) -> None:
    """Bind each output of a block to a variable of its outer name, so that it has its own gradient."""
    end = dataflow.output_op
    seen = set[SSAValue]()
    for i, (value, outer) in enumerate(zip(end.values_, dataflow.outputs, strict=True)):
        own = isinstance(value.owner, Operation) and value.owner.parent is dataflow.body.block
        if own and name_of(value) == name_of(outer) and value not in seen:
            seen.add(value)
            continue
        copy = relax.BindOp(value)
        dataflow.body.block.insert_op_before(copy, end)
        set_name(copy.result, name_of(outer))
        end.operands[i] = copy.result


def make_unique(func: relax.FuncOp, new: set[Operation]) -> None:
    """Rename new bindings whose names are already used, as `lv_1` for `lv`."""
    taken = {name_of(v) for v in func.params}
    for op in func.walk():
        if op not in new and not isinstance(op, relax.DataflowOp):
            taken.update(name_of(r) for r in op.results)
    for op in func.walk():
        if op not in new or (name := name_of(op.results[0])) is None:
            continue
        number, free = 0, name
        while free in taken:
            number += 1
            free = f"{name}_{number}"
        taken.add(free)
        set_name(op.results[0], free)
