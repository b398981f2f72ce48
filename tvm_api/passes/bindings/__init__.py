"""Passes on the bindings of Relax functions."""
