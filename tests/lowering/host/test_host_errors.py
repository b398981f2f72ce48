"""What can go wrong in a call, and that nothing leaks or is lost when it does."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from strength import only_full

from tirax.diagnostics import DTypeError, NameLookupError, ShapeError, TiraxError, UnsupportedError
from tirax.runtime import registry
from tirax.runtime.errors import ArgumentError
from tirax.runtime.executable import Executable
from tirax.runtime.ndarray import NDArray

ADD = """
relax.func @main(%x: !T, %y: !T) -> !T {
  %a = relax.call_tir @inc(%x) : !T
  %b = relax.call_tir @add(%a, %y) : !T
  relax.return %b : !T
}
"""
CALLBACK = """
relax.func @main(%x: !T, %y: !T) -> tuple<!T, !T> impure {
  %a = relax.call_tir @inc(%x) : !T
  %b = relax.call_dps_packed "test.first"(%a) : !T
  %c = relax.call_packed "test.second"(%b, %y) : !T
  %d = relax.call_tir @add(%c, %y) : !T
  %t = relax.tuple(%d, %c)
  relax.return %t : tuple<!T, !T>
}
"""


def ramp(n, m=4):
    return np.arange(n * m, dtype=np.float32).reshape(n, m)


@pytest.fixture(scope="module")
def add(host):
    return host.build(ADD)


@pytest.fixture
def callbacks():
    """The two packed functions of CALLBACK: what they do is `callbacks.first` and `callbacks.second`."""

    class Callbacks:
        first = staticmethod(lambda x, out: np.copyto(out, x))
        second = staticmethod(lambda x, y: x + y)

    registry.register_func("test.first", lambda *args: Callbacks.first(*args), override=True)
    registry.register_func("test.second", lambda *args: Callbacks.second(*args), override=True)
    yield Callbacks
    registry.remove_global_func("test.first")
    registry.remove_global_func("test.second")


@pytest.mark.parametrize(
    ("args", "error", "text"),
    [
        ((), ArgumentError, "takes 2 arguments"),
        ((ramp(3),), ArgumentError, "missing: 'y'"),
        ((ramp(3),) * 3, ArgumentError, "found: 3 arguments"),
        ((ramp(3), 1.0), ArgumentError, "argument 1 'y'"),
        ((None, ramp(3)), ArgumentError, "argument 0 'x'"),
        ((ramp(3), ramp(3).astype(np.float64)), DTypeError, "found: float64"),
        ((ramp(3), ramp(3)[0]), ShapeError, "wrong number of dimensions"),
        ((ramp(3), ramp(2)), ShapeError, "n = 3"),
        ((ramp(3, 5), ramp(3, 5)), ShapeError, "expected: 4"),
    ],
)
def test_argument_errors(add, args, error, text):
    with pytest.raises(error) as caught:
        add["main"](*args)
    assert text in str(caught.value)


def test_arguments_of_another_form_are_normalised(add):
    x, y = ramp(3), ramp(3) * 2
    wide = np.zeros((3, 8), np.float32)
    wide[:, ::2] = y
    unaligned = np.frombuffer(b"\0" + y.tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4)

    class Sub(np.ndarray):
        pass

    for array in (np.asfortranarray(y), wide[:, ::2], unaligned, y.astype(">f4"), y.view(Sub)):
        np.testing.assert_array_equal(add["main"](x, array), x + 1 + y)


def test_kernel_that_does_not_fit_is_refused_when_compiling(host):
    def function(body, params="%x: !T"):
        return f"relax.func @main({params}) -> !T {{ {body} relax.return %a : !T }}"

    narrow = "!relax.tensor<[n, 3], f32>"
    cases = [
        ("%a = relax.call_tir @add(%x, %y) : !T", f"%x: !T, %y: {narrow}", ShapeError, "dimension 1, of the kernel"),
        ("%a = relax.call_tir @inc(%x) : !T", "%x: !relax.tensor<[n, 4], f64>", DTypeError, "expected: float32"),
        ("%a = relax.call_tir @inc(%x) : !T", "%x: !relax.tensor<[n], f32>", ShapeError, "number of dimensions"),
        ("%a = relax.call_tir @inc(%x) : !T", "%x: !relax.tensor<ndim = 2>, %y: !T", DTypeError, "match_cast"),
        ("%a = relax.call_tir @inc(%x) : !T", "%x: !relax.tensor<[m, 4], f32>", ShapeError, "'n' has no value"),
        ("%a = relax.nn.relu %x : !T", "%x: !T", UnsupportedError, "legalize-ops"),
    ]
    for body, params, error, text in cases:
        with pytest.raises(error) as caught:
            host.build(function(body, params))
        assert text in str(caught.value)


def test_unsupported_operations_are_named_at_once(host):
    with pytest.raises(UnsupportedError) as caught:
        host.build("""
        relax.func @main(%x: !T) -> !T {
          %a = relax.nn.relu %x : !T
          %b = relax.exp %a : !T
          %c = relax.exp %b : !T
          relax.return %c : !T
        }""")
    assert "'relax.nn.relu', 'relax.exp'" in str(caught.value)
    assert "in @main" in str(caught.value) and "1 more" in str(caught.value)


def test_a_different_extent_is_detected_when_running(host):
    ex = host.build("""
    relax.func @main(%x: !T, %y: !relax.tensor<[m, 4], f32>) -> !T {
      %a = relax.call_tir @add(%x, %y) : !T
      relax.return %a : !T
    }""")
    np.testing.assert_array_equal(ex["main"](ramp(3), ramp(3)), ramp(3) * 2)
    with pytest.raises(ShapeError) as caught:
        ex["main"](ramp(3), ramp(2))
    assert "kernel 'add'" in str(caught.value) and "found: 2" in str(caught.value)


def test_negative_and_enormous_extents(host):
    ex = host.build("""
    relax.func @less(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n - 2, 4], f32> {
      %s = relax.call_tir @fill() : !relax.tensor<[n - 2, 4], f32>
      %a = relax.call_tir @inc(%s) : !relax.tensor<[n - 2, 4], f32>
      relax.return %a : !relax.tensor<[n - 2, 4], f32>
    }
    relax.func @huge(%s: !relax.shape<[n]>) -> !T {
      %a = relax.call_tir @fill() : !T
      %b = relax.call_tir @inc(%a) : !T
      relax.return %b : !T
    }
    relax.func @parts(%s: !relax.shape<[n, m]>) -> !relax.tensor<[n floordiv m, 4], f32> {
      %a = relax.call_tir @fill() : !relax.tensor<[n floordiv m, 4], f32>
      %b = relax.call_tir @inc(%a) : !relax.tensor<[n floordiv m, 4], f32>
      relax.return %b : !relax.tensor<[n floordiv m, 4], f32>
    }
    tir.func private @fill(%A: !tir.buffer<[n, 4], f32>) attributes {tir.noalias = true} {
      tir.for %i = 0 for n { tir.for %j = 0 for 4 {
        %one = tir.const 1.0 : f32
        tir.store %one, %A[%i, %j]
      } }
    }""")
    assert ex["less"](np.zeros(5, np.float32)).shape == (3, 4)
    assert ex["less"](np.zeros(2, np.float32)).shape == (0, 4)
    with pytest.raises(ShapeError, match="negative"):
        ex["less"](np.zeros(1, np.float32))
    assert ex["huge"]((3,)).tolist() == [[2.0] * 4] * 3
    for n in (2**62, 2**60, 2**44):
        with pytest.raises((ShapeError, MemoryError)):
            ex["huge"]((n,))
    assert ex["parts"]((7, 2)).shape == (3, 4)
    with pytest.raises(ShapeError, match="zero"):
        ex["parts"]((7, 0))


def test_exceptions_of_callbacks_arrive_as_they_were_raised(host, callbacks):
    ex = host.build(CALLBACK)
    x, y = ramp(3), ramp(3) * 2
    d, c = ex["main"](x, y)
    np.testing.assert_array_equal(c, x + 1 + y)
    np.testing.assert_array_equal(d, x + 1 + 2 * y)

    class Own(Exception):
        pass

    error = Own("as it is")

    def failing(*args):
        raise error

    for name in ("first", "second"):
        before = getattr(callbacks, name)
        setattr(callbacks, name, staticmethod(failing))
        with pytest.raises(Own) as caught:
            ex["main"](x, y)
        assert caught.value is error
        setattr(callbacks, name, before)


@only_full
def test_references_are_counted_exactly_on_every_path(host, callbacks):
    ex = host.build(CALLBACK)
    main, x, y = ex["main"], ramp(3), ramp(3)
    float32, seen = np.dtype("float32"), []

    def second_fails(a, b):
        seen.append(weakref.ref(a))
        raise ValueError

    def wrong_shape(a, b):
        return np.zeros((1, 4), np.float32)

    def step(k):
        callbacks.second = staticmethod([lambda a, b: a + b, second_fails, wrong_shape, lambda a, b: [1]][k % 4])
        try:
            main(x, y)
            main(np.asfortranarray(x), y)
        except (ValueError, TypeError):
            pass
        with pytest.raises(TiraxError):
            main(x, ramp(2))

    def counts():
        for _ in range(3):  # what finalizers bring back goes at the next one
            gc.collect()
        return [sys.getrefcount(o) for o in (x, y, None, float32, callbacks.first, tuple, NDArray, True)]

    for k in range(8):
        step(k)
    counts()
    gc.freeze()  # garbage of other tests that goes meanwhile would count
    before = counts()
    for k in range(400):
        step(k)
    for actual, expected in zip(counts(), before, strict=True):
        assert abs(actual - expected) < 50
    gc.unfreeze()
    assert all(ref() is None for ref in seen)


def test_memory_does_not_grow(host, callbacks):
    """The arena is freed on every path: 1 MiB a call would be 2 GB."""
    import resource

    ex = host.build(CALLBACK)
    x = ramp(2**16)
    callbacks.second = staticmethod(lambda a, b: [1])

    def run(times):
        for _ in range(times):
            with pytest.raises(TiraxError):
                ex["main"](x, x)

    run(10)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run(300)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_threads(add):
    main, problems = add["main"], []

    def work(seed):
        rng = np.random.default_rng(seed)
        for n in rng.integers(0, 3000, 60):
            x, y = rng.random((n, 4), np.float32), rng.random((n, 4), np.float32)
            if not np.array_equal(main(x, y), x + 1 + y):
                problems.append((seed, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_the_gil_is_released_where_there_is_much_to_do(host):
    ex = host.build(ADD)
    assert "PyEval_SaveThread" in str(host.lower(ADD))
    x = ramp(100_000)
    np.testing.assert_array_equal(ex["main"](x, x), 2 * x + 1)


def test_results_outlive_the_executable(host):
    ex = host.build(ADD)
    result, main = ex["main"](ramp(3), ramp(3)), ex["main"]
    del ex
    gc.collect()
    np.testing.assert_array_equal(result, ramp(3) * 2 + 1)
    np.testing.assert_array_equal(main(ramp(2), ramp(2)), ramp(2) * 2 + 1)


def test_saved_executable_runs_in_a_fresh_process(host, tmp_path):
    path = tmp_path / "add.tirax"
    host.build(ADD).save(path)
    loaded = Executable.load(path)
    np.testing.assert_array_equal(loaded["main"](ramp(3), ramp(3)), ramp(3) * 2 + 1)
    code = f"""
