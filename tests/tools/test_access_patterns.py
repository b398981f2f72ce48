"""What is recorded of a run, against the same loops in Python, and caches against a plain model of one."""

from textwrap import dedent

import numpy as np
import pytest

from tirax.diagnostics import NameLookupError, TiraxError, UnsupportedError
from tirax.schedule import Schedule
from tirax.script import parse_source
from tirax.tools import access_patterns
from tirax.tools.access_patterns import Access, AccessPattern, Cache, Memory, record


def script(text):
    return parse_source(dedent(text))


PRODUCT = parse_source("""
@T.prim_func
def main(A: T.Buffer((3, 4), "float32"), B: T.Buffer((4, 5), "float32"), C: T.Buffer((3, 5), "float32")):
    for i, j, k in T.grid(3, 5, 4):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")


def test_a_product_in_the_order_of_its_loops():
    pattern = record(PRODUCT)
    points = [(i, j, k) for i in range(3) for j in range(5) for k in range(4)]
    assert pattern.indices("A", write=False) == [(i, k) for i, _, k in points]
    assert pattern.indices("B", write=False) == [(k, j) for _, j, k in points]
    assert pattern.indices("C", write=False) == [(i, j) for i, j, _ in points]
    writes = [(i, j) for i, j, k in points for _ in range(2 if k == 0 else 1)]  # the init, too
    assert pattern.indices("C", write=True) == writes
    assert pattern.steps == len(writes)
    assert pattern.buffers == {"A": ((3, 4), "global"), "B": ((4, 5), "global"), "C": ((3, 5), "global")}
    with pytest.raises(NameLookupError, match="unknown buffer 'D'"):
        pattern.indices("D", write=True)


def test_a_vectorized_loop_is_one_step():
    sch = Schedule(PRODUCT)
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)
    sch.decompose_reduction("C", k)
    sch.vectorize(j)
    pattern = record(sch.mod)
    assert pattern.steps == 3 * 5 + 3 * 4
    assert {a.element for a in pattern.accesses if a.step == 5 and a.buffer == "B"} == set(range(5))


def test_sizes_caches_and_parts_of_buffers():
    module = script("""
    @T.prim_func
    def rows(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, 4), "float32")
        Y = T.match_buffer(y, (n, 4), "float32")
        for i in range(n):
            with T.block("row"):
                vi = T.axis.spatial(n, i)
                row = T.alloc_buffer((4,), "float32", scope="local")
                part = T.match_buffer(X[vi, 0:4], (4,), "float32", offset_factor=1)
                for j in range(4):
                    row[j] = part[3 - j]
                for j in range(4):
                    Y[vi, j] = row[j]
    """)
    pattern = record(module, "rows", {"n": 3})
    assert pattern.indices("X", write=False) == [(i, 3 - j) for i in range(3) for j in range(4)]
    assert pattern.indices("row", write=True) == [(j,) for _ in range(3) for j in range(4)]
    assert pattern.buffers["row"] == Memory((4,), "local") and "part" not in pattern.buffers
    assert Cache(lines=2, line=4).misses(pattern) == {"X": 3, "Y": 3}
    assert record(module, "rows", {"n": 0}).steps == 0
    with pytest.raises(TiraxError, match=r"sizes of symbolic variables are missing"):
        record(module, "rows")
    with pytest.raises(NameLookupError, match="unknown tensor function 'row'"):
        record(module, "row")


def test_indices_that_are_data():
    module = script("""
    @T.prim_func
    def take(at: T.Buffer((3,), "int64"), X: T.Buffer((5,), "float32"), Y: T.Buffer((3,), "float32")):
        for i in range(3):
            Y[i] = X[at[i]]
    """)
    args = [np.array([4, 0, 2]), np.arange(5, dtype="float32"), np.zeros(3, "float32")]
    assert record(module, "take", args=args).indices("X", write=False) == [(4,), (0,), (2,)]
    assert not args[2].any()


def test_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(access_patterns, "MOST_ACCESSES", 20)
    with pytest.raises(UnsupportedError, match="recording more than 20 accesses"):
        record(PRODUCT)


def test_a_cache_forgets_what_was_used_longest_ago():
    rng = np.random.default_rng(0)
    places = [Access(n, "AB"[int(b)], int(e), False) for n, (b, e) in enumerate(rng.integers(0, (2, 40), (300, 2)))]
    pattern = AccessPattern({"A": Memory((40,), "global"), "B": Memory((40,), "global")}, places)
    line, lines = 4, 6
    used: list[tuple[str, int]] = []
    missed = {"A": 0, "B": 0}
    for a in places:
        key = (a.buffer, a.element // line)
        recent = list(dict.fromkeys(reversed(used)))[:lines]
        missed[a.buffer] += key not in recent
        used.append(key)
    assert Cache(lines, line).misses(pattern) == missed
    assert Cache(lines=20, line=4).misses(pattern) == {"A": 10, "B": 10}
