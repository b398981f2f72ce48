"""What is kept of a Relax function while it is read."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Block, SSAValue

from ...dialects import relax, tir
from ...dialects.relax import CallableType
from .evaluator import Evaluator
from .values import CallSite, GlobalRef


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


@dataclass(frozen=True)
class Signature:
    """What a Relax function declares; `ret` is None where it is to be inferred."""

    names: tuple[str, ...]
    params: tuple[Attribute, ...]
    ret: Attribute | None
    pure: bool


@dataclass
class DataflowFrame:
    """A dataflow block that is being read."""

    block: Block
    outputs: list[tuple[str, SSAValue, ast.AST]] | None = None
    names: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class FunctionFrame:
    """A function, or a local one, whose body is being read."""

    attrs: DictionaryAttr | None = None
    dataflow: DataflowFrame | None = None
    branch_depth: int = 0


@dataclass
class RelaxState:
    """What has been read of a Relax function so far."""

    call_te: ClassVar[Callable[..., Any] | None] = None
    """How tensor functions are called on Relax values: `topi` fills this in."""

    module: ModuleContext
    checked: bool = True
    """Whether an annotation that does not hold is refused; else it is kept, and the program is not well formed."""
    function: FunctionFrame = field(default_factory=FunctionFrame)
    used_names: set[str] = field(default_factory=set[str])
    unwritten: set[SSAValue] = field(default_factory=set[SSAValue])
    """What a declared result casts to, which is no binding."""


RelaxParser: TypeAlias = Evaluator[RelaxState]
"""Reads one Relax function: the functions of `relax_*.py` take it first."""
Builder: TypeAlias = Callable[[RelaxParser, CallSite], Any]
"""A function of `R` on the arguments of a call: the value of the call."""
