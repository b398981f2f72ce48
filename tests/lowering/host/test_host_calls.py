"""relax functions compiled and called: kernels, packed functions, other functions, closures, branches, tuples."""

from __future__ import annotations

import numpy as np
import pytest

from tirax.runtime import registry
from tirax.runtime.errors import ShapeError
from tirax.runtime.ndarray import NDArray

SIZES = [0, 1, 5, 64]


@pytest.fixture
def packed():
    """Register functions for one test."""
    names = set()

    def register(name, function):
        registry.register_func(name, function, override=True)
        names.add(name)

    yield register
    for name in names:
        registry.remove_global_func(name)


def ramp(n, m=4):
    return np.arange(n * m, dtype=np.float32).reshape(n, m)


@pytest.mark.parametrize("n", SIZES)
def test_chain_of_kernels(host, n):
    ex = host.build("""
    relax.func @main(%x: !T, %y: !T) -> !T {
      %gv = relax.dataflow {
        %a = relax.call_tir @add(%x, %y) : !T
        %b = relax.call_tir @inc(%a) : !T
        %c = relax.call_tir @add(%b, %a) : !T
        %d = relax.call_tir @inc(%c) : !T
        relax.output %d : !T
      }
      relax.return %gv : !T
    }""")
    x, y = ramp(n), ramp(n) * 2
    result = ex["main"](x, y)
    assert type(result) is NDArray and result.flags.owndata
    np.testing.assert_array_equal(result, 2 * (x + y) + 2)


def test_static_shapes(host):
    ex = host.build("""
    relax.func @main(%x: !relax.tensor<[3, 4], f32>) -> !relax.tensor<[3, 4], f32> {
      %a = relax.call_tir @inc(%x) : !relax.tensor<[3, 4], f32>
      %b = relax.call_tir @inc(%a) : !relax.tensor<[3, 4], f32>
      relax.return %b : !relax.tensor<[3, 4], f32>
    }""")
    np.testing.assert_array_equal(ex["main"](ramp(3)), ramp(3) + 2)


@pytest.mark.parametrize("n", SIZES)
def test_large_arena_is_allocated(host, n):
    """64 rows of intermediates are on the stack, these are not."""
    ex = host.build("""
    relax.func @main(%x: !T) -> !T {
      %a = relax.call_tir @inc(%x) : !T
      %b = relax.call_tir @add(%a, %x) : !T
      %c = relax.call_tir @add(%a, %b) : !T
      relax.return %c : !T
    }""")
    x = ramp(n * 1000)
    np.testing.assert_array_equal(ex["main"](x), 3 * x + 2)


@pytest.mark.parametrize("n", SIZES)
def test_several_outputs(host, n):
    ex = host.build("""
    relax.func @main(%x: !T) -> tuple<!relax.tensor<[n, 2], f32>, tuple<!relax.tensor<[n, 2], f32>, !T>> {
      %h = relax.call_tir @halves(%x) : tuple<!relax.tensor<[n, 2], f32>, !relax.tensor<[n, 2], f32>>
      %l = relax.tuple_get_item %h[0] : !relax.tensor<[n, 2], f32>
      %r = relax.tuple_get_item %h[1] : !relax.tensor<[n, 2], f32>
      %i = relax.tuple(%l, %x)
      %t = relax.tuple(%r, %i)
      relax.return %t : tuple<!relax.tensor<[n, 2], f32>, tuple<!relax.tensor<[n, 2], f32>, !T>>
    }""")
    x = ramp(n)
    right, (left, same) = ex["main"](x)
    np.testing.assert_array_equal(left, x[:, :2])
    np.testing.assert_array_equal(right, x[:, 2:])
    assert same is x


@pytest.mark.parametrize("n", SIZES)
def test_tir_vars(host, n):
    ex = host.build("""
    relax.func @main(%x: !T) -> !relax.tensor<[n + 1], i64> {
      %a = relax.call_tir @iota() tir_vars [n] : !relax.tensor<[n + 1], i64>
      relax.return %a : !relax.tensor<[n + 1], i64>
    }""")
    np.testing.assert_array_equal(ex["main"](ramp(n)), np.arange(n + 1) * n)


