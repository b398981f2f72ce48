"""Rewrites of Relax operators into others that compute the same."""
