"""Evaluation of script expressions: a walk over Python's syntax tree that folds constants and leaves the rest to a
dialect.

The script is never executed as Python: calls are looked up in tables, and attributes in an allowlist.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import EnumType
from types import FunctionType, ModuleType
from typing import Any, Generic, NoReturn, TypeVar, cast

from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...diagnostics import TiraxError, suggestion
from ...dialects import relax
from ...dialects.sym import IndexMapping
from ...dialects.sym.expr import SymExpr, Var
from ...ir.passes.limits import exceeded, limit
from .captured import NotSimpleError, bind_arguments, lambda_text, result, surroundings, text_of
from .constants import constant_member, is_maker, made
from .folding import OPERATORS, SYMBOLS, UNARY, as_sym, fold, fold_symbolic, is_constant
from .scope import BUILTIN_FUNCTIONS, Scope, is_missing, names_in, script_value, undefined_names
from .source import ScriptError, Source
from .values import Builtin, CallSite, GlobalRef, Imm, Metadata, ModuleRef, Ref, Slice, Unusable, describe

State = TypeVar("State")
Reader = Callable[[Any, Any], Any]
"""A function that reads a syntax node for an evaluator."""

_PLAIN_ATTRIBUTES = ("shape", "dtype", "ndim", "size", "name", "itemsize")


def _undefined(p: Evaluator[Any], uses: list[ast.Name], names: set[str], symbolic: Iterable[str]) -> NoReturn:
    raise undefined_names(p.source, uses, names, symbolic)


def _located(p: Evaluator[Any], read: Reader, node: ast.stmt) -> Any:
    with p.source.located(node):
        return read(p, node)


@dataclass(frozen=True)
class Policy:
    """The handling of errors and bindings. By default parsing stops at the first error."""

    undefined: Callable[[Evaluator[Any], list[ast.Name], set[str], Iterable[str]], None] = _undefined
    """Called with the uses of undefined names, all known names, and the symbolic variables of the signature."""
    statement: Callable[[Evaluator[Any], Reader, ast.stmt], Any] = _located
    """Read a statement with its reader, and return the reader's result."""
    bound: Callable[[ast.AST, str, SSAValue, bool], None] | None = None
    """Called after a statement binds a name, with or without an annotation."""


RAISE = Policy()


# Defaults for expressions that a dialect does not define


def no_operator(p: Evaluator[Any], kind: str, value: Any, node: ast.AST) -> NoReturn:
    raise p.error(node, f"operator '{SYMBOLS.get(kind, kind)}' cannot be applied", found=describe(value))


def symbolic_binary(p: Evaluator[Any], kind: str, a: Any, b: Any, node: ast.AST) -> Any:
    """Apply a binary operator to symbolic integers."""
    result = fold_symbolic(kind, a, b)
    if result is None:
        raise p.error(
            node, f"operator '{SYMBOLS.get(kind, kind)}' cannot be applied", found=f"{describe(a)} and {describe(b)}"
        )
    return result


def _no_attribute(p: Evaluator[Any], value: Any, name: str, node: ast.AST) -> NoReturn:
    raise p.error(node, f"there is no attribute '{name}'", found=describe(value))


def _no_member(p: Evaluator[Any], name: str, node: ast.AST) -> NoReturn:
    raise p.error(node, f"there is no function '{name}'")


def _no_element(p: Evaluator[Any], value: Any, indices: Sequence[Any], node: ast.AST) -> NoReturn:
    raise p.error(node, "this has no elements", found=describe(value))


def _no_call(p: Evaluator[Any], target: Ref, site: CallSite) -> NoReturn:
    raise p.error(site.node, f"'{target}' cannot be called here")


def _no_builtin(p: Evaluator[Any], name: str, site: CallSite) -> NoReturn:
    raise p.error(site.node, f"'{name}' may only be applied to constants here")


def inlined(p: Evaluator[Any], function: Any, site: CallSite) -> Any:
    """Inline a captured function from its source and return its value. Anything else cannot be called."""
    if is_maker(function):
        try:
            return made(function, site.args, site.kwargs)
        except (TypeError, ValueError) as error:
            raise p.error(site.node, f"{describe(function)}: {error}") from None
    if not isinstance(function, FunctionType):
        raise p.error(
            site.node,
            f"{describe(function)} cannot be called in a script",
            hint="a script is read, never run: only R.*, T.*, I.* and functions of the module can be called",
        )
    try:
        text = text_of(function)
        arguments = bind_arguments(text, function, site.args, site.kwargs)
        if arguments is None:
            raise site.error("wrong arguments", expected=ast.unparse(text.arguments))
        with p.elsewhere(Scope(surroundings(function)), text.source), p.scope.frame() as frame:
            frame.update((name, script_value(value)) for name, value in arguments.items())
            return result(text.body, p.visit, frame.__setitem__)
    except NotSimpleError:
        raise p.error(
            site.node,
            f"the function '{function.__name__}' cannot be called in a script",
            expected="a function that names values, chooses by constants, and returns an expression",
            hint="a script is read, never run; what has other statements is a T.macro",
        ) from None


