"""Generate editor stubs for names that come from tables: operators, schedule primitives, names of `T`."""

from __future__ import annotations

import inspect
import keyword
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from types import FunctionType, ModuleType
from typing import Any

from ... import extend
from ...dialects.dtypes import DTYPES
from ...dialects.relax import OPERATORS
from ...dialects.relax.composite import COMPOSITES
from ...handles.relax.calls import operator_function
from ...schedule.registry import PRIMITIVES, Primitive
from ...schedule.schedule import Schedule
from ...script.parser.tir_foreign import DEVICE_NAMES
from ...tvm_api import tir
from ...tvm_api.script import tir as script
from .markdown import first_paragraph

_WRITTEN = '"""Written by `python -m tirax.dev.reference`. Do not edit."""\n'
_OPERATORS = """\
from typing import Any

from ...handles.relax.call import Call
"""
_STEPS = '''\
from collections.abc import Callable, Sequence
from typing import Any

from ..dialects.sym import IndexMapAttr
from ..handles.tir.buffers import Buffer
from ..handles.tir.index_map import IndexMap
from ..handles.tir.prim_expr import PrimExpr
from .trace import BlockRV, ExprRV, LoopRV

class Steps:
    """The primitives of a schedule as its methods. Those of plug-ins are not here."""
'''
_SCRIPT = """\
from typing import Any

from ...handles.tir.prim_expr import PrimExpr
from ..handles.from_script import function_decorator

prim_func = function_decorator("tir")
"""
_LANES = (2, 4, 8, 16, 32, 64)
"""The vector lengths that are named in stubs; scripts may use any."""


def operator_stub() -> str:
    """Return a stub with a function for each operator; namespaces are classes."""
    ours = [name for name, cls in OPERATORS.items() if cls.__module__.startswith(("tirax.", "abc"))]
    names = sorted([*ours, *COMPOSITES])
    lines = [_WRITTEN, _OPERATORS]
    spaces = sorted({space for name in names if (space := name.split(".", 1)[1].rpartition(".")[0])})
    for space in spaces:
        inside = [n for n in names if n.split(".", 1)[1].rpartition(".")[0] == space]
        lines += [f"class {space}:", *(f"    {line}" for n in inside for line in ("@staticmethod", *_function(n))), ""]
    for name in names:
        if name.count(".") == 1:
            lines += _function(name)
    return "\n".join(lines) + "\n"


def _function(name: str) -> Iterator[str]:
    function = operator_function(name)
    described: Any = OPERATORS.get(name) or COMPOSITES[name]
    yield f"def {function.__name__}({_parameters(inspect.signature(function))}) -> Call:"
    yield f"    {_quoted(described)}"


def steps_stub() -> str:
    """Return a stub of the primitives of this package, as methods of a base class of `Schedule`."""
    ours = {name: p for name, p in sorted(PRIMITIVES.items()) if p.function.__module__.startswith("tirax.")}
    return "\n".join([_WRITTEN, _STEPS, *(f"    {line}" for p in ours.values() for line in _step(p))]) + "\n"


def _step(primitive: Primitive) -> Iterator[str]:
    method = getattr(Schedule, primitive.spec.name)
    signature = inspect.signature(method)
    yield f"def {primitive.spec.name}({_parameters(signature, typed=True)}) -> {signature.return_annotation}:"
    yield f"    {_quoted(method)}"


def script_stub() -> str:
    """Return a stub of the module `T`: callable names, and those that are only parsed in scripts."""
    names = [name for name in dir(script) if name != "prim_func"]
    all_ = f"__all__ = {script.__all__}\n__tirax_script_dialect__: str"
    return "\n".join([_WRITTEN, _SCRIPT, *_names(script, names), *_vectors(), *_devices(), all_]) + "\n"


def _vectors() -> Iterator[str]:
    for dtype, lanes in product((t for t in DTYPES if hasattr(script, t)), _LANES):
        yield f'class {dtype}x{lanes}({dtype}):\n    """{lanes} of {dtype}."""'


