"""Linear algebra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.ir import Attribute

from ..sym.expr import SymExpr
from .elementwise import broadcast_dims
from .operator import DTYPE, NUMBERS, Domain, Operator, as_dtype, operator
from .types import TensorType


@operator("relax.matmul", "x1 x2", out_dtype=DTYPE)
class Matmul(Operator):
    """The matrix product over the last two dimensions, with the leading ones broadcast; vectors as in numpy.

    The result has `out_dtype` if given, and accumulates in it; the operands may then have different dtypes.
    """

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}

    def infer(self) -> Attribute:
        a, b, dtype = self.tensor("x1"), self.tensor("x2"), as_dtype(self.attr("out_dtype"))
        if dtype is None:
            if a.element is not None and b.element is not None and a.element != b.element:
                self.fail_dtype("arguments x1 and x2 must have one dtype", a.element, b.element)
            dtype = a.element if b.element is not None else None
        for name, t in (("x1", a), ("x2", b)):
            if t.rank == 0:
                self.fail_shape(f"argument {name} must have a dimension", "rank 1 or more", 0)
        if a.rank is None or b.rank is None:
            return TensorType.of(None, dtype)
        rank = max(a.rank, b.rank, 2) - (a.rank == 1) - (b.rank == 1)
        if a.dims is None or b.dims is None:
            return TensorType.of(None, dtype, rank)
        return TensorType.of(self._shape(a.dims, b.dims), dtype, rank)

    def _shape(self, a: tuple[SymExpr, ...], b: tuple[SymExpr, ...]) -> list[SymExpr] | None:
        inner_a, inner_b = a[-1], b[max(len(b) - 2, 0)]
        self.require_equal(
            inner_a, inner_b, "the last dimension of x1 must agree with x2", f"{inner_a} rows in x2", inner_b
        )
        if len(a) > 2 or len(b) > 2:
            batch = broadcast_dims(self, ("x1", "x2"), (a[:-2], b[:-2]))
            if batch is None:
                return None
        else:
            batch = ()
        return [*batch, *a[-2:-1], *(b[-1:] if len(b) > 1 else ())]


@operator("relax.outer", "x1 x2")
class Outer(Operator):
    """The outer product of two vectors."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}

    def infer(self) -> Attribute:
        a, b = self.tensor("x1"), self.tensor("x2")
        if a.element is not None and b.element is not None and a.element != b.element:
            self.fail_dtype("arguments x1 and x2 must have one dtype", a.element, b.element)
        for name, t in (("x1", a), ("x2", b)):
            if t.rank not in (None, 1):
                self.fail_shape(f"argument {name} must be a vector", "rank 1", t.rank)
        dtype = a.element if b.element is not None else None
        return TensorType.of(None if a.dims is None or b.dims is None else [*a.dims, *b.dims], dtype, 2)


@operator("relax.einsum", "xs*", subscripts="")
class Einsum(Operator):
    """The products of elements that share the letters of `subscripts`, summed over the letters missing from the result.

    As in numpy: `ij,jk->ik`; without `->` the result has the letters that occur once, in alphabetical order; `...`
    stands for dimensions that broadcast. An extent of 1 also broadcasts along a letter.
    """

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": NUMBERS}

    def infer(self) -> Attribute:
        xs = self.tensors("xs")
        dtypes = {t.element for t in xs}
        if len(dtypes - {None}) > 1:
            self.fail_dtype("all of xs must have one dtype", found=", ".join(map(str, dtypes)))
        dtype = next(iter(dtypes)) if len(dtypes) == 1 else None
        ranks = [t.rank for t in xs if t.rank is not None]
        if len(ranks) < len(xs):
            return TensorType.of(None, dtype)
        _, result = self.labels(ranks)
        if any(t.dims is None for t in xs):
            return TensorType.of(None, dtype, len(result))
        extents = self.extents()
        return TensorType.of([extents[c] for c in result], dtype)

    def labels(self, ranks: list[int]) -> tuple[list[str], str]:
        """Return the letters of each operand and of the result; a digit stands for a dimension of `...`.

        Raises `ShapeError` if the subscripts do not match the operands.
        """
        left, arrow, right = str(self.attr("subscripts")).replace(" ", "").partition("->")
        terms = left.split(",")
        if len(terms) != len(ranks):
            self.fail_shape("subscripts has another number of operands", len(ranks), len(terms))
        inputs = [self._expanded(t, r) for t, r in zip(terms, ranks, strict=True)]
        dots = max((t for t in inputs), key=lambda t: sum(c.isdigit() for c in t), default="")
        digits = "".join(sorted({c for c in dots if c.isdigit()}, reverse=True))
        if arrow:
            result = right.replace("...", digits)
        else:
            every = "".join(inputs)
            result = digits + "".join(sorted(c for c in set(every) if not c.isdigit() and every.count(c) == 1))
        if len(set(result)) < len(result) or not set(result) <= set("".join(inputs)):
            self.fail_shape("attribute subscripts has a wrong result", "letters of the operands, each once", right)
        return inputs, result

    def _expanded(self, term: str, rank: int) -> str:
        named = term.replace("...", "")
        if not all(c.isalpha() for c in named) or term.count("...") > 1:
            self.fail_shape("attribute subscripts is malformed", "letters and `...`", term)
        missing = rank - len(named)
        if missing < 0 or (missing > 0 and "..." not in term):
            self.fail_shape(f"subscripts gives {len(named)} letters to an operand", rank, term)
        # counted from the last dimension, as broadcasting does
        return term.replace("...", "".join(str(n) for n in range(missing - 1, -1, -1)))

    def extents(self) -> dict[str, SymExpr]:
        """Return the extent of each letter, for operands of known shape. Raises `ShapeError` if they conflict."""
        xs = self.tensors("xs")
        inputs, _ = self.labels([t.rank or 0 for t in xs])
        out: dict[str, SymExpr] = {}
        for term, t in zip(inputs, xs, strict=True):
            for c, d in zip(term, t.dims or (), strict=True):
                known = out.get(c)
                if known is None or known.constant == 1:
                    out[c] = d
                elif d.constant != 1:
                    self.require_equal(known, d, f"the letter {c} of subscripts has two extents", known, d)
        return out
