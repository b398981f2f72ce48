"""Tensors computed by foreign code: by calls of functions, or by an existing tensor function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ..diagnostics import DTypeError, ShapeError, TiraxError
from ..dialects import tir
from ..dialects.dtypes import dtype_of
from ..dialects.names import name_of
from ..dialects.sym import ValueOp
from ..dialects.sym.expr import SymExpr, Var
from ..handles.tir.buffers import Buffer, Stmt
from ..handles.tir.prim_expr import PrimExpr, convert
from ..handles.tir.prim_func import PrimFunc
from ..ir.rewriting.substitute import substitute_symbols
from .axis import shape_dims
from .extern_body import Statements, filled
from .tensor import ExternOp, Tensor

Calls = PrimExpr | Sequence[PrimExpr]


def call_packed(name: str, *args: Buffer | PrimExpr | float) -> PrimExpr:
    """Return the call of a packed function by name, for `te.extern`; a buffer is passed as an array."""
    values = [a.ssa if isinstance(a, Buffer) else convert(a).ssa for a in args]
    return PrimExpr(tir.CallPackedOp(name, values, i32).result)


def extern(
    shape: Any,
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], Calls | Stmt | Callable[..., None]],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    in_buffers: object = None,
    out_buffers: object = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """TVM's `te.extern`: tensors of `shape` (or of a list of shapes) that `fcompute(ins, outs)` fills.

    `fcompute` returns the calls that compute them (`te.call_packed("f", ins[0], outs[0])`), a statement
    (`tir.ir_builder`), or a function `body(statements, *tensors)` that adds the statements (`te.Statements`). The
    default dtype is that of the inputs. `in_buffers` and `out_buffers` are not supported: buffers have the shapes of
    their tensors. Raises `TiraxError`, and `DTypeError` if `dtype` is None and the inputs have different dtypes.
    """
    if in_buffers is not None or out_buffers is not None:
        raise TiraxError("te.extern takes no buffers of its own", hint="leave out in_buffers and out_buffers")
    shapes = _shapes(shape)
    dtypes = _dtypes(dtype, inputs, len(shapes))
    names = [name] if len(shapes) == 1 else [f"{name}_v{i}" for i in range(len(shapes))]

    def body(b: Statements, *outs: Tensor) -> None:
        result = fcompute([Buffer(t.buffer) for t in inputs], [Buffer(t.buffer) for t in outs])
        if isinstance(result, Stmt):
            b.add(result)
            return
        if isinstance(result, PrimExpr):
            result = [result]
        if not callable(result):
            for call in result:
                b.evaluate(call)
        else:
            result(b, *outs)

    specs = list(zip(names, shapes, dtypes, strict=True))
    out = filled(specs, inputs, body, name, tag, attrs)
    cast(ExternOp, out[0].op).at_offsets = (*inputs, *out)
    return out[0] if len(out) == 1 else list(out)


def _shapes(shape: Any) -> list[list[SymExpr]]:
    """Return the list of shapes for one shape or several."""
    several = isinstance(shape, list | tuple) and bool(shape) and all(isinstance(s, list | tuple) for s in shape)
    return [shape_dims(s) for s in (shape if several else [shape])]


def _dtypes(dtype: str | Sequence[str] | None, inputs: Sequence[Tensor], count: int) -> list[Attribute]:
    if dtype is None:
        types = {t.type for t in inputs}
        if len(types) != 1:
            raise DTypeError(
                "te.extern: the inputs do not say the dtype of the outputs",
                expected="inputs of one dtype, or `dtype`",
                found=", ".join(t.dtype for t in inputs) or "no inputs",
            )
        return [next(iter(types))] * count
    dtypes = [dtype] * count if isinstance(dtype, str) else list(dtype)
    if len(dtypes) != count:
        raise TiraxError("te.extern: as many dtypes as shapes are needed", expected=count, found=len(dtypes))
    return [dtype_of(d) for d in dtypes]


def extern_primfunc(input_tensors: Sequence[Tensor], primfunc: PrimFunc | tir.FuncOp, name: str | None = None) -> Any:
    """Return the outputs of a tensor function on `input_tensors`; its body becomes one block.

    As in TVM, the inputs are the buffers that the function reads. A buffer that it also writes is changed in place,
    except for the last one if there is no other output. If their number differs from that of `input_tensors`, the
    inputs are the first buffers of the function. Raises `ShapeError` or `DTypeError` if they do not fit, and
    `TiraxError` for a function with scalar parameters that no shape determines.
    """
    func = primfunc.op if isinstance(primfunc, PrimFunc) else primfunc
    params = func.buffer_params
    if len(input_tensors) >= len(params):
        raise TiraxError(
            "extern_primfunc: the function has no buffers left for outputs",
            expected=f"fewer than {len(params)} inputs",
            found=len(input_tensors),
        )
    inputs, outputs = _roles(params, len(input_tensors))
    symbols = _symbols(inputs, input_tensors)
    _check_scalars(func, symbols)
    specs = [(name_of(p) or "out", [d.substitute(symbols) for d in _type(p).dims], _type(p).dtype) for p in outputs]

    def body(b: Statements, *outs: Tensor) -> None:
        tensors = dict(zip([*inputs, *outputs], [*input_tensors, *outs], strict=True))
        b.inline(_instance(func, symbols), [tensors[p] for p in params])

    out = filled(specs, input_tensors, body, name or func.sym_name.data)
    operation = cast(ExternOp, out[0].op)
    operation.input_placeholders, operation.output_placeholders = (
        tuple(map(Buffer, inputs)),
        tuple(map(Buffer, outputs)),
    )
    return out[0] if len(out) == 1 else list(out)


def _roles(params: Sequence[SSAValue], count: int) -> tuple[list[SSAValue], list[SSAValue]]:
    """Split the buffers of a function into `count` inputs and the outputs."""
    written = [p for p in params if _is_used(p, tir.LoadOp)]
    read = [p for p in params if _is_used(p, tir.StoreOp)]
    outputs = [p for p in written if p not in read] or written[-1:]
    inputs = [p for p in read if p not in outputs]
    if len(inputs) != count or len(inputs) + len(outputs) < len(params):
        return list(params[:count]), list(params[count:])
    return inputs, outputs


def _is_used(buffer: SSAValue, but: type[Operation]) -> bool:
    """Return whether a buffer has uses that are neither regions nor of the kind `but`."""
    return any(not isinstance(use.operation, (but, tir.RegionOp)) for use in buffer.uses)


def _type(param: SSAValue) -> tir.BufferType:
    t = param.type
    if not isinstance(t, tir.BufferType):
        raise TypeError("the parameter is no buffer")
    return t


def _symbols(params: Sequence[SSAValue], tensors: Sequence[Tensor]) -> dict[Var, SymExpr]:
    """Return the values of the parameters' symbolic extents for these tensors."""
    bindings: dict[Var, SymExpr] = {}
    for param, tensor in zip(params, tensors, strict=False):
        t = _type(param)
        if t.dtype != tensor.type:
            raise DTypeError(f"extern_primfunc: '{tensor.name}' has another dtype", expected=t.dtype, found=tensor.type)
        if len(t.dims) != tensor.ndim:
            raise ShapeError(
                f"extern_primfunc: '{tensor.name}' has another rank", expected=len(t.dims), found=tensor.ndim
            )
        for dim, extent in zip(t.dims, tensor.dims, strict=True):
            if isinstance(dim, Var):
                bindings.setdefault(dim, extent)
            expected = dim.substitute(bindings)
            if None not in (expected.constant, extent.constant) and expected.constant != extent.constant:
                raise ShapeError(
                    f"extern_primfunc: '{tensor.name}' has another shape",
                    expected=expected.constant,
                    found=extent.constant,
                )
    return bindings


def _check_scalars(func: tir.FuncOp, symbols: Mapping[Var, SymExpr]) -> None:
    known = {v.name for v in symbols}
    for param in func.params:
        if not isinstance(param.type, tir.BufferType) and name_of(param) not in known:
            raise TiraxError(f"extern_primfunc: nothing says the parameter '{name_of(param)}'")


def _instance(func: tir.FuncOp, symbols: Mapping[Var, SymExpr]) -> tir.FuncOp:
    """Return a copy with the extents substituted, whose parameters are buffers only."""
    copy = func.clone()
    block = copy.body.block
    for param in tuple(block.args):
        if isinstance(param.type, IntegerType):
            value = ValueOp(symbols[Var(name_of(param) or "", param.type)])
            block.insert_op_before(value, block.first_op) if block.first_op else block.add_op(value)
            param.replace_all_uses_with(value.result)
            block.erase_arg(param)
    substitute_symbols(copy, symbols)
    return copy
