"""`tvm.script.parser.core.diagnostics.Source`: the text of a function or class, and its syntax tree of Python."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from typing import Any

from ....script.parser import plain_values


class Source(plain_values.Source):
    """A text, or the source of a function or class: where it stands, and the text of its file."""

    def __init__(self, program: Any):
        super().__init__(program)
        if isinstance(program, str):
            self.source_name, self.start_line, self.start_column = "<str>", 0, 0
            self.source = self.full_source = program
            return
        lines, self.start_line = inspect.getsourcelines(program)
        self.source_name = inspect.getsourcefile(program) or "<str>"
        self.start_column = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
        self.source = textwrap.dedent("".join(lines))
        module = sys.modules.get(program.__module__)
        self.full_source = self.source if module is None else inspect.getsource(module)

    def as_ast(self) -> ast.Module:
        """Return the syntax tree. Raises `ScriptError` if the text is not valid Python."""
        return super().as_ast()


__all__ = ["Source"]
