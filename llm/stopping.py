"""Texts behind which an answer ends."""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnostics import TiraxError
from .tokenizers import Tokenizer


class StopTexts:
    """Passes on what is written up to the first of some texts, which is left out.

    What may be the beginning of one is held back until more is known of it.
    """

    def __init__(self, texts: Sequence[str] = ()):
        """Raises `TiraxError` for an empty text, and for one text in the place of several."""
        if isinstance(texts, str) or not all(isinstance(text, str) and text for text in texts):
            raise TiraxError("a text to stop at has a character at least", expected="texts", found=texts)
        self._texts = tuple(texts)
        self._held = ""
        self.reached = False
        """Whether one of the texts came."""

    def push(self, text: str) -> str:
        """What may be written of all that came so far and was not written yet."""
        if self.reached:
            return ""
        text = self._held + text
        places = [place for stop in self._texts if (place := text.find(stop)) >= 0]
        self.reached = bool(places)
        end = min(places) if places else len(text) - self._partial_match(text)
        self._held = "" if places else text[end:]
        return text[:end]

    def finish(self) -> str:
        """What was held back, at the end of all."""
        held, self._held = self._held, ""
        return held

    def _partial_match(self, text: str) -> int:
        """How many of the last characters may be the beginning of a text to stop at."""
        most = max(map(len, self._texts), default=1) - 1
        for count in range(min(most, len(text)), 0, -1):
            if any(stop.startswith(text[-count:]) for stop in self._texts):
                return count
        return 0


class Writer:
    """Tokens as text: whole characters, as they come, up to a text to stop at."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()):
        """Raises as `StopTexts`."""
        self._stops = StopTexts(stop)
        self._stream = tokenizer.stream()

    @property
    def is_ended(self) -> bool:
        """Whether a text to stop at came."""
        return self._stops.reached

    def push(self, token: int) -> str:
        """What may be written behind one more token."""
        return self._stops.push(self._stream.push(token))

    def finish(self) -> str:
        """What may be written behind the last token."""
        return self._stops.push(self._stream.finish()) + self._stops.finish()
