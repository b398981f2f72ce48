"""Relax functions: signatures, bodies and results, and the tables that define the language `R`."""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...diagnostics import suggestion
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax import OPERATORS, CallableType, erase_unbound, free_symbolic_vars, is_base_of
from ...dialects.relax.composite import COMPOSITES, expand
from ...dialects.relax.operator import Operator
from ...dialects.relax.registered import RegisteredOperator
from ...dialects.relax.signatures import BaseCheckResult, base_check
from ...dialects.relax.types import on_no_device
from ...ir.verification.as_written import declared_type
from .attributes import read_vdevice, without_symbol
from .evaluator import RAISE, Language, Policy, check_plain_parameters, refuse
from .relax_calls import CALLS, call_value
from .relax_operators import binary, call_by_name, call_operator, unary
from .relax_state import Builder, FunctionFrame, ModuleContext, RelaxParser, RelaxState, Signature
from .relax_statements import CALLED, STATEMENTS, output, read_body
from .relax_types import STRUCT_INFO_CALLS, struct_info, symbolic_call
from .relax_values import LEAVES, attribute_of, element_of, member, tvm_value
from .scope import Environment, Scope
from .source import Source
from .values import CallSite, Ref, describe


def read_signature(p: RelaxParser, function: ast.FunctionDef, pure: bool = True) -> Signature:
    """Return the declared parameters and result of a function."""
    check_plain_parameters(p.source, function.args)
    params: list[Attribute] = []
    for arg in function.args.args:
        if arg.annotation is None:
            raise p.error(arg, f"parameter '{arg.arg}' has no struct info", expected=f"{arg.arg}: R.Tensor(…)")
        params.append(struct_info(p, arg.annotation))
    ret = None
    if function.returns is not None and not (
        isinstance(function.returns, ast.Constant) and function.returns.value is None
    ):
        ret = struct_info(p, function.returns)
    return Signature(tuple(a.arg for a in function.args.args), tuple(params), ret, pure)


def parse_relax(
    p: RelaxParser, function: ast.FunctionDef, signature: Signature, *, private: bool = False
) -> relax.FuncOp:
    """Parse a function into an op. Raises `ScriptError` or another located `TiraxError`."""
    symbolic = (v.name for v in free_symbolic_vars(signature.params) if isinstance(v.name, str))
    p.state.used_names = p.check_names(function, symbolic)
    body, ret, attrs = _function_body(p, function, signature)
    _name_nested_results(p, body.block)
    op = relax.FuncOp(function.name, body, ret, private=private, attrs=attrs, pure=signature.pure)
    op.location = p.source.attr(function)
    return op


def _function_body(
    p: RelaxParser, function: ast.FunctionDef, signature: Signature
) -> tuple[Region, Attribute, DictionaryAttr | None]:
    block = Block(arg_types=signature.params)
    outer, p.state.function = p.state.function, FunctionFrame()
    try:
        with p.into(block):
            for name, value, arg in zip(signature.names, block.args, function.args.args, strict=True):
                set_name(value, name)
                value.location = p.source.attr(arg)
                p.scope.define(name, value)
            read_body(p, function.body)
        last = block.last_op
        if not isinstance(last, relax.ReturnOp):
            raise p.error(function, f"function '{function.name}' does not return a value", expected="return …")
        result = _result_type(p, last, signature, function)
        return Region(block), result, without_symbol(p.state.function.attrs, function.name)
    finally:
        p.state.function = outer


def _result_type(p: RelaxParser, last: relax.ReturnOp, signature: Signature, function: ast.FunctionDef) -> Attribute:
    """Return the type of the result: the inferred type, or a more precise declared type, which a match_cast checks.

    If the two contradict each other, the body takes precedence and a warning is issued.
    """
    inferred = declared_type(last.value)
    known = erase_unbound(inferred, set(free_symbolic_vars(signature.params)))
    if signature.ret is not None and on_no_device(signature.ret) == known:
        return signature.ret
    if signature.ret is None or is_base_of(signature.ret, known):
        return known
    if is_base_of(signature.ret, inferred):
        return signature.ret
    statement = function.body[-1]
    if base_check(signature.ret, inferred) is BaseCheckResult.FAIL_L0:
        text = f"function '{function.name}' returns {known}, not {signature.ret} as it declares"
        warnings.warn(f"{p.source.place(statement)}: {text}", stacklevel=2)
        return known
    block = last.parent_block()
    assert block is not None
    last.detach()
    with p.into(block):
        last.operands[0] = p.emit(relax.MatchCastOp(last.value, signature.ret), statement)
        p.state.implied.add(last.value)
    block.add_op(last)
    return signature.ret


def _name_nested_results(p: RelaxParser, block: Block) -> None:
    """Name the results of nested calls as in normal form: `lv…` in dataflow blocks, `gv…` outside."""
    counters = {"lv": 0, "gv": 0}
    for op in block.walk():
        if not op.results or relax.is_inline(op) or not op.name.startswith("relax."):
            continue
        prefix = "lv" if isinstance(op.parent_op(), relax.DataflowOp) else "gv"
        for result in op.results:
            if name_of(result) is None and result not in p.state.implied:
                set_name(result, _fresh(p, prefix, counters))


