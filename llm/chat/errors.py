"""Errors of chat templates and conversations."""

from __future__ import annotations

from ...frontend.importing.errors import ModelError


class ChatTemplateError(ModelError):
    """Raised for invalid templates and conversations, exceeded budgets, and rejected conversations."""
