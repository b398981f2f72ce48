"""Names of LLVM intrinsics: lookup, and removal of type suffixes.

LLVM completes a name by the types of the call, so programs use names without types, as in TVM.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, cast

_NAME = re.compile(r"llvm(\.\w+)+")
_TYPES = re.compile(r"(\.(nx)?(v\d+)?(i\d+|f\d+|bf16|p\d+))+$")
"""The type suffixes of an intrinsic: `.f32`, `.v8f32.p0`."""
_UNKNOWN = "; Unknown intrinsic"
"""The comment that LLVM prints beside the declaration of an unknown intrinsic."""


@lru_cache(maxsize=1024)
def is_llvm_intrinsic(name: str) -> bool:
    """Return whether LLVM has an intrinsic of this name, with or without type suffixes."""
    from llvmlite import binding

    if not _NAME.fullmatch(name):
        return False
    # LLVM inspects the first parameters of intrinsics that it renames, so declare some.
    module = cast(Any, binding).parse_assembly(f"declare void @{name}({', '.join(['i32'] * 8)})")
    return _UNKNOWN not in str(module)


def base_name(name: str) -> str:
    """Return the name without type suffixes: `llvm.fma` for `llvm.fma.v8f32`; unchanged if unknown to LLVM."""
    base = _TYPES.sub("", name)
    return base if base != name and is_llvm_intrinsic(base) else name
