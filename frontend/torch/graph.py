"""Conversion of a torch.fx graph, node by node, with an environment of values and the rows of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from ...diagnostics import TiraxError, UnsupportedError
from ...handles.relax.expr import DataflowVar, Expr, ShapeExpr, TupleGetItem, Var, const
from ...handles.struct_info import TensorStructInfo
from ..block_builder import BlockBuilder
from ..importing.errors import ModelError
from ..importing.random_numbers import RandomNumbers
from ..importing.report import Coverage, Status
from .arguments import dtype_name, leaves, mapped, normalized, operator_name, plain_argument, takes_tensor
from .complex_operators import complex_converter
from .computed_numbers import Postponed, computed_number, is_known
from .control_flow import CONTROL_FLOW
from .emitter import Emitter
from .fallback import as_pairs, call_torch, is_complex
from .pairs import Pairs
from .places import location_of, place_of
from .promotion import dtype_beside
from .symbols import Symbols, is_symbolic, is_symbolic_float
from .table import Converter, lookup
from .tensors import constant

CustomConverter = Callable[[Any, "GraphReader"], Any]
"""A user's converter: takes a node and the reader, with its `retrieve_args` and `block_builder`."""

DROPPED = frozenset(
    (
        "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range",
        "sym_constrain_range_for_size", "_functional_assert_async", "_functional_assert_scalar", "_print",
        "_log_api_usage_once", "_functional_sym_constrain_range", "_functional_sym_constrain_range_for_size",
    )
)  # fmt: skip
"""Operators without a result; compiled functions check sizes at the call, and other checks are dropped."""


class NoConverter(UnsupportedError):
    """An operator without a row in the table."""


@dataclass(frozen=True)
class NotKnown:
    """A value without a representation in the IR; only dropped operators may use it."""

    what: str


