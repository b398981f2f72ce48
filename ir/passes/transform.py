"""Passes, sequences of them, and the context in which they run.

A pass is a frozen dataclass whose fields are its options, the same in Python (`FuseOps(fuse_opt_level=1)`), in text
(`-p fuse-ops{fuse_opt_level=1}`) and in a pipeline. `SomePass(...)(mod)` returns a new module, verified;
`.apply(ctx, op)` works in place. `mod` is an xDSL `ModuleOp` or a view with an `op` (an `IRModule`), and the result
has the same kind.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass

from ...diagnostics import TiraxError, UnsupportedError, unknown_name
from ...dialects.relax import Relax
from ...dialects.sym import Sym
from ...dialects.tir import Tir
from ..origins import cloned
from ..verification.verify import Verifier
from .options import with_fields


def new_context() -> Context:
    """Return an xDSL context with the builtin dialect and tirax's dialects, which are loaded on first use.

    Passes rarely need them, and relax has hundreds of operators.
    """
    ctx = Context()
    for dialect in (Builtin, Sym, Relax, Tir):
        ctx.register_dialect(dialect.name, partial(_itself, dialect))
    return ctx


def _itself(dialect: Dialect) -> Dialect:
    return dialect


@contextmanager
def no_gc() -> Iterator[None]:
    """Compile without the cyclic garbage collector: IR consists of cycles, none of which becomes garbage meanwhile.

    The collector only starts after enough allocations while it is on, which never happens in a process that only
    compiles: it is called explicitly, at a frequency that limits its share of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    start = time.perf_counter()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
            _collections.follow(time.perf_counter() - start)


class _Collections:
    """Scheduler of garbage collection: after 50 times the duration of the last collection."""

    def __init__(self) -> None:
        self.without, self.cost = 0.0, 0.1

    def follow(self, seconds: float) -> None:
        """Add the time that the collector was off."""
        self.without += seconds
        if self.without < 50 * self.cost or not gc.get_threshold()[0]:  # no threshold: the user has disabled collection
            return
        self.without, start = 0.0, time.perf_counter()
        gc.collect()
        self.cost = time.perf_counter() - start


_collections = _Collections()


@dataclass(frozen=True)
class PassInfo:
    """Information on a pass for instruments; its text uses TVM's name of the pass (`title`), if there is one."""

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    title: str = ""
    takes_ill_formed: bool = False

    def __str__(self) -> str:
        required = ", ".join(self.required)
        name = self.title or self.name
        return (
            f"The meta data of the pass - pass name: {name}, opt_level: {self.opt_level}, required passes: [{required}]"
        )

    def is_called(self, name: str) -> bool:
        """Return whether `name` is the pass's name, also in TVM's spelling: `LegalizeOps`, `relax.LegalizeOps`."""
        return name == self.name or _plain_name(name) == _plain_name(self.name)


def _plain_name(name: str) -> str:
    return name.rpartition(".")[2].replace("-", "").replace("_", "").lower()


class PassInstrument(Protocol):
    """The optional methods of an instrument."""

    def enter_pass_ctx(self) -> None: ...
    def exit_pass_ctx(self) -> None: ...
    def should_run(self, mod: Any, info: PassInfo) -> bool: ...
    def run_before_pass(self, mod: Any, info: PassInfo) -> None: ...
    def run_after_pass(self, mod: Any, info: PassInfo) -> None: ...


