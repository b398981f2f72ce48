"""Schedules, and the pass `apply-schedule`, which applies those in a module.

A `Schedule` is a module with the trace of applied steps; the primitives are its methods.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ..diagnostics import TiraxError, unknown_name
from ..dialects import tir
from ..dialects.quick import clone
from ..dialects.sched import Instruction, SequenceOp
from ..handles.module import IRModule, set_name_in_module
from ..handles.relax.expr import GlobalVar
from ..handles.tir.block_views import BlockRealize
from ..handles.tir.prim_expr import PrimExpr
from ..handles.tir.prim_func import PrimFunc
from ..handles.tir.stmt import stmt_of
from ..ir.passes.transform import Pass
from ..ir.verification.verify import verify_module
from . import primitives as _primitives
from .block_scope import ScheduleState
from .random import Random
from .registry import PRIMITIVES, Primitive, find_primitive, require_kinds
from .rewrite import lift_root
from .state import ScheduleError, State, UnknownHandleError, function_of
from .trace import RV, BlockRV, ExprRV, Location, LoopRV, StmtSRef, Trace, handle_on, map_leaves, mapped

if TYPE_CHECKING:
    from ..proof.steps import Proofs
    from ._steps import Steps  # pyright: ignore[reportMissingModuleSource]
else:
    Steps = object

Target = Operation | int | Location
"""The value that a handle denotes."""

LEVELS = ("detail", "fast", "none")


class Schedule(Steps):
    """A module that is transformed step by step.

    `mod` is a module or one tensor function (which becomes `main` of a module); it is copied. `seed` makes sampling
    reproducible. `debug_mask="all"` verifies the full module after each step. `error_render_level`: `detail` shows
    the IR in errors, `fast` the message with the expected and the actual value, `none` only the violated rule.
    Without `restore`, which is faster, a failed step leaves the module partially changed; this is for searches that
    discard such schedules. With `validate="proof"`, each step is proved to keep what the functions compute: `proofs`
    has the findings, and a step that is wrong raises `MeaningError` with the counterexample. The module must only be
    changed by steps, as other changes may be lost if a step fails.
    """

    def __init__(
        self,
        mod: Any,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
        restore: bool = True,
        validate: str | None = None,
    ):
        if error_render_level not in LEVELS:
            raise unknown_name("error_render_level", error_render_level, LEVELS)
        self._state = State(_module(mod), Random(seed))
        self._trace = Trace()
        self._values: dict[SSAValue, Target] = {}
        self._own: dict[SSAValue, SSAValue] = {}
        """Values of the traces that this one is a copy of -> values of this trace."""
        self._check = debug_mask in ("all", -1, 1, 3)
        self._level = error_render_level
        self._restore = restore
        self._checkpoint: Checkpoint | None = None
        self.proofs: Proofs | None = _proofs(validate)
        """What was proved of each step."""

    def get_sblock(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return `get_block`, under TVM's name since 0.22."""
        return self.get_block(name, func_name)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return a primitive of a plug-in.

            `_load_primitives` defines the others as methods, declared in `_steps.pyi`.
            """
            primitive = None if name.startswith("_") else find_primitive(name)
            if primitive is None:
                raise AttributeError(f"a schedule has no '{name}'", name=name, obj=self)
            setattr(Schedule, name, _method(primitive))
            return getattr(self, name)

    @classmethod
    def on(cls, module: ModuleOp, **options: Any) -> Schedule:
        """Return a schedule that changes `module` in place; options are those of the class."""
        out = cls(ModuleOp([]), **options)
        out._state.module = module
        return out

    @property
    def mod(self) -> IRModule:
        """The module in its current state."""
        return IRModule(self._state.module)

    @property
    def state(self) -> ScheduleState:
        """The module with queries about its blocks."""
        return ScheduleState(self.mod)

    def function(self, name: str | None = None) -> tir.FuncOp:
        """Return the tensor function `name`; by default the one worked on, `main`, or the only one."""
        return self._state.function(name)

    @property
    def trace(self) -> Trace:
        """The trace of the steps so far."""
        return self._trace

    @property
    def func_working_on(self) -> GlobalVar | None:
        """The function in which block names are looked up; None if none was named."""
        return self.mod.get_global_var(self._state.working_on) if self._state.working_on else None

    def work_on(self, func_name: str) -> None:
        """Look up block names in the function `func_name`. Raises `NameLookupError` if there is none."""
        self._state.function(func_name)
        self._state.working_on = func_name

    def seed(self, seed: int) -> None:
        """Reset the random number generator."""
        self._state.random = Random(seed)

    def fork_seed(self) -> int:
        """Return a seed for another schedule."""
        return self._state.random.fork()

    def copy(self) -> Schedule:
        """Return an independent schedule in the same state; handles are valid for both."""
        out = Schedule(self._state.module, error_render_level=self._level, restore=self._restore)
        out._check = self._check
        out.proofs = None if self.proofs is None else replace(self.proofs, steps=[*self.proofs.steps])
        out._state.working_on = self._state.working_on
        out._state.random = Random(self._state.random.fork())
        twins = dict(zip(self._state.module.walk(), out._state.module.walk(), strict=True))
        out._trace = self._trace.copy()
        for mine, theirs in zip(self._trace.insts, out._trace.insts, strict=True):
            for a, b in zip(mine.outputs, theirs.outputs, strict=True):
                if a in self._values:
                    target = self._values[a]
                    out._values[b] = twins.get(target, target) if isinstance(target, Operation) else target
                out._own[a] = b
        out._own.update({a: out._own[b] for a, b in self._own.items()})
        return out

    def get(self, rand_var_or_sref: RV | StmtSRef) -> Any:
        """Return the current value of a handle: a `Block`, a `For`, or the sampled integer.

        Raises `ScheduleError` if it no longer exists.
        """
        target_op = self.operation(rand_var_or_sref)
        if not isinstance(target_op, Operation):
            return target_op
        stmt = stmt_of(target_op)
        return stmt.block if isinstance(stmt, BlockRealize) else stmt

    def operation(self, rv: RV | StmtSRef) -> Any:
        """Return the value of a handle as `get`, but for a block or loop its operation."""
        return rv.op if isinstance(rv, StmtSRef) else self._target(rv)

    def get_sref(self, rand_var_or_stmt: RV) -> StmtSRef:
        """Return a reference to a block or loop. Raises `TiraxError` if the handle denotes neither."""
        target = self._target(rand_var_or_stmt)
        if not isinstance(target, Operation):
            raise TiraxError(f"{rand_var_or_stmt!r} is neither a block nor a loop", found=target)
        return StmtSRef(target)

    def remove_rv(self, rand_var: RV) -> None:
        """Drop a handle."""
        self._values.pop(self._own.get(rand_var.ssa, rand_var.ssa), None)

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the module and the trace."""
        print(self.mod.script())
        print(self.trace)

    # steps

    def step(self, name: str, arguments: dict[str, Any], decision: Any = None) -> list[RV]:
        """Run the primitive `name` with named arguments and return handles to its outputs.

        The step is one instruction.
        """
        primitive = find_primitive(name)
        if primitive is None:
            raise unknown_name("primitive", name, PRIMITIVES)
        targets = self._targets(primitive, arguments)
        if primitive.spec.only_names or not self._restore:
            outputs, decision = self._proved(primitive, targets, decision)
        else:
            outputs, decision = self._guarded(primitive, targets, decision)
        recorded = {k: self._recorded(v) for k, v in arguments.items()}
        inst = self._trace.record(name, recorded, len(outputs), decision)
        self._values.update(zip(inst.outputs, outputs, strict=True))
        if self._checkpoint is not None:
            self._checkpoint.steps.append(inst)
        return [handle_on(o) for o in inst.outputs]

    def _guarded(self, primitive: Primitive, targets: dict[str, Any], decision: Any) -> tuple[list[Any], Any]:
        """Run a primitive; if it fails, restore the previous state."""
        if self._checkpoint is None or not self._checkpoint.serves(targets):
            self._checkpoint = Checkpoint(targets, self._values)
        try:
            return self._proved(primitive, targets, decision)
        except Exception:
            self._state.replaced.clear()
            self._restore_state(self._checkpoint)
            raise

    def _proved(self, primitive: Primitive, targets: dict[str, Any], decision: Any) -> tuple[list[Any], Any]:
        """Run a primitive and, if steps are validated, prove that it changes nothing that the functions compute."""
        if self.proofs is None or primitive.spec.only_names:
            return self._run(primitive, targets, decision)
        before = clone(self._state.module)
        results = self._run(primitive, targets, decision)
        self.proofs.check(before, self._state.module, f"step {len(self._trace.insts) + 1}, '{primitive.spec.name}',")
        return results

    def _restore_state(self, checkpoint: Checkpoint) -> None:
        """Restore the state after the last step: restore the checkpoint, and replay the steps since then."""
        random = self._state.random.state
        self._checkpoint = None
        self._values.update(checkpoint.restore())
        for inst in checkpoint.steps:
            args = {k: mapped(v, self._values) for k, v in inst.args.items()}
            outputs, _ = self._perform(PRIMITIVES[inst.SPEC.name], args, inst.decision)
            self._values.update(zip(inst.outputs, outputs, strict=True))
        self._state.random.state = random

    def _follow(self, replaced: dict[Operation, Operation]) -> None:
        """Redirect handles of replaced operations to their successors."""
        if replaced:
            for value, target in self._values.items():
                if isinstance(target, Operation) and target in replaced:
                    self._values[value] = replaced[target]
            replaced.clear()

    def _run(self, primitive: Primitive, targets: dict[str, Any], decision: Any) -> tuple[list[Any], Any]:
        """Return the outputs and the decision of a primitive. If it fails, the error shows the IR."""
        try:
            results = self._perform(primitive, targets, decision)
        except ScheduleError as error:
            raise error.rendered(primitive.spec.name, self._level) from error
        if self._check and not primitive.spec.only_names:
            verify_module(self._state.module)
        return results

    def _perform(self, primitive: Primitive, targets: dict[str, Any], decision: Any) -> tuple[list[Any], Any]:
        spec = primitive.spec
        options = {"decision": decision} if spec.samples else {}
        results = primitive.function(self._state, **targets, **options)
        if spec.samples:
            results, decision = results
        if not spec.only_names:
            for func in _functions(targets):
                lift_root(self._state, cast(tir.FuncOp, func))
        self._follow(self._state.replaced)
        return [] if results is None else list(results) if spec.result.many else [results], decision

    def _targets(self, primitive: Primitive, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the values that the arguments denote. Raises `ScheduleError` if the primitive does not accept them."""
        targets = {k: self._resolved(v) for k, v in arguments.items()}
        try:
            require_kinds(primitive.kinds, targets)
        except ScheduleError as error:
            raise error.rendered(primitive.spec.name, self._level) from error
        return targets

    def _resolved(self, value: Any) -> Any:
        return map_leaves(value, lambda v: self._target(v) if isinstance(v, RV) else v)

    def _recorded(self, value: Any) -> Any:
        return map_leaves(value, lambda v: self._own.get(v.ssa, v.ssa) if isinstance(v, RV) else v)

    def _target(self, rv: RV) -> Target:
        target = self._values.get(self._own.get(rv.ssa, rv.ssa))
        if target is None:
            raise UnknownHandleError(f"{rv!r} is of another schedule", expected="a handle that this schedule gave")
        if isinstance(target, Operation) and not self._state.is_alive(target):
            hint = "take the handles that the step which replaced it gave"
            raise ScheduleError(f"{rv!r} is no more: a later step replaced it", hint=hint)
        return target

    def __repr__(self) -> str:
        return f"Schedule(\n{self.mod.script()}\n)"


def _proofs(validate: str | None) -> Proofs | None:
    if validate is None:
        return None
    from ..proof.steps import Proofs, require_validation

    require_validation(validate)
    return Proofs()


def _module(mod: Any) -> ModuleOp:
    """Return a copy of the module to schedule."""
    if isinstance(mod, IRModule):
        mod = mod.op
    if isinstance(mod, PrimFunc):
        mod = mod.op
    if isinstance(mod, tir.FuncOp):
        func = clone(mod)
        set_name_in_module(func, "main")
        func.properties.pop("sym_visibility", None)
        return ModuleOp([func])
    if not isinstance(mod, ModuleOp):
        raise TiraxError("what is scheduled is a module or a tensor function", found=type(mod).__name__)
    return clone(mod)


def _method(primitive: Primitive) -> Any:
    spec = primitive.spec
    follow = primitive.follow

    def method(self: Schedule, *args: Any, **kwargs: Any) -> Any:
        bound = _bound(self, primitive, args, kwargs)
        arguments = _adapted(self, primitive, bound)
        decision = arguments.pop("decision", None)
        more = follow(self, bound) if follow is not None else None
        outputs = self.step(spec.name, arguments, decision)
        if more is not None:
            more()
        if spec.result.many:
            return outputs
        return outputs[0] if outputs else None

    method.__name__ = method.__qualname__ = spec.name
    method.__doc__ = primitive.function.__doc__
    method.__signature__ = primitive.shown  # pyright: ignore[reportFunctionMemberAccess]
    return method


def _bound(self: Schedule, primitive: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, with the primitive's defaults."""
    spec = primitive.spec
    if spec.spread and spec.inputs == ("loops",):
        kwargs = {"loops": [*args, *kwargs.pop("loops", ())], **kwargs}
        args = ()
    try:
        bound = primitive.signature.bind(self, *args, **kwargs)
    except TypeError as error:
        raise TiraxError(f"{spec.name}: {error}", expected=str(primitive.shown)) from error
    bound.apply_defaults()
    arguments = {k: map_leaves(v, _number) if k in _NUMBERS else v for k, v in bound.arguments.items()}
    del arguments["self"]
    for name in _BLOCKS & arguments.keys():
        arguments[name] = map_leaves(arguments[name], lambda v: self.get_block(v) if isinstance(v, str) else v)
    if "storage_scope" in arguments:
        _check_scope(self, spec.name, arguments["storage_scope"])
    return arguments


_BLOCKS = frozenset({"block", "scope_block", "consumer_blocks"})
"""Arguments that are blocks, or lists of them, for which names are accepted."""
_SCOPES = ("global", "shared", "warp", "local", "wmma.", "texture", "amx.tmm", "m16n8k8.")
"""What the names of memories begin with."""


def _check_scope(self: Schedule, step: str, scope: Any) -> None:
    """Raise `ScheduleError` for a memory that does not exist."""
    if isinstance(scope, str) and scope and not scope.startswith(_SCOPES):
        error = ScheduleError("the input storage scope is invalid", expected=", ".join(_SCOPES), found=scope)
        raise error.rendered(step, self._level)


_NUMBERS = frozenset(
    {"factors", "factor", "offset", "axis", "factor_axis", "buffer_index", "n", "max_innermost_factor"}
)
"""Arguments that are numbers, for which constant expressions are accepted."""


def _number(value: Any) -> Any:
    known = value.constant if isinstance(value, PrimExpr) else None
    return value if known is None else known


def _adapted(self: Schedule, primitive: Primitive, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call in the form in which they are recorded."""
    if primitive.adapt is None:
        return dict(arguments)
    self._targets(primitive, arguments)
    try:
        return primitive.adapt(self, arguments)
    except ScheduleError as error:
        raise error.rendered(primitive.spec.name, self._level) from error


def _load_primitives() -> None:
    """Import the families of primitives, and define each primitive as a method."""
    for info in pkgutil.iter_modules(_primitives.__path__):
        importlib.import_module(f"{_primitives.__name__}.{info.name}")
    for name, primitive in PRIMITIVES.items():
        setattr(Schedule, name, _method(primitive))


_load_primitives()

__all__ = ["RV", "BlockRV", "ExprRV", "LoopRV", "Schedule"]


_MOST_STEPS = 32
"""The number of steps after which a new copy is taken, so that replaying them stays fast."""


class Checkpoint:
    """The state that a schedule keeps to undo a failed step.

    A function is copied before the first step on it. If a step fails, the copy takes its place and the steps in
    between are replayed, so that successful steps, which are the majority, have no cost.
    """

    def __init__(self, targets: Mapping[str, Any], values: Mapping[SSAValue, Any]):
        self.funcs = _functions(targets)
        self.steps: list[Instruction] = []
        self._before = [list(f.walk()) for f in self.funcs]
        self._copies = [clone(f) for f in self.funcs]
        self._values = dict(values)

    def serves(self, targets: Mapping[str, Any]) -> bool:
        """Return whether everything that a step changes is covered by this checkpoint."""
        return len(self.steps) < _MOST_STEPS and all(f in self.funcs for f in _functions(targets))

    def restore(self) -> dict[SSAValue, Any]:
        """Put the copies in place of the functions, and return the values of handles.

        The checkpoint cannot be reused.
        """
        twins: dict[Operation, Operation] = {}
        for func, before, copy in zip(self.funcs, self._before, self._copies, strict=True):
            twins.update(zip(before, copy.walk(), strict=True))
            block = func.parent
            assert block is not None
            block.insert_op_before(copy, func)
            func.detach()
        return {k: twins.get(v, v) if isinstance(v, Operation) else v for k, v in self._values.items()}


def _functions(targets: Mapping[str, Any]) -> list[Operation]:
    """Return the functions that contain the arguments of a step."""
    operations: list[Operation] = []
    map_leaves(dict(targets), lambda v: operations.append(v) if isinstance(v, Operation) else None)
    return list(dict.fromkeys(f for op in operations if (f := function_of(op)) is not None))


@dataclass(frozen=True)
class ApplySchedule(Pass):
    """Apply every `sched.sequence` of the module to its tensor functions, in order, and remove it.

    Sequences with a function name, `sched.sequence @f`, contain rules, and are left to `default-schedule`. Sampling
    without a decision uses `seed`. Raises `ScheduleError` if a step fails.
    """

    name = "apply-schedule"
    seed: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        sequences = [s for s in op.body.block.ops if isinstance(s, SequenceOp) and s.function is None]
        for sequence in sequences:
            sequence.detach()
        schedule = Schedule.on(op, seed=self.seed)
        for sequence in sequences:
            Trace(sequence).apply_to_schedule(schedule)
