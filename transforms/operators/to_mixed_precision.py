"""Mixed precision: convolutions, matrix products and attention in float16 or bfloat16, other operators in float32.

Only dataflow blocks are rewritten, by the policies of `mixed_precision_policy`. First a backward pass finds the
variables used only by operators of the policy `ALWAYS`: these are converted at their definition (parameters: at the
start of the block), all others at their uses. Types of values that leave a block are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType, f32
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...diagnostics import DTypeError, unknown_name
from ...dialects import relax
from ...dialects.dtypes import dtype_name, dtype_of, is_float
from ...dialects.names import name_of, set_name
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType, tuple_type
from ...ir.functions.lookup import binding_blocks, ops_of_type, relax_functions
from ...ir.names import NameSupply, make_unique, name_bindings
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import insert_before, set_type
from ...ir.rewriting.infer import infer_again
from .mixed_precision_policy import Policy, policy_of

_LOW = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}
"""The low-precision dtypes, with the greatest finite number of each."""

Dtypes = Attribute | None | tuple["Dtypes", ...]
"""The dtype of a tensor, or a tuple of them for a tuple; None if unknown, and for other values."""


@dataclass(frozen=True)
class ToMixedPrecision(Pass):
    """Compute suitable operators in `dtype`, float16 (default) or bfloat16.

    Sums of products have the dtype `out_dtype`.

    y = matmul(x, w)  ->  y = astype(matmul(astype(x, "float16"), astype(w, "float16"), out_dtype="float32"), "float16")

    `fp16_input_names`: parameters that become tensors of `dtype` themselves. `out_dtype="bfloat16"` implies that dtype.
    Conversions of constants are explicit; `FoldConstant` computes them. Values of float64 or integers are kept.

    Raises `DTypeError` for other dtypes and for parameters that are not float32 tensors, `NameLookupError` for unknown
    parameters.
    """

    name = "to-mixed-precision"
    out_dtype: str = "float32"
    fp16_input_names: tuple[str, ...] | None = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fp16_input_names", tuple(self.fp16_input_names or ()) or None)
        if self.low not in _LOW:
            raise DTypeError("mixed precision has no such dtype", expected=" or ".join(_LOW), found=self.low)
        if self.out_dtype not in ("float32", self.low):
            raise DTypeError(
                "out_dtype of mixed precision is unknown", expected=f"float32 or {self.low}", found=self.out_dtype
            )

    @property
    def low(self) -> str:
        """The name of the low precision."""
        return self.dtype or (self.out_dtype if self.out_dtype in _LOW else "float16")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        low = dtype_of(self.low)
        lowered = _lower_parameters(op, self.fp16_input_names or (), low)
        for func in relax_functions(op):
            rewriter = _Rewriter(low, dtype_of(self.out_dtype), func)
            rewriter.original.update({p: f32 for p in func.params if p in lowered})
            rewriter.run()
        _convert_arguments(op, lowered)


def _lower_parameters(module: ModuleOp, names: Sequence[str], low: Attribute) -> set[SSAValue]:
    """Change the parameters with these names to low precision."""
    params = [p for func in relax_functions(module) for p in func.params]
    requested = set(names)
    selected = [p for p in params if name_of(p) in requested]
    missing = sorted(requested - {str(name_of(p)) for p in selected})
    if missing:
        known = {n for p in params if (n := name_of(p))}
        raise unknown_name("parameter", ", ".join(missing), known)
    wrong = [p for p in selected if dtypes_of(p.type) not in (f32, low)]
    if wrong:
        raise DTypeError(
            f"fp16_input_names: {', '.join(str(name_of(p)) for p in wrong)}",
            expected="tensors of float32",
            found=", ".join(str(p.type) for p in wrong),
        )
    changed: set[SSAValue] = {p for p in selected if dtypes_of(p.type) == f32}
    for p in changed:
        set_type(p, with_dtypes(p.type, low))
    return changed


def _convert_arguments(module: ModuleOp, changed: set[SSAValue]) -> None:
    """Convert the arguments of calls to functions whose parameters have changed."""
    named = {f.sym_name.data: f.params for f in relax_functions(module) if any(p in changed for p in f.params)}
    for call in [c for c in module.walk() if isinstance(c, relax.CallOp) and c.callee_name in named]:
        for i, param in enumerate(named[call.callee_name]):
            dtypes = dtypes_of(param.type)
            if dtypes_of(call.operands[i].type) != dtypes:
                converted = _astype(call.operands[i], cast(Attribute, dtypes))
                insert_before(call, converted)
                call.operands[i] = converted.results[0]
                name_bindings(cast(relax.FuncOp, _function(call)))


def _function(op: Operation) -> Operation:
    while not isinstance(op, relax.FuncOp):
        op = cast(Operation, op.parent_op())
    return op


def dtypes_of(t: Attribute) -> Dtypes:
    """Return the dtypes of a type's tensors."""
    if isinstance(t, TupleType):
        return tuple(dtypes_of(f) for f in t.types)
    return t.element if isinstance(t, TensorType) else None


