"""Rules of Fourier transforms: kernels for lengths that are known, numpy for symbolic ones (`runtime/fft.py`)."""

from __future__ import annotations

from math import sqrt
from typing import Any, cast

from xdsl.ir import Attribute, SSAValue

from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.relax.fft import FourierOperator
from ...dialects.relax.operator import Operator
from ...dialects.sym.expr import SymExpr
from ...topi import fft
from ...topi.fft_plan import plan
from .legalize_rules import BUILDERS, Builder, known_shape, operand, result_tensor


def fourier(b: Builder, op: Operator) -> SSAValue | None:
    """relax.fft.fft(x, axis=1) -> fft(x, tables), or relax.call_dps_packed "relax.run.fft.fft"(x, 1, …)"""
    if not (known_shape(op.result_type) and known_shape(operand(op, "x").type)):
        return None
    x, kind = operand(op, "x"), op.name.rpartition(".")[2]
    t, result = cast(relax.TensorType, x.type), result_tensor(op)
    axis = cast(FourierOperator, op).place(t.rank or 0)
    extent = cast("tuple[SymExpr, ...]", (result if kind == "irfft" else t).dims)[axis]
    norm, inverse = op.attr("norm"), kind == "irfft" or bool(op.ATTR_SPECS.get("inverse") and op.attr("inverse"))
    if not extent.constant:
        attrs: list[Any] = [relax.PrimValueOp(axis), relax.StringOp(norm)]
        if kind == "fft":
            attrs.insert(1, relax.PrimValueOp(int(inverse)))
        return b.emit(relax.CallDPSPackedOp(f"relax.run.fft.{kind}", [x, *(a.result for a in attrs)], op.result_type))
    n = extent.constant
    scale = {"ortho": 1 / sqrt(n), "forward": 1.0 if inverse else 1 / n, "backward": 1 / n if inverse else 1.0}[norm]
    how = plan(n, real=kind != "fft")
    element = cast(Attribute, t.element)
    tables = b.emit(relax.ConstantOp.of(how.tables.array(dtype_name(element)), element))
    if kind == "fft":
        return b.call_te(fft.fft, x, tables, plan=how, axis=axis, inverse=inverse, scale=scale)
    function = fft.rfft if kind == "rfft" else fft.irfft
    return b.call_te(function, x, tables, plan=how, axis=axis, n=n, scale=scale)


BUILDERS.update({f"relax.fft.{kind}": fourier for kind in ("fft", "rfft", "irfft")})
