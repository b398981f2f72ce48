"""What is decided for a stage: which rule writes its loops, with which numbers, and what is left to a size at run time.

A plan is the dataclass that a rule's `plan` made. Its numbers, texts, iterators and lists of pairs of an iterator and a
number are shown; those that the rule `decides` may be other ones. A plan may have a property `problem`: what numbers it
has to have, None where those it has will do. One that `leaves_epilogue` is for the stage alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, cast

from xdsl.ir import Block, Operation

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.sched import Number, Version
from ...dialects.sym.expr import Const
from ...transforms.tir.walk import erase_with_tree
from ..loop_builder import LoopBuilder
from .epilogue import Epilogue
from .fuse_iters import merged
from .inline import erase_if_unread
from .machine import Machine
from .rules import Rule
from .stages import Iter

_MOST = 1024
"""No number is larger, but those of bytes: loops of so many steps are unrolled."""
_POWERS = frozenset({"lanes", "size"})


class DecisionError(TiraxError, ValueError):
    """A decision about a schedule that cannot be followed."""


@dataclass
class Choice:
    """`plan` of `rule` for what stands at `roots`, the last of which is where the loops go.

    With `other` this holds for sizes from `least` on that are known when it runs, and `other` for smaller ones.
    """

    rule: Rule
    plan: Any
    roots: Sequence[Operation]
    block: str
    then: str | None = None
    least: int = 1
    other: Choice | None = None

    def put(self) -> None:
        """Write the loops in place of the stages, and erase these and the intermediate buffer between them."""
        anchor = self.roots[-1]
        body, block = cast(Block, anchor.parent), Block()
        self.emit(LoopBuilder(block))
        for op in list(block.ops):
            op.detach()
            body.insert_op_before(op, anchor)
        stores = [op for root in self.roots for op in root.walk() if isinstance(op, tir.StoreOp)]
        buffers = [op.buffer for op in stores if op.buffer.owner in set(body.ops)]
        for root in reversed(self.roots):
            erase_with_tree(root)
        for buffer in dict.fromkeys(buffers):
            erase_if_unread(buffer)

    def emit(self, loops: LoopBuilder) -> None:
        """Append the loops."""
        if self.other is None or self.rule.size is None:
            self.rule.emit(loops, self.plan)
            return
        few = Block()
        with loops.inside(few):
            self.other.emit(loops)
        size = self.rule.size(self.plan)
        count, least = loops.value(size, size.dtype), loops.value(Const(self.least, size.dtype), size.dtype)
        loops.branch(loops.op(tir.GeOp(count, least)), lambda: self.rule.emit(loops, self.plan), few)

    @property
    def versions(self) -> list[Version]:
        """The rules with their numbers, those for larger sizes first."""
        others = [] if self.other is None else self.other.versions
        numbers = numbers_of(self.plan)
        return [Version(self.rule.name, numbers, self.least if others else None), *others]


def first_fit(rules: Sequence[Rule], epilogue: Epilogue, machine: Machine) -> Choice | None:
    """The first rule that fits a stage; where it is not known whether that pays, also the one for smaller sizes.

    None where none fits.
    """
    whole = merged(epilogue)

    def fit(first: int) -> Choice | None:
        for at, rule in enumerate(rules[first:], first):
            plan = rule.plan(whole, machine)
            if plan is not None:
                other = fit(at + 1) if rule.size is not None and rule.size(plan).constant is None else None
                return _choice(rule, plan, epilogue, rule.least, other)
        return None

    return fit(0)


def said(versions: Sequence[Version], rules: Mapping[str, Rule], epilogue: Epilogue, machine: Machine) -> Choice:
    """The choice that is said of a stage: rules by name, with numbers. Raises `DecisionError` where it cannot be."""
    whole = merged(epilogue)
    choice: Choice | None = None
    for version in reversed(versions):
        rule = rules.get(version.rule)
        plan = None if rule is None else rule.plan(whole, machine)
        if rule is None or plan is None:
            raise DecisionError(f"the rule '{version.rule}' does not fit", hint=_fitting(rules, whole, machine))
        if choice is not None and rule.size is None:
            raise DecisionError(f"the rule '{rule.name}' does not depend on a size", expected="no other rule beside it")
        plan = with_numbers(rule, plan, version.numbers)
        choice = _choice(rule, plan, epilogue, version.least or rule.least, choice)
    assert choice is not None
    return choice


def _fitting(rules: Mapping[str, Rule], whole: Epilogue, machine: Machine) -> str:
    fitting = [name for name, rule in rules.items() if rule.plan(whole, machine) is not None]
    return f"these do: {', '.join(fitting)}" if fitting else "no rule does"


def _choice(rule: Rule, plan: Any, epilogue: Epilogue, least: int, other: Choice | None) -> Choice:
    consumer = None if getattr(plan, "leaves_epilogue", False) else epilogue.consumer
    roots = [epilogue.stage.root] if consumer is None else [epilogue.stage.root, consumer.root]
    then = None if consumer is None else consumer.block.name_hint
    return Choice(rule, plan, roots, epilogue.stage.block.name_hint, then, least, other)


def numbers_of(plan: Any) -> dict[str, Number]:
    """The numbers of a plan, and the names of its iterators."""
    if not is_dataclass(plan):
        return {}
    shown = {f.name: _shown(getattr(plan, f.name)) for f in fields(plan)}
    return {name: value for name, value in shown.items() if value is not None}


def _shown(value: Any) -> Number | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | str):
        return value
    if isinstance(value, Iter):
        names = [name_of(it.var) or "?" for it in value.parts or (value,)]
        return " ".join(names)
    return [size for _, size in cast("list[tuple[Iter, int]]", value)] if _is_sized(value) else None


def _is_sized(value: Any) -> bool:
    """Whether a value is a list of iterators with sizes."""
    if not isinstance(value, list):
        return False
    items = cast("list[Any]", value)
    return bool(items) and all(isinstance(item, tuple) and isinstance(item[0], Iter) for item in items)


def with_numbers(rule: Rule, plan: Any, given: Mapping[str, Number]) -> Any:
    """A plan of a rule with other numbers. Raises `DecisionError` where it cannot have them."""
    known = numbers_of(plan)
    changed: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise DecisionError(f"there is no number '{name}'", expected=", ".join(known) or "none", found=name)
        if value == known[name]:
            continue
        if name not in rule.decides or type(value) is not type(known[name]):
            raise DecisionError(f"'{name}' follows from the program", expected=_text(known[name]), found=_text(value))
        changed[name] = _changed(name, getattr(plan, name), value)
    if not changed:
        return plan
    out = replace(plan, **changed)
    problem = getattr(out, "problem", None)
    if problem is not None:
        numbers = ", ".join(f"{name} = {_text(given[name])}" for name in changed)
        raise DecisionError("the rule cannot have these numbers", expected=problem, found=numbers)
    return out


def _changed(name: str, old: Any, value: Number) -> Any:
    """What a field of a plan is with another number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return _checked(name, value)
    pairs = cast("list[tuple[Iter, int]]", old)
    if len(value) != len(pairs):
        raise DecisionError(f"'{name}' has {len(pairs)} numbers", found=_text(value))
    return [(it, _checked(name, size)) for (it, _), size in zip(pairs, value, strict=True)]


def _checked(name: str, value: int) -> int:
    if value < 1:
        raise DecisionError(f"'{name}' is not positive", expected="at least 1", found=value)
    if not name.endswith("_bytes") and value > _MOST:
        raise DecisionError(f"'{name}' is too large", expected=f"at most {_MOST}", found=value)
    if name in _POWERS and value & (value - 1):
        raise DecisionError(f"'{name}' is the number of lanes of a vector", expected="a power of two", found=value)
    return value


def _text(value: Number) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
