"""Conditions on sizes under which a program was traced, as checks of the compiled function.

PyTorch keeps them as Python text, `math.trunc(0.5 * torch.sym_float(L['x'].size()[1])) == 3`: what was traced holds for
the sizes that meet them. A condition that is not understood is an error: the program could be wrong without it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

from ...diagnostics import UnsupportedError
from ...dialects.sym.expr import SymExpr, Var, as_expr, floordiv, floormod
from ...dialects.sym.operators import (
    eq,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    select,
    truncdiv,
)
from ...handles.relax.expr import ShapeExpr
from ...handles.struct_info import ShapeStructInfo
from ..block_builder import BlockBuilder
from .ratios import (
    Ratio,
    comparable,
    difference,
    extremum,
    factor,
    floor_quotient,
    modulo,
    product,
    quotient,
    rounded,
    total,
)
from .symbols import Symbols


class Guards:
    """The conditions of an exported program on the sizes of its inputs.

    Raises `UnsupportedError` for a condition on sizes that is not understood.
    """

    def __init__(self, symbols: Symbols, program: Any):
        codes = [code for code in getattr(program, "_guards_code", None) or () if _is_of_sizes(code)]
        reader = _Guard(symbols, dict(_inputs(program)) if codes else {})
        self._conditions = [reader.condition(code) for code in codes]
        self._divisions = reader.divisions

    def multiples(self) -> Iterator[tuple[Var, int]]:
        """Yield each size, and a number, whose multiple it is by the conditions."""
        conditions = set(self._conditions)
        for size, divisor in self._divisions:
            part = floordiv(size, divisor)
            known = (
                [eq(floormod(size, divisor), 0)],
                [eq(part * divisor, size)],
                [eq(floordiv(size, part), divisor), eq(floormod(size, part), 0)],
            )
            if any(conditions.issuperset(all_of) for all_of in known):
                yield size, divisor

    def emit(self, builder: BlockBuilder, equal: Mapping[Var, SymExpr]) -> None:
        """Check the conditions at run time, where the declared ranges do not say them; sizes are as in `equal`."""
        for each in self._conditions:
            condition = each.substitute(equal)
            if condition.constant != 1:
                flag = select(condition, as_expr(1), as_expr(0))
                builder.match_cast(ShapeExpr([flag]), ShapeStructInfo([1]), "traced_for_these_sizes")


def _is_of_sizes(code: str) -> bool:
    return ".size()" in code or ".shape" in code


def _inputs(program: Any) -> Iterator[tuple[str, Any]]:
    """The traced inputs of a program, by PyTorch's text for each: `L['x']`, `L['pair'][0]`."""
    from torch.utils._pytree import tree_unflatten

    nodes = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
    names = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    args, kwargs = tree_unflatten([nodes.get(name) for name in names], program.call_spec.in_spec)
    declared = list(getattr(program.module_call_graph[0].signature, "forward_arg_names", None) or ())
    known = {**dict(zip(declared, args, strict=False)), **kwargs}
    leaves = list(known.items())
    if not declared:  # a leaf is called by the name of its placeholder then
        leaves += [(name, nodes.get(name)) for name in names]
    for name, value in leaves:
        yield from _leaves(f"L['{name}']", value)
        several, _, number = name.rpartition("_")  # of `*several`, which the signature has one by one
        if number.isdecimal() and several not in known:
            yield from _leaves(f"L['{several}'][{number}]", value)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    items: Any = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    )
    yield path, value
    for key, item in items:
        yield from _leaves(f"{path}[{key!r}]", item)


def _compared(build: Callable[[SymExpr, SymExpr], SymExpr], swaps: bool = False, negates: bool = False) -> Any:
    def compare(a: Ratio, b: Ratio) -> SymExpr:
        left, right = comparable(a, b)
        condition = build(right, left) if swaps else build(left, right)
        return logical_not(condition) if negates else condition

    return compare


_COMPARE: dict[type[ast.cmpop], Callable[[Ratio, Ratio], SymExpr]] = {
    ast.Eq: _compared(eq),
    ast.NotEq: _compared(eq, negates=True),
    ast.Lt: _compared(lt),
    ast.LtE: _compared(le),
    ast.Gt: _compared(lt, swaps=True),
    ast.GtE: _compared(le, swaps=True),
}


