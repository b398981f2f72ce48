"""TVM's containers: what `runtime.convert` gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...handles.array import Array


class ConvertedArray(list[Any]):
    """A list that says that it is TVM's `Array`."""

    type_key = "Array"


cast(Any, Array).register(ConvertedArray)


class _MapType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Mapping)


class Map(dict[Any, Any], metaclass=_MapType):
    """A dictionary that says that it is TVM's `Map`; any mapping is an instance."""

    type_key = "Map"

    def __contains__(self, k: object) -> bool:
        return super().__contains__(k)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value under a key, or the default."""
        return super().get(key, default)


def convert(value: Any, span: object = None) -> Any:
    """Return TVM's object for a value: sequences become arrays and mappings maps, others stay as they are."""
    if isinstance(value, list | tuple):
        return ConvertedArray(convert(v) for v in value)
    return Map(value) if isinstance(value, Mapping) else value


__all__ = ["ConvertedArray", "Map", "convert"]
