"""Calls of kernels: passing arguments by the kernel ABI (`lowering/tir_to_scf`), and releasing the GIL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from ...diagnostics import DTypeError, ShapeError, UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import bit_width, byte_size, dtype_name, is_float, is_unsigned, lanes_of, scalar_of
from ...dialects.quick import operations
from ...dialects.sym.analyzer import is_nonnegative
from ...dialects.sym.expr import Const, Product, SymExpr, Var, product, terms_of
from ...dialects.sym.operators import OPS, maximum, select
from ...dialects.tir import BufferType
from ...ir.locations import location_of
from ...transforms.tir.guard_indices import OUTSIDE
from ...transforms.tir.index_bounds import Reach, least_extents
from ..tir_to_scf.signature import KernelSignature, kernel_signature, scalar_type
from .cost import cost_of
from .function import HostFunction, Kernel, Shape
from .info import buffer_accesses
from .marks import Mark, mark_kernel, resume, run
from .native import I1, I8, I32, I64, PTR, f64
from .symbols import kernel_symbol
from .values import Prim, Tensor, Value, check_extents

RELEASE_GIL_ABOVE = 200_000
"""Loop iterations above which a kernel runs without the GIL: releasing it costs about 50 ns."""

LONG = 10**9
"""Loop iterations that take a noticeable fraction of a second."""
NO_MEMORY = "{0} KiB of memory cannot be allocated"
MUCH = 1 << 26
"""Bytes above which a buffer allocated by a kernel is checked before the call."""


@dataclass
class KernelCall:
    """A kernel with the values of its arguments, ready to be called."""

    signature: KernelSignature
    args: list[SSAValue]
    work: SymExpr
    mark: Mark | None = None
    """The profiling mark of the call."""


@dataclass
class _Binding:
    """The values of a kernel's symbolic variables in the caller."""

    f: HostFunction
    kernel: str
    values: dict[str, SymExpr] = field(default_factory=dict[str, SymExpr])
    pending: list[tuple[str, SymExpr, SymExpr]] = field(default_factory=list[tuple[str, SymExpr, SymExpr]])

    def match(self, place: str, declared: SymExpr, actual: SymExpr) -> None:
        """Match `declared`, over the kernel's variables, with `actual` in the caller."""
        if isinstance(declared, Var) and isinstance(declared.name, str):
            known = self.values.setdefault(declared.name, actual)
            if known is actual:
                return
        self.pending.append((place, declared, actual))

    def translate(self, expr: SymExpr) -> SymExpr:
        """Return an expression of the kernel over the caller's variables."""
        mapping: dict[Var, SymExpr] = {}
        for var in expr.free_vars():
            value = self.values.get(cast(str, var.name))
            if value is None:
                raise ShapeError(
                    f"@{self.kernel}: nothing determines its symbolic variable '{var.name}'",
                    hint="make it an extent of a buffer by itself, or a scalar parameter given in tir_vars",
                )
            mapping[var] = value
        return expr.substitute(mapping)

    def check(self) -> None:
        """Compare all extents: those that cannot be proved equal here are checked at run time."""
        for place, declared, actual in self.pending:
            expected = self.translate(declared)
            difference = (expected - actual).constant
            if difference == 0:
                continue
            message = f"{place} of the kernel '{self.kernel}' has the wrong extent"
            if difference is not None:
                raise ShapeError(message, expected=expected, found=actual)
            self.f.require_extent(message, declared, expected, actual)


