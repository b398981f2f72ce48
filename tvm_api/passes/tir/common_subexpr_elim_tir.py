"""`common-subexpr-elim-tir`: name index arithmetic that occurs several times.

    load %A[%i * 16 + %j]; store %x, %B[%i * 16 + %j]   ->   %cse_var_1 = let %i * 16 + %j; load %A[%cse_var_1]; …

A name is bound at the beginning of the innermost body that contains all its uses, after its operands.
Expressions that read memory are not shared, and neither are divisions, whose divisor may be 0 where they do
not run.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width
from ....dialects.names import set_name
from ....dialects.sym.expr import SymExpr
from ....ir.affine.values import Materializer, sym_expr_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import copied_tree
from ....ir.rewriting.edit import insert_before, inserter
from ....transforms.tir.walk import functions, integer_type, remove_dead

_ELIGIBLE = (tir.AddOp, tir.SubOp, tir.MulOp, tir.MinOp, tir.MaxOp)
_DIVISIONS = (tir.FloorDivOp, tir.FloorModOp, tir.DivOp, tir.TruncModOp)
_FIRST = (tir.RegionOp, tir.InitOp, tir.AllocBufferOp)
"""The ops at the beginning of a body."""
_Key = tuple[object, ...]


@dataclass(frozen=True)
class CommonSubexprElimTIR(Pass):
    """Name integer expressions that occur more than once, `cse_var_1`, `cse_var_2`, …, larger ones first."""

    name = "common-subexpr-elim-tir"
    enable_cse_tir: bool = True
    identify_equiv_terms: bool = False
    """Identify expressions with the same canonical form, such as `x * (y + z)` and `x * y + x * z`, which is then
    named.
    """

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op) if self.enable_cse_tir else []:
            _Eliminator(func, self.identify_equiv_terms).run()


@dataclass
class _Expression:
    """An expression: its values in the program, their positions, and its size as a tree."""

    size: int
    values: dict[SSAValue, None] = field(default_factory=lambda: dict[SSAValue, None]())
    parents: set[object] = field(default_factory=lambda: set[object]())
    users: list[Operation] = field(default_factory=lambda: list[Operation]())


class _Eliminator:
    def __init__(self, func: tir.FuncOp, canonical: bool):
        self.func, self.canonical = func, canonical
        self.expressions: dict[_Key, _Expression] = {}
        self._keys: dict[SSAValue, tuple[_Key, int] | None] = {}
        self._headers: set[Operation] = set()

    def run(self) -> None:
        """Count all uses, then name expressions with several uses, smaller ones first."""
        for block in self.func.walk():
            if isinstance(block, tir.BlockOp):
                self._headers.update(_own_header(block))
        for op in self.func.walk():
            for operand in op.operands if op not in self._headers else ():
                self._use(operand, op)
        repeated = [e for e in self.expressions.values() if len(e.parents) > 1]
        numbered = enumerate(sorted(repeated, key=lambda e: -e.size), 1)
        for number, expression in sorted(numbered, key=lambda e: e[1].size):  # the parts of an expression before it
            self._name(expression, f"cse_var_{number}")
        if repeated:
            remove_dead(self.func)

    def _key(self, value: SSAValue) -> tuple[_Key, int] | None:
        """Return the structural key of an expression and its size, or None if it is not eligible."""
        if value not in self._keys:
            self._keys[value] = self._new_key(value)
        return self._keys[value]

    def _new_key(self, value: SSAValue) -> tuple[_Key, int] | None:
        dtype = integer_type(value)
        if not isinstance(value, OpResult) or dtype is None or bit_width(dtype) < 32:
            return None
        op = value.op
        if not isinstance(op, _ELIGIBLE) and not (isinstance(op, _DIVISIONS) and _is_safe_divisor(op.operands[1])):
            return None
        parts: list[object] = []
        size = 1
        for operand in op.operands:
            inner = self._key(operand)
            owner = operand.owner
            if inner is not None:
                parts.append(inner[0])
                size += inner[1]
            elif isinstance(owner, tir.ConstOp):
                parts.append((owner.value, owner.result.type))
            elif isinstance(operand, OpResult) and not isinstance(owner, tir.LetOp):
                return None
            else:
                parts.append(operand)
        return ((sym_expr_of(value),) if self.canonical else (op.name, *parts)), size

    def _use(self, value: SSAValue, user: Operation) -> None:
        key = self._key(value)
        if key is None or user.parent is None:
            return
        expression = self.expressions.setdefault(key[0], _Expression(key[1]))
        expression.values[value] = None
        inside = self._key(user.results[0]) if len(user.results) == 1 else None
        expression.parents.add((user, value) if inside is None else inside[0])
        expression.users.append(user)

    def _name(self, expression: _Expression, name: str) -> None:
        places = [_path(user) for user in expression.users]
        value = next(iter(expression.values))
        anchor = _earliest(_common(places), sym_expr_of(value))
        if self.canonical and len({_tree(v) for v in expression.values}) > 1:
            shared = Materializer(inserter(anchor))(sym_expr_of(value), integer_type(value))
        else:
            shared = copied_tree(value, inserter(anchor), lambda v: isinstance(v.owner, tir.LetOp))
        let = tir.LetOp(shared)
        set_name(insert_before(anchor, let).result, name)
        for other in expression.values:
            for use in list(other.uses):
                if use.operation is not let and use.operation not in self._headers:
                    use.operation.operands[use.index] = let.result


def _own_header(block: tir.BlockOp) -> set[Operation]:
    """Copy the index arithmetic of a block's regions and init, which come first in its body, before any names.

    Returns the copied operations of both.
    """
    body = block.body.block
    header: set[Operation] = set()
    regions = [op for op in body.ops if isinstance(op, tir.RegionOp)]
    for region in regions:
        region.detach()
    for region in reversed(regions):
        first = body.first_op
        if first is None:
            body.add_op(region)
        else:
            body.insert_op_before(region, first)
    init = block.init
    ops: list[Operation] = [*regions, *(() if init is None else init.walk())]
    for op in ops:
        _own_operands(op, body, header)
        header.add(op)
    return header


def _own_operands(op: Operation, body: Block, copied: set[Operation]) -> None:
    """Copy the operations in `body` that compute an operation's operands in front of it."""
    put = inserter(op)

    def insert(new: Operation) -> None:
        put(new)
        copied.add(new)

    def stays(value: SSAValue) -> bool:
        return value.owner.parent is not body or isinstance(value.type, tir.BufferType)

    for position, operand in enumerate(op.operands):
        op.operands[position] = copied_tree(operand, insert, stays)


