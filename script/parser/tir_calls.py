"""Functions of `T` that return expressions: a table from names to builders."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, StringAttr, VectorType, i1
from xdsl.ir import Attribute, Block, Region, SSAValue

from ...dialects import tir
from ...dialects.dtypes import bit_width, dtype_name, is_float, is_unsigned, lanes_of
from ...dialects.names import set_name
from ...dialects.sym.expr import SymExpr, i32
from ...dialects.tir.types import HANDLE
from .attributes import plain_value
from .folding import as_sym, fold_symbolic
from .tir_operators import as_written, binary, operator_node, unary
from .tir_reduce import comm_reducer, reduce
from .tir_state import Builder, TirParser
from .tir_values import (
    as_condition,
    as_dtype,
    cast_to,
    convert,
    dtype_by_name,
    element,
    expr,
    imm_of,
    load,
    match_types,
    promote,
    type_of,
)
from .values import Access, CallSite, EnvThread, FreshVar, Imm, MetaVar, describe


def _unary(intrinsic: str, result: Attribute | None = None) -> Builder:
    def build(p: TirParser, site: CallSite) -> SSAValue:
        (x,) = site.bind("x")
        value = expr(p, x, site.node)
        dtype = value.type if result is None else tir.with_lanes(result, value.type)
        return p.emit(tir.CallIntrinOp(intrinsic, [value], dtype), site.node)

    return build


def _rounding(intrinsic: str) -> Builder:
    """Return the builder of a rounding function, which leaves integers unchanged."""

    def build(p: TirParser, site: CallSite) -> SSAValue:
        (x,) = site.bind("x")
        value = expr(p, x, site.node)
        if not is_float(value.type):
            return value
        return p.emit(tir.CallIntrinOp(intrinsic, [value], value.type), site.node)

    return build


def _matched(intrinsic: str, spec: str = "a b") -> Builder:
    def build(p: TirParser, site: CallSite) -> SSAValue:
        values = match_types(p, site.bind(spec), site.node)
        return p.emit(tir.CallIntrinOp(intrinsic, values, values[0].type), site.node)

    return build


def _operator(kind: str) -> Builder:
    """Return the builder of an operator written as a function: `T.max(a, b)`, `T.FloorDiv(a, b)`."""

    def build(p: TirParser, site: CallSite) -> Any:
        a, b = site.bind("a b")
        symbolic = fold_symbolic(kind, a, b) if isinstance(a, SymExpr) or isinstance(b, SymExpr) else None
        return binary(p, kind, a, b, site.node) if symbolic is None else as_written(p, symbolic, kind, a, b)

    return build


def _node(kind: str) -> Builder:
    """Return the builder of an operator node: `T.Add(a, 0)` is not folded, while `a + 0` is `a`."""

    def build(p: TirParser, site: CallSite) -> Any:
        a, b = site.bind("a b")
        symbolic = fold_symbolic(kind, a, b) if isinstance(a, SymExpr) or isinstance(b, SymExpr) else None
        if symbolic is None or symbolic.constant is not None or symbolic in (a, b):
            return operator_node(p, kind, a, b, site.node)
        return as_written(p, symbolic, kind, a, b)

    return build


def _reduce(kind: str) -> Builder:
    def build(p: TirParser, site: CallSite) -> Any:
        if not site.args:
            raise site.error("at least one condition is needed")
        result = site.args[0]
        for other in site.args[1:]:
            result = binary(p, kind, result, other, site.node)
        return result

    return build


def _abs(p: TirParser, site: CallSite) -> SSAValue:
    (x,) = site.bind("x")
    value = expr(p, x, site.node)
    if is_float(value.type):
        return p.emit(tir.CallIntrinOp("fabs", [value], value.type), site.node)
    if is_unsigned(value.type):
        return value
    zero = cast_to(p, 0, value.type, site.node)
    negative = p.emit(tir.SubOp(zero, value), site.node)
    positive = p.emit(tir.GeOp(value, zero), site.node)
    return p.emit(tir.SelectOp(positive, value, negative), site.node)


def _ceildiv(p: TirParser, site: CallSite) -> Any:
    a, b = site.bind("lhs rhs")
    above = p.operate("sub", p.operate("add", a, b, site.node), 1, site.node)
    return p.operate("floordiv", above, b, site.node)


def _select(p: TirParser, site: CallSite) -> SSAValue:
    cond, a, b = site.bind("condition true_value false_value")
    condition = as_condition(p, cond, site.node)
    x, y = match_types(p, (a, b), site.node)
    return p.emit(tir.SelectOp(condition, x, y), site.node)


def _cast(order: str) -> Builder:
    def build(p: TirParser, site: CallSite) -> SSAValue:
        arguments = dict(zip(order.split(), site.bind(order), strict=True))
        dtype = as_dtype(p, arguments["dtype"], site.node)
        value = arguments["value"]
        source = type_of(p, value, site.node)
        if imm_of(value) is None and dtype in (source, element(source)):
            return expr(p, value, site.node)
        if order == "dtype value" and source != dtype:
            target = dtype if isinstance(dtype, VectorType) else tir.with_lanes(dtype, source)
            return p.emit(tir.CastOp(expr(p, value, site.node), target), site.node)
        return cast_to(p, value, dtype if isinstance(dtype, VectorType) else tir.with_lanes(dtype, source), site.node)

    return build


def _reinterpret(p: TirParser, site: CallSite) -> SSAValue:
    dtype, x = _dtype_first(site, "dtype value")
    value, target = expr(p, x, site.node), as_dtype(p, dtype, site.node)
    if value.type == target:
        return value
    bits = [64 if isinstance(t, tir.HandleType) else bit_width(element(t)) * lanes_of(t) for t in (value.type, target)]
    if bits[0] != bits[1]:
        raise site.error("the types must have the same number of bits", expected=target, found=value.type)
    return p.emit(tir.ReinterpretOp(value, target), site.node)


def _dtype_first(site: CallSite, names: str) -> list[Any]:
    """Return arguments whose first one is a dtype, which may also be passed last as `dtype=`."""
    if "dtype" not in site.kwargs:
        return list(site.bind(names))
    return list(
        replace(
            site, args=[site.kwargs["dtype"], *site.args], kwargs={k: v for k, v in site.kwargs.items() if k != "dtype"}
        ).bind(names)
    )


def _count(p: TirParser, value: Any, site: CallSite) -> tuple[int, bool]:
    """Return the number of lanes, and whether it is multiplied by `T.vscale()`."""
    symbolic = as_sym(value)
    scalable = symbolic is None and isinstance(value, SSAValue)
    count = tir.vscale_factor(value) if scalable else symbolic and symbolic.constant
    if count is None or count < 1:
        raise site.error(
            "the number of lanes must be a positive constant, or T.vscale() times one", found=describe(value)
        )
    return count, scalable


def _ramp(p: TirParser, site: CallSite) -> SSAValue:
    base, stride, count = site.bind("base stride lanes")
    a, b = match_types(p, (base, stride), site.node)
    if not isinstance(a.type, IntegerType):
        raise site.error("base and stride must be integers", found=a.type)
    return p.emit(tir.RampOp(a, b, *_count(p, count, site)), site.node)


def _broadcast(p: TirParser, site: CallSite) -> SSAValue:
    value, count = site.bind("value lanes")
    return p.emit(tir.BroadcastOp(expr(p, value, site.node), *_count(p, count, site)), site.node)


def _active_lane_mask(p: TirParser, site: CallSite) -> SSAValue:
    """Parse `T.get_active_lane_mask("uint1x4", base, limit)`: a mask of the lanes with `base + lane < limit`."""
    dtype, base, limit = site.bind("dtype base limit")
    return p.emit(
        tir.CallIntrinOp(
            "get_active_lane_mask", match_types(p, (base, limit), site.node), as_dtype(p, dtype, site.node)
        ),
        site.node,
    )


def _shuffle(p: TirParser, site: CallSite) -> SSAValue:
    vectors, lanes = site.bind("vectors indices")
    if not (isinstance(vectors, tuple | list) and isinstance(lanes, tuple | list) and vectors and lanes):
        raise site.error("lists of vectors and of lanes are expected", expected="T.Shuffle([a, b], [0, 5])")
    sources = [expr(p, v, site.node) for v in cast("list[Any]", vectors)]
    return _shuffled(p, sources, [_constant_lane(lane, site) for lane in cast("list[Any]", lanes)], site)


def _shuffled(p: TirParser, vectors: list[SSAValue], lanes: list[int], site: CallSite) -> SSAValue:
    if len({element(v.type) for v in vectors}) > 1:
        raise site.error("the vectors must have one type of elements", found=", ".join(str(v.type) for v in vectors))
    count = sum(lanes_of(v.type) for v in vectors)
    wrong = next((i for i in lanes if not 0 <= i < count), None)
    if wrong is not None:
        raise site.error("there is no such lane", expected=f"0 <= lane < {count}", found=wrong)
    return p.emit(tir.ShuffleOp(vectors, lanes), site.node)


def _constant_lane(value: Any, site: CallSite) -> int:
    lane = as_sym(value)
    if lane is None or lane.constant is None:
        raise site.error("the number of a lane must be a constant", found=describe(value))
    return lane.constant


def _vector_half(low: bool) -> Builder:
    """Return the builder of `T.vectorlow(dtype, v)` or `T.vectorhigh`: the first or second half of the lanes."""

    def build(p: TirParser, site: CallSite) -> SSAValue:
        dtype, vec = site.bind("dtype vec")
        value, target = expr(p, vec, site.node), as_dtype(p, dtype, site.node)
        half = lanes_of(value.type) // 2
        if target != tir.with_lanes_of(element(value.type), half) or half * 2 != lanes_of(value.type):
            raise site.error("the result has half the lanes", found=f"{target} of {value.type}")
        return p.emit(tir.CallIntrinOp("vectorlow" if low else "vectorhigh", [value], target), site.node)

    return build


def _vector_combine(p: TirParser, site: CallSite) -> SSAValue:
    dtype, a, b = site.bind("dtype vec1 vec2")
    x, y = expr(p, a, site.node), expr(p, b, site.node)
    target = as_dtype(p, dtype, site.node)
    if x.type != y.type or target != tir.with_lanes_of(element(x.type), 2 * lanes_of(x.type)):
        raise site.error("two vectors of one type give one of all their lanes", found=f"{x.type}, {y.type}, {target}")
    return p.emit(tir.CallIntrinOp("vectorcombine", [x, y], target), site.node)


def _infinity(p: TirParser, site: CallSite) -> Imm:
    dtype = as_dtype(p, site.bind("dtype")[0], site.node)
    if not is_float(dtype):
        raise site.error("only floating point types have an infinity", found=dtype)
    return Imm(float("inf"), dtype)


def _limit(least: bool) -> Builder:
    def build(p: TirParser, site: CallSite) -> Imm:
        return limit(as_dtype(p, site.bind("dtype")[0], site.node), least)

    return build


def limit(dtype: Attribute, least: bool) -> Imm:
    """Return the least or greatest finite value of a type."""
    if is_float(dtype):
        import ml_dtypes

        from ...dialects.dtypes import numpy_dtype

        info = ml_dtypes.finfo(numpy_dtype(dtype))
        return Imm(float(info.min if least else info.max), dtype)
    bits = bit_width(dtype)
    if is_unsigned(dtype):
        return Imm(0 if least else (1 << bits) - 1, dtype)
    return Imm(-(1 << (bits - 1)) if least else (1 << (bits - 1)) - 1, dtype)


def _env_thread(p: TirParser, site: CallSite) -> EnvThread:
    tag, dtype = site.bind("thread_tag dtype=")
    if not isinstance(tag, str):
        raise site.error("a thread is named by its tag", expected='"threadIdx.x", …', found=describe(tag))
    index_type = i32 if dtype is None else as_dtype(p, dtype, site.node)
    if not isinstance(index_type, IntegerType):
        raise site.error("the number of a thread is an integer", found=dtype_name(index_type))
    return EnvThread(tag, index_type)


def _address_of(p: TirParser, site: CallSite) -> SSAValue:
    (access,) = site.bind("buffer_load")
    if not isinstance(access, Access):
        raise site.error("an element of a buffer is expected", expected="A[i, j]", found=describe(access))
    return p.emit(tir.CallIntrinOp("address_of", [load(p, access)], tir.address_type(access.buffer)), site.node)


def _type_annotation(p: TirParser, site: CallSite) -> SSAValue:
    return p.emit(tir.CallIntrinOp("type_annotation", [], as_dtype(p, site.bind("dtype")[0], site.node)), site.node)


def _handle(p: TirParser, site: CallSite) -> FreshVar:
    """Parse `T.handle("float32", "global")`, once called `T.ptr`: the address of elements of a type, also `"void"`, or
    of no particular type.
    """
    dtype, scope, _ = site.bind("dtype= storage_scope= is_size_var=")
    if dtype is None:
        return FreshVar(HANDLE)
    if scope is not None and not isinstance(scope, str):
        raise site.error("the scope is a string", found=describe(scope))
    element = tir.VOID if dtype == "void" else as_dtype(p, dtype, site.node)
    return FreshVar(tir.HandleType(element, StringAttr(scope or "global")))


def _target(p: TirParser, site: CallSite) -> tir.TargetAttr:
    """Parse `T.target("llvm")` in attributes."""
    config, host = site.bind("target_config host=")
    if not isinstance(config, str | dict):
        raise site.error("a target is a string or a dictionary", found=describe(config))
    with p.source.located(site.node):
        return tir.TargetAttr.of(_config(config), None if host is None else _config(host))


def _config(value: Any) -> Any:
    """Return the configuration of a target, with plain numbers for typed constants and its host as a dictionary."""
    if isinstance(value, tir.TargetAttr):
        return value.config
    if isinstance(value, dict):
        return {k: _config(v) for k, v in cast("dict[str, Any]", value).items()}
    return plain_value(value)


def _fresh(p: TirParser, site: CallSite) -> FreshVar:
    """Parse `T.Var("n", "int64")`, or with one argument `T.var("int64")` or `te.var("n")`."""
    single = site.args[0] if len(site.args) == 1 and not site.kwargs else None
    if isinstance(single, str) and dtype_by_name(single) is not None:
        return FreshVar(as_dtype(p, single, site.node))
    _, dtype = site.bind("name= dtype=")
    return FreshVar(as_dtype(p, dtype, site.node, "int32"))


def _number(p: TirParser, site: CallSite) -> Imm:
    """Parse `T.IntImm("int64", 3)` or `tvm.tir.const(3, "int64")`: a typed number."""
    value, dtype = site.bind("value dtype=") if site.name.endswith("const") else reversed(site.bind("dtype value"))
    imm = imm_of(value)
    if imm is None:
        raise site.error("a number is expected", found=describe(value))
    return imm if dtype is None else convert(imm, as_dtype(p, dtype, site.node))


def typed(p: TirParser, dtype: Attribute, site: CallSite) -> Any:
    """Parse `T.float32(0)`, `T.int64(n)` or `T.int64()`."""
    site.kwargs.pop("is_size_var", None)
    (value,) = site.bind("expr=")
    if value is None:
        return FreshVar(dtype)
    if isinstance(value, str):
        return Imm(_float_text(p, value, dtype, site), dtype)
    imm = imm_of(value)
    if imm is not None and not isinstance(dtype, VectorType):
        return convert(imm, dtype)
    if isinstance(value, SymExpr) and value.dtype == dtype:
        return value
    return cast_to(p, value, dtype, site.node)


def _float_text(p: TirParser, text: str, dtype: Attribute, site: CallSite) -> float:
    if text not in ("inf", "-inf", "nan") or not is_float(dtype):
        raise site.error("a string here names a float", expected='"inf", "-inf" or "nan"', found=repr(text))
    return float(text)


def _if_then_else(p: TirParser, node: ast.Call) -> SSAValue:
    """Parse `T.if_then_else(c, a, b)`: each operand has its own region, as only one of them is evaluated."""
    named = {k.arg: k.value for k in node.keywords if k.arg != "dtype"}
    arguments = [*node.args, *(named.pop(n) for n in ("cond", "t", "f")[len(node.args) :] if n in named)]
    if len(arguments) != 3 or named:
        raise p.error(node, "T.if_then_else takes a condition and two values", expected=3, found=len(node.args))
    cond = as_condition(p, p.visit(arguments[0]), arguments[0])
    sides = [_side(p, n) for n in arguments[1:]]
    dtype = _common_type(p, sides, node)
    regions = [_finish(p, block, value, dtype, node) for block, value in sides]
    return p.emit(tir.IfThenElseOp(cond, *regions), node)


def _side(p: TirParser, node: ast.expr) -> tuple[Block, Any]:
    with p.at(Block()):
        value = p.visit(node)
        return p.block, load(p, value) if isinstance(value, Access) else value


def _common_type(p: TirParser, sides: list[tuple[Block, Any]], node: ast.AST) -> Attribute:
    """Return the common type of both operands."""
    types = [type_of(p, value, node) for _, value in sides]
    dtype = promote(element(types[0]), element(types[1]))
    vector = next((t for t in types if isinstance(t, VectorType)), None)
    return dtype if vector is None else tir.with_lanes(dtype, vector)


def _finish(p: TirParser, block: Block, value: Any, dtype: Attribute, node: ast.AST) -> Region:
    with p.at(block):
        p.emit(tir.YieldOp(cast_to(p, value, dtype, node)), node)
    return Region(block)


def _let_in(p: TirParser, node: ast.Call) -> SSAValue:
    """Parse `T.Let(body, where={x: value})`: the body has its own region, in which `x` is the value."""
    where = next((k.value for k in node.keywords if k.arg == "where"), node.args[1] if len(node.args) > 1 else None)
    names = where.keys if isinstance(where, ast.Dict) else []
    if not node.args or len(names) != 1 or not isinstance(names[0], ast.Name) or not isinstance(where, ast.Dict):
        raise p.error(node, "T.Let gives one value a name", expected="T.Let(x + 1, where={x: value})")
    declared = p.visit(names[0])
    dtype = declared.dtype if isinstance(declared, FreshVar | SymExpr) else None
    if dtype is None:
        raise p.error(names[0], "the name is no variable", expected="x = T.int32()", found=describe(declared))
    value = cast_to(p, p.visit(where.values[0]), dtype, where)
    body = Block(arg_types=[value.type])
    set_name(body.args[0], names[0].id)
    with p.into(body) as frame:
        frame[names[0].id] = body.args[0]
        p.emit(tir.YieldOp(expr(p, p.visit(node.args[0]), node)), node)
    return p.emit(tir.LetInOp(value, Region(body)), node)


_OPERATOR_NAMES = {
    **{kind: kind for kind in ("min", "max", "floordiv", "floormod", "truncdiv", "truncmod")},
    "indexdiv": "floordiv",
    "indexmod": "floormod",
    "div": "truncdiv",
}


CALLS: dict[str, Builder] = {
    **{name: _unary(name) for name in tir.UNARY},
    **{name: _rounding(name) for name in tir.ROUNDING},
    **{name: _unary(name, i1) for name in tir.CLASSIFYING},
    **{name: _unary(name, i32) for name in tir.COUNTING},
    **{name: _matched(name) for name in (*tir.BINARY_INTRINSICS, "strict_multiply")},
    **{name: _operator(kind) for name, kind in _OPERATOR_NAMES.items()},
    **{name: _node("truncdiv" if kind == "div" else kind) for kind, name in tir.NODE_NAMES.items()},
    **dict.fromkeys(("pow", "power"), _node("pow")),
    "fma": _matched("fma", "x y z"),
    "any": _reduce("or"),
    "all": _reduce("and"),
    "Not": lambda p, site: unary(p, "not", site.bind("a")[0], site.node),
    "bitwise_not": lambda p, site: unary(p, "bitwise_not", site.bind("x")[0], site.node),
    "abs": _abs,
    "ceildiv": _ceildiv,
    "Select": _select,
    "Cast": _cast("dtype value"),
    "cast": _cast("value dtype"),
    "reinterpret": _reinterpret,
    "Ramp": _ramp,
    "ramp": _ramp,
    "Broadcast": _broadcast,
    "broadcast": _broadcast,
    "infinity": _infinity,
    "min_value": _limit(True),
    "max_value": _limit(False),
    "address_of": _address_of,
    "type_annotation": _type_annotation,
    **dict.fromkeys(("IntImm", "FloatImm", "const"), _number),
    "meta_var": lambda p, site: MetaVar(site.bind("value")[0]),
    **dict.fromkeys(("target", "Target"), _target),
    **dict.fromkeys(("handle", "ptr", "Ptr"), _handle),
    "var": _fresh,
    "SizeVar": _fresh,
    "Var": _fresh,
    "Shuffle": _shuffle,
    "vectorlow": _vector_half(True),
    "vectorhigh": _vector_half(False),
    "vectorcombine": _vector_combine,
    "vscale": lambda p, site: (site.bind(""), p.emit(tir.CallIntrinOp("vscale", [], i32), site.node))[1],
    "get_active_lane_mask": _active_lane_mask,
    "env_thread": _env_thread,
}
"""Builders of the expressions of `T` by name."""


FORMS: dict[str, Callable[[TirParser, ast.Call], Any]] = {
    "if_then_else": _if_then_else,
    "Let": _let_in,
    "reduce": reduce,
    "Reduce": reduce,
    "comm_reducer": comm_reducer,
}
"""Expressions of `T` that evaluate their arguments themselves, by name."""
