"""Native functions: the ABI, loading, ownership."""

import ctypes
import functools
import gc
import sys
import threading
import timeit
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tirax.runtime import NDArray, abi, array, engine
from tirax.runtime.arguments import normalize_arguments
from tirax.runtime.errors import AbiError, ArgumentError, DTypeError, LoadError, ShapeError


@pytest.fixture
def add(native: SimpleNamespace) -> Any:
    explain = functools.partial(normalize_arguments, native.ADD_INFO)
    loaded = engine.load_object(native.compile_ll(native.ADD), ["entry_add"], [id(explain)], [explain])
    return abi.fastcall("add", loaded.address("entry_add"), loaded, "add(x, y)")


def call_packed(native: SimpleNamespace, function: Any, second: Any = None) -> tuple[Any, Any]:
    code = native.compile_ll(native.CALL_PACKED)
    loaded = engine.load_object(code, ["entry_call", "entry_second"], [id(function), id(second)], [function, second])
    names = ("entry_call", "entry_second")
    return tuple(abi.fastcall(name, loaded.address(name), loaded) for name in names)  # type: ignore[return-value]


def test_layout_of_arrays():
    abi.verify_array_layout()
    assert abi.ARRAY_LAYOUT["data"] == object.__basicsize__


def test_a_wrong_layout_is_detected(monkeypatch: pytest.MonkeyPatch):
    fields = {name: int(offset) for name, offset in abi.ArrayLayout.__members__.items()}
    fields["ND"], fields["DIMS"] = fields["FLAGS"], fields["STRIDES"]
    monkeypatch.setattr(abi, "ArrayLayout", SimpleNamespace(**fields))
    with pytest.raises(AbiError, match="laid out in an unknown way: field 'nd'"):
        abi.verify_array_layout()


def test_every_fixed_slot_is_filled():
    values = abi.fixed_slots()
    assert len(values) == abi.FIXED_SLOTS == len(abi.Slot) and all(values)
    assert values[abi.dtype_slot("bfloat16")] == id(array([1], dtype="bfloat16").dtype)
    assert list(abi.Slot) == list(range(len(abi.Slot)))


def test_native_addition(add: Any):
    x, y = np.arange(5, dtype=np.float32), array([1, 2, 3, 4, 5], dtype="float32")
    result = add(x, y)
    np.testing.assert_array_equal(result, x + y)
    assert type(result) is NDArray and result.flags.owndata and result.dtype is np.dtype("float32")
    assert add.__name__ == "add" and add.__doc__ == "add(x, y)"


def test_empty_arrays(add: Any):
    assert add(np.zeros(0, np.float32), np.zeros(0, np.float32)).shape == (0,)


def test_slow_path_normalises(add: Any):
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(add(x[::2], x[::-2].astype(">f4")), x[::2] + x[::-2])


def test_slow_path_explains(add: Any):
    x = np.zeros(3, np.float32)
    with pytest.raises(ShapeError, match="argument 1 'y', dimension 0"):
        add(x, np.zeros(4, np.float32))
    with pytest.raises(DTypeError, match="float64"):
        add(x, np.zeros(3))
    with pytest.raises(ArgumentError, match="not an array"):
        add(x, None)
    for args in ((), (x,), (x, x, x)):
        with pytest.raises(ArgumentError, match="takes 2 arguments"):
            add(*args)


def test_a_normalisation_that_does_not_help_ends_in_an_error(native: SimpleNamespace):
    def useless(*args: Any) -> tuple[Any, ...]:
        return args

    loaded = engine.load_object(native.compile_ll(native.ADD), ["entry_add"], [id(useless)], [useless])
    function = abi.fastcall("add", loaded.address("entry_add"), loaded)
    with pytest.raises(LoadError, match="second attempt"):
        function(np.zeros(3), np.zeros(3))


def test_no_reference_is_lost_or_leaked(add: Any):
    x, y = np.zeros(100, np.float32), np.zeros(100, np.float32)
    descr = np.dtype("float32")
    before = sys.getrefcount(x), sys.getrefcount(descr)
    for _ in range(100):
        add(x, y)
        add(x[::-1], y)
        with pytest.raises(ArgumentError):
            add(x, [])
    gc.collect()
    after = sys.getrefcount(x), sys.getrefcount(descr)
    assert abs(after[0] - before[0]) <= 1 and abs(after[1] - before[1]) <= 5


def test_a_function_keeps_its_code_and_results_need_none(native: SimpleNamespace):
    explain = functools.partial(normalize_arguments, native.ADD_INFO)
    gone = weakref.ref(explain)
    loaded = engine.load_object(native.compile_ll(native.ADD), ["entry_add"], [id(explain)], [explain])
    function = abi.fastcall("add", loaded.address("entry_add"), loaded)
    del loaded, explain
    gc.collect()
    x = np.ones(4, np.float32)
    result = function(x, x)
    with pytest.raises(ArgumentError):
        function(x)
    del function
    gc.collect()
    assert gone() is None
    np.testing.assert_array_equal(result, [2, 2, 2, 2])