@dataclass
class PassContext:
    """Configuration of the passes that run inside `with PassContext(...)`.

    Sequences skip passes above `opt_level` and those named in `disabled_pass`; those in `required_pass` always run.
    `config` holds options that passes read (table in `options.py`); `verify=False` turns off verification after each
    pass. Raises `UnknownOptionError` for an unknown option and `OptionTypeError` for a value of the wrong type.

    The last four parameters belong to TVM's pass tuner, which is not supported: they are stored unchanged as long as
    they select nothing. Raises `UnsupportedError` otherwise.
    """

    opt_level: int = 2
    required_pass: Sequence[str] | None = None
    disabled_pass: Sequence[str] | None = None
    instruments: Sequence[Any] | None = None
    config: Mapping[str, Any] | None = None
    verify: bool = True
    trace_stack: Sequence[Any] | None = None
    make_traceable: Sequence[str] | None = None
    num_evals: int = 0
    tuning_api_database: Any = None
    _stack: ClassVar[threading.local] = threading.local()

    def __post_init__(self) -> None:
        for name in ("required_pass", "disabled_pass", "instruments", "trace_stack"):
            setattr(self, name, list(getattr(self, name) or ()))
        self.config = with_fields(self.config or {})
        chosen = [n for n in ("trace_stack", "make_traceable", "tuning_api_database") if getattr(self, n)]
        if chosen:
            hint = "tune tensor functions: tvm.meta_schedule"
            raise UnsupportedError(
                "passes are not tuned", expected=f"no {', '.join(chosen)}", found=chosen[0], hint=hint
            )

    def get_tuning_api_database(self) -> Any:
        """Return None: the pass tuner is not supported."""
        return self.tuning_api_database

    @classmethod
    def current(cls) -> PassContext:
        """Return the innermost context of this thread, or a default one."""
        stack = cast("list[PassContext]", getattr(cls._stack, "items", []))
        return stack[-1] if stack else _DEFAULT

    def __enter__(self) -> PassContext:
        if not hasattr(self._stack, "items"):
            self._stack.items = []
        self._stack.items.append(self)
        self.notify("enter_pass_ctx")
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.items.pop()
        self.notify("exit_pass_ctx")

    @contextmanager
    def quietly(self, **changes: Any) -> Iterator[None]:
        """Run the body in a copy of the context with changed settings, without notifying instruments."""
        if not hasattr(self._stack, "items"):
            self._stack.items = []
        self._stack.items.append(replace(self, **changes))
        try:
            yield
        finally:
            self._stack.items.pop()

    def notify(self, event: str, *args: Any) -> None:
        """Call the method `event` of every instrument that has it."""
        for instrument in self.instruments or ():
            method = getattr(instrument, event, None)
            if method is not None:
                method(*args)

    def enabled(self, info: PassInfo) -> bool:
        """Return whether a sequence runs the pass in this context."""
        if any(map(info.is_called, self.disabled_pass or ())):
            return False
        return info.opt_level <= self.opt_level or any(map(info.is_called, self.required_pass or ()))

    def override_instruments(self, instruments: Sequence[Any] | None) -> None:
        """Replace the instruments: the old ones get `exit_pass_ctx`, the new ones `enter_pass_ctx`."""
        self.notify("exit_pass_ctx")
        self.instruments = list(instruments or ())
        self.notify("enter_pass_ctx")

    def pass_enabled(self, mod: Any, info: PassInfo) -> bool:
        """Return whether every instrument allows the pass to run."""
        checks = [getattr(i, "should_run", None) for i in self.instruments or ()]
        return all(check(mod, info) for check in checks if check is not None)


_DEFAULT = PassContext()


_FRAMEWORKS = ("torch", "onnx")


def module_op(mod: Any) -> ModuleOp:
    """Return the xDSL module of a `ModuleOp` or of a view of one. Raises `TiraxError` for anything else."""
    op = mod if isinstance(mod, ModuleOp) else getattr(mod, "op", None)
    if not isinstance(op, ModuleOp):
        is_model = isinstance(mod, str) or any(
            cls.__module__.partition(".")[0] in _FRAMEWORKS for cls in type(mod).__mro__
        )
        raise TiraxError(
            "a pass runs on a module",
            expected="an IRModule or ModuleOp",
            found=type(mod).__name__,
            hint="tirax.compile(model, inputs) takes models of PyTorch and ONNX, and paths" if is_model else None,
        )
    return op


def like_module(mod: Any, op: ModuleOp) -> Any:
    """Return `op` in the same form as `mod`: the module itself, or a view of it."""
    return op if isinstance(mod, ModuleOp) else type(mod)(op)


class Pass(ModulePass):
    """Base class of tirax's passes; see the module's docstring."""

    takes_ill_formed: ClassVar[bool] = False
    """True for passes on arbitrary programs: an ill-formed input may stay ill-formed, and is not rejected."""

    @property
    def info(self) -> PassInfo:
        room = "tir." if ".transforms.tir." in type(self).__module__ else ""
        return PassInfo(self.name, title=f"{room}{type(self).__name__}", takes_ill_formed=self.takes_ill_formed)

    def __call__(self, mod: Any) -> Any:
        """Return a new module, transformed and verified; `mod` is unchanged."""
        op = cloned(module_op(mod))
        with no_gc():
            self.run(new_context(), op)
        return like_module(mod, op)

    def run(self, ctx: Context, op: ModuleOp) -> None:
        """Apply in place, with the instruments of the current context, and verify."""
        _run_watched(self, self.info, ctx, op)


