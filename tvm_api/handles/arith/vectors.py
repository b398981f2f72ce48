"""Normal forms of vector operations: ramps and broadcasts reduce to operations on their scalars."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from xdsl.ir import Attribute

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.dtypes import is_float, is_scalable, lanes_of, scalar_of
from .simplifier import Simplifier
from .terms import DIVISIONS, Term, const, expression_of, raw


def combined(s: Simplifier, op: str, a: Term, b: Term) -> Term:
    """Return the normal form of an operation on vectors in normal form."""
    lanes = a.dtype
    if a.op == b.op == "broadcast":
        return _broadcast(s.operation(op, a.args[0], b.args[0]), lanes)
    if op in DIVISIONS and b.op == "broadcast" and b.args[0].number == 0 and not is_float(scalar_of(lanes)):
        raise TiraxError("an expression divides by zero", found=str(expression_of(raw(op, a, b))))
    if op in ("min", "max") and a.op == op and b.op == a.args[1].op == "broadcast":
        return raw(op, a.args[0], _broadcast(s.operation(op, a.args[1].args[0], b.args[0]), lanes))
    if b.op == "broadcast" and is_float(a.dtype) and op in ("add", "sub") and b.args[0].number == 0:
        return a
    combine = _RAMPS.get(op)
    result = combine(s, op, a, b, lanes) if combine is not None and not is_float(a.dtype) else None
    return result if result is not None else raw(op, a, b)


def _sum(s: Simplifier, op: str, a: Term, b: Term, lanes: Attribute) -> Term | None:
    (x, step), (y, other) = _steps_of(a), _steps_of(b)
    if x is None or y is None or step is None or other is None:
        return None
    return _ramp(s.operation(op, x, y), s.operation(op, step, other), lanes)


def _product(s: Simplifier, op: str, a: Term, b: Term, lanes: Attribute) -> Term | None:
    if a.op == "broadcast":
        a, b = b, a
    if a.op != "ramp" or b.op != "broadcast":
        return None
    base, step = (s.operation("mul", part, b.args[0]) for part in a.args)
    return _ramp(base, step, lanes)


def _quotient(s: Simplifier, op: str, a: Term, b: Term, lanes: Attribute) -> Term | None:
    """Divide a ramp by a constant, if the quotients are evenly spaced or all equal."""
    known = _divided(s, op, a, b)
    if known is None:
        return None
    base, step, divisor, (coeff, rest) = known
    name = "floordiv" if op == "floordiv" else "div"
    if step % divisor == 0:
        return _ramp(s.operation(name, base, b.args[0]), const(step // divisor, base.dtype), lanes)
    if _one_block(step, lanes, divisor, coeff, rest):
        return _broadcast(s.operation(name, base, b.args[0]), lanes)
    return None


def _remainder(s: Simplifier, op: str, a: Term, b: Term, lanes: Attribute) -> Term | None:
    known = _divided(s, op, a, b)
    if known is None:
        return None
    base, step, divisor, (coeff, rest) = known
    name = "floormod" if op == "floormod" else "truncmod"
    if step % divisor == 0:
        return _broadcast(s.operation(name, base, b.args[0]), lanes)
    if coeff % divisor == 0:
        ramp = _ramp(const(rest % divisor, base.dtype), const(step, base.dtype), lanes)
        first, last = rest % divisor, rest % divisor + (_count(lanes) - 1) * step
        return ramp if first >= 0 and max(first, last) < divisor and last >= 0 else raw(op, ramp, b)
    if _one_block(step, lanes, divisor, coeff, rest):
        return _ramp(s.operation(name, base, b.args[0]), const(step, base.dtype), lanes)
    return None


def _divided(s: Simplifier, op: str, a: Term, b: Term) -> tuple[Term, int, int, tuple[int, int]] | None:
    if a.op != "ramp" or b.op != "broadcast" or a.args[1].op != "const" or b.args[0].op != "const":
        return None
    (base, step), divisor = a.args, int(b.args[0].value)
    rounds_down = op.startswith("floor") or (s.low(base) >= 0 and step.value >= 0)
    if divisor <= 0 or not rounds_down:
        return None
    residue = s.residue(base)
    return base, int(step.value), divisor, (residue.step, residue.base)


def _broadcast(x: Term, like: Attribute) -> Term:
    return raw("broadcast", x, dtype=tir.with_lanes(x.dtype, like))


def _ramp(base: Term, step: Term, like: Attribute) -> Term:
    return raw("ramp", base, step, dtype=tir.with_lanes(base.dtype, like))


def _steps_of(term: Term) -> tuple[Term | None, Term | None]:
    """Return the first lane and the step, which is 0 for a broadcast."""
    if term.op == "ramp":
        return term.args[0], term.args[1]
    return (term.args[0], const(0, term.args[0].dtype)) if term.op == "broadcast" else (None, None)


def _count(vector: Attribute) -> float:
    """Return the number of lanes, infinite for a scalable vector."""
    return inf if is_scalable(vector) else lanes_of(vector)


def _one_block(step: int, lanes: Attribute, divisor: int, coeff: int, rest: int) -> bool:
    """Return whether lanes `step` apart, from a base coeff * k + rest, have the same quotient by a divisor."""
    length = (_count(lanes) - 1) * step
    if coeff % divisor == 0:
        return rest // divisor == (rest + length) // divisor
    return coeff > 0 and divisor % coeff == 0 and rest % coeff == 0 and 0 <= length < coeff


_RAMPS: dict[str, Callable[[Simplifier, str, Term, Term, Attribute], Term | None]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "floordiv": _quotient,
    "div": _quotient,
    "floormod": _remainder,
    "truncmod": _remainder,
}
