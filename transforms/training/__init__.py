"""Reverse-mode differentiation of relax functions."""
