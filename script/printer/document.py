"""The state that all parts of the printer share: options, the lines so far, and the prefixes and constants in use."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects import relax, tir
from ...dialects.relax.data import TensorDataAttr
from ...ir.locations import location_of

_REFERENCE = re.compile(r'\bmetadata\["([\w.]+)"\]\[(\d+)\]')


@dataclass(frozen=True)
class PrinterConfig:
    """The options of printing, named as in TVM.

    - `name`: the class name of a printed module.
    - `show_meta`: print the contents of constants at the top, instead of a comment that they are omitted.
    - `ir_prefix`, `tir_prefix`, `relax_prefix`: the names of the three languages.
    - `module_alias`: what a Relax function calls its module; the module's name itself if empty.
    - `int_dtype`, `float_dtype`: literals of these types print without their type (`void` is none).
    - `verbose_expr`: declare the variables of an expression that is printed by itself, on lines before it.
    - `syntax_sugar`: use `T.grid` and `T.axis.remap` where they apply.
    - `show_all_struct_info`: annotate every Relax binding, even if inference yields the same (except `call_tir`).
    - `indent_spaces`: the width of one level.
    - `num_context_lines`: the number of lines to keep around underlined lines; all if negative.
    """

    show_meta: bool = False
    name: str | None = "Module"
    ir_prefix: str = "I"
    tir_prefix: str = "T"
    relax_prefix: str = "R"
    module_alias: str = "cls"
    int_dtype: str = "int32"
    float_dtype: str = "void"
    verbose_expr: bool = False
    syntax_sugar: bool = True
    show_all_struct_info: bool = True
    indent_spaces: int = 4
    num_context_lines: int = -1

    def __post_init__(self) -> None:
        for option in ("ir_prefix", "tir_prefix", "relax_prefix", "module_alias"):
            name = getattr(self, option)
            if name and not name.isidentifier():
                raise TiraxError(f"the option {option} is no name", expected="a name of Python", found=name)

    @property
    def module_name(self) -> str:
        return self.name or "Module"


class Expr(NamedTuple):
    """The text of an expression and its binding strength (see `precedence`)."""

    text: str
    level: int


class Level:
    """Binding strengths of Python's operators, weakest first."""

    OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(12)


def atom(text: str) -> Expr:
    """Return an expression that never needs parentheses."""
    return Expr(text, Level.ATOM)


def infix(symbol: str, level: int, left: Expr, right: Expr) -> Expr:
    """Return `left symbol right` with parentheses where needed; comparisons do not chain."""
    needs_left = left.level < level or left.level == level == Level.COMPARE
    a = f"({left.text})" if needs_left else left.text
    b = f"({right.text})" if right.level <= level else right.text
    return Expr(f"{a} {symbol} {b}", level)


def prefix(symbol: str, level: int, operand: Expr) -> Expr:
    """Return `symbol operand`, e.g. `not x` or `~x`."""
    return Expr(symbol + (f"({operand.text})" if operand.level < level else operand.text), level)


