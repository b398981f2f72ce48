"""`tvm.script.parser.relax`: the names of `tvm.script.relax`, and the module `entry`."""

from typing import Any

from ... import relax as _relax


def __getattr__(name: str) -> Any:
    return getattr(_relax, name)


def __dir__() -> list[str]:
    return dir(_relax)
