"""What expressions of a script may stand for, beside Python constants, SSA values and symbolic expressions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, SSAValue

from ...diagnostics import SourceLocation, TiraxError, suggestion
from ...dialects.dtypes import dtype_name
from ...dialects.names import set_name
from .source import ScriptError, Source

_MODULES = {"relax": "relax", "tir": "tir", "tirx": "tir", "target": "tir"}
"""The dialects by their modules in `tvm`; a `tvm.target.Target` is a `T.target`."""
_RENAMED = {"sblock": "block", "sblock_attr": "block_attr", "sblock_alloc_buffer": "alloc_buffer"}
"""Names of `T` in TVM from 0.22 on, and those that they had before."""


@dataclass(frozen=True)
class Ref:
    """A name of a script dialect: `R.nn.relu` is `Ref("relax", "nn.relu")`, the module `R` itself `Ref("relax")`."""

    dialect: str
    path: str = ""

    def member(self, name: str) -> Ref:
        """What `name` is in it; `tvm.relax` and `tvm.tir` are the dialects, and `relax.op.add` is `R.add`."""
        if self == Ref("tvm") and name in _MODULES:
            return Ref(_MODULES[name])
        if self == Ref("relax") and name == "op":
            return self
        if self == Ref("tir"):
            name = _RENAMED.get(name, name)
        return Ref(self.dialect, f"{self.path}.{name}" if self.path else name)

    def __str__(self) -> str:
        letter = {"relax": "R", "tir": "T", "ir": "I"}.get(self.dialect, self.dialect)
        return f"{letter}.{self.path}" if self.path else letter


@dataclass(frozen=True)
class ModuleRef:
    """The module that is being parsed, as `cls` or by the name of its class."""


@dataclass(frozen=True)
class GlobalRef:
    """A function of the module."""

    name: str


class Unusable:
    """What a name stands for that may not be used."""

    def error(self, source: Source, node: ast.Name) -> TiraxError:
        """The error for a use."""
        raise NotImplementedError


@dataclass(frozen=True)
class Unknown(Unusable):
    """A name of a file whose value only a run of it would give: where it is bound, and why that cannot be read."""

    place: SourceLocation
    reason: str = "it is no constant"

    def error(self, source: Source, node: ast.Name) -> TiraxError:
        return source.error(
            node,
            f"the value of '{node.id}' is not known: {self.reason}",
            hint="a script is read, never run; write the value, or run the file and write Module.script()",
            notes=[self.place.render()],
        )


@dataclass(frozen=True)
class Builtin:
    """One of the few functions of Python that may be applied, to constants: `len`, `min`, …"""

    name: str


@dataclass(frozen=True)
class Method:
    """`x.astype`: a method of a value."""

    value: Any
    name: str


@dataclass(frozen=True)
class Imm:
    """A typed constant: `T.float32(0)`."""

    value: int | float
    dtype: Attribute


@dataclass(frozen=True)
class Slice:
    """`a:b` or `a:b:c` among indices."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True)
class Access:
    """`A[i, j]`: a load, a region or the target of a store, as the context will have it."""

    buffer: SSAValue
    indices: tuple[Any, ...]
    node: ast.AST


@dataclass(frozen=True)
class Metadata:
    """The table of constants of a script, or the list of one kind in it."""

    table: Any


@dataclass(frozen=True)
class FreshVar:
    """`T.int64()`: a variable that gets its name from the assignment."""

    dtype: Attribute
    name: str | None = None

    @cached_property
    def free(self) -> SSAValue:
        """The variable as a value that nothing defines."""
        return free_value(self.dtype, self.name)


def free_value(dtype: Attribute, name: str | None) -> SSAValue:
    """A value that belongs to no program: what a tensor function names and nothing defines."""
    value = Block(arg_types=[dtype]).args[0]
    set_name(value, name)
    return value


@dataclass(frozen=True)
class EnvThread:
    """`T.env_thread("threadIdx.x")`: what `T.launch_thread` gives a number to."""

    tag: str
    dtype: IntegerType


@dataclass(frozen=True)
class MetaVar:
    """`T.meta_var(x)`: the name that it gets stands for the expression itself, which gets no variable."""

    value: Any


@dataclass
class CallSite:
    """A call with its arguments evaluated."""

    node: ast.Call
    name: str
    args: list[Any]
    kwargs: dict[str, Any]
    source: Source

    def error(self, message: str, **details: Any) -> ScriptError:
        return self.source.error(self.node, f"{self.name}: {message}", **details)

    def bind(self, spec: str) -> list[Any]:
        """The arguments in the order of `spec`: `a b c=` (optional ones end with `=` and are None where absent)."""
        names = [n.rstrip("=") for n in spec.split()]
        if len(self.args) > len(names):
            raise self.error(
                "too many arguments", expected=f"at most {len(names)}: {', '.join(names)}", found=len(self.args)
            )
        bound = dict(zip(names, self.args, strict=False))
        for key, value in self.kwargs.items():
            if key not in names:
                raise self.error(f"no argument is called '{key}'", hint=suggestion(key, names), expected=spec)
            if key in bound:
                raise self.error(f"argument '{key}' is given twice")
            bound[key] = value
        for name in spec.split():
            if not name.endswith("=") and name not in bound:
                raise self.error(f"argument '{name}' is missing", expected=spec)
        return [bound.get(n) for n in names]


def describe(value: Any) -> str:
    """How a diagnostic calls a value."""
    if isinstance(value, Ref):
        return str(value)
    if isinstance(value, SSAValue):
        return f"a value of {value.type}"
    if isinstance(value, Imm):
        return f"a constant of {dtype_name(value.dtype)}"
    if isinstance(value, Builtin):
        return value.name
    if isinstance(value, GlobalRef):
        return f"the function '{value.name}'"
    if isinstance(value, ModuleRef):
        return "the module"
    if isinstance(value, Attribute):
        return str(value)
    return f"{type(value).__name__} {value!r}"[:80]
