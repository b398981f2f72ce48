"""What `plan-schedule` writes, read again and followed, is what `default-schedule` does by itself."""

import pytest
from relax_modules import module, parsed
from strength import thinned

from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.tvm_api import relax

op = relax.op
TARGETS = ["llvm -mcpu=x86-64-v4", "llvm -mcpu=x86-64-v3"]


def conv(x, w):
    return op.nn.relu(op.nn.conv2d(x, w, strides=2, padding=1))


PROGRAMS = {
    "product": (op.matmul, ("n", 96), (96, 128)),
    "product with a vector": (op.matmul, (1, 2048), (2048, 2048)),
    "transposed": (lambda x, w: op.nn.gelu(op.matmul(x, op.permute_dims(w))), ("n", 96), (128, 96)),
    "window": (conv, (1, 8, 14, 14), (32, 8, 3, 3)),
    "attention": (lambda x: op.nn.attention(x, x, x), ("b", "n", 4, 32)),
    "softmax": (op.nn.softmax, ("n", 100)),
    "argreduce": (lambda x: op.argmax(x, axis=-1), ("n", 100)),
    "variance": (lambda x: op.variance(x, axis=[-1]), ("n", 100)),
    "scan": (lambda x: op.cumsum(x, axis=1), ("n", 100)),
    "layout": (op.permute_dims, (40, 48)),
    "sum": (lambda x: op.sum(x, axis=0), ("n", 100)),
}


def optimized(function, *shapes):
    return module_op(Sequential(make_passes(OPTIMIZE))(module(function, *shapes)))


@thinned("name, target", [(name, target) for name in PROGRAMS for target in TARGETS], 5)
def test_planned_and_followed(name, target):
    program = optimized(*PROGRAMS[name])
    plan, schedule = make_passes(["plan-schedule", "default-schedule"], target)
    planned = str(plan(program))
    assert "sched.rule" in planned and str(parsed(planned)) == planned
    done = str(schedule(parsed(planned)))
    assert done == str(schedule(program)) and "sched." not in done
    assert str(schedule(plan(program))) == done


KERNEL = """tir.func private @{0}(%A: !tir.buffer<[64], f32>, %B: !tir.buffer<[64], f32>) {{
  tir.for %i = 0 to 64 {{
    tir.block "B" (%vi = spatial(%i, 64)) {{
      %a = tir.load %A[%vi] : f32
      tir.store %a, %B[%vi]
    }}
  }}
}}
sched.sequence @{0} {{
  sched.rule "{1}" on "B"
}}
"""


@pytest.mark.parametrize(("rule", "left"), [("pointwise", ["f"]), ("transpose", ["f", "g"])])
def test_functions_of_different_schedules_stay_two(rule, left):
    """Those of the same one become one, and so do their schedules."""
    program = parsed(KERNEL.format("f", "pointwise") + KERNEL.format("g", rule))
    merged = Sequential(make_passes(["merge-kernels"]))(program)
    assert [o.sym_name.data for o in merged.ops if o.name == "tir.func"] == left
    assert [o.function_name for o in merged.ops if o.name == "sched.sequence"] == left


@pytest.mark.parametrize(("caches", "actual"), [("", "cached"), (" -l3-size=1048576", "streamed")])
def test_caches_decide_where_results_go(caches, actual):
    """4 MiB, which the last cache holds or not."""
    (plan,) = make_passes(["plan-schedule"], TARGETS[0] + caches)
    text = str(plan(optimized(op.nn.softmax, (1024, 1024))))
    assert f'on "T_softmax_norm" {{lane = "v_i1", stores = "{actual}"}}' in text


def test_caches_decide_how_large_panels_are():
    program = optimized(op.matmul, (64, 1024), (1024, 2048))
    sizes = {}
    for kib in (256, 1024, 2048):
        (plan,) = make_passes(["plan-schedule"], f"{TARGETS[0]} -l2-size={kib << 10}")
        sizes[kib] = int(str(plan(program)).partition("panel_bytes = ")[2].partition(",")[0])
    assert sizes == {256: 1 << 17, 1024: 1 << 19, 2048: 1 << 20}
