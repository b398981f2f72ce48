"""Expressions of a script: a walk over Python's tree that computes with constants and hands the rest to a dialect.

Nothing of the script ever runs as Python: a call is looked up in tables, an attribute in a whitelist.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import EnumType
from types import FunctionType, ModuleType
from typing import Any, ClassVar, NoReturn, cast

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from ...diagnostics import TiraxError, suggestion
from ...dialects import relax
from ...dialects.sym import IndexMapping
from ...dialects.sym.expr import SymExpr, Var
from ...ir.passes.limits import exceeded, limit
from .captured import NotSimpleError, bound, lambda_text, result, surroundings, text_of
from .folding import OPERATORS, SYMBOLS, UNARY, as_sym, fold, fold_symbolic, is_constant
from .scope import Scope, is_missing, names_in, script_value, undefined_names
from .source import ScriptError, Source
from .values import Builtin, CallSite, GlobalRef, Imm, Metadata, Method, ModuleRef, Ref, Slice, Unknown, describe

_BUILTINS: dict[str, Callable[..., Any]] = {
    "len": len,
    "int": int,
    "float": float,
    "bool": bool,
    "min": min,
    "max": max,
    "abs": abs,
    "tuple": tuple,
    "list": list,
}
_PLAIN_ATTRIBUTES = ("shape", "dtype", "ndim", "size", "name", "itemsize")


class Evaluator:
    """The base of the two dialects' evaluators.

    A dialect overrides `binary`, `unary`, `attribute_of`, `subscript_of`, `call_ref` and `call_value`, and lists in
    `special` the calls that want their arguments unevaluated.
    """

    special: ClassVar[dict[tuple[str, str], Callable[..., Any]]] = {}
    values: ClassVar[tuple[type, ...]] = (SSAValue, SymExpr, Imm)
    """Types of values on which the dialect's operators work."""

    def __init__(self, source: Source, scope: Scope):
        self.source = source
        self.scope = scope
        self._depth = 0
        self._deepest = limit("parse.depth")

    def error(self, node: ast.AST, message: str, **details: Any) -> ScriptError:
        return self.source.error(node, message, **details)

    def check_names(self, function: ast.FunctionDef, symbolic: Iterable[str] = ()) -> set[str]:
        """The names that occur in `function`. Raises a `ScriptError` that lists every one that nothing defines.

        `symbolic` are the symbolic variables of the signature, which the body has to declare before it uses them.
        """
        known = self.scope.environment.names()
        names, undefined = names_in(function, known)
        if undefined:
            raise undefined_names(self.source, undefined, names | known, symbolic)
        return names

    def visit(self, node: ast.AST) -> Any:
        """The value of an expression. Raises a located `TiraxError`."""
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
            return getattr(self, visitor)(node)
        except TiraxError as error:  # as `Source.located`, which would be a fifth of the time here
            error.location = error.location or self.source.place(node)
            raise
        finally:
            self._depth -= 1

    # Leaves

    def visit_constant(self, node: ast.Constant) -> Any:
        if isinstance(node.value, int) and node.value >= 1 << 64:
            raise self.error(node, f"{node.value} does not fit 64 bits")
        if isinstance(node.value, int | float | str) or node.value is None:
            return node.value
        raise self.error(node, f"{type(node.value).__name__} constants are not part of TVMScript")

    def visit_name(self, node: ast.Name) -> Any:
        found = self.scope.lookup(node.id)
        if is_missing(found):
            known = self.scope.names() | self.scope.environment.names()
            raise self.error(node, f"'{node.id}' is not defined here", hint=suggestion(node.id, known))
        if isinstance(found, Unknown):
            raise self._not_known(node, found)
        return self._placed(found, node)

    def _placed(self, value: Any, node: ast.AST) -> Any:
        """A captured expression, which stands in no block, as one of this function."""
        if not isinstance(value, OpResult) or value.op.parent is not None:
            return value
        if isinstance(value.op, relax.FunctionRefOp):
            return GlobalRef(value.op.callee.root_reference.data)
        mapping: dict[SSAValue, SSAValue] = {}
        for operand in value.op.operands:
            mapping[operand] = self._placed(operand, node)
        return self.emit(value.op.clone(mapping), node)

    def emit(self, op: Operation, node: ast.AST) -> Any:
        """Append `op` where the dialect puts operations; gives its result, if it has one."""
        raise self.error(node, "only constants may stand here", found=describe(op.results[0]))

    def _not_known(self, node: ast.Name, value: Unknown) -> ScriptError:
        return self.error(
            node,
            f"the value of '{node.id}' is not known: {value.reason}",
            hint="a script is read, never run; write the value, or run the file and write Module.script()",
            notes=[value.place.render()],
        )

    def visit_joined(self, node: ast.JoinedStr) -> str:
        """An f-string of constants, without formats."""
        parts: list[str] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue) and part.format_spec is None and part.conversion == -1:
                part = part.value
            value = self.visit(part)
            if not isinstance(value, str | int | float):
                raise self.error(part, "only constants can stand in an f-string", found=describe(value))
            parts.append(str(value))
        return "".join(parts)

    def visit_tuple(self, node: ast.Tuple) -> tuple[Any, ...]:
        return tuple(self._elements(node.elts))

    def visit_list(self, node: ast.List) -> list[Any]:
        return self._elements(node.elts)

    def _elements(self, nodes: list[ast.expr]) -> list[Any]:
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

    def visit_dict(self, node: ast.Dict) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            name = None if key is None else self.visit(key)
            if not isinstance(name, str):
                raise self.error(key or node, "a key of a dictionary must be a string")
            out[name] = self.visit(value)
        return out

    def visit_slice(self, node: ast.Slice) -> Slice:
        parts = (None if n is None else self.visit(n) for n in (node.lower, node.upper, node.step))
        return Slice(*parts)

    # Operators

    def visit_binary(self, node: ast.BinOp) -> Any:
        return self.operate(OPERATORS[type(node.op)], self.visit(node.left), self.visit(node.right), node)

    def visit_compare(self, node: ast.Compare) -> Any:
        operands = [self.visit(n) for n in (node.left, *node.comparators)]
        result: Any = None
        for i, op in enumerate(node.ops):
            kind = OPERATORS.get(type(op))
            if kind is None:
                raise self.error(node, f"'{type(op).__name__}' is not part of TVMScript")
            step = self.operate(kind, operands[i], operands[i + 1], node)
            result = step if i == 0 else self.operate("and", result, step, node)
        return result

    def visit_bool(self, node: ast.BoolOp) -> Any:
        kind = OPERATORS[type(node.op)]
        result = self.visit(node.values[0])
        for other in node.values[1:]:
            result = self.operate(kind, result, self.visit(other), node)
        return result

    def visit_unary(self, node: ast.UnaryOp) -> Any:
        kind = OPERATORS[type(node.op)]
        value = self.visit(node.operand)
        if not isinstance(value, self.values):
            if isinstance(value, int | float) and (kind != "bitwise_not" or isinstance(value, int)):
                return UNARY[kind](value)
            raise self.error(node, f"operator '{SYMBOLS.get(kind, kind)}' cannot be applied", found=describe(value))
        return value if kind == "pos" else self.unary(kind, value, node)

    def operate(self, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        """`a` and `b` under an operator: folded where both are constants, else the dialect's."""
        if is_constant(a) and is_constant(b):
            return self._fold(kind, a, b, node)
        if isinstance(a, self.values) or isinstance(b, self.values):
            try:
                return self.binary(kind, a, b, node)
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

    def visit_conditional(self, node: ast.IfExp) -> Any:
        condition = self.visit(node.test)
        if isinstance(condition, self.values):
            raise self.error(node, "a Python conditional needs a constant condition", hint="write T.if_then_else(…)")
        return self.visit(node.body if condition else node.orelse)

    # Members and calls

    def visit_attribute(self, node: ast.Attribute) -> Any:
        value = self.visit(node.value)
        if node.attr.startswith("_"):
            raise self.error(
                node, f"attribute '{node.attr}' may not be used in a script", hint="names with '_' are private"
            )
        if isinstance(value, Ref):
            return value.member(node.attr)
        if isinstance(value, ModuleRef):
            return self.member_of_module(node.attr, node)
        if isinstance(value, ModuleType):
            return self._member(value, node)
        if isinstance(value, (*self.values, Attribute)):
            return self.attribute_of(value, node.attr, node)
        return self._plain_attribute(value, node)

    def _member(self, module: ModuleType, node: ast.Attribute) -> Any:
        found = getattr(module, node.attr, None)  # a module may load its parts when they are first named
        if found is None:
            raise self.error(
                node, f"'{module.__name__}' has no '{node.attr}'", hint=suggestion(node.attr, vars(module))
            )
        return self._placed(script_value(found), node)

    def _plain_attribute(self, value: Any, node: ast.Attribute) -> Any:
        """An attribute of a captured object: only data, never anything that would run code."""
        if isinstance(value, EnumType):
            found: Any = value.__members__.get(node.attr)
        else:
            found = inspect.getattr_static(value, node.attr, None)
        if type(value).__module__.partition(".")[0] == "numpy" and node.attr in _PLAIN_ATTRIBUTES:
            found = getattr(value, node.attr)
        if found is None or callable(found) or isinstance(found, property):
            raise self.error(node, f"attribute '{node.attr}' may not be used in a script", found=describe(value))
        return script_value(found)

    def visit_subscript(self, node: ast.Subscript) -> Any:
        value = self.visit(node.value)
        if isinstance(value, Metadata):
            hint = "print it with show_meta=True, or pass `metadata`"
            raise self.error(node, "the constants of this script are not in it", hint=hint)
        if isinstance(value, SSAValue):
            return self.subscript_of(value, self.subscripts(node), node)
        index = self.visit(node.slice)
        if isinstance(index, Slice):
            index = slice(index.start, index.stop, index.step)
        try:
            found = value[index] if isinstance(value, tuple | list | dict) else self._no_index(node, value)
            return self._placed(script_value(found), node)
        except (IndexError, KeyError, TypeError) as error:
            raise self.error(node, f"there is no element {index!r}: {error}") from None

    def subscripts(self, node: ast.Subscript) -> tuple[Any, ...]:
        """The indices `i, j` of `A[i, j]`; one name may stand for several of them."""
        indices = self._elements(node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice])
        single = indices[0] if len(indices) == 1 else None
        return tuple(cast("list[Any]", single if isinstance(single, tuple | list) else indices))

    def _no_index(self, node: ast.AST, value: Any) -> NoReturn:
        raise self.error(node, "this has no elements", found=describe(value))

    def visit_call(self, node: ast.Call) -> Any:
        target = self.visit(node.func)
        if isinstance(target, Ref):
            handler = self.special.get((target.dialect, target.path))
            if handler is not None:
                return handler(self, node)
        site = self.call_site(node, target)
        if isinstance(target, Ref):
            return self.call_ref(target, site)
        if isinstance(target, Builtin):
            return self._call_builtin(target, site)
        return self.call_value(target, site)

    def call_site(self, node: ast.Call, target: Any) -> CallSite:
        """The arguments of a call, evaluated."""
        args = self._elements(node.args)
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

    def visit_lambda(self, node: ast.Lambda) -> IndexMapping:
        """An index map: nothing else is written as a lambda."""
        args = node.args
        if len(args.args) != len([*ast.walk(args)]) - 1:
            raise self.error(node, "the parameters of an index map are names, without defaults or stars")
        params = tuple(Var(a.arg) for a in args.args)
        with self.scope.frame() as frame:
            frame.update(zip((a.arg for a in args.args), params, strict=True))
            body = self.visit(node.body)
        parts = list(cast("list[Any]", body)) if isinstance(body, tuple | list) else [body]
        results = [as_sym(part) for part in parts]
        if None in results:
            found = describe(parts[results.index(None)])
            raise self.error(node.body, "an index map gives integer expressions of indices", found=found)
        return IndexMapping(params, tuple(cast("list[SymExpr]", results)))

    def index_mapping(self, value: Any) -> Any:
        """A captured lambda as the index map that its text says, in the names around it; anything else as it is."""
        if not isinstance(value, FunctionType) or value.__name__ != "<lambda>":
            return value
        source, node = lambda_text(value, "the index map")
        with self._elsewhere(value, source):
            return self.visit_lambda(node)

    @contextmanager
    def _elsewhere(self, function: FunctionType, source: Source) -> Iterator[None]:
        """Names and places are those of a captured function."""
        around = self.scope, self.source
        self.scope, self.source = Scope(surroundings(function)), source
        try:
            yield
        finally:
            self.scope, self.source = around

    def _inlined(self, function: FunctionType, site: CallSite) -> Any:
        """What a captured function gives for values of the script, read from its text."""
        try:
            text = text_of(function)
            given = bound(text, function, site.args, site.kwargs)
            if given is None:
                raise site.error("wrong arguments", expected=ast.unparse(text.arguments))
            with self._elsewhere(function, text.source), self.scope.frame() as frame:
                frame.update((name, script_value(value)) for name, value in given.items())
                return result(text.body, self.visit, frame.__setitem__)
        except NotSimpleError:
            raise self.error(
                site.node,
                f"the function '{function.__name__}' cannot be called in a script",
                expected="a function that names values, chooses by constants, and returns an expression",
                hint="a script is read, never run; what has other statements is a T.macro",
            ) from None

    def _call_builtin(self, target: Builtin, site: CallSite) -> Any:
        function = _BUILTINS.get(target.name)
        sized = target.name in ("len", "tuple", "list") and all(isinstance(a, tuple | list) for a in site.args)
        if function is None or site.kwargs or not (sized or all(is_constant(a) for a in site.args)):
            return self.call_builtin(target.name, site)
        try:
            return function(*site.args)
        except (TypeError, ValueError) as error:
            raise self.error(site.node, f"{target.name}: {error}") from None

    # What a dialect says

    def call_builtin(self, name: str, site: CallSite) -> Any:
        raise self.error(site.node, f"'{name}' may only be applied to constants here")

    def binary(self, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        found = fold_symbolic(kind, a, b)
        if found is None:
            raise self.error(
                node,
                f"operator '{SYMBOLS.get(kind, kind)}' cannot be applied",
                found=f"{describe(a)} and {describe(b)}",
            )
        return found

    def unary(self, kind: str, value: Any, node: ast.AST) -> Any:
        raise self.error(node, f"operator '{SYMBOLS.get(kind, kind)}' cannot be applied", found=describe(value))

    def attribute_of(self, value: Any, name: str, node: ast.AST) -> Any:
        raise self.error(node, f"there is no attribute '{name}'", found=describe(value))

    def member_of_module(self, name: str, node: ast.AST) -> Any:
        raise self.error(node, f"there is no function '{name}'")

    def subscript_of(self, value: SSAValue, indices: tuple[Any, ...], node: ast.AST) -> Any:
        raise self.error(node, "this has no elements", found=describe(value))

    def call_ref(self, target: Ref, site: CallSite) -> Any:
        raise self.error(site.node, f"'{target}' cannot be called here")

    def call_value(self, target: Any, site: CallSite) -> Any:
        if isinstance(target, FunctionType):
            return self._inlined(target, site)
        raise self.error(
            site.node,
            f"{describe(target)} cannot be called in a script",
            hint="a script is read, never run: only R.*, T.*, I.* and functions of the module can be called",
        )


_VISITORS: dict[type[ast.AST], str] = {
    ast.Constant: "visit_constant",
    ast.Name: "visit_name",
    ast.JoinedStr: "visit_joined",
    ast.Tuple: "visit_tuple",
    ast.List: "visit_list",
    ast.Dict: "visit_dict",
    ast.Slice: "visit_slice",
    ast.BinOp: "visit_binary",
    ast.Compare: "visit_compare",
    ast.BoolOp: "visit_bool",
    ast.UnaryOp: "visit_unary",
    ast.IfExp: "visit_conditional",
    ast.Attribute: "visit_attribute",
    ast.Subscript: "visit_subscript",
    ast.Call: "visit_call",
    ast.Lambda: "visit_lambda",
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
    """The error for a statement that may not stand in `where`."""
    return source.error(
        node,
        f"{_what(node)} may not stand in {where}",
        hint="a script is read, never run",
    )


__all__ = ["Evaluator", "Method", "refuse"]