def _fresh(p: RelaxParser, prefix: str, counters: dict[str, int]) -> str:
    while True:
        n = counters[prefix]
        counters[prefix] += 1
        name = prefix if n == 0 else f"{prefix}{n}"
        if name not in p.state.used_names:
            return name


def _local_function(p: RelaxParser, node: ast.FunctionDef) -> str:
    pure = _is_pure(p, node)
    with p.scope.frame():
        signature = read_signature(p, node, pure)
        itself = _self_reference(p, node.name, signature)
        body, ret, attrs = _function_body(p, node, signature)
    value = p.emit(relax.ClosureOp(body, ret, attrs=attrs, pure=pure), node)
    if itself is not None:
        itself.replace_all_uses_with(value)
    set_name(value, node.name)
    p.scope.define(node.name, value)
    return node.name


def _self_reference(p: RelaxParser, name: str, signature: Signature) -> SSAValue | None:
    """Return a placeholder for a local function in its own body, until it is created, if its result is declared."""
    if signature.ret is None:
        return None
    value = Block(arg_types=[CallableType.of(signature.params, signature.ret, signature.pure)]).args[0]
    p.scope.define(name, value)
    return value


def _is_pure(p: RelaxParser, function: ast.FunctionDef) -> bool:
    """Return the `pure` argument of `@R.function(pure=…)` on a local function.

    Raises `ScriptError` for any other decorator.
    """
    if len(function.decorator_list) != 1:
        raise refuse(p.source, function, "a Relax function")
    node = function.decorator_list[0]
    target = p.visit(node.func if isinstance(node, ast.Call) else node)
    if target != Ref("relax", "function"):
        raise p.error(node, "a local function is an @R.function", found=describe(target))
    return not isinstance(node, ast.Call) or (
        p.call_site(node, target).bind("pure= private= check_well_formed=")[0] is not False
    )


_OF_SINFO = ("call_builtin_with_ctx", "call_inplace_packed", "call_packed", "call_pure_packed", "invoke_closure")
"""Calls whose struct info is the argument `sinfo_args`; that of others is `out_sinfo`."""


def _call_of(p: RelaxParser, site: CallSite) -> Any:
    """Parse `relax.Call(op, [x, y], attrs, sinfo_args)`; calls such as `call_tir` are operators, too."""
    op, args, attrs, sinfo = site.bind("op args attrs= sinfo_args=")
    build = CALLS.get(op.path) if isinstance(op, Ref) and op.dialect == "relax" else None
    if build is None:
        return call_by_name(p, replace(site, args=[op, args], kwargs={"attrs": attrs}))
    if not isinstance(args, tuple | list):
        raise site.error("the arguments are a list", found=describe(args))
    name = "sinfo_args" if op.path in _OF_SINFO else "out_sinfo"
    result = {} if sinfo is None else {name: sinfo}
    if "out_sinfo" in result and isinstance(sinfo, tuple | list) and len(sinfo) == 1:
        result["out_sinfo"] = sinfo[0]
    return build(p, replace(site, args=list(args), kwargs={**result, **(attrs or {})}))


FUNCTIONS: dict[str, Builder] = {"Call": _call_of, **STRUCT_INFO_CALLS, **LEAVES, **CALLS, **CALLED}
"""Functions of `R` other than operators, by name."""


def _call(p: RelaxParser, target: Ref, site: CallSite) -> Any:
    """Evaluate a call such as `R.add(x, y)`, or of a function of `T` or `I` that is allowed in a Relax function."""
    if target.dialect == "tir":
        return symbolic_call(p, target, site)
    if target == Ref("ir", "vdevice"):
        return read_vdevice(site)
    if target.dialect == "tvm":
        return tvm_value(target, site)
    if target.dialect != "relax":
        raise site.error("only functions of R and T can be called in a Relax function")
    build = FUNCTIONS.get(target.path)
    if build is not None:
        return build(p, site)
    declared = issubclass(OPERATORS.get(target.path, Operator), RegisteredOperator)
    name = target.path if declared else f"relax.{target.path}"
    if name in COMPOSITES:
        return expand(name, lambda n, *a, **k: call_operator(p, n, a, k, site), site.args, site.kwargs)
    if name not in OPERATORS:
        operators = (n.removeprefix("relax.") for n in (*OPERATORS, *COMPOSITES))
        hint = suggestion(target.path, [*FUNCTIONS, *operators])
        raise p.error(site.node, f"R has no '{target.path}'", hint=hint)
    return call_operator(p, name, site.args, site.kwargs, site)


RELAX = Language(
    name="relax",
    where="a Relax function",
    special={"output": output},
    statements={**STATEMENTS, ast.FunctionDef: _local_function},
    call=_call,
    call_value=call_value,
    binary=binary,
    unary=unary,
    attribute=attribute_of,
    member=member,
    element=element_of,
)
"""The expressions and statements of a Relax function."""


def relax_parser(
    source: Source, environment: Environment, module: ModuleContext, checked: bool = True, policy: Policy = RAISE
) -> RelaxParser:
    """Return the parser of one Relax function of a module."""
    state = RelaxState(module, checked)
    return RelaxParser(source, Scope(environment), RELAX, state, block=Block(), policy=policy)
