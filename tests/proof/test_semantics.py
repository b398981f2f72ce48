"""What symbolic execution does otherwise than the interpreter: memory, and branches that data choose."""

from __future__ import annotations

import pytest

from tirax.interpreter.compare import functions_of, random_inputs
from tirax.proof import Verdict, validate
from tirax.script import parse_source
from tirax.tvm_api import relax

FUNCTION = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
{body}
"""


def function(body):
    return parse_source(FUNCTION.format(body="\n".join(f"        {line}" for line in body.strip().split("\n"))))


BRANCH = """
for i in range(8):
    if A[i] > T.float32(0):
        B[i] = A[i]
    else:
        B[i] = T.float32(0)
"""
SAME = """
for i in range(8):
    B[i] = T.if_then_else(A[i] > T.float32(0), A[i], T.float32(0))
"""
VECTOR = "B[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)] * T.Broadcast(T.float32(2), 8)"
LOOP = "for i in range(8):\n    B[i] = A[i] * T.float32(2)"
TILED = """
for o, i in T.grid(3, 3):
    if o * 3 + i < 8:
        B[o * 3 + i] = A[o * 3 + i] * T.float32(2)
"""
SHORT = "for i in range(7):\n    B[i] = A[i] * T.float32(2)"
COPIED = """
C = T.alloc_buffer((8,), "float32")
for i in range(8):
    C[i] = A[i]
for i in range(8):
    B[i] = C[i] * T.float32(2)
"""
PARTLY = COPIED.replace("range(8)", "range(7)", 1)


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (BRANCH, SAME, Verdict.PROVED),
        (SAME, BRANCH, Verdict.PROVED),
        (BRANCH, SAME.replace("A[i], T.float32(0))", "A[i], T.float32(1))"), Verdict.WRONG),
        (LOOP, VECTOR, Verdict.PROVED),
        (LOOP, TILED, Verdict.PROVED),
        (LOOP, SHORT, Verdict.WRONG),
        (LOOP, COPIED, Verdict.PROVED),
        (LOOP, PARTLY, Verdict.WRONG),
        (PARTLY, PARTLY, Verdict.NOT_COVERED),
    ],
)
def test_tensor_functions(before, after, verdict):
    result = validate(function(before), function(after))
    assert result.verdict is verdict, str(result)


SCALARS = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), alpha: T.{dtype}):
        for i in range(8):
            B[i] = A[i] * {value}
"""


def test_scalar_arguments():
    """Floats are unknown; integers are numbers, and the finding names them."""

    def scaled(dtype, value):
        return parse_source(SCALARS.format(dtype=dtype, value=value))

    before = scaled("float32", "alpha")
    (finding,) = validate(before, before).findings
    assert finding.verdict is Verdict.PROVED and finding.sizes == ({},)
    drawn = [v for v in random_inputs(functions_of(before)["main"], {}) if v.ndim == 0]
    fixed = scaled("float32", f"T.float32({float(drawn[0])!r})")
    assert validate(before, fixed).verdict is Verdict.WRONG
    whole = scaled("int32", 'T.Cast("float32", alpha)')
    (finding,) = validate(whole, whole).findings
    assert finding.verdict is Verdict.PROVED and "at the sizes alpha=" in str(finding)


def test_control_by_data_is_refused_with_the_reason():
    loop = function("while A[0] > T.float32(0):\n    A[0] = A[0] - T.float32(1)")
    result = validate(loop, loop)
    assert result.verdict is Verdict.NOT_COVERED and "data" in result.findings[0].reason


ROWS = """
@I.ir_module
class M:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((4, 2), "float32")):
        {body}
"""


def test_a_vector_goes_on_in_the_next_row():
    """As memory does, within the buffer."""
    loop = parse_source(ROWS.format(body="for i, j in T.grid(4, 2):\n            B[i, j] = A[i * 2 + j]"))
    vectors = "B[0, T.Ramp(0, 1, 4)] = A[T.Ramp(0, 1, 4)]; B[0, T.Ramp(4, 1, 4)] = A[T.Ramp(4, 1, 4)]"
    assert validate(loop, parse_source(ROWS.format(body=vectors))).verdict is Verdict.PROVED
    beyond = parse_source(ROWS.format(body=vectors.replace("B[0, T.Ramp(4", "B[1, T.Ramp(4")))
    assert validate(loop, beyond).verdict is Verdict.WRONG


CHECKED = """
T.evaluate(T.int32(0))
for i in range(8):
    assert A[i] < T.float32(2), "too large"
    B[i] = A[i]
"""


