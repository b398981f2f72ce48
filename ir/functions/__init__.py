"""The functions of a module: looking them up, their calls, effects and symbolic variables."""
