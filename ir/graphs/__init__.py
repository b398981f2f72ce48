"""Graphs of modules for visualization: `nodes.graph_of` builds one, `dot` and `explorer` write it."""
