"""Passes on the parameters and results of functions, and on the functions of a module."""
