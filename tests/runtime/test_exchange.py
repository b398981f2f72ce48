"""Calls with torch's tensors: the same memory on both sides, and the slower way for what does not fit."""

import gc
import threading
import weakref

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.runtime import exchange, registry
from tirax.runtime.exchange import exchanging, normalizing
from tirax.script import parse_source

torch = pytest.importorskip("torch", reason="the tensors are torch's")

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64", "bfloat16", "float8_e4m3fn"]


def function(text):
    executable = build(parse_source(f"@I.ir_module\nclass Module:\n    @R.function\n    def main{text}"))
    return executable["main"], executable.functions["main"]


def never(*args):
    raise AssertionError("the slower way was taken")


def wrapped(text, slow=never):
    return exchanging(*function(text), (torch.Tensor, torch.nn.Parameter), slow)


DOUBLE = """(x: R.Tensor(("n", 3), "float32")) -> R.Tuple(R.Tensor(("n", 3), "float32")):
        y = R.add(x, x)
        return (y,)
"""


@pytest.fixture(scope="module")
def double():
    return function(DOUBLE)


def call(double, slow=never):
    return exchanging(*double, (torch.Tensor, torch.nn.Parameter), slow)


def test_a_tensor_goes_in_and_comes_out(double):
    x = torch.randn(4, 3)
    (y,) = call(double)(x)
    assert type(y) is torch.Tensor and y.is_contiguous() and not y.requires_grad
    torch.testing.assert_close(y, x + x)


def test_parameters_and_views_that_are_dense_are_taken_as_they_are(double):
    f = call(double)
    weight = torch.nn.Parameter(torch.randn(2, 3))
    torch.testing.assert_close(f(weight)[0], (weight + weight).detach())
    base = torch.randn(7, 3)
    torch.testing.assert_close(f(base[2:5])[0], base[2:5] * 2)


@pytest.mark.parametrize(
    "argument",
    [
        lambda: torch.randn(3, 4).T,
        lambda: torch.randn(4, 3, dtype=torch.float64),
        lambda: torch.randn(3),
        lambda: torch.randn(8, 3)[::2],
        lambda: torch.from_numpy(np.zeros(49, np.uint8)[1:].view(np.float32).reshape(4, 3)),
        lambda: np.zeros((4, 3), np.float32),
        lambda: torch.randn(4, 3).to_sparse(),
        lambda: 3,
        lambda: None,
    ],
)
def test_what_does_not_fit_goes_the_slower_way(double, argument):
    x = argument()
    assert call(double, lambda *args: args)(x)[0] is x


def test_the_number_of_arguments_is_for_the_slower_way(double):
    f = call(double, lambda *args: len(args))
    assert f() == 0 and f(torch.zeros(1, 3), torch.zeros(1, 3)) == 2


def test_a_subclass_goes_the_slower_way(double):
    class Special(torch.Tensor):
        pass

    assert call(double, lambda x: "slow")(torch.zeros(1, 3).as_subclass(Special)) == "slow"


def test_an_error_arrives_as_it_was_raised():
    f = wrapped("""(x: R.Tensor(["n"], "int8"), y: R.Tensor(["n"], "int8")) -> R.Tuple(R.Tensor(["n"], "int8")):
        z = R.add(x, y)
        return (z,)
""")
    with pytest.raises(ValueError, match="wrong extent"):
        f(torch.zeros(3, dtype=torch.int8), torch.zeros(4, dtype=torch.int8))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    f = wrapped(f"""(x: R.Tensor((5,), "{dtype}")) -> R.Tuple(R.Tensor((5,), "{dtype}"), R.Tensor((1, 5), "{dtype}")):
        y = R.reshape(x, (1, 5))
        return (x, y)
""")
    x = (torch.arange(5) % 2).to(getattr(torch, dtype))
    same, y = f(x)
    assert same.dtype == y.dtype == x.dtype and torch.equal(same.view(torch.uint8), x.view(torch.uint8))
    assert same.data_ptr() != x.data_ptr()  # results have memory of their own
    assert y.shape == (1, 5) and torch.equal(y.reshape(5).view(torch.uint8), x.view(torch.uint8))