class Document:
    """The lines of a program, with an indentation level."""

    def __init__(
        self,
        config: PrinterConfig,
        underlined: Collection[Operation] = (),
        remarks: Mapping[Operation, str] = MappingProxyType({}),
        at_line_ends: bool = False,
        all_lines: bool = False,
    ):
        """Ops in `underlined` get `^^^` below their line; `remarks` are printed above the lines of their ops, or with
        `at_line_ends` at their ends, unless they open a scope. With `all_lines`, `underlining` has an effect.

        Each of these ops must print as a line.
        """
        self.config = config
        self.lines: list[str] = []
        self.used: set[str] = set()
        self.tables: dict[str, list[Attribute]] = {}
        """What is no literal and the text refers to as metadata, by kind."""
        self._numbers: dict[object, int] = {}
        self.in_module = False
        self.vdevices: list[str] = []
        """The virtual devices that the module lists."""
        self.depth = 0
        self._underlined = frozenset(underlined)
        self._remarks = remarks
        self._at_line_ends = at_line_ends
        self._all_lines = all_lines
        self.read_buffers: list[str] = []
        """What the buffers are called that the block reads whose annotations are printed."""

    def line(self, text: str = "", op: Operation | None = None) -> None:
        """Add a line, the text of `op`."""
        pad = self.indent(self.depth)
        remark = None if op is None else self._remarks.get(op)
        if remark is not None and (text.endswith(":") or not self._at_line_ends):
            self.lines.append(f"{pad}# {remark}")
            remark = None
        self.lines.append((pad + text if text else "") + ("" if remark is None else f"  # {remark}"))
        if op is not None and op in self._underlined:
            self.lines.append(pad + "^" * len(text))

    def has_remark(self, op: Operation) -> bool:
        """Return whether the line of `op` gets a comment."""
        return op in self._remarks

    def is_underlined(self, op: Operation) -> bool:
        """Return whether the line of `op` gets a line of `^` below it."""
        return op in self._underlined

    @contextmanager
    def underlining(self, op: Operation) -> Iterator[None]:
        """Underline all lines within the context if `op` is underlined as a whole."""
        if not self._all_lines or op not in self._underlined:
            yield
            return
        outer, self.lines = self.lines, []
        yield
        marks = [bool(line) and not line.strip(" ^") for line in self.lines]
        for line, mark, marked in zip(self.lines, marks, [*marks[1:], False], strict=True):
            outer.append(line)
            if line and not mark and not marked:
                outer.append(" " * (len(line) - len(line.lstrip())) + "^" * len(line.lstrip()))
        self.lines = outer

    def indent(self, depth: int) -> str:
        """Return the indentation of a line at a depth."""
        return " " * (depth * self.config.indent_spaces)

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Indent lines by one level within the context; print `pass` if nothing is printed in it."""
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1

    @contextmanager
    def collecting(self, lines: list[str]) -> Iterator[None]:
        """Collect lines in `lines` within the context, to be placed later."""
        outer, self.lines = self.lines, lines
        yield
        self.lines = outer

    def function_name(self, func: relax.FuncOp | tir.FuncOp) -> str:
        """Return the name of a function in its module, or outside of one its symbol.

        A private function that belongs to no module has no symbol, and prints as `main`. Raises `UnsupportedError`
        if the name is not a valid Python name.
        """
        name = func.sym_name.data if self.in_module else _standalone_name(func)
        if not name.isidentifier() or keyword.iskeyword(name):
            message = f"a function called '{name}' has no form in TVMScript"
            raise UnsupportedError(message, location=location_of(func), expected="a name of Python", hint="rename it")
        return name

    def ir(self, name: str) -> str:
        self.used.add("ir")
        return f"{self.config.ir_prefix}.{name}"

    def imports(self) -> list[str]:
        """Return import comments for the languages that the text uses."""
        c = self.config
        names = {"ir": c.ir_prefix, "tir": c.tir_prefix, "relax": c.relax_prefix}
        return [f"# from tvm.script import {kind} as {name}" for kind, name in names.items() if kind in self.used]

    def tir(self, name: str) -> str:
        """Return a name of the TIR language: `T.grid`."""
        self.used.add("tir")
        return f"{self.config.tir_prefix}.{name}"

    def relax(self, name: str) -> str:
        """Return a name of the Relax language: `R.Tensor`."""
        self.used.add("relax")
        return f"{self.config.relax_prefix}.{name}"

    def number_constants(self) -> None:
        """Number the constants in the order in which the text mentions them, which may differ from their order in
        the IR.

        This way a program that is parsed from its text prints as the same text.
        """
        if not self.tables:
            return
        orders: dict[str, dict[int, int]] = {key: {} for key in self.tables}

        def numbered(match: re.Match[str]) -> str:
            order = orders[match[1]]
            return _reference(match[1], order.setdefault(int(match[2]), len(order)))

        self.lines = [_REFERENCE.sub(numbered, line) for line in self.lines]
        for key, order in orders.items():
            values = self.tables[key]
            self.tables[key] = [values[old] for old in order]

    def metadata(self, key: str, value: Attribute) -> str:
        """Return the reference to a value of kind `key` that has no literal.

        A value that is used several times is stored once.

        Constants with equal contents may be stored twice, as in TVM, because contents are not compared.
        """
        table = self.tables.setdefault(key, [])
        which = (key, id(value.data) if isinstance(value, TensorDataAttr) else value)
        if which not in self._numbers:
            self._numbers[which] = len(table)
            table.append(value)
        return _reference(key, self._numbers[which])


def _reference(key: str, number: int) -> str:
    return f'metadata["{key}"][{number}]'


def _standalone_name(func: relax.FuncOp | tir.FuncOp) -> str:
    """Return the name of a function that belongs to no module: its symbol."""
    if func.sym_visibility is not None:
        return "main"
    symbol = None if func.func_attrs is None else func.func_attrs.data.get("global_symbol")
    return symbol.data if isinstance(symbol, StringAttr) else func.sym_name.data
