"""`RemoveNoOp` with data flow: which stores go because later ones overwrite them, and that the meaning stays."""

from __future__ import annotations

import random
import textwrap

import pytest
from strength import thinned

from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir.transform import RemoveNoOp
from tirax.tvm_api.transform import PassContext

LOOP = "for i in range(16):\n    A[i] = 2"
GOES = {
    "in the same place": ("for i in range(16):\n    A[i] = 1\n    A[i] = 2", LOOP),
    "loops": (f"for i in range(16):\n    A[i] = 1\n{LOOP}", LOOP),
    "a part": (f"for i in range(4, 12):\n    A[i] = 1\n{LOOP}", LOOP),
    "every second one": (f"for i in range(8):\n    A[i * 2] = 1\n{LOOP}", LOOP),
    "around other statements": (
        f"for i in range(16):\n    A[i] = 1\nfor i in range(16):\n    B[i] = 3\n{LOOP}",
        f"for i in range(16):\n    B[i] = 3\n{LOOP}",
    ),
    "under a condition": (
        "for i in range(16):\n    if i < 10:\n        A[i] = 1\nfor i in range(16):\n    if i < 12:\n        A[i] = 2",
        "for i in range(16):\n    if i < 12:\n        A[i] = 2",
    ),
    "symbolic sizes": (
        "for i in range(n):\n    C[i] = 1\nfor i in range(n):\n    C[i] = 2",
        "for i in range(n):\n    C[i] = 2",
    ),
    "within a loop": (
        "for j in range(4):\n    for i in range(4):\n        A[j * 4 + i] = 1\n    for i in range(4):\n        "
        "A[j * 4 + i] = 2",
        "for j, i in T.grid(4, 4):\n    A[j * 4 + i] = 2",
    ),
}
STAYS = {
    "what is read": "for i in range(16):\n    A[i] = 1\n    B[i] = A[i]\n    A[i] = 2",
    "what the next value needs": "for i in range(16):\n    A[i] = 1\n    A[i] = A[i] + 1",
    "a longer loop": "for i in range(16):\n    A[i] = 1\nfor i in range(12):\n    A[i] = 2",
    "a condition": "for i in range(16):\n    A[i] = 1\nfor i in range(16):\n    if i < 12:\n        A[i] = 2",
    "gaps": "for i in range(16):\n    A[i] = 1\nfor i in range(8):\n    A[i * 2] = 2",
    "other elements": "for i in range(15):\n    A[i] = 1\n    A[i + 1] = 2",
    "a loop that may not run": "for i in range(16):\n    A[i] = 1\nfor j in range(n):\n    A[j % 16] = 2",
    "a condition on data": "for i in range(16):\n    A[i] = 1\nfor i in range(16):\n    if B[i] > 0:\n        A[i] = 2",
    "a condition on data that changes": "for i in range(16):\n    if B[0] > 3:\n        A[i] = 1\nB[0] = 5\n"
    "for i in range(16):\n    if B[0] > 3:\n        A[i] = 2",
    "a size that changes": "for i in range(B[0] % 16):\n    A[i] = 1\nB[0] = 2\n"
    "for i in range(B[0] % 16):\n    A[i] = 2",
    "a place that changes": "A[B[0] % 16] = 1\nB[0] = 2\nA[B[0] % 16] = 2",
    "a condition on sizes": "for i in range(16):\n    A[i] = 1\nfor i in range(16):\n    if i < n:\n        A[i] = 2",
    "one element in a loop that may not run": "A[0] = 1\nfor i in range(n):\n    A[0] = 2",
    "an inner loop that may not run": "for i in range(16):\n    A[i] = 1\nfor i, j in T.grid(16, n):\n    A[i] = 2",
    "an address": "for i in range(16):\n    A[i] = 1\nT.evaluate(A.data)\nfor i in range(16):\n    A[i] = 2",
}


def program(body: str):
    head = "from tvm.script import ir as I, tir as T\n\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
    params = '    def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), c: T.handle):\n'
    sizes = '        n = T.int32()\n        C = T.match_buffer(c, (n,), "int32")\n'
    return from_source(head + params + sizes + textwrap.indent(body, " " * 8) + "\n")


def removed(module):
    with PassContext(config={"tir.RemoveNoOp": {"use_dataflow_analysis": True}}):
        return RemoveNoOp()(module)


@pytest.mark.parametrize("name", GOES)
def test_what_goes(name):
    before, after = map(program, GOES[name])
    changed = removed(before)
    assert changed.script() == after.script()
    assert_same_meaning(before.op, changed.op)
    assert RemoveNoOp()(before).script() == before.script()


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name):
    module = program(STAYS[name])
    changed = removed(module)
    if name == "an address":  # that is taken for nothing
        assert changed.script().count("A[i] =") == 2
    else:
        assert changed.script() == module.script()
    assert_same_meaning(module.op, changed.op)


def test_what_an_address_leads_to_stays():
    text = 'p: T.handle = A.data\nfor i in range(16):\n    A[i] = 1\nT.evaluate(T.call_extern("f", p, dtype="int32"))\n'
    module = program(text + LOOP)
    assert removed(module).script().count("A[i] =") == 2


def test_effects_stay():
    module = program('for i in range(16):\n    A[i] = T.call_extern("f", i, dtype="int32")\n    A[i] = 2')
    text = removed(module).script()
    assert text.count("T.call_extern(") == 1 and text.count("A[i] =") == 1
    named = program('x: T.int32 = T.call_extern("f", 1, dtype="int32")\nA[0] = 1')
    text = removed(named).script()
    assert text.count("T.call_extern(") == 1 and "x: T.int32" not in text


def random_store(draw: random.Random) -> str:
    """A store, perhaps under a condition and in a loop or two, of elements 0 to 15."""
    extent = draw.choice(["16", "16", "8", "5", "T.min(n, 16)", "B[0] % 16", "B[1] % 16 + 1"])
    place = draw.choice(["i", "i", "i", "15 - i", "i // 2", "i // 4 * 4 + i % 4", "3", "B[i] % 16"])
    condition = draw.choice(
        ["", "", "i < 6", "i < n", "B[i] > 0", "B[0] > 3", "i >= 2", "i < 6 and i < n", "i % 2 == 0"]
    )
    around = draw.choice(["", "", "", "for j in range(n):", "for j in range(2):"])
    lines = [
        around,
        f"for i in range({extent}):",
        f"if {condition}:" if condition else "",
        f"A[{place}] = {draw.randint(1, 9)}",
    ]
    kept = [line for line in lines if line]
    return "\n".join("    " * depth + line for depth, line in enumerate(kept))


@thinned("seed", range(3), 1)
def test_random_sweeps_keep_their_meaning(seed):
    draw, gone = random.Random(seed), 0
    for _ in range(60):
        parts = [random_store(draw) for _ in range(draw.randint(2, 4))]
        if draw.random() < 0.4:
            parts.insert(1, draw.choice(["B[0] = 5", "B[1] = A[3]", "for i in range(16):\n    B[i] = 0 - B[i]"]))
        module = program("\n".join(parts))
        changed = removed(module)
        gone += changed.script() != module.script()
        assert_same_meaning(module.op, changed.op)
    assert gone > 3
