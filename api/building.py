"""Reading a model and building it: what imports the compiler."""

from __future__ import annotations

from typing import Any

from ..driver.build import build
from ..runtime.executable import Executable
from .compiled import Compiled, callable_function
from .options import Options
from .sources import Program, read


def compiled(model: Any, options: Options) -> Any:
    """Return the `Compiled` of a model, or what `tirax.load` makes of a file. Raises as `tirax.compile`."""
    program = read(model, options)
    if not isinstance(program, Program):
        return program

    def built() -> Executable:
        return build(program.module, options.target, options.params, options.pipeline, validate=options.validate)

    executable = built()
    return Compiled(executable, callable_function(executable, options.function), program.signature, built)
