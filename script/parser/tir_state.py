"""The state of a prim_func during parsing."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects import relax, tir
from ...dialects.relax import CallableType
from ...dialects.sym.expr import SymExpr, Var
from ...dialects.tir import IterKind
from .evaluator import Evaluator
from .values import CallSite, GlobalRef

Bound: TypeAlias = SymExpr | SSAValue
"""The minimum or the extent of a loop."""


class Callee(NamedTuple):
    """The signature of a called prim_func, which may still be in progress since a function may call itself."""

    name: str
    params: Sequence[SSAValue]
    ret_type: Attribute | None

    @staticmethod
    def of(func: tir.FuncOp) -> Callee:
        """Return the signature of a function."""
        return Callee(func.sym_name.data, func.params, func.ret_type)


class ModuleContext(Protocol):
    """A function's view of its module."""

    @property
    def vdevices(self) -> list[str]:
        """The virtual devices of the module."""
        ...

    def has_function(self, name: str) -> bool: ...

    def function_names(self) -> list[str]: ...

    def parameter_count(self, name: str) -> int | None:
        """Return the number of parameters of a prim_func, or None if `name` is not one."""
        ...

    def tensor_function(self, name: str, site: CallSite) -> Callee:
        """Return the prim_func `name`. Raises a located error if there is none."""
        ...

    def scalar_result(self, name: str) -> Attribute | None:
        """Return the type of the scalar that a prim_func returns, or None if it returns nothing."""
        ...

    def callable_type(self, name: str) -> CallableType | None:
        """Return the signature of a Relax function, or None if `name` is not one."""
        ...

    def packed(self, name: str) -> relax.ExternOp | None:
        """Return a packed function that is a member of the module."""
        ...

    def add_tensor_function(self, func: tir.FuncOp) -> str:
        """Add a function to the module, under its name or a unique variant of it, and return that name."""
        ...

    def imported(self, value: Any) -> GlobalRef | None:
        """Add a captured function to the module and return a reference to it; None if the value is not a function."""
        ...


@dataclass
class BlockFrame:
    """A `with T.block(…)` during parsing. Bindings and the predicate are evaluated outside of its body."""

    outer: Block
    root: bool = False
    iters: list[tuple[IterKind, SSAValue, tuple[SymExpr, SymExpr]]] = field(
        default_factory=list[tuple[IterKind, SSAValue, tuple[SymExpr, SymExpr]]]
    )
    predicate: SSAValue | None = None
    annotations: DictionaryAttr | None = None
    noted: list[SSAValue] = field(default_factory=list[SSAValue])
    """The buffers that annotations refer to."""
    declared: set[str] = field(default_factory=set[str])
    """Which of `reads`, `writes` and `where` the script declares."""


@dataclass
class TirState:
    """The state of the parsing of a prim_func."""

    entry: Block
    module: ModuleContext
    function: ast.FunctionDef | None = None
    """The function being parsed."""
    scalars: dict[Var, SSAValue] = field(default_factory=dict[Var, SSAValue])
    """Scalar parameters: used by name in shapes, as values in expressions."""
    handles: dict[int, str] = field(default_factory=dict[int, str])
    """Position -> name of the handle parameters."""
    written: dict[int, tuple[SymExpr, str, Any, Any]] = field(default_factory=dict[int, tuple[SymExpr, str, Any, Any]])
    """The source form of symbolic expressions, by identity: the operator and its operands."""
    loops: dict[SSAValue, tuple[Bound, Bound]] = field(default_factory=dict[SSAValue, tuple[Bound, Bound]])
    """The minimum and extent of loops by their variables."""
    blocks: list[BlockFrame] = field(default_factory=list[BlockFrame])
    """The enclosing blocks, innermost last."""
    attrs: DictionaryAttr | None = None
    ret_type: Attribute | None = None
    macro_depth: int = 0
    macro_calls: int = 0

    def is_mentioned_once(self, name: str) -> bool:
        """Return whether the function binds the variable once and uses it once."""
        names = [] if self.function is None else [n for n in ast.walk(self.function) if isinstance(n, ast.Name)]
        uses = [n.ctx for n in names if n.id == name]
        return sorted(isinstance(ctx, ast.Load) for ctx in uses) == [False, True]


TirParser: TypeAlias = Evaluator[TirState]
"""The parser of one prim_func, first parameter of the functions in `tir_*.py`."""
Builder: TypeAlias = Callable[[TirParser, CallSite], Any]
"""Builds the value of a call of `T` from its arguments."""
Context: TypeAlias = Callable[[TirParser, ast.Call, ast.expr | None], AbstractContextManager[None]]
"""The context of a `with` statement, from the call and the target of its `as`."""