def prepare_kernel(
    f: HostFunction, name: str, values: Sequence[Value], scalars: Sequence[SymExpr], op: Operation | None = None
) -> KernelCall:
    """Check and compute the arguments of a kernel that `op` calls. Raises `ShapeError`, `DTypeError`."""
    kernel = f.module.kernels[name]
    signature = kernel.signature
    binding = _Binding(f, name)
    arguments: list[Value | SymExpr] = [*values, *scalars]
    if len(arguments) != len(signature.params):
        raise ShapeError(f"@{name} takes {len(signature.params)} arguments", found=len(arguments))
    params = list(zip(signature.names, signature.params, arguments, strict=True))
    for param, t, value in params:
        if isinstance(t, IntegerType) and not isinstance(value, Tensor):
            binding.values[param] = _scalar_expr(name, param, value)
    for param, t, value in params:
        if isinstance(t, BufferType):
            _match_buffer(binding, param, t, value)
    binding.check()
    _check_written(name, [(p, v, a) for (p, _, v), a in zip(params, kernel.accesses, strict=True)])
    check_extents(f, [(tuple(map(binding.translate, dims)), t) for dims, t in kernel.buffers])
    _check_reaches(f, name, {tuple(map(binding.translate, k)): reach for k, reach in kernel.least.items()})
    args = [_argument(f, name, param, t, value) for param, t, value in params]
    args += [f.scope.of(binding.translate(Var(v))) for v in signature.symbolic_vars]
    mark = mark_kernel(f, name, op, [_translated(c, binding) for c in _costs(kernel)])
    return KernelCall(signature, args, _work(kernel, binding), mark)


def _check_written(name: str, args: Sequence[tuple[str, Value | SymExpr, str]]) -> None:
    """Reject writes to constants, and to a tensor that is also passed as another argument."""
    for i, (param, value, access) in enumerate(args):
        if access == "read" or not isinstance(value, Tensor) or _is_empty(value):
            continue
        if value.constant is not None:
            hint = "call it with a tensor that it may overwrite"
            raise UnsupportedError(f"the kernel '{name}' writes to '{param}', which is a constant", hint=hint)
        for j, (other, also, _) in enumerate(args):
            if i != j and isinstance(also, Tensor) and also.data is value.data and not _is_empty(also):
                message = f"the kernel '{name}' writes to '{param}', which is '{other}', too"
                raise UnsupportedError(message, hint="pass another tensor, or use call_tir instead of call_tir_inplace")


def _is_empty(value: Tensor) -> bool:
    """Return whether a tensor certainly has no elements: then nothing is accessed, and any address will do."""
    return any(extent.constant == 0 for extent in value.dims)


def _scalar_expr(kernel: str, param: str, value: Value | SymExpr) -> SymExpr:
    expr = value if isinstance(value, SymExpr) else value.value if isinstance(value, Prim) else None
    if not isinstance(expr, SymExpr):
        raise DTypeError(f"parameter '{param}' of the kernel '{kernel}' is an integer", found=type(value).__name__)
    return expr


def _match_buffer(binding: _Binding, param: str, t: BufferType, value: Value | SymExpr) -> None:
    place = f"argument '{param}'"
    if not isinstance(value, Tensor):
        raise DTypeError(f"{place} of the kernel '{binding.kernel}' is a tensor", found=type(value).__name__)
    if value.element != t.dtype:
        dtype = "unknown" if value.element is None else dtype_name(value.element)
        message = f"{place} of the kernel '{binding.kernel}' has the wrong dtype"
        hint = "give it a dtype by match_cast" if value.element is None else None
        raise DTypeError(message, expected=dtype_name(t.dtype), found=dtype, hint=hint)
    if len(value.dims) != t.rank:
        message = f"{place} of the kernel '{binding.kernel}' has the wrong number of dimensions"
        raise ShapeError(message, expected=t.rank, found=len(value.dims))
    for i, (declared, actual) in enumerate(zip(t.dims, value.dims, strict=True)):
        binding.match(f"{place}, dimension {i},", declared, actual)
    for i, declared in enumerate(t.explicit_strides or ()):
        stride = product(value.dims[i + 1 :])
        if t.is_broadcast:
            stride = select(OPS["eq"](value.dims[i], 1), 0, stride)
        binding.match(f"{place}, stride {i},", declared, stride)
    if t.elem_offset is not None:
        binding.match(f"{place}, offset,", t.elem_offset, Const(0))


