"""An op's own verification, without what is inside of it and without isolation from above.

Isolation is what dominance says (`dominance.py`), and to ask for it takes xDSL a walk up from each operand.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp
from xdsl.ir import Block, Operation, OpTraits, Region
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError

_TRAITS = tuple(t for t in ModuleOp.traits if not isinstance(t, IsolatedFromAbove))
_MODULE = replace(ModuleOp.get_irdl_definition(), traits=OpTraits(lambda: _TRAITS))


def verify_itself(op: Operation, by_ends: bool) -> None:
    """Raise what xDSL raises where the op is not well formed; `by_ends`: it looks no deeper than regions' ends."""
    if isinstance(op, ModuleOp) and op.parent is None:
        _MODULE.verify(op)
    elif not (by_ends and op.has_trait(IsolatedFromAbove) and _is_alone(op) and _is_good(_shell_of(op))):
        op.verify(verify_nested_ops=False)


def _is_alone(op: Operation) -> bool:
    """Whether it takes and gives nothing, as functions do: `_shell_of` leaves that out."""
    return not op.operands and not op.results


def _is_good(op: Operation) -> bool:
    try:
        op.verify(verify_nested_ops=False)
    except (TiraxError, VerifyException):
        return False  # what it stands for says why, with its place
    return True


def _shell_of(function: Operation) -> Operation:
    """A function with nothing in it but how its regions begin and end, in a module of its own."""
    regions = [Region([_ends_of(block) for block in region.blocks]) for region in function.regions]
    shell = type(function).create(properties=function.properties, attributes=function.attributes, regions=regions)
    ModuleOp([shell])
    return shell


def _ends_of(block: Block) -> Block:
    ends, last = Block(arg_types=block.arg_types), block.last_op
    if last is not None:
        source = UnrealizedConversionCastOp.create(result_types=[v.type for v in last.operands])
        types = [r.type for r in last.results]
        end = type(last).create(operands=source.results, result_types=types, properties=last.properties)
        ends.add_ops([source, end])
    return ends
