"""Malformed tensors of DLPack: an error, and their memory is not read."""

from __future__ import annotations

import ctypes
import re
from typing import Any

import numpy as np
import pytest

from tirax.runtime import from_dlpack
from tirax.runtime.capsules import tensor_of
from tirax.runtime.errors import ArgumentError
from tirax.tools.forks import in_fork


class Lying:
    """Exports an array, with fields of its tensor replaced."""

    def __init__(self, fields: dict[str, Any], versioned: bool):
        self.array, self.fields = np.ones((2, 3), "float32"), fields
        self.versioned = versioned
        self.kept: list[Any] = []

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.array.__dlpack__(**(options if self.versioned else {}))
        tensor = tensor_of(capsule)
        for name, value in self.fields.items():
            if isinstance(value, list):
                value = (ctypes.c_int64 * len(value))(*value)
                self.kept.append(value)
            setattr(tensor, name, value)
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


NULL = ctypes.POINTER(ctypes.c_int64)()
MANY = [1 << 31, 1 << 62, (1 << 63) - 1]
LIES: list[dict[str, Any]] = [
    *({"ndim": n} for n in (-1, 65, 2**31 - 1, -(2**31))),
    *({"shape": shape} for shape in ([-1, 3], [2, -(2**63)], *([n, n] for n in MANY))),
    *({"shape": [2, 3], "strides": [stride, 1]} for stride in (MANY[-1], -(2**63))),
    {"shape": NULL},
    {"data": None},
    {"byte_offset": 2**64 - 1},
    *({"bits": bits} for bits in (0, 1, 7, 12, 255)),
    *({"lanes": lanes} for lanes in (0, 2, 65535)),
    *({"code": code} for code in (3, 7, 99, 255)),
]


def label(value: object) -> str:
    """The same in each process that collects: addresses are none."""
    return re.sub(r"<.*? object at \w+>", "null", str(value))


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("fields", LIES, ids=label)
def test_what_lies_is_refused(fields: dict[str, Any], versioned: bool) -> None:
    def message() -> str | None:
        try:
            from_dlpack(Lying(fields, versioned))
        except ArgumentError as error:
            return error.message
        return None

    outcome = in_fork(message, 20)
    assert outcome.report is not None, outcome


@pytest.mark.parametrize(
    "fields", [{}, {"strides": NULL}, {"shape": [0, 3], "data": None}, {"shape": [2, 2]}], ids=label
)
def test_what_is_odd_and_legal_is_taken(fields: dict[str, Any]) -> None:
    value = from_dlpack(Lying(fields, True))
    assert value.shape == (tuple(fields["shape"]) if "shape" in fields else (2, 3))
    assert np.all(value == 1)


class Other:
    """Exports something else than a tensor."""

    def __init__(self, capsule: Any, device: Any = (1, 0)):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> Any:
        return self.device


def test_a_capsule_that_was_taken() -> None:
    capsule = np.ones(2, "float32").__dlpack__()
    from_dlpack(Other(capsule))
    with pytest.raises(ArgumentError, match="cannot be imported"):
        from_dlpack(Other(capsule))


@pytest.mark.parametrize("value", [None, 3, "dltensor", object()], ids=label)
def test_what_is_no_capsule(value: object) -> None:
    with pytest.raises(ArgumentError, match="cannot be imported"):
        from_dlpack(Other(value))


@pytest.mark.parametrize("device", [None, (1,), ("cpu", 0), (1.5, 0), 1], ids=str)
def test_what_is_no_device(device: object) -> None:
    with pytest.raises(ArgumentError, match="__dlpack_device__"):
        from_dlpack(Other(np.ones(2).__dlpack__(), device))