_BINARY: dict[type[ast.operator], Callable[[Ratio, Ratio], Ratio]] = {
    ast.Add: total,
    ast.Sub: difference,
    ast.Mult: product,
    ast.Div: quotient,
    ast.FloorDiv: floor_quotient,
    ast.Mod: modulo,
}

_CALLS: dict[str, Callable[..., Ratio]] = {
    "math.trunc": rounded(truncdiv),
    "int": rounded(truncdiv),
    "torch.sym_int": rounded(truncdiv),
    "math.floor": rounded(floordiv),
    "math.ceil": rounded(lambda a, b: -floordiv(-a, b)),
    "torch.sym_float": lambda a: a,
    "float": lambda a: a,
    **dict.fromkeys(("max", "torch.sym_max"), extremum(maximum)),
    **dict.fromkeys(("min", "torch.sym_min"), extremum(minimum)),
}


_LIMIT = 1 << 62


def _is_below_limit(node: ast.Compare) -> bool:
    """Return whether a comparison says that sizes, or their sum, are below the limit of 64 bits, as all are."""
    (*_, last), (*_, compare) = node.comparators, node.ops
    if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Add | ast.Sub):
        last = last.left
    is_limit = isinstance(last, ast.Constant) and isinstance(last.value, int) and last.value >= _LIMIT
    return is_limit and len(node.ops) == 1 and isinstance(compare, ast.Lt | ast.LtE)


class _Guard:
    """Translates the text of a condition."""

    def __init__(self, symbols: Symbols, values: Mapping[str, Any]):
        self._symbols, self._values = symbols, values
        self.divisions: dict[tuple[Var, int], None] = {}
        """The divisions of sizes by numbers, in order."""

    def condition(self, code: str) -> SymExpr:
        """Return a condition. Raises `UnsupportedError` if it is not understood."""
        try:
            return self._truth(ast.parse(code, mode="eval").body)
        except (UnsupportedError, KeyError, IndexError, TypeError, SyntaxError, OverflowError) as error:
            raise UnsupportedError(
                "the program was traced for sizes that meet a condition which is not understood",
                found=code,
                hint="export it with fixed sizes, or write the model without decisions on these sizes",
            ) from error

    def _truth(self, node: ast.expr) -> SymExpr:
        if isinstance(node, ast.BoolOp):
            return reduce(logical_and if isinstance(node.op, ast.And) else logical_or, map(self._truth, node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return logical_not(self._truth(node.operand))
        if not isinstance(node, ast.Compare):
            raise UnsupportedError(type(node).__name__)
        if _is_below_limit(node):
            return as_expr(1)
        values = [self._number(n) for n in (node.left, *node.comparators)]
        pairs = zip(node.ops, values, values[1:], strict=False)
        return reduce(logical_and, [_COMPARE[type(op)](a, b) for op, a, b in pairs])

    def _number(self, node: ast.expr) -> Ratio:
        path = ast.unparse(node)
        if path in self._values:
            return Ratio(as_expr(self._symbols.extent(self._values[path])))
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            return factor(node.value)
        if isinstance(node, ast.BinOp):
            left, right = self._number(node.left), self._number(node.right)
            if isinstance(node.op, ast.FloorDiv | ast.Mod):
                self._note_division(left, right)
            return _BINARY[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self._number(node.operand)
            return Ratio(-value.numerator, value.denominator)
        if isinstance(node, ast.Subscript):
            return self._size(node)
        if isinstance(node, ast.Call):
            return _CALLS[ast.unparse(node.func)](*map(self._number, node.args))
        raise UnsupportedError(type(node).__name__)

    def _note_division(self, left: Ratio, right: Ratio) -> None:
        size, divisor = left.numerator, right.numerator.constant
        if isinstance(size, Var) and left.denominator == right.denominator == 1 and divisor is not None and divisor > 1:
            self.divisions[size, divisor] = None

    def _size(self, node: ast.Subscript) -> Ratio:
        """`L['x'].size()[1]` or `L['x'].shape[1]`"""
        owner = node.value.func if isinstance(node.value, ast.Call) else node.value
        if not isinstance(owner, ast.Attribute) or owner.attr not in ("size", "shape"):
            raise UnsupportedError(ast.unparse(node))
        shape = self._values[ast.unparse(owner.value)].shape
        return Ratio(as_expr(self._symbols.extent(shape[operator.index(ast.literal_eval(node.slice))])))
