"""The C functions that a program may call: those of libm, some on memory, and those that the caller allows.

A program names C functions by text (`T.call_extern("float32", "sinf", x)`), and code linked into this process could
call any function in it. Building an untrusted program must not run `system`: functions that are not listed are
rejected at build time, and by the interpreter, which constant folding uses. Python functions are called through the
registry (`tirax.register_func`), by their registered names only.

    with PassContext(config={"tirax.allow_extern": ["my_function"]}):      tirax run --allow-extern my_function …
        tirax.build(mod)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import SourceLocation, TiraxError
from ...dialects import tir
from ...dialects.quick import operations
from ..functions.lookup import symbol_of
from ..locations import location_of
from .transform import PassContext

ALLOW_EXTERN = "tirax.allow_extern"
"""The key of `PassContext.config` that lists further allowed functions besides those of libm."""

_PLAIN = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim floor "
    "fma fmax fmin fmod hypot ilogb j0 j1 ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround nearbyint "
    "nextafter pow remainder rint round scalbn sin sinh sqrt tan tanh tgamma trunc y0 y1"
)
LIBM = frozenset(name + suffix for name in _PLAIN.split() for suffix in ("", "f"))
"""Functions of C's math library, for float64 and float32, whose parameters and results are numbers."""
_MEMORY = frozenset(("memcpy", "memmove", "memset"))


class ExternError(TiraxError):
    """A program calls a C function that is not allowed."""


def check_extern(name: str, location: SourceLocation | None = None) -> None:
    """Raise `ExternError` if programs may not call the C function `name`."""
    if name in LIBM or name in _MEMORY or name in _allowed():
        return
    raise ExternError(
        f"the program calls the C function '{name}', which it may not",
        location=location,
        expected="a function of libm, or one that is allowed by name",
        hint=f'if you trust it: --allow-extern {name}, or PassContext(config={{"{ALLOW_EXTERN}": ["{name}"]}})',
    )


def check_calls(module: ModuleOp) -> None:
    """Run `check_extern` for all C functions that the tensor functions of a module call."""
    own = {name for op in module.body.block.ops if (name := symbol_of(op)) is not None}
    for op in operations(module):
        if isinstance(op, tir.CallExternOp | tir.CallPureExternOp) and op.func.data not in own:
            check_extern(op.func.data, location_of(op))


def _allowed() -> Collection[str]:
    names: Any = (PassContext.current().config or {}).get(ALLOW_EXTERN, ())
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TiraxError(f"'{ALLOW_EXTERN}' is not a list of names", expected="a list of str", found=repr(names))
    return cast("Collection[str]", names)
