"""Faults of transformations, as changes of one operation of a tensor function: a table by the kind of fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import FloatAttr, IntegerType, ModuleOp, VectorType, i1
from xdsl.ir import Operation

from ...dialects import tir
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Const

Fault = Callable[[Operation], bool]
"""Changes an operation in place; returns whether it does."""


def _longer(op: Operation) -> bool:
    return _extent(op, 1)


def _shorter(op: Operation) -> bool:
    return _extent(op, -1)


def _extent(op: Operation, change: int) -> bool:
    if not isinstance(op, tir.ForOp) or op.extent_attr is None:
        return False
    op.properties["extent_attr"] = SymAttr(op.extent_attr.data + Const(change, op.extent_attr.data.dtype))
    return True


def _swapped_axes(op: Operation) -> bool:
    if not isinstance(op, tir.LoadOp | tir.StoreOp) or len(op.indices) < 2 or op.indices[-1] is op.indices[-2]:
        return False
    op.operands = [*op.operands[:-2], op.operands[-1], op.operands[-2]]
    return True


def _detached(op: Operation) -> bool:
    if op.results:
        return False
    op.detach()
    return True


def _without_predicate(op: Operation) -> bool:
    condition = op.predicate if isinstance(op, tir.BlockOp) else op.cond if isinstance(op, tir.IfOp) else None
    if condition is None or op.parent is None:
        return False
    true = tir.ConstOp(1, condition.type)
    op.parent.insert_op_before(true, op)
    op.operands = [true.result if o is condition else o for o in op.operands]
    return True


def _replaced(op: Operation, new: Operation) -> bool:
    if op.parent is None:
        return False
    op.parent.insert_op_before(new, op)
    op.results[0].replace_all_uses_with(new.results[0])
    op.detach()
    return True


def _aliased(op: Operation) -> bool:
    """Store into, or load from, another buffer of the same type."""
    if not isinstance(op, tir.StoreOp | tir.LoadOp):
        return False
    func = op
    while func is not None and not isinstance(func, tir.FuncOp):
        func = func.parent_op()
    if func is None:
        return False
    buffers = [*func.params, *(a.result for a in func.walk() if isinstance(a, tir.AllocBufferOp))]
    others = [b for b in buffers if b is not op.buffer and b.type == op.buffer.type]
    if not others:
        return False
    op.operands = [others[0] if o is op.buffer else o for o in op.operands]
    return True


def _reordered(op: Operation) -> bool:
    """Exchange two neighbouring statements."""
    other = op.next_op
    if not isinstance(op, tir.ForOp | tir.StoreOp) or not isinstance(other, tir.ForOp | tir.StoreOp):
        return False
    op.detach()
    other.parent.insert_op_after(op, other)  # pyright: ignore[reportOptionalMemberAccess]
    return True


def _broadcast(op: Operation) -> bool:
    """Read the first element of a dimension."""
    if not isinstance(op, tir.LoadOp) or not op.indices or op.parent is None:
        return False
    if not isinstance(op.indices[-1].type, IntegerType):
        return False
    zero = tir.ConstOp(0, op.indices[-1].type)
    op.parent.insert_op_before(zero, op)
    op.operands = [*op.operands[:-1], zero.result]
    return True


def _operators(pairs: dict[str, str], integers: bool | None = None) -> Fault:
    """Replace operators, of integers or floats only if `integers` says so."""

    def fault(op: Operation) -> bool:
        for name, other in pairs.items():
            if isinstance(op, tir.BINARY[name]) and (integers is None or _is_integer(op) == integers):
                return _replaced(op, tir.BINARY[other](*op.operands))
        return False

    return fault


def _is_integer(op: Operation) -> bool:
    return op.operands[0].type.name == "integer_type"  # pyright: ignore[reportAttributeAccessIssue]


def _unclamped(op: Operation) -> bool:
    if not isinstance(op, tuple(tir.BINARY[n] for n in ("max", "min"))):
        return False
    op.results[0].replace_all_uses_with(op.operands[0])
    op.detach()
    return True


_ORDERED = tuple(tir.BINARY[n] for n in ("sub", "div", "lt", "le", "floordiv", "floormod", "truncmod"))


def _swapped_operands(op: Operation) -> bool:
    if not isinstance(op, _ORDERED) or op.operands[0] is op.operands[1]:
        return False
    op.operands = op.operands[::-1]
    return True


def _constant(op: Operation) -> bool:
    """Change a constant: integers by one, floats by a part in a thousand, or from 0 to a small number."""
    if not isinstance(op, tir.ConstOp) or op.parent is None or isinstance(op.result.type, VectorType):
        return False
    value = op.value.value.data
    if isinstance(op.value, FloatAttr):
        return (
            op.result.type == op.value.type
            and abs(value) < 1e30
            and _replaced(op, tir.ConstOp(value * 1.001 or 1e-3, op.result.type))
        )
    if not isinstance(op.result.type, IntegerType) or op.result.type == i1:
        return False
    return _replaced(op, tir.ConstOp(value + 1, op.result.type))


_BINARY = tuple(tir.BINARY.values())
FAULTS: dict[str, tuple[Fault, tuple[type[Operation], ...]]] = {
    "a bound one too large": (_longer, (tir.ForOp,)),
    "a bound one too small": (_shorter, (tir.ForOp,)),
    "swapped axes": (_swapped_axes, (tir.LoadOp, tir.StoreOp)),
    "a lost init": (_detached, (tir.InitOp,)),
    "a lost store": (_detached, (tir.StoreOp,)),
    "a dropped predicate": (_without_predicate, (tir.BlockOp, tir.IfOp)),
    "a wrong tail": (_operators({"lt": "le", "le": "lt", "gt": "ge", "ge": "gt"}, integers=True), _BINARY),
    "another buffer": (_aliased, (tir.LoadOp, tir.StoreOp)),
    "reordered statements": (_reordered, (tir.ForOp, tir.StoreOp)),
    "a wrong broadcast": (_broadcast, (tir.LoadOp,)),
    "a wrong sign": (_operators({"add": "sub", "sub": "add"}), _BINARY),
    "a missing clamp": (_unclamped, _BINARY),
    "swapped operands": (_swapped_operands, _ORDERED),
    "a wrong operator": (_operators({"mul": "add", "max": "min", "min": "max", "and": "or", "or": "and"}), _BINARY),
    "a wrong constant": (_constant, (tir.ConstOp,)),
}
"""Kinds of faults, and the operations that may have them."""


@dataclass(frozen=True)
class Mutant:
    """A fault that an operation of a tensor function may have, by the number of the operation in the module."""

    module: ModuleOp
    at: int
    kind: str
    function: str

    def make(self) -> ModuleOp | None:
        """Return a copy of the module with the fault, or None if the operation does not take it."""
        copy, op = self._copied()
        return copy if FAULTS[self.kind][0](op) else None

    def trapped(self) -> ModuleOp:
        """Return a copy in which an assertion fails before the operation: calls that reach it do not return."""
        copy, op = self._copied()
        block = op.parent
        assert block is not None
        false = tir.ConstOp(False, i1)
        for each in (false, tir.AssertOp(false.result, "reached")):
            block.insert_op_before(each, op)
        return copy

    def _copied(self) -> tuple[ModuleOp, Operation]:
        copy = self.module.clone()
        return copy, next(o for n, o in enumerate(copy.walk()) if n == self.at)


def mutants(module: ModuleOp) -> Iterator[Mutant]:
    """Yield each fault that an operation of a tensor function may have."""
    for at, op in enumerate(module.walk()):
        func = _function(op)
        if func is not None:
            for kind, (_, classes) in FAULTS.items():
                if isinstance(op, classes):
                    yield Mutant(module, at, kind, func)


def _function(op: Operation) -> str | None:
    parent: Operation | None = op
    while parent is not None and not isinstance(parent, tir.FuncOp):
        parent = parent.parent_op()
    return None if parent is None or parent is op else parent.sym_name.data
