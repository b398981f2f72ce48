"""Random functions of `linalg.generic`, beside numpy.

Drawn are: iterators (none to five, of sizes 0, 1 and primes, reductions anywhere among them), the operands' index maps
(permuted, repeated and missing iterators, constants, windows, offsets, reversals, quotients and remainders), types (all
integers, floats and `index`), sizes that types leave out, one to three outputs with initial values of all kinds, bodies
(`linalg_bodies.py`), and what an operation reads of earlier ones. A function is on tensors or on memrefs.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...driver.build import build
from ...frontend.mlir import from_mlir
from ...interpreter import MeaningError
from ...ir.verification.verify import verify_module
from ...script import parse_mlir
from .linalg_bodies import FOLDS, Body, Value
from .linalg_reference import arguments, run_function
from .linalg_scalars import DTYPES, FLOATS

_SIZES = (0, 1, 1, 2, 2, 3, 3, 5, 5, 7, 11, 13)
_POINTS, _STEPS = 3000, 150
"""The most points of an operation, and of its reductions."""


@dataclass(frozen=True)
class _Tensor:
    """A value of the function: its name, sizes, which of them its type leaves out, and the type of its elements."""

    name: str
    sizes: tuple[int, ...]
    open: tuple[bool, ...]
    element: str
    memref: bool = False

    @property
    def type(self) -> str:
        extents = "".join("?x" if o else f"{n}x" for n, o in zip(self.sizes, self.open, strict=True))
        return f"{'memref' if self.memref else 'tensor'}<{extents}{self.element}>"


@dataclass(frozen=True)
class _Index:
    """An index of a map: its text, the size that it needs, and the iterator that it is, if it is one."""

    text: str
    size: int
    iterator: int | None = None


class _Maker:
    def __init__(self, rng: random.Random, memrefs: bool):
        self.rng, self.memrefs = rng, memrefs
        self.params: list[tuple[str, str, tuple[int, ...]]] = []
        self.tensors: list[_Tensor] = []
        self.results: list[_Tensor] = []
        self.outer: list[Value] = []
        self.lines: list[str] = []
        self.count = 0
        for kind in ("f32", "i32", "index", "i64", "f16"):
            if not memrefs and rng.randint(0, 9) == 0:
                self.outer.append((f"%a{len(self.params)}", kind))
                self.params.append((f"%a{len(self.params)}", kind, ()))

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def tensor(self, sizes: Sequence[int], element: str, others: Sequence[_Tensor] = ()) -> _Tensor:
        """Return a tensor of these sizes: one that is there, but for `others`, or a parameter."""
        rng = self.rng
        fitting = [t for t in self.tensors if t.sizes == tuple(sizes) and t not in others]
        if fitting and rng.randint(0, 1):
            return rng.choice(fitting)
        unknown = tuple(rng.randint(0, 2) == 0 for _ in sizes)
        result = _Tensor(f"%a{len(self.params)}", tuple(sizes), unknown, element, self.memrefs)
        self.params.append((result.name, result.type, result.sizes))
        self.tensors.append(result)
        return result

    def element(self) -> str:
        return self.rng.choice(list(DTYPES))

    # -- an operation ------------------------------------------------------------------------------------------------

    def operation(self) -> None:
        rng = self.rng
        earlier = rng.choice(self.tensors) if self.tensors and rng.randint(0, 2) else None
        extents = list(earlier.sizes[:4]) if earlier is not None else []
        while len(extents) < 5 and rng.randint(0, 2):
            extents.append(rng.choice(_SIZES))
        while np.prod(extents, dtype=int) > _POINTS:
            extents[extents.index(max(extents))] = 2
            earlier = None
        reduced = [rng.randint(0, 2) == 0 for _ in extents]
        while np.prod([n for n, r in zip(extents, reduced, strict=True) if r], dtype=int) > _STEPS:
            reduced[next(d for d in range(len(extents)) if reduced[d] and extents[d] > 1)] = False
        outs = [self.output(extents, reduced) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        inputs: list[tuple[_Tensor, list[_Index]]] = []
        if earlier is not None and len(earlier.sizes) <= 4:
            every = [_Index(f"d{d}", n, d) for d, n in enumerate(earlier.sizes)]
            inputs.append((earlier, every))
        for _ in range(rng.randint(0, 3)):
            indices = [self.index(extents) for _ in range(rng.randint(0, 4))]
            inputs.append((self.tensor([i.size for i in indices], self.element()), indices))
        covered = {i.iterator for _, indices in inputs for i in indices}
        covered |= {i.iterator for indices in outs for i in indices}
        missing = [d for d in range(len(extents)) if d not in covered]
        if missing:
            indices = [_Index(f"d{d}", extents[d], d) for d in missing]
            inputs.append((self.tensor([extents[d] for d in missing], self.element()), indices))
        self.emit(extents, reduced, inputs, outs)

    def index(self, extents: Sequence[int]) -> _Index:
        """Return an index of an input."""
        rng = self.rng
        if not extents or rng.randint(0, 9) == 0:
            at = rng.choice((0, 0, 1, 2))
            return _Index(str(at), at + rng.randint(1, 2))
        a, b = rng.randrange(len(extents)), rng.randrange(len(extents))
        kind, slack = rng.randint(0, 12), rng.choice((0, 0, 1))
        last, step = extents[a] - 1, rng.randint(1, 3)
        if kind < 7 or 0 in (extents[a], extents[b]):  # MLIR has no ranges of indices without a point
            return _Index(f"d{a}", extents[a], a)
        if kind == 7:
            return _Index(f"d{a} + {step}", last + step + 1 + slack)
        if kind == 8:
            return _Index(f"-d{a} + {last + slack}", last + slack + 1)
        if kind == 9:
            return _Index(f"d{a} floordiv {step + 1}", last // (step + 1) + 1 + slack)
        if kind == 10:
            return _Index(f"d{a} mod {step + 1}", step + 1 + slack)
        if a == b:
            return _Index(f"d{a} * {step + 1}", last * (step + 1) + 1 + slack)
        dilation, other = rng.randint(1, 2), extents[b] - 1
        return _Index(f"d{a} * {step} + d{b} * {dilation}", last * step + other * dilation + 1 + slack)

    def output(self, extents: Sequence[int], reduced: Sequence[bool]) -> list[_Index]:
        """Return the indices of an output: the iterators that are kept, in any order; or a part of a larger one."""
        rng = self.rng
        kept = [d for d in range(len(extents)) if not reduced[d]]
        rng.shuffle(kept)
        indices = [_Index(f"d{d}", extents[d], d) for d in kept]
        if rng.randint(0, 5):
            return indices
        for place, d in enumerate(kept):
            kind, last, slack = rng.randint(0, 5), extents[d] - 1, rng.randint(0, 1)
            if last < 0:
                continue
            if kind == 0:
                indices[place] = _Index(f"d{d} + 1", last + 2 + slack)
            elif kind == 1:
                indices[place] = _Index(f"d{d} * 2", last * 2 + 1 + slack)
            elif kind == 2:
                indices[place] = _Index(f"-d{d} + {last}", last + 1 + slack)
        if rng.randint(0, 2) == 0:
            at = rng.randint(0, 1)
            indices.insert(rng.randint(0, len(indices)), _Index(str(at), at + rng.randint(1, 2)))
        return indices

    def emit(
        self,
        extents: Sequence[int],
        reduced: Sequence[bool],
        inputs: Sequence[tuple[_Tensor, list[_Index]]],
        outs: Sequence[list[_Index]],
    ) -> None:
        elements = [self.element() for _ in outs]
        read = [self.rng.randint(0, 9) > 0 if any(reduced) else self.rng.randint(0, 2) == 0 for _ in outs]
        inits: list[_Tensor] = []
        for indices, element, reads in zip(outs, elements, read, strict=True):
            whole = all(i.iterator is not None for i in indices) and 0 not in extents
            others = [*inits, *(t for t, _ in inputs)] if self.memrefs else []
            inits.append(self.initial([i.size for i in indices], element, whole and not reads, others))
        dims = ", ".join(f"d{d}" for d in range(len(extents)))
        every = [*(i for _, i in inputs), *outs]
        maps = [f"affine_map<({dims}) -> ({', '.join(i.text for i in indices)})>" for indices in every]
        kinds = ", ".join('"reduction"' if r else '"parallel"' for r in reduced)
        given = [(f"%x{n}", t.element) for n, (t, _) in enumerate(inputs)]
        olds = [(f"%o{n}", t.element) for n, t in enumerate(inits)]
        types = ", ".join(t.type for t in inits)
        name = self.fresh()
        results = [
            _Tensor(f"{name}#{n}" if len(inits) > 1 else name, t.sizes, t.open, t.element) for n, t in enumerate(inits)
        ]
        result = "" if self.memrefs else f"{name}:{len(inits)} = " if len(inits) > 1 else f"{name} = "
        ins = f"  ins({', '.join(t.name for t, _ in inputs)} : {', '.join(t.type for t, _ in inputs)})"
        self.lines += [
            f"{result}linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}}",
            f"{ins if inputs else ''} outs({', '.join(t.name for t in inits)} : {types}) {{",
            f"^bb0({', '.join(f'{value}: {kind}' for value, kind in [*given, *olds])}):",
            *self.body(given, olds, read, len(extents), any(reduced)),
            "}" if self.memrefs else f"}} -> {types}" if len(inits) == 1 else f"}} -> ({types})",
        ]
        if not self.memrefs:
            self.results += results
            self.tensors += results

    def initial(self, sizes: Sequence[int], element: str, free: bool, others: Sequence[_Tensor]) -> _Tensor:
        """Return what an output starts from; `free` says that its elements do not count."""
        choice = self.rng.randint(0, 5)
        if self.memrefs or choice < 3 or (choice == 5 and not free):
            return self.tensor(sizes, element, others)
        empty = self.empty(sizes, element)
        if choice == 5:
            return empty
        filled, number = _Tensor(self.fresh(), empty.sizes, empty.open, element), self.fresh()
        value = str(self.rng.randint(-1, 2))
        value = "true" if element == "i1" else f"{f'{value}.0' if element in FLOATS else value} : {element}"
        self.lines += [
            f"{number} = arith.constant {value}",
            f"{filled.name} = linalg.fill ins({number} : {element}) outs({empty.name} : {empty.type}) -> {empty.type}",
        ]
        return filled

    def empty(self, sizes: Sequence[int], element: str) -> _Tensor:
        """Append `tensor.empty`; the sizes that its type leaves out are those of other tensors."""
        unknown: list[bool] = []
        operands: list[str] = []
        for size in sizes:
            places = [(t, d) for t in self.tensors for d, n in enumerate(t.sizes) if n == size and t.open[d]]
            unknown.append(bool(places) and self.rng.randint(0, 1) == 0)
            if unknown[-1]:
                source, dim = self.rng.choice(places)
                at, operand = self.fresh(), self.fresh()
                self.lines.append(f"{at} = arith.constant {dim} : index")
                self.lines.append(f"{operand} = tensor.dim {source.name}, {at} : {source.type}")
                operands.append(operand)
        result = _Tensor(self.fresh(), tuple(sizes), tuple(unknown), element)
        self.lines.append(f"{result.name} = tensor.empty({', '.join(operands)}) : {result.type}")
        return result

    # -- its body ----------------------------------------------------------------------------------------------------

    def body(
        self, given: Sequence[Value], olds: Sequence[Value], read: Sequence[bool], rank: int, reduces: bool
    ) -> list[str]:
        rng = self.rng
        body = Body(rng, self.fresh, given, self.outer)
        if rank and rng.randint(0, 2) == 0:
            body.values.append(body.add(f"linalg.index {rng.randrange(rank)} : index", "index"))
        if rng.randint(0, 5) == 0 and not self.memrefs:
            self.extract(body)
        if not reduces:
            body.values += [old for old, reads in zip(olds, read, strict=True) if reads]
        results: list[Value] = []
        for old, reads in zip(olds, read, strict=True):
            result = body.expression(old[1], rng.randint(0, 3))
            if reads and reduces:
                result = self.fold(body, old, result)
            results.append(result)
        names, kinds = (", ".join(r[n] for r in results) for n in (0, 1))
        return [*body.lines, f"linalg.yield {names} : {kinds}"]

    def fold(self, body: Body, old: Value, term: Value) -> Value:
        kind = old[1]
        names = FOLDS["f" if kind in FLOATS else "i"]
        choice = self.rng.randint(0, 9)
        if choice == 0 and kind not in FLOATS:  # an order that counts
            return body.call("addi", body.call("muli", old, body.constant(3, kind)), term)
        if choice == 1 and kind not in FLOATS:
            greater = body.compare(self.rng.choice(("sgt", "ult")), term, old)
            return body.add(f"arith.select {greater[0]}, {term[0]}, {old[0]} : {kind}", kind)
        return body.call(self.rng.choice(names), old, term)

    def extract(self, body: Body) -> None:
        """Append an element of a tensor, at indices that are computed."""
        sources = [t for t in self.tensors if 0 not in t.sizes]
        if not sources:
            return
        source = self.rng.choice(sources)
        indices: list[str] = []
        for size, is_open in zip(source.sizes, source.open, strict=True):
            number = body.leaf("index")
            extent = body.constant(1 if is_open and size == 1 else size, "index")
            indices.append(body.call("remui", number, extent)[0])
        body.values.append(
            body.add(f"tensor.extract {source.name}[{', '.join(indices)}] : {source.type}", source.element)
        )


def linalg_program(rng: random.Random, least: int = 1, most: int = 2) -> str:
    """Return the text of a function with so many operations."""
    maker = _Maker(rng, memrefs=rng.randint(0, 3) == 0)
    for _ in range(rng.randint(least, most)):
        maker.operation()
    params = ", ".join(f"{name}: {kind}" for name, kind, _ in maker.params)
    results = [t for t in maker.results if t is maker.results[-1] or rng.randint(0, 2)]
    names, types = (", ".join(words) for words in ([t.name for t in results], [t.type for t in results]))
    sizes = json.dumps([sizes for _, _, sizes in maker.params])
    lines = [
        f"// {sizes}",
        f"func.func @main({params}) {f'-> ({types}) ' if results else ''}{{",
        *maker.lines,
        f"return {names} : {types}" if results else "return",
        "}",
    ]
    return "\n".join(lines) + "\n"


def check_linalg(text: str) -> int:
    """Compare native code with numpy; return how many results were compared. Raises `MeaningError`."""
    module = parse_mlir(text)
    function = next(op for op in module.body.block.ops if isinstance(op, func.FuncOp))
    args = arguments(text, function)
    expected = run_function(function, args)
    imported: ModuleOp = from_mlir(module)
    verify_module(imported)
    results = _listed(build(imported)["main"](*args))
    if not function.function_type.outputs.data:
        results = args
    compared = 0
    for number, (known, result) in enumerate(zip(expected, results, strict=True)):
        value = np.asarray(result)
        if value.shape != known.data.shape or value.dtype != known.data.dtype:
            raise MeaningError(f"result {number} is {value.dtype}{value.shape}")
        wrong = known.sure & ~((value == known.data) | ((value != value) & (known.data != known.data)))
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0]) if wrong.ndim else ()
            counts = f"{int(wrong.sum())} of {wrong.size} elements of result {number}"
            raise MeaningError(
                f"{counts}, {value.dtype}{value.shape}, at {list(at)}: {value[at]}, not {known.data[at]}"
            )
        compared += bool(known.sure.any()) or not known.data.size
    return compared


def _listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple | list) else [results]
