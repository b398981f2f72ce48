"""What may be wrong of a template for conversations, or of a conversation."""

from __future__ import annotations

from ...frontend.importing.errors import ModelError


class ChatTemplateError(ModelError):
    """A template that is not right, does more than it may, or refuses a conversation; or what is no conversation."""
