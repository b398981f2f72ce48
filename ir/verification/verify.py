"""Verification of modules: each op's verifier, dominance of SSA values, and calls of functions in the module.

A `Verifier` verifies a module repeatedly, each time only the functions that have changed since. Each distinct signature
of an op is verified once (`signature.py`), and changes of a function are detected by comparing lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp
from xdsl.ir import Block, Operation, OpTraits, Region
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError, VerifyError, nesting_checked
from ..locations import location_of
from .calls import CALL_CHECKS
from .dominance import check_dominance, is_foreign
from .signature import Functions, Signature, Signatures, called_name, kind_of
from .snapshot import Snapshot

_TRAITS = tuple(t for t in ModuleOp.traits if not isinstance(t, IsolatedFromAbove))
_MODULE = replace(ModuleOp.get_irdl_definition(), traits=OpTraits(lambda: _TRAITS))


def verify_itself(op: Operation, by_ends: bool) -> None:
    """Raise xDSL's error if the op is invalid; with `by_ends`, its verifier looks only at the ends of its regions."""
    if isinstance(op, ModuleOp) and op.parent is None:
        _MODULE.verify(op)
    elif not (by_ends and op.has_trait(IsolatedFromAbove) and _is_alone(op) and _is_good(_shell_of(op))):
        op.verify(verify_nested_ops=False)


def _is_alone(op: Operation) -> bool:
    """Return whether an op has no operands or results, like a function; `_shell_of` omits these."""
    return not op.operands and not op.results


def _is_good(op: Operation) -> bool:
    try:
        op.verify(verify_nested_ops=False)
    except (TiraxError, VerifyException):
        return False  # the function itself reports the reason, with its location
    return True


def _shell_of(function: Operation) -> Operation:
    """Return a function that contains only the first and last ops of its regions, in a separate module."""
    regions = [Region([_ends_of(block) for block in region.blocks]) for region in function.regions]
    shell = type(function).create(properties=function.properties, attributes=function.attributes, regions=regions)
    ModuleOp([shell])
    return shell


def _ends_of(block: Block) -> Block:
    ends, last = Block(arg_types=block.arg_types), block.last_op
    if last is not None:
        source = UnrealizedConversionCastOp.create(result_types=[v.type for v in last.operands])
        types = [r.type for r in last.results]
        end = type(last).create(operands=source.results, result_types=types, properties=last.properties)
        ends.add_ops([source, end])
    return ends


@nesting_checked()
def verify_module(module: ModuleOp, after: str | None = None) -> None:
    """Raise `VerifyError` if the module is not valid; `after` names the pass to blame."""
    Verifier().verify(module, after)


