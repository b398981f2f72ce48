"""The options of `PassContext(config={…})`: one table, with TVM's names and our own.

TVM options that have no effect here (another device, another lowering) are accepted and ignored, because programs for
TVM set them. An option in no table is an error, raised when the context is created. A plug-in whose passes read
options adds them: `OPTIONS["mine.depth"] = int`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...diagnostics import TiraxError, suggestion

PREFIX = "tirax.limit."


@dataclass(frozen=True)
class Limit:
    """A limit: its default value, and what it bounds."""

    default: int
    bounds: str


LIMITS = {
    "fold.bytes": Limit(1 << 28, "bytes of a constant that folding makes of smaller ones; above it the call stays"),
    "fold.operations": Limit(1 << 32, "multiplications of a product that is folded; above it the call stays"),
    "fold.iterations": Limit(1 << 16, "iterations of a tensor function that is folded; above it the call stays"),
    "check.iterations": Limit(1 << 24, "iterations of a function that is compared; above it, it is passed over"),
    "unroll.statements": Limit(1 << 16, "statements that an unrolled loop is written out as, in all"),
    "vector.lanes": Limit(1 << 12, "lanes of a vector"),
    "fuse.functions": Limit(32, "elementary functions (exp, tanh, …) of the operators that become one function"),
    "inline.size": Limit(1 << 10, "operations of an expression that values are inlined into; above it they are stored"),
    "sym.terms": Limit(1 << 12, "terms of a product of sizes or indices, which is multiplied out"),
    "sym.size": Limit(1 << 14, "parts of a result of an index map, written out"),
    "egraph.iterations": Limit(16, "how often equality saturation tries all rules; above it the best so far counts"),
    "egraph.nodes": Limit(1000, "expressions that equality saturation adds to a block's own; above it likewise"),
    "interpret.depth": Limit(1 << 16, "calls, branches and loops inside of each other that the interpreter runs"),
    "import.nodes": Limit(1 << 17, "nodes that calls of a model's functions are expanded to, in all"),
    "import.bytes": Limit(1 << 31, "bytes of the functions of a model, counted once for each call"),
    "parse.depth": Limit(400, "parentheses, calls and operators inside of each other in an expression of TVMScript"),
    "parse.bits": Limit(4096, "bits of an integer that Python's operators compute in a script"),
    "parse.length": Limit(4096, "elements of a sequence that Python's operators compute in a script"),
    "parse.macros": Limit(4096, "calls of macros in a function of a script, those of macros in them counted"),
    "parse.aliases": Limit(1 << 16, "attributes and types in an alias of MLIR text, with those of the aliases in it"),
    "parse.elements": Limit(1 << 24, "elements of a constant of MLIR text that has one number for all of them"),
}
"""The limits by name."""

_READ: dict[str, type] = {
    **{PREFIX + name: int for name in LIMITS},
    "tirax.allow_extern": list,
    "tirax.sanitize": str,
    "relax.FuseOps.max_depth": int,
    "relax.lift_transform_params.consume_params": bool,
    "tir.enable_buffer_level_predication": bool,
    **dict.fromkeys(
        (
            "tir.HoistExpression",
            "tir.HoistIfThenElse",
            "tir.LoopPartition",
            "tir.ReduceBranchingThroughOvercompute",
            "tir.RemoveNoOp",
            "tir.Simplify",
        ),
        dict,
    ),
    "tir.UnrollLoop": dict,
}
_FLAGS_OF_TVM = """
    relax.backend.use_cuda_graph relay.FuseOps.link_params relay.ToMixedPrecision.keep_orig_output_dtype
    relay.backend.disable_memory_plan relay.backend.use_auto_scheduler relay.backend.use_meta_schedule
    relay.backend.use_meta_schedule_dispatch relay.remove_standalone_reshapes.enable te.keep_schedule_record
    tir.debug_keep_trivial_loop tir.detect_global_barrier tir.disable_assert tir.disable_cse_tir
    tir.disable_storage_rewrite tir.disable_vectorize tir.dma_bypass_cache tir.enable_debug
    tir.enable_equiv_terms_in_cse_tir tir.experimental_dma_bypass_cache tir.instrument_bound_checkers
    tir.instrument_lwp tir.instr_siblings tir.is_entry_func tir.lwp_disable_func_prof tir.merge_static_smem
    tir.noalias tir.ptx_ldg32 tir.reset_start_id tir.use_async_copy tir.usmp.enable tir.usmp.use_workspace_io
