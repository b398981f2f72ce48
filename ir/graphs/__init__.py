"""Modules as graphs for other programs: `nodes.graph_of` makes one, `dot` and `explorer` write it."""