class Verifier:
    """Incremental verifier of a module: see `verify`."""

    def __init__(self) -> None:
        self._verified: dict[int, _Function] = {}
        self._signatures = Signatures()
        self._passed: set[Signature] = set()

    def verify(self, module: ModuleOp, after: str | None = None) -> None:
        """Raise `VerifyError` if the module is not valid; `after` names the pass to blame.

        A function is verified if anything in it has changed since the last successful call; its calls also if a callee
        has changed.
        """
        context = f" after {after}" if after else ""
        functions = [self._function(root) for root in _roots(module)]
        changed = [f for f in functions if self._verified.get(id(f.ops[0])) is not f]
        for function in changed:
            # first: dominance implies isolation from above
            function.is_open = bool(check_dominance(function.ops[0], is_free=is_foreign))
        self._verify_op(module, context)
        for function in changed:
            self._verify_ops(function, context)
        by_name = Functions(module, self._signatures)
        for function in functions:
            self._verify_calls(function, by_name, context)
        self._verified = {id(f.ops[0]): f for f in functions}

    def problems(self, module: ModuleOp) -> list[tuple[Operation, VerifyError]]:
        """Return the first error of each invalid function and of the module itself, with the operation.

        Like `verify`, which stops at the first error, it skips valid functions that have not changed.
        """
        functions = [self._function(root) for root in _roots(module)]
        by_name = Functions(module, self._signatures)
        checks: list[tuple[Operation, Callable[[], None]]] = [(module, lambda: self._verify_op(module, ""))]
        checks += [(f.ops[0], partial(self._verify_function, f, by_name)) for f in functions]
        problems: list[tuple[Operation, VerifyError]] = []
        for op, check in checks:
            try:
                check()
            except VerifyError as error:
                problems.append((op, error))
        wrong = {id(op) for op, _ in problems}
        self._verified = {id(f.ops[0]): f for f in functions if id(f.ops[0]) not in wrong}
        return problems

    def _verify_function(self, function: _Function, by_name: Functions) -> None:
        """Run all checks of `verify` on one function."""
        if self._verified.get(id(function.ops[0])) is not function:
            function.is_open = bool(check_dominance(function.ops[0], is_free=is_foreign))
            self._verify_ops(function, "")
        self._verify_calls(function, by_name, "")

    def _function(self, root: Operation) -> _Function:
        """Return the record of the function if it is unchanged, or a new one."""
        before = self._verified.get(id(root))
        return before if before is not None and not before.is_open and before.holds() else _Function(root)

    def _verify_ops(self, function: _Function, context: str) -> None:
        """Verify everything that does not depend on other functions."""
        for op, signature in self._signatures.unknown(function.ops, self._passed):
            kind = kind_of(type(op))
            if not kind.afar:
                self._verify_op(op, context)
                if signature and kind.plain:
                    self._passed.add(signature)

    def _verify_op(self, op: Operation, context: str, functions: Functions | None = None) -> None:
        """Verify an op without its regions, and for a call, with the `functions`, its callee.

        Ops with the same types and attributes are verified once.
        """
        signature = self._signatures.of(op, functions) if kind_of(type(op)).by_signature else None
        if signature is not None and signature in self._passed:
            return
        try:
            verify_itself(op, by_ends=signature is not None)
        except (TiraxError, VerifyException) as error:
            raise _verify_error(error, op, context) from error
        check = CALL_CHECKS.get(type(op))
        if check is not None and functions is not None:
            check(op, functions)
        if signature is not None:
            self._passed.add(signature)

    def _verify_calls(self, function: _Function, by_name: Functions, context: str) -> None:
        """Verify what depends on other functions, unless the callees are unchanged."""
        called = function.called
        if called is not None and all(by_name.interface(name) == known for name, known in called.items()):
            return
        for op in function.calls:
            self._verify_op(op, context, by_name)
        names = [called_name(op) for op in function.calls]
        function.called = None if None in names else {name: by_name.interface(name) for name in names if name}


def _roots(module: ModuleOp) -> Sequence[Operation]:
    """Return the functions of a module if they are isolated from each other, else the module itself."""
    if len(module.body.blocks) != 1:  # an error of the module
        return (module,)
    block = module.body.block
    functions = tuple(block.ops)
    return functions if not (block.args or any(f.results or f._operands for f in functions)) else (module,)


class _Function(Snapshot):
    """A function in the state in which it was verified."""

    def __init__(self, root: Operation):
        super().__init__(root)
        self.calls = [op for op in self.ops if kind_of(type(op)).afar]
        self.is_open = False
        """Whether it takes values from outside: what those are, and where, is not compared."""
        self.called: dict[str, int] | None = None
        """The functions that it calls, with their interfaces as they were verified; None where that is not known."""


def _verify_error(error: Exception, op: Operation, context: str) -> VerifyError:
    """Return the error at the location of `op`, keeping `expected` and `found` of a diagnostic inside xDSL's error."""
    inner = error if isinstance(error, TiraxError) else error.__cause__
    if not isinstance(inner, TiraxError):
        return VerifyError(f"{error}{context}", location=location_of(op), notes=_ir_note(op))
    return VerifyError(
        inner.message + context,
        location=inner.location or location_of(op),
        expected=inner.expected,
        found=inner.found,
        hint=inner.hint,
        notes=[*inner.notes, *_ir_note(op)],
    )


def _ir_note(op: Operation) -> list[str]:
    if location_of(op) is not None or op.regions:
        return []
    return [f"in: {op}"]