def with_dtypes(t: Attribute, dtypes: Dtypes) -> Attribute:
    """Return a type with other dtypes."""
    if isinstance(t, TupleType) and isinstance(dtypes, tuple):
        return tuple_type(with_dtypes(f, d) for f, d in zip(t.types, dtypes, strict=True))
    if isinstance(t, TensorType) and isinstance(dtypes, Attribute):
        return TensorType(t.shape, t.ndim, dtypes, t.vdevice)
    return t


def _leaves(dtypes: Dtypes) -> Iterator[Attribute | None]:
    if isinstance(dtypes, tuple):
        for d in dtypes:
            yield from _leaves(d)
    else:
        yield dtypes


def _mapped(dtypes: Dtypes, f: Callable[[Attribute | None], Attribute | None]) -> Dtypes:
    return tuple(_mapped(d, f) for d in dtypes) if isinstance(dtypes, tuple) else f(dtypes)


def _astype(value: SSAValue, dtype: Attribute) -> Operator:
    return relax.OPERATORS["relax.astype"].make(value, dtype=dtype)


def _merged(a: Dtypes, b: Dtypes) -> Dtypes:
    """Return the demand of two uses: the common one, else the existing precision (float32)."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return tuple(_merged(x, y) for x, y in zip(a, b, strict=True))
    return a if a == b else f32


@dataclass
class _Decisions:
    """The demand of the uses of each value in dataflow blocks: the low dtype, float32, or None for either."""

    low: Attribute
    demands: dict[SSAValue, Dtypes] = field(default_factory=dict[SSAValue, Dtypes])

    def visit(self, block: Block) -> None:
        """Add the uses in a dataflow block; later blocks come first."""
        for op in reversed(list(block.ops)):
            if isinstance(op, relax.TupleOp):
                self._visit_tuple(op)
            elif isinstance(op, relax.TupleGetItemOp) and isinstance(op.tuple_.type, TupleType):
                fields: list[Dtypes] = [_everywhere(t, None) for t in op.tuple_.type.types]
                fields[op.index.data] = self.demands.get(op.result, fields[op.index.data])
                self._ask(op.tuple_, tuple(fields))
            else:
                always = is_always(op, self.low)
                for inner in op.walk():
                    for v in inner.operands:
                        self._ask(v, _everywhere(v.type, self.low if always else f32))

    def _visit_tuple(self, op: relax.TupleOp) -> None:
        demanded = self.demands.get(op.result, _everywhere(op.result.type, None))
        for v, d in zip(op.fields_, cast("tuple[Dtypes, ...]", demanded), strict=True):
            self._ask(v, d)

    def _ask(self, value: SSAValue, dtypes: Dtypes) -> None:
        known = self.demands.get(value, dtypes)
        self.demands[value] = _merged(known, dtypes)

    def conversion(self, value: SSAValue) -> Dtypes:
        """Return the dtypes to which a value is converted at its definition."""
        demanded = self.demands.get(value)
        return _chosen(dtypes_of(value.type), demanded, self.low)


def _everywhere(t: Attribute, dtype: Attribute | None) -> Dtypes:
    return tuple(_everywhere(f, dtype) for f in t.types) if isinstance(t, TupleType) else dtype


def _chosen(now: Dtypes, demanded: Dtypes, low: Attribute) -> Dtypes:
    """Return the low dtype for float32 values where it is demanded, else the current one."""
    if isinstance(now, tuple):
        if not isinstance(demanded, tuple):
            return now
        return tuple(_chosen(n, w, low) for n, w in zip(now, demanded, strict=True))
    return low if now == f32 and demanded == low else now


def is_always(op: Operation, low: Attribute) -> bool:
    """Return whether an operation is computed in low precision for any inputs."""
    if not isinstance(op, Operator) or policy_of(op) is not Policy.ALWAYS:
        return False
    floats = [d for v in op.operands for d in _floats(v.type)]
    return bool(floats) and {*floats, *_floats(op.result_type)} <= {f32, low}


def _floats(t: Attribute) -> list[Attribute | None]:
    """Return the dtypes of tensors in a type, except integers and bools; None is an unknown one."""
    if isinstance(t, TupleType):
        return [d for f in t.types for d in _floats(f)]
    if not isinstance(t, TensorType):
        return []
    return [t.element] if t.element is None or is_float(t.element) else []


class _Rewriter:
    """Rewriter of one function."""

    def __init__(self, low: Attribute, out: Attribute, func: relax.FuncOp):
        self._low, self._out, self._func = low, out, func
        self._decisions = _Decisions(low)
        self._names = NameSupply()
        self.original: dict[SSAValue, Dtypes] = {}
        """The dtypes in the program as it was of values that have others now."""
        self._changed = False

    def run(self) -> None:
        blocks = list(ops_of_type(self._func, relax.DataflowOp))
        for dataflow in reversed(blocks):
            self._decisions.visit(dataflow.body.block)
        if self.original:
            self._restore_outside()
        for dataflow in blocks:
            self._convert_parameters(dataflow.body.block)
            for op in list(dataflow.body.block.ops):
                if isinstance(op, relax.OutputOp):
                    self._finish(dataflow, op)
                else:
                    self._visit(op, dataflow)
        if self._changed:
            make_unique(self._func)

    def _restore_outside(self) -> None:
        """Convert parameters of low precision back at uses outside of dataflow blocks."""
        for block in binding_blocks(self._func):
            if not isinstance(block.parent_op(), relax.DataflowOp):
                for op in list(block.ops):
                    self._set_operands(op, [self._restored(v, op) for v in op.operands])

    def _convert_parameters(self, block: Block) -> None:
        start = block.first_op
        for param in self._func.params:
            dtypes = self._decisions.conversion(param)
            if dtypes != dtypes_of(param.type) and any(_inside(u.operation, block) for u in param.uses):
                uses = [u for u in param.uses if _inside(u.operation, block)]
                new = self._bind(param, dtypes, cast(Operation, start), None)
                self.original[new] = self._originals(param)
                for use in uses:
                    use.operation.operands[use.index] = new

    def _visit(self, op: Operation, dataflow: relax.DataflowOp) -> None:
        for inner in [i for region in op.regions for i in region.walk()]:
            self._set_operands(inner, [self._restored(v, inner) for v in inner.operands])
        if isinstance(op, relax.TupleOp | relax.TupleGetItemOp | relax.BindOp):
            self._retype(op)
        elif is_always(op, self._low):
            self._lower(op)
            if "out_dtype" in cast(Operator, op).ATTR_SPECS:
                op.properties["out_dtype"] = self._out
            self._retype(op)
        elif self._follows(op):
            self._lower(op)
            self._retype(op)
        else:
            self._set_operands(op, [self._restored(v, op) for v in op.operands])
        if not relax.is_inline(op):
            self._convert_result(op, dataflow)

    def _lower(self, op: Operation) -> None:
        self._set_operands(op, [self._cast(v, self._lowest(v), op) for v in op.operands])

    def _lowest(self, value: SSAValue) -> Dtypes:
        return _mapped(dtypes_of(value.type), lambda d: self._low if d == f32 else d)

    def _follows(self, op: Operation) -> bool:
        """Return whether all inputs of a neutral operator have low precision, or are constants that can have it."""
        if not isinstance(op, Operator) or policy_of(op) is not Policy.FOLLOW:
            return False
        leaves = [leaf for v in op.operands for leaf in _inline_leaves(v)]
        floats = [v for v in leaves if _floats(v.type)]
        return bool(floats) and all(self._is_low(v) for v in floats)

    def _is_low(self, value: SSAValue) -> bool:
        if set(_floats(value.type)) == {self._low}:
            return True
        op = value.owner
        if not isinstance(op, relax.ConstantOp) or not relax.is_inline(op) or dtypes_of(value.type) != f32:
            return False
        return not bool(np.any(np.abs(op.value.numpy()) > _LOW[dtype_name(self._low)]))

    def _retype(self, op: Operation) -> None:
        """Infer the dtypes of the result again; known shapes are kept."""
        result = op.results[0]
        before = result.type
        infer_again(op)
        now = dtypes_of(result.type)
        set_type(result, with_dtypes(before, now))
        if now != dtypes_of(before):
            self.original.setdefault(result, dtypes_of(before))

    def _convert_result(self, op: Operation, dataflow: relax.DataflowOp) -> None:
        """Convert the result to the dtype of its uses, or that in which it must leave the block."""
        result, anchor = op.results[0], cast(Operation, op.next_op)
        leaves = any(name_of(dataflow.outputs[i]) == name_of(result) for i in _outputs(dataflow, result))
        renamed = leaves or is_always(op, self._low)
        if leaves:
            dtypes = self.original.get(result, dtypes_of(result.type))
        else:
            dtypes = self._lowest(result) if renamed else self._decisions.conversion(result)
        if dtypes == dtypes_of(result.type):
            return
        users, name = list(result.uses), name_of(result) if renamed else None
        if renamed:
            set_name(result, self._names.fresh("lv"))
        new = self._bind(result, dtypes, anchor, name)
        self.original.setdefault(new, self._originals(result))
        for use in users:
            use.operation.operands[use.index] = new

    def _finish(self, dataflow: relax.DataflowOp, output: relax.OutputOp) -> None:
        for i, (value, result) in enumerate(zip(list(output.values_), dataflow.outputs, strict=True)):
            dtypes = self._originals(value)
            if dtypes_of(value.type) != dtypes:
                output.operands[i] = self._bind(value, dtypes, output, name_of(result))

    def _originals(self, value: SSAValue) -> Dtypes:
        """Return the dtypes of a value in the original program."""
        op = value.owner
        if isinstance(op, relax.TupleOp) and relax.is_inline(op):
            return tuple(self._originals(v) for v in op.fields_)
        return self.original.get(value, dtypes_of(value.type))

    def _restored(self, value: SSAValue, anchor: Operation) -> SSAValue:
        return self._cast(value, self._originals(value), anchor)

    def _set_operands(self, op: Operation, operands: Sequence[SSAValue]) -> None:
        for i, v in enumerate(operands):
            if op.operands[i] is not v:
                op.operands[i] = v
        if isinstance(op, relax.TupleOp):
            infer_again(op)

    def _cast(self, value: SSAValue, dtypes: Dtypes, anchor: Operation) -> SSAValue:
        """Return a value with its tensors converted before `anchor`; a tuple of them is inline, without a name."""
        if dtypes_of(value.type) == dtypes:
            return value
        converted = self._converted(value, dtypes, anchor)
        insert_before(anchor, converted)
        if not isinstance(converted, relax.TupleOp):
            set_name(converted.results[0], self._names.fresh("lv"))
        return converted.results[0]

    def _bind(self, value: SSAValue, dtypes: Dtypes, anchor: Operation, name: str | None) -> SSAValue:
        """Bind a value converted to other dtypes to a variable; a new one without a `name`."""
        converted = self._converted(value, dtypes, anchor)
        insert_before(anchor, converted)
        set_name(converted.results[0], name or self._names.fresh("lv"))
        return converted.results[0]

    def _converted(self, value: SSAValue, dtypes: Dtypes, anchor: Operation) -> Operation:
        self._changed = True
        if not isinstance(dtypes, tuple):
            return _astype(value, cast(Attribute, dtypes))
        fields = self._fields(value, anchor)
        return relax.TupleOp([self._cast(f, w, anchor) for f, w in zip(fields, dtypes, strict=True)])

    def _fields(self, value: SSAValue, anchor: Operation) -> Iterator[SSAValue]:
        if isinstance(value, OpResult) and isinstance(value.op, relax.TupleOp) and relax.is_inline(value.op):
            yield from value.op.fields_
            return
        for i in range(len(cast(TupleType, value.type).types)):
            item = relax.TupleGetItemOp(value, i)
            insert_before(anchor, item)
            set_name(item.result, self._names.fresh("lv"))
            yield item.result


def _inline_leaves(value: SSAValue) -> Iterator[SSAValue]:
    op = value.owner
    if isinstance(op, relax.TupleOp) and relax.is_inline(op):
        for v in op.fields_:
            yield from _inline_leaves(v)
    else:
        yield value


def _outputs(dataflow: relax.DataflowOp, value: SSAValue) -> list[int]:
    return [u.index for u in value.uses if u.operation is dataflow.output_op]


def _inside(op: Operation, block: Block) -> bool:
    return block.is_ancestor(op)
