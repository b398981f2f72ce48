"""Language models that read and write: `Session` goes on with sequences of tokens, as `Sampling` says."""

from .sampling import Sampling
from .session import ContextOverflowError, Session

__all__ = ["ContextOverflowError", "Sampling", "Session"]
