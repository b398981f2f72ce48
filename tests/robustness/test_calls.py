"""Calls with every kind of wrong argument, and callbacks that do not keep to what they promise."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from strength import is_full, only_full

from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.runtime import registry
from tirax.runtime.errors import ArgumentError, DeviceError

MAIN = """
relax.func @main(%x: !T, %s: !relax.shape<[n, m]>, %p: !relax.prim<i64>, %t: tuple<!T, !relax.prim<f32>>,
    %b: !relax.prim<i1>) -> !T {
  %a = relax.call_tir @inc(%x) : !T
  relax.return %a : !T
}
"""


def ramp(n: int, m: int = 4) -> np.ndarray:
    return np.arange(n * m, dtype=np.float32).reshape(n, m)


class Unprintable:
    def __repr__(self):
        raise KeyError("repr")


class Tensor:
    """Has `__dlpack__`, and that is all."""

    def __init__(self, where):
        self.where = where

    def __dlpack__(self, **options):
        return None

    def __dlpack_device__(self):
        return self.where


class Raises(Exception):
    pass


class Hostile:
    def _raise(self, *args, **options):
        raise Raises

    __index__ = __float__ = __dlpack__ = __dlpack_device__ = _raise


class TupleThatLies(tuple):
    __slots__ = ()

    def __len__(self):
        return 5


class LargeIndex(int):
    def __index__(self):
        return 2**70


GOOD = (ramp(3), (3, 5), 7, (ramp(3), 1.5), True)
BAD = [
    (0, None, ArgumentError, "not an array"),
    (0, Unprintable(), ArgumentError, "not an array"),
    (0, "x", ArgumentError, "not an array"),
    (0, ramp(3).tolist(), ArgumentError, "tirax.runtime.array"),
    (0, np.ndarray, ArgumentError, "not an array"),
    (0, Tensor((1, 0)), ArgumentError, "cannot be imported"),
    (0, Tensor((2, 0)), DeviceError, "cuda"),
    (0, Tensor(None), ArgumentError, "__dlpack_device__"),
    (0, Tensor((1,)), ArgumentError, "__dlpack_device__"),
    (0, np.float32(3), ShapeError, "number of dimensions"),
    (0, np.zeros((3, 4, 1), np.float32), ShapeError, "number of dimensions"),
    (0, np.zeros((3, 5), np.float32), ShapeError, "expected: 4"),
    (0, np.zeros((2, 4), np.float32), ShapeError, "n = 2"),
    (0, ramp(3).astype(object), DTypeError, "object"),
    (0, ramp(3).astype("M8[s]"), DTypeError, "datetime64"),
    (0, np.zeros((3, 4), "S4"), DTypeError, "wrong dtype"),
    (0, np.zeros((3, 4), [("a", "f4")]), DTypeError, "wrong dtype"),
    (0, np.zeros((3, 4), "c8"), DTypeError, "complex64"),
    (0, np.zeros((3, 4), "f8"), DTypeError, "astype"),
    (0, np.zeros((3, 4), "i4"), DTypeError, "int32"),
    (0, np.ma.array(ramp(3)), ArgumentError, "masked"),
    (1, None, ArgumentError, "not a shape"),
    (1, 3, ArgumentError, "not a shape"),
    (1, "ab", ArgumentError, "not a shape"),
    (1, np.array([3, 5]), ArgumentError, "not a shape"),
    (1, (3, 1.5), ArgumentError, "not a shape"),
    (1, (3, True), ArgumentError, "not a shape"),
    (1, (3, float("nan")), ArgumentError, "not a shape"),
    (1, (3,), ShapeError, "wrong number"),
    (1, (3, 5, 6), ShapeError, "wrong number"),
    (1, (3, -1), ShapeError, "out of range"),
    (1, (3, 2**63), ShapeError, "out of range"),
    (1, (3, 2**200), ShapeError, "out of range"),
    (1, (4, 5), ShapeError, "n = 3"),
    (2, None, ArgumentError, "int64"),
    (2, 1.5, ArgumentError, "int64"),
    (2, float("nan"), ArgumentError, "int64"),
    (2, True, ArgumentError, "int64"),
    (2, 2**63, ArgumentError, "int64"),
    (2, -(2**63) - 1, ArgumentError, "int64"),
    (2, np.array([3, 4]), ArgumentError, "int64"),
    (3, None, ArgumentError, "not a tuple"),
    (3, (), ArgumentError, "fields"),
    (3, (ramp(3), 1.0, 2), ArgumentError, "fields"),
    (3, TupleThatLies((ramp(3), 1.5)), ArgumentError, "fields"),
    (3, (ramp(2), 1.0), ShapeError, "field 0"),
    (3, (ramp(3), "x"), ArgumentError, "field 1"),
    (3, (ramp(3), 10**400), ArgumentError, "field 1"),
    (3, (ramp(3), 1j), ArgumentError, "field 1"),
    (4, 1, ArgumentError, "bool"),
    (4, None, ArgumentError, "bool"),
]
FINE = [
    (0, ramp(3)[::-1]),
    (0, ramp(6)[::2]),
    (0, np.asfortranarray(ramp(3))),
    (0, ramp(3).astype(">f4")),
    (0, np.broadcast_to(np.float32(1), (3, 4))),
    (0, np.frombuffer(b"\0" + ramp(3).tobytes(), np.uint8)[1:].view(np.float32).reshape(3, 4)),
    (0, ramp(3).view(np.recarray)),
    (0, np.full((3, 4), np.nan, np.float32)),
    (1, [3, 5]),
    (1, (np.int8(3), LargeIndex(5))),
    (2, -(2**63)),
    (2, np.uint8(3)),
    (3, [ramp(3), 1]),
    (3, (ramp(3), float("inf"))),
    (4, np.True_),
]


@pytest.fixture(scope="module")
def main(compiled):
    return compiled(MAIN)["main"]


@pytest.mark.parametrize(("position", "value", "kind", "text"), BAD, ids=range(len(BAD)))
def test_bad_argument(main, position, value, kind, text):
    args = [*GOOD]
    args[position] = value
    with pytest.raises(kind) as caught:
        main(*args)
    assert text in str(caught.value)
    assert f"argument {position} '{'xsptb'[position]}'" in str(caught.value) or "by argument 0" in str(caught.value)


@pytest.mark.parametrize(("position", "value"), FINE, ids=range(len(FINE)))
def test_unusual_argument(main, position, value):
    args = [*GOOD]
    args[position] = value
    np.testing.assert_array_equal(main(*args), np.asarray(args[0]).astype(np.float32) + 1)


@pytest.mark.parametrize("position", range(4))
def test_exceptions_of_arguments_arrive(main, position):
    args = [*GOOD]
    args[position] = [Hostile(), (3, Hostile()), Hostile(), (Hostile(), 1.5)][position]
    with pytest.raises(Raises):
        main(*args)


@pytest.mark.parametrize("count", [0, 4, 6, 1000])
def test_wrong_number_of_arguments(main, count):
    with pytest.raises(ArgumentError, match="takes 5 arguments"):
        main(*[GOOD[0]] * count)


def test_memory_that_is_written(compiled):
    """A function that writes into its argument takes no copy of it, and nothing that shares memory with another one."""
    ex = compiled("""
    relax.func @main(%x: !T, %y: !T) -> tuple<!T, !T> {
      %a = relax.call_tir_inplace @double(%x) inplace [0] : !T
      %b = relax.call_tir @inc(%y) : !T
      %t = relax.tuple(%a, %b)
      relax.return %t : tuple<!T, !T>
    }""")
    frozen = ramp(3)
    frozen.flags.writeable = False
    for bad in (frozen, ramp(3)[::-1], ramp(3).astype(">f4"), np.broadcast_to(np.float32(1), (3, 4))):
        with pytest.raises(ArgumentError, match="cannot be written in place"):
            ex["main"](bad, ramp(3))
    both = ramp(4)
    doubled, more = ex["main"](both[1:], both[:3])
    np.testing.assert_array_equal(doubled, ramp(4)[1:] * 2)
    np.testing.assert_array_equal(more, ramp(4)[:3] + 1)
    same = ramp(3)
    doubled, more = ex["main"](same, same)
    np.testing.assert_array_equal(more, ramp(3) + 1)


CALLBACK = """
relax.func @main(%x: !T) -> !T {
  %a = relax.call_tir @inc(%x) : !T
  %b = relax.call_dps_packed "robust.dps"(%a) : !T
  %c = relax.call_packed "robust.packed"(%b) : !T
  %d = relax.call_tir @inc(%c) : !T
  relax.return %d : !T
}
"""


@pytest.fixture
def callback(compiled):
    """`callback(dps=…, packed=…)`: CALLBACK on ramp(3), with two functions of Python."""

    def call(dps=lambda x, out: np.copyto(out, x), packed=lambda x: x):
        registry.register_func("robust.dps", dps, override=True)
        registry.register_func("robust.packed", packed, override=True)
        return compiled(CALLBACK.replace("-> !T {", "-> !T impure {"))["main"](ramp(3))

    yield call
    registry.remove_global_func("robust.dps")
    registry.remove_global_func("robust.packed")


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (None, ArgumentError),
        (1, ArgumentError),
        (Unprintable(), ArgumentError),
        ([ramp(3)], ArgumentError),
        ((ramp(3), ramp(3)), ArgumentError),
        (np.float32(1), ShapeError),
        (ramp(2), ShapeError),
        (np.zeros((3, 4, 1), np.float32), ShapeError),
        (ramp(3).astype("f8"), DTypeError),
        (ramp(3).astype(object), DTypeError),
        (np.ma.array(ramp(3)), ArgumentError),
    ],
)
def test_callbacks_that_return_garbage(callback, result, kind):
    with pytest.raises(kind):
        callback(packed=lambda x: result)


@pytest.mark.parametrize("result", [ramp(3).astype(">f4"), np.asfortranarray(ramp(3)), ramp(6)[::2]])
def test_callbacks_that_return_another_layout(callback, result):
    np.testing.assert_array_equal(callback(packed=lambda x: result), np.asarray(result, np.float32) + 1)


def _reshape(x, out):
    np.copyto(out, x)
    out.shape = x.shape = (1, 12)


def _freeze(x, out):
    np.copyto(out, x)
    out.flags.writeable = False


def _reinterpret(x, out):
    np.copyto(out, x)
    out.dtype = x.dtype = np.int32


# numpy 2.5 deprecates setting shapes and dtypes; as long as it can be done, it has to do no harm.
@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
@pytest.mark.parametrize("dps", [_reshape, _freeze, _reinterpret])
def test_callbacks_that_change_their_arguments(callback, dps):
    """The kernels that follow know shapes and memory from before the call."""
    assert callback(dps=dps, packed=lambda x: ramp(3)).tolist() == (ramp(3) + 1).tolist()


@only_full
def test_callbacks_that_keep_their_arguments(callback):
    kept = []

    def keep(x, out):
        np.copyto(out, x)
        kept.append((x, out))

    result = callback(dps=keep)
    gc.collect()
    x, out = kept[0]
    np.testing.assert_array_equal(x, ramp(3) + 1)
    np.testing.assert_array_equal(out, ramp(3) + 1)
    np.testing.assert_array_equal(result, ramp(3) + 2)


@pytest.mark.parametrize("error", [Raises(), KeyboardInterrupt(), SystemExit(3), StopIteration(), TiraxError("x")])
def test_callbacks_that_raise(callback, error):
    def fail(*_):
        raise error

    for functions in ({"dps": fail}, {"packed": fail}):
        with pytest.raises(type(error)) as caught:
            callback(**functions)
        assert caught.value is error


@only_full
def test_endless_recursion_is_an_exception(in_process):
    printed = in_process('''
from tirax.runtime import registry
ex = compiled("""
relax.func @main(%x: !T) -> !T {
  %a = relax.call_tir @inc(%x) : !T
  %b = relax.call @other(%a) : !T
  relax.return %b : !T
}
relax.func @other(%x: !T) -> !T {
  %a = relax.call_tir @inc(%x) : !T
  %b = relax.call @main(%a) : !T
  relax.return %b : !T
}
relax.func @back(%x: !T) -> !T {
  %a = relax.call_dps_packed "robust.back"(%x) : !T
  relax.return %a : !T
}""")
registry.register_func("robust.back", lambda x, out: ex["back"](x))
for limit in (1000, 6000):
    sys.setrecursionlimit(limit)
    for name in ("main", "back"):
        for n in (0, 500):
            try:
                ex[name](np.zeros((n, 4), np.float32))
            except RecursionError:
                print(name)
''')
    assert printed.split() == ["main", "main", "back", "back"] * 2


@pytest.mark.thinned
def test_recursion_that_fills_the_stack_is_an_exception(in_process):
    """However large the stack and far Python's limit: what ends before is right, what does not is an error."""
    stacks = (1 << 16, 1 << 20, 1 << 26) if is_full() else (1 << 20,)
    printed = in_process(
        f"STACKS = {stacks}"
        + '''
import threading
from tirax.runtime import registry
from tirax.runtime.errors import StackError
from tirax.script import parse_source
ex = build(parse_source("""
@I.ir_module
class M:
    @T.prim_func
    def ask(A: T.Buffer((1,), "int64")):
        B = T.alloc_buffer((1000,), "int64")
        B[A[0]] = 1
        T.evaluate(T.call_packed("robust.again", B[A[0]]))
    @R.function
    def down(x: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        c = R.less(x, R.const(1, "int64"))
        if c:
            r = x
        else:
            y = R.subtract(x, R.const(1, "int64"))
            r = M.up(y)
        return r
    @R.function
    def up(x: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        y = M.down(x)
        return R.add(y, R.const(1, "int64"))
    @R.function
    def back(x: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        y = R.call_packed("robust.back", x, sinfo_args=R.Tensor((), "int64"))
        return y
"""))
registry.register_func("robust.back", lambda x: ex["back"](x))
registry.register_func("robust.again", lambda x: ex["ask"](np.ones(1, np.int64)))
def work():
    print(ex["down"](np.array(20)))
    for name, x in (("down", np.array(10**9)), ("back", np.array(1)), ("ask", np.ones(1, np.int64))):
        try:
            ex[name](x)
        except RecursionError as error:  # Python counts calls of C itself from 3.12 on, and may be the first to say so
            print(name, isinstance(error, StackError) or sys.version_info >= (3, 12))
sys.setrecursionlimit(10**9)
work()
print(ex["down"](np.array(700)))  # 1,400 calls: Python 3.12 has 1,500 of them, whatever its limit
for stack in STACKS:
    threading.stack_size(stack)
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
'''
    )
    assert printed.splitlines() == ["20", "down True", "back True", "ask True", "700"] + [
        "20", "down True", "back True", "ask True"
    ] * (2 * len(stacks))  # fmt: skip


def _right(function, rows: int) -> bool:
    x = ramp(rows)
    return np.array_equal(function(x, (rows, 1), 1, (x, 1.0), True), x + 1)


def test_threads_that_build_load_call_and_free(compiled):
    ex = compiled(MAIN)
    gc.freeze()  # what other tests left need not be looked through at each collection
    problems: list[object] = []

    def work(function, times):
        try:
            for n in range(times):
                if not _right(function(), n * 20):
                    problems.append(n)
                gc.collect()
        except Exception as error:  # noqa: BLE001 - a thread's exception would be lost
            problems.append(error)

    calls = (lambda: ex["main"], 20), (lambda: ex.fresh_module()["main"], 10), (lambda: compiled(MAIN)["main"], 2)
    threads = [threading.Thread(target=work, args=each) for each in calls * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