import numpy as np, sys
from tirax.runtime.executable import Executable
x = np.ones((3, 4), np.float32)
assert (Executable.load({str(path)!r})["main"](x, x) == 3).all()
assert not any(m.startswith("xdsl.dialects.llvm") for m in sys.modules)
print("fine")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "fine", done.stderr


def test_missing_packed_functions_are_named_when_loading(host):
    ex = host.build("""
    relax.func @main(%x: !T) -> !T {
      %a = relax.call_dps_packed "test.nobody"(%x) : !T
      relax.return %a : !T
    }""")
    with pytest.raises(NameLookupError, match="test.nobody"):
        ex["main"](ramp(3))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            """%c = relax.constant <f32 [1, 4] [[1.0, 2.0, 3.0, 4.0]]>
            %a = relax.call_tir_inplace @double_inplace(%c) inplace [0] : !relax.tensor<[1, 4], f32>""",
            "a constant",
        ),
        ("%a = relax.call_tir_inplace @inc(%x, %x) inplace [1] : !relax.tensor<[1, 4], f32>", "which is 'A', too"),
    ],
)
def test_writing_in_place_where_it_would_be_wrong(host, body, text):
    t = "!relax.tensor<[1, 4], f32>"
    with pytest.raises(UnsupportedError) as caught:
        host.build(f"relax.func @main(%x: {t}) -> {t} {{ {body} relax.return %a : {t} }}")
    assert text in str(caught.value)


