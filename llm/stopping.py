"""Stop texts, which end an answer."""

from __future__ import annotations

from collections.abc import Sequence

from ..diagnostics import TiraxError
from .tokenizers import Tokenizer


class StopTexts:
    """A filter that passes text on up to the first stop text, which is left out.

    Text that may be the beginning of a stop text is held back until that is decided.
    """

    def __init__(self, texts: Sequence[str] = ()):
        """Raises `TiraxError` for an empty text, and for a string in place of a sequence of strings."""
        if isinstance(texts, str) or not all(isinstance(text, str) and text for text in texts):
            raise TiraxError("a text to stop at has a character at least", expected="texts", found=texts)
        self._texts = tuple(texts)
        self._held = ""
        self.reached = False
        """Whether one of the texts came."""

    def push(self, text: str) -> str:
        """Add text, and return what can be passed on now."""
        if self.reached:
            return ""
        text = self._held + text
        places = [place for stop in self._texts if (place := text.find(stop)) >= 0]
        self.reached = bool(places)
        end = min(places) if places else len(text) - self._partial_match(text)
        self._held = "" if places else text[end:]
        return text[:end]

    def finish(self) -> str:
        """Return the text held back, at the end."""
        held, self._held = self._held, ""
        return held

    def _partial_match(self, text: str) -> int:
        """Return how many of the last characters may begin a stop text."""
        most = max(map(len, self._texts), default=1) - 1
        for count in range(min(most, len(text)), 0, -1):
            if any(stop.startswith(text[-count:]) for stop in self._texts):
                return count
        return 0


class Writer:
    """Converts tokens to text, in whole characters, up to a stop text."""

    def __init__(self, tokenizer: Tokenizer, stop: Sequence[str] = ()):
        """Raises as `StopTexts` does."""
        self._stops = StopTexts(stop)
        self._stream = tokenizer.stream()

    @property
    def is_ended(self) -> bool:
        """Whether a stop text was generated."""
        return self._stops.reached

    def push(self, token: int) -> str:
        """Add a token, and return the text that can be passed on now."""
        return self._stops.push(self._stream.push(token))

    def finish(self) -> str:
        """Return the remaining text after the last token."""
        return self._stops.push(self._stream.finish()) + self._stops.finish()
