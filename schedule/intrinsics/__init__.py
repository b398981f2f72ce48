"""The tensor intrinsics that come with tirax, by name."""

from __future__ import annotations

from collections.abc import Callable

from ..tensor_intrin import TensorIntrin
from . import generic, x86

BUILTIN: dict[str, Callable[[], TensorIntrin]] = {**generic.INTRINSICS, **x86.INTRINSICS}
"""Name -> what makes the intrinsic."""