@dataclass(frozen=True)
class Language:
    """The expressions and statements of a dialect. Every function takes the evaluator as its first argument."""

    name: str = ""
    where: str = ""
    """The construct that contains the statements, as named in diagnostics."""
    values: tuple[type, ...] = (SSAValue, SymExpr, Imm)
    """Types of values that support the operators, attributes and subscripts of the dialect."""
    operands: tuple[type, ...] = ()
    """Additional types that `binary` accepts."""
    special: Mapping[str, Callable[[Any, ast.Call], Any]] = field(default_factory=dict[Any, Any])
    """Functions of the dialect that take their arguments unevaluated, by name."""
    statements: Mapping[type[ast.stmt], Reader] = field(default_factory=dict[Any, Any])
    call: Callable[[Any, Ref, CallSite], Any] = _no_call
    """Called for a function of the dialect."""
    call_value: Callable[[Any, Any, CallSite], Any] = inlined
    """Called for any other callee."""
    call_builtin: Callable[[Any, str, CallSite], Any] = _no_builtin
    """Called for a Python builtin that is applied to something other than constants."""
    binary: Callable[[Any, str, Any, Any, ast.AST], Any] = symbolic_binary
    unary: Callable[[Any, str, Any, ast.AST], Any] = no_operator
    attribute: Callable[[Any, Any, str, ast.AST], Any] = _no_attribute
    member: Callable[[Any, str, ast.AST], Any] = _no_member
    """Resolves a function of the module by name."""
    element: Callable[[Any, SSAValue, tuple[Any, ...], ast.AST], Any] = _no_element


PYTHON = Language()
"""Constants and symbolic integers only."""


