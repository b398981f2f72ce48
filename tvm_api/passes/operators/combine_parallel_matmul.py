"""Combine products of one tensor with several matrices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import relax
from ....dialects.names import name_of, set_name
from ....dialects.relax.operator import Operator
from ....dialects.relax.types import TensorType
from ....handles.relax.expr import expr_of
from ....handles.relax.function import DataflowBlock
from ....ir.functions.lookup import ops_of_type
from ....ir.functions.symbolic_vars import definable_vars, mentioned_by
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, rewrite_functions
from ....ir.rewriting.edit import insert_before

Check = Callable[[Any, list[Any], list[Any], dict[Any, Any]], bool]
"""`check(x, weights, biases, bindings)` returns whether to combine products of x; there is a bias for each, or
none.
"""
_ACTIVATIONS = frozenset(f"relax.nn.{n}" for n in ("relu", "gelu", "silu"))


@dataclass(frozen=True)
class CombineParallelMatmul(Pass):
    """Combines products of one tensor with several matrices into one product with the concatenated matrices.

    p = matmul(x, a); q = matmul(x, b)
    ->  y = split(matmul(x, concat((a, b), axis=1)), [4], axis=1); p = y[0]; q = y[1]

    If all of them are followed by a bias addition it is combined as well, and so is a following relu, gelu or
    silu that is the same for all. The matrices must be distinct, of the same rank, dtype and batch, and
    independent of the other products. One of them, which comes last, may have a symbolic number of columns,
    since `split` takes constant positions. `check(x, weights, biases, bindings)`, with handles, may decline.
    Only products in one dataflow block are combined. Without `mixed_batches`, matrices of one rank are not
    combined if their batches differ.
    """

    name = "combine-parallel-matmul"
    check: Check | None = field(default=None, compare=False)
    mixed_batches: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_functions(op, self._function)

    def _function(self, func: relax.FuncOp) -> bool:
        changed = [self._block(dataflow) for dataflow in list(ops_of_type(func, relax.DataflowOp))]
        return any(changed)

    def _block(self, dataflow: relax.DataflowOp) -> bool:
        block = dataflow.body.block
        families: dict[Hashable, list[Operator]] = {}
        for op in block.ops:
            if isinstance(op, Operator) and op.name == "relax.matmul" and (key := _family(op)) is not None:
                families.setdefault(key, []).append(op)
        changed = False
        for products in families.values() if self.mixed_batches else _of_equal_batches(families.values()):
            if len(products) > 1:
                group = _Group(block, products)
                if len(group.branches) > 1 and self._is_accepted(group, dataflow):
                    group.combine()
                    changed = True
        return changed

    def _is_accepted(self, group: _Group, dataflow: relax.DataflowOp) -> bool:
        if self.check is None:
            return True
        bindings = {b.var: b.value for b in DataflowBlock(dataflow).bindings}
        weights = [expr_of(b.matmul.operands[1]) for b in group.branches]
        return bool(self.check(expr_of(group.x), weights, [expr_of(v) for v in group.biases], bindings))


def _family(op: Operator) -> Hashable:
    """Return a key that is equal for products that can be combined, or None if one cannot be."""
    x, weights = op.operands
    t, out = weights.type, op.results[0].type
    if not isinstance(t, TensorType) or not isinstance(out, TensorType) or out.element is None or not out.rank:
        return None
    if t.dims is None or len(t.dims) < 2 or out.dims is None:
        return None
    return x, t.dims[:-1], t.element, out.element, out.rank


def _of_equal_batches(families: Iterable[list[Operator]]) -> list[list[Operator]]:
    """Return the families for which no other has the same tensor and a matrix of the same rank but another batch."""
    batches: dict[Hashable, set[Hashable]] = {}
    keyed = [(products, *_batch(products[0])) for products in families]
    for _, key, batch in keyed:
        batches.setdefault(key, set()).add(batch)
    return [products for products, key, _ in keyed if len(batches[key]) == 1]


def _batch(op: Operator) -> tuple[Hashable, Hashable]:
    """Return the tensor and rank of the matrix as one key, and the batch of the matrix."""
    x, weights = op.operands
    assert isinstance(weights.type, TensorType) and weights.type.dims is not None
    return (x, len(weights.type.dims)), weights.type.dims[:-2]


@dataclass
class _Branch:
    """A product with its only users in sequence: bias addition and activation."""

    matmul: Operator
    ops: list[Operator]
    bias: SSAValue | None = None

    @property
    def result(self) -> SSAValue:
        return self.ops[-1].results[0]


class _Group:
    """Products of one tensor that are computed together."""

    def __init__(self, block: Block, products: Sequence[Operator]):
        self.block = block
        self.x = products[0].operands[0]
        self.order = {op: i for i, op in enumerate(block.ops)}
        self.bound = set(definable_vars(op.result.type for op in block.ops if isinstance(op, relax.MatchCastOp)))
        self.branches: list[_Branch] = []
        self.biases: list[SSAValue] = []
        self.activation: Operator | None = None
        members, seen, weights = set[Operation](), set[Operation](), set[SSAValue]()
        for op in products:
            if op.operands[1] not in weights and not self._depends([op.operands[1]], members, seen):
                if _is_dynamic(op) and any(map(_is_dynamic, members)):
                    continue
                members.add(op)
                weights.add(op.operands[1])
                self.branches.append(_Branch(op, [op]))
        self.branches.sort(key=lambda b: _is_dynamic(b.matmul))
        if len(self.branches) > 1:
            self._follow()

    def _depends(self, values: Iterable[SSAValue], members: set[Operation], seen: set[Operation]) -> bool:
        """Return whether values depend on the members; `seen` are ops known to be independent.

        They depend on a member directly, or on sizes that a later cast of the block may bind.
        """
        start = min((self.order[b.matmul] for b in self.branches), default=len(self.order))
        stack, visited = [v.owner for v in values], set[Operation]()
        while stack:
            op = stack.pop()
            if op in members:
                return True
            if isinstance(op, Operation) and op not in seen and op not in visited and self.order.get(op, -1) > start:
                if self.bound and not self.bound.isdisjoint(mentioned_by([op])):
                    return True
                visited.add(op)
                stack += [v.owner for v in op.operands]
        seen |= visited
        return False

    def _follow(self) -> None:
        """Collect the bias additions and activations that all branches have."""
        added = [_bias_of(b.matmul) for b in self.branches]
        biases = [bias for _, bias in present] if (present := [a for a in added if a is not None]) else []
        if len(present) == len(added) and self._can_join(biases):
            for branch, (op, _) in zip(self.branches, present, strict=True):
                branch.ops.append(op)
            self.biases = biases
        following = [_only_user(b.result) for b in self.branches]
        first = following[0]
        if first is not None and first.name in _ACTIVATIONS and all(_same(first, op) for op in following):
            self.activation = first
            for branch, op in zip(self.branches, following, strict=True):
                assert op is not None
                branch.ops.append(op)

    def _can_join(self, biases: Sequence[SSAValue]) -> bool:
        kinds = {(t.dims[:-1], t.element) for v in biases if isinstance(t := v.type, TensorType) and t.dims}
        return len(kinds) == 1 and not self._depends(biases, {b.matmul for b in self.branches}, set())

    def combine(self) -> None:
        """Replace the branches by fields of the combined product, at the end of the first branch."""
        anchor = min((b.ops[-1] for b in self.branches), key=self.order.__getitem__)
        weights = [b.matmul.operands[1] for b in self.branches]
        self._hoist([*weights, *self.biases], anchor)
        emit = Emit(anchor)
        out = self.branches[0].matmul.results[0].type
        assert isinstance(out, TensorType) and out.rank is not None
        combined = emit("matmul", self.x, emit("concat", weights, axis=_last(weights[0])), out_dtype=out.element)
        if self.biases:
            combined = emit("add", combined, emit("concat", self.biases, axis=_last(self.biases[0])))
        if self.activation is not None:
            attrs = {n: self.activation.attr(n) for n in self.activation.ATTR_SPECS}
            combined = emit(self.activation.name.removeprefix("relax."), combined, **attrs)
        columns = [_columns(w) for w in weights[:-1]]
        ends = [sum(columns[: i + 1]) for i in range(len(columns))]
        parts = emit("split", combined, indices_or_sections=ends, axis=out.rank - 1)
        for i, branch in enumerate(self.branches):
            _replace(branch, relax.TupleGetItemOp(parts, i))

    def _hoist(self, values: Sequence[SSAValue], anchor: Operation) -> None:
        """Move the operations after `anchor` that `values` depend on before it."""
        start = self.order[anchor]
        stack, needed = [v.owner for v in values], set[Operation]()
        while stack:
            op = stack.pop()
            if isinstance(op, Operation) and op not in needed and self.order.get(op, -1) > start:
                needed.add(op)
                stack += [v.owner for v in op.operands]
        for op in sorted(needed, key=self.order.__getitem__):
            op.detach()
            self.block.insert_op_before(op, anchor)


def _is_dynamic(product: Operation) -> bool:
    """Return whether the number of columns is symbolic."""
    t = product.operands[1].type
    return isinstance(t, TensorType) and t.dims is not None and t.dims[-1].constant is None


def _replace(branch: _Branch, item: relax.TupleGetItemOp) -> None:
    last = branch.ops[-1]
    insert_before(last, item)
    set_name(item.result, name_of(branch.result))
    branch.result.replace_all_uses_with(item.result)


def _only_user(value: SSAValue) -> Operator | None:
    """Return the only user of a value if it is an operator, or None."""
    users = {use.operation for use in value.uses}
    op = users.pop() if len(users) == 1 else None
    return op if isinstance(op, Operator) and op.parent is value.owner.parent else None  # pyright: ignore[reportAttributeAccessIssue]


def _bias_of(matmul: Operator) -> tuple[Operator, SSAValue] | None:
    """Return the bias addition that is the only user of a product, and the bias, or None."""
    product = matmul.results[0]
    op = _only_user(product)
    if op is None or op.name != "relax.add" or op.results[0].type != product.type:
        return None
    others = [v for v in op.operands if v is not product]
    if len(others) != 1 or not isinstance(t := others[0].type, TensorType) or not isinstance(product.type, TensorType):
        return None
    fits = t.dims is not None and product.type.dims is not None and t.dims[-1:] == product.type.dims[-1:]
    return (op, others[0]) if fits else None


def _same(a: Operator, b: Operator | None) -> bool:
    return b is not None and a.name == b.name and a.properties == b.properties


def _last(value: SSAValue) -> int:
    assert isinstance(value.type, TensorType) and value.type.rank is not None
    return value.type.rank - 1


def _columns(value: SSAValue) -> int:
    assert isinstance(value.type, TensorType) and value.type.dims is not None
    columns = value.type.dims[-1].constant
    assert columns is not None
    return columns