def test_inplace_on_an_intermediate_and_on_an_argument(host):
    ex = host.build("""
    relax.func @inner(%x: !T) -> !T {
      %a = relax.call_tir @inc(%x) : !T
      %b = relax.call_tir_inplace @double_inplace(%a) inplace [0] : !T
      relax.return %b : !T
    }
    relax.func @outer(%x: !T, %y: !T) -> !T {
      %b = relax.call_tir_inplace @double_inplace(%x) inplace [0] : !T
      %c = relax.call_tir @add(%b, %y) : !T
      relax.return %c : !T
    }""")
    x = ramp(3)
    np.testing.assert_array_equal(ex["inner"](x), (x + 1) * 2)
    np.testing.assert_array_equal(x, ramp(3))
    assert [p.access for p in ex.functions["outer"].params] == ["readwrite", "read"]
    np.testing.assert_array_equal(ex["outer"](x, ramp(3)), ramp(3) * 3)
    np.testing.assert_array_equal(x, ramp(3) * 2)
    x = ramp(3)
    np.testing.assert_array_equal(ex["outer"](x, x), ramp(3) * 3)  # y is copied: it overlaps with what is written


@pytest.mark.parametrize("n", SIZES)
def test_dps_packed_by_python_and_by_a_tir_function(host, packed, n):
    seen = []

    def scale(x, out):
        seen.append((type(x), type(out), x.base is None))
        np.multiply(x, 10, out=out)

    packed("test.scale", scale)
    ex = host.build("""
    relax.func @main(%x: !T) -> !T {
      %a = relax.call_dps_packed "inc"(%x) : !T
      %b = relax.call_dps_packed "test.scale"(%a) : !T
      %c = relax.call_tir @inc(%b) : !T
      relax.return %c : !T
    }""")
    assert ex.packed_functions == ["test.scale"]
    np.testing.assert_array_equal(ex["main"](ramp(n)), (ramp(n) + 1) * 10 + 1)
    assert seen == [(NDArray, NDArray, True)]


def test_tensors_that_a_callback_keeps_stay_as_they_were(host, packed):
    kept = []
    packed("test.keep", lambda x, out: (kept.append(x), np.copyto(out, x)))
    ex = host.build("""
    relax.func @main(%x: !T) -> !T {
      %a = relax.call_tir @inc(%x) : !T
      %b = relax.call_dps_packed "test.keep"(%a) : !T
      %c = relax.call_tir @inc(%b) : !T
      %d = relax.call_tir @inc(%c) : !T
      relax.return %d : !T
    }""")
    for k in range(4):
        ex["main"](ramp(5) * k)
    for k in range(4):
        np.testing.assert_array_equal(kept[k], ramp(5) * k + 1)


def test_arguments_of_every_kind_reach_packed_functions(host, packed):
    seen = []
    packed("test.see", lambda *args: seen.append(args))
    ex = host.build("""
    relax.func @main(%x: !T, %o: !relax.object) -> !relax.object impure {
      %s = relax.shape [n, n * 2 + 1]
      %p = relax.prim_value n + 1
      %f = relax.prim_value float 1.5 : f32
      %t = relax.string "text"
      %d = relax.dtype f32
      %z = relax.null_value : !relax.object
      %c = relax.constant <f32 [2] [1.0, 2.0]>
      %e = relax.extern_func "test.see" : !relax.callable<* -> !relax.object, impure>
      %u = relax.tuple(%x, %p)
      %r = relax.call_packed "test.see"(%s, %p, %f, %t, %d, %z, %c, %e, %u, %o) : !relax.object
      relax.return %r : !relax.object
    }""")
    x, o = ramp(3), object()
    assert ex["main"](x, o) is None
    ((s, p, f, t, d, z, c, e, u, same),) = seen
    assert (s, p, f, t, d, z) == ((3, 7), 4, 1.5, "text", "float32", None)
    assert c.tolist() == [1.0, 2.0] and not c.flags.writeable
    assert e is registry.get_global_func("test.see")
    assert u[0] is x and u[1] == 4 and same is o


def test_results_of_packed_functions_are_checked_and_normalised(host, packed):
    results = []
    packed("test.give", lambda: results.pop())
    ex = host.build("""
    relax.func @main(%x: !T) -> !T impure {
      %a = relax.call_packed "test.give"() : !T
      %c = relax.call_tir @add(%a, %x) : !T
      relax.return %c : !T
    }""")
    x = ramp(3)
    for good in (x, x.copy("F"), x[::-1][::-1], np.asarray(x).astype(">f4")):
        results.append(good)
        np.testing.assert_array_equal(ex["main"](x), 2 * x)
    for bad, error in ((ramp(4), ShapeError), (x.astype(np.float64), TypeError), (None, TypeError), (x[0], ShapeError)):
        results.append(bad)
        with pytest.raises(error, match="a"):
            ex["main"](x)


