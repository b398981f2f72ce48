"""tir functions to func, scf, memref, arith, math and vector.

**Calling convention of kernels.** `tir.func @f` becomes `func.func @f` with these parameters:

1. one for each parameter of the tir function, in order: a buffer is a bare pointer to its first element
   (`memref<?xf32>`; unsigned types are signless, a bool is a byte), a handle is `!llvm.ptr`, a scalar is itself;
2. then one i64 for each symbolic variable that the types of the buffers mention, in order of first occurrence; a
   variable that has the name of a scalar parameter is that parameter, and not passed again;
3. then, if the tir function has a scalar result, a pointer to the memory for it.

It returns an i32, its status: 0 on success; the 1-based number of a failed assertion (`lower-asserts`;
`KernelSignature.assertions` has the messages); or, if negative, minus the KiB that it could not allocate, rounded up:
then it has freed its earlier allocations, and its outputs are invalid. With `tir.noalias` (the default of functions
created by tirax) no two buffers overlap. `kernel_signature(func)` returns all this for a tir function.
"""

from typing import TYPE_CHECKING

from ...lazy import names_of

if TYPE_CHECKING:
    from .convert import ConvertTirToScf
    from .outline import OutlineParallel
    from .promote import PromoteTiles
    from .signature import KernelSignature, kernel_signature

__all__ = ["ConvertTirToScf", "KernelSignature", "OutlineParallel", "PromoteTiles", "kernel_signature"]
_FILES = {
    "ConvertTirToScf": "convert",
    "KernelSignature": "signature",
    "OutlineParallel": "outline",
    "PromoteTiles": "promote",
    "kernel_signature": "signature",
}
__getattr__ = names_of(__name__, _FILES)