def test_exceptions_of_callbacks_arrive_as_raised(native: SimpleNamespace):
    class Mine(Exception):
        pass

    problem = Mine("as it was")

    def callback(*args: object) -> None:
        raise problem

    call, _ = call_packed(native, callback)
    with pytest.raises(Mine) as caught:
        call(1, 2)
    assert caught.value is problem and caught.traceback[-1].name == "callback"


def test_callbacks_get_the_arguments_and_give_the_result(native: SimpleNamespace):
    marker = object()
    call, second = call_packed(native, lambda *args: (args, marker), "the value")
    assert call(1, "two") == ((1, "two"), marker)
    assert second() == "the value"


def test_threads(add: Any):
    failures: list[object] = []

    def work(seed: int) -> None:
        x = np.full(64, seed, np.float32)
        for i in range(300):
            y = np.full(64, i, np.float32)
            if not (add(x, y) == seed + i).all() or not (add(x[::-1], y) == seed + i).all():
                failures.append((seed, i))

    run_threads(work)
    assert not failures


def test_loading_and_unloading_in_threads(native: SimpleNamespace):
    failures: list[object] = []
    code = native.compile_ll(native.ADD)

    def work(seed: int) -> None:
        x = np.full(8, seed, np.float32)
        for _ in range(20):
            explain = functools.partial(normalize_arguments, native.ADD_INFO)
            loaded = engine.load_object(code, ["entry_add"], [id(explain)], [explain])
            if abi.fastcall("add", loaded.address("entry_add"), loaded)(x, x)[0] != 2 * seed:
                failures.append(seed)

    run_threads(work)
    assert not failures


def run_threads(work: Any) -> None:
    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_objects_that_cannot_be_loaded(native: SimpleNamespace):
    code = native.compile_ll(native.ADD)
    with pytest.raises(LoadError):
        engine.load_object(b"not an object", ["entry_add"], [0])
    with pytest.raises(LoadError):
        engine.load_object(code[: len(code) // 2], ["entry_add"], [0])
    with pytest.raises(LoadError, match="entry_nothing"):
        engine.load_object(code, ["entry_nothing"], [0])
    with pytest.raises(AbiError, match="table slots"):
        engine.load_object(code, ["entry_add"], [0, 0])
    unknown = (
        native.header(0)
        + "declare ptr @no_such_thing()\ndefine ptr @f() { %r = call ptr @no_such_thing()\nret ptr %r }"
    )
    with pytest.raises(LoadError, match="needs a symbol"):
        engine.load_object(native.compile_ll(unknown), ["f"])


def test_an_older_abi_is_refused(native: SimpleNamespace):
    version, slots = abi.abi_constant(1)
    text = native.ADD.replace(f"[i64 {version}, i64 {slots}]", f"[i64 {version - 1}, i64 {slots}]")
    with pytest.raises(AbiError, match=f"ABI version {version - 1}"):
        engine.load_object(native.compile_ll(text), ["entry_add"], [0])


def test_symbols_can_be_imported_by_address(native: SimpleNamespace):
    text = native.header(0) + "declare i64 @given()\ndefine i64 @f() { %r = call i64 @given()\nret i64 %r }"
    inputs = ctypes.CFUNCTYPE(ctypes.c_int64)(lambda: 42)
    address = ctypes.cast(inputs, ctypes.c_void_p).value or 0
    loaded = engine.load_object(native.compile_ll(text), ["f"], imports={"given": address})
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("f"))() == 42


def test_report_the_cost_of_a_call(add: Any, capsys: pytest.CaptureFixture[str]):
    x = np.ones(4, np.float32)
    seconds = {name: min(timeit.repeat("f(x, x)", globals={"f": f, "x": x}, number=2000, repeat=5)) for name, f in
               (("native add", add), ("numpy.add", np.add))}  # fmt: skip
    with capsys.disabled():
        print("\n" + ", ".join(f"{name}: {value / 2000 * 1e9:.0f} ns a call" for name, value in seconds.items()))


FLOAT16 = """
define i32 @f(i16 %bits) #0 {
  %h = bitcast i16 %bits to half
  %x = fpext half %h to float
  %i = fptosi float %x to i32
  ret i32 %i
}
attributes #0 = { "target-cpu"="x86-64" "target-features"="" }
"""


def test_float16_helpers_are_linked(native: SimpleNamespace):
    loaded = engine.load_object(native.compile_ll(native.header(0) + FLOAT16), ["f"])
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_uint16)(loaded.address("f"))
    assert function(int(np.float16(42).view(np.uint16))) == 42
