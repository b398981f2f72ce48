"""`convert-to-llvm`: lower the bodies of functions to the llvm dialect.

For each function, structured control flow becomes blocks (`scf.py`), the types of all values are converted in place,
and each operation is replaced by the rule for its class. Each operation is visited once and no pattern rewriter is
used: xDSL's type conversion takes seconds on large modules.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, llvm, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, i8
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects.quick import replace_uses
from ...dialects.xdsl_extras.type_guards import is_memref
from . import arith, cf, math, scf, vector
from . import func as func_rules
from . import memref as memref_rules
from .core import Lowerer, Rules
from .failures import RETURNS_STATUS, end_at_failures, failures
from .floats import from_narrow_bits, is_narrow
from .types import PTR, convert_type, storage_type

RULES: Rules = {
    **func_rules.RULES,
    **cf.RULES,
    **arith.RULES,
    **math.RULES,
    **memref_rules.RULES,
    **vector.RULES,
}
_LOWERED_DIALECTS = frozenset(("llvm",))


def _convert_types(region: Region, at: Lowerer) -> None:
    """Convert the types of all values in place, and record the memref type of each pointer."""
    for block in region.blocks:
        for value in block.args:
            _convert_value(value, at)
        for op in block.ops:
            for value in op.results:
                _convert_value(value, at)


def _convert_value(value: SSAValue, at: Lowerer) -> None:
    type = value.type
    converted = convert_type(type)
    if converted is type:
        return
    if is_memref(type):
        at.memrefs[value] = type
    value._type = converted  # pyright: ignore[reportPrivateUsage]


def _pass_bits(blocks: Sequence[Block], at: Lowerer) -> None:
    """Pass bf16 block arguments as their bits (see `floats.py`); within a block the value is a float again."""
    for block in blocks:
        at.anchor = block.first_op
        for value in block.args:
            type = value.type
            if is_narrow(type):
                value._type = storage_type(type)  # pyright: ignore[reportPrivateUsage]
                narrow = from_narrow_bits(at, value, type)
                value.replace_uses_with_if(narrow, lambda use, cast=narrow.owner: use.operation is not cast)


def _replace(op: Operation, at: Lowerer, block: Block) -> None:
    at.anchor = op
    new = RULES[type(op)](op, at)
    for old, value in zip(op.results, new, strict=True):
        if old in at.memrefs:
            value = _with_memref_type(value, at.memrefs[old], at)
        replace_uses(old, value)
    block.detach_op(op)
    op.drop_all_references()  # nothing uses it: `erase` would look again


def _with_memref_type(pointer: SSAValue, type: MemRefType[Attribute], at: Lowerer) -> SSAValue:
    """Return the pointer recorded as a memref of `type`; a new value for the same address if it already has another
    memref type.
    """
    if at.memrefs.setdefault(pointer, type) != type:
        pointer = at.gep(pointer, 0, i8)
        at.memrefs[pointer] = type
    return pointer


def _is_supported(kind: type[Operation]) -> bool:
    """Return whether operations of a class can be lowered or already are LLVM operations."""
    return kind in RULES or kind.dialect_name() in _LOWERED_DIALECTS


def lower_body(body: Region, at: Lowerer, returns_status: bool = False) -> list[str]:
    """Lower all operations of a function's body; return the names of those without a rule."""
    first = body.first_block
    if first is None:
        return []
    may_fail = list(failures(body))
    scf.lower_region(body)
    end_at_failures(may_fail, returns_status)
    kinds = {type(op) for block in body.blocks for op in block.ops}
    missing = {kind for kind in kinds if not _is_supported(kind)}
    if missing:
        return [op.name for block in body.blocks for op in block.ops if type(op) in missing]
    _convert_types(body, at)
    _pass_bits(list(body.blocks)[1:], at)
    marker = llvm.UndefOp.create(result_types=(PTR,))
    block_head = first.first_op
    assert block_head is not None
    first.insert_op_before(marker, block_head)
    at.entry_anchor = marker  # allocas and constants of the function's head are inserted before it
    for block in body.blocks:
        op = block.first_op
        while op is not None:
            following = op.next_op
            if type(op) in RULES:
                _replace(op, at, block)
            op = following
    first.erase_op(marker)
    return []


@dataclass(frozen=True)
class ConvertToLLVM(ModulePass):
    """Convert func, scf, cf, arith, math, memref and vector to the llvm dialect (conventions: the files of this
    package).

    Raises `UnsupportedError` that lists every operation without a lowering; a function with such an operation has at
    most been lowered from scf to cf by then.
    """

    name = "convert-to-llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        module = op.body.block
        declared: dict[str, llvm.LLVMFunctionType] = {}
        missing: dict[str, list[str]] = {}
        for inner in list(module.ops):
            lowered = _lower_global_or_function(inner, module)
            if lowered is None:
                missing.setdefault(inner.name, []).append("at the top of the module")
            elif isinstance(lowered, llvm.FuncOp):
                for name in _lower_function(lowered, declared):
                    missing.setdefault(name, []).append(f"in @{lowered.sym_name.data}")
        _raise_missing(missing)
        _declare(module, declared)


def _lower_global_or_function(op: Operation, module: Block) -> Operation | None:
    if isinstance(op, llvm.FuncOp | llvm.GlobalOp):
        return op
    if isinstance(op, func.FuncOp):
        with _noting(f"in the signature of function @{op.sym_name.data}"):
            new: Operation = func_rules.make_function(op)
    elif isinstance(op, memref.GlobalOp):
        new = memref_rules.lower_global(op)
    else:
        return None
    module.insert_op_before(new, op)
    module.erase_op(op)
    return new


def _lower_function(function: llvm.FuncOp, declared: dict[str, llvm.LLVMFunctionType]) -> list[str]:
    at = Lowerer(declared)

    def where() -> str:
        doing = "converting types" if at.anchor is None else f"lowering '{at.anchor.name}'"
        return f"while {doing} in function @{function.sym_name.data}"

    with _noting(where):
        return lower_body(function.body, at, function.attributes.pop(RETURNS_STATUS, None) is not None)


@contextmanager
def _noting(where: str | Callable[[], str]) -> Generator[None, None, None]:
    """Add a note about the location to a diagnostic raised inside."""
    try:
        yield
    except TiraxError as error:
        error.notes = (*error.notes, where if isinstance(where, str) else where())
        raise


def _raise_missing(missing: dict[str, list[str]]) -> None:
    if not missing:
        return
    notes = [
        f"'{name}' {where[0]}" + (f" and {len(where) - 1} more" if where[1:] else "") for name, where in missing.items()
    ]
    raise UnsupportedError(
        f"no lowering to llvm for {', '.join(repr(name) for name in missing)}",
        hint="lower these operations to func, scf, cf, arith, math, memref or vector first",
        notes=notes,
    )


def _declare(module: Block, declared: dict[str, llvm.LLVMFunctionType]) -> None:
    """Declare the C functions that are called and not yet in the module."""
    present = {op.sym_name.data for op in module.ops if isinstance(op, llvm.FuncOp)}
    for symbol, type in declared.items():
        if symbol not in present:
            module.add_op(llvm.FuncOp(symbol, type, llvm.LinkageAttr("external")))
