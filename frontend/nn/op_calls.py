"""Operators of `nn.op`: calls of tensor functions and of packed functions, and what prints."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects.sym.expr import SymExpr
from ...handles.relax.calls import call_pure_packed, call_tir, call_tir_inplace, to_expr
from ...handles.relax.expr import PrimValue, ShapeExpr, StringImm
from ...handles.relax.struct_info import ObjectStructInfo
from ...handles.tir.prim_expr import PrimExpr
from ...handles.tir.prim_func import PrimFunc
from .extern import emit_dps, infos_of, wrap_like
from .tensor import Tensor, current_builder, unwrap, wrap_nested


def tensor_expr_op(
    tensor_expr_func: Callable[..., Any],
    name_hint: str,
    args: Sequence[Any],
    *,
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """What a function of tensor expressions makes of tensors and numbers; `name_hint` names the tensor function."""
    given = [PrimValue(a) if isinstance(a, SymExpr) else a for a in unwrap(list(args))]
    made = current_builder().emit_te(tensor_expr_func, *given, primfunc_name_hint=name_hint, primfunc_attrs=attrs)
    return wrap_nested(made, name_hint)


def tensor_ir_op(func: PrimFunc, name_hint: str, args: Any, out: Any) -> Any:
    """The results of a tensor function, tensors like `out`: one, or a list or tuple of them.

    Symbolic integers and at most one shape among `args` are its scalar parameters.
    """
    tensors, scalars = _tir_arguments(args)
    gv = current_builder().add_func(func, name_hint)
    return wrap_like(current_builder().emit(call_tir(gv, tensors, infos_of(out), scalars)), name_hint, out)


def tensor_ir_inplace_op(
    func: PrimFunc, name_hint: str, args: Any, inplace_indices: int | Sequence[int], out: Any
) -> Any:
    """As `tensor_ir_op`; output i is written into argument `inplace_indices[i]`, into a new tensor where that is -1."""
    tensors, scalars = _tir_arguments(args)
    gv = current_builder().add_func(func, name_hint)
    call = call_tir_inplace(gv, tensors, inplace_indices, infos_of(out), scalars)
    return wrap_like(current_builder().emit(call), name_hint, out)


def _tir_arguments(args: Any) -> tuple[list[Any], Any]:
    """The tensors among the arguments, and the scalars, None where there are none. Raises `TiraxError`."""
    given = cast("list[Any]", unwrap(list(args) if isinstance(args, tuple | list) else [args]))
    shapes = [a for a in given if isinstance(a, ShapeExpr)]
    scalars = [a for a in given if isinstance(a, SymExpr | PrimExpr | int)]
    tensors = [a for a in given if not isinstance(a, ShapeExpr | SymExpr | PrimExpr | int)]
    if len(shapes) + bool(scalars) > 1:
        raise TiraxError("scalars of a tensor function are one shape, or integers", found=len(shapes) + len(scalars))
    return tensors, shapes[0].values if shapes else scalars or None


def extern(name: str, args: Sequence[Any], out: Any) -> Any:
    """The results of a packed function that writes into tensors like `out`: one, or a list or tuple of them."""
    return emit_dps(name, args, out)


def debug_func(name: str, *args: Any, _line_info: str | None = None) -> None:
    """Call a packed function `f(line, *args)` when the program comes here. Raises `TiraxError` without `debug=True`."""
    from .exporter import Exporter

    io = Exporter.current().io_effect
    if io is None:
        raise TiraxError(f"{name} needs the effect of input and output", hint="export_tvm(…, debug=True)")
    line = _line_info or _caller()
    values = [PrimValue(a) if isinstance(a, int | float) else to_expr(a) for a in unwrap(list(args))]
    call = call_pure_packed(
        "vm.builtin.invoke_debug_func",
        io.state,
        StringImm(name),
        StringImm(line),
        *values,
        sinfo_args=[ObjectStructInfo()],
    )
    io.set_state([current_builder().emit(call, "_io")])


def print_(tensor: Tensor) -> None:
    """Print a tensor, and where it is printed, when the program comes here. Raises as `debug_func`."""
    debug_func("vm.builtin.debug_print", tensor, _line_info=_caller())


def _caller() -> str:
    """The line of the model that calls an operator, `file:line`."""
    frame = sys._getframe(2)
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _one_worker(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name} exchanges tensors between workers", hint="a program of tirax runs in one process; leave it out"
    )


def ccl_allreduce(x: Tensor, op_type: str = "sum", in_group: bool = True, name: str = "ccl_allreduce") -> Tensor:
    """Refused (`UnsupportedError`): there is one worker."""
    raise _one_worker(name)


def ccl_allgather(x: Tensor, num_workers: int, name: str = "ccl_allgather") -> Tensor:
    """Refused (`UnsupportedError`): there is one worker."""
    raise _one_worker(name)


def ccl_broadcast_from_worker0(x: Tensor, name: str = "broadcast_from_worker") -> Tensor:
    """Refused (`UnsupportedError`): there is one worker."""
    raise _one_worker(name)
