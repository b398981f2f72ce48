"""`R`: Relax operators as functions, as in TVMScript: `R.nn.relu(x)` is a call that is not bound yet."""

from __future__ import annotations

from typing import Any

from ...handles.relax.calls import OperatorNamespace, operator_attribute


class RelaxOperators:
    """The operators below a prefix such as `relax.nn.`; each function is created once."""

    def __init__(self, prefix: str):
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        value: Any = operator_attribute(self._prefix.rstrip("."), self._prefix, name)
        if isinstance(value, OperatorNamespace):
            value = RelaxOperators(value.prefix)
        setattr(self, name, value)
        return value


R = RelaxOperators("relax.")