def test_assertions_must_be_the_same():
    plain = function("for i in range(8):\n    B[i] = A[i]")
    checked = function(CHECKED)
    assert validate(checked, checked).verdict is Verdict.PROVED
    assert validate(plain, checked).verdict is Verdict.WRONG
    assert validate(checked, plain).verdict is Verdict.WRONG
    rare = function(CHECKED.replace("float32(2)", "float32(2e6)"))
    dropped, added = validate(rare, plain), validate(plain, rare)
    assert dropped.verdict is Verdict.NOT_COVERED and "is not there after" in dropped.findings[0].reason
    assert added.verdict is Verdict.NOT_COVERED and "only there after" in added.findings[0].reason


GATHERED = """
@I.ir_module
class M:
    @T.prim_func
    def main(I: T.Buffer((3,), "int64"), A: T.Buffer((5,), "float32"), B: T.Buffer((3,), "float32")):
{body}
"""
PLAIN = "for i in range(3):\n    B[i] = A[I[i]]"
GUARDED = """
outside = T.alloc_buffer((1,), "int32")
outside[0] = 0
for i in range(3):
    if I[i] < T.int64(0) or I[i] >= T.int64(5):
        outside[0] = 1
    B[i] = A[T.max(T.min(I[i], T.int64(4)), T.int64(0))]
assert outside[0] == 0, "outside"
"""


def gathered(body):
    lines = "\n".join(f"        {line}" for line in body.strip().split("\n"))
    return parse_source(GATHERED.format(body=lines))


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("", "", Verdict.PROVED),
        (">= T.int64(5)", "> T.int64(5)", Verdict.PROVED),  # no guard, but right on all inputs that are defined
        (">= T.int64(5)", "> T.int64(7)", Verdict.NOT_COVERED),
        (">= T.int64(5)", ">= T.int64(4)", Verdict.WRONG),
        ("< T.int64(0)", "<= T.int64(0)", Verdict.WRONG),
        ("I[i], T.int64(4)", "I[i], T.int64(3)", Verdict.WRONG),
        ("outside[0] = 1", "outside[0] = 0", Verdict.PROVED),  # asserts nothing, and changes nothing
    ],
)
def test_checks_of_indices_that_the_first_program_uses(old, new, verdict):
    result = validate(gathered(PLAIN), gathered(GUARDED.replace(old, new) if old else GUARDED))
    assert result.verdict is verdict, str(result)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (">= T.int64(5)", "> T.int64(5)"),
        ("< T.int64(0)", "< T.int64(-1)"),
        ("outside[0] = 1", "outside[0] = 0"),
        ("T.min(I[i], T.int64(4))", "I[i]"),  # an element outside is read before the assertion fails
    ],
)
def test_checks_of_indices_that_are_lost(old, new):
    result = validate(gathered(GUARDED), gathered(GUARDED.replace(old, new)))
    assert result.verdict is Verdict.WRONG, str(result)


def test_an_index_of_a_branch_that_data_choose_is_not_always_used():
    chosen = "for i in range(3):\n    B[i] = T.if_then_else(I[i] < T.int64(5), A[I[i]], T.float32(0))"
    always = "for i in range(3):\n    B[i] = A[T.max(T.min(I[i], T.int64(4)), T.int64(0))]"
    assert validate(gathered(chosen), gathered(always)).verdict is not Verdict.PROVED


GRAPH = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((2, 3), "float32"), c: R.Tensor((), "bool")):
{body}
        return r
"""


def graph(body):
    return parse_source(GRAPH.format(body="\n".join(f"        {line}" for line in body.strip().split("\n"))))


CHOSEN = """
if c:
    a = R.negative(x)
    r = a
else:
    b = R.add(x, x)
    r = b
"""


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (CHOSEN, "r = R.where(c, R.negative(x), R.add(x, x))", Verdict.PROVED),
        (CHOSEN, "r = R.where(c, R.add(x, x), R.negative(x))", Verdict.WRONG),
        (CHOSEN, CHOSEN.replace("R.add(x, x)", "R.multiply(x, R.const(2.0))"), Verdict.PROVED),
        ("r = R.argmax(x, axis=1)", "r = R.argmin(R.negative(x), axis=1)", Verdict.NOT_COVERED),
        ("r = R.argmax(x, axis=1)", "r = R.argmax(x, axis=-1)", Verdict.PROVED),
        ("r = R.add(x, R.maximum(R.const(1.0), R.const(2.0)))", "r = R.add(x, R.const(2.0))", Verdict.PROVED),
        ("r = R.argmax(x, axis=1)", "r = R.argmin(x, axis=1)", Verdict.WRONG),
    ],
)
def test_graphs(before, after, verdict):
    result = validate(graph(before), graph(after))
    assert result.verdict is verdict, str(result)


@pytest.mark.parametrize("operator", ["argmax", "argmin"])
@pytest.mark.parametrize("options", ["axis=0", "axis=1, keepdims=True", "keepdims=False", "keepdims=True"])
def test_places_of_extrema_are_proved(operator, options):
    module = graph(f"r = R.{operator}(x, {options})")
    assert validate(module, relax.transform.LegalizeOps()(module)).verdict is Verdict.PROVED
