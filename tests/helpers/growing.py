"""What a process keeps of programs that are gone.

    python growing.py COUNT KIND…         objects and blocks that it has more of after COUNT of each and COUNT others
    python growing.py --pages COUNT KIND  KiB by which it has grown after COUNT, after COUNT more, and again

Each program is made of numbers that no other has. Before objects are counted, tables whose size is limited are emptied:
they fill, and no more. Tables without a limit are not.
"""

from __future__ import annotations

import functools
import gc
import itertools
import json
import os
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tirax.driver.build import build
from tirax.ir.passes import transform
from tirax.script import parse_source
from tirax.tvm_api import arith, ir, relax, te, tir

MODULE = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", {extent}), "float32")):
        gv = R.add(x, R.const({value}, "float32"))
        return gv
"""
WRONG = 'R.const({value}, "float32")'


def _equal(number: int) -> None:
    build(parse_source(MODULE.format(extent=4, value=1.5)))["main"]


def _distinct(number: int) -> None:
    build(parse_source(MODULE.format(extent=4 + number, value=1.5 + number)))["main"]


def _of_expressions(number: int) -> None:
    n, k = te.var("n"), te.reduce_axis((0, 4 + number), name="k")
    a = te.placeholder((n, 4 + number), name="A")
    b = te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")
    build(ir.IRModule({"main": te.create_prim_func([a, b])}))


def _scheduled(number: int) -> None:
    n = te.var("n")
    a = te.placeholder((n, 40 + number), name="A")
    b = te.compute((n, 40 + number), lambda i, j: a[i, j] + 1.0, name="B")
    sch = tir.Schedule(ir.IRModule({"main": te.create_prim_func([a, b])}))
    i, j = sch.get_loops(sch.get_block("B"))
    outer, inner = sch.split(j, [None, 8])
    sch.reorder(outer, i, inner)
    sch.vectorize(inner)
    assert "vectorized" in sch.mod.script()


def _of_statements(number: int) -> None:
    """A buffer at the address of another one, in a loop whose variable another statement has too."""
    a = tir.decl_buffer((4 + number,), "float32", "A")
    b = tir.decl_buffer((4 + number,), "float32", "B", data=a.data)
    v, w, handle = tir.Var("v", "int32"), tir.Var("w", "int32"), tir.Var("handle", "handle")
    store = tir.BufferStore(b, tir.BufferLoad(a, [v]), [v])
    loop = tir.For(v, 0, 4 + number, tir.ForKind.SERIAL, store)
    other = tir.stmt_functor.substitute(loop.body, {v: w + 1})
    body = tir.SeqStmt([loop, tir.For(w, 0, 3, tir.ForKind.SERIAL, other), tir.Evaluate(v)])
    func = tir.PrimFunc([handle], body, buffer_map={handle: a})
    assert func.body.seq[0].loop_var.same_as(v)


def _of_bindings(number: int) -> None:
    x = relax.Var("x", relax.TensorStructInfo((tir.Var("n", "int64"), 4 + number), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.op.add(x, x))))
    assert relax.transform.Normalize()(builder.get()) is not None


def _simplified(number: int) -> None:
    v, analyzer = tir.Var("v", "int32"), arith.Analyzer()
    analyzer.bind(v, ir.Range(0, 5 + number))
    assert analyzer.simplify((v * 8 + v) // (9 + 8 * number)) is not None


def _refused(number: int) -> None:
    try:
        parse_source(MODULE.replace(WRONG, f"R.zeros((3, {5 + number}), 'float32'").format(extent=4, value=1))
    except Exception as error:  # noqa: BLE001 (whatever is wrong with it)
        assert error.__traceback__ is not None
    else:
        raise AssertionError("the program is right")


KINDS: dict[str, Callable[[int], None]] = {
    "equal programs": _equal,
    "programs with extents of their own": _distinct,
    "tensor expressions": _of_expressions,
    "schedules": _scheduled,
    "statements": _of_statements,
    "bindings": _of_bindings,
    "expressions that are simplified": _simplified,
    "programs that are refused": _refused,
}


def _empty_limited_tables() -> None:
    from tirax import diagnostics

    diagnostics._sources.clear()  # pyright: ignore[reportPrivateUsage]
    for actual in gc.get_objects():
        if type(actual) is functools._lru_cache_wrapper:  # pyright: ignore[reportPrivateUsage]
            kept: Any = actual
            if (kept.cache_parameters()["maxsize"] or 0) >= 64 and kept.__module__.startswith("tirax"):
                kept.cache_clear()


def _held() -> tuple[int, int]:
    """Objects that the collector knows, and blocks that Python holds."""
    _empty_limited_tables()
    while gc.collect():  # a generator that is finalized keeps what it has for one collection more
        pass
    return len(gc.get_objects()), sys.getallocatedblocks()


def _kept(kind: str, count: int) -> list[int]:
    """What is more after `count` programs, once as many have filled what fills."""
    for number in range(count):
        KINDS[kind](number)
    objects, blocks = _held()
    for number in range(count, 2 * count):
        KINDS[kind](number)
    more_objects, more_blocks = _held()
    return [more_objects - objects, more_blocks - blocks]


def _pages(kind: str, count: int) -> list[int]:
    """By how many KiB the process has grown in each of three rounds: nothing is collected but by tirax itself.

    Its clock moves by a second a reading: how often it collects follows from the programs, not from the machine.
    """
    transform.time = SimpleNamespace(perf_counter=functools.partial(next, itertools.count()))  # pyright: ignore[reportAttributeAccessIssue]
    sizes: list[int] = []
    for number in range(4 * count):
        KINDS[kind](number)
        if (number + 1) % count == 0:
            with open("/proc/self/statm", encoding="ascii") as status:
                sizes.append(int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10)
    return [after - before for before, after in zip(sizes, sizes[1:], strict=False)]


if __name__ == "__main__":
    if sys.argv[1] == "--pages":
        print(json.dumps(_pages(sys.argv[3], int(sys.argv[2]))))
    else:
        print(json.dumps({kind: _kept(kind, int(sys.argv[1])) for kind in sys.argv[2:]}))
