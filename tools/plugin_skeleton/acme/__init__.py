"""A tirax plug-in."""
