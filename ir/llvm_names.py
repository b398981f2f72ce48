"""Names of LLVM's intrinsics: whether LLVM has them, and without the types that they are for.

LLVM completes a name by the types of the call, so programs have them without types, as TVM does.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, cast

_NAME = re.compile(r"llvm(\.\w+)+")
_TYPES = re.compile(r"(\.(nx)?(v\d+)?(i\d+|f\d+|bf16|p\d+))+$")
"""`.f32`, `.v8f32.p0`: the types that an intrinsic is for, behind its name."""
_UNKNOWN = "; Unknown intrinsic"
"""What LLVM writes beside a declaration whose name is reserved, and stands for nothing."""


@lru_cache(maxsize=1024)
def is_llvm_intrinsic(name: str) -> bool:
    """Whether LLVM knows an intrinsic by this name, with or without the suffixes for its types."""
    from llvmlite import binding

    if not _NAME.fullmatch(name):
        return False
    # LLVM looks at the first parameters of intrinsics that it gives another name: some must be there.
    module = cast(Any, binding).parse_assembly(f"declare void @{name}({', '.join(['i32'] * 8)})")
    return _UNKNOWN not in str(module)


def base_name(name: str) -> str:
    """The name without types: `llvm.fma` for `llvm.fma.v8f32`. One that LLVM does not have without them stays."""
    base = _TYPES.sub("", name)
    return base if base != name and is_llvm_intrinsic(base) else name