def _run_watched(p: ModulePass, info: PassInfo, ctx: Context, op: ModuleOp) -> None:
    where = PassContext.current()
    view: Any = _module_view(op) if where.instruments else op
    if not where.pass_enabled(view, info):
        return
    where.notify("run_before_pass", view, info)
    with verifying(op) as verifier:
        verified = where.verify and not (getattr(p, "takes_ill_formed", False) and verifier.problems(op))
        with naming_pass(p):
            p.apply(ctx, op)
        if verified:
            verifier.verify(op, after=p.name)
    where.notify("run_after_pass", view, info)


@contextmanager
def naming_pass(p: ModulePass) -> Iterator[None]:
    """Add the pass's name to errors raised inside: to a diagnostic as a note, to other exceptions in `__notes__`.

    A stack overflow in Python becomes a diagnostic.
    """
    note = f"in the pass {getattr(p, 'info', p).name}"
    try:
        yield
    except TiraxError as error:
        if not any(n.startswith("in the pass ") for n in error.notes):
            error.notes = (*error.notes, note)
        raise
    except RecursionError as error:
        hint = "give parts of long expressions names, or sys.setrecursionlimit(…)"
        raise TiraxError("the program is nested too deeply", hint=hint, notes=[note]) from error
    except Exception as error:
        if not getattr(error, "__notes__", None):
            error.add_note(note)
        raise


_PassT = TypeVar("_PassT", bound=Pass)


def configured(options: _PassT, key: str) -> _PassT:
    """Return the pass with options from the mapping `key` of the current context; these take precedence.

    `PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}})` has such options under `tir.UnrollLoop`.
    Raises `NameLookupError` for an unknown option of the pass, and `TiraxError` if the value is not a mapping.
    """
    config: Any = (PassContext.current().config or {}).get(key)
    if config is None:
        return options
    if not isinstance(config, Mapping):
        raise TiraxError(f"the options of {key}", expected="a mapping of names to values", found=type(config).__name__)
    values = dict(cast("Mapping[str, Any]", config))
    known = [f.name for f in fields(cast(Any, options))]
    for name in values:
        if name not in known:
            raise unknown_name(f"option of {key}", name, known)
    return replace(cast(Any, options), **values)


class _Running(threading.local):
    def __init__(self) -> None:
        self.verifiers: dict[ModuleOp, Verifier] = {}


_running = _Running()


@contextmanager
def verifying(op: ModuleOp) -> Iterator[Verifier]:
    """Provide the module's verifier while passes run on it; nested passes share it and verify their own changes."""
    verifiers = _running.verifiers
    outermost = op not in verifiers
    try:
        yield verifiers.setdefault(op, Verifier())
    finally:
        if outermost:
            del verifiers[op]


_module_view: Callable[[ModuleOp], Any] = lambda op: op  # noqa: E731


def show_modules_as(view: Callable[[ModuleOp], Any]) -> None:
    """Set the view of modules for instruments and for functions used as passes; `handles` sets `IRModule`."""
    global _module_view
    _module_view = view


@dataclass(frozen=True)
class Sequential(Pass):
    """A sequence of passes; those that the context disables are skipped."""

    name = "sequential"
    passes: tuple[Any, ...] = ()
    opt_level: int = 0
    title: str = "sequential"
    required: tuple[str, ...] = ()

    def __init__(
        self,
        passes: Iterable[Any] = (),
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ):
        object.__setattr__(self, "passes", tuple(passes))
        object.__setattr__(self, "opt_level", opt_level)
        object.__setattr__(self, "title", name)
        object.__setattr__(self, "required", tuple(required or ()))

    def __str__(self) -> str:
        return f"{self.title}[{', '.join(map(str, self.passes))}]"

    @property
    def info(self) -> PassInfo:
        return PassInfo(self.title, self.opt_level, self.required)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        where = PassContext.current()
        for p in self.passes:
            if where.enabled(getattr(p, "info", PassInfo(type(p).__name__))):
                run_pass(p, ctx, op)


def run_pass(p: Any, ctx: Context, op: ModuleOp) -> None:
    """Run a pass in place: one of tirax, one of xDSL (verified afterwards), or a function from module to module."""
    if isinstance(p, Pass):
        p.run(ctx, op)
    elif isinstance(p, ModulePass):
        _run_watched(p, PassInfo(p.name), ctx, op)
    else:
        replace_contents(op, module_op(p(_module_view(op))))


def replace_contents(op: ModuleOp, new: ModuleOp) -> None:
    """Replace the contents of `op` by those of `new`, which is unchanged."""
    if new is op:
        return
    new = cloned(new)
    block = op.body.block
    for old in list(block.ops):
        old.detach()
        old.erase()
    for child in list(new.body.block.ops):
        child.detach()
        block.add_op(child)
    op.attributes = dict(new.attributes)
