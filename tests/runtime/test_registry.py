"""The registry of packed functions."""

import threading
from collections.abc import Iterator

import pytest

from tirax.runtime import get_global_func, list_global_func_names, register_func, remove_global_func
from tirax.runtime.errors import ArgumentError, NameLookupError, RegistryError


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    before = set(list_global_func_names())
    yield
    for name in set(list_global_func_names()) - before:
        remove_global_func(name)


def test_three_ways_to_register():
    register_func("test.one", lambda: 1)

    @register_func("test.two")
    def two() -> int:
        return 2

    @register_func
    def three() -> int:
        return 3

    assert [get_global_func(name)() for name in ("test.one", "test.two", "three")] == [1, 2, 3]  # type: ignore[misc]
    assert two() == 2 and {"test.one", "test.two", "three"} <= set(list_global_func_names())


def test_override():
    register_func("test.f", lambda: 1)
    with pytest.raises(RegistryError, match="already registered"):
        register_func("test.f", lambda: 2)
    register_func("test.f", lambda: 3, override=True)
    assert get_global_func("test.f")() == 3  # type: ignore[misc]


def test_unknown_names_get_a_suggestion():
    register_func("registry.linear", lambda: 1)
    with pytest.raises(NameLookupError, match="did you mean 'registry.linear'"):
        get_global_func("registry.linaer")
    with pytest.raises(NameLookupError):
        remove_global_func("registry.linaer")
    assert get_global_func("registry.linaer", allow_missing=True) is None


def test_what_cannot_be_registered():
    with pytest.raises(ArgumentError, match="callable"):
        register_func("test.n", 3)  # type: ignore[call-overload]
    with pytest.raises(ArgumentError, match="name"):
        register_func(3)  # type: ignore[call-overload]


def test_only_one_of_many_threads_wins():
    failures: list[int] = []
    barrier = threading.Barrier(8)

    def work(index: int) -> None:
        barrier.wait()
        try:
            register_func("test.race", lambda: index)
        except RegistryError:
            failures.append(index)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    winner = get_global_func("test.race")
    assert winner is not None and sorted([*failures, winner()]) == list(range(8))