"""
_NUMBERS_OF_TVM = """
    relax.fallback_device_type relay.FuseOps.max_depth relay.fallback_device_type tir.lwp_max_depth tir.lwp_min_height
    tir.vtcm_capacity
"""
_TEXTS_OF_TVM = "relay.backend.tir_converter tir.usmp.algorithm tir.usmp.custom_algorithm"
_MAPPINGS_OF_TVM = """
    tir.InjectDoubleBuffer tir.InjectSoftwarePipeline
"""
OPTIONS: dict[str, type] = {
    **_READ,
    **dict.fromkeys(_FLAGS_OF_TVM.split(), bool),
    **dict.fromkeys(_NUMBERS_OF_TVM.split(), int),
    **dict.fromkeys(_TEXTS_OF_TVM.split(), str),
    **dict.fromkeys(_MAPPINGS_OF_TVM.split(), dict),
    "tir.add_lower_pass": list,
}
"""The type of each option, by name."""
_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ("True or False", (bool,)),
    int: ("an integer", (int,)),
    str: ("a string", (str,)),
    list: ("a list", (list, tuple, set, frozenset)),
    dict: ("a mapping of names to values", (Mapping,)),
}
"""The description and the accepted Python types of each option type."""


class UnknownOptionError(TiraxError, AttributeError, ValueError):
    """An unknown option of a context (in TVM an `AttributeError`)."""


class OptionTypeError(TiraxError, AttributeError, TypeError):
    """An option's value has the wrong type (in TVM an `AttributeError`)."""


_FIELDS: dict[str, dict[str, Any]] = {
    "tir.InjectDoubleBuffer": {"split_loop": 1},
    "tir.UnrollLoop": {
        "auto_max_step": 0,
        "auto_max_depth": 8,
        "auto_max_extent": 0,
        "explicit_unroll": True,
        "unroll_local_access": False,
    },
}
"""The fields of options that are mappings, with their defaults; those of others are checked by the pass."""


class Fields(dict[str, Any]):
    """The value of an option that is a mapping: `config["tir.UnrollLoop"].auto_max_step`, also what was left out."""

    def __init__(self, name: str, values: Mapping[str, Any]):
        super().__init__(values)
        self._defaults = _FIELDS.get(name, {})
        for field in values if self._defaults else ():
            if field not in self._defaults:
                raise UnknownOptionError(f"{name} has no option '{field}'", expected=", ".join(self._defaults))

    def __getattr__(self, name: str) -> Any:
        known = {**self.__dict__.get("_defaults", {}), **self}
        if name not in known:
            raise AttributeError(f"no option '{name}'")
        return known[name]


def with_fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return checked options; mappings have their fields as attributes. Raises as `check_config`."""
    check_config(config)
    return {name: Fields(name, value) if OPTIONS[name] is dict else value for name, value in config.items()}


def check_config(config: Mapping[str, Any]) -> None:
    """Raise `UnknownOptionError` for an unknown option, and `OptionTypeError` for a value of the wrong type."""
    for name, value in config.items():
        if name not in OPTIONS:
            hint = suggestion(str(name), OPTIONS) or f"known: {', '.join(sorted(_READ))}"
            raise UnknownOptionError(f"Invalid config option '{name}': no pass has it", hint=hint)
        words, types = _KINDS[OPTIONS[name]]
        number = getattr(value, "value", value)  # an `IntImm` of TVM's API
        fits = isinstance(number, types) and (OPTIONS[name] is not int or not isinstance(number, bool))
        is_flag = OPTIONS[name] is bool and type(number) is int and number in (0, 1)
        if not fits and not is_flag:
            raise OptionTypeError(
                f"the config option '{name}' has a value of another type", expected=words, found=repr(value)
            )
