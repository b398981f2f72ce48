"""Passes that split fused functions."""
