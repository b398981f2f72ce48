"""Offload the first loop nests of tensor functions to a library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import TiraxError
from ....dialects import relax, tir
from ....dialects.names import name_of, set_name
from ....dialects.relax.external import EXTERNAL_MODS, ExternalFunctions, ExternalModsAttr, external_functions
from ....dialects.sym.expr import SymExpr, Var
from ....handles.tir.buffers import Buffer
from ....ir.equality import structural_equal
from ....ir.functions.lookup import callee_names, functions, relax_functions
from ....ir.functions.symbolic_vars import mentioned_by
from ....ir.names import NameSupply, function_names, name_bindings
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import erase, insert_before, replace_op
from ....ir.rewriting.substitute import SymbolSubstitution


@dataclass(frozen=True)
class MatchResult:
    """A pattern, and the loop nests it matches.

    `symbol_values` are the values of its symbolic variables, in order of occurrence in its parameters, and
    `matched_buffers` the buffers for its parameters.
    """

    pattern: Any
    symbol_values: Sequence[SymExpr]
    matched_buffers: Sequence[Buffer]


Codegen = Callable[[list[MatchResult]], Sequence[Any]]
"""`fcodegen(matches)` returns a destination-passing callable and the number of matches it computes, or 0 for
none.
"""


@dataclass(frozen=True)
class SplitCallTIRByPattern(Pass):
    """Splits calls of tensor functions whose first loop nests a library computes into a library call and the rest.

    q = call_tir(fused_matmul_add, (x, w, b))
    ->  lv = call_dps_packed("fused_matmul_add", (x, w)); q = call_tir(unfused_epilogue, (b, lv))

    `patterns` are tensor functions. From the first loop nest of a function on, each matching pattern consumes
    as many nests as it has; `fcodegen` is called with all matches. Its result is attached to the module under
    the function's name, as in `RunCodegen`. A function remains if the library's part would return several
    buffers, if the rest would not determine all sizes of its parameters, if it has scalar parameters, or if it
    is used other than by `call_tir`.
    """

    name = "split-call-tir-by-pattern"
    patterns: Sequence[Any]
    fcodegen: Codegen

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = [_Pattern(p) for p in self.patterns]
        names = NameSupply(function_names(op))
        compiled: dict[str, Callable[..., Any]] = {}
        for name, calls in sorted(_calls(op).items()):
            split = _Split(functions(op)[name], patterns, self.fcodegen)  # pyright: ignore[reportArgumentType]
            if split.library is not None:
                compiled[name] = split.library
                split.apply(op, calls, names)
        if compiled:
            known = external_functions(op)
            op.attributes[EXTERNAL_MODS] = ExternalModsAttr(ExternalFunctions({**known, **compiled}))
            for func in relax_functions(op):
                name_bindings(func)


def _calls(module: ModuleOp) -> dict[str, list[relax.CallTIROp]]:
    """Return the calls of private tensor functions that have no scalar parameters and are only used by calls."""
    table = functions(module)
    calls: dict[str, list[relax.CallTIROp]] = {}
    otherwise = set[str]()
    for op in module.walk():
        if isinstance(op, relax.CallTIROp) and op.tir_vars is None and op.te_grad_name is None:
            calls.setdefault(op.callee_name, []).append(op)
        else:
            otherwise.update(callee_names(op))
    return {n: c for n, c in calls.items() if n not in otherwise and _is_plain(table.get(n))}


def _is_plain(func: Operation | None) -> bool:
    if not isinstance(func, tir.FuncOp) or not func.private or len(func.buffer_params) != len(func.params):
        return False
    return all(isinstance(op, tir.ForOp | tir.BlockOp | tir.AllocBufferOp) for op in func.body.block.ops)


def _nests(func: tir.FuncOp) -> list[Operation]:
    return [op for op in func.body.block.ops if not isinstance(op, tir.AllocBufferOp)]


def _buffers(nests: Sequence[Operation]) -> list[SSAValue]:
    """Return the outer buffers that loop nests use, in order of first use."""
    inside = {r for nest in nests for op in nest.walk() for r in op.results}
    used = (v for nest in nests for op in nest.walk() for v in op.operands)
    return list(dict.fromkeys(v for v in used if isinstance(v.type, tir.BufferType) and v not in inside))


def _written(nests: Sequence[Operation]) -> set[SSAValue]:
    return {op.buffer for nest in nests for op in nest.walk() if isinstance(op, tir.StoreOp)}


def _function(name: str, nests: Sequence[Operation], params: Sequence[SSAValue], like: tir.FuncOp | None) -> tir.FuncOp:
    """Return a private function of loop nests; buffers other than parameters are allocated in it."""
    block = Block(arg_types=[p.type for p in params])
    copies: dict[SSAValue, SSAValue] = dict(zip(params, block.args, strict=True))
    for param, arg in copies.items():
        set_name(arg, name_of(param))
    for buffer in _buffers(nests):
        if buffer not in copies:
            assert isinstance(buffer.owner, Operation)
            own = buffer.owner.clone()
            block.add_op(own)
            copies[buffer] = own.results[0]
    block.add_ops([nest.clone(copies) for nest in nests])
    attrs = None if like is None else like.func_attrs
    func = tir.FuncOp(name, Region(block), private=True, attrs=attrs)
    if func.func_attrs is not None:
        func.func_attrs = type(func.func_attrs)({k: v for k, v in func.func_attrs.data.items() if k != "op_pattern"})
    return func


def _bind(declared: Sequence[SymExpr], actual: Sequence[SymExpr], values: dict[Var, SymExpr]) -> None:
    for var, expr in zip(declared, actual, strict=False):
        if isinstance(var, Var):
            values.setdefault(var, expr)


def _variables(buffer: SSAValue) -> list[Var]:
    assert isinstance(buffer.type, tir.BufferType)
    return [v for d in buffer.type.dims for v in d.free_vars()]


def _is_closed(nests: Sequence[Operation], params: Sequence[SSAValue]) -> bool:
    """Return whether the buffers, as parameters, determine the symbolic variables of loop nests."""
    determined = {d for p in params if isinstance(p.type, tir.BufferType) for d in p.type.dims if isinstance(d, Var)}
    mentioned = [*mentioned_by(nests), *(v for b in _buffers(nests) for v in _variables(b))]
    return determined.issuperset(mentioned)


class _Pattern:
    """A pattern with its buffers in order of first use."""

    def __init__(self, source: Any):
        func = getattr(source, "op", source)
        if not isinstance(func, tir.FuncOp):
            raise TiraxError("a pattern is a tensor function", expected="a PrimFunc", found=type(source).__name__)
        self.source = source
        self.nests = _nests(func)
        self.buffers = _buffers(self.nests)
        self.params = list(func.buffer_params)
        self.canonical = _function("pattern", self.nests, self.buffers, None)

    def match(self, nests: Sequence[Operation]) -> MatchResult | None:
        """Match the first of `nests` against this pattern, or return None."""
        nests = nests[: len(self.nests)]
        buffers = _buffers(nests)
        if len(nests) < len(self.nests) or len(buffers) != len(self.buffers):
            return None
        values: dict[Var, SymExpr] = {}
        for own, other in zip(self.buffers, buffers, strict=True):
            assert isinstance(own.type, tir.BufferType) and isinstance(other.type, tir.BufferType)
            _bind(own.type.dims, other.type.dims, values)
        expected = self.canonical.clone()
        SymbolSubstitution(values).operation(expected)
        if not structural_equal(expected, _function("pattern", nests, buffers, None)):
            return None
        buffer_of = dict(zip(self.buffers, buffers, strict=True))
        variables = dict.fromkeys(v for p in self.params for v in _variables(p))
        symbols = [values[v] for v in variables if v in values]
        return MatchResult(self.source, symbols, [Buffer(buffer_of[p]) for p in self.params if p in buffer_of])


class _Split:
    """A tensor function split into a part for a library and the rest."""

    def __init__(self, func: tir.FuncOp, patterns: Sequence[_Pattern], codegen: Codegen):
        self.func = func
        self.library: Callable[..., Any] | None = None
        nests = _nests(func)
        matches = list(_matches(nests, patterns))
        if not matches:
            return
        library, number = codegen([m for m, _ in matches])
        if not number:
            return
        if not callable(library) or not 0 < number <= len(matches):
            raise TiraxError(
                f"what fcodegen gives for @{func.sym_name.data} is not what a library computes",
                expected=f"a callable, and 1 to {len(matches)}",
                found=f"{type(library).__name__}, {number}",
            )
        count = sum(n for _, n in matches[:number])
        self.first, self.rest = nests[:count], nests[count:]
        later, written = set(_buffers(self.rest)), _written(self.first)
        outputs = [b for b in _buffers(self.first) if b in written and (b in later or b in func.params)]
        shared = [b for b in _buffers(self.first) if b in later and b not in written and b not in func.params]
        if len(outputs) == 1 and not shared and (outputs[0] not in func.params or not self.rest):
            self.output = outputs[0]
            if _is_closed(self.rest, [b for b in later if b in func.params or b is outputs[0]]):
                self.library = library

    def apply(self, module: ModuleOp, calls: Sequence[relax.CallTIROp], names: NameSupply) -> None:
        """Replace the function and its calls."""
        name, params = self.func.sym_name.data, list(self.func.params)
        epilogue = None
        if self.rest:
            inputs = len(calls[0].args)
            used = set(_buffers(self.rest))
            kept = [p for p in params[:inputs] if p in used]
            epilogue = _function(
                names.fresh("unfused_epilogue"), self.rest, [*kept, self.output, *params[inputs:]], self.func
            )
            insert_before(self.func, epilogue)
        for call in calls:
            self._replace(call, name, epilogue)
        erase(self.func)

    def _replace(self, call: relax.CallTIROp, name: str, epilogue: tir.FuncOp | None) -> None:
        assert call.parent is not None
        params = list(zip(self.func.params, call.args, strict=False))
        if epilogue is None:
            new: Operation = relax.CallDPSPackedOp(name, call.args, call.result.type)
        else:
            mine, later = set(_buffers(self.first)), set(_buffers(self.rest))
            result = self._result(call)
            first = insert_before(call, relax.CallDPSPackedOp(name, [a for p, a in params if p in mine], result))
            rest = [a for p, a in params if p in later]
            new = relax.CallTIROp(epilogue.sym_name.data, [*rest, first.result], call.result.type)
        replace_op(call, new)

    def _result(self, call: relax.CallTIROp) -> relax.TensorType:
        """Return the type of the library's result, in the caller's symbolic variables."""
        values: dict[Var, SymExpr] = {}
        types = [*(a.type for a in call.args), *call.output_types]
        for param, t in zip(self.func.params, types, strict=True):
            assert isinstance(param.type, tir.BufferType)
            _bind(param.type.dims, (t.dims or ()) if isinstance(t, relax.TensorType) else (), values)
        buffer_type = self.output.type
        assert isinstance(buffer_type, tir.BufferType)
        return relax.TensorType.of([d.substitute(values) for d in buffer_type.dims], buffer_type.dtype)


def _matches(nests: Sequence[Operation], patterns: Sequence[_Pattern]) -> Iterator[tuple[MatchResult, int]]:
    """Yield the patterns that match in sequence, each with its number of nests."""
    at = 0
    while at < len(nests):
        for pattern in patterns:
            result = pattern.match(nests[at:]) if pattern.nests else None
            if result is not None:
                yield result, len(pattern.nests)
                at += len(pattern.nests)
                break
        else:
            return