def _argument(f: HostFunction, kernel: str, param: str, t: Attribute, value: Value | SymExpr) -> SSAValue:
    if isinstance(value, Tensor):
        return value.data
    expr = value.value if isinstance(value, Prim) else value
    if isinstance(expr, SymExpr) and isinstance(t, IntegerType):
        return _truncated(f, f"parameter '{param}' of '{kernel}'", f.scope.of(expr), cast(IntegerType, t))
    if isinstance(expr, SSAValue) and is_float(t):
        return expr if bit_width(t) == 64 else f.pure(arith.TruncFOp, (expr,), t)
    raise DTypeError(
        f"parameter '{param}' of the kernel '{kernel}'", expected=dtype_name(t), found=type(value).__name__
    )


def _truncated(f: HostFunction, place: str, number: SSAValue, t: IntegerType) -> SSAValue:
    """Convert an i64 to the integer type of a parameter, after a range check."""
    if bit_width(t) == 64:
        return number
    narrow = f.pure(arith.TruncIOp, (number,), scalar_type(t))
    holds = f.compare("eq", _widened(f, narrow, t), number)
    f.require(holds, "shape", f"{place} does not fit {dtype_name(t)}", [number], found="{0}")
    return narrow


def _widened(f: HostFunction, number: SSAValue, t: Attribute) -> SSAValue:
    """Convert an integer to i64; `t` determines its signedness."""
    if bit_width(t) == 64:
        return number
    return f.pure(arith.ExtUIOp if is_unsigned(t) or bit_width(t) == 1 else arith.ExtSIOp, (number,), I64)


def _work(kernel: Kernel, binding: _Binding) -> SymExpr:
    work = _translated(kernel.work, binding)
    return Const(RELEASE_GIL_ABOVE + 1) if work is None else work  # extents that only the kernel knows count as large


def _translated(expr: SymExpr, binding: _Binding) -> SymExpr | None:
    """Return an expression over the caller's variables, or None if it has variables that only the kernel knows."""
    try:
        return binding.translate(expr)
    except ShapeError:
        return None


def _costs(kernel: Kernel) -> tuple[SymExpr, ...]:
    return () if kernel.cost is None else (kernel.cost.operations, kernel.cost.bytes)


def kernel_of(name: str, func: tir.FuncOp, costs: bool = False) -> Kernel:
    """Return the properties of the kernel of a tir function, called `name` by its callers; with `costs` also its cost.

    Raises `ShapeError` for an access that is out of bounds whenever the function runs.
    """
    signature = replace(kernel_signature(func), name=name)
    names = {*signature.names, *signature.symbolic_vars}
    least = {
        k: reach for k, reach in least_extents(func).items() if {v.name for e in k for v in e.free_vars()} <= names
    }
    accesses, buffers = tuple(buffer_accesses(func)), _local_buffers(func, signature)
    cost = cost_of(func) if costs else None
    return Kernel(signature, accesses, loop_iterations(func), least, buffers, cost)


def _local_buffers(func: tir.FuncOp, signature: KernelSignature) -> tuple[Shape, ...]:
    """Return the value of `Kernel.buffers`."""
    sizes = [Counter(cast(BufferType, p.type).dims) for p in func.buffer_params]
    names = {*signature.names, *signature.symbolic_vars}
    shapes: dict[Shape, None] = {}
    for dims, dtype in (_shape(op) for op in operations(func) if isinstance(op, tir.AllocBufferOp | tir.AllocateOp)):
        unknown = Counter(d for d in dims if d.constant is None)
        known = prod(n for d in dims if (n := d.constant) is not None)
        large = known * byte_size(dtype) > MUCH or not (not unknown or any(unknown <= size for size in sizes))
        if large and {v.name for d in unknown for v in d.free_vars()} <= names:
            shapes[dims, dtype] = None
    return tuple(shapes)


