"""Mutators: small changes of the decisions in a trace, from which evolution goes on."""
