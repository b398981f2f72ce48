"""`IRModule`: a handle on an xDSL module that contains Relax and tensor functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region

from .. import script
from ..diagnostics import TiraxError, unknown_name
from ..dialects import relax, tir
from ..dialects.attributes import from_attr, require_names
from ..dialects.relax.devices import GLOBAL_INFOS, VDEVICE, global_infos
from ..ir.functions.lookup import symbol_of
from ..ir.origins import cloned
from ..ir.passes.transform import show_modules_as
from ..ir.verification.as_written import remember_in_copy
from .base_func import BaseFunc, DictAttrs
from .relax.expr import ExternFunc, GlobalVar
from .relax.function import Function
from .struct_info import VDevice
from .tir.attributes import attr_of
from .tir.prim_func import PrimFunc


def func_of(op: Operation) -> BaseFunc | ExternFunc:
    """Return the handle on a function of a module. Raises `TiraxError` for another op."""
    if isinstance(op, relax.ExternOp):
        return ExternFunc(op.global_symbol.data, op.callable_type)
    if isinstance(op, relax.FuncOp):
        return Function.on(op)
    if isinstance(op, tir.FuncOp):
        return PrimFunc.on(op)
    raise TiraxError("not a function of tirax", expected="relax.func or tir.func", found=op.name)


def callable_type(op: Operation) -> relax.CallableType:
    """Return the type of a function as a value."""
    if isinstance(op, relax.FuncOp | relax.ExternOp):
        return op.callable_type
    return relax.CallableType.of(None, relax.OBJECT)


def set_name_in_module(op: Operation, name: str) -> None:
    """Rename a function to `name`; its old symbol stays its `global_symbol`, unless it is private."""
    if isinstance(op, relax.ExternOp):
        op.properties["sym_name"] = StringAttr(name)
        return
    attrs = op.properties.get("func_attrs")
    entries = dict(attrs.data) if isinstance(attrs, DictionaryAttr) else {}
    if op.properties.get("sym_visibility") is None:
        entries.setdefault("global_symbol", op.properties["sym_name"])
    if entries.get("global_symbol") == StringAttr(name):
        del entries["global_symbol"]
    op.properties["sym_name"] = StringAttr(name)
    if entries:
        op.properties["func_attrs"] = DictionaryAttr(entries)
    else:
        op.properties.pop("func_attrs", None)


def _read(text: str) -> IRModule:
    """Return the module of an MLIR text."""
    return IRModule(script.parse_mlir(text))


class FunctionMap(dict[GlobalVar, Any]):
    """Functions by their `GlobalVar`s, which are hashed by identity of the function, as in TVM's maps."""

    def __hash__(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return hash(frozenset(self.items()))


class IRModule:
    """Functions by name: `mod["main"]`, `mod[gv]`.

    `IRModule({"main": func})` creates a module of functions (copied if they already belong to a module); `IRModule(op)`
    is a handle on an xDSL module.
    """

    __slots__ = ("op", "python_name")
    op: ModuleOp
    python_name: str

    def __init__(
        self,
        functions: Mapping[Any, BaseFunc] | ModuleOp | None = None,
        attrs: Mapping[str, Any] | None = None,
        global_infos: Any = None,
    ):
        if isinstance(functions, ModuleOp):
            self.op = functions
        else:
            self.op = ModuleOp(Region(Block()))
            for name, func in (functions or {}).items():
                self[name] = func
        for key, value in (attrs or {}).items():
            self._set_attr(key, value)
        for key, infos in (global_infos or {}).items():
            self.update_global_info(key, infos)

    @property
    def __name__(self) -> str:
        """The name of the decorated Python class. Raises `AttributeError` for other modules, which have none."""
        try:
            return self.python_name
        except AttributeError:
            raise AttributeError("a module that is not decorated has no Python name", name="__name__") from None

    def __deepcopy__(self, memo: object) -> IRModule:
        return IRModule(self.op.clone())

    def __reduce__(self) -> tuple[Callable[[str], IRModule], tuple[str]]:
        """Pickle as MLIR text, which is parsed again."""
        return _read, (str(self.op),)

    @property
    def global_infos(self) -> dict[str, list[Any]]:
        """The module's information about devices, by kind: `{"vdevice": [VDevice("llvm"), …]}`."""
        infos = global_infos(self.op.attributes)
        return {kind: [VDevice.of(i) if kind == VDEVICE else i for i in listed] for kind, listed in infos.items()}

    def update_global_info(self, name: str, global_info: Sequence[Any]) -> None:
        """Replace the information of one kind: `mod.update_global_info("vdevice", [VDevice("llvm")])`."""
        infos = {**global_infos(self.op.attributes), name: [str(i) for i in global_info]}
        self._set_attr(GLOBAL_INFOS, infos)

    def _ops(self) -> Iterator[Operation]:
        return (op for op in self.op.body.block.ops if symbol_of(op) is not None)

    def _find(self, name: str) -> Operation | None:
        return next((op for op in self._ops() if symbol_of(op) == name), None)

    def __getitem__(self, var: str | GlobalVar) -> Any:
        """Return the function called `var`. Raises `NameLookupError` with a suggestion."""
        return func_of(self._op_of(var))

    def _op_of(self, var: str | GlobalVar) -> Operation:
        name = _name(var)
        op = self._find(name)
        if op is None:
            raise unknown_name("function", name, self.names)
        return op

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IRModule) and self.op is other.op

    def __hash__(self) -> int:
        return hash(self.op)

    def __setitem__(self, var: str | GlobalVar, func: BaseFunc) -> None:
        self.update_func(var, func)

    def __delitem__(self, var: str | GlobalVar) -> None:
        self._op_of(var).detach()

    def __contains__(self, var: object) -> bool:
        return isinstance(var, str | GlobalVar) and self._find(_name(var)) is not None

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    @property
    def names(self) -> list[str]:
        """The names of all functions, in order."""
        return [cast(str, symbol_of(op)) for op in self._ops()]

    @property
    def functions(self) -> dict[GlobalVar, Any]:
        """The functions by their `GlobalVar`s, in module order."""
        return FunctionMap({_global_var(op): func_of(op) for op in self._ops()})

    def functions_items(self) -> list[tuple[GlobalVar, Any]]:
        """Return the functions, sorted by name."""
        return sorted(self.functions.items(), key=lambda item: item[0].name_hint)

    def get_global_vars(self) -> list[GlobalVar]:
        return list(self.functions)

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the `GlobalVar` of a function. Raises `NameLookupError` with a suggestion."""
        return _global_var(self._op_of(name))

    def update_func(self, var: str | GlobalVar, func: BaseFunc) -> None:
        """Add `func` under the name `var`, replacing an existing function. Handles on the old one stay valid."""
        require_function(func)
        name = _name(var)
        old = self._find(name)
        op = _member(name, func)
        if op is old:
            return
        if op.parent is not None:
            op = func.copy().op
        set_name_in_module(op, name)
        block = self.op.body.block
        if old is None:
            block.add_op(op)
        else:
            block.insert_op_before(op, old)
            old.detach()

    def update(self, other: IRModule | Mapping[Any, BaseFunc]) -> None:
        """Add the functions of `other`, replacing those of the same name."""
        for var, func in (other.functions if isinstance(other, IRModule) else other).items():
            self.update_func(var, func)

    def remove(self, var: str | GlobalVar) -> None:
        """Remove a function."""
        del self[var]

    @property
    def attrs(self) -> DictAttrs:
        """The attributes of the module."""
        return DictAttrs({k: from_attr(v) for k, v in self.op.attributes.items() if k != GLOBAL_INFOS})

    def get_attr(self, attr_key: str) -> Any:
        """Return an attribute of the module, or None."""
        return self.attrs.get(attr_key)

    def _set_attr(self, key: str, value: Any) -> None:
        attr = attr_of(value)
        if attr is None:
            self.op.attributes.pop(key, None)
        else:
            self.op.attributes[key] = attr

    def with_attr(self, attr_key: str, attr_value: Any) -> IRModule:
        """Return a copy with an attribute set."""
        require_names([attr_key])
        new = self.clone()
        new._set_attr(attr_key, attr_value)
        return new

    def with_attrs(self, attr_map: Mapping[str, Any]) -> IRModule:
        """Return a copy with attributes set."""
        new = self.clone()
        for key, value in attr_map.items():
            new._set_attr(key, value)
        return new

    def without_attr(self, attr_key: str) -> IRModule:
        """Return a copy without an attribute."""
        return self.with_attr(attr_key, None)

    def clone(self) -> IRModule:
        """Return a deep copy."""
        new = cloned(self.op)
        remember_in_copy(self.op, new)
        return IRModule(new)

    @staticmethod
    def from_expr(expr: BaseFunc, functions: Mapping[Any, BaseFunc] | None = None) -> IRModule:
        """Return a module of one function, named by its `global_symbol`, by default `main`. Raises `TiraxError`."""
        require_function(expr)
        mod = IRModule(functions)
        mod["main" if expr.private else expr.name] = expr
        return mod

    def script(self, **options: Any) -> str:
        """Return the module as TVMScript; the options are those of the printer (`show_meta=True` prints constants)."""
        from ..script.printer import print_script

        return print_script(self.op, **options)

    def show(self, style: str | None = None, black_format: bool = False, **options: Any) -> None:
        """Print the module as TVMScript, highlighted on a terminal."""
        from ..script.printer import show as show_script

        show_script(self.op, style=style, black_format=black_format, **options)

    def dot(self) -> str:
        """Return the graph of the module in DOT, the language of Graphviz: operations and values, functions as
        clusters.
        """
        from ..ir.graphs.dot import dot_text
        from ..ir.graphs.nodes import graph_of

        return dot_text(graph_of(self.op))

    def _repr_html_(self) -> str:
        """Return the HTML shown by notebooks."""
        from ..script.printer.views import html_text

        return html_text(self.op)

    def __rich__(self) -> Any:
        """Return the object printed by `rich`."""
        from ..script.printer.views import highlighted

        return highlighted(self.op)

    def __str__(self) -> str:
        return self.script()

    __repr__ = __str__


def _name(var: Any) -> str:
    if isinstance(var, GlobalVar):
        return var.name_hint
    if not isinstance(var, str):
        raise TiraxError("functions are found by name", expected="a string or GlobalVar", found=type(var).__name__)
    return var


def _global_var(op: Operation) -> GlobalVar:
    return GlobalVar(cast(str, symbol_of(op)), callable_type(op))


def _member(name: str, func: Any) -> Operation:
    """Return the op to insert into the module for a function."""
    if not isinstance(func, ExternFunc):
        return func.op
    return relax.ExternOp(name, func.global_symbol, cast(relax.CallableType, func.ssa.type))


show_modules_as(IRModule)


def require_function(func: object) -> None:
    """Raise `TiraxError` unless the object is a function that a module can contain, which local functions are not."""
    if isinstance(func, ExternFunc):
        return
    if not isinstance(func, BaseFunc) or func.is_local:
        expected = "a Function, PrimFunc or ExternFunc"
        raise TiraxError("a module holds functions", expected=expected, found=type(func).__name__)
