"""Numpy semantics of Relax functions and operators: a file for each operator family."""
