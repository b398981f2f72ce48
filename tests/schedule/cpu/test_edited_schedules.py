"""Whatever numbers are written into a planned schedule, what is computed stays the same."""

import re

import numpy as np
import pytest
from relax_modules import module, parsed
from strength import thinned

from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.schedule.cpu.analysis.plan import DecisionError
from tirax.tvm_api import relax

RNG = np.random.default_rng(7)
op = relax.op


def planned(mod):
    return str(module_op(Sequential(make_passes([*OPTIMIZE, "plan-schedule"]))(mod)))


def edited(text, **numbers):
    """The text with other numbers in the first rule that has them."""
    for name, value in numbers.items():
        text, count = re.subn(rf"\b{name} = (\[[^]]*\]|\"[^\"]*\"|\d+)", f"{name} = {value}", text, count=1)
        assert count == 1, f"no {name} in {text[text.index('sched.') :]}"
    return text


def nt(x, w):
    return op.nn.relu(op.matmul(x, op.permute_dims(w)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(x):
    q = x.transpose(0, 2, 1, 3)
    return (softmax(q @ q.swapaxes(2, 3) / np.sqrt(x.shape[-1])) @ q).transpose(0, 2, 1, 3)


NN = module(op.matmul, ("n", 70), (70, 45))
NT = module(nt, ("n", 70), (45, 70))
COLUMNS = module(nt, ("n", 70), ("m", 70))
WIDE = module(op.matmul, ("n", 40), (40, 1100))
ROW = module(op.matmul, (1, 75), (75, 1100))
ROWS = module(op.nn.softmax, ("n", 83))
EACH = module(op.negative, ("n", 83))
HALF = module(lambda x: op.astype(x, "float16"), ("n", 83))
TURNED = module(op.permute_dims, (37, 41))
ATTENTION = module(lambda x: op.nn.attention(x, x, x), ("b", "n", 2, 32))
NN_CASE = (NN, np.matmul, ((19, 70), (70, 45)))
NT_CASE = (NT, lambda x, w: np.maximum(x @ w.T, 0), ((31, 70), (45, 70)))
CASES = [
    (*NN_CASE, {"rows": 5}),
    (*NN_CASE, {"rows": 32, "vectors": 1}),
    (*NN_CASE, {"lanes": 4, "vectors": 3, "rows": 2}),
    (*NN_CASE, {"order": '"rows, columns"', "rows": 1}),
    (*NT_CASE, {"vectors": 1, "rows": 7}),
    (COLUMNS, *NT_CASE[1:], {"vectors": 1, "rows": 7}),
    (*NT_CASE, {"lanes": 4, "panel_bytes": 256}),
    (*NT_CASE, {"vectors": 1, "strips": 2}),
    (*NT_CASE, {"vectors": 1, "panel_bytes": 256, "strips": 3}),
    (*NT_CASE, {"tile": "[1, 3]", "chains": 2}),
    (WIDE, np.matmul, ((25, 40), (40, 1100)), {"rows": 3}),
    (ROWS, softmax, ((9, 83),), {"chains": 1}),
    (ROW, np.matmul, ((1, 75), (75, 1100)), {"streams": 3, "prefetch_bytes": 1}),
    (ROWS, softmax, ((9, 83),), {"lanes": 2, "chains": 8}),
    (TURNED, np.transpose, ((37, 41),), {"size": 4}),
    (EACH, np.negative, ((9, 83),), {"stores": '"streamed"'}),
    (ATTENTION, attention, ((1, 45, 2, 32),), {"queries": 7, "keys": 3}),
]


@thinned(("mod", "expected", "shapes", "numbers"), CASES, 2)
def test_numbers_change_no_result(mod, expected, shapes, numbers):
    arrays = [RNG.standard_normal(shape).astype("float32") for shape in shapes]
    text = planned(mod)
    changed = edited(text, **numbers)
    assert changed != text
    result = build(parsed(changed), pipeline="lower-cpu")["main"](*arrays)
    np.testing.assert_allclose(result, expected(*(a.astype("float64") for a in arrays)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("mod", "numbers", "message"),
    [
        (NN, {"order": '"up, down"'}, 'order = "columns, rows" or'),
        (NN, {"lane": '"v_i0"'}, "'lane' follows from the program"),
        (NT, {"tile": "[2]"}, "'tile' has 2 numbers"),
        (TURNED, {"size": 12}, "a power of two"),
        (HALF, {"stores": '"streamed"'}, 'stores = "cached"'),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_changed(mod, numbers, message):
    changed = parsed(edited(planned(mod), **numbers))
    with pytest.raises(DecisionError, match=re.escape(message)):
        Sequential(make_passes(["default-schedule"]))(changed)
