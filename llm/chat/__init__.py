"""Conversations as one text, the way a model was trained on them, and as tokens that no message can forge."""

from .errors import ChatTemplateError
from .template import CHATML, ChatTemplate, Message

__all__ = ["CHATML", "ChatTemplate", "ChatTemplateError", "Message"]
