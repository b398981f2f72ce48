"""Handles on Relax: expressions, functions, struct info, builders, functors."""