class GraphReader:
    """Reads the graph of the module `root` into the function that `builder` builds.

    `env` maps nodes to values.
    """

    def __init__(
        self,
        builder: BlockBuilder,
        custom: Mapping[str, CustomConverter] | None = None,
        root: Any = None,
        random: RandomNumbers | None = None,
        fallback: bool = False,
    ):
        self.block_builder = builder
        self.fallback = fallback
        self.root = root
        self.env: dict[Any, Any] = {}
        self.symbols = Symbols()
        self.emitter = Emitter(builder, self.symbols, random)
        self.coverage = Coverage()
        self.custom = dict(custom or {})
        self._dataflow: ExitStack | None = None

    # The interface of users' converters.

    def retrieve_args(self, node: Any) -> list[Any]:
        """Return the positional arguments of a node, with nodes replaced by values."""
        return [self.value(a) for a in node.args]

    def value(self, argument: Any) -> Any:
        """Return the value of a node's argument."""
        return mapped(argument, self._leaf)

    def _leaf(self, argument: Any) -> Any:
        if type(argument).__name__ == "Node":
            value = self.env[argument]
            if isinstance(value, Postponed):
                value = self.env[argument] = value.make()
            if isinstance(value, NotKnown):
                raise UnsupportedError(f"{value.what} is not a value of the program")
            return value
        return plain_argument(argument)

    # Blocks.

    @contextmanager
    def blocks(self) -> Iterator[None]:
        """Build in a dataflow block, which control flow interrupts."""
        self._open()
        yield
        self._close(())

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Build outside of dataflow blocks; values of the suspended block that later nodes use become its outputs."""
        if self._dataflow is None:
            yield
            return
        self._close(n for n, value in self.env.items() if value is not None and self._is_needed(n))
        yield
        self._open()

    def _is_needed(self, node: Any) -> bool:
        return any(user not in self.env for user in node.users)

    def _open(self) -> None:
        self._dataflow = ExitStack()
        self._dataflow.enter_context(self.block_builder.dataflow())

    def _close(self, live: Iterable[Any]) -> None:
        """End the dataflow block, whose outputs are the values of the nodes `live`."""
        assert self._dataflow is not None
        exported = {node: mapped(self.env[node], self._exported) for node in live}
        self.env.update(exported)
        self._dataflow.close()
        self._dataflow = None

    def _exported(self, value: Any) -> Any:
        if isinstance(value, Pairs):
            return value.mapped(self._exported)
        return self.block_builder.export(value) if isinstance(value, DataflowVar) else value

    # Nested graphs.

    def nested(self, module: Any, arguments: Sequence[Any]) -> list[Any]:
        """Convert a nested graph for the values of its placeholders, and return its outputs."""
        return self._inner(Emitter(self.block_builder, self.symbols, self.emitter.random), module, arguments)

    def elementwise(self, module: Any, arguments: Sequence[Any]) -> Expr:
        """Convert a graph of scalars for tensors, whose elements it is computed for: its traced shapes do not hold."""
        inner = copy(self)
        inner.fallback = False
        (value,) = inner._inner(Emitter(self.block_builder, None, self.emitter.random), module, arguments)
        (output,) = leaves(_output(module))
        return self.emitter.tensor(value, dtype_name(output.meta["val"].dtype))

    def _inner(self, emitter: Emitter, module: Any, arguments: Sequence[Any]) -> list[Any]:
        inner = copy(self)
        inner.root, inner.env, inner._dataflow, inner.emitter = module, {}, None, emitter
        placeholders = [n for n in module.graph.nodes if n.op == "placeholder"]
        inner.env.update(zip(placeholders, arguments, strict=True))
        inner.read(n for n in module.graph.nodes if n.op in ("call_function", "get_attr"))
        value = inner.value(_output(module))
        return value if isinstance(value, list) else [value]

    # Nodes.

    def read(self, nodes: Iterable[Any]) -> None:
        """Convert nodes of the kinds `call_function` and `get_attr`, in order.

        Unsupported operators are collected in `coverage`; other errors raise `ModelError` with the node.
        """
        for node in nodes:
            self.emitter.node = node
            try:
                self.env[node] = self._converted(node)
                self.coverage.add(target_name(node.target), Status.CONVERTED)
            except UnsupportedError as error:
                if self._falls_back(node):
                    continue
                reason = "" if isinstance(error, NoConverter) else _reason(error)
                self.coverage.add(target_name(node.target), Status.UNSUPPORTED, place_of(node), reason)
                self.env[node] = self._stand_in(node)
            except TiraxError as error:
                if self._falls_back(node):
                    continue
                raise ModelError(
                    f"{node.target} cannot be converted: {error.message}", node=node.name, location=location_of(node),
                    expected=error.expected, found=error.found, hint=error.hint,
                ) from error  # fmt: skip

    def _falls_back(self, node: Any) -> bool:
        """Let PyTorch compute a node that cannot be converted; return whether it can."""
        if not (self.fallback and hasattr(node.target, "_schema")):
            return False
        try:
            self.env[node] = call_torch(self, node)
        except UnsupportedError:
            return False
        self.coverage.add(target_name(node.target), Status.FALLBACK, place_of(node))
        return True

    def _converted(self, node: Any) -> Any:
        value = node.meta.get("val")
        if is_complex(value) or any(is_complex(n.meta.get("val")) for n in node.all_input_nodes):
            return self._complex(node)
        if is_symbolic(value) and not _defines_symbol(node):
            return self.symbols.extent(value)
        if node.op == "get_attr":
            return self.attribute(node)
        name = getattr(node.target, "__name__", str(node.target))
        if name in self.custom:
            return self._bound(self.custom[name](node, self))
        if name == "getitem":
            return self._item(*self.retrieve_args(node))
        if type(node.target).__module__.startswith("torch._higher_order_ops") or name in CONTROL_FLOW:
            return self._convert_control_flow(node, name)
        if not hasattr(node.target, "_schema"):
            return self._python(node)
        return self._called(node)

    def _complex(self, node: Any) -> Any:
        """Return the result of a node that takes or returns complex tensors."""
        if node.op == "get_attr":
            return Pairs(whole=constant(as_pairs(self._attribute_value(node))))
        if getattr(node.target, "__name__", "") == "getitem":
            return self._item(*self.retrieve_args(node))
        if not hasattr(node.target, "_schema"):
            raise UnsupportedError("complex numbers are not supported here")
        operator, overload = operator_name(node.target)
        if operator in DROPPED:
            return None
        convert = complex_converter(operator, overload)
        if convert is None:
            raise UnsupportedError("no converter is there for complex numbers")
        args, kwargs = normalized(node.target, node.args, node.kwargs)
        return self._applied(convert, self.value(args), {k: self.value(v) for k, v in kwargs.items()})

    def attribute(self, node: Any) -> Any:
        """Return a constant or submodule of the graph's module."""
        value = self._attribute_value(node)
        return constant(value) if hasattr(value, "is_complex") else value

    def _attribute_value(self, node: Any) -> Any:
        value: Any = self.root
        for part in node.target.split("."):
            value = getattr(value, part)
        return value

    def _convert_control_flow(self, node: Any, name: str) -> Any:
        convert = CONTROL_FLOW.get(name)
        if convert is None:
            raise NoConverter("no converter is there")
        return convert(self, *self.retrieve_args(node))

    def _called(self, node: Any) -> Any:
        operator, overload = operator_name(node.target)
        if operator in DROPPED:
            return None
        convert = lookup(operator, overload)
        if convert is None:
            raise NoConverter("no converter is there")
        args, kwargs = normalized(node.target, node.args, node.kwargs)
        values = self.value(args)
        if values and takes_tensor(node.target) and isinstance(values[0], int | float):  # as in the results of vmap
            values[0] = const(values[0], dtype_beside(values[0], values[1:]))
        return self._applied(convert, values, {k: self.value(v) for k, v in kwargs.items()})

    def _applied(self, convert: Converter, values: list[Any], by_keyword: Mapping[str, Any]) -> Any:
        """Return the results of a converter, bound. Raises `UnsupportedError` for arguments that it cannot take."""
        try:
            return self.emitter.as_traced(self._bound(convert(self.emitter, *values, **by_keyword)))
        except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, TiraxError):
                raise
            raise UnsupportedError(f"no converter is for such arguments ({type(error).__name__}: {error})") from error

    def _python(self, node: Any) -> Any:
        """Evaluate a Python function on known numbers, or one whose result is unused (comparisons of sizes)."""
        args = [self.env.get(a) if type(a).__name__ == "Node" else a for a in node.args]
        if all(isinstance(a, bool | int | float) for a in args):
            return node.target(*args)
        name = getattr(node.target, "__name__", str(node.target))
        if is_symbolic_float(node.meta.get("val")) and is_known(name) and not node.kwargs:
            return Postponed(lambda: computed_number(self.emitter, name, self.value(node.args)))
        return NotKnown(f"{name} of sizes")

    def _bound(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self._bound(v) for v in value]
        if isinstance(value, Pairs):
            return value.mapped(self._bound)
        return self.emitter.bound(value) if isinstance(value, Expr) else value

    def _item(self, value: Any, index: Any) -> Any:
        if isinstance(value, list | tuple | ShapeExpr):
            return value[index]
        return self.block_builder.emit(TupleGetItem(value, index))

    def _stand_in(self, node: Any) -> Any:
        """Return a placeholder of the right type for an unsupported node, so that later nodes are checked."""
        return mapped(node.meta.get("val"), self._unknown)

    def _unknown(self, value: Any) -> Any:
        if not hasattr(value, "dtype"):
            return value
        extents = [self.symbols.extent(s) for s in value.shape]
        if value.is_complex():
            return Pairs(whole=Var("unsupported", TensorStructInfo([*extents, 2], dtype_name(value.dtype.to_real()))))
        return Var("unsupported", TensorStructInfo(extents, dtype_name(value.dtype)))


def _output(module: Any) -> Any:
    """Return what a graph returns: a node, or several."""
    (output,) = (n for n in module.graph.nodes if n.op == "output")
    return output.args[0]


def target_name(target: Any) -> str:
    """Return the name of a node's target, such as `aten.add.Tensor`."""
    return str(target) if hasattr(target, "_schema") or isinstance(target, str) else target.__name__


def _reason(error: UnsupportedError) -> str:
    return error.message if error.found is None else f"{error.message}: {error.found}"


def _defines_symbol(node: Any) -> bool:
    """Return whether a number is read from a tensor, instead of computed from sizes."""
    return hasattr(node.target, "_schema") and operator_name(node.target)[0] in ("item", "_local_scalar_dense")
