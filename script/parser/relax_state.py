"""The state of a Relax function during parsing."""

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
    """The declared signature of a Relax function; `ret` is None if the result is to be inferred."""

    names: tuple[str, ...]
    params: tuple[Attribute, ...]
    ret: Attribute | None
    pure: bool


@dataclass
class DataflowFrame:
    """A dataflow block during parsing."""

    block: Block
    outputs: list[tuple[str, SSAValue]] | None = None
    names: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class FunctionFrame:
    """A function, or a local function, whose body is being parsed."""

    attrs: DictionaryAttr | None = None
    dataflow: DataflowFrame | None = None
    branch_depth: int = 0


@dataclass
class RelaxState:
    """The state of the parsing of a Relax function."""

    call_te: ClassVar[Callable[..., Any] | None] = None
    """Calls a tensor function on Relax values; set by `topi`."""

    module: ModuleContext
    checked: bool = True
    """True if an annotation that does not hold is an error; otherwise it is kept, and the program is ill-formed."""
    function: FunctionFrame = field(default_factory=FunctionFrame)
    used_names: set[str] = field(default_factory=set[str])
    implied: set[SSAValue] = field(default_factory=set[SSAValue])
    """Casts inserted for declared results, which are not bindings."""


RelaxParser: TypeAlias = Evaluator[RelaxState]
"""The parser of one Relax function, first parameter of the functions in `relax_*.py`."""
Builder: TypeAlias = Callable[[RelaxParser, CallSite], Any]
"""Builds the value of a call of `R` from its arguments."""
