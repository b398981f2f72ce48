"""What is kept of a prim_func while it is read."""

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
"""The first value or the extent of a loop."""


class Callee(NamedTuple):
    """What a call needs to know of a prim_func, which may still be read: a function may call itself."""

    name: str
    params: Sequence[SSAValue]
    ret_type: Attribute | None

    @staticmethod
    def of(func: tir.FuncOp) -> Callee:
        """That of a function."""
        return Callee(func.sym_name.data, func.params, func.ret_type)


class ModuleContext(Protocol):
    """What a function sees of its module."""

    @property
    def vdevices(self) -> list[str]:
        """The virtual devices that the module lists."""
        ...

    def has_function(self, name: str) -> bool: ...

    def function_names(self) -> list[str]: ...

    def parameter_count(self, name: str) -> int | None:
        """The number of parameters of a prim_func, None for what is none."""
        ...

    def tensor_function(self, name: str, site: CallSite) -> Callee:
        """The prim_func `name`; raises a located error where there is none."""
        ...

    def scalar_result(self, name: str) -> Attribute | None:
        """The type of the number that a prim_func returns, None where it returns nothing."""
        ...

    def callable_type(self, name: str) -> CallableType | None:
        """The signature of a Relax function, None for what is none."""
        ...

    def packed(self, name: str) -> relax.ExternOp | None:
        """A packed function that is a member of the module."""
        ...

    def add_tensor_function(self, func: tir.FuncOp) -> str:
        """Take a function into the module, under its name or a new one like it; gives that."""
        ...

    def imported(self, value: Any) -> GlobalRef | None:
        """A function that was captured from outside, taken into the module; None for what is none."""
        ...


@dataclass
class BlockFrame:
    """A `with T.block(…)` that is being read. Bindings and the predicate are computed outside of its body."""

    outer: Block
    root: bool = False
    iters: list[tuple[IterKind, SSAValue, tuple[SymExpr, SymExpr]]] = field(
        default_factory=list[tuple[IterKind, SSAValue, tuple[SymExpr, SymExpr]]]
    )
    predicate: SSAValue | None = None
    annotations: DictionaryAttr | None = None
    noted: list[SSAValue] = field(default_factory=list[SSAValue])
    """The buffers that the annotations name."""
    declared: set[str] = field(default_factory=set[str])
    """Which of reads, writes and where the script has."""


@dataclass
class TirState:
    """What has been read of a prim_func so far."""

    entry: Block
    module: ModuleContext
    function: ast.FunctionDef | None = None
    """What is read."""
    scalars: dict[Var, SSAValue] = field(default_factory=dict[Var, SSAValue])
    """Scalar parameters: in shapes they stand by name, in expressions as values."""
    handles: dict[int, str] = field(default_factory=dict[int, str])
    """Position -> name of the parameters that are handles."""
    written: dict[int, tuple[SymExpr, str, Any, Any]] = field(default_factory=dict[int, tuple[SymExpr, str, Any, Any]])
    """How symbolic expressions were written, by identity: the operator and its operands."""
    loops: dict[SSAValue, tuple[Bound, Bound]] = field(default_factory=dict[SSAValue, tuple[Bound, Bound]])
    """The first value and the extent of loops by their variables."""
    blocks: list[BlockFrame] = field(default_factory=list[BlockFrame])
    """The blocks around what is read, innermost last."""
    attrs: DictionaryAttr | None = None
    ret_type: Attribute | None = None
    macro_depth: int = 0
    macro_calls: int = 0

    def is_mentioned_once(self, name: str) -> bool:
        """Whether the function has a variable of its own that it mentions in one place only."""
        names = [] if self.function is None else [n for n in ast.walk(self.function) if isinstance(n, ast.Name)]
        uses = [n.ctx for n in names if n.id == name]
        return sorted(isinstance(ctx, ast.Load) for ctx in uses) == [False, True]


TirParser: TypeAlias = Evaluator[TirState]
"""Reads one prim_func: the functions of `tir_*.py` take it first."""
Builder: TypeAlias = Callable[[TirParser, CallSite], Any]
"""A function of `T` on the arguments of a call: the value of the call."""
Context: TypeAlias = Callable[[TirParser, ast.Call, ast.expr | None], AbstractContextManager[None]]
"""What stands behind `with`, and the target behind its `as`."""
