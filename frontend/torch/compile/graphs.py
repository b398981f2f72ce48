"""Conversion of a graph of ATen operators to a Relax function, with its calling convention."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....diagnostics import UnsupportedError
from ....handles.module import IRModule
from ....handles.relax.expr import Expr, ShapeExpr, Tuple, Var
from ....handles.struct_info import PrimStructInfo, TensorStructInfo
from ...block_builder import BlockBuilder
from ...importing.relax_operators import R
from ...importing.weights import constant_over
from ..arguments import dtype_name
from ..exported_program import ProgramReader
from ..graph import NotKnown
from ..symbols import is_symbolic
from .refusals import shared_views, why_foreign, why_refused

Order = tuple[int, ...]


def memory_order(tensor: Any) -> Order | None:
    """Return the dimensions of a tensor from slowest to fastest, or None if it is row-major.

    `x.permute(memory_order(x))` is then dense and row-major. Tensors that are not dense in any order, or have
    unknown strides, also yield None: they are copied at the call.
    """
    shape, strides = tuple(tensor.shape), tensor.stride()
    if not all(isinstance(n, int) for n in (*shape, *strides)) or 0 in shape:
        return None
    order = tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], shape[d] == 1, d)))
    if order == tuple(range(len(shape))) or not _is_dense([shape[d] for d in order], [strides[d] for d in order]):
        return None
    return None if _is_dense(shape, strides) else order


def _is_dense(shape: Any, strides: Any) -> bool:
    size = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != size:
            return False
        size *= extent
    return True


def inverse(order: Order) -> Order:
    """Return the inverse of a dimension order."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@dataclass(frozen=True)
class Result:
    """An output: result `index` of the function, with its dimensions in `order`; a size if `is_size`."""

    index: int
    order: Order | None = None
    is_size: bool = False


@dataclass(frozen=True)
class Argument:
    """An output that is the argument at `index`."""

    index: int


@dataclass(frozen=True)
class Plain:
    """A constant output: a number or None."""

    value: Any


Output = Result | Argument | Plain


@dataclass(frozen=True)
class Signature:
    """The mapping from a graph's calling convention to that of its function.

    It records which of the graph's arguments the function takes, their memory orders by position, the outputs,
    and whether there is a single output instead of a tuple.
    """

    used: tuple[bool, ...]
    orders: Mapping[int, Order]
    outputs: tuple[Output, ...]
    single: bool


class SubgraphReader(ProgramReader):
    """Reads a graph and collects the nodes that cannot be converted in `refused`."""

    def __init__(self, builder: BlockBuilder, module: Any, returned: int | None = None):
        super().__init__(builder, module, None)
        self.refused: list[Any] = []
        self._shared = shared_views(module.graph, returned)

    def _converted(self, node: Any) -> Any:
        reason = "results share its memory" if node in self._shared else why_refused(node)
        if reason is not None:
            raise UnsupportedError(reason)
        value = super()._converted(node)
        missing = [user for user in node.users if isinstance(value, list) and _is_missing(value, user)]
        if missing:
            raise UnsupportedError(f"its result {missing[0].args[1]} is not computed")
        return value

    def attribute(self, node: Any) -> Any:
        """Return a constant of the graph, other than a traced tensor."""
        from torch._subclasses.fake_tensor import unset_fake_temporarily

        with unset_fake_temporarily():
            return super().attribute(node)

    def _stand_in(self, node: Any) -> Any:
        self.refused.append(node)
        return NotKnown(node.name) if why_foreign(node.meta.get("val")) else super()._stand_in(node)


class GraphConverter:
    """The conversion of one graph. `frozen` are arrays that become constants, by the position of their argument.

    The first `returned` outputs (default: all) are those of the program: sharing of memory between them is
    visible.
    """

    def __init__(self, graph_module: Any, frozen: Mapping[int, Any] | None = None, returned: int | None = None):
        self._builder = BlockBuilder()
        self.reader = SubgraphReader(self._builder, graph_module, returned)
        self._nodes = list(graph_module.graph.nodes)
        self._inputs = [node for node in self._nodes if node.op == "placeholder"]
        self._frozen = frozen or {}
        self._orders: dict[int, Order] = {}
        self._results: list[Expr] = []

    def convert(self) -> tuple[IRModule, Signature]:
        """Return a module with the function `main`, which returns a tuple. Raises `UnsupportedOperators`; see
        `reader`.
        """
        self.reader.symbols.bind(n.meta.get("val") for n in self._inputs if why_refused(n) is None)
        variables = {i: v for i, node in enumerate(self._inputs) if (v := self._variable(i, node)) is not None}
        with self._builder.function("main", list(variables.values())):
            with self.reader.blocks():
                self._enter(variables)
                self.reader.read(node for node in self._nodes if node.op in ("call_function", "get_attr"))
                self.reader.coverage.require_supported()
                outputs, single = self._outputs()
                returned = self._builder.emit_output(Tuple(self._results))
            self._builder.emit_func_output(returned)
        used = tuple(i in variables for i in range(len(self._inputs)))
        return self._builder.get(), Signature(used, self._orders, outputs, single)

    # Inputs.

    def _variable(self, index: int, node: Any) -> Var | None:
        value = node.meta.get("val")
        if is_symbolic(value):
            return Var(node.name, PrimStructInfo(value=self.reader.symbols.extent(value)))
        if index in self._frozen or why_refused(node) is not None or not hasattr(value, "dtype"):
            return None
        order = memory_order(value)
        if order is not None:
            self._orders[index] = order
        extents = [self.reader.symbols.extent(value.shape[d]) for d in order or range(value.dim())]
        return Var(node.name, TensorStructInfo(extents, dtype_name(value.dtype)))

    def _enter(self, variables: Mapping[int, Var]) -> None:
        """Map the argument nodes to their variables, transposed to the argument's dimension order."""
        for i, node in enumerate(self._inputs):
            value = node.meta.get("val")
            if i in self._frozen:
                self.reader.env[node] = constant_over(self._frozen[i])
            elif is_symbolic(value):
                self.reader.env[node] = self.reader.symbols.extent(value)
            elif i in self._orders:
                axes = list(inverse(self._orders[i]))
                self.reader.env[node] = self._builder.emit(R.permute_dims(variables[i], axes=axes))
            else:
                self.reader.env[node] = variables.get(i, value)

    # Outputs.

    def _outputs(self) -> tuple[tuple[Output, ...], bool]:
        returned = self._nodes[-1].args[0]
        single = not isinstance(returned, Sequence)
        known: dict[Any, Output] = {}
        for node in [returned] if single else returned:
            if node not in known:
                known[node] = self._output(node)
        return tuple(known[node] for node in ([returned] if single else returned)), single

    def _output(self, node: Any) -> Output:
        if not hasattr(node, "op"):
            return Plain(node)
        if node in self._inputs:
            return Argument(self._inputs.index(node))
        value = self.reader.value(node)
        if not isinstance(value, Expr):
            return Plain(value) if isinstance(value, int) else self._result(ShapeExpr([value]), is_size=True)
        order = memory_order(node.meta["val"])
        if order is None:
            return self._result(value)
        return self._result(self._builder.emit(R.permute_dims(value, axes=list(order))), inverse(order))

    def _result(self, value: Expr, order: Order | None = None, is_size: bool = False) -> Result:
        self._results.append(value)
        return Result(len(self._results) - 1, order, is_size)


def _is_missing(results: list[Any], user: Any) -> bool:
    """Return whether a node uses an item of results that does not exist."""
    return (
        user.op == "call_function"
        and user.target is operator.getitem
        and results[user.args[1]] is None
        and bool(user.users)
    )
