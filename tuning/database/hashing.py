"""Hashes of structure that other processes, other days and other machines find again."""

from __future__ import annotations

import hashlib
from typing import Any

from xdsl.ir import Attribute

from ...handles.module import IRModule
from ...ir.equality import fingerprint


def stable_hash(mod: IRModule) -> str:
    """A hash that structurally equal modules share, in hexadecimal."""
    digest = hashlib.sha256()
    _feed(digest, fingerprint(mod.op))
    return digest.hexdigest()[:32]


def _feed(digest: Any, item: Any) -> None:
    if isinstance(item, tuple | list | frozenset):
        digest.update(b"(")
        for part in item:
            _feed(digest, part)
        digest.update(b")")
        return
    text = str(item) if isinstance(item, Attribute) else item.__name__ if isinstance(item, type) else repr(item)
    digest.update(text.encode() + b"\0")
