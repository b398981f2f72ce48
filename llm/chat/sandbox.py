"""A Jinja sandbox for untrusted templates: few attributes, no loader, and limits on text and time."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from jinja2 import Template, nodes
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import LoopControlExtension
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from .budget import MOST_INTEGER, current, spending
from .errors import ChatTemplateError

MOST_TEMPLATE = 1 << 18
"""Limit on the characters of a template."""
_TEXTS = ("capitalize", "e", "escape", "join", "lower", "replace", "safe", "string", "title", "trim", "upper")
"""Filters that return their argument as text."""
_SPLITS = ("split", "rsplit", "splitlines")
_CHARACTERS_OF_A_PART = 6
"""Characters charged for each part of a split text, since a Python object takes more memory than its characters."""
_COMPARED_IN_A_STEP = 64
"""Characters compared for one step."""
_MOST_BITS = 256
"""Limit on the bits of computed integers."""
_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float", "int", "items", "join",
    "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "safe",
    "select", "selectattr", "sort", "string", "title", "trim", "unique", "upper",
)  # fmt: skip
_METHODS = frozenset((
    "strip", "lstrip", "rstrip", "split", "rsplit", "splitlines", "startswith", "endswith", "removeprefix",
    "removesuffix", "upper", "lower", "title", "capitalize", "replace", "join", "find", "rfind", "index", "count",
    "isdigit", "isalpha", "isspace", "isupper", "islower", "get", "items", "keys", "values",
))  # fmt: skip
"""Methods of texts, lists and mappings that return no more text than they are given, besides `replace` and `join`."""
_REFUSED = (nodes.Extends, nodes.Include, nodes.Import, nodes.FromImport, nodes.Block)


def _check_small(values: Iterable[object]) -> None:
    if any(isinstance(value, int) and abs(value) > MOST_INTEGER for value in values):
        raise SecurityError(f"an argument above {MOST_INTEGER}")


def _replaced(text: object, old: object, new: object, *_: object) -> int:
    """Return an upper bound on the characters that `replace` inserts."""
    text, old, new = str(text), str(old), str(new)
    return text.count(old) * len(new) if old else (len(text) + 1) * len(new)


def _joined(parts: object, separator: object = "", *_: object) -> int:
    """Return the characters of the separators that `join` inserts."""
    return len(parts) * len(str(separator)) if isinstance(parts, list | tuple | dict | str | range) else 0


def _parts(text: object, separator: object = None, *_: object) -> int:
    """Return an upper bound on the number of parts that a text is split into."""
    text = str(text)
    return text.count(separator) + 1 if isinstance(separator, str) and separator else len(text)


_GROWTH: dict[str, Callable[..., int]] = {"replace": _replaced, "join": _joined}


def _bounded(name: str, function: Callable[..., Any], hidden: int) -> Callable[..., Any]:
    """Wrap a filter so that its arguments and results are charged; its first `hidden` arguments are Jinja's own."""

    @functools.wraps(function)
    def bounded(*args: Any, **options: Any) -> Any:
        budget = current()
        values = [list(a) if isinstance(a, Iterator) else a for a in args[hidden:]]
        _check_small(values[1:])
        _check_small(options.values())
        budget.text(
            budget.size(values, plain=name in _TEXTS)
            + (_GROWTH[name](*values, *options.values()) if name in _GROWTH else 0)
        )
        result = function(*args[:hidden], *values, **options)
        return list(result) if isinstance(result, Iterator) else result

    return bounded


def _to_json(value: Any, ensure_ascii: bool = False, indent: int | None = None, **_: Any) -> str:
    """Return JSON as models were trained on it: HTML characters are not escaped."""
    budget = current()
    budget.size(value)
    width = None if indent is None else max(0, min(int(indent), 8))
    chunks = json.JSONEncoder(ensure_ascii=bool(ensure_ascii), indent=width).iterencode(value)
    return "".join(map(budget.spent, chunks))


def _raise(message: object) -> None:
    raise ChatTemplateError(f"the chat template refuses the conversation: {str(message)[:500]}")


