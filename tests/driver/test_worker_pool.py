"""Processes that lower parts: the same objects as without them, also where they fail; only where they are worth it."""

import sys
import threading
from io import BytesIO, StringIO

import pytest
from strength import only_full
from xdsl.printer import Printer

from tirax.driver import worker_pool as part_workers
from tirax.driver.build import build
from tirax.driver.kernel_partition import kernels_by_part
from tirax.driver.partition import divide, lowered_text
from tirax.driver.pipelines import HOST, LOWERING, TO_HOST, make_passes
from tirax.driver.timings import Timings
from tirax.driver.worker import serve
from tirax.driver.worker_pool import Answer, PartWorkers, read_message, useful_workers, write_message
from tirax.ir.passes.transform import PassContext, module_op, new_context
from tirax.lowering.host.symbols import name_kernels
from tirax.lowering.machine import compile_object
from tirax.target import Target
from tirax.tvm_api.script import from_source

KERNEL_PASSES = LOWERING[LOWERING.index(TO_HOST) + 1 :]
FUNCTION = """
    @R.function
    def f{size}(x: R.Tensor(({size},), "float32")):
        y = R.add(x, x)
        z = R.astype(y, "float16")
        return z
"""


def module(functions=13):
    texts = "".join(FUNCTION.format(size=size) for size in range(1, functions + 1))
    return from_source(f"from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:{texts}")


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setenv("TIRAX_BUILD_THREADS", "2")
    monkeypatch.setenv("TIRAX_CACHE", "0")
    monkeypatch.setattr(part_workers, "_LARGE", 20)


@pytest.fixture(scope="module")
def expected():
    """The code of the module, all made here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIRAX_BUILD_THREADS", "1")
        patch.setenv("TIRAX_CACHE", "0")
        return build(module()).code


@pytest.fixture
def answers(monkeypatch):
    """What workers answer."""
    seen, request = [], part_workers._request
    monkeypatch.setattr(part_workers, "_request", lambda *args: seen.append(request(*args)) or seen[-1])
    return seen


@only_full
def test_the_code_is_the_same(answers, expected):
    assert build(module()).code == expected
    assert answers and all(isinstance(answer, Answer) for answer in answers)


@pytest.mark.parametrize("executable", ["/bin/false", "/no/such/program"])
def test_what_no_worker_does_is_done_here(monkeypatch, answers, expected, executable):
    monkeypatch.setattr(sys, "executable", executable)
    assert build(module()).code == expected
    assert answers == [None] * (executable == "/bin/false")


def test_a_part_that_cannot_be_sent_to_a_worker_is_lowered_here(monkeypatch, answers, expected):
    def request(process, text, passes):
        raise RuntimeError("out of order")

    monkeypatch.setattr(part_workers, "_request", request)
    monkeypatch.setattr(threading, "excepthook", lambda args: answers.append(str(args.exc_value)))
    assert build(module()).code == expected
    assert answers == ["out of order"]


def test_a_worker_gives_the_object_of_a_part():
    op, target = module_op(module()).clone(), Target.host()
    for p in make_passes(["legalize-ops", *HOST]):
        p.apply(new_context(), op)
    part = divide(op)[1]
    text, out = StringIO(), BytesIO()
    Printer(text).print_op(part.module)
    request = BytesIO()
    write_message(request, text.getvalue().encode(), passes=list(KERNEL_PASSES))
    serve(BytesIO(request.getvalue()), out, target, 3)
    header, code = read_message(BytesIO(out.getvalue()))
    assert code == compile_object(lowered_text(part, make_passes(KERNEL_PASSES, target.text)), target, 3)
    assert {"default-schedule", "object"} <= set(header["stages"])


def test_kernels_are_sent_to_workers_before_entry_points_are_written(monkeypatch, expected):
    order = []

    class Watched(Timings):
        def started(self, name):
            order.append(name)

    offered = PartWorkers.offer
    monkeypatch.setattr(PartWorkers, "offer", lambda *args: order.append("offered") or offered(*args))
    with Watched():
        assert build(module()).code == expected
    assert order.count("offered") == 1
    assert order.index("plan-memory") < order.index("offered") < order.index(TO_HOST)


MIXED = """from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def shared(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("y"):
                v = T.axis.spatial(4, i)
                T.evaluate(T.call_packed("told", x[v]))
                y[v] = x[v]
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = R.call_tir(Module.shared, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return R.add(y, y)
"""


def test_kernels_that_are_named_before_have_the_same_entry_points():
    texts, parts = [], []
    for ahead in (False, True):
        op = module_op(from_source(MIXED)).clone()
        for p in make_passes(["legalize-ops", *HOST[:-1]]):
            p.apply(new_context(), op)
        if ahead:
            assert name_kernels(op) == name_kernels(op) == ("shared",)
        parts.append([[str(f) for f in kernels] for kernels in kernels_by_part(op, 1)] if ahead else [])
        make_passes(HOST[-1:])[0].apply(new_context(), op)
        texts.append(str(op))
        assert not ahead or parts[-1] == [[str(f) for f in kernels] for kernels in kernels_by_part(op, 1)]
    assert texts[0] == texts[1]
    assert "entry_shared.packed.0" in texts[0] and "@kernel.shared" in texts[0] and "host.named" not in texts[0]
    assert parts[1]


def test_which_modules_have_workers(monkeypatch):
    assert useful_workers(module_op(module(5))) == 0
    assert useful_workers(module_op(module())) == 1
    monkeypatch.setenv("TIRAX_BUILD_THREADS", "64")
    assert useful_workers(module_op(module())) == 3
    monkeypatch.setenv("TIRAX_BUILD_THREADS", "1")
    assert useful_workers(module_op(module())) == 0


def test_settings_of_a_context_are_not_for_workers(answers):
    with PassContext(opt_level=1):
        build(module())
    assert not answers


def test_a_message_that_ends_is_none():
    out = BytesIO()
    write_message(out, b"text", key="k")
    assert read_message(BytesIO(out.getvalue())) == ({"key": "k", "size": 4}, b"text")
    for length in range(len(out.getvalue())):
        assert read_message(BytesIO(out.getvalue()[:length])) is None
    assert list(PartWorkers(0, Target.host(), 3).left()) == []