def _shape(op: tir.AllocBufferOp | tir.AllocateOp) -> Shape:
    if isinstance(op, tir.AllocateOp):
        dims, dtype = op.extents, op.dtype
    else:
        dims, dtype = op.result.type.dims, op.result.type.dtype
    lanes = () if lanes_of(dtype) == 1 else (Const(lanes_of(dtype)),)
    return (*dims, *lanes), scalar_of(dtype)


def _check_reaches(f: HostFunction, kernel: str, least: Mapping[tuple[SymExpr, ...], Reach]) -> None:
    """Exit the function if a kernel would access elements that its arguments do not have."""
    for (extent, *counts), reach in least.items():
        if reach.counts and (extent.constant or 0 in [count.constant for count in counts]):
            continue
        message, most = f"'{kernel}': {reach.text}", int(reach.indices.high)
        known = extent.constant
        if known is not None and known <= most and not counts:
            raise ShapeError(message, location=location_of(reach.op), expected=f"0 to {known - 1}", found=str(most))
        if known is None or counts:
            value = f.scope.of(extent)
            holds = f.compare("slt", f.integer(most), value)
            for count in counts:
                holds = f.binary(arith.OrIOp, holds, f.compare("sle", f.scope.of(count), f.integer(0)))
            f.require(holds, "shape", message, [value], expected=f"an extent above {most}", found="{0}")


def loop_iterations(root: Operation) -> SymExpr:
    """Return an estimate of the loop iterations of a tir function; extents that depend on data count as 16."""
    total: SymExpr = Const(0)
    leaf = True
    for region in root.regions:
        for block in region.blocks:
            for op in block.ops:
                if op.regions:
                    leaf = False
                    total = total + _op_iterations(op)
    return Const(1) if leaf else total


def _op_iterations(op: Operation) -> SymExpr:
    inner = loop_iterations(op)
    if not isinstance(op, tir.ForOp):
        return inner
    extent = op.extent
    if not isinstance(extent, SymExpr) or not all(isinstance(v.name, str) for v in extent.free_vars()):
        return inner * 16
    if extent.constant is not None:
        return inner * extent.constant
    return inner * (extent if is_nonnegative(extent) else maximum(extent, Const(0)))


def run_kernels(f: HostFunction, calls: Sequence[KernelCall]) -> None:
    """Call kernels one after the other, without the GIL if there is much work.

    Signals are checked when the GIL is reacquired, so Ctrl-C ends the function after the running kernel or a few more.
    """
    ends = [i + 1 for i, call in enumerate(calls) if _takes_long(call.work)]
    for begin, end in pairwise((0, *ends, len(calls))):
        if begin < end:
            _run_together(f, calls[begin:end])


def _takes_long(work: SymExpr) -> bool:
    """Return whether a kernel may run for so long that a user would interrupt it: loops of three unknown
    extents may.
    """
    if work.constant is not None:
        return work.constant > LONG
    return any(isinstance(term, Product) and len(term.atoms) > 2 for term, _ in terms_of(work))


def _run_together(f: HostFunction, calls: Sequence[KernelCall]) -> None:
    work: SymExpr = Const(0)
    for call in calls:
        work = work + call.work
    state = _release(f, work)
    ended, success = f.new_block(I32, PTR), f.integer(0, I32)
    for call in calls:
        status = call_kernel(f, call)
        f.when(f.compare("ne", status, success), ended, status, f.place_of_slot(_failure(f, call)))
    f.jump(ended, success, f.null)
    f.block = ended
    status, failure = ended.args
    resume(f)
    if state is not None:
        _take_back(f, state)
    if any(call.signature.raises for call in calls):  # a packed function that a kernel called
        f.unless(f.is_null(f.call("PyErr_Occurred", [])), f.leave)
    f.unless(f.compare("eq", status, success), lambda: _fail(f, calls[-1].signature, status, failure))


