"""The functions of a module: lookup, calls, effects and symbolic variables."""
