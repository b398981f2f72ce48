"""Functions of TVM's `T` that are not supported, with the reason shown in the diagnostic."""

from __future__ import annotations

import ast

from ...diagnostics import UnsupportedError
from .source import Source

_GPU = "it is for GPUs; tirax compiles for CPUs"
_VM = "it is a step of TVM's lowering to its virtual machine; call from Relax"
_BUILDER = "it is a step of TVM's builder of programs; write the Python statement"
_NODE = "it is a class of TVM's IR; write the expression"
_REDUCER = "it stands in the axis of T.reduce only; a block has T.axis.reduce"

UNSUPPORTED: dict[str, str] = {
    "realize": (
        "it is what the schedules of te made, which TVM 0.20 has no more: no pass of it makes or lowers one; "
        "memory is T.alloc_buffer, or T.allocate and T.decl_buffer"
    ),
    "prefetch": "call llvm.prefetch: T.call_llvm_intrin",
    "thread_return": _GPU,
    "CommReducer": "write T.comm_reducer(lambda x, y: x + y, [T.float32(0)])",
    **dict.fromkeys(("iter_var", "IterVar", "Range"), _REDUCER),
    **dict.fromkeys(("masked_load", "masked_store"), "write A.vload(…, predicate=mask), or A.vstore"),
    **dict.fromkeys(("If", "Then", "Else", "While", "arg", "func_name", "func_ret", "buffer_decl"), _BUILDER),
    **dict.fromkeys(("block_name_suffix_context", "add_to_parent"), _BUILDER),
    **dict.fromkeys(("Call", "CallEffectKind", "BufferLoad", "ProducerLoad"), _NODE),
    **dict.fromkeys(("buffer_var", "Tuple", "void"), _NODE),
    **dict.fromkeys(("texture2d_load", "texture2d_store", "tvm_kernel_replace_point"), _GPU),
    **dict.fromkeys(("mma_store_legacy", "mma_fill_legacy", "ptx_mma_legacy", "ptx_ldmatrix_legacy"), _GPU),
    "call_tir": _VM,
}
"""Name -> reason, and the alternative to use."""


def unsupported(site: Source, node: ast.AST, name: str) -> UnsupportedError | None:
    """Return the error for a function of TVM that is not supported, or None for any other name."""
    if name not in UNSUPPORTED:
        return None
    return UnsupportedError(f"T.{name} is not supported", location=site.place(node), hint=UNSUPPORTED[name])