def _failure(f: HostFunction, call: KernelCall) -> int:
    """Return the slot of the function that raises the out-of-memory error of a kernel."""
    return f.module.slot("fail", {"error": "memory", "message": f"'{call.signature.name}': {NO_MEMORY}"})


def ends_run(signature: KernelSignature) -> bool:
    """Return whether the code after the kernel depends on its status."""
    return bool(signature.assertions)


def call_kernel(f: HostFunction, call: KernelCall) -> SSAValue:
    """Call a kernel; return its status."""
    run(f, call.mark)
    return f.call_pointer(f.symbol(kernel_symbol(call.signature.name)), call.args, I32)


def _fail(f: HostFunction, last: KernelSignature, status: SSAValue, failure: SSAValue) -> None:
    """Exit the function with the error of a status: out of memory, or a failed assertion of the last kernel."""

    def no_memory() -> None:
        missing = f.binary(arith.SubiOp, f.integer(0), f.pure(arith.ExtSIOp, (status,), I64))
        f.vectorcall(f.read(failure), [f.own(f.call("PyLong_FromLongLong", [missing]))])
        f.leave()

    f.unless(f.compare("slt", f.integer(0, I32), status), no_memory)
    for i, message in enumerate(last.assertions):
        holds = f.compare("ne", status, f.integer(i + 1, cast(IntegerType, status.type)))
        if message.startswith(OUTSIDE):
            f.require(holds, "index", f"{last.name}: {message}", hint="clip or wrap indices that may be outside")
        else:
            f.require(holds, "argument", f"assertion of '{last.name}' failed: {message}")
    f.leave()


def _release(f: HostFunction, work: SymExpr) -> SSAValue | None:
    """Return the saved thread state: null if the GIL is kept at run time, None if no code was emitted for it."""
    if work.constant is not None:
        return f.call("PyEval_SaveThread", []) if work.constant > RELEASE_GIL_ABOVE else None
    much = f.compare("slt", f.integer(RELEASE_GIL_ABOVE), f.scope.unchecked(work))
    return f.choose(much, lambda: f.call("PyEval_SaveThread", []), lambda: f.null)


def _take_back(f: HostFunction, state: SSAValue) -> None:
    """Reacquire the GIL if it was released, and exit if a signal handler raised an exception meanwhile."""

    def take() -> SSAValue:
        f.call("PyEval_RestoreThread", [state], None)
        return f.call("PyErr_CheckSignals", [], I32)

    raised = f.choose(f.is_null(state), lambda: f.integer(0, I32), take)
    f.unless(f.compare("eq", raised, f.integer(0, I32)), f.leave)


def _read_number(f: HostFunction, place: SSAValue, type: Attribute) -> SSAValue:
    """Read a number written by a kernel in its memory form: a bool is a byte."""
    bits = f.read(place, I8 if type == I1 else IntegerType(bit_width(type)))
    if type == I1:
        return f.compare("ne", bits, f.integer(0, I8))
    return f.pure(arith.BitcastOp, (bits,), type) if is_float(type) else bits


def scalar_of_kernel(f: HostFunction, call: KernelCall) -> Prim:
    """Call a kernel; return its scalar result. Raises `UnsupportedError` if it also has assertions."""
    dtype = call.signature.result
    if dtype is None or call.signature.assertions:
        raise UnsupportedError(f"the kernel '{call.signature.name}' returns no number", expected="a scalar, no assert")
    place = f.alloca(1, I64)
    _run_together(f, [replace(call, args=[*call.args, place], work=Const(0))])
    value = _read_number(f, place, scalar_type(dtype))
    if not is_float(dtype):
        return Prim(dtype, f.scope.number(_widened(f, value, dtype)))
    return Prim(dtype, value if bit_width(dtype) == 64 else f.pure(arith.ExtFOp, (value,), f64))
