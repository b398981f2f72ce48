"""Names of TVM 0.19 and 0.20 that are not here, in modules that are: why, and what to use instead.

Asking for one is an `AttributeError` that says so.
"""

from __future__ import annotations

_OLD_TYPES = "the type system before struct info: a value has struct info only, which says more"
_BYTECODE = "there is no bytecode: functions are compiled to machine code"
_DEVICES = "code is generated for one CPU"
_CPP = "a matter of TVM's C++ objects; the IR is xDSL's here"
_RULE = "a plug-in says such things in the class of an operator (docs/extending)"
_PLACES = "operations know their places (docs/diagnostics.md)"
_CHECKPOINT = "checkpoints are an option of the pass that makes gradients"

_TE_SCHEDULE = "of TVM's tensor expressions before create_prim_func: here a tensor is no node of a tensor function"
_SREF = (
    "a schedule's handles point at operations: Schedule.get_child_blocks, get_producers, get_consumers tell the rest"
)

REFUSED_NAMES: dict[str, dict[str, str]] = {
    "arith": {
        "PresburgerSet": "sets are intervals of expressions: IntervalSet",
        "detect_common_subexpr": "common subexpressions are a pass: CommonSubexprElimTIR",
        "solve_linear_inequalities": "deduce_bound and detect_clip_bound solve them for one variable",
    },
    "tir": {
        **dict.fromkeys(("DataProducer", "BufferRealize"), _TE_SCHEDULE),
        "BlockDependenceInfo": _SREF,
        "trace": "a value of a tensor function is printed by call_packed of a function that prints it",
        **dict.fromkeys(("get_vscale_expr", "get_active_lane_mask"), "vectors have known lengths"),
        **dict.fromkeys(("get_tir_pipeline", "get_default_tir_pipeline"), "relax.get_pipeline names all pipelines"),
        "CallEffectKind": _CPP,
        "ret": "a result is a statement: T.ret in a script",
    },
    "relax": {
        **dict.fromkeys(("ExecBuilder", "VMInstrumentReturnKind"), _BYTECODE),
        "DummyGlobalInfo": "a module has attributes in the place of global infos",
        "Span": _PLACES,
    },
    "relax.expr": {
        "Span": _PLACES,
        "TEPlaceholderOp": _CPP,
        "make_shape": "ShapeExpr makes one",
        "te_tensor": "BlockBuilder.call_te turns Relax values into tensors",
    },
    "relax.testing.nn": dict.fromkeys(
        ("checkpoint", "emit_checkpoint", "emit_checkpoint_sequential", "start_checkpoint", "end_checkpoint"),
        _CHECKPOINT,
    ),
    "relax.testing.vm": {"get_device_id": _DEVICES},
    "ir": {
        "TypeConstraint": _OLD_TYPES,
        **dict.fromkeys(("CallingConv", "Node", "make_node"), _CPP),
        **dict.fromkeys(("SequentialSpan", "SourceName", "Span"), _PLACES),
        "register_intrin_lowering": _RULE,
        "DummyGlobalInfo": "a module has attributes in the place of global infos",
        "GlobalInfo": "a module has attributes in the place of global infos",
    },
    "testing": {
        **dict.fromkeys(("exclude_targets", "known_failing_targets"), "there is one kind of target to test"),
        **dict.fromkeys(
            ("is_ampere_or_newer", "requires_nvcc_version", "requires_rpc", "uses_gpu", "skip_if_wheel_test"), _DEVICES
        ),
        "check_bool_expr_is_true": "dialects.sym.analyzer proves such things",
        "check_int_constraints_trans_consistency": "of TVM's solver of constraints",
    },
}
"""By module and name: why it is left out, and what to use instead."""
