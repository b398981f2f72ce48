"""Scalar expressions as terms: shared, immutable trees that compare by identity, for rules to match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects import tir
from ....dialects.dtypes import bit_width, float_attr, is_float, is_unsigned, lanes_of
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import SymExpr
from ....dialects.sym.operations import COMPARISONS, OPERATIONS
from ....handles.tir.expr_kinds import symbolic_node
from ....handles.tir.prim_expr import PrimExpr

Number = bool | int | float


class Term:
    """An operation on terms, a constant (`value` is a number), or a leaf (`value` is a value of the IR)."""

    __slots__ = ("__weakref__", "args", "dtype", "op", "value")

    def __init__(self, op: str, args: tuple[Term, ...], dtype: Attribute, value: Any):
        self.op, self.args, self.dtype, self.value = op, args, dtype, value

    @property
    def number(self) -> Number | None:
        """The value of a constant, or None for other terms."""
        return self.value if self.op == "const" else None


_TERMS: WeakValueDictionary[Any, Term] = WeakValueDictionary()


def _term(op: str, args: tuple[Term, ...], dtype: Attribute, value: Any = None) -> Term:
    key = (op, args, dtype, type(value), repr(value) if isinstance(value, float) else value)
    existing = _TERMS.get(key)
    if existing is None:
        existing = _TERMS[key] = Term(op, args, dtype, value)
    return existing


def const(value: Number, dtype: Attribute) -> Term:
    """Return a constant of a scalar dtype: floats are rounded, integers wrap around."""
    if is_float(dtype):
        return _term("const", (), dtype, float_attr(float(value), dtype).value.data)
    if dtype == i1:
        return _term("const", (), dtype, int(bool(value)))
    bits = bit_width(dtype)
    wrapped = int(value) & ((1 << bits) - 1)
    if not is_unsigned(dtype) and wrapped >> (bits - 1):
        wrapped -= 1 << bits
    return _term("const", (), dtype, wrapped)


TRUE, FALSE = const(True, i1), const(False, i1)


def raw(op: str, *args: Term, dtype: Attribute | None = None, value: Any = None) -> Term:
    """Return an operation without folding."""
    return _term(op, args, dtype if dtype is not None else _dtype(op, args), value)


def _dtype(op: str, args: tuple[Term, ...]) -> Attribute:
    if op in COMPARISONS or op in ("and", "or", "not"):
        return tir.with_lanes(i1, args[0].dtype)
    return args[-1].dtype


_NEUTRAL: dict[str, Callable[[Term, Term], Term | None]] = {
    "add": lambda a, b: a if b.number == 0 else b if a.number == 0 else None,
    "sub": lambda a, b: a if b.number == 0 else None,
    "mul": lambda a, b: a if b.number == 1 else b if a.number == 1 else _zero(a, b),
    "div": lambda a, b: a if b.number == 1 or _is_zero(a) else None,
    "floordiv": lambda a, b: a if not is_float(a.dtype) and (b.number == 1 or _is_zero(a)) else None,
    "floormod": lambda a, b: _no_rest(a, b),
    "truncmod": lambda a, b: _no_rest(a, b),
    "and": lambda a, b: (
        (b if a.value else a) if a.op == "const" else (a if b.value else b) if b.op == "const" else None
    ),
    "or": lambda a, b: (a if a.value else b) if a.op == "const" else (b if b.value else a) if b.op == "const" else None,
    "min": lambda a, b: a if a is b else None,
    "max": lambda a, b: a if a is b else None,
}


def _is_zero(a: Term) -> bool:
    """Return whether an integer is 0; for floats, 0 / x is NaN if x is 0."""
    return a.number == 0 and not is_float(a.dtype)


def _no_rest(a: Term, b: Term) -> Term | None:
    return const(0, a.dtype) if not is_float(a.dtype) and (b.number == 1 or a.number == 0) else None


def _zero(a: Term, b: Term) -> Term | None:
    if is_float(a.dtype):
        return None
    return a if a.number == 0 else b if b.number == 0 else None


def build(op: str, *args: Term) -> Term:
    """Return an operation with constants folded and neutral elements dropped."""
    if op == "select":
        return raw(op, *args) if args[0].op != "const" else args[1] if args[0].value else args[2]
    if op == "not":
        return const(not args[0].value, i1) if args[0].op == "const" else raw(op, *args)
    a, b = args
    if a.op == b.op == "const" and not (op in DIVISIONS and b.value == 0):
        value = OPERATIONS["truncdiv" if op == "div" and not is_float(a.dtype) else op].evaluate(a.value, b.value)
        return const(value, i1 if op in COMPARISONS else a.dtype)
    folded = _NEUTRAL[op](a, b) if op in _NEUTRAL and lanes_of(a.dtype) == 1 else None
    return folded if folded is not None else raw(op, a, b)


DIVISIONS = frozenset({"div", "truncmod", "floordiv", "floormod"})
_NAMES: dict[type[Operation], str] = {cls: name for name, cls in tir.BINARY.items()}


def term_of(value: SSAValue) -> Term:
    """Convert an expression to a term; parts without rules become leaves."""
    op = value.owner
    if isinstance(op, ValueOp):
        node = symbolic_node(op.expr.data).ssa
        return term_of(node) if not isinstance(node.owner, ValueOp) else _term("leaf", (), value.type, op.expr.data)
    name = _NAMES.get(type(op)) if isinstance(op, Operation) else None
    if name is not None:
        return raw(name, *map(term_of, op.operands), dtype=value.type)  # pyright: ignore[reportAttributeAccessIssue]
    read = _READERS.get(type(op))  # pyright: ignore[reportArgumentType]
    return read(op) if read is not None else _leaf(value)


def _call(op: Any) -> Term:
    return raw("call", *map(term_of, op.operands), dtype=op.results[0].type, value=op.func.data)


def _load(op: Any) -> Term:
    buffer, *indices = op.operands
    return raw("load", _leaf(buffer), *map(term_of, indices), dtype=op.results[0].type)


def _branch(op: Any) -> Term:
    sides = (term_of(region.block.last_op.value) for region in op.regions)
    return raw("if", term_of(op.operands[0]), *sides, dtype=op.results[0].type)


def _let(op: Any) -> Term:
    """Return the body of a `let` with a constant or variable substituted for its name."""
    return body_of_let(op) if term_of(op.value).op in ("const", "leaf") else _leaf(op.results[0])


def body_of_let(op: Any) -> Term:
    """Return the body of a `let` with its value substituted for its name."""
    return substituted(term_of(op.body.block.last_op.value), _leaf(op.var), term_of(op.value))


def mentions(term: Term, leaf: Term) -> bool:
    """Return whether a term contains a leaf."""
    return term is leaf or any(mentions(a, leaf) for a in term.args)


def never_fails(term: Term) -> bool:
    """Return whether a term can always be evaluated: it does not read memory, call functions, or divide by
    possible zeros.
    """
    if term.op in ("load", "call") or (term.op in DIVISIONS and not term.args[1].number):
        return False
    return all(map(never_fails, term.args))


def substituted(term: Term, leaf: Term, value: Term) -> Term:
    """Replace a leaf of a term by another term."""
    if term is leaf:
        return value
    args = [substituted(a, leaf, value) for a in term.args]
    changed = any(a is not b for a, b in zip(args, term.args, strict=True))
    return raw(term.op, *args, dtype=term.dtype, value=term.value) if changed else term


def _leaf(value: SSAValue) -> Term:
    return _term("leaf", (), value.type, value)


_READERS: dict[Any, Callable[[Any], Term]] = {
    tir.ConstOp: lambda op: const(op.py_value, op.results[0].type),
    tir.NotOp: lambda op: raw("not", term_of(op.operands[0])),
    tir.SelectOp: lambda op: raw("select", *map(term_of, op.operands)),
    tir.CastOp: lambda op: raw("cast", term_of(op.operands[0]), dtype=op.results[0].type),
    tir.BroadcastOp: lambda op: raw("broadcast", term_of(op.operands[0]), dtype=op.results[0].type),
    tir.RampOp: lambda op: raw("ramp", *map(term_of, op.operands), dtype=op.results[0].type),
    tir.IfThenElseOp: _branch,
    tir.CallIntrinOp: _call,
    tir.LetInOp: _let,
    tir.LoadOp: _load,
}


def expression_of(term: Term) -> PrimExpr:
    """Convert a term to an expression of detached operations."""
    return PrimExpr(_value(term, {}))


def _value(term: Term, known: dict[Term, SSAValue]) -> SSAValue:
    if term.op == "leaf":
        return ValueOp(term.value).result if isinstance(term.value, SymExpr) else term.value
    existing = known.get(term)
    if existing is None:
        args = [_value(a, known) for a in term.args]
        make = _MAKERS.get(term.op)
        existing = known[term] = tir.BINARY[term.op](*args).result if make is None else make(term, args)
    return existing


def _branches(args: list[SSAValue]) -> SSAValue:
    sides = [Region(Block([tir.YieldOp(v)])) for v in args[1:]]
    return tir.IfThenElseOp(args[0], *sides).result


_MAKERS: dict[str, Callable[[Term, list[SSAValue]], SSAValue]] = {
    "const": lambda t, args: tir.ConstOp(t.value, t.dtype).result,
    "not": lambda t, args: tir.NotOp(args[0]).result,
    "select": lambda t, args: tir.SelectOp(*args).result,
    "cast": lambda t, args: tir.CastOp(args[0], t.dtype).result,
    "broadcast": lambda t, args: tir.BroadcastOp.create(operands=args, result_types=[t.dtype]).result,
    "ramp": lambda t, args: tir.RampOp.create(operands=args, result_types=[t.dtype]).result,
    "if": lambda t, args: _branches(args),
    "call": lambda t, args: tir.CallIntrinOp(t.value, args, t.dtype).result,
    "load": lambda t, args: tir.LoadOp(args[0], args[1:]).result,
}