def test_numbers_and_shapes_are_passed_on():
    f = wrapped("""(s: R.Shape(["n"]), k: R.Prim(value="k")) -> R.Tuple(R.Tensor(("n", "k")), R.Shape(["n"])):
        n, k = T.int64(), T.int64()
        y = R.zeros(R.shape([n, k]), dtype="float32")
        return (y, R.shape([n]))
""")
    y, shape = f((2,), 3)
    assert y.shape == (2, 3) and tuple(shape) == (2,)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_extents_of_zero_and_one(double, n):
    (y,) = call(double, lambda x: (x + x,))(torch.ones(n, 3))
    assert y.shape == (n, 3) and y.stride() == (3, 1)


def test_a_result_lives_as_long_as_it_is_used_and_no_longer(double):
    f = call(double)
    released = threading.Event()
    x = torch.randn(100_000, 3)
    weakref.finalize(x, released.set)
    (y,) = f(x)
    expected = x + x
    del x
    gc.collect()
    assert released.is_set()
    part = y[10:20]
    del y
    for _ in range(5):
        f(torch.zeros(100_000, 3))
    torch.testing.assert_close(part, expected[10:20])


def test_results_are_released_by_other_threads_too(double):
    f = call(double)
    held = [f(torch.randn(300, 3)) for _ in range(50)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    torch.testing.assert_close(f(torch.ones(1, 3))[0], torch.full((1, 3), 2.0))


def test_calls_leak_no_references(double):
    import sys

    f, x = call(double), torch.randn(4, 3)
    before = sys.getrefcount(x)
    for _ in range(100):
        f(x)
    assert sys.getrefcount(x) == before


def test_arguments_may_be_left_out(double):
    f = exchanging(*double, (torch.Tensor,), never, [False, True, False])
    torch.testing.assert_close(f(None, torch.ones(1, 3), 7)[0], torch.full((1, 3), 2.0))


def test_without_the_interface_the_slower_way_is_taken(double):
    class Plain:
        pass

    assert exchanging(*double, (Plain,), never) is never


def test_what_is_not_known_of_a_function_takes_the_slower_way():
    f, info = function("""(x: R.Tensor(dtype="float32")) -> R.Tensor(dtype="float32"):
        return x
""")
    assert exchanging(f, info, (torch.Tensor,), never) is never


def test_a_single_result_is_a_tensor_with_memory_of_its_own():
    f = wrapped("""(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        y = R.add(x, x)
        return y
""")
    same = wrapped("""(x: R.Tensor(dtype="float32", ndim=2)) -> R.Tensor(dtype="float32", ndim=2):
        return x
""")
    x = torch.randn(4, 3)
    y, z = f(x), same(x)
    assert torch.equal(y, x + x) and torch.equal(z, x) and z.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("kind", ["gradient", "negated"])
def test_tensors_whose_memory_is_not_their_meaning_go_the_slower_way(double, kind):
    x = {
        "gradient": lambda: torch.ones(4, 3, requires_grad=True),
        "negated": lambda: torch._neg_view(torch.ones(4, 3)),
    }[kind]()
    plain = exchanging(*double, (torch.Tensor,), lambda *args: args, plain=True)
    assert plain(x)[0] is x
    assert torch.equal(plain(x.detach().resolve_neg())[0], (x + x).detach())


def test_arguments_alone_become_arrays(double):
    as_arrays = normalizing(lambda *args: args, double[1], torch.Tensor, lambda *args: "slow")
    x = torch.randn(4, 3)
    (array,) = as_arrays(x)
    assert type(array) is np.ndarray and array.ctypes.data == x.data_ptr() and np.array_equal(array, x.numpy())
    assert as_arrays(x.double()) == as_arrays(torch._neg_view(x)) == as_arrays(np.zeros((4, 3), "float32")) == "slow"


def test_the_code_of_every_dtype():
    assert exchange._dlpack_dtype("float32") == 0x1_20_02
    assert exchange._dlpack_dtype("bfloat16") == 0x1_10_04
    assert exchange._dlpack_dtype("bool") == 0x1_08_06
    assert exchange._dlpack_dtype("uint8") == 0x1_08_01
    assert exchange._dlpack_dtype("float8_e4m3fn") == 0x1_08_0A
    assert exchange._dlpack_dtype("int4") is None


@pytest.fixture
def watched():
    """A function that doubles and shows its argument to a packed function; what sets that one."""
    packed = {"f": lambda x: None}
    registry.register_func("test.exchange.watch", lambda x: packed["f"](x), override=True)
    f = wrapped("""(x: R.Tensor(("n", 3), "float32")) -> R.Tuple(R.Tensor(("n", 3), "float32")):
        seen = R.call_packed("test.exchange.watch", x, sinfo_args=R.Object)
        y = R.add(x, x)
        return (y,)
""")
    yield f, lambda function: packed.update(f=function)
    registry.remove_global_func("test.exchange.watch")


def test_an_array_is_used_again_for_other_memory(watched):
    f, watch = watched
    seen = []
    watch(lambda x: seen.append((id(x), x.shape, x.ctypes.data)))
    tensors = [torch.randn(n, 3) for n in (4, 4, 2, 2)]
    for x in tensors:
        torch.testing.assert_close(f(x)[0], x + x)
    ids, shapes, data = zip(*seen, strict=True)
    assert ids[0] == ids[1] and ids[2] == ids[3]
    assert list(shapes) == [(4, 3), (4, 3), (2, 3), (2, 3)] and list(data) == [x.data_ptr() for x in tensors]


def test_an_array_that_is_kept_is_not_used_again(watched):
    f, watch = watched
    kept = []
    watch(kept.append)
    values = [torch.full((4, 3), float(i)) for i in range(3)]
    released = [weakref.ref(v) for v in values]
    for x in values:
        f(x)
    del values, x
    assert [float(a[0, 0]) for a in kept] == [0, 1, 2] and all(r() is not None for r in released)
    watch(lambda x: None)
    kept.clear()
    assert not any(r() for r in released)


def test_a_waiting_array_holds_no_tensor_and_shows_none_of_its_memory(watched):
    f, watch = watched
    views = []
    watch(lambda x: views.append(weakref.ref(x)))
    x = torch.ones(4, 3)
    f(x)
    assert views[0]().base is None and views[0]().shape == () and views[0]() == 0
    released = weakref.ref(x)
    del x
    assert released() is None


@pytest.mark.parametrize(
    "change", [lambda x: setattr(x, "shape", (3, 4)), lambda x: setattr(x, "shape", 12), lambda x: x.setflags(write=0)]
)
def test_an_array_that_was_changed_is_not_used_again(watched, change):
    f, watch = watched
    watch(change)
    f(torch.ones(4, 3))
    watch(lambda x: shapes.append((x.shape, x.flags.writeable)))
    shapes = []
    torch.testing.assert_close(f(torch.ones(4, 3))[0], torch.full((4, 3), 2.0))
    torch.testing.assert_close(f(torch.ones(3, 3))[0], torch.full((3, 3), 2.0))
    assert shapes == [((4, 3), True), ((3, 3), True)]


def test_a_call_within_a_call_has_arrays_of_its_own(watched):
    f, watch = watched

    def inner(x):
        watch(lambda x: None)
        torch.testing.assert_close(f(torch.full((4, 3), 5.0))[0], torch.full((4, 3), 10.0))
        assert float(x[0, 0]) == 1

    for _ in range(3):
        watch(inner)
        torch.testing.assert_close(f(torch.ones(4, 3))[0], torch.full((4, 3), 2.0))


def test_an_error_in_a_call_leaves_nothing(watched):
    f, watch = watched
    watch(lambda x: 1 / 0)
    x = torch.ones(4, 3)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            f(x)
    released = weakref.ref(x)
    del x
    gc.collect()
    assert released() is None


def test_empty_tensors_between_others(double):
    f, base = call(double), torch.ones(4, 3)
    for x in (base, base[:0], torch.empty(0, 3), base[2:2], torch.empty(0, 3), base):
        assert torch.equal(f(x)[0], x + x)


def test_storage_that_was_replaced_is_read_where_it_is_now(double):
    f, x = call(double), torch.ones(4, 3)
    f(x)
    x.set_(torch.full((4, 3), 7.0))
    assert torch.equal(f(x)[0], torch.full((4, 3), 14.0))
    x.resize_(400, 3).fill_(3.0)
    assert torch.equal(f(x)[0], torch.full((400, 3), 6.0))


def test_threads_have_arrays_of_their_own(double):
    f, wrong = call(double), []

    def repeat(number):
        x = torch.full((100_000, 3), float(number))
        for _ in range(30):
            if not torch.equal(f(x)[0], x + x):
                wrong.append(number)

    threads = [threading.Thread(target=repeat, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
