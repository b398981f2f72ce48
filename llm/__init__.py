"""Language models: checkpoints, tokenizers, sampling and text generation (docs/language_models.md)."""

from .conversation import Conversation
from .model import LanguageModel
from .sampling import Sampling
from .session import ContextOverflowError, Session

__all__ = ["Conversation", "ContextOverflowError", "LanguageModel", "Sampling", "Session"]
