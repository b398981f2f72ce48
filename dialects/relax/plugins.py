"""Plug-ins, which fill up the table of operators and others.

A plug-in is a package with an entry point in the group `tirax.plugins` that names a module; importing the module
declares its operators:

    [project.entry-points."tirax.plugins"]
    acme = "acme_operators"

Plug-ins are imported at the first look into the table of operators, not before: `import tirax` costs as much with them.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from ...universe import load_plugin

GROUP = "tirax.plugins"
"""The group of entry points of plug-ins."""


def load_plugins() -> None:
    """Import the plug-ins, in the order of their names. Raises `PluginError` for one that cannot be loaded."""
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        load_plugin(entry)
