"""The written form of symbolic expressions: the order of sums, and numbers put back into quotients.

This form is for text only and not canonical.
"""

from __future__ import annotations

from .expr import Algebra, Const, Op, Product, Sum, SymExpr, Var, i64, offset_of, terms_of


def signed_parts(e: Sum) -> list[tuple[SymExpr | None, int, bool]]:
    """Return the written form of a sum: terms (None for the offset) with their factors, and whether they are added.

    They keep their written order, but an added term comes first; if there is none, the first keeps its sign.
    """
    e = _as_written(e)
    parts: list[tuple[SymExpr | None, int]] = list(e.terms)
    if e.offset:
        parts.insert(e.place, (None, e.offset))
    signed = [(t, c, True) if c > 0 or c == _LEAST else (t, -c, False) for t, c in parts]
    first = next((i for i, (_, _, added) in enumerate(signed) if added), None)
    if first is None:
        first, signed[0] = 0, (*parts[0], True)
    return [signed.pop(first), *signed]


def positive_first(e: SymExpr) -> SymExpr:
    """Return the expression as TVM's simplifier writes a sum: `n - m + 1 -> n + 1 - m`."""
    if not isinstance(e, Sum):
        return e
    added = sum(c > 0 for _, c in e.terms)
    terms = tuple(sorted(e.terms, key=lambda part: part[1] < 0))
    return Sum(terms, e.offset, e.dtype, added if e.offset > 0 else len(terms))


_LEAST = -(2**63)
"""The minimum of 64 bits, whose absolute value exceeds 64 bits."""


def _as_written(e: Sum) -> Sum:
    """Return the sum with numbers put back into the quotients that they were taken out of."""
    taken = e.taken
    if not taken:
        return e
    return Sum(tuple((_with_taken(t), c) for t, c in e.terms), e.offset - taken, e.dtype, e.place)


def _with_taken(e: SymExpr) -> SymExpr:
    """Put the number taken out of a quotient back: `(n + 1) // 2` becomes `(n + 3) // 2`."""
    if type(e) is not Op or not e.taken:
        return e
    dividend, divisor = e.args
    place = dividend.place if isinstance(dividend, Sum) else None
    number = offset_of(dividend) + e.taken * offset_of(divisor)
    return Op(e.kind, (Sum(terms_of(dividend), number, dividend.dtype, place), divisor))


class _Text(Algebra[tuple[str, int]]):
    """Converts expressions to text and its precedence."""

    def within(self, e: SymExpr, level: int) -> str:
        text, own = e.fold(self)
        return f"({text})" if own < level else text

    def const(self, e: Const) -> tuple[str, int]:
        return str(e.value), _ATOM

    def var(self, e: Var) -> tuple[str, int]:
        if not isinstance(e.name, str):
            return f"%{e.name.name_hint or '?'}", _ATOM
        return e.name if e.dtype == i64 else f"{e.name} : {e.dtype}", _ATOM

    def product(self, e: Product) -> tuple[str, int]:
        return " * ".join(self.within(a, _ATOM) for a in e.atoms), _PRODUCT

    def sum(self, e: Sum) -> tuple[str, int]:
        """Return terms in order, with the offset at its written position; `n - 11` rather than `-11 + n`."""
        e = _as_written(e)
        texts = [(self._term(term, abs(c)), c < 0) for term, c in e.terms]
        if e.offset:
            offset_last = e.offset < 0 < e.terms[0][1]
            texts.insert(max(e.place, offset_last), (str(abs(e.offset)), e.offset < 0))
        (first, negative), *others = texts
        signed = [f"-{first}" if negative else first, *(f"{'-' if minus else '+'} {text}" for text, minus in others)]
        return " ".join(signed), _SUM if others or negative else _PRODUCT

    def _term(self, term: SymExpr, factor: int) -> str:
        text = self.within(term, _PRODUCT if factor == 1 or isinstance(term, Product) else _ATOM)
        return text if factor == 1 else f"{text} * {factor}"

    def op(self, e: Op) -> tuple[str, int]:
        if e.kind in INFIX:
            a, b = (self.within(x, _ATOM) for x in e.args)
            return f"{a} {INFIX[e.kind]} {b}", _PRODUCT
        return f"{e.kind}({', '.join(self.within(a, _SUM) for a in e.args)})", _ATOM


_SUM, _PRODUCT, _ATOM = 0, 1, 2
INFIX = {"floordiv": "floordiv", "floormod": "mod"}
"""Operations written between their operands, as in affine maps."""


def expr_text(e: SymExpr) -> str:
    """Return the text of an expression in MLIR, as parsed by `text.parse_expr`."""
    if isinstance(e, Const):
        return str(e.value) + ("" if e.dtype == i64 else f" : {e.dtype}")
    return e.fold(_Text())[0]


SymExpr.write = staticmethod(expr_text)
