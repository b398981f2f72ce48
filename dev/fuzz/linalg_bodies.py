"""Random bodies of `linalg.generic`: scalars of arith and math, branches, indices, elements, values from outside."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from ...dialects.xdsl_extras.arith_extras import FLOAT_PREDICATES, INTEGER_PREDICATES
from .linalg_scalars import FLOATS, width

Value = tuple[str, str]
"""The name and the type of a scalar."""

_SIMPLE = ("addi", "subi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori")
_DIVIDING = ("divsi", "remsi", "floordivsi", "ceildivsi", "divui", "remui", "ceildivui")
_SHIFTS = ("shli", "shrsi", "shrui")
_FLOAT = ("addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf", "remf", "divf")
_ROUNDING = ("absf", "ceil", "floor", "trunc", "roundeven", "round")
_COUNTS = ("absi", "ctpop", "cttz", "ctlz")
FOLDS = {
    "f": ("addf", "addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"),
    "i": ("addi", "addi", "subi", "muli", "maxsi", "minsi", "maxui", "minui", "ori", "andi", "xori"),
}
"""What an output is combined with a term by; of truth values like of other integers."""


class Body:
    """The lines of a body in the making; `fresh` gives names."""

    def __init__(self, rng: random.Random, fresh: Callable[[], str], values: Sequence[Value], outer: Sequence[Value]):
        self.rng, self.fresh = rng, fresh
        self.values, self.outer = list(values), list(outer)
        self.lines: list[str] = []

    def add(self, text: str, kind: str) -> Value:
        """Append an operation; its result."""
        name = self.fresh()
        self.lines.append(f"{name} = {text}")
        return name, kind

    def call(self, name: str, *args: Value, kind: str | None = None) -> Value:
        """Append an operation whose operands have one type."""
        dialect = "math" if name in (*_ROUNDING, *_COUNTS, "copysign", "fma") else "arith"
        names = ", ".join(a for a, _ in args)
        return self.add(f"{dialect}.{name} {names} : {args[0][1]}", kind or args[0][1])

    def constant(self, value: float, kind: str) -> Value:
        """Append a constant."""
        if kind == "i1":
            return self.add(f"arith.constant {'true' if value else 'false'}", kind)
        return self.add(f"arith.constant {float(value) if kind in FLOATS else int(value)} : {kind}", kind)

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """Append a comparison."""
        return self.add(f"arith.cmp{'f' if a[1] in FLOATS else 'i'} {predicate}, {a[0]}, {b[0]} : {a[1]}", "i1")

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, kind: str, depth: int) -> Value:
        """Append an expression of a type."""
        rng = self.rng
        if depth <= 0:
            return self.leaf(kind)
        choice = rng.randint(0, 9)
        if choice == 9:
            return self.branch(kind, depth - 1)
        if choice == 8:
            a, b = (self.expression(kind, depth - 1) for _ in range(2))
            return self.add(f"arith.select {self.condition(depth - 1)[0]}, {a[0]}, {b[0]} : {kind}", kind)
        if choice == 7:
            return self.unary(self.expression(kind, depth - 1))
        if choice == 6:
            return self.leaf(kind)
        return self.binary(self.expression(kind, depth - 1), self.expression(kind, depth - rng.randint(1, 2)))

    def leaf(self, kind: str) -> Value:
        """Return a value that is there, converted, or a constant."""
        rng = self.rng
        pool = self.outer if self.outer and rng.randint(0, 5) == 0 else self.values
        if not pool or rng.randint(0, 7) == 0:
            return self.constant(rng.randint(0, 1) if kind == "i1" else rng.randint(-2, 3), kind)
        return self.converted(rng.choice(pool), kind)

    def condition(self, depth: int) -> Value:
        """Append a truth value."""
        kinds = [kind for _, kind in self.values] or ["i32"]
        kind = self.rng.choice(kinds)
        predicates = FLOAT_PREDICATES if kind in FLOATS else INTEGER_PREDICATES
        return self.compare(self.rng.choice(predicates), self.expression(kind, depth), self.leaf(kind))

    def unary(self, a: Value) -> Value:
        """Append an operation with one operand."""
        rng, kind = self.rng, a[1]
        if kind in FLOATS:
            choice = rng.randint(0, 9)
            if choice == 0:
                return self.call("negf", a)
            if choice == 1:
                return self.call("copysign", a, self.leaf(kind))
            if choice == 2:
                return self.call("fma", a, self.leaf(kind), self.leaf(kind))
            if choice == 3:
                test = self.add(f"math.{rng.choice(('isnan', 'isinf', 'isfinite'))} {a[0]} : {kind}", "i1")
                return self.converted(test, kind)
            return self.call(rng.choice(_ROUNDING), a)
        if kind in ("i1", "index"):
            return self.call("xori", a, self.constant(1, kind))
        if kind != "i8" and rng.randint(0, 5) == 0:
            other = {"i16": rng.choice(("f16", "bf16")), "i32": "f32", "i64": "f64"}[kind]
            source = self.leaf(other)
            return self.add(f"arith.bitcast {source[0]} : {other} to {kind}", kind)
        return self.call(rng.choice(_COUNTS), a)

    def binary(self, a: Value, b: Value) -> Value:
        """Append an operation with two operands; divisors are not 0, and shifts less than the width."""
        rng, kind = self.rng, a[1]
        if kind in FLOATS:
            return self.call(rng.choice(_FLOAT), a, b)
        choice = rng.randint(0, 9)
        if choice < 7:
            return self.call(rng.choice(_SIMPLE), a, b)
        if choice == 7:
            b = self.constant(0, kind) if kind == "i1" else self.call("andi", b, self.constant(width(kind) - 1, kind))
            return self.call(rng.choice(_SHIFTS), a, b)
        if kind == "i1":
            return self.call(rng.choice(("divui", "remui", "ceildivui")), a, self.constant(1, kind))
        if choice == 8:
            return self.guarded(a, b)
        b = self.call("addi", self.call("andi", b, self.constant(7, kind)), self.constant(2, kind))
        if rng.randint(0, 2) == 0:
            b = self.call("subi", self.constant(0, kind), b)
        return self.call(rng.choice(_DIVIDING), a, b)

    def guarded(self, a: Value, b: Value) -> Value:
        """Append a division in a branch that is not taken if the divisor is 0."""
        cond = self.compare("sgt", b, self.constant(0, b[1]))
        return self._if(cond, lambda: self.call(self.rng.choice(_DIVIDING), a, b), lambda: a)

    def branch(self, kind: str, depth: int) -> Value:
        """Append a branch with one result or two."""
        cond = self.condition(0)
        if self.rng.randint(0, 2):
            return self._if(cond, lambda: self.expression(kind, depth), lambda: self.expression(kind, depth))
        other = self.rng.choice([k for _, k in self.values] or [kind])
        sides: list[list[str]] = []
        for _ in range(2):
            result, lines = self._side(lambda: [self.expression(kind, depth), self.leaf(other)])
            sides.append([*lines, f"scf.yield {result[0][0]}, {result[1][0]} : {kind}, {other}"])
        name = self.fresh()
        self.lines += [f"{name}:2 = scf.if {cond[0]} -> ({kind}, {other}) {{", *sides[0], "} else {", *sides[1], "}"]
        self.values.append((f"{name}#1", other))
        return f"{name}#0", kind

    def _if(self, cond: Value, then: Callable[[], Value], other: Callable[[], Value]) -> Value:
        results = [self._side(lambda side=side: [side()]) for side in (then, other)]
        kind = results[0][0][0][1]
        blocks = [[*lines, f"scf.yield {values[0][0]} : {kind}"] for values, lines in results]
        name = self.fresh()
        self.lines += [f"{name} = scf.if {cond[0]} -> ({kind}) {{", *blocks[0], "} else {", *blocks[1], "}"]
        return name, kind

    def _side(self, make: Callable[[], list[Value]]) -> tuple[list[Value], list[str]]:
        lines, values = self.lines, list(self.values)
        self.lines = []
        result = make()
        inner, self.lines, self.values = self.lines, lines, values
        return result, inner

    # -- conversions ---------------------------------------------------------------------------------------------------

    def converted(self, value: Value, target: str) -> Value:
        """Append conversions of a value to a type; numbers that it does not have become others."""
        kind = value[1]
        if kind == target:
            return value
        if kind in FLOATS:
            return self._of_float(value, target)
        if target in FLOATS:
            value = self.converted(value, "i32") if kind == "index" else value
            return self.cast(self.rng.choice(("sitofp", "uitofp")), value, target)
        if "index" in (kind, target):
            return self.cast(self.rng.choice(("index_cast", "index_castui")), value, target)
        narrower = width(kind) > width(target)
        return self.cast("trunci" if narrower else self.rng.choice(("extsi", "extui")), value, target)

    def cast(self, name: str, value: Value, target: str) -> Value:
        """Append a conversion."""
        return self.add(f"arith.{name} {value[0]} : {value[1]} to {target}", target)

    def _of_float(self, value: Value, target: str) -> Value:
        kind = value[1]
        sizes = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
        if target in FLOATS:
            if sizes[kind] == sizes[target]:
                return self.converted(self.cast("extf", value, "f32"), target)
            return self.cast("extf" if sizes[kind] < sizes[target] else "truncf", value, target)
        if target == "i1":
            return self.compare(self.rng.choice(("ogt", "une", "ule", "ord")), value, self.constant(0, kind))
        if target == "index":
            return self.converted(self.converted(value, "i32"), target)
        signless = self.rng.randint(0, 1)
        size = value if signless else self.call("absf", value)
        small = self.compare("olt", self.call("absf", size), self.constant(100, kind))
        number = self.add(f"arith.select {small[0]}, {size[0]}, {self.constant(1, kind)[0]} : {kind}", kind)
        return self.cast("fptosi" if signless else "fptoui", number, target)
