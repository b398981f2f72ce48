"""Passes on parameters: binding of parameters and sizes, and preparation of weights ahead of time or on demand."""
