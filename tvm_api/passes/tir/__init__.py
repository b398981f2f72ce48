"""Passes on tensor functions after scheduling."""