class Evaluator(Generic[State]):
    """Evaluates script expressions with the names in `scope`; whatever is not plain Python is left to the language.

    `state` is the language's state of the function being parsed. Operations are appended to `block`, if there is
    one.
    """

    def __init__(
        self,
        source: Source,
        scope: Scope,
        language: Language = PYTHON,
        state: State = None,
        *,
        block: Block | None = None,
        policy: Policy = RAISE,
    ):
        self.source = source
        self.scope = scope
        self.language = language
        self.state = state
        self.block = cast(Block, block)
        self.policy = policy
        self.values = language.values
        self._operands = (*language.values, *language.operands)
        self._depth = 0
        self._deepest = limit("parse.depth")

    def error(self, node: ast.AST, message: str, **details: Any) -> ScriptError:
        return self.source.error(node, message, **details)

    def check_names(self, function: ast.FunctionDef, symbolic: Iterable[str] = ()) -> set[str]:
        """Return the names that occur in `function`, and report undefined names to the policy.

        `symbolic` holds the symbolic variables of the signature, which the body must declare before using them.
        """
        known = self.scope.environment.names()
        names, undefined = names_in(function, known)
        if undefined:
            self.policy.undefined(self, undefined, names | known, symbolic)
        return names

    def visit(self, node: ast.AST) -> Any:
        """Return the value of an expression. Raises a located `TiraxError`."""
        visitor = _VISITORS.get(type(node))
        if visitor is None:
            raise self.error(
                node,
                f"{_what(node)} is not part of TVMScript",
                hint="a script is read, never run: only calls of R.*, T.* and I.*, operators and constants stand here",
            )
        self._depth += 1
        if self._depth > self._deepest:
            raise exceeded("parse.depth", "the expression is nested too deeply", location=self.source.place(node))
        try:
            return visitor(self, node)
        except TiraxError as error:  # like `Source.located`, which would take a fifth of the time here
            error.location = error.location or self.source.place(node)
            raise
        finally:
            self._depth -= 1

    def visit_all(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Return the values of expressions; `*xs` is expanded in place."""
        out: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                spread = self.visit(node.value)
                if not isinstance(spread, tuple | list):
                    raise self.error(node, "only a tuple or list can be unpacked", found=describe(spread))
                out.extend(cast("list[Any]", spread))
            else:
                out.append(self.visit(node))
        return out

    def statement(self, node: ast.stmt) -> Any:
        """Read a statement and return the result of its reader."""
        read = self.language.statements.get(type(node))
        if read is None:
            if isinstance(node, ast.Pass | ast.Nonlocal):  # `nonlocal n` only captures a name
                return None
            raise refuse(self.source, node, self.language.where)
        return self.policy.statement(self, read, node)

    # Operations

    def emit(self, op: Operation, node: ast.AST) -> Any:
        """Append `op` and return its result, if it has one."""
        if self.block is None:
            raise self.error(node, "only constants may stand here", found=describe(op.results[0]))
        op.location = self.source.attr(node)
        self.block.add_op(op)
        return op.results[0] if op.results else None

    @contextmanager
    def at(self, block: Block) -> Iterator[None]:
        """Append operations to `block` within the context."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    @contextmanager
    def into(self, block: Block) -> Iterator[dict[str, Any]]:
        """Append operations to `block` within the context, with a new frame of names."""
        with self.at(block), self.scope.frame() as names:
            yield names

    @contextmanager
    def elsewhere(self, scope: Scope, source: Source) -> Iterator[None]:
        """Use the names and locations of another text within the context."""
        around = self.scope, self.source
        self.scope, self.source = scope, source
        try:
            yield
        finally:
            self.scope, self.source = around

    def placed(self, value: Any, node: ast.AST) -> Any:
        """Return a captured expression, which belongs to no block, as a value of this function."""
        if not isinstance(value, OpResult) or value.op.parent is not None:
            return value
        if isinstance(value.op, relax.FunctionRefOp):
            return GlobalRef(value.op.callee.root_reference.data)
        mapping: dict[SSAValue, SSAValue] = {}
        for operand in value.op.operands:
            mapping[operand] = self.placed(operand, node)
        return self.emit(value.op.clone(mapping), node)

    # Parts of expressions

    def operate(self, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        """Apply an operator to `a` and `b`: constants are folded, anything else is left to the dialect."""
        if is_constant(a) and is_constant(b):
            return self._fold(kind, a, b, node)
        if isinstance(a, self._operands) or isinstance(b, self._operands):
            try:
                return self.language.binary(self, kind, a, b, node)
            except ZeroDivisionError as error:
                raise self.error(node, str(error)) from None
        raise self.error(
            node, f"operator '{SYMBOLS.get(kind, kind)}' cannot be applied", found=f"{describe(a)} and {describe(b)}"
        )

    def _fold(self, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        if kind in ("and", "or"):
            return (a and b) if kind == "and" else (a or b)
        try:
            return fold(kind, a, b)
        except (ValueError, ArithmeticError, TypeError) as error:
            message = f"'{SYMBOLS.get(kind, kind)}' on constants fails: {error}"
            raise self.error(node, message, found=f"{describe(a)} and {describe(b)}") from None

    def subscripts(self, node: ast.Subscript) -> tuple[Any, ...]:
        """Return the indices `i, j` of `A[i, j]`. A single name may denote a tuple of indices."""
        indices = self.visit_all(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
        single = indices[0] if len(indices) == 1 else None
        return tuple(cast("list[Any]", single if isinstance(single, tuple | list) else indices))

    def call_site(self, node: ast.Call, target: Any) -> CallSite:
        """Return a call with its arguments evaluated."""
        args = self.visit_all(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.visit(keyword.value)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, dict) and all(isinstance(key, str) for key in cast("dict[Any, Any]", value)):
                kwargs.update(cast("dict[str, Any]", value))
            else:
                raise self.error(node, "'**' stands before a dictionary of names", found=describe(value))
        return CallSite(node, describe(target), args, kwargs, self.source)

    def target_of(self, node: ast.expr) -> Any:
        """Return the callee if the expression is a call; None for any other expression."""
        return self.visit(node.func) if isinstance(node, ast.Call) else None

    def index_mapping(self, value: Any) -> Any:
        """Return a captured lambda as an index map, evaluated in its environment; any other value unchanged."""
        if not isinstance(value, FunctionType) or value.__name__ != "<lambda>":
            return value
        source, node = lambda_text(value, "the index map")
        with self.elsewhere(Scope(surroundings(value)), source):
            return _lambda(self, node)


# Leaves


def _constant(p: Evaluator[Any], node: ast.Constant) -> Any:
    if isinstance(node.value, int) and node.value >= 1 << 64:
        raise p.error(node, f"{node.value} does not fit 64 bits")
    if isinstance(node.value, int | float | str) or node.value is None:
        return node.value
    raise p.error(node, f"{type(node.value).__name__} constants are not part of TVMScript")


def _name(p: Evaluator[Any], node: ast.Name) -> Any:
    value = p.scope.lookup(node.id)
    if is_missing(value):
        known = p.scope.names() | p.scope.environment.names()
        raise p.error(node, f"'{node.id}' is not defined here", hint=suggestion(node.id, known))
    if isinstance(value, Unusable):
        raise value.error(p.source, node)
    return p.placed(value, node)


def _joined(p: Evaluator[Any], node: ast.JoinedStr) -> str:
    """Evaluate an f-string of constants without format specifiers."""
    parts: list[str] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1:
            part = part.value
        value = p.visit(part)
        if not isinstance(value, str | int | float):
            raise p.error(part, "only constants can stand in an f-string", found=describe(value))
        parts.append(str(value))
    return "".join(parts)


def _dict(p: Evaluator[Any], node: ast.Dict) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = None if key is None else p.visit(key)
        if not isinstance(name, str):
            raise p.error(key or node, "a key of a dictionary must be a string")
        out[name] = p.visit(value)
    return out


def _slice(p: Evaluator[Any], node: ast.Slice) -> Slice:
    parts = (None if n is None else p.visit(n) for n in (node.lower, node.upper, node.step))
    return Slice(*parts)


def _lambda(p: Evaluator[Any], node: ast.Lambda) -> IndexMapping:
    """Evaluate a lambda as an index map, the only use of lambdas in a script."""
    args = node.args
    if len(args.args) != len([*ast.walk(args)]) - 1:
        raise p.error(node, "the parameters of an index map are names, without defaults or stars")
    params = tuple(Var(a.arg) for a in args.args)
    with p.scope.frame() as frame:
        frame.update(zip((a.arg for a in args.args), params, strict=True))
        body = p.visit(node.body)
    parts = list(cast("list[Any]", body)) if isinstance(body, tuple | list) else [body]
    results = [as_sym(part) for part in parts]
    if None in results:
        found = describe(parts[results.index(None)])
        raise p.error(node.body, "an index map gives integer expressions of indices", found=found)
    return IndexMapping(params, tuple(cast("list[SymExpr]", results)))


# Operators


def _compare(p: Evaluator[Any], node: ast.Compare) -> Any:
    operands = [p.visit(n) for n in (node.left, *node.comparators)]
    result: Any = None
    for i, op in enumerate(node.ops):
        kind = OPERATORS.get(type(op))
        if kind is None:
            raise p.error(node, f"'{type(op).__name__}' is not part of TVMScript")
        step = p.operate(kind, operands[i], operands[i + 1], node)
        result = step if i == 0 else p.operate("and", result, step, node)
    return result


def _bool(p: Evaluator[Any], node: ast.BoolOp) -> Any:
    kind = OPERATORS[type(node.op)]
    result = p.visit(node.values[0])
    for other in node.values[1:]:
        result = p.operate(kind, result, p.visit(other), node)
    return result


def _unary(p: Evaluator[Any], node: ast.UnaryOp) -> Any:
    kind = OPERATORS[type(node.op)]
    value = p.visit(node.operand)
    if isinstance(value, p.values):
        return value if kind == "pos" else p.language.unary(p, kind, value, node)
    if isinstance(value, int | float) and (kind != "bitwise_not" or isinstance(value, int)):
        return UNARY[kind](value)
    return no_operator(p, kind, value, node)


def _conditional(p: Evaluator[Any], node: ast.IfExp) -> Any:
    condition = p.visit(node.test)
    if isinstance(condition, p.values):
        raise p.error(node, "a Python conditional needs a constant condition", hint="write T.if_then_else(…)")
    return p.visit(node.body if condition else node.orelse)


# Members and calls


def _attribute(p: Evaluator[Any], node: ast.Attribute) -> Any:
    value = p.visit(node.value)
    if node.attr.startswith("_"):
        raise p.error(node, f"attribute '{node.attr}' may not be used in a script", hint="names with '_' are private")
    if isinstance(value, Ref):
        return value.member(node.attr)
    if isinstance(value, ModuleRef):
        return p.language.member(p, node.attr, node)
    if isinstance(value, ModuleType):
        member = getattr(value, node.attr, None)  # a module may load members lazily
        if member is None:
            raise p.error(node, f"'{value.__name__}' has no '{node.attr}'", hint=suggestion(node.attr, vars(value)))
        return p.placed(script_value(member), node)
    if isinstance(value, (*p.values, Attribute)):
        return p.language.attribute(p, value, node.attr, node)
    return _plain_attribute(p, value, node)


def _plain_attribute(p: Evaluator[Any], value: Any, node: ast.Attribute) -> Any:
    """Return an attribute of a captured object. Only data is allowed, never anything that would run code."""
    if (constant := constant_member(value, node.attr)) is not None:
        return constant
    if isinstance(value, EnumType):
        member: Any = value.__members__.get(node.attr)
    else:
        member = inspect.getattr_static(value, node.attr, None)
    if type(value).__module__.partition(".")[0] == "numpy" and node.attr in _PLAIN_ATTRIBUTES:
        member = getattr(value, node.attr)
    if member is None or callable(member) or isinstance(member, property):
        raise p.error(node, f"attribute '{node.attr}' may not be used in a script", found=describe(value))
    return script_value(member)


def _subscript(p: Evaluator[Any], node: ast.Subscript) -> Any:
    value = p.visit(node.value)
    if isinstance(value, Metadata):
        hint = "print it with show_meta=True, or pass `metadata`"
        raise p.error(node, "the constants of this script are not in it", hint=hint)
    if isinstance(value, SSAValue):
        return p.language.element(p, value, p.subscripts(node), node)
    index = p.visit(node.slice)
    if isinstance(index, Slice):
        index = slice(index.start, index.stop, index.step)
    try:
        element = value[index] if isinstance(value, tuple | list | dict) else _no_element(p, value, (), node)
        return p.placed(script_value(element), node)
    except (IndexError, KeyError, TypeError) as error:
        raise p.error(node, f"there is no element {index!r}: {error}") from None


def _call(p: Evaluator[Any], node: ast.Call) -> Any:
    target = p.visit(node.func)
    if not isinstance(target, Ref):
        site = p.call_site(node, target)
        call = _call_builtin if isinstance(target, Builtin) else p.language.call_value
        return call(p, target, site)
    read = p.language.special.get(target.path) if target.dialect == p.language.name else None
    return p.language.call(p, target, p.call_site(node, target)) if read is None else read(p, node)


def _call_builtin(p: Evaluator[Any], target: Builtin, site: CallSite) -> Any:
    function = None if target.name == "range" else BUILTIN_FUNCTIONS[target.name]
    sized = target.name in ("len", "tuple", "list") and all(isinstance(a, tuple | list) for a in site.args)
    if function is None or site.kwargs or not (sized or all(is_constant(a) for a in site.args)):
        return p.language.call_builtin(p, target.name, site)
    try:
        return function(*site.args)
    except (TypeError, ValueError) as error:
        raise p.error(site.node, f"{target.name}: {error}") from None


_VISITORS: dict[type[ast.AST], Reader] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.JoinedStr: _joined,
    ast.Tuple: lambda p, node: tuple(p.visit_all(node.elts)),
    ast.List: lambda p, node: p.visit_all(node.elts),
    ast.Dict: _dict,
    ast.Slice: _slice,
    ast.BinOp: lambda p, node: p.operate(OPERATORS[type(node.op)], p.visit(node.left), p.visit(node.right), node),
    ast.Compare: _compare,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    ast.IfExp: _conditional,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.Lambda: _lambda,
}
_WHAT: dict[type[ast.AST], str] = {
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator",
    ast.FormattedValue: "a format in an f-string",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.NamedExpr: "':='",
    ast.Import: "an import",
    ast.ImportFrom: "an import",
    ast.ClassDef: "a class",
    ast.FunctionDef: "a function without a decorator of TVMScript",
    ast.Try: "try",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Raise: "raise",
}


def _what(node: ast.AST) -> str:
    return _WHAT.get(type(node), f"'{type(node).__name__}'")


def refuse(source: Source, node: ast.AST, where: str) -> ScriptError:
    """Return the error for a statement that is not allowed in `where`."""
    return source.error(
        node,
        f"{_what(node)} may not stand in {where}",
        hint="a script is read, never run",
    )


def check_plain_parameters(source: Source, arguments: ast.arguments) -> None:
    """Reject parameters other than plain positional ones."""
    other = [*arguments.posonlyargs, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg, *arguments.defaults]
    odd = next((a for a in other if a is not None), None)
    if odd is not None:
        raise source.error(odd, "a function of TVMScript has plain parameters only, without defaults")
