"""`tvm.relax.transform`: passes on Relax programs, loaded on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any
from warnings import warn

from ...diagnostics import unknown_name
from ...handles.passes import Pass, PythonPass, dataflowblock_pass, function_pass, module_pass
from ...ir.passes.transform import Sequential
from ...universe import pass_classes
from .._names import is_refused, no_attribute, provide

DataflowBlockPass = FunctionPass = PythonPass

_OWN = frozenset(
    (
        "ApplyDplPatterns", "AttachVariableBounds", "ChannelsLast", "FuseAttention", "InterleaveBlocks", "LiftClosures",
        "PackConvolutions", "PackWeights", "QuantizeWeights", "QuantizedToInteger", "Requantize", "SimplifyInference",
        "SinkLoopConstants", "SinkReshape", "SplitProducts", "TabulateBytes", "UnsignedActivations",
    )
)  # fmt: skip
"""Passes that TVM does not have."""
_PASSES = {
    **{name: module for name, module in pass_classes(of_tir=False).items() if name not in {*_OWN, "LegalizeOps"}},
    "CanonicalizeBindings": "tvm_api.passes.bindings.canonicalize_bindings",
    "FuseOpsByPattern": "transforms.codegen.fuse_ops_by_pattern",
    "FusionPattern": "transforms.codegen.fusion_pattern",
    "PatternCheckContext": "transforms.codegen.fusion_pattern",
    "RealizeVDevice": "tvm_api.passes.memory.realize_vdevice",
    "RunCodegen": "transforms.codegen.run_codegen",
    "SimplifyOutsideOfDataflow": "tvm_api.passes.bindings.simplify",
    "SimplifyPublicFunctions": "tvm_api.passes.bindings.simplify",
    "SplitCallTIRByPattern": "tvm_api.passes.fusion.split_call_tir_by_pattern",
    "UpdateVDevice": "tvm_api.passes.memory.update_vdevice",
    "UpdateParamStructInfo": "tvm_api.passes.functions.update_param_struct_info",
}
_OPTIONS: dict[str, dict[str, Any]] = {
    "AdjustMatmulOrder": {"batches": False},
    "CombineParallelMatmul": {"mixed_batches": False},
    "FoldConstant": {"outside": False},
    "RewriteDataflowReshape": {"outputs": False},
}
"""Options set under TVM's pass names to reproduce TVM's results."""
_TUNING = frozenset({"MetaScheduleApplyDatabase", "MetaScheduleTuneIRMod", "MetaScheduleTuneTIR"})

provide(__name__, {"transform": {"tvm_api.relax.transform": "*"}})
provide(
    f"{__package__}.transform",
    {
        "legalize_ops": {},
        "legalize_ops.common": {
            "transforms.legalize.on_handles": "LegalizeFunc=Legalize has_known_shape_value register_legalize",
        },
    },
)


def LegalizeOps(  # noqa: N802 (a pass by TVM's name)
    customize_legalize_map: Mapping[str, Any] | None = None,
    enable_warning: bool = False,
    skip_ops: Sequence[str] | None = None,
) -> Pass:
    """Return the pass that legalizes Relax operators to calls of tensor functions.

    `customize_legalize_map` contains rules by operator, `(builder, call) -> expression`, that take precedence.
    Operators in `skip_ops` remain, and views, which `LowerRuntimeBuiltin` lowers; `enable_warning` warns of operators
    without a rule.
    """
    legalize = import_module("..legalization", __package__)
    rule_on_handles = import_module("...transforms.legalize.on_handles", __package__).rule_on_handles
    rules = {name: rule_on_handles(rule) for name, rule in (customize_legalize_map or {}).items()}
    skipped = ("relax.memory.view", *(skip_ops or ()))
    return legalize.LegalizeOps(rules or None, skipped, enable_warning, tvm_forms=True)


def VMBuiltinLower() -> Pass:  # noqa: N802 (a pass by TVM's name)
    """Return `LowerRuntimeBuiltin()`, with a warning: this is its old name."""
    warn("relax.transform.VMBuiltinLower has the name LowerRuntimeBuiltin", DeprecationWarning, stacklevel=2)
    return __getattr__("LowerRuntimeBuiltin")()


def ConvertToDataflow(min_size: int = 2) -> Pass:  # noqa: N802 (a pass by TVM's name)
    """Return the pass that gathers at least `min_size` pure bindings in dataflow blocks, with canonical bindings."""
    convert = import_module("...transforms.bindings.convert_to_dataflow", __package__).ConvertToDataflow(min_size)
    return Sequential([convert, __getattr__("CanonicalizeBindings")()])


_OUTSIDE = (
    "AdjustMatmulOrder",
    "ExpandMatmulOfSum",
    "RemoveRedundantReshape",
    "ReorderPermuteDimsAfterConcat",
    "ReorderTakeAfterMatmul",
)
"""Passes that simplify bindings outside of dataflow blocks whether or not they rewrite anything, as in TVM."""
_THEN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("AttachAttrLayoutFreeBuffers", "SplitLayoutRewritePreproc"), ("DeadCodeElimination",)),
    **dict.fromkeys(("ExpandTupleArguments", "RemoveUnusedOutputs"), ("CanonicalizeBindings", "DeadCodeElimination")),
    **dict.fromkeys(_OUTSIDE, ("SimplifyOutsideOfDataflow",)),
    "LazyGetInput": ("SimplifyPublicFunctions",),
}
"""The passes that are a part of a pass in TVM."""


_BEFORE = {"FuseTIR": ("ExpandTupleArguments", "RemoveUnusedParameters")}


def _with_others(name: str, cls: Any) -> Any:
    """Return the constructor of a pass that begins and ends with those of `_BEFORE` and `_THEN`."""

    def make(*args: Any, **kwargs: Any) -> Pass:
        before, after = ([__getattr__(each)() for each in table.get(name, ())] for table in (_BEFORE, _THEN))
        return Sequential([*before, cls(*args, **kwargs), *after], name=name)

    return make


def __getattr__(name: str) -> Any:
    if name in _TUNING:
        return getattr(import_module("...tuning.passes", __package__), name)
    if name not in _PASSES:
        reason = no_attribute(__name__, name)
        raise reason if is_refused(__name__, name) else AttributeError(str(unknown_name("pass", name, _PASSES)))
    cls = getattr(import_module(f"...{_PASSES[name]}", __package__), name)
    cls = partial(cls, **_OPTIONS[name]) if name in _OPTIONS else cls
    return _with_others(name, cls) if name in {*_THEN, *_BEFORE} else cls


def __dir__() -> list[str]:
    return sorted([*(name for name in _PASSES if not name.startswith("Simplify")), *_TUNING, *__all__])


__all__ = [
    "ConvertToDataflow", "DataflowBlockPass", "FunctionPass", "LegalizeOps", "VMBuiltinLower", "dataflowblock_pass",
    "function_pass", "module_pass",
]  # fmt: skip
