"""Functions on tensors become Relax functions, and each structured operation a tensor function that they call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr

from ...diagnostics import UnsupportedError
from ...dialects import relax, tir
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import tuple_type
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr
from ...ir.locations import location_of
from ...ir.names import NameSupply
from ...te.create import add_scalar_params, undetermined_vars
from .blocks import Dims, Place, Storage, append_block, append_copy, direct, extents_of
from .scalars import Expressions, scalar_type
from .scalars import number as constant
from .structured import Compute, Structured, element_of, rank

Number = IntegerAttr[Any] | FloatAttr[Any]


@dataclass(frozen=True)
class Filled:
    """A tensor whose elements are all one number, None if they do not count."""

    dims: Dims
    dtype: Attribute
    value: Number | None


Known = SSAValue | SymExpr | Number | Filled
"""The conversion of a value: a Relax value, a size, a number, or a tensor that is not created yet."""


class Graph:
    """A Relax function in the making, of a function on tensors."""

    def __init__(
        self, names: NameSupply, functions: dict[str, func.FuncOp], globals_: dict[str, Operation] | None = None
    ):
        self.globals = globals_ or {}
        self.block = Block()
        self.values: dict[SSAValue, Known] = {}
        self.kernels: list[tir.FuncOp] = []
        self.names, self.functions = names, functions
        self._open: list[func.FuncOp] = []

    # -- values ------------------------------------------------------------------------------------------------------

    def add(self, op: Operation) -> SSAValue:
        """Append an operation of Relax; its result."""
        self.block.add_op(op)
        if op.results[0].name_hint is None and not relax.is_inline(op):
            set_name(op.results[0], "lv")
        return op.results[0]

    def operator(self, name: str, *args: SSAValue, **attributes: Any) -> SSAValue:
        """Append an operator of Relax; its result."""
        return self.add(relax.OPERATORS[f"relax.{name}"].make(*args, **attributes))

    def size(self, value: SSAValue) -> SymExpr:
        """Return an index as a size. Raises `UnsupportedError` for one that is computed from data."""
        known = self.values.get(value)
        if isinstance(known, IntegerAttr):
            return Const(known.value.data)
        if isinstance(known, SymExpr):
            return known
        raise UnsupportedError(
            "a size that depends on data",
            location=location_of(value.owner if isinstance(value.owner, Operation) else None),
            expected="constants, dimensions of tensors, and arithmetic of them",
        )

    def dims(self, value: SSAValue) -> Dims:
        """Return the sizes of a tensor."""
        known = self.values[value]
        if isinstance(known, Filled):
            return known.dims
        if isinstance(known, SSAValue) and isinstance(known.type, relax.TensorType) and known.type.dims is not None:
            return known.type.dims
        return ()

    def own(self, value: SSAValue) -> SSAValue:
        """Let rules read a value of the Relax function like one of the source, and return it."""
        self.values[value] = value
        return value

    def tensor(self, value: SSAValue) -> SSAValue:
        """Return a value as a tensor of Relax."""
        known = self.values.get(value)
        if isinstance(known, SSAValue):
            return known
        if isinstance(known, Filled):
            content = known.value or IntegerAttr(0, i64)
            element = constant(content, known.dtype)
            result = self.pointwise("fill", known.dims, known.dtype, lambda p, i, o: [p.add(element.clone())])
        elif isinstance(known, IntegerAttr | FloatAttr):
            result = self.add(relax.ConstantOp.of(known.value.data, scalar_type(value.type)))
        elif isinstance(known, SymExpr):
            result = self.pointwise("size", (), i64, lambda p, i, o: [p.add(ValueOp(known))])
        else:
            raise UnsupportedError("a value from outside of the function")
        self.values[value] = result
        return result

    # -- kernels -----------------------------------------------------------------------------------------------------

    def pointwise(self, name: str, dims: Dims, dtype: Attribute, compute: Compute) -> SSAValue:
        """Return a tensor whose elements are computed at their indices; `compute` has no operands."""
        every = tuple(AffineExpr.dimension(d) for d in range(len(dims)))
        s = Structured(name, (), (), [False] * len(dims), [every], compute, updates=False)
        (result,) = self.call(s, list(dims), [(dims, dtype)], [])
        return result

    def run(self, s: Structured, at: Operation, results: Sequence[SSAValue]) -> None:
        """Append the call of a structured operation."""
        shapes = {v: self.dims(v) for v in (*s.inputs, *s.outputs) if rank(v) and v in self.values}
        if any(v not in self.values for v in s.outputs):  # elementwise: the outputs are the results
            first = next(v for v in s.inputs if rank(v))
            shapes |= dict.fromkeys(s.outputs, shapes[first])
        extents = extents_of(s, shapes, at)
        for value, indices in zip(s.inputs, s.maps, strict=False):
            self._check_sizes(value, indices, extents)
        if s.name == "fill" and isinstance(self.values.get(s.inputs[0]), IntegerAttr | FloatAttr):
            content = cast(Number, self.values[s.inputs[0]])
            self.values[results[0]] = Filled(extents, element_of(results[0]), content)
            return
        outs = [(shapes.get(v, ()), element_of(v)) for v in s.outputs]
        inits = list(s.outputs) if s.updates or any(map(s.is_part, range(len(outs)))) else []
        for result, output in zip(results, self.call(s, extents, outs, inits), strict=True):
            self.values[result] = output

    def _check_sizes(self, value: SSAValue, indices: Sequence[AffineExpr], extents: Dims) -> None:
        """Check at run time that a tensor has the sizes of the iterators that index it, where they are unknown."""
        known = self.values.get(value)
        if not isinstance(known, SSAValue) or not rank(value):
            return
        dims = list(self.dims(value))
        every = [AffineExpr.dimension(d) for d in range(len(extents))]
        expected = [extents[every.index(i)] if i in every else size for i, size in zip(indices, dims, strict=True)]
        if expected != dims:
            self.values[value] = self.add(relax.MatchCastOp(known, relax.TensorType.of(expected, element_of(value))))

    def call(
        self, s: Structured, extents: Dims, outs: Sequence[tuple[Dims, Attribute]], inits: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Make the kernel of `s` and call it; return the tensors that it makes."""
        body = Block()
        args: list[SSAValue] = []
        buffers: dict[SSAValue, SSAValue] = {}

        def buffer_of(value: SSAValue) -> SSAValue:
            if value not in buffers:
                result = self.tensor(value)
                dims = cast(relax.TensorType, result.type).dims or ()
                buffers[value] = body.insert_arg(tir.BufferType.of(dims, element_of(value)), len(args))
                set_name(buffers[value], f"a{len(args)}")
                args.append(result)
            return buffers[value]

        def outer(e: Expressions, value: SSAValue) -> SSAValue:
            known = self.values.get(value)
            if isinstance(known, SymExpr):
                return e.add(ValueOp(known))
            if isinstance(known, IntegerAttr | FloatAttr):
                return e.add(constant(known, scalar_type(value.type)))
            buffer = buffer_of(value)
            return buffer if rank(value) else e.add(tir.LoadOp(buffer, ()))

        for value in s.inputs:
            if rank(value):
                buffer_of(value)
        starts = [self._start(s, number, value, buffer_of) for number, value in enumerate(inits)]
        outputs = [body.insert_arg(tir.BufferType.of(dims, dtype), len(body.args)) for dims, dtype in outs]
        for position, output in enumerate(outputs):
            set_name(output, f"out{position}")
        inputs = {value: direct(buffer) for value, buffer in buffers.items()}
        storage = Storage(inputs, list(map(direct, outputs)), starts or [None] * len(outs), outer)
        _copy_parts(body, s, storage, [dims for dims, _ in outs])
        append_block(body, s, extents, storage)
        return self.called(body, args, outputs, s.name)

    def _start(
        self, s: Structured, number: int, value: SSAValue, buffer_of: Callable[[SSAValue], SSAValue]
    ) -> Place | tir.ConstOp | None:
        """Return the initial value of an output; None if it does not count."""
        known = self.values[value]
        if not s.updates and not s.is_part(number):
            return None
        if isinstance(known, Filled) and known.value is not None:
            return constant(known.value, known.dtype)
        return direct(buffer_of(value))

    def called(self, body: Block, args: Sequence[SSAValue], outputs: Sequence[SSAValue], name: str) -> list[SSAValue]:
        """Call the kernel with this body; return the tensors of `outputs`, which are parameters."""
        # Buffers of captured values come in while the statements are made: the outputs move behind them.
        ordered = [*(a for a in body.args if a not in outputs), *outputs]
        final = Block(arg_types=[a.type for a in ordered])
        for old, new in zip(ordered, final.args, strict=True):
            set_name(new, name_of(old))
            old.replace_all_uses_with(new)
        for op in list(body.ops):
            op.detach()
            final.add_op(op)
        kernel = tir.FuncOp(self.names.fresh(name), Region(final), private=True, attrs={"tir.noalias": True})
        variables = undetermined_vars(kernel)
        add_scalar_params(kernel, variables)
        self.kernels.append(kernel)
        types = [
            relax.TensorType.of(cast(tir.BufferType, o.type).dims, cast(tir.BufferType, o.type).dtype) for o in outputs
        ]
        whole = types[0] if len(types) == 1 else tuple_type(types)
        result = self.add(relax.CallTIROp(kernel.sym_name.data, args, whole, variables or None))
        if len(types) == 1:
            return [result]
        return [self.add(relax.TupleGetItemOp(result, i)) for i in range(len(types))]

    # -- control -----------------------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, callee: func.FuncOp, call: Operation) -> Generator[None, None, None]:
        """Remember that a function's body is translated. Raises `UnsupportedError` if it calls itself."""
        if callee in self._open:
            raise UnsupportedError(f"@{callee.sym_name.data} calls itself", location=location_of(call))
        self._open.append(callee)
        yield
        self._open.pop()

    def branch(self, cond: SSAValue, sides: Sequence[Callable[[], list[SSAValue]]]) -> list[SSAValue]:
        """Append a branch; each side makes its block, and gives the results of the source."""
        outer, regions, results = self.block, list[Region](), list[list[SSAValue]]()
        for side in sides:
            self.block, before = Block(), dict(self.values)
            values = [self.tensor(v) for v in side()]
            value = values[0] if len(values) == 1 else self.add(relax.TupleOp(values))
            self.block.add_op(relax.YieldOp(value))
            regions.append(Region(self.block))
            results.append(values)
            self.values = before
        self.block = outer
        if [v.type for v in results[0]] != [v.type for v in results[1]]:
            raise UnsupportedError("a branch whose sides give tensors of different sizes")
        types = [v.type for v in results[0]]
        values = self.add(relax.IfOp(cond, types[0] if len(types) == 1 else tuple_type(types), *regions))
        return [values] if len(types) == 1 else [self.add(relax.TupleGetItemOp(values, i)) for i in range(len(types))]


def _copy_parts(body: Block, s: Structured, storage: Storage, dims: Sequence[Dims]) -> None:
    """Give outputs of which parts are computed their initial values."""
    for number, start in enumerate(storage.starts):
        if start is not None and s.is_part(number):
            append_copy(body, dims[number], start, storage.outputs[number], storage.outer)
            storage.starts[number] = None