def test_match_cast_binds_and_checks(host, packed):
    packed("test.rows", lambda x, k: x[:k].copy())
    ex = host.build("""
    relax.func @main(%x: !T, %k: !relax.prim<i64, k>) -> !relax.tensor<[m, 4], f32> impure {
      %a = relax.call_packed "test.rows"(%x, %k) : !relax.object
      %b = relax.match_cast %a : !relax.object -> !relax.tensor<[m, 4], f32>
      %c = relax.call_tir @inc(%b) : !relax.tensor<[m, 4], f32>
      %d = relax.match_cast %c : !relax.tensor<[m, 4], f32> -> !relax.tensor<[k, q], f32>
      %e = relax.call_tir @inc(%d) : !relax.tensor<[k, q], f32>
      relax.return %c : !relax.tensor<[m, 4], f32>
    }""")
    x = ramp(5)
    for k in (0, 2, 5):
        np.testing.assert_array_equal(ex["main"](x, k), x[:k] + 1)
    with pytest.raises(ShapeError, match="wrong extent") as caught:
        ex["main"](x, 7)
    assert "k = 7" in str(caught.value) and "found: 5" in str(caught.value)


def test_unknown_shapes_are_read_when_running(host):
    ex = host.build("""
    relax.func @main(%x: !relax.tensor<ndim = 2, f32>, %y: !T) -> !T {
      %c = relax.call_tir @add(%y, %x) : !T
      relax.return %c : !T
    }
    relax.func @any(%x: !relax.tensor<*>) -> !relax.tensor<*> {
      %a = relax.match_cast %x : !relax.tensor<*> -> !relax.tensor<[p, 4], f32>
      %c = relax.call_tir @inc(%a) : !relax.tensor<[p, 4], f32>
      relax.return %c : !relax.tensor<[p, 4], f32>
    }""")
    np.testing.assert_array_equal(ex["main"](ramp(3), ramp(3)), ramp(3) * 2)
    np.testing.assert_array_equal(ex["any"](ramp(3)), ramp(3) + 1)
    with pytest.raises(ShapeError, match="kernel 'add'"):
        ex["main"](ramp(2), ramp(3))
    with pytest.raises(ShapeError):
        ex["main"](ramp(3, 5), ramp(3))
    with pytest.raises(TypeError):
        ex["any"](ramp(3).astype(int))


@pytest.mark.parametrize("n", SIZES)
def test_calls_of_functions_and_closures(host, n):
    ex = host.build("""
    relax.func private @twice(%x: !T) -> !T {
      %a = relax.call_tir @inc(%x) : !T
      %b = relax.call_tir @inc(%a) : !T
      relax.return %b : !T
    }
    relax.func @main(%x: !T, %y: !T) -> !T {
      %f = relax.closure(%a: !relax.tensor<[m, 4], f32>) -> !relax.tensor<[m, 4], f32> {
        %g = relax.closure(%c: !relax.tensor<[m, 4], f32>) -> !relax.tensor<[m, 4], f32> {
          %d = relax.call_tir @add(%c, %y) : !relax.tensor<[m, 4], f32>
          relax.return %d : !relax.tensor<[m, 4], f32>
        }
        %b = relax.call_value %g(%a) : !relax.tensor<[m, 4], f32>
        relax.return %b : !relax.tensor<[m, 4], f32>
      }
      %a = relax.call @twice(%x) : !T
      %r = relax.function_ref @twice : !relax.callable<(!T) -> !T>
      %b = relax.call_value %r(%a) : !T
      %c = relax.call_value %f(%b) : !T
      relax.return %c : !T
    }""")
    np.testing.assert_array_equal(ex["main"](ramp(n), ramp(n) * 3), ramp(n) * 4 + 4)


def test_closure_over_a_symbolic_variable(host):
    ex = host.build("""
    relax.func @main(%x: !T) -> !relax.tensor<[n + 1], i64> {
      %f = relax.closure() -> !relax.tensor<[n + 1], i64> {
        %a = relax.call_tir @iota() tir_vars [n] : !relax.tensor<[n + 1], i64>
        relax.return %a : !relax.tensor<[n + 1], i64>
      }
      %b = relax.call_value %f() : !relax.tensor<[n + 1], i64>
      relax.return %b : !relax.tensor<[n + 1], i64>
    }""")
    np.testing.assert_array_equal(ex["main"](ramp(3)), [0, 3, 6, 9])


