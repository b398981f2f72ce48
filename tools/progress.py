"""Progress on stderr while importing and building take longer than a moment."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from ..driver.timings import IN_SUBPROCESS, Timings

if TYPE_CHECKING:
    from rich.console import Console

DELAY = 2.0
"""Seconds before the stage is first shown, and between looks at it if stderr is not a terminal."""

_REFRESH = 0.2
"""Seconds between updates of the line on a terminal."""


class Progress(Timings):
    """`with Progress("model.onnx"): …` shows the stages inside, unless they end within `delay` seconds.

    A terminal shows one line that is kept up to date; anything else gets a line for each step, without repetitions.
    With `first_run_only`, it says that the result is kept. `TIRAX_PROGRESS=0` in the environment disables it.
    """

    def __init__(
        self, name: str = "", console: Console | None = None, delay: float = DELAY, first_run_only: bool = False
    ):
        super().__init__()
        self._first = first_run_only
        self._name = os.path.basename(name.rstrip("/")) or "a program"
        self._console = console
        self._delay = delay
        self._stage = ""
        self._pass = 0, 0
        self._begin = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._show, name="progress", daemon=True)

    def __enter__(self) -> Progress:
        self._begin = time.monotonic()
        super().__enter__()
        if os.environ.get("TIRAX_PROGRESS") != "0":
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self._over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def started(self, name: str) -> None:
        """Begin a stage."""
        self._stage = name

    def _show(self) -> None:
        if self._over.wait(self._delay):
            return
        from rich.console import Console
        from rich.status import Status
        from rich.text import Text

        console = self._console or Console(stderr=True)
        if console.is_terminal:
            with Status(Text(self._text()), console=console) as status:
                while not self._over.wait(_REFRESH):
                    status.update(Text(self._text()))
            return
        last = ""
        while not self._over.is_set():
            step = self._step()[0]
            if step != last:
                console.print(step, highlight=False, soft_wrap=True, markup=False)
            last = step
            self._over.wait(self._delay)

    def _text(self) -> str:
        return f"{': '.join(filter(None, self._step()))} ({time.monotonic() - self._begin:.0f} s)"

    def _step(self) -> tuple[str, str]:
        """Return what is done, in the user's words, and the stage of it."""
        stage = self._stage
        if not stage:
            return f"reading {self._name}", ""
        if stage.startswith("import "):
            return f"importing {stage.removeprefix('import ')}", ""
        if stage == IN_SUBPROCESS or self._first:
            return f"compiling {self._name} (first run only)", "" if stage == IN_SUBPROCESS else self._position(stage)
        return f"compiling {self._name}", self._position(stage)

    def _position(self, stage: str) -> str:
        """Return a stage with the number of its pass: `fuse-ops, pass 12 of 63`."""
        return f"{stage}, pass {self._pass[0]} of {self._pass[1]}" if self._pass[1] else stage

    def passed(self, number: int, count: int) -> None:
        """Note that pass `number` of `count` begins."""
        self._pass = number, count
