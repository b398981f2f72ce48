"""Mutators: change a model part by part before the export."""

from __future__ import annotations

from typing import Any

from .core import Effect, Module, ModuleDict, ModuleList, Parameter, ParameterDict, ParameterList


class Mutator:
    """Visits the parts of a module and replaces each by the result of its visit method.

    Override a method to replace parts, and call `visit` on parts whose insides should be visited:

        class Quantize(nn.Mutator):
            def visit_module(self, name, node):
                return QuantizedLinear(node) if isinstance(node, nn.Linear) else super().visit_module(name, node)

        model = Quantize().visit_module("", model)
    """

    def visit_module(self, name: str, node: Module) -> Any:
        """Return the replacement of a module; by default itself, with its parts visited."""
        return self.visit(name, node)

    def visit_modulelist(self, name: str, node: ModuleList) -> Any:
        """Return the replacement of a list of modules."""
        return self.visit(name, node)

    def visit_moduledict(self, name: str, node: ModuleDict) -> Any:
        """Return the replacement of a dictionary of modules."""
        return self.visit(name, node)

    def visit_parameterlist(self, name: str, node: ParameterList) -> Any:
        """Return the replacement of a list of parameters."""
        return self.visit(name, node)

    def visit_parameterdict(self, name: str, node: ParameterDict) -> Any:
        """Return the replacement of a dictionary of parameters."""
        return self.visit(name, node)

    def visit_effect(self, name: str, node: Effect) -> Any:
        """Return the replacement of an effect; by default itself."""
        return node

    def visit_param(self, name: str, node: Parameter) -> Any:
        """Return the replacement of a parameter; by default itself."""
        return node

    def visit(self, name: str, node: Any) -> Any:
        """Visit the parts of a module, list or dictionary, and return it. `name` is its path, such as `layers.0`."""
        prefix = f"{name}." if name else ""
        if isinstance(node, ModuleList | ParameterList):
            for i, part in enumerate(list(node)):
                node[i] = self._part(f"{prefix}{i}", part)
        elif isinstance(node, ModuleDict | ParameterDict):
            for key, part in list(node.items()):
                node[key] = self._part(prefix + key, part)
        else:
            for key, part in list(vars(node).items()):
                setattr(node, key, self._part(prefix + key, part))
        return node

    def _part(self, name: str, part: Any) -> Any:
        for kind, method in _METHODS:
            if isinstance(part, kind):
                return getattr(self, method)(name, part)
        return part


_METHODS: tuple[tuple[type, str], ...] = (
    (ModuleList, "visit_modulelist"),
    (ModuleDict, "visit_moduledict"),
    (ParameterList, "visit_parameterlist"),
    (ParameterDict, "visit_parameterdict"),
    (Module, "visit_module"),
    (Parameter, "visit_param"),
    (Effect, "visit_effect"),
)
"""The visit method for each class of parts; the first match applies."""


__all__ = ["Mutator"]
