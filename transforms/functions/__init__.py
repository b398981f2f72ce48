"""Passes on several functions: the call graph, and symbolic variables across calls."""
