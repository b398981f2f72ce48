"""What a file of GGUF may be other than right."""

from __future__ import annotations

from ...frontend.importing.errors import ModelError


class GgufError(ModelError):
    """A file that is no GGUF, is damaged or was cut off, or has what this reader does not know."""
