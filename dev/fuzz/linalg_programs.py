"""Random functions of `linalg.generic`, and what they compute, by numpy.

Iterators, index maps, element types, sizes and unknown sizes are random; an operation may read the result of an earlier
one. Floats are small whole numbers, so that sums and products of them are exact, in any order.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import AffineMapAttr, FloatAttr, IntegerAttr, ModuleOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation, SSAValue

from ...dialects.xdsl_extras.arith_extras import INTEGER_PREDICATES
from ...driver.build import build
from ...frontend.mlir import from_mlir
from ...interpreter import MeaningError
from ...ir.verification.verify import verify_module
from ...script import parse_mlir

_DTYPES = {"f32": "float32", "f64": "float64", "i8": "int8", "i32": "int32", "i64": "int64", "i1": "bool"}
_EXACT = {"float32": 1 << 23, "float64": 1 << 52}
_FLOAT = ("addf", "subf", "mulf", "maximumf", "minimumf")
_INTEGER = ("addi", "subi", "muli", "maxsi", "minsi", "maxui", "minui", "andi", "ori", "xori")
_FOLDS = {"f": ("addf", "maximumf", "minimumf"), "i": ("addi", "maxsi", "minsi", "ori", "andi", "xori")}


@dataclass(frozen=True)
class _Tensor:
    """A value of the function that is built: its name, sizes, which of them its type leaves out, and its elements."""

    name: str
    sizes: tuple[int, ...]
    open: tuple[bool, ...]
    element: str

    @property
    def type(self) -> str:
        extents = "".join("?x" if o else f"{n}x" for n, o in zip(self.sizes, self.open, strict=True))
        return f"tensor<{extents}{self.element}>"


class _Maker:
    def __init__(self, rng: random.Random):
        self.rng = rng
        self.params: list[_Tensor] = []
        self.made: list[_Tensor] = []
        self.lines: list[str] = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def param(self, sizes: Sequence[int], may_be_open: Sequence[bool], element: str) -> _Tensor:
        unknown = tuple(bool(m and self.rng.randint(0, 2) == 0) for m in may_be_open)
        made = _Tensor(f"%a{len(self.params)}", tuple(sizes), unknown, element)
        self.params.append(made)
        return made

    # -- an operation ------------------------------------------------------------------------------------------------

    def operation(self) -> None:
        rng = self.rng
        earlier = rng.choice(self.made) if self.made and rng.randint(0, 1) else None
        extents = list(earlier.sizes) if earlier is not None else []
        while len(extents) < 1 or (len(extents) < 4 and rng.randint(0, 2)):
            extents.append(rng.randint(1, 5))
        reduced = [rng.randint(0, 2) == 0 for _ in extents]
        kept = [d for d in range(len(extents)) if not reduced[d]]
        rng.shuffle(kept)
        inputs: list[tuple[_Tensor, list[str]]] = []
        if earlier is not None:
            inputs.append((earlier, [f"d{d}" for d in range(len(earlier.sizes))]))
        for _ in range(rng.randint(0, 2)):
            inputs.append(self.input(extents))
        fixed = {index for _, indices in inputs for index in indices}
        missing = [d for d in range(len(extents)) if reduced[d] and f"d{d}" not in fixed]
        if missing or not inputs:
            chosen = missing or [0]
            sizes = [extents[d] for d in chosen]
            inputs.append((self.param(sizes, [True] * len(sizes), self.element()), [f"d{d}" for d in chosen]))
        element = self.element()
        init = self.param([extents[d] for d in kept], [True] * len(kept), element)
        self.emit(extents, reduced, inputs, init, [f"d{d}" for d in kept])

    def element(self) -> str:
        return self.rng.choice(list(_DTYPES))

    def input(self, extents: Sequence[int]) -> tuple[_Tensor, list[str]]:
        """Draw a parameter and its indices: iterators, sums of them, and constants."""
        rng = self.rng
        indices: list[str] = []
        sizes: list[int] = []
        simple: list[bool] = []
        for _ in range(rng.randint(0, 3)):
            a, b = rng.randrange(len(extents)), rng.randrange(len(extents))
            kind = rng.randint(0, 5)
            simple.append(kind < 3)
            if kind < 3:
                indices.append(f"d{a}")
                sizes.append(extents[a])
            elif kind == 3:
                factor = rng.randint(1, 3)
                indices.append(f"d{a} * {factor} + d{b}")
                sizes.append((extents[a] - 1) * factor + extents[b] + rng.randint(0, 1))
            elif kind == 4:
                step = rng.randint(1, 2)
                indices.append(f"d{a} + {step}")
                sizes.append(extents[a] + step)
            else:
                at = rng.randint(0, 2)
                indices.append(str(at))
                sizes.append(at + rng.randint(1, 2))
        return self.param(sizes, simple, self.element()), indices

    def emit(
        self,
        extents: Sequence[int],
        reduced: Sequence[bool],
        inputs: Sequence[tuple[_Tensor, list[str]]],
        init: _Tensor,
        place: Sequence[str],
    ) -> None:
        dims = ", ".join(f"d{d}" for d in range(len(extents)))
        maps = [f"affine_map<({dims}) -> ({', '.join(indices)})>" for _, indices in (*inputs, (init, place))]
        kinds = ", ".join('"reduction"' if r else '"parallel"' for r in reduced)
        arguments = [(f"%x{n}", t.element) for n, (t, _) in enumerate(inputs)] + [("%o", init.element)]
        body = self.body(arguments[:-1], init.element, len(extents), any(reduced) or self.rng.randint(0, 2) == 0)
        result = _Tensor(self.fresh(), init.sizes, init.open, init.element)
        types = ", ".join(t.type for t, _ in inputs)
        self.lines += [
            f"{result.name} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}}",
            f"  ins({', '.join(t.name for t, _ in inputs)} : {types}) outs({init.name} : {init.type}) {{",
            f"^bb0({', '.join(f'{name}: {kind}' for name, kind in arguments)}):",
            *body,
            f"}} -> {result.type}",
        ]
        self.made.append(result)

    # -- its body ----------------------------------------------------------------------------------------------------

    def body(self, arguments: Sequence[tuple[str, str]], target: str, rank: int, folds: bool) -> list[str]:
        lines: list[str] = []

        def add(text: str) -> str:
            name = self.fresh()
            lines.append(f"{name} = {text}")
            return name

        values = [self.converted(add, name, kind, target) for name, kind in arguments]
        if self.rng.randint(0, 3) == 0 and target not in ("i1", "i8"):
            index = add(f"linalg.index {self.rng.randrange(rank)} : index")
            number = add(f"arith.index_cast {index} : index to i32")
            values.append(self.converted(add, number, "i32", target))
        if self.rng.randint(0, 2) == 0:
            number = {"f": f"{self.rng.randint(-2, 3)}.0", "i": str(self.rng.randint(-2, 3))}[target[0]]
            values.append(add(f"arith.constant {'true' if target == 'i1' else f'{number} : {target}'}"))
        names = _FLOAT if target[0] == "f" else _INTEGER
        names = ("andi", "ori", "xori", "addi", "muli") if target == "i1" else names
        total = values[0]
        for value in values[1:]:
            total = self.combined(add, total, value, self.rng.choice(names), target)
        if folds:
            fold = self.rng.choice(("ori", "andi", "xori") if target == "i1" else _FOLDS[target[0]])
            total = add(f"arith.{fold} %o, {total} : {target}")
        lines.append(f"linalg.yield {total} : {target}")
        return lines

    def combined(self, add: Callable[[str], str], a: str, b: str, name: str, kind: str) -> str:
        if self.rng.randint(0, 4):
            return add(f"arith.{name} {a}, {b} : {kind}")
        if kind[0] == "f":
            cond = add(f"arith.cmpf {self.rng.choice(('olt', 'oge', 'une', 'oeq'))}, {a}, {b} : {kind}")
        else:
            cond = add(f"arith.cmpi {self.rng.choice(list(INTEGER_PREDICATES))}, {a}, {b} : {kind}")
        return add(f"arith.select {cond}, {a}, {b} : {kind}")

    def converted(self, add: Callable[[str], str], name: str, kind: str, target: str) -> str:
        if kind == target:
            return name
        if kind[0] == target[0] == "f":
            return add(f"arith.{'extf' if kind == 'f32' else 'truncf'} {name} : {kind} to {target}")
        if kind[0] == "f":
            zero = add(f"arith.constant 0.0 : {kind}")
            cond = add(f"arith.cmpf ogt, {name}, {zero} : {kind}")
            return cond if target == "i1" else add(f"arith.extui {cond} : i1 to {target}")
        if target[0] == "f":
            word = self.rng.choice(("sitofp", "uitofp")) if kind in ("i1", "i8") else "sitofp"
            return add(f"arith.{word} {name} : {kind} to {target}")
        if int(kind[1:]) > int(target[1:]):
            return add(f"arith.trunci {name} : {kind} to {target}")
        return add(f"arith.{self.rng.choice(('extsi', 'extui'))} {name} : {kind} to {target}")


def linalg_program(rng: random.Random, least: int = 8, most: int = 12) -> str:
    """Return the text of a function with so many operations, all of whose results it returns."""
    maker = _Maker(rng)
    for _ in range(rng.randint(least, most)):
        maker.operation()
    params = ", ".join(f"{p.name}: {p.type}" for p in maker.params)
    types = ", ".join(t.type for t in maker.made)
    names = ", ".join(t.name for t in maker.made)
    sizes = json.dumps([p.sizes for p in maker.params])
    lines = [
        f"// {sizes}",
        f"func.func @main({params}) -> ({types}) {{",
        *maker.lines,
        f"return {names} : {types}",
        "}",
    ]
    return "\n".join(lines) + "\n"


# -- what it computes --------------------------------------------------------------------------------------------------

_UNSIGNED: Mapping[str, Callable[[Any, Any], Any]] = {"maxui": np.maximum, "minui": np.minimum}
_NUMPY: Mapping[str, Callable[[Any, Any], Any]] = {
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "maximumf": np.maximum, "minimumf": np.minimum,
    "addi": np.add, "subi": np.subtract, "muli": np.multiply, "maxsi": np.maximum, "minsi": np.minimum,
    "andi": np.bitwise_and, "ori": np.bitwise_or, "xori": np.bitwise_xor,
}  # fmt: skip
_ORDERED: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_FLOAT_PREDICATES = {1: "eq", 2: "gt", 3: "ge", 4: "lt", 13: "ne"}


def _unsigned(value: Any) -> Any:
    return value.astype(np.uint8) if value.dtype == np.bool_ else value.view(f"u{value.dtype.name}")


def _signed(value: Any) -> Any:
    return -value.astype(np.int8) if value.dtype == np.bool_ else value


def _dtype(value: SSAValue) -> str:
    return _DTYPES.get(str(value.type), "int64")


def _compared(op: Operation, a: Any, b: Any) -> Any:
    number = cast("IntegerAttr[Any]", op.properties["predicate"]).value.data
    if op.name == "arith.cmpf":
        return _ORDERED[_FLOAT_PREDICATES[number]](a, b)
    name = INTEGER_PREDICATES[number]
    if name in ("eq", "ne"):
        return _ORDERED[name](a, b)
    view = _unsigned if name[0] == "u" else _signed
    return _ORDERED[name[1:]](view(a), view(b))


def _scalar(op: Operation, known: Mapping[SSAValue, Any], indices: Sequence[Any]) -> Any:
    name = op.name.partition(".")[2]
    dtype = _dtype(op.results[0])
    if op.name == "linalg.index":
        return indices[cast("IntegerAttr[Any]", op.properties["dim"]).value.data]
    if name == "constant":
        value = op.properties["value"]
        assert isinstance(value, IntegerAttr | FloatAttr)
        return np.array(value.value.data).astype(dtype)
    values = [np.asarray(known[v]) for v in op.operands]
    if name in ("cmpi", "cmpf"):
        return _compared(op, *values)
    if name == "select":
        return np.where(*values)
    if name in _UNSIGNED:
        return _UNSIGNED[name](*map(_unsigned, values)).view(dtype)
    if name in ("addi", "subi", "muli") and dtype == "bool":
        return {"addi": np.logical_xor, "subi": np.logical_xor, "muli": np.logical_and}[name](*values)
    return _NUMPY[name](*values) if name in _NUMPY else _converted(name, values[0], dtype)


def _converted(name: str, value: Any, dtype: str) -> Any:
    if name in ("extui", "uitofp"):
        return _unsigned(value).astype(dtype)
    if name in ("extsi", "sitofp"):
        return _signed(value).astype(dtype)
    if name == "trunci" and dtype == "bool":
        return (value & 1).astype(bool)
    return value.astype(dtype)


def reference(op: linalg.GenericOp, known: Mapping[SSAValue, Any]) -> Any:
    """Return the result of an operation: points of reductions one after another, all others at once."""
    maps = [cast(AffineMapAttr, m).data for m in op.indexing_maps]
    operands = [known[v] for v in (*op.inputs, *op.outputs)]
    extents = [0] * maps[0].num_dims
    every = [str(r) for r in maps[-1].results]
    for data, array in zip(maps, operands, strict=True):
        for result, size in zip(data.results, array.shape, strict=True):
            if str(result).startswith("d") and str(result)[1:].isdigit():
                extents[int(str(result)[1:])] = size
    parallel = [f"d{d}" in every for d in range(len(extents))]
    out = operands[-1].copy()
    grid = [np.arange(n) if p else None for n, p in zip(extents, parallel, strict=True)]
    for point in np.ndindex(*(1 if p else n for n, p in zip(extents, parallel, strict=True))):
        indices = np.broadcast_arrays(*_open_grid(grid, point)) if extents else []
        places = [tuple(_evaluated(r, indices) for r in data.results) for data in maps]
        elements: dict[SSAValue, Any] = {
            arg: array[place]
            for arg, array, place in zip(op.body.block.args, [*operands[:-1], out], places, strict=True)
        }
        for inner in op.body.block.ops:
            if inner.name == "linalg.yield":
                value = np.asarray(elements[inner.operands[0]])
                out[places[-1]] = value if places[-1] else value.reshape(-1)[0]
                break
            elements[inner.results[0]] = _scalar(inner, elements, indices)
    return out


def _open_grid(grid: Sequence[Any], point: Sequence[int]) -> list[Any]:
    rank = len(grid)
    return [
        np.full([1] * rank, point[d]) if axis is None else axis.reshape([-1 if a == d else 1 for a in range(rank)])
        for d, axis in enumerate(grid)
    ]


def _evaluated(expression: Any, indices: Sequence[Any]) -> Any:
    shape = indices[0].shape if indices else ()
    return np.broadcast_to(np.asarray(expression.eval(list(indices), [])), shape)


def arguments(text: str, function: func.FuncOp) -> list[Any]:
    """Return random arguments of the sizes that the first line of a text lists."""
    draw = np.random.default_rng(zlib.crc32(text.encode()))
    made: list[Any] = []
    for sizes, arg in zip(json.loads(text.splitlines()[0][3:]), function.args, strict=True):
        dtype = _DTYPES[str(cast(Any, arg.type).element_type)]
        low, high = (0, 2) if dtype == "bool" else (-3, 4)
        made.append(draw.integers(low, high, sizes).astype(dtype))
    return made


def check_linalg(text: str) -> int:
    """Compare native code with numpy; return how many results were compared. Raises `MeaningError`."""
    module = parse_mlir(text)
    function = next(op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    args = arguments(text, function)
    known: dict[SSAValue, Any] = dict(zip(function.args, args, strict=True))
    exact: set[SSAValue] = set(function.args)
    with np.errstate(all="ignore"):
        for op in function.body.block.ops:
            if isinstance(op, linalg.GenericOp):
                known[op.results[0]] = reference(op, known)
                if all(v in exact for v in op.operands) and _is_exact(known[op.results[0]]):
                    exact.add(op.results[0])
    imported: ModuleOp = from_mlir(module)
    verify_module(imported)
    results = build(imported)["main"](*args)
    last = function.body.block.last_op
    assert last is not None
    compared = 0
    for number, (value, result) in enumerate(zip(last.operands, _listed(results), strict=True)):
        if value not in exact:
            continue
        compared += 1
        if not np.array_equal(np.asarray(result), known[value]):
            raise MeaningError(f"result {number} is\n{np.asarray(result)}\nand not\n{known[value]}")
    return compared


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]


def _is_exact(array: Any) -> bool:
    """Return whether floats are far from where sums of whole numbers are rounded."""
    limit = _EXACT.get(array.dtype.name)
    return limit is None or array.size == 0 or bool(np.abs(array).max() * 64 < limit)
