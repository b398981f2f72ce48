"""Handles on TIR: scalar expressions, buffers, statements, functions, index maps."""