def test_expressions_in_signatures(host):
    ex = host.build("""
    relax.func @main(%e: !relax.tensor<[n + 1, m floordiv k], f32>, %x: !T, %y: !relax.tensor<[m, k], f32>) -> !T {
      %a = relax.call_tir @inc(%x) : !T
      relax.return %a : !T
    }
    relax.func @unbound(%e: !relax.tensor<[n + 1], f32>) -> !relax.tensor<[n + 1], f32> {
      relax.return %e : !relax.tensor<[n + 1], f32>
    }""")

    def call(n, columns, m, k):
        return ex["main"](np.zeros((n, columns), np.float32), ramp(3), np.zeros((m, k), np.float32))

    np.testing.assert_array_equal(call(4, 3, 7, 2), ramp(3) + 1)
    for wrong in ((5, 3, 7, 2), (4, 2, 7, 2), (4, 3, 7, 0)):
        with pytest.raises(ShapeError, match="argument 0 'e'"):
            call(*wrong)
    assert ex["unbound"](np.zeros(0, np.float32)).shape == (0,)


def test_a_variable_that_nothing_determines_is_refused_when_compiling(host):
    with pytest.raises(ShapeError, match="'n' has no value") as caught:
        host.build("""
        relax.func @main(%e: !relax.tensor<[n + 1], f32>) -> !T {
          %a = relax.call_tir @fill() : !T
          relax.return %a : !T
        }
        tir.func private @fill(%A: !tir.buffer<[n, 4], f32>) {
          %one = tir.const 1.0 : f32
          tir.for %i = 0 for n {
            tir.for %j = 0 for 4 { tir.store %one, %A[%i, %j] }
          }
        }""")
    assert "in function @main" in str(caught.value)


def test_functions_as_values_are_refused(host):
    with pytest.raises(UnsupportedError, match="as a value"):
        host.build("""
        relax.func @main(%x: !T) -> !relax.object impure {
          %f = relax.function_ref @main : !relax.callable<(!T) -> !relax.object>
          %a = relax.call_packed "test.f"(%f) : !relax.object
          relax.return %a : !relax.object
        }""")
    with pytest.raises(UnsupportedError, match="closure"):
        host.build("""
        relax.func @main(%x: !T) -> !relax.object impure {
          %f = relax.closure(%a: !T) -> !T {
            relax.return %a : !T
          }
          %a = relax.call_packed "test.f"(%f) : !relax.object
          relax.return %a : !relax.object
        }""")
