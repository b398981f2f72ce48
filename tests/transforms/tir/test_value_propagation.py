"""Simplify with what buffers hold: conditions and values that stores decide, and those that they do not."""

import random

import pytest
from strength import is_full

from tirax.interpreter import assert_same_meaning
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform as T

HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n    @T.prim_func\n"
PARAMS = 'A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32'
FOLLOW = T.Simplify(propagate_knowns_to_prove_conditional=True)


def module(body, params=PARAMS):
    return from_source(HEAD + f"    def main({params}):\n" + body)


DECIDED = {
    "an element": """
        A[0] = 3
        if A[0] == 3:
            B[0] = 1
""",
    "all that a loop stores": """
        for i in range(8):
            A[i] = i * 2
        for j in range(8):
            if A[j] == j * 2:
                B[j] = 1
""",
    "an element of two axes": """
        C = T.alloc_buffer((4, 8), "int32")
        for i, j in T.grid(4, 8):
            C[i, j] = i + j
        for i, j in T.grid(4, 8):
            if C[i, j] < 11:
                B[j] = 1
""",
    "a shifted loop": """
        for i in range(7):
            A[i + 1] = 5
        for i in range(1, 8):
            if A[i] == 5:
                B[i] = 1
""",
    "through other elements": """
        A[0] = n
        A[1] = A[0] + 1
        if A[1] == n + 1:
            B[0] = 1
""",
    "under the condition of a branch": """
        if n < 3:
            A[0] = 1
        if n < 3:
            if A[0] == 1:
                B[0] = 1
""",
    "before the iteration stores": """
        for i in range(8):
            A[i] = 0
        for i in range(8):
            if A[i] == 0:
                B[i] = 1
            A[i] = 1
""",
    "vectors": """
        A[0:8] = T.ramp(3, 1, 8)
        if A[2] == 5:
            B[0] = 1
""",
}


@pytest.mark.parametrize("body", DECIDED.values(), ids=DECIDED)
def test_conditions_that_stores_decide(body):
    before = module(body)
    after = FOLLOW(before)
    assert after.script().count("if ") == body.count("if ") - 1
    assert_same_meaning(before.op, after.op)


OPEN = {
    "another element": """
        A[0] = 3
        if A[1] == 3:
            B[0] = 1
""",
    "an element of any index": """
        A[0] = 3
        A[n % 8] = 4
        if A[0] == 3:
            B[0] = 1
""",
    "overwritten in some iterations": """
        for i in range(8):
            A[i] = 0
        for i in range(8):
            if i == n:
                A[i] = 5
            if A[i] == 0:
                B[i] = 1
""",
    "what earlier iterations stored": """
        for i in range(8):
            A[i] = 0
        for i in range(7):
            if A[i] == 0:
                B[i] = 1
            A[i + 1] = 1
""",
    "an element of all iterations": """
        A[0] = 0
        for i in range(8):
            if A[0] < 3:
                A[0] = A[0] + B[i]
""",
    "a loop that may not run": """
        for i in range(n):
            A[i % 8] = 1
        if A[0] == 1:
            B[0] = 1
""",
    "one way of a branch": """
        A[0] = 0
        if n < 3:
            A[0] = 1
        if A[0] == 0:
            B[0] = 1
""",
    "a loop that ends by data": """
        A[0] = 0
        while A[0] < 3:
            A[0] = A[0] + 1
        if A[0] == 0:
            B[0] = 1
""",
    "buffers of one memory": """
        A[0] = 0
        C = T.decl_buffer((8,), "int32", data=A.data)
        C[0] = 1
        if A[0] == 0:
            B[0] = 1
""",
}


@pytest.mark.parametrize("body", OPEN.values(), ids=OPEN)
def test_conditions_that_stay(body):
    before = module(body)
    after = FOLLOW(before)
    assert after.script().count("if ") == body.count("if ")
    assert_same_meaning(before.op, after.op)


def test_promises_hold_for_a_part():
    text = FOLLOW(
        module("""
        for i in range(8):
            T.evaluate(T.assume(i < 6 or A[i] == 0))
        for i in range(8):
            if 6 <= i:
                if A[i] == 0:
                    B[i] = 1
            else:
                if A[i] == 0:
                    B[i] = 2
""")
    ).script()
    assert text.count("A[i] == 0") == 2


def test_values_are_put_into_stores_on_request():
    before = module("        A[0] = n\n        B[0] = A[0] + 7\n")
    assert "A[0] + 7" in FOLLOW(before).script()
    after = T.Simplify(propagate_knowns_to_simplify_expressions=True)(before)
    assert "B[0] = n + 7" in after.script()
    assert_same_meaning(before.op, after.op)


def statements(rng, depth, names):
    """A random statement on A and B whose indices are in their bounds."""
    pad = "    " * (depth + 2)
    kinds = ["store"] * 3 + (["if", "loop", "parallel"] if depth < 3 else [])
    kind = rng.choice(kinds)

    def index():
        name = rng.choice([*names, ""])
        shift = rng.randrange(3)
        return f"({name} + {shift}) % 8" if name and rng.random() < 0.2 else f"{name} + {shift}" if name else str(shift)

    def element():
        return f"{rng.choice('AB')}[{index()}]"

    if kind == "store":
        value = rng.choice([str(rng.randrange(3)), *names, element(), f"{element()} + 1", "n"])
        return f"{pad}{element()} = {value}\n"
    inner = lambda extra: "".join(statements(rng, depth + 1, [*names, *extra]) for _ in range(rng.randint(1, 2)))  # noqa: E731
    if kind == "if":
        left = rng.choice([element(), element(), "n", *names])
        text = f"{pad}if {left} {rng.choice(['==', '<', '!='])} {rng.randrange(3)}:\n{inner([])}"
        return text + (f"{pad}else:\n{inner([])}" if rng.random() < 0.5 else "")
    name = f"i{depth}"
    return f"{pad}for {name} in range({rng.choice([0, 1, 3, 6])}):\n{inner([name])}"


@pytest.mark.thinned
def test_random_programs():
    for seed in range(400 if is_full() else 40):
        rng = random.Random(seed)
        before = module("".join(statements(rng, 0, []) for _ in range(rng.randint(2, 5))))
        after = T.Simplify(propagate_knowns_to_prove_conditional=True, propagate_knowns_to_simplify_expressions=True)(
            before
        )
        assert_same_meaning(before.op, after.op)
