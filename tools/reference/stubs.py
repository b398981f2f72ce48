"""What editors complete and show of Relax's operators, which are functions that only exist when they are asked for."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...dialects.relax import OPERATORS
from ...dialects.relax.composite import COMPOSITES
from ...handles.relax.calls import operator_function
from .markdown import first_paragraph

PATH = Path("tvm_api") / "relax" / "_operators.pyi"
"""The stub, from the root of the repository."""

_HEAD = '''\
"""Written by `python -m tirax.tools.reference`. Do not edit."""

from typing import Any

from ...handles.relax.expr import Call
'''


def operator_stub() -> str:
    """A function for each operator; those in a namespace are in a class of its name."""
    ours = [name for name, cls in OPERATORS.items() if cls.__module__.startswith(("tirax.", "abc"))]
    names = sorted([*ours, *COMPOSITES])
    lines = [_HEAD]
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
    text = first_paragraph(described).replace("\\", "\\\\").replace('"', "'")
    yield f"def {function.__name__}({_parameters(function)}) -> Call:"
    yield f'    """{text}"""'


def _parameters(function: Any) -> str:
    """The parameters with the defaults that have a text; the kinds of arguments are what the docstrings say."""
    shown: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        name = f"{parameter.name}_" if keyword.iskeyword(parameter.name) else parameter.name
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        default = parameter.default
        plain = isinstance(default, str | int | float | bool | list | tuple | None)
        value = "" if default is parameter.empty else f" = {default!r}" if plain else " = ..."
        shown.append(f"{star}{name}: Any{value}")
    return ", ".join(shown)


__all__ = ["PATH", "operator_stub"]
