"""Errors of GGUF files."""

from __future__ import annotations

from ...frontend.importing.errors import ModelError


class GgufError(ModelError):
    """Raised for a file that is not GGUF, is damaged or truncated, or uses unsupported features."""
