"""Random Relax modules that are well-formed and defined at (nearly) every size.

Values carry a bound of their magnitude, so that no program overflows, and whether they are exact:
comparisons and roundings use exact values only, since the last bit may differ between two correct results.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import FloatAttr, ModuleOp, bf16, f16, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax import OPERATORS, TensorType, free_symbolic_vars
from ...dialects.relax.types import erase_unbound, substitute_type
from ...dialects.sym.expr import Const, SymExpr, Var, product

Shape = tuple[SymExpr, ...]

N, M = Var("n"), Var("m")
DIMS: tuple[SymExpr, ...] = (Const(1), Const(3), Const(4), Const(2), N, M, N + 1, N * 2, N + M)
STATIC: tuple[SymExpr, ...] = (Const(1), Const(3), Const(4), Const(2))
LIMIT = {f32: 200.0, f16: 6.0, bf16: 4.0, i32: 1e6, i64: 1e6, i1: 1.0}


@dataclass(frozen=True)
class Known:
    """A bound of a value's magnitude, and whether all correct results are bitwise equal."""

    bound: float
    exact: bool


def tensor(shape: Sequence[SymExpr], dtype: Attribute) -> TensorType:
    """Return the struct info of a tensor."""
    return TensorType.of(shape, dtype)


def type_of(value: SSAValue) -> TensorType:
    """Return the type of a tensor."""
    assert isinstance(value.type, TensorType)
    return value.type


