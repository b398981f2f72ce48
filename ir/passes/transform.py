"""Passes: what a tirax pass is, sequences of them, and the context in which they run.

A pass is a frozen dataclass whose fields are its options, the same from Python (`FuseOps(fuse_opt_level=1)`), from text
(`-p fuse-ops{fuse_opt_level=1}`) and in a pipeline. `SomePass(...)(mod)` gives a new module, verified;
`.apply(ctx, op)` works in place. `mod` is an xDSL `ModuleOp` or a view with an `op` (an `IRModule`), and the result is
of the same kind.
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
from .options import check_config


def new_context() -> Context:
    """An xDSL context that knows tirax's dialects and builtin: it looks into each when somebody asks for what it has.

    Passes seldom ask, and the operators of relax are hundreds.
    """
    ctx = Context()
    for dialect in (Builtin, Sym, Relax, Tir):
        ctx.register_dialect(dialect.name, partial(_itself, dialect))
    return ctx


def _itself(dialect: Dialect) -> Dialect:
    return dialect


@contextmanager
def no_gc() -> Iterator[None]:
    """Compile without the cyclic garbage collector: IR is all cycles, none of which dies meanwhile.

    The collector begins when enough is allocated while it is on, which a process that only compiles never does: it is
    called here, as often as costs a small part of the time.
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
    """When garbage is collected: after 50 times as long without the collector as the last time took."""

    def __init__(self) -> None:
        self.without, self.cost = 0.0, 0.1

    def follow(self, seconds: float) -> None:
        """So long the collector was off."""
        self.without += seconds
        if self.without < 50 * self.cost or not gc.get_threshold()[0]:  # no threshold: users have turned it off
            return
        self.without, start = 0.0, time.perf_counter()
        gc.collect()
        self.cost = time.perf_counter() - start


_collections = _Collections()


@dataclass(frozen=True)
class PassInfo:
    """What instruments are told of a pass; its text has the name that TVM has for it (`title`), where there is one."""

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
        """Whether `name` is the pass's name, also as TVM writes it: `LegalizeOps`, `relax.LegalizeOps`."""
        return name == self.name or _plain_name(name) == _plain_name(self.name)


def _plain_name(name: str) -> str:
    return name.rpartition(".")[2].replace("-", "").replace("_", "").lower()


class PassInstrument(Protocol):
    """Watches passes: any of these methods may be there."""

    def enter_pass_ctx(self) -> None: ...
    def exit_pass_ctx(self) -> None: ...
    def should_run(self, mod: Any, info: PassInfo) -> bool: ...
    def run_before_pass(self, mod: Any, info: PassInfo) -> None: ...
    def run_after_pass(self, mod: Any, info: PassInfo) -> None: ...


@dataclass
class PassContext:
    """How passes run inside of `with PassContext(...)`.

    Passes above `opt_level` and those named in `disabled_pass` are left out of sequences; those of `required_pass` run
    in any case. `config` is for passes to read (`options.py` has the table); `verify` turns verification after each
    pass off. Raises `UnknownOptionError` for an option that no pass has, `OptionTypeError` for a value of another type.

    The last four belong to a tuner of passes that is not here: they are kept as they come, as long as they choose
    nothing. Raises `UnsupportedError` where they do.
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
        self.config = dict(self.config or {})
        check_config(self.config)
        chosen = [n for n in ("trace_stack", "make_traceable", "tuning_api_database") if getattr(self, n)]
        if chosen:
            hint = "tune tensor functions: tvm.meta_schedule"
            raise UnsupportedError(
                "passes are not tuned", expected=f"no {', '.join(chosen)}", found=chosen[0], hint=hint
            )

    def get_tuning_api_database(self) -> Any:
        """None: see above."""
        return self.tuning_api_database

    @classmethod
    def current(cls) -> PassContext:
        """The innermost context of this thread, or a default one."""
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
        """The same context with other settings for what is inside; instruments are not told that they enter."""
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
        """Whether a pass of a sequence runs here."""
        if any(map(info.is_called, self.disabled_pass or ())):
            return False
        return info.opt_level <= self.opt_level or any(map(info.is_called, self.required_pass or ()))

    def override_instruments(self, instruments: Sequence[Any] | None) -> None:
        """Watch with other instruments from here on: the old ones are told that they leave, the new that they enter."""
        self.notify("exit_pass_ctx")
        self.instruments = list(instruments or ())
        self.notify("enter_pass_ctx")

    def pass_enabled(self, mod: Any, info: PassInfo) -> bool:
        """Whether every instrument lets the pass run."""
        checks = [getattr(i, "should_run", None) for i in self.instruments or ()]
        return all(check(mod, info) for check in checks if check is not None)


_DEFAULT = PassContext()


def module_op(mod: Any) -> ModuleOp:
    """The xDSL module of a `ModuleOp` or of a view on one. Raises `TiraxError` for anything else."""
    op = mod if isinstance(mod, ModuleOp) else getattr(mod, "op", None)
    if not isinstance(op, ModuleOp):
        raise TiraxError("a pass runs on a module", expected="an IRModule or ModuleOp", found=type(mod).__name__)
    return op


def like_module(mod: Any, op: ModuleOp) -> Any:
    """`op` as the same kind of thing as `mod`: itself, or a view on it."""
    return op if isinstance(mod, ModuleOp) else type(mod)(op)


class Pass(ModulePass):
    """The base of tirax's passes; see the module's docstring."""

    takes_ill_formed: ClassVar[bool] = False
    """Whether it is for any program: what is ill formed before may be so afterwards, and is not refused."""

    @property
    def info(self) -> PassInfo:
        room = "tir." if ".transforms.tir." in type(self).__module__ else ""
        return PassInfo(self.name, title=f"{room}{type(self).__name__}", takes_ill_formed=self.takes_ill_formed)

    def __call__(self, mod: Any) -> Any:
        """A new module, transformed and verified; `mod` stays as it is."""
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
    """What is raised inside says in which pass: a diagnostic by a note, other exceptions by `__notes__`.

    Where Python's stack ends, that is a diagnostic.
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
    """The pass with the options that the current context has under `key`, a mapping; those of the context count.

    `PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}})` has some under `tir.UnrollLoop`.
    Raises `NameLookupError` for an option that the pass does not have, `TiraxError` for what is no mapping.
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
    """The verifier of the module for as long as passes run on it: one inside of others verifies what it changed."""
    verifiers = _running.verifiers
    outermost = op not in verifiers
    try:
        yield verifiers.setdefault(op, Verifier())
    finally:
        if outermost:
            del verifiers[op]


_module_view: Callable[[ModuleOp], Any] = lambda op: op  # noqa: E731


def show_modules_as(view: Callable[[ModuleOp], Any]) -> None:
    """What instruments and functions that are used as passes are given of a module; `handles` says: an `IRModule`."""
    global _module_view
    _module_view = view


@dataclass(frozen=True)
class Sequential(Pass):
    """Passes one after the other; those that the context disables are left out."""

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
    """Make `op` hold what `new` holds; `new` stays as it is."""
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
