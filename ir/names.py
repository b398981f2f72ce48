"""New names, of functions and variables: what passes that make some share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ..dialects import relax
from ..dialects.names import name_of, set_name
from ..dialects.quick import operations
from ..dialects.relax.signatures import BaseCheckResult, base_check
from .functions.lookup import binding_blocks


class NameSupply:
    """Gives `base`, `base1`, `base2`, …, each once."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Never give this name."""
        self._taken.add(name)

    def fresh(self, base: str) -> str:
        """The first of `base`, `base1`, … that is not taken; it is taken now."""
        n = self._next.get(base, 0)
        name = f"{base}{n or ''}"
        while name in self._taken:
            n += 1
            name = f"{base}{n}"
        self._next[base] = n + 1
        self._taken.add(name)
        return name


def identifier(name: str) -> str:
    """A name with `_` for what none of a variable may hold."""
    return "".join(c if c.isalnum() else "_" for c in name)


def function_names(module: ModuleOp) -> list[str]:
    """The names of the functions of a module."""
    symbols = (op.properties.get("sym_name") for op in module.body.block.ops)
    return [s.data for s in symbols if isinstance(s, StringAttr)]


def variable_names(root: Operation, without: Collection[SSAValue] = ()) -> Iterator[str]:
    """The names of the values in a function, or in the Relax functions of a module, but for those of `without`."""
    if isinstance(root, ModuleOp):
        for func in root.body.block.ops:
            if isinstance(func, relax.FuncOp):
                yield from variable_names(func, without)
        return
    for op in operations(root):
        for value in (*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)):
            if value not in without and (name := name_of(value)) is not None:
                yield name


def fresh_suffix(base: str, taken: set[str]) -> str:
    """`base`, or `base_1`, `base_2`, … where that is taken, as TVM's printer tells variables apart; it is taken now.

    The number is found by doubling and bisection: names of one base are taken one after the other, so it is the first
    that is free; where some between are free, it may be a later one.
    """
    name = base
    if base in taken:
        low, high = 0, 1
        while f"{base}_{high}" in taken:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if f"{base}_{middle}" in taken else (low, middle)
        name = f"{base}_{high}"
    taken.add(name)
    return name


def make_unique(func: relax.FuncOp) -> None:
    """Tell variables of one name apart by suffixes, in order of definition, as TVM's printer does.

    A value of a dataflow block and the output of the same name that it becomes are one variable. Names of a branch or
    of a local function are free again after it.
    """
    _make_unique(func.body.block, set())


def _make_unique(block: Block, taken: set[str]) -> list[str]:
    """Of a block, beside the names that are `taken`; those that it takes itself."""
    mine: list[str] = []
    for value in block.args:
        _rename(value, taken, mine)
    for op in block.ops:
        for region in op.regions:
            for inner in region.blocks:
                names = _make_unique(inner, taken)
                if isinstance(op, relax.DataflowOp):
                    mine += names
                else:
                    taken.difference_update(names)
        for value in _results(op):
            _rename(value, taken, mine)
    return mine


def _rename(value: SSAValue, taken: set[str], mine: list[str]) -> None:
    name = name_of(value)
    if name is None:
        return
    unique = fresh_suffix(name, taken)
    mine.append(unique)
    if unique != name:
        for same in (value, *_outputs_of(value)):
            set_name(same, unique)


def _results(op: Operation) -> Iterator[SSAValue]:
    """What an op defines that has no name yet: outputs of a dataflow block may be called as they are in it."""
    if not isinstance(op, relax.DataflowOp):
        yield from op.results
        return
    for value, result in zip(op.output_op.values_, op.outputs, strict=True):
        if name_of(value) != name_of(result):
            yield result


def _outputs_of(value: SSAValue) -> list[SSAValue]:
    """The results of the dataflow block that have the name of this value of it and are this value."""
    outputs: list[SSAValue] = []
    for use in value.uses:
        block = use.operation.parent_op()
        if isinstance(use.operation, relax.OutputOp) and isinstance(block, relax.DataflowOp):
            result = block.outputs[use.index]
            if name_of(result) == name_of(value):
                outputs.append(result)
    return outputs


def is_declared(op: Operation) -> bool:
    """Whether an op without a name casts to what its function declares that it returns, which the parser does, too."""
    if not isinstance(op, relax.MatchCastOp) or not isinstance(op.next_op, relax.ReturnOp):
        return False
    declared, actual = op.result.type, op.value.type
    return (
        name_of(op.result) is None
        and op.result.has_one_use()
        and cast(relax.FuncOp | relax.ClosureOp, op.parent_op()).ret_type == declared
        and not relax.is_base_of(declared, actual)
        and base_check(declared, actual) is not BaseCheckResult.FAIL_L0
    )


def name_bindings(func: relax.FuncOp) -> None:
    """Give a fresh name to every binding without one."""
    names = NameSupply(variable_names(func))
    for block in binding_blocks(func):
        inside = isinstance(block.parent_op(), relax.DataflowOp)
        for op in block.ops:
            if isinstance(op, relax.INLINE_OPS) or is_declared(op):
                continue
            for result in op.results:
                if name_of(result) is None:
                    set_name(result, names.fresh("lv" if inside else "gv"))