def _now(form: object) -> str:
    return datetime.now().strftime(str(form)[:100])


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment that templates run in."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[LoopControlExtension], optimized=False, cache_size=0
        )
        self.finalize = self.shown
        hidden = {n: int(getattr(FILTERS[n], "jinja_pass_arg", None) is not None) for n in _FILTERS}
        self.filters = {n: _bounded(n, FILTERS[n], hidden[n]) for n in _FILTERS} | {"tojson": _to_json}
        kept = {name: self.globals[name] for name in ("range", "namespace", "dict")}
        self.globals.clear()
        self.globals.update(kept | {"raise_exception": _raise, "strftime_now": _now})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str | list | tuple | dict | int | float):
            return attr in _METHODS
        return super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Any:
        """Return None: `str.format` can pad to any width, so it is not provided."""
        return None

    def call(self, context: Context, obj: Any, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        budget = current()
        owner, name = getattr(obj, "__self__", None), getattr(obj, "__name__", "")
        if isinstance(owner, str | list | tuple | dict):
            growth = {"replace": lambda: _replaced(owner, *args), "join": lambda: _joined(args[0], owner)}.get(name)
            budget.text(budget.size(owner) + (growth() if growth is not None and args else 0))
            budget.text(_CHARACTERS_OF_A_PART * _parts(owner, *args) if name in _SPLITS else 0)
        _check_small(args)
        budget.size([*args, *options.values()])
        return super().call(context, obj, *args, **options)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        budget = current()
        if operator == "+":
            budget.text(budget.size((left, right)))
        elif operator == "%" and isinstance(left, str):
            raise SecurityError("the formatting of texts")
        elif operator == "*":
            for many, count in ((left, right), (right, left)):
                if isinstance(many, str | list | tuple) and isinstance(count, int):
                    budget.text(budget.size(many) * max(count, 1))
            _check_bits(_bits(left) + _bits(right))
        elif operator == "**":
            _check_bits(_bits(left) * abs(right) if isinstance(right, int) else 0)
        return super().call_binop(context, operator, left, right)

    def counted(self, values: Iterable[Any], characters: int) -> Iterator[Any]:
        """Yield the values of a loop, charging each iteration a step and the characters of the loop's literal text."""
        budget = current()
        for value in values:
            budget.step()
            budget.text(characters)
            yield value

    def entered(self, characters: int) -> str:
        """Charge the entry of a macro and return the empty text that its body starts with."""
        current().step()
        current().text(characters)
        return ""

    def sliced(self, value: Any, *bounds: Any) -> Any:
        """Return a slice of a text or a list, charged before it is created."""
        if not isinstance(value, str | list | tuple | range):
            raise SecurityError(f"a part of a {type(value).__name__}")
        part = slice(*bounds)
        current().text((1 if isinstance(value, str) else 4) * len(range(*part.indices(len(value)))))
        return value[part]

    def compared(self, value: Any) -> Any:
        """Return an operand of a comparison or lookup, after charging for all of its characters."""
        budget = current()
        budget.step(budget.size(value) // _COMPARED_IN_A_STEP)
        return value

    def built(self, value: Any) -> Any:
        """Return a list or mapping literal after charging for it, so that none outgrows the limits."""
        current().size(value)
        return value

    def concatenated(self, *parts: Any) -> str:
        """Return the parts concatenated as text."""
        self.shown(parts)
        return "".join(map(str, parts))

    def shown(self, value: Any) -> Any:
        """Return a value to be rendered. Jinja's own objects are rejected: the length of their text is unknown."""
        budget = current()
        budget.text(budget.size(value, plain=True))
        return value

    def template(self, text: str) -> Template:
        """Compile a template whose loops are all counted. Raises `ChatTemplateError`."""
        if len(text) > MOST_TEMPLATE:
            raise ChatTemplateError("the chat template is too long", expected=f"at most {MOST_TEMPLATE} characters")
        with spending():
            tree = _Counting().visit(self.parse(text))
            return Template.from_code(self, self.compile(tree), dict(self.globals))


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _check_bits(bits: int) -> None:
    if bits > _MOST_BITS:
        raise SecurityError(f"an integer of more than {_MOST_BITS} bits")


class _Counting(NodeTransformer):
    """An AST transformer that routes loops, macros and `~` through the sandbox.

    It rejects what would read other files or run without being counted.
    """

    def generic_visit(self, node: nodes.Node, *args: Any, **options: Any) -> nodes.Node:
        if isinstance(node, _REFUSED):
            raise SecurityError(f"a '{type(node).__name__.lower()}'")
        return super().generic_visit(node, *args, **options)

    def visit_For(self, node: nodes.For) -> nodes.Node:
        if node.recursive:
            raise SecurityError("a recursive loop")
        self.generic_visit(node)
        node.iter = _call("counted", [node.iter, nodes.Const(_written(node.body))])
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, nodes.Output([_call("entered", [nodes.Const(_written(node.body))])]))
        return node

    visit_CallBlock = visit_Macro  # type: ignore[assignment]

    def visit_List(self, node: nodes.List) -> nodes.Node:
        self.generic_visit(node)
        return _call("built", [node])

    visit_Dict = visit_List  # type: ignore[assignment]

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return _call("built", [node]) if node.ctx == "load" else node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            node.arg = node.arg if isinstance(node.arg, nodes.Const) else _call("compared", [node.arg])
            return node
        bounds = (node.arg.start, node.arg.stop, node.arg.step)
        return _call("sliced", [node.node, *(each or nodes.Const(None) for each in bounds)])

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _call("compared", [node.expr])
        for operand in node.ops:
            operand.expr = _call("compared", [operand.expr])
        return node

    def visit_Test(self, node: nodes.Test) -> nodes.Node:
        self.generic_visit(node)
        node.args = [_call("compared", [each]) for each in node.args]
        if node.args:
            node.node = _call("compared", [node.node])
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _call("concatenated", list(node.nodes))


def _call(name: str, args: list[Any]) -> nodes.Call:
    return nodes.Call(nodes.EnvironmentAttribute(name), args, [], None, None)


def _written(body: list[nodes.Node]) -> int:
    """Return the number of literal characters in the body of a loop or macro."""
    return sum(len(data.data) for node in body for data in node.find_all(nodes.TemplateData))


@functools.lru_cache(maxsize=8)
def compiled(text: str) -> Template:
    """Compile the text of a template. Raises `ChatTemplateError`."""
    return _guarded(lambda: Sandbox().template(text))


def rendered(text: str, variables: dict[str, Any]) -> str:
    """Render a template with the given variables. Raises `ChatTemplateError`."""
    template = compiled(text)
    with spending():
        return _guarded(lambda: "".join(template.generate(variables)))


_FAILURES = (
    TemplateError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError,
    SyntaxError, TypeError, ValueError,
)  # fmt: skip
"""The exceptions that a template can end with."""


def _guarded(run: Callable[[], Any]) -> Any:
    """Return the result of `run`; any exception in the untrusted template becomes a `ChatTemplateError`."""
    try:
        return run()
    except ChatTemplateError:
        raise
    except _FAILURES as error:
        kind = "RecursionError: too deep" if isinstance(error, RecursionError) else f"{type(error).__name__}: {error}"
        raise ChatTemplateError(f"the chat template fails: {kind[:500]}") from error
