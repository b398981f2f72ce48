"""Progress on stderr while importing and building take longer than a moment."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from ..driver.timings import Timings

if TYPE_CHECKING:
    from rich.console import Console

DELAY = 2.0
"""Seconds before the stage is first shown, and between its lines if stderr is not a terminal."""

_REFRESH = 0.2
"""Seconds between updates of the line on a terminal."""


class Progress(Timings):
    """`with Progress(): …` shows the stages inside, unless they end within `delay` seconds.

    `TIRAX_PROGRESS=0` in the environment disables it.
    """

    def __init__(self, console: Console | None = None, delay: float = DELAY):
        super().__init__()
        self._console = console
        self._delay = delay
        self._stage = "starting"
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

        console = self._console or Console(stderr=True)
        if console.is_terminal:
            with Status(self._text(), console=console) as status:
                while not self._over.wait(_REFRESH):
                    status.update(self._text())
            return
        over = False
        while not over:
            console.print(self._text(), highlight=False, soft_wrap=True)
            over = self._over.wait(self._delay)

    def _text(self) -> str:
        return f"{self._stage} ({time.monotonic() - self._begin:.0f} s)"
