"""Values of script expressions, apart from Python constants, SSA values and symbolic expressions."""

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
"""The dialects by the names of their modules in `tvm`; a `tvm.target.Target` is a `T.target`."""
_RENAMED = {"sblock": "block", "sblock_attr": "block_attr", "sblock_alloc_buffer": "alloc_buffer"}
"""Names of `T` since TVM 0.22, with their former names."""


@dataclass(frozen=True)
class Ref:
    """A name in a script dialect: `R.nn.relu` is `Ref("relax", "nn.relu")`, the module `R` itself is `Ref("relax")`."""

    dialect: str
    path: str = ""

    def member(self, name: str) -> Ref:
        """Return the member `name`; `tvm.relax` and `tvm.tir` are the dialects, and `relax.op.add` is `R.add`."""
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
    """The module being parsed, referred to as `cls` or by the name of its class."""


@dataclass(frozen=True)
class GlobalRef:
    """A reference to a function of the module."""

    name: str


class Unusable:
    """The value of a name that must not be used."""

    def error(self, source: Source, node: ast.Name) -> TiraxError:
        """Return the error for a use of the name."""
        raise NotImplementedError


@dataclass(frozen=True)
class Unknown(Unusable):
    """A name in a file whose value is only known at run time: where it is bound, and why it cannot be evaluated."""

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
    """One of the few Python builtins that scripts may call on constants: `len`, `min`, …"""

    name: str


@dataclass(frozen=True)
class Method:
    """A bound method of a value: `x.astype`."""

    value: Any
    name: str


@dataclass(frozen=True)
class Imm:
    """A typed constant: `T.float32(0)`."""

    value: int | float
    dtype: Attribute


@dataclass(frozen=True)
class Slice:
    """A slice `a:b` or `a:b:c` in a subscript."""

    start: Any
    stop: Any
    step: Any


@dataclass(frozen=True)
class Access:
    """`A[i, j]`: a load, a region or the target of a store, depending on the context."""

    buffer: SSAValue
    indices: tuple[Any, ...]
    node: ast.AST


@dataclass(frozen=True)
class Metadata:
    """The table of constants of a script, or one of its lists."""

    table: Any


@dataclass(frozen=True)
class FreshVar:
    """`T.int64()`: a variable that is named by its assignment."""

    dtype: Attribute
    name: str | None = None

    @cached_property
    def free(self) -> SSAValue:
        """The variable as a value without a definition."""
        return free_value(self.dtype, self.name)


def free_value(dtype: Attribute, name: str | None) -> SSAValue:
    """Return a value that belongs to no program, for a free variable of a tensor function."""
    value = Block(arg_types=[dtype]).args[0]
    set_name(value, name)
    return value


@dataclass(frozen=True)
class EnvThread:
    """`T.env_thread("threadIdx.x")`: a thread variable whose extent `T.launch_thread` sets."""

    tag: str
    dtype: IntegerType


@dataclass(frozen=True)
class MetaVar:
    """`T.meta_var(x)`: a name for the expression itself, without a variable."""

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
        """Return the arguments in the order of `spec`: `a b c=`, where a trailing `=` marks optional ones (None if
        absent).
        """
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
    """Return the description of a value for diagnostics."""
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