def _tree(value: SSAValue) -> _Key:
    """Return the structure of an expression as a key."""
    owner = value.owner
    if not isinstance(owner, tir.BinaryExpr):
        return (sym_expr_of(value),)
    return (owner.name, *map(_tree, owner.operands))


def _earliest(anchor: Operation, expression: SymExpr) -> Operation:
    """Return the first operation of a body before which an expression can be computed."""
    parts = {v.value for v in expression.free_vars()}
    while (before := anchor.prev_op) is not None and not isinstance(before, _FIRST):
        if not parts.isdisjoint(before.results):
            break
        anchor = before
    return anchor


def _is_safe_divisor(value: SSAValue) -> bool:
    return isinstance(value.owner, tir.ConstOp) and value.owner.py_value not in (0, -1)


def _path(op: Operation) -> list[tuple[Block, Operation]]:
    """Return the bodies around an operation, each with the op of it that contains the operation, outermost first."""
    path: list[tuple[Block, Operation]] = []
    current: Operation | None = op
    while current is not None and current.parent is not None and not isinstance(current, tir.FuncOp):
        path.append((current.parent, current))
        current = current.parent_op()
    return path[::-1]


def _common(paths: list[list[tuple[Block, Operation]]]) -> Operation:
    """Return the first operation that contains one of the positions, in the innermost body that contains all."""
    depth = 0
    while all(len(p) > depth + 1 for p in paths) and len({p[depth + 1][0] for p in paths}) == 1:
        depth += 1
    body = paths[0][depth][0]
    inside = {p[depth][1] for p in paths}
    return next(op for op in body.ops if op in inside)
