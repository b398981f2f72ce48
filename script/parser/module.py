"""Modules in TVMScript: the functions of a class or a text are parsed in two passes (signatures, then bodies)."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region

from ...dialects import relax, tir
from ...dialects.relax import CallableType
from ...dialects.relax.devices import DUMMY, GLOBAL_INFOS, vdevices
from ...ir.names import NameSupply
from .attributes import attribute_dict, read_vdevice
from .evaluator import RAISE, Evaluator, Language, refuse
from .relax_parser import parse_relax, read_signature, relax_parser
from .relax_state import Signature
from .relax_values import packed_function
from .scope import Environment, Scope
from .source import Source
from .tir_functions import Macro, hygienic, is_macro
from .tir_parser import parse_tir, tir_parser
from .tir_state import Callee, TirParser
from .values import CallSite, GlobalRef, ModuleRef, Ref, Unusable, describe

FUNCTION_KINDS = ("prim_func", "function")
"""The decorators of functions."""
_OPTIONS = {
    "prim_func": "private= check_well_formed= tracked= s_tir=",
    "function": "private= pure= check_well_formed=",
}


@dataclass
class Function:
    """A function of the script and the state of its parsing."""

    node: ast.FunctionDef
    kind: str
    private: bool
    pure: bool
    signature: Signature | None = None
    op: relax.FuncOp | tir.FuncOp | None = None
    in_progress: bool = False
    reader: TirParser | None = None
    """The parser of a prim_func whose body is being parsed."""
    checked: bool = True
    """True if the function must be well formed; otherwise annotations that do not hold are kept."""


_OF_MODULES = {"module_attrs": "attrs allow_overwrite=", "module_global_infos": "global_infos"}
"""Functions of `I` that are statements of a module, with their parameters."""


def _call(p: Evaluator[Any], target: Ref, site: CallSite) -> Any:
    """Evaluate a call such as `I.vdevice("llvm")` or `tvm.ir.load_json(…)`."""
    if target.dialect == "tvm" and target.path.endswith("ir.load_json"):
        from ..metadata import decode_metadata

        return decode_metadata(site.bind("text")[0])
    called = _OF_I.get(target.path) if target.dialect == "ir" else None
    if called is None:
        raise site.source.error(site.node, f"'{target}' cannot be called here")
    return called(site)


_OF_I: dict[str, Callable[[CallSite], StringAttr]] = {
    "vdevice": read_vdevice,
    "dummy_global_info": lambda site: StringAttr(DUMMY),
}
"""Functions of `I` that return values, by name."""
_HEAD = Language(call=_call)
"""The language of decorators and of constants at the top of a text."""


class ModuleParser:
    """Parses the functions of one module, and is their `ModuleContext`."""

    def __init__(
        self,
        source: Source,
        environment: Environment,
        checked: bool = True,
        *,
        unreadable: Mapping[str, Unusable] = MappingProxyType({}),
        op_of: Callable[[Function], Any] | None = None,
    ):
        """Functions in `unreadable` cannot be used.

        `op_of` returns the op of a callee; by default the callee is parsed here.
        """
        self.source = source
        self.environment = environment
        self.checked = checked
        self.policy = RAISE
        """For the functions that are read from here on."""
        self.evaluator = Evaluator[None](source, Scope(environment), _HEAD)
        self._unreadable = unreadable
        self._op_of = op_of or self.read
        self.functions: dict[str, Function] = {}
        """The functions of the script by name."""
        self._imported: dict[str, Operation] = {}
        self._attributes: dict[str, Attribute] = {}

    # The module as seen by its functions

    def has_function(self, name: str) -> bool:
        return name in self.functions or name in self._imported or name in self._unreadable

    def function_names(self) -> list[str]:
        return [*self.functions, *self._imported]

    def parameter_count(self, name: str) -> int | None:
        function = self.functions.get(name)
        if function is not None:
            return len(function.node.args.args) if function.kind == "prim_func" else None
        op = self._imported.get(name)
        return len(op.params) if isinstance(op, tir.FuncOp) else None

    def scalar_result(self, name: str) -> Attribute | None:
        """Return the type of the scalar that a prim_func returns, or None if it returns nothing."""
        function = self.functions.get(name)
        op = self._imported.get(name) if function is None else self._op_of(function)
        return op.ret_type if isinstance(op, tir.FuncOp) else None

    def tensor_function(self, name: str, site: CallSite) -> Callee:
        """Return the prim_func `name` as a callee.

        Raises a located error if `name` is not a prim_func, or if the type of the scalar that it returns is not
        known yet because it is still being parsed.
        """
        self._require(name)
        function = self.functions.get(name)
        op = self._imported.get(name)
        if function is not None and function.kind == "prim_func":
            return Callee.of(self._op_of(function)) if function.reader is None else self._in_progress(function, site)
        if not isinstance(op, tir.FuncOp):
            raise site.error("a prim_func can call prim_funcs only", found=f"the Relax function '{name}'")
        return Callee.of(op)

    @staticmethod
    def _in_progress(function: Function, site: CallSite) -> Callee:
        """Return a prim_func that is still being parsed, because it calls itself directly or indirectly."""
        name, returns = function.node.name, function.node.returns
        if function.reader is None or not (returns is None or ast.unparse(returns) == "None"):
            raise site.error(f"'{name}' calls itself, directly or not", hint="such prim_funcs cannot return numbers")
        return Callee(name, function.reader.state.entry.args, None)

    def _require(self, name: str) -> None:
        if name in self._unreadable:
            raise self._unreadable[name].error(self.source, ast.Name(name))

    def callable_type(self, name: str) -> CallableType | None:
        """Return the signature of a Relax function, or None if `name` is not one."""
        self._require(name)
        op = self._imported.get(name)
        if isinstance(op, relax.FuncOp):
            return op.callable_type
        function = self.functions.get(name)
        if function is None or function.kind != "function":
            return None
        signature = self.signature(function)
        ret = signature.ret
        if ret is None:
            if function.in_progress:
                raise self.source.error(
                    function.node,
                    f"the result of '{name}' depends on itself",
                    hint="annotate it: def f(…) -> R.Tensor(…)",
                )
            ret = self._op_of(function).ret_type
        return CallableType.of(signature.params, ret, signature.pure)

    def packed(self, name: str) -> relax.ExternOp | None:
        op = self._imported.get(name)
        return op if isinstance(op, relax.ExternOp) else None

    def add_tensor_function(self, func: tir.FuncOp) -> str:
        """Add a function to the module, under its name or a unique variant of it, and return that name."""
        unique = NameSupply([*self.functions, *self._imported]).fresh(func.sym_name.data)
        func.sym_name = StringAttr(unique)
        self._imported[unique] = func
        return unique

    def imported(self, value: Any) -> GlobalRef | None:
        """Add a captured function to the module under its name and return a reference to it."""
        if isinstance(value, GlobalRef):
            return value
        op = getattr(value, "op", None) if not isinstance(value, Operation) else value
        if not isinstance(op, relax.FuncOp | tir.FuncOp):
            return None
        name = op.sym_name.data
        known = self._imported.get(name)
        if known is None and name not in self.functions:
            self._imported[name] = op
        elif known is not op:
            raise self.source.error(ast.Name(name), f"two functions are called '{name}'", hint="rename one of them")
        return GlobalRef(name)

    # Reading

    def declare(self, statements: Sequence[ast.stmt]) -> None:
        """Declare the functions of a class body. Raises `ScriptError` for other statements."""
        for statement in statements:
            if isinstance(statement, ast.FunctionDef):
                self.declare_function(statement)
            elif isinstance(statement, ast.Expr):
                self._module_expression(statement)
            elif isinstance(statement, ast.Assign):
                self._module_member(statement)
            elif not isinstance(statement, ast.Pass):
                raise refuse(self.source, statement, "a module")

    def declare_function(self, node: ast.FunctionDef) -> None:
        """Declare a function according to its decorator."""
        if self.has_function(node.name):
            raise self.source.error(node, f"function '{node.name}' is defined twice")
        if is_macro(self.evaluator, node):
            environment = self.environment if hygienic(self.evaluator, node) else None
            self.environment.define(node.name, Macro(node, self.source, environment))
            return
        if len(node.decorator_list) != 1:
            raise self.source.error(
                node,
                f"function '{node.name}' needs one decorator",
                expected="@R.function or @T.prim_func",
                found=f"{len(node.decorator_list)} decorators",
                hint="a script is read, never run",
            )
        decorator = node.decorator_list[0]
        call = decorator if isinstance(decorator, ast.Call) else None
        kind = self.decorator_kind(call.func if call is not None else decorator)
        if kind not in FUNCTION_KINDS:
            raise self.source.error(
                decorator, "this is no decorator of TVMScript", expected="@R.function or @T.prim_func"
            )
        options: dict[str, Any] = {}
        if call is not None:
            spec = _OPTIONS[kind]
            values = self.evaluator.call_site(call, Ref("tir" if kind == "prim_func" else "relax", kind)).bind(spec)
            options = dict(zip((n.rstrip("=") for n in spec.split()), values, strict=True))
        private, pure = bool(options.get("private")), options.get("pure") is not False
        checked = self.checked and options.get("check_well_formed") is not False
        self.functions[node.name] = Function(node, kind, private, pure, checked=checked)

    def decorator_kind(self, node: ast.expr) -> str:
        """Return the name of a decorator: `prim_func`, `function`, `ir_module` or any other."""
        if not isinstance(node, ast.Name | ast.Attribute):
            raise refuse(self.source, node, "a decorator")
        with self.source.located(node):
            decorator = self.evaluator.visit(node)
        if isinstance(decorator, Ref):
            return decorator.path.rpartition(".")[2]
        return str(getattr(decorator, "__name__", ""))

    def _module_member(self, statement: ast.Assign) -> None:
        """Read a member such as `f = R.ExternFunc("name")`."""
        (name, *others), call = statement.targets, statement.value
        reader = relax_parser(self.source, self.environment, self)
        target = reader.target_of(call)
        if not isinstance(name, ast.Name) or others or target != Ref("relax", "ExternFunc"):
            raise refuse(self.source, statement, "a module")
        symbol, signature = packed_function(reader, reader.call_site(cast(ast.Call, call), target))
        if self.has_function(name.id):
            raise self.source.error(statement, f"function '{name.id}' is defined twice")
        op = relax.ExternOp(name.id, symbol, signature)
        op.location = self.source.attr(statement)
        self._imported[name.id] = op

    def _module_expression(self, statement: ast.Expr) -> None:
        node = statement.value
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return
        target = self.evaluator.target_of(node)
        if not isinstance(node, ast.Call) or not isinstance(target, Ref) or target.dialect != "ir":
            raise refuse(self.source, statement, "a module")
        parameters = _OF_MODULES.get(target.path)
        if parameters is None:
            raise self.source.error(
                node, "this may not stand in a module", expected="I.module_attrs(…)", found=describe(target)
            )
        values = self.evaluator.call_site(node, target).bind(parameters)[0]
        read = attribute_dict(self.source, node, values)
        self._attributes.update(read.data if target.path == "module_attrs" else {GLOBAL_INFOS: read})

    @property
    def vdevices(self) -> list[str]:
        """The virtual devices of the module."""
        return vdevices(self._attributes)

    def parse(self) -> ModuleOp:
        """Parse all functions and return the module, in the order of the script."""
        for function in self.functions.values():
            if function.kind == "function":
                self.signature(function)
        for function in self.functions.values():
            self.read(function)
        body = Block([op.clone() for op in self._imported.values()])
        body.add_ops(f.op for f in self.functions.values() if f.op is not None)
        module = ModuleOp(Region(body))
        module.attributes.update(self._attributes)
        return module

    def signature(self, function: Function) -> Signature:
        """Return the declared signature of a Relax function."""
        if function.signature is None:
            parser = relax_parser(self.source, self.environment, self)
            function.signature = read_signature(parser, function.node, function.pure)
        return function.signature

    def read(self, function: Function) -> Any:
        """Return the op of a function, parsing the function on first use. Raises a located `TiraxError`."""
        if function.op is not None:
            return function.op
        function.in_progress = True
        if function.kind == "prim_func":
            function.reader = tir_parser(self.source, self.environment, self, self.policy)
            op = parse_tir(function.reader, function.node, private=function.private)
        else:
            parser = relax_parser(self.source, self.environment, self, function.checked, self.policy)
            op = parse_relax(parser, function.node, self.signature(function), private=function.private)
        function.in_progress, function.reader, function.op = False, None, op
        return op


def parse_class_node(
    source: Source, environment: Environment, node: ast.ClassDef, named: Sequence[ast.FunctionDef] = ()
) -> ModuleOp:
    """Return the module of a class, together with the functions `named` in it that are defined beside it."""
    if node.bases or node.keywords:
        raise source.error(node, "a module has no base classes")
    environment.define(node.name, ModuleRef())
    parser = _with_functions(source, environment, named)
    parser.checked = not any(_is_unchecked(d) for d in node.decorator_list)
    parser.declare(node.body)
    module = parser.parse()
    module.location = source.attr(node)
    return module


def _is_unchecked(decorator: ast.expr) -> bool:
    """Return whether a decorator has `check_well_formed=False`."""
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    values = [k.value for k in keywords if k.arg == "check_well_formed"]
    return any(isinstance(v, ast.Constant) and v.value is False for v in values)


def parse_function_nodes(source: Source, environment: Environment, nodes: Sequence[ast.FunctionDef]) -> ModuleOp:
    """Return a module of standalone functions, which may call each other by name."""
    return _with_functions(source, environment, nodes).parse()


def _with_functions(source: Source, environment: Environment, nodes: Sequence[ast.FunctionDef]) -> ModuleParser:
    for node in nodes:
        environment.define(node.name, GlobalRef(node.name))
    parser = ModuleParser(source, environment)
    for node in nodes:
        parser.declare_function(node)
    return parser
