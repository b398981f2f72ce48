"""Errors of chat templates and conversations."""

from __future__ import annotations

from ...frontend.importing.errors import ModelError


class ChatTemplateError(ModelError):
    """Raised for a template that is invalid, exceeds its budget or rejects a conversation, and for an invalid
    conversation.
    """
