"""Plug-ins, which extend the table of operators and other tables.

A plug-in is a package with an entry point in the group `tirax.plugins` that names a module; importing the module
declares its operators:

    [project.entry-points."tirax.plugins"]
    acme = "acme_operators"

Plug-ins are imported on the first lookup in the table of operators: `import tirax` is as fast with them.
"""

from __future__ import annotations

from ...universe import chosen_plugins, load_plugin

GROUP = "tirax.plugins"
"""The entry point group of plug-ins."""


def load_plugins() -> None:
    """Import the plug-ins, in the order of their names. Raises `PluginError` for one that cannot be loaded."""
    for entry in chosen_plugins(GROUP):
        load_plugin(entry)
