"""What is kept of a Relax function while it is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Block, SSAValue

from .evaluator import Evaluator
from .tir_state import ModuleContext
from .values import CallSite


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
    outputs: list[tuple[str, SSAValue]] | None = None
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
    implied: set[SSAValue] = field(default_factory=set[SSAValue])
    """What a declared result casts to, which is no binding."""


RelaxParser: TypeAlias = Evaluator[RelaxState]
"""Reads one Relax function: the functions of `relax_*.py` take it first."""
Builder: TypeAlias = Callable[[RelaxParser, CallSite], Any]
"""A function of `R` on the arguments of a call: the value of the call."""