def test_if(host):
    ex = host.build("""
    relax.func @main(%c: !relax.tensor<[], i1>, %x: !T) -> !T {
      %r = relax.if %c : !T {
        %a = relax.call_tir @inc(%x) : !T
        %b = relax.call_tir @inc(%a) : !T
        relax.yield %b : !T
      } else {
        relax.yield %x : !T
      }
      %s = relax.call_tir @inc(%r) : !T
      relax.return %s : !T
    }
    relax.func @prim(%c: !relax.prim<i1>, %x: !T) -> tuple<!T, !T> {
      %r = relax.if %c : tuple<!T, !T> {
        %a = relax.call_tir @inc(%x) : !T
        %t = relax.tuple(%x, %a)
        relax.yield %t : tuple<!T, !T>
      } else {
        %t = relax.tuple(%x, %x)
        relax.yield %t : tuple<!T, !T>
      }
      relax.return %r : tuple<!T, !T>
    }""")
    x = ramp(3)
    np.testing.assert_array_equal(ex["main"](np.array(True), x), x + 3)
    np.testing.assert_array_equal(ex["main"](np.array(False), x), x + 1)
    a, b = ex["prim"](True, x)
    assert a is x
    np.testing.assert_array_equal(b, x + 1)
    a, b = ex["prim"](False, x)
    assert a is x and b is x


RECURSIVE = """
relax.func @down(%k: !relax.prim<i64, k>, %x: !T) -> !T {
  %r = relax.if %k : !T {
    %a = relax.call_tir @inc(%x) : !T
    %b = relax.call_tir @inc(%a) : !T
    %m = relax.prim_value k - 1
    %c = relax.call @down(%m, %b) : !T
    relax.yield %c : !T
  } else {
    relax.yield %x : !T
  }
  relax.return %r : !T
}"""


def test_recursion(host):
    ex = host.build(RECURSIVE)
    np.testing.assert_array_equal(ex["down"](100, ramp(3)), ramp(3) + 200)
    with pytest.raises(RecursionError):
        ex["down"](1_000_000, ramp(3))
    np.testing.assert_array_equal(ex["down"](2, ramp(3)), ramp(3) + 4)


