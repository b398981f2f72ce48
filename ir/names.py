"""Fresh names for functions and variables."""

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
    """A supply of unique names: `base`, `base1`, `base2`, …"""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def reserve(self, name: str) -> None:
        """Exclude a name from the supply."""
        self._taken.add(name)

    def fresh(self, base: str) -> str:
        """Return the first unused name among `base`, `base1`, …, and mark it as used."""
        n = self._next.get(base, 0)
        name = f"{base}{n or ''}"
        while name in self._taken:
            n += 1
            name = f"{base}{n}"
        self._next[base] = n + 1
        self._taken.add(name)
        return name


def identifier(name: str) -> str:
    """Return a name with characters that are invalid in variable names replaced by `_`."""
    return "".join(c if c.isalnum() else "_" for c in name)


def function_names(module: ModuleOp) -> list[str]:
    """Return the names of the functions of a module."""
    symbols = (op.properties.get("sym_name") for op in module.body.block.ops)
    return [s.data for s in symbols if isinstance(s, StringAttr)]


def variable_names(root: Operation, without: Collection[SSAValue] = ()) -> Iterator[str]:
    """Yield the names of the values in a function, or in the Relax functions of a module, except those of `without`."""
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
    """Return `base`, or `base_1`, `base_2`, … if it is used, as TVM's printer does, and mark the name as used.

    The number is found by doubling and bisection: names of a base are used in order, so the result is the first unused
    one; if there are gaps, it may be a later one.
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
    """Make names of variables unique by suffixes, in order of definition, like TVM's printer.

    A value of a dataflow block and the block's output of the same name count as one variable. Names in a branch or
    local function can be reused after it.
    """
    _make_unique(func.body.block, set())


def _make_unique(block: Block, taken: set[str]) -> list[str]:
    """Make names in a block unique with respect to `taken`, and return the names it uses."""
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
    """Yield the values that an op defines and that need a name.

    Outputs of a dataflow block may share that of their value.
    """
    if not isinstance(op, relax.DataflowOp):
        yield from op.results
        return
    for value, result in zip(op.output_op.values_, op.outputs, strict=True):
        if name_of(value) != name_of(result):
            yield result


def _outputs_of(value: SSAValue) -> list[SSAValue]:
    """Return the results of the dataflow block that are this value of the block, under the same name."""
    outputs: list[SSAValue] = []
    for use in value.uses:
        block = use.operation.parent_op()
        if isinstance(use.operation, relax.OutputOp) and isinstance(block, relax.DataflowOp):
            result = block.outputs[use.index]
            if name_of(result) == name_of(value):
                outputs.append(result)
    return outputs


def is_declared(op: Operation) -> bool:
    """Return whether an unnamed op casts to the declared result type of its function, which the parser inserts, too."""
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
    """Give a fresh name to every unnamed binding."""
    names = NameSupply(variable_names(func))
    for block in binding_blocks(func):
        inside = isinstance(block.parent_op(), relax.DataflowOp)
        for op in block.ops:
            if isinstance(op, relax.INLINE_OPS) or is_declared(op):
                continue
            for result in op.results:
                if name_of(result) is None:
                    set_name(result, names.fresh("lv" if inside else "gv"))
