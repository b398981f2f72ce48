"""Passes that bind symbolic sizes, and that load parameters lazily."""
