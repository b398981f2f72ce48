"""Random tensor functions without blocks, as TVMScript: loops, branches, names and stores whose indices,
conditions and values exercise all arithmetic that is rewritten. Indices stay in bounds by a final modulo.
"""

from __future__ import annotations

import random
import textwrap
from dataclasses import dataclass, field

HEAD = """from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), F: T.Buffer((8,), "float32"), c: T.handle):
        n = T.int32()
        C = T.match_buffer(c, (n,), "int32")
"""
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_NARROW = ("int8", "uint8", "int16", "int64", "uint32")


@dataclass
class StatementMaker:
    """The names available where a statement is written."""

    rng: random.Random
    names: list[str] = field(default_factory=lambda: ["n"])
    count: int = 0

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def number(self) -> str:
        return str(self.rng.choice((0, 1, 2, 3, 4, 5, 7, 8, 15, 16, -1, -3)))

    def integer(self, depth: int) -> str:
        """Return an int32 expression."""
        pick = self.rng.choice
        if depth == 0:
            return pick((pick(self.names), pick(self.names), self.number(), f"B[{self.rng.randrange(16)}]"))
        a, b, by = self.integer(depth - 1), self.integer(depth - 1), pick((2, 3, 4, 8, -3))
        return pick(
            (
                f"({a} + {b})", f"({a} - {b})", f"({a} * {self.number()})", f"({a} * {b})",
                f"({a} // {by})", f"({a} % {abs(by)})", f"T.truncdiv({a}, {by})", f"T.truncmod({a}, {by})",
                f"T.min({a}, {b})", f"T.max({a}, {b})", f"T.Select({self.condition(depth - 1)}, {a}, {b})",
                f"T.if_then_else({self.condition(depth - 1)}, {a}, {b})", f"T.bitwise_and({a}, {b})",
                f"T.bitwise_xor({a}, {by})", f"T.shift_left({a}, {abs(by) % 4})", f"T.shift_right({a}, {abs(by) % 4})",
                f'T.Cast("int32", T.Cast("{pick(_NARROW)}", {a}))', f"T.abs({a})", f"B[{a} % 16]",
            )
        )  # fmt: skip

    def condition(self, depth: int) -> str:
        pick = self.rng.choice
        if depth == 0 or pick((True, False)):
            return f"({self.integer(max(depth - 1, 0))} {pick(_COMPARISONS)} {self.integer(max(depth - 1, 0))})"
        a, b = self.condition(depth - 1), self.condition(depth - 1)
        return pick((f"({a} and {b})", f"({a} or {b})", f"(not {a})", f"T.likely({a})"))

    def floating(self, depth: int) -> str:
        pick = self.rng.choice
        if depth == 0:
            return pick(("F[0]", f"F[{self.rng.randrange(8)}]", "T.float32(0)", "T.float32(1)", "T.float32(-0.5)"))
        a, b = self.floating(depth - 1), self.floating(depth - 1)
        return pick(
            (
                f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"T.max({a}, {b})", f"T.min({a}, {b})",
                f'T.Cast("float32", {self.integer(depth - 1)})', f"T.Select({self.condition(depth - 1)}, {a}, {b})",
            )
        )  # fmt: skip

    def store(self) -> str:
        place = self.integer(self.rng.choice((0, 0, 1, 2)))
        kind = self.rng.choice(("A", "A", "A", "B", "C", "F"))
        if kind == "F":
            return f"F[{place} % 8] = {self.floating(2)}"
        if kind == "C":
            return f"if n > 0:\n    C[{place} % n] = {self.integer(2)}"
        return f"{kind}[{place} % 16] = {self.integer(self.rng.choice((0, 1, 2)))}"

    def statement(self, depth: int) -> str:
        kind = self.rng.choice(("store", "store", "loop", "loop", "if", "if", "let")) if depth else "store"
        if kind == "store":
            return self.store()
        outside = list(self.names)
        if kind == "loop":
            name = self.fresh("i")
            least, extent = (
                self.rng.choice((0, 0, 0, 2, -3)),
                self.rng.choice(("4", "7", "16", "n", "1", "T.min(n, 5)")),
            )
            self.names.append(name)
            head = f"for {name} in range({least}, {least} + {extent}):" if least else f"for {name} in range({extent}):"
            text = f"{head}\n{textwrap.indent(self.statements(depth - 1), '    ')}"
        elif kind == "let":
            value, name = self.integer(1), self.fresh("x")
            self.names.append(name)
            text = f"{name}: T.int32 = {value}\n{self.statements(depth - 1)}"
        else:
            text = f"if {self.condition(2)}:\n{textwrap.indent(self.statements(depth - 1), '    ')}"
            if self.rng.choice((True, False)):
                text += f"\nelse:\n{textwrap.indent(self.statements(depth - 1), '    ')}"
        self.names = outside
        return text

    def statements(self, depth: int) -> str:
        return "\n".join(self.statement(depth) for _ in range(self.rng.randint(1, 3)))


def statement_program(rng: random.Random, depth: int = 3) -> str:
    """Return the TVMScript of a module with one tensor function, `main`."""
    return HEAD + textwrap.indent(StatementMaker(rng).statements(depth), " " * 8) + "\n"
