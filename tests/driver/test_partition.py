"""Large modules are compiled in parts: the same objects whoever makes them; a build that fails breaks nothing."""

import numpy as np
import pytest
from strength import crossed, only_full
from xdsl.dialects.builtin import i32

from tirax.diagnostics import TiraxError
from tirax.dialects import tir
from tirax.driver.build import build
from tirax.driver.kernel_partition import FEWEST_PARTS, KERNELS_IN_A_PART
from tirax.driver.partition import divide
from tirax.driver.pipelines import HOST, make_passes
from tirax.hardware import build_threads
from tirax.ir.passes.transform import module_op, new_context
from tirax.lowering import machine
from tirax.runtime.engine import split_objects
from tirax.tvm_api.script import from_source

KERNELS = FEWEST_PARTS * KERNELS_IN_A_PART + 1
FUNCTION = """
    @R.function
    def f{size}(x: R.Tensor(({size},), "float32")):
        y = R.add(x, R.const({size}, "float32"))
        return y
"""


def module(kernels=KERNELS):
    functions = "".join(FUNCTION.format(size=size) for size in range(1, kernels + 1))
    return from_source(f"from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:{functions}")


def check(executable, kernels=KERNELS):
    for size in range(1, kernels + 1):
        x = np.random.default_rng(size).standard_normal(size, dtype=np.float32)
        np.testing.assert_allclose(executable[f"f{size}"](x), x + size, rtol=1e-6)


def with_kernels(mod):
    """The module after `convert-host-to-func`."""
    op = module_op(mod).clone()
    for p in make_passes(["legalize-ops", *HOST]):
        p.apply(new_context(), op)
    return op


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TIRAX_CACHE", "objects")
    return tmp_path / "tirax" / "objects"


def test_threads_and_repetition_change_nothing(monkeypatch):
    monkeypatch.setenv("TIRAX_CACHE", "0")
    codes = []
    for threads in ("1", "2", "2"):
        monkeypatch.setenv("TIRAX_BUILD_THREADS", threads)
        executable = build(module())
        check(executable)
        codes.append(executable.code)
    assert codes[0] == codes[1] == codes[2]
    assert len(split_objects(codes[0])) == 1 + -(-KERNELS // KERNELS_IN_A_PART)


def test_the_cache_gives_the_same_code(monkeypatch):
    first = build(module()).code
    monkeypatch.setattr(machine, "compile_object", None)
    again = build(module())
    assert again.code == first
    check(again)


def test_small_modules_are_not_split():
    assert len(split_objects(build(module(KERNELS - 2)).code)) == 1


def test_saved_and_loaded(tmp_path):
    executable = build(module())
    executable.save(tmp_path / "many.tirax")
    check(type(executable).load(tmp_path / "many.tirax"))


@only_full
@crossed("error, threads", [machine.LLVMError("no"), KeyboardInterrupt()], ["1", "2"], ids=repr)
def test_a_failing_build_leaves_nothing_broken(monkeypatch, own_cache, threads, error):
    monkeypatch.setenv("TIRAX_BUILD_THREADS", threads)
    compiled, expected = machine.compile_object, build(module()).code
    for path in own_cache.iterdir():
        path.unlink()
    calls = []

    def failing(*args):
        calls.append(args)
        if len(calls) == 3:
            raise error
        return compiled(*args)

    with monkeypatch.context() as patch:
        patch.setattr(machine, "compile_object", failing)
        with pytest.raises(type(error)):
            build(module())
    assert not [path for path in own_cache.iterdir() if path.suffix != ".o"]
    executable = build(module())
    assert executable.code == expected
    check(executable)


def test_kernels_that_call_each_other_stay_together():
    op = with_kernels(module(KERNELS + 1))
    caller, callee, *_ = [f for f in op.ops if isinstance(f, tir.FuncOp)]
    call = tir.CallExternOp(callee.sym_name.data, [], i32)
    caller.body.block.add_ops([call, tir.EvaluateOp(call.result)])
    first, *others = divide(op)
    assert {caller, callee} == {f for f in first.module.ops if isinstance(f, tir.FuncOp)}
    assert sum(len(part.exported) for part in others) == KERNELS - 1


def test_a_module_with_other_operations_is_not_split():
    op = with_kernels(module())
    op.body.block.add_op(module_op(module(1)).clone())
    (part,) = divide(op)
    assert part.module is op and not part.exported


@pytest.mark.parametrize("text", ["0", "-1", "two"])
def test_a_wrong_number_of_threads_is_refused(monkeypatch, text):
    monkeypatch.setenv("TIRAX_BUILD_THREADS", text)
    with pytest.raises(TiraxError, match="TIRAX_BUILD_THREADS"):
        build_threads()
