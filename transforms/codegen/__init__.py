"""Passes for external code generators and libraries: parts of a program become functions for them to compile."""