def _devices() -> Iterator[str]:
    """Yield intrinsics of other devices: parsed and printed, but not compiled."""
    for name in DEVICE_NAMES:
        yield f"def {name}(*args: Any, dtype: Any = ...) -> Any:"
        yield '    """An intrinsic of another device."""'


def tir_stub() -> str:
    """Return a stub of the names of `tvm.tir` that are defined elsewhere."""
    head = "from typing import Any\n\nfrom ...handles.tir.prim_expr import PrimExpr\n"
    names = [name for name in sorted(tir.__all__) if not isinstance(getattr(tir, name), ModuleType)]
    return "\n".join([_WRITTEN, head, *_names(tir, names)]) + "\n"


def _names(module: ModuleType, names: Iterable[str]) -> Iterator[str]:
    """Yield stubs of names of a `tvm_api` module that are defined elsewhere or created at run time."""
    for name in names:
        value = getattr(module, name)
        if name in (*DTYPES, "boolean", "handle"):  # which annotate parameters
            yield from _class(name, value, value)
        elif hasattr(value, "row"):
            yield from _class(name, value, value.row.make)
        elif _is_written(value) and value.__module__ != module.__name__:
            yield f"from ...{value.__module__.removeprefix('tirax.')} import {value.__qualname__} as {name}"
        elif callable(value):
            yield f"def {name}({_parameters(inspect.signature(value))}) -> Any:"
            yield f"    {_quoted(value)}"
        else:
            yield f"{name}: Any"


def _is_written(value: Any) -> bool:
    """Return whether a class or function is defined in a file under its name, rather than created at run time."""
    if not isinstance(value, type | FunctionType) or value.__module__ not in sys.modules:
        return False
    code = getattr(inspect.unwrap(value), "__code__", None)
    return vars(sys.modules[value.__module__]).get(value.__qualname__) is value and (
        code is None or code.co_qualname == value.__qualname__
    )


def _class(name: str, described: Any, init: Callable[..., Any]) -> Iterator[str]:
    """Yield the stub of an expression class with the parameters of its constructor."""
    yield f"class {name}(PrimExpr):"
    yield f"    {_quoted(described)}"
    yield f"    def __init__(self, {_parameters(inspect.signature(init))}) -> None: ..."


def _quoted(described: Any) -> str:
    text = first_paragraph(described).replace("\\", "\\\\").replace('"', "'")
    return f'"""{text}"""'


def _parameters(signature: inspect.Signature, typed: bool = False) -> str:
    """Return the parameters with printable defaults; unless `typed`, types are left to the docstrings."""
    shown: list[str] = []
    for parameter in signature.parameters.values():
        name = f"{parameter.name}_" if keyword.iskeyword(parameter.name) else parameter.name
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        if parameter.kind is parameter.KEYWORD_ONLY and not any(p[0] == "*" for p in shown):
            shown.append("*")
        kind = parameter.annotation if typed else Any.__name__
        default = parameter.default
        plain = isinstance(default, str | int | float | bool | list | tuple | None)
        value = "" if default is parameter.empty else f" = {default!r}" if plain else " = ..."
        shown.append(f"{star}{name}{'' if kind is parameter.empty else f': {kind}'}{value}")
    return ", ".join(shown)


def extend_stub() -> str:
    """Return a stub with an import of each name of `tirax.extend`."""
    names = [f"from .{module} import {name} as {name}" for name, module in extend.NAMES.items()]
    modules = [f"from .{path.rpartition('.')[0]} import {name} as {name}" for name, path in extend.MODULES.items()]
    tables = [f"{table}: dict[str, str]" for table in ("NAMES", "MODULES")]
    return "\n".join([_WRITTEN, *sorted((*names, *modules)), "", *tables]) + "\n"


STUBS: dict[str, Callable[[], str]] = {
    "extend.pyi": extend_stub,
    "schedule/_steps.pyi": steps_stub,
    "tvm_api/relax/_operators.pyi": operator_stub,
    "tvm_api/script/tir.pyi": script_stub,
    "tvm_api/tir/_exported.pyi": tir_stub,
}
"""The stub files relative to the repository root, and the function that generates each."""

__all__ = ["STUBS"]