def test_constants(host):
    ex = host.build("""
    relax.func @main(%x: !relax.tensor<[2, 4], f32>) -> !relax.tensor<[2, 4], f32> {
      %c = relax.constant <f32 [2, 4] [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]>
      %a = relax.call_tir @add(%x, %c) : !relax.tensor<[2, 4], f32>
      relax.return %a : !relax.tensor<[2, 4], f32>
    }
    relax.func @give() -> !relax.tensor<[2, 4], f32> {
      %c = relax.constant <f32 [2, 4] [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]>
      relax.return %c : !relax.tensor<[2, 4], f32>
    }""")
    assert len(ex.constants) == 1
    c = np.arange(1, 9, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(ex["main"](ramp(2)), ramp(2) + c)
    first = ex["give"]()
    first[:] = 0
    np.testing.assert_array_equal(ex["give"](), c)


def test_shape_and_tuple_parameters(host):
    ex = host.build("""
    relax.func @main(%s: !relax.shape<[n, m]>, %t: tuple<!relax.tensor<[m, 4], f32>, tuple<!T>>) -> !T {
      %i = relax.tuple_get_item %t[1] : tuple<!T>
      %x = relax.tuple_get_item %i[0] : !T
      %a = relax.call_tir @inc(%x) : !T
      relax.return %a : !T
    }""")
    np.testing.assert_array_equal(ex["main"]((3, 2), (ramp(2), (ramp(3),))), ramp(3) + 1)
    np.testing.assert_array_equal(ex["main"]([3, np.int64(2)], [ramp(2), [ramp(3)]]), ramp(3) + 1)
    for bad in ((3, 3), (2, 2), (3,), (-1, 2), (2**70, 2), "ab"):
        with pytest.raises((ShapeError, TypeError)):
            ex["main"](bad, (ramp(2), (ramp(3),)))


def test_functions_that_are_tir_functions(host):
    ex = host.build("""
    tir.func @sub(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>, %C: !tir.buffer<[n], f32>, %k: f32)
        attributes {tir.noalias = true} {
      tir.for %i = 0 for n {
        %a = tir.load %A[%i] : f32
        %b = tir.load %B[%i] : f32
        %c = tir.sub %a, %b : f32
        %d = tir.mul %c, %k : f32
        tir.store %d, %C[%i]
      }
    }""")
    a, b, c = (np.arange(5, dtype=np.float32) * k for k in (3, 1, 0))
    assert ex["sub"](a, b, c, 2.0) is None
    np.testing.assert_array_equal(c, (a - b) * 2)
    assert [p.access for p in ex.functions["sub"].params] == ["read", "read", "write", "read"]
    with pytest.raises(ShapeError):
        ex["sub"](a, b, c[:4], 2.0)
    ex["sub"](c, b, c, 1)  # the input is copied: it overlaps with the output
    np.testing.assert_array_equal(c, (a - b) * 2 - b)
    empty = np.empty(0, np.float32)
    ex["sub"](empty, empty, empty, 1.0)
    c.flags.writeable = False
    with pytest.raises(TypeError, match="read-only"):
        ex["sub"](a, b, c, 2.0)


def test_arrays_are_freed_after_their_last_use(host, packed):
    import weakref

    alive = []

    def step(x, out):
        alive.append(weakref.ref(out))
        np.copyto(out, x + 1)

    def count(x):
        return [ref() is not None for ref in alive]

    packed("test.step", step)
    packed("test.count", count)
    ex = host.build("""
    relax.func @main(%x: !T) -> !relax.object impure {
      %a = relax.call_dps_packed "test.step"(%x) : !T
      %b = relax.call_dps_packed "test.step"(%a) : !T
      %c = relax.call_dps_packed "test.step"(%b) : !T
      %r = relax.call_packed "test.count"(%c) : !relax.object
      relax.return %r : !relax.object
    }""")
    assert ex["main"](ramp(3)) == [False, False, True]
    assert [ref() for ref in alive] == [None] * 3


def test_assertions_of_kernels(host):
    ex = host.build("""
    tir.func @positive(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {
      tir.for %i = 0 for n {
        %a = tir.load %A[%i] : f32
        %z = tir.const 0.0 : f32
        %ok = tir.ge %a, %z : f32
        tir.assert %ok, "all elements are positive"
        tir.store %a, %B[%i]
      }
    }
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      %a = relax.call_tir @positive(%x) : !relax.tensor<[n], f32>
      %b = relax.call_tir @positive(%a) : !relax.tensor<[n], f32>
      relax.return %b : !relax.tensor<[n], f32>
    }""")
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(ex["main"](x), x)
    for call in (lambda: ex["main"](-x), lambda: ex["positive"](-x, x.copy())):
        with pytest.raises(TypeError, match="all elements are positive"):
            call()


@pytest.mark.parametrize(
    ("kind", "dtype", "good", "bad"),
    [
        ("i64", "int64", [0, -1, 2**63 - 1, np.int32(4)], [2**63, 1.0, True, None]),
        ("i32", "int32", [-1, 2**31 - 1], [2**31, "1"]),
        ("i8", "int8", [-128, 127, -1], [128, -129]),
        ("ui8", "uint8", [0, 255], [256, -1]),
        ("ui64", "uint64", [0, 2**64 - 1], [2**64, -1]),
        ("f32", "float32", [1.5, 2, np.float64(0.25)], ["1", None]),
        ("f64", "float64", [0.1], [[]]),
        ("i1", "bool", [True, np.bool_(False)], [1, 0.0]),
    ],
)
def test_numbers(host, packed, kind, dtype, good, bad):
    packed("test.same", lambda x: x)
    store = "tir.store %k, %A[]"
    ex = host.build(f"""
    tir.func @store(%k: {kind}, %A: !tir.buffer<[], {kind}>) {{ {store} }}
    relax.func @main(%k: !relax.prim<{kind}>) -> !relax.object impure {{
      %r = relax.call_packed "test.same"(%k) : !relax.object
      relax.return %r : !relax.object
    }}""")
    for value in good:
        out = np.zeros((), dtype)
        ex["store"](value, out)
        assert out == np.dtype(dtype).type(value)
        assert ex["main"](value) == value
    for value in bad:
        with pytest.raises(TypeError):
            ex["store"](value, np.zeros((), dtype))
        with pytest.raises(TypeError):
            ex["main"](value)


def test_a_tuple_parameter_as_the_arguments_of_a_call(host, packed):
    packed("test.sum", lambda x, y, out: np.add(x, y, out=out))
    ex = host.build("""
    relax.func @main(%t: tuple<!T, !T>) -> !T {
      %b = relax.call_dps_packed "test.sum"(%t) : !T
      relax.return %b : !T
    }""")
    np.testing.assert_array_equal(ex["main"]((ramp(3), ramp(3) * 2)), ramp(3) * 3)


def test_a_callable_parameter(host):
    ex = host.build("""
    relax.func @main(%f: !relax.callable<(!T) -> !T, impure>, %x: !T) -> !T impure {
      %a = relax.call_value %f(%x) : !T
      %b = relax.call_tir @inc(%a) : !T
      relax.return %b : !T
    }""")
    np.testing.assert_array_equal(ex["main"](lambda x: x * 2, ramp(3)), ramp(3) * 2 + 1)
    with pytest.raises(TypeError, match="callable"):
        ex["main"](3, ramp(3))


def test_packed_results_of_unknown_shape(host, packed):
    packed("test.pair", lambda x: [x, (x[:2].copy(), 3)])
    ex = host.build("""
    relax.func @main(%x: !T) -> !relax.tensor<ndim = 2, f32> impure {
      %o = relax.call_packed "test.pair"(%x) : !relax.object
      %p = relax.match_cast %o : !relax.object -> tuple<!T, tuple<!relax.tensor<ndim = 2, f32>, !relax.prim<i64, k>>>
      %q = relax.tuple_get_item %p[1] : tuple<!relax.tensor<ndim = 2, f32>, !relax.prim<i64, k>>
      %r = relax.tuple_get_item %q[0] : !relax.tensor<ndim = 2, f32>
      %i = relax.call_tir @iota() tir_vars [k] : !relax.tensor<[k + 1], i64>
      %s = relax.match_cast %r : !relax.tensor<ndim = 2, f32> -> !relax.tensor<[k - 1, 4], f32>
      %t = relax.call_tir @inc(%s) : !relax.tensor<[k - 1, 4], f32>
      relax.return %t : !relax.tensor<[k - 1, 4], f32>
    }
    relax.func @item(%x: !T) -> !relax.object impure {
      %o = relax.call_packed "test.pair"(%x) : !relax.object
      %q = relax.tuple_get_item %o[1] : !relax.object
      %r = relax.tuple_get_item %q[1] : !relax.object
      relax.return %r : !relax.object
    }""")
    np.testing.assert_array_equal(ex["main"](ramp(3)), ramp(2) + 1)
    with pytest.raises(ShapeError, match="expected: .*2"):
        ex["main"](ramp(1))
    assert ex["item"](ramp(3)) == 3
    packed("test.pair", lambda x: [x])
    with pytest.raises(IndexError):
        ex.fresh_module()["item"](ramp(3))


@pytest.mark.parametrize("name", ["expf", "free", "memset", "tirax_table", "PyTuple_New"])
def test_kernels_may_have_the_names_of_c_functions(host, name):
    ex = host.build(f"""
    tir.func @{name}(%A: !tir.buffer<[n, 4], f32>, %B: !tir.buffer<[n, 4], f32>) attributes {{tir.noalias = true}} {{
      tir.for %i = 0 for n {{ tir.for %j = 0 for 4 {{
        %a = tir.load %A[%i, %j] : f32
        %e = tir.call_intrin "exp"(%a) : f32
        tir.store %e, %B[%i, %j]
      }} }}
    }}
    relax.func @main(%x: !T) -> tuple<!T> {{
      %a = relax.call_tir @{name}(%x) : !T
      %b = relax.call_tir @{name}(%a) : !T
      %t = relax.tuple(%b)
      relax.return %t : tuple<!T>
    }}""")
    x = ramp(3) / 20
    np.testing.assert_allclose(ex["main"](x)[0], np.exp(np.exp(x)), rtol=1e-6)
    out = np.zeros_like(x)
    ex[name](x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-6)


@pytest.mark.parametrize(("broadcast", "strides"), [("", [1, 1, 1]), (", broadcast = true", [1, 0, 1])])
def test_a_stride_along_an_extent_of_one(host, broadcast, strides):
    """Where a buffer is one that broadcasts it is 0, so that any index reads the same element."""
    ex = host.build(f"""
    tir.func private @stride(%A: !tir.buffer<[n], f32, strides = [s]{broadcast}>, %B: !tir.buffer<[n], i64>)
        attributes {{tir.noalias = true}} {{
      tir.for %i = 0 for n {{
        %s = sym.value s : i64
        tir.store %s, %B[%i]
      }}
    }}
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], i64> {{
      %a = relax.call_tir @stride(%x) : !relax.tensor<[n], i64>
      relax.return %a : !relax.tensor<[n], i64>
    }}""")
    for n, stride in zip((0, 1, 4), strides, strict=True):
        assert ex["main"](np.zeros(n, "float32")).tolist() == [stride] * n
