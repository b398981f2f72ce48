"""Passes, sequences of passes, and the context in which they run."""