class Maker:
    """A function under construction. Operands come from `pool`; a missing one becomes a new parameter."""

    def __init__(self, rng: random.Random, dims: Sequence[SymExpr] = DIMS, dtypes: Sequence[Attribute] = (f32,)):
        self.rng = rng
        self.dims = dims
        self.dtypes = dtypes
        self.body = Block()
        self.block = self.body
        self.pool: list[SSAValue] = []
        self.known: dict[SSAValue, Known] = {}
        self.count = 0
        self.callees: list[relax.FuncOp] = []
        self.steps: Sequence[str] = tuple(STEPS)
        for var in [d for d in dims if isinstance(d, Var)]:
            self.param(tensor((var,), dtypes[0]))

    # choices

    def choice(self, items: Sequence[Any]) -> Any:
        return items[0] if len(items) == 1 else self.rng.choice(items)

    def chance(self) -> bool:
        return bool(self.rng.getrandbits(1))

    def number(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def shape(self, least: int = 0, most: int = 3) -> Shape:
        return tuple(self.choice(self.dims) for _ in range(self.number(least, most)))

    # values

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def param(self, t: TensorType) -> SSAValue:
        """Return a new parameter; inputs are in [-1, 1), integers in [0, 3)."""
        value = self.body.insert_arg(t, len(self.body.args))
        set_name(value, self.fresh("x"))
        self.pool.append(value)
        self.known[value] = Known(3.0 if t.element in (i32, i64) else 1.0, True)
        return value

    def any(self, matches: Callable[[TensorType], bool], otherwise: Callable[[], TensorType]) -> SSAValue:
        """Return a value whose type `matches`, preferring new ones, or else a parameter of the type `otherwise()`."""
        fit = [v for v in reversed(self.pool) if isinstance(v.type, TensorType) and matches(v.type)]
        return self.choice(fit[:4]) if fit and (len(fit) > 2 or self.chance()) else self.param(otherwise())

    def of(self, t: TensorType) -> SSAValue:
        """Return a value of a type: one of the pool, a constant, or a parameter."""
        fit = [v for v in reversed(self.pool) if v.type == t]
        if fit and self.chance():
            return self.choice(fit[:4])
        static = all(d.constant is not None for d in t.dims or ())
        return self.constant(t) if static and self.chance() else self.param(t)

    def constant(self, t: TensorType) -> SSAValue:
        """Return a constant tensor; a named one is a separate binding, an unnamed one is printed inline."""
        rng = np.random.default_rng(self.number(0, 5))
        shape = [d.constant or 0 for d in t.dims or ()]
        array = rng.integers(0, 3, shape) if t.element in (i1, i32, i64) else rng.integers(-8, 8, shape) / 8
        op = relax.ConstantOp.of(array, t.element or f32)
        self.block.add_op(op)
        self.known[op.result] = Known(2.0, True)
        if self.number(0, 3) == 3:
            set_name(op.result, self.fresh("c"))
        return op.result

    def leaf(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def operator(self, name: str, *args: Any, **attrs: Any) -> Operation:
        op = OPERATORS[f"relax.{name}"].make(*args, **attrs)
        self.bind(op)
        return op

    def bind(self, op: Operation) -> Operation:
        """Add a binding with a name and put its value into the pool."""
        self.block.add_op(op)
        for r in op.results:
            set_name(r, self.fresh("lv"))
            self.pool.append(r)
        return op

    def make(self, name: str, *args: Any, bound: float, exact: bool = False, **attrs: Any) -> SSAValue:
        """Return an operator's result with the given bound; a large one is squashed."""
        value = self.operator(name, *args, **attrs).results[0]
        self.known[value] = Known(bound, exact)
        t = value.type
        if isinstance(t, TensorType) and bound > LIMIT.get(t.element or f32, math.inf):
            return self.squash(value)
        return value

    def squash(self, value: SSAValue) -> SSAValue:
        if type_of(value).element in (i32, i64):
            two = self.constant_of(7, type_of(value).element or f32)
            return self.make("floor_mod", value, two, bound=7, exact=True)
        return self.make("tanh", value, bound=1)

    def constant_of(self, number: float, dtype: Attribute) -> SSAValue:
        value = self.leaf(relax.ConstantOp.of(np.asarray(number), dtype))
        self.known[value] = Known(abs(number), True)
        return value

    def bound(self, *values: SSAValue) -> float:
        return max(self.known[v].bound for v in values)

    def exact(self, *values: SSAValue) -> bool:
        return all(self.known[v].exact for v in values)

    def floating(self, exact: bool = False, least: int = 0, most: int = 4) -> SSAValue:
        """Return a floating-point tensor."""
        floats = [d for d in self.dtypes if d in (f32, f16, bf16)] or [f32]
        return self.any(
            lambda t: t.element in (f32, f16, bf16) and least <= (t.rank or 0) <= most,
            lambda: tensor(self.shape(least, min(most, 3)), self.choice(floats)),
        )

    def numeric(self, least: int = 0, most: int = 4) -> SSAValue:
        """Return a numeric tensor."""
        return self.any(
            lambda t: t.element != i1 and least <= (t.rank or 0) <= most,
            lambda: tensor(self.shape(least, min(most, 3)), self.choice([d for d in self.dtypes if d != i1])),
        )

    def exact_value(self) -> SSAValue:
        fit = [v for v in self.pool if isinstance(v.type, TensorType) and v.type.element != i1 and self.exact(v)]
        return self.choice(fit[-4:]) if fit else self.param(tensor(self.shape(), self.dtypes[0]))

    def partner(self, x: SSAValue, dtype: Attribute | None = None) -> SSAValue:
        """Return a value that broadcasts with `x` to the shape of `x`, or to one of a higher rank."""
        t: Any = x.type
        dims = [d if self.number(0, 3) else Const(1) for d in t.dims]
        cut = self.number(0, len(dims)) if self.chance() else 0
        dims = dims[cut:]
        if not cut and len(dims) < 4 and self.number(0, 7) == 7:
            dims = [self.choice(self.dims), *dims]
        return self.of(tensor(dims, dtype or t.element))


# What a step may do


def unary(m: Maker) -> None:
    x = m.floating()
    name = m.choice(["exp", "tanh", "sigmoid", "negative", "nn.relu", "abs", "square", "sin", "cos", "nn.gelu",
                     "nn.silu", "erf", "nn.gelu_tanh", "atan", "nn.selu"])  # fmt: skip
    b, keeps = m.bound(x), name in ("negative", "nn.relu", "abs")
    if name == "exp" and b > 4:
        x, b = m.make("tanh", x, bound=1), 1.0
    bound = {"exp": math.exp(min(b, 4)), "square": b * b, "nn.selu": 1.8 * b}.get(name, max(b, 1))
    m.make(name, x, bound=bound, exact=keeps and m.exact(x))


def guarded(m: Maker) -> None:
    """Apply a partial function to an operand that stays away from the edges of its domain."""
    x = m.floating()
    positive = m.make("abs", x, bound=m.bound(x))
    one = m.constant_of(1.0, type_of(x).element or f32)
    safe = m.make("add", positive, one, bound=m.bound(positive) + 1)
    name = m.choice(["sqrt", "log", "rsqrt", "divide"])
    args = (m.of(type_of(x)), safe) if name == "divide" else (safe,)
    m.make(name, *args, bound=max(m.bound(safe), *(m.bound(a) for a in args)))


def binary(m: Maker) -> None:
    x = m.numeric()
    y = m.partner(x)
    if m.chance():
        x, y = y, x
    name = m.choice(["add", "multiply", "subtract", "maximum", "minimum"])
    a, b = m.bound(x), m.bound(y)
    bound = {"multiply": a * b, "maximum": max(a, b), "minimum": max(a, b)}.get(name, a + b)
    integer = type_of(x).element in (i32, i64)
    m.make(name, x, y, bound=bound, exact=m.exact(x, y) and (integer or name in ("maximum", "minimum")))


def integers(m: Maker) -> None:
    kind = m.choice([i32, i64])
    x = m.any(lambda t: t.element == kind, lambda: tensor(m.shape(), kind))
    name = m.choice(["floor_divide", "floor_mod", "divide", "mod", "left_shift", "right_shift", "bitwise_and",
                     "bitwise_xor", "bitwise_or", "bitwise_not", "negative", "abs", "square", "sign"])  # fmt: skip
    b = m.bound(x)
    if name in ("bitwise_not", "negative", "abs", "square", "sign"):
        m.make(name, x, bound=b * b if name == "square" else b + 1, exact=True)
        return
    divisor = m.constant_of(
        m.choice([2, 3, -2] if name in ("floor_divide", "floor_mod", "divide", "mod") else [1, 2]), kind
    )
    m.make(name, x, divisor, bound=4 * b + 4, exact=True)


def compare(m: Maker) -> None:
    x = m.exact_value()
    t: Any = x.type
    y = m.choice([v for v in m.pool if v.type == t and m.exact(v)][-3:])
    name = m.choice(["less", "greater_equal", "equal", "not_equal", "greater", "less_equal"])
    c = m.make(name, x, y, bound=1, exact=True)
    m.make("where", c, m.partner(x, f32) if m.chance() else m.of(tensor(t.dims, f32)), m.constant_of(0.5, f32), bound=8)


def booleans(m: Maker) -> None:
    x = m.any(lambda t: t.element == i1, lambda: tensor(m.shape(), i1))
    name = m.choice(["logical_and", "logical_or", "logical_xor", "logical_not"])
    args = [x] if name == "logical_not" else [x, m.partner(x)]
    m.make(name, *args, bound=1, exact=True)


def astype(m: Maker) -> None:
    x = m.numeric()
    to = m.choice(["float32", "float16", "int32", "int64", "bfloat16"])
    if to.startswith("int") and not m.exact(x):
        to = "float32"
    small = to in ("float16", "bfloat16") and m.bound(x) > 4
    if small:
        x = m.squash(x)
    m.make("astype", x, dtype=to, bound=max(m.bound(x), 1), exact=m.exact(x) and to.startswith("int"))


def _axes(m: Maker, x: SSAValue) -> list[int]:
    rank = type_of(x).rank or 0
    axes = [a for a in range(rank) if m.chance()]
    return [a - rank if m.chance() else a for a in axes]


def reduction(m: Maker) -> None:
    x = m.numeric(1)
    t: Any = x.type
    axis = m.choice([None, _axes(m, x)])
    if axis == []:
        axis = [-1]
    low = t.element in (f16, bf16)
    integer = t.element in (i32, i64)
    names = ["max", "min"] + (["sum"] if not low else []) + (["mean", "variance"] if not low and not integer else [])
    name = m.choice(names)
    b = m.bound(x)
    bound = {"sum": b * 60, "variance": b * b}.get(name, b)
    exact = m.exact(x) and (name in ("max", "min") or integer)
    m.make(name, x, axis=axis, keepdims=m.chance(), bound=bound, exact=exact)


def arg_reduction(m: Maker) -> None:
    x = m.exact_value()
    t: Any = x.type
    if not t.rank or any(d.constant == 0 for d in t.dims):  # no element has a position there
        return
    axis = m.choice([None, m.number(-t.rank, t.rank - 1)])
    m.make(m.choice(["argmax", "argmin"]), x, axis=axis, keepdims=m.chance(), bound=1e4, exact=True)


def softmax(m: Maker) -> None:
    x = m.floating(least=1)
    t: Any = x.type
    name = "nn.softmax" if t.element != f32 else m.choice(["nn.softmax", "nn.log_softmax"])
    m.make(name, x, axis=m.number(-t.rank, t.rank - 1), bound=2 * m.bound(x) + 10)


def layer_norm(m: Maker) -> None:
    x = m.any(lambda t: t.element == f32 and (t.rank or 0) > 0, lambda: tensor(m.shape(1, 3), f32))
    t: Any = x.type
    count = m.number(1, min(2, t.rank))
    axes = list(range(-count, 0))
    parameter = tensor(t.dims[-count:], f32)
    m.make("nn.layer_norm", x, m.of(parameter), m.of(parameter), axes=axes, epsilon=m.choice([0.01, 1.0]), bound=50)


def matmul(m: Maker) -> None:
    x = m.any(lambda t: t.element == f32 and (t.rank or 0) > 0, lambda: tensor(m.shape(1, 3), f32))
    t: Any = x.type
    inner = t.dims[-1]
    dims = m.choice([(inner, m.choice(m.dims)), (inner,), (*t.dims[:-2], inner, m.choice(m.dims))])
    y = m.of(tensor(dims, f32))
    m.make("matmul", x, y, bound=10 * m.bound(x) * m.bound(y))


def permute_dims(m: Maker) -> None:
    x = m.numeric()
    order = m.rng.sample(range(rank := type_of(x).rank or 0), rank)
    m.make("permute_dims", x, axes=m.choice([None, list(order)]), bound=m.bound(x), exact=m.exact(x))


def reshape(m: Maker) -> None:
    x = m.numeric()
    t: Any = x.type
    cut = m.number(0, t.rank)
    joined = [product(t.dims[:cut]), *t.dims[cut:]]
    split = [e for d in t.dims for e in ((Const(2), Const(2)) if d.constant == 4 else (d,))]
    turned = list(reversed(t.dims))
    dims = m.choice([[*t.dims, Const(1)], joined, split, turned])
    m.make("reshape", x, m.leaf(relax.ShapeOp(dims[:6])), bound=m.bound(x), exact=m.exact(x))


def small_shapes(m: Maker) -> None:
    x = m.numeric(0, 3)
    t: Any = x.type
    keep = {"bound": m.bound(x), "exact": m.exact(x)}
    name = m.choice(["expand_dims", "squeeze", "flatten", "broadcast_to"])
    if name == "expand_dims":
        m.make(name, x, axis=[m.number(0, t.rank)], **keep)
    elif name == "squeeze":
        y = m.make("expand_dims", x, axis=[t.rank], **keep)
        m.make(name, y, axis=[-1], **keep)
    elif name == "flatten":
        m.make(name, x, **keep)
    else:
        dims = [m.choice(m.dims) if d.constant == 1 else d for d in t.dims]
        m.make(name, x, m.leaf(relax.ShapeOp([m.choice(m.dims), *dims])), **keep)


def concat(m: Maker) -> None:
    x = m.numeric(1)
    t: Any = x.type
    axis = m.number(-t.rank, t.rank - 1)
    others = []
    for _ in range(m.number(0, 2)):
        dims = list(t.dims)
        dims[axis] = m.choice(m.dims)
        others.append(m.of(tensor(dims, t.element)))
    parts = [x, *others, x] if m.chance() else [x, *others]
    if m.number(0, 3) == 3:
        operand = m.bind(relax.TupleOp(parts)).results[0]
        m.known[operand] = Known(m.bound(*parts), m.exact(*parts))
        m.pool.remove(operand)
        m.make("concat", [operand], axis=axis, bound=m.bound(*parts), exact=m.exact(*parts))
    else:
        m.make("concat", parts, axis=axis, bound=m.bound(*parts), exact=m.exact(*parts))


def split(m: Maker) -> None:
    x = m.any(
        lambda t: t.element != i1 and any(d.constant in (3, 4) for d in t.dims or ()),
        lambda: tensor([*m.shape(0, 2), Const(4)], m.dtypes[0]),
    )
    t: Any = x.type
    axis = m.choice([i for i, d in enumerate(t.dims) if d.constant in (3, 4)])
    where = m.choice([2, [1], [1, 3], 3])
    parts = m.operator("split", x, indices_or_sections=where, axis=axis).results[0]
    m.pool.remove(parts)
    fields: Any = parts.type
    for i in range(len(fields.types)):
        if m.chance():
            item = m.bind(relax.TupleGetItemOp(parts, i)).results[0]
            m.known[item] = m.known[x]


def take(m: Maker) -> None:
    x = m.any(
        lambda t: t.element != i1 and any(d.constant in (3, 4) for d in t.dims or ()),
        lambda: tensor([*m.shape(0, 1), Const(4), *m.shape(0, 1)], m.dtypes[0]),
    )
    t: Any = x.type
    axis = m.choice([i for i, d in enumerate(t.dims) if d.constant in (3, 4)])
    indices = m.param(tensor(m.shape(0, 2), m.choice([i64, i32])))
    m.make("take", x, indices, axis=axis, bound=m.bound(x), exact=m.exact(x))


def create(m: Maker) -> None:
    shape = m.leaf(relax.ShapeOp(m.shape()))
    name = m.choice(["zeros", "ones", "full"])
    if name == "full":
        fill = m.of(tensor((), f32))
        m.make(name, shape, fill, dtype="float32", bound=m.bound(fill))
    else:
        m.make(name, shape, dtype=m.choice(["float32", "int32"]), bound=1, exact=True)


def like(m: Maker) -> None:
    m.make(m.choice(["zeros_like", "ones_like"]), m.numeric(), bound=1, exact=True)


def clip(m: Maker) -> None:
    x = m.any(lambda t: t.element == f32, lambda: tensor(m.shape(), f32))
    low, high = (m.leaf(relax.PrimValueOp(FloatAttr(v, f32))) for v in (-0.25, 0.5))
    m.make("clip", x, low, high, bound=m.bound(x), exact=m.exact(x))


def leaky(m: Maker) -> None:
    x = m.floating()
    name = m.choice(["nn.leakyrelu", "nn.softplus"])
    m.make(name, x, bound=m.bound(x) + 1)


def tuples(m: Maker) -> None:
    fields = [m.numeric() for _ in range(m.number(1, 3))]
    operand = m.bind(relax.TupleOp(fields)).results[0]
    m.pool.remove(operand)
    item = m.number(0, len(fields) - 1)
    value = m.bind(relax.TupleGetItemOp(operand, item)).results[0]
    m.known[value] = m.known[fields[item]]


def rename(m: Maker) -> None:
    x = m.numeric()
    m.known[m.bind(relax.BindOp(x)).results[0]] = m.known[x]


STEPS: dict[str, Callable[[Maker], None]] = {
    f.__name__: f
    for f in (
        unary, binary, guarded, reduction, matmul, permute_dims, reshape, small_shapes, concat, split, take, softmax,
        layer_norm, create, like, clip, leaky, tuples, rename, compare, integers, booleans, astype, arg_reduction,
    )
}  # fmt: skip


# What a function is made of


def run_steps(m: Maker, most: int) -> None:
    for _ in range(m.number(1, most)):
        STEPS[m.choice(m.steps)](m)


def end_block(m: Maker, inner: Block) -> list[SSAValue]:
    """Continue in the function body; return the values of the finished block and remove them from the pool."""
    m.block = m.body
    inside = [v for v in m.pool if isinstance(v.owner, Operation) and v.owner.parent is inner]
    m.pool = [v for v in m.pool if v not in inside]
    return inside


def dataflow(m: Maker, most: int) -> None:
    inner = m.block = Block()
    run_steps(m, most)
    values = end_block(m, inner)
    if not values:
        values = [m.param(tensor((), f32))]
        m.pool.pop()
    chosen = [v for v in values[:-1] if m.number(0, 3) == 3] + [values[-1]]
    inner.add_op(relax.OutputOp(chosen))
    block = relax.DataflowOp(Region(inner))
    m.block.add_op(block)
    for value, result in zip(chosen, block.outputs, strict=True):
        same = m.chance() and isinstance(value.owner, Operation)
        set_name(result, name_of(value) if same else m.fresh("gv"))
        m.known[result] = m.known[value]
        m.pool.append(result)


def plain(m: Maker, most: int) -> None:
    run_steps(m, min(most, 3))


def branch(m: Maker, most: int) -> None:
    condition = m.param(tensor((), i1))
    x = m.floating()
    regions: list[Region] = []
    for name in ("negative", "abs"):
        inner = m.block = Block()
        if m.chance():
            run_steps(m, 2)
        last = m.make(name, x, bound=m.bound(x), exact=m.exact(x))
        inner.add_op(relax.YieldOp(last))
        end_block(m, inner)
        regions.append(Region(inner))
    op = m.bind(relax.IfOp(condition, x.type, *regions))
    m.known[op.results[0]] = m.known[x]


def call(m: Maker, most: int) -> None:
    """Add a private function over one symbolic variable, and call it with another extent."""
    callee = Maker(m.rng, [*STATIC, N], m.dtypes)
    callee.steps = m.steps
    callee.count = m.count + 100
    m.choice([dataflow, plain])(callee, 3)
    result = callee.pool[-1]
    func = finish(callee, f"helper{len(m.callees)}", result, private=True)
    m.callees.append(func)
    extent = {N: m.choice([d for d in m.dims if d.constant is None] or [Const(3)])}
    types = [substitute_type(p.type, extent) for p in func.params]
    args = [m.of(t) for t in types if isinstance(t, TensorType)]
    op = m.bind(relax.CallOp(func.sym_name.data, args, substitute_type(func.ret_type, extent)))
    m.known[op.results[0]] = Known(LIMIT[type_of(result).element or f32], False)


def cast(m: Maker, most: int) -> None:
    """Bind a new symbolic variable to an extent that is known already."""
    x = m.numeric(1)
    t: Any = x.type
    if not t.dims:
        return
    name = Var(m.fresh("k"))
    op = m.bind(relax.MatchCastOp(x, tensor([name, *t.dims[1:]], t.element)))
    m.known[op.results[0]] = m.known[x]
    m.dims = [*m.dims, name]


PARTS = {"dataflow": dataflow, "plain": plain, "branch": branch, "call": call, "cast": cast}


def finish(m: Maker, name: str, result: SSAValue, private: bool = False) -> relax.FuncOp:
    m.body.add_op(relax.ReturnOp(result))
    bound = set(free_symbolic_vars([p.type for p in m.body.args]))
    return relax.FuncOp(name, Region(m.body), erase_unbound(result.type, bound), private=private)


def relax_program(
    rng: random.Random,
    steps: Sequence[str] = tuple(STEPS),
    parts: Sequence[str] = ("dataflow", "dataflow", "dataflow", "plain", "branch", "call", "cast"),
    dims: Sequence[SymExpr] = DIMS,
    dtypes: Sequence[Attribute] = (f32, f32, f32, f16, i32, i64),
    most: int = 8,
) -> ModuleOp:
    """Return a module with a public function `main`, and private ones that it calls."""
    m = Maker(rng, dims, (f32, *dtypes))
    m.steps = steps
    for _ in range(m.number(1, 3)):
        PARTS[m.choice(parts)](m, most)
    usable = [v for v in m.pool if isinstance(v.owner, Operation)] or m.pool
    results = [usable[-1]] + [v for v in usable[:-1] if m.number(0, 3) == 3]
    result = results[0]
    if len(results) > 1:
        result = m.leaf(relax.TupleOp(results))
        set_name(result, m.fresh("out") if m.chance() else None)
    return ModuleOp([finish(m, "main", result), *m.callees])
