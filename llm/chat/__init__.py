"""Render conversations with a model's chat template, and tokenize them so that no message can forge special tokens."""

from .errors import ChatTemplateError
from .template import CHATML, ChatTemplate, Message

__all__ = ["CHATML", "ChatTemplate", "ChatTemplateError", "Message"]
