"""`tirax gui`: xDSL's terminal workbench with the dialects and passes of tirax and of plug-ins.

xDSL's own command, `xdsl-gui`, loads only xDSL's passes and no plug-ins.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from xdsl.utils.exceptions import DiagnosticException

from ..diagnostics import TiraxError
from ..universe import full_universe
from .source import read_program
from .steps import steps_of


def workbench(path: str | None = None, passes: str = "") -> Any:
    """Return xDSL's `InputApp` for the program in a file (.mlir, or .py as MLIR), with these `-p` passes in its
    pipeline.

    Raises `TiraxError` if textual is not installed, or the program or the passes cannot be read.
    """
    try:
        app = import_module("xdsl.interactive.app")
    except ImportError as error:
        raise TiraxError(f"the workbench needs a package: {error}", hint="pip install 'tirax[gui]'") from error
    universe = full_universe()
    steps: Sequence[Any] = steps_of([("passes", passes)] if passes else [], universe.all_passes)
    program = None if path is None else read_program(path)
    text = None if program is None else program.text if program.format == "mlir" else str(program.parse())
    known = tuple((name, make()) for name, make in sorted(universe.all_passes.items()))
    return _tolerant(app)(tuple(universe.all_dialects.items()), known, path, text, tuple(step.run for step in steps))


def _tolerant(app: Any) -> type[Any]:
    """Return a subclass of xDSL's app that survives failing passes and shows their errors."""

    class Workbench(app.InputApp):
        CSS_PATH = str(Path(app.__file__).with_name("app.tcss"))  # which is sought beside the class

        def compute_available_pass_list(self) -> tuple[Any, ...]:
            try:
                return super().compute_available_pass_list()
            except DiagnosticException:
                return ()

        @app.on(app.Tree.NodeExpanded, "#passes_tree")
        def expand_tree_node(self, event: Any) -> None:
            event.prevent_default()
            try:
                super().expand_tree_node(event)
            except DiagnosticException as error:
                self.notify(str(error), severity="error")

    return Workbench
