"""Postprocessors: what is done to a schedule after all decisions, before it is built. Each may reject it."""
