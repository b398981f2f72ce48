"""Rewrites of relax operators into others that compute the same, cheaper or in fewer kinds of operators."""
