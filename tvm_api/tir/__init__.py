"""`tvm.tir`: loops over buffers."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ... import te as _te
from ...handles.tir.buffers import Buffer, Stmt, decl_buffer
from ...handles.tir.data_layout import BijectiveLayout, Layout, bijective_layout, layout
from ...handles.tir.expr_kinds import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    BufferLoad,
    Call,
    Cast,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    Let,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    Ramp,
    Select,
    Shuffle,
    StringImm,
    Sub,
)
from ...handles.tir.index_map import IndexMap
from ...handles.tir.intrinsics import (
    address_of,
    assume,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    call_extern,
    call_intrin,
    call_llvm_intrin,
    call_llvm_pure_intrin,
    call_packed,
    call_pure_extern,
    ceildiv,
    clz,
    copysign,
    handle_add_byte_offset,
    hypot,
    ignore_loop_partition,
    isnullptr,
    ldexp,
    likely,
    nextafter,
    pow,
    q_multiply_shift,
    q_multiply_shift_per_axis,
    reinterpret,
    shift_left,
    shift_right,
    tvm_access_ptr,
    type_annotation,
    undef,
    vectorcombine,
    vectorhigh,
    vectorlow,
)
from ...handles.tir.prim_expr import (
    PrimExpr,
    SizeVar,
    Var,
    add,
    const,
    convert,
    exp2,
    exp10,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    multiply,
    subtract,
)
from ...handles.tir.prim_func import PrimFunc
from ...handles.tir.statements import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    LetStmt,
    MatchBufferRegion,
    SeqStmt,
    While,
    stmt_list,
    stmt_seq,
)
from .._names import provide

if TYPE_CHECKING:
    from ...schedule.schedule import Schedule
    from ...schedule.state import ScheduleError
    from ...schedule.state import State as ScheduleState
    from ...schedule.tensor_intrin import TensorIntrin
    from ...schedule.trace import BlockRV, ExprRV, LoopRV
    from . import transform

    analysis: ModuleType
    ir_builder: ModuleType
    schedule: ModuleType
    stmt_functor: ModuleType

_SCHEDULES = ("BlockRV", "ExprRV", "LoopRV", "Schedule", "ScheduleError", "ScheduleState", "TensorIntrin")

provide(
    __name__,
    {
        "analysis": {
            "transforms.tir.analysis": """
                BufferRegion assert_pure_function calculate_allocated_bytes calculate_workspace_bytes
                detect_buffer_access_lca estimate_tir_flops expr_deep_equal find_anchor_block get_block_access_region
                get_block_read_write_region is_pure_function undefined_vars verify_memory verify_well_formed
            """
        },
        "ir_builder": {"handles.tir.ir_builder": "BufferVar IRBuilder create"},
        "schedule": {
            "dialects.sched": "Instruction InstructionKind",
            "schedule.schedule": "Schedule",
            "schedule.state": "ScheduleError ScheduleState=State",
            "schedule.tensor_intrin": "TensorIntrin",
            "schedule.trace": "BlockRV ExprRV LoopRV StmtSRef Trace",
        },
        "stmt_functor": {"handles.tir.functor": "ir_transform post_order_visit pre_order_visit substitute"},
    },
)


def __getattr__(name: str) -> Any:
    """Schedules, loaded when first used; intrinsics, `tir.exp`, are those of tensor expressions."""
    if name in _SCHEDULES:
        return getattr(globals()["schedule"], name)
    if name == "transform":
        return import_module(".transform", __name__)
    if name == "build":
        return getattr(import_module("..compilation", __name__), name)
    if name.startswith("_") or name not in _te.__all__:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(_te, name)


__all__ = [
    "Add", "Allocate", "AllocateConst", "And", "AssertStmt", "AttrStmt", "BijectiveLayout", "Block", "BlockRV",
    "BlockRealize", "Broadcast", "Buffer", "BufferLoad", "BufferRegion", "BufferStore", "Call", "Cast",
    "DeclBuffer", "Div", "EQ", "Evaluate", "ExprRV", "FloatImm", "FloorDiv", "FloorMod", "For", "ForKind", "GE",
    "GT", "IfThenElse", "IndexMap", "IntImm", "IterVar", "LE", "LT", "Layout", "Let", "LetStmt", "LoopRV",
    "MatchBufferRegion", "Max", "Min", "Mod", "Mul", "NE", "Not", "Or", "PrimExpr", "PrimFunc", "Ramp",
    "Schedule", "ScheduleError", "ScheduleState", "Select", "SeqStmt", "Shuffle", "SizeVar", "Stmt",
    "StringImm", "Sub", "TensorIntrin", "Var", "While", "add", "address_of", "analysis", "assume",
    "bijective_layout", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "call_extern", "call_intrin",
    "call_llvm_intrin", "call_llvm_pure_intrin", "call_packed", "call_pure_extern", "ceildiv", "clz", "const",
    "convert", "copysign", "decl_buffer", "exp10", "exp2", "handle_add_byte_offset", "hypot",
    "ignore_loop_partition", "ir_builder", "isnullptr", "layout", "ldexp", "likely", "log1p", "logical_and",
    "logical_not", "logical_or", "multiply", "nextafter", "pow", "q_multiply_shift",
    "q_multiply_shift_per_axis", "reinterpret", "schedule", "shift_left", "shift_right", "stmt_functor",
    "stmt_list", "stmt_seq", "subtract", "transform", "tvm_access_ptr", "type_annotation", "undef",
    "vectorcombine", "vectorhigh", "vectorlow",
]  # fmt: skip
