"""Verification of a single op, without nested ops and without isolation from above.

Dominance (`dominance.py`) implies isolation, whose check in xDSL walks up from each operand.
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
    """Raise xDSL's error if the op is invalid; with `by_ends`, its verifier looks only at the ends of its regions."""
    if isinstance(op, ModuleOp) and op.parent is None:
        _MODULE.verify(op)
    elif not (by_ends and op.has_trait(IsolatedFromAbove) and _is_alone(op) and _is_good(_shell_of(op))):
        op.verify(verify_nested_ops=False)


def _is_alone(op: Operation) -> bool:
    """Return whether an op has no operands or results, like a function; `_shell_of` omits these."""
    return not op.operands and not op.results


def _is_good(op: Operation) -> bool:
    try:
        op.verify(verify_nested_ops=False)
    except (TiraxError, VerifyException):
        return False  # the function itself reports the reason, with its location
    return True


def _shell_of(function: Operation) -> Operation:
    """Return a function that contains only the first and last ops of its regions, in a separate module."""
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
