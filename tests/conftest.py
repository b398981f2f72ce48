"""Options and fixtures for all tests."""

from __future__ import annotations

import difflib
import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import packages
import pytest
import strength
from hypothesis import HealthCheck, settings
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tirax.ir.passes.transform import new_context

GOLDEN = Path(__file__).parent / "golden"
globals().update(packages.FIXTURES)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--update-golden`, `--full`, `--rest` and `--models`."""
    parser.addoption("--update-golden", action="store_true", help="write what `golden` is given into tests/golden")
    parser.addoption("--full", action="store_true", help="all random draws and all rows of tables (see strength.py)")
    parser.addoption("--rest", action="store_true", help="the same without the rows that run without --full")
    parser.addoption("--models", action="store_true", help="the tests that need PyTorch and such packages, all rows")


def pytest_configure(config: pytest.Config) -> None:
    """Tests have a cache of compiled objects of their own, which `make clean` removes, and leave the user's alone."""
    config.addinivalue_line("markers", "thinned: `make test` runs it with fewer draws or rows than `make test-all`")
    config.addinivalue_line("markers", "only_full: `make test` leaves it to `make test-all`")
    config.addinivalue_line("markers", "quick_row: a row of a table that `make test` runs")
    strength.set_full(any(config.getoption(option) for option in ("--full", "--rest", "--models")))
    # No test asserts a time: neither that of an example, nor that of drawing it.
    settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("untimed")
    os.environ.setdefault("XDG_CACHE_HOME", str(config.rootpath / "build" / "cache"))
    os.environ.setdefault("TIRAX_CACHE", "objects")  # whole executables would hide what is done to build them
    if "PYTEST_XDIST_WORKER" in os.environ:  # there is one for each core: what builds started besides would only wait
        os.environ.setdefault("TIRAX_BUILD_THREADS", "1")
    os.environ.setdefault("TIRAX_FAIL_ALLOCATION", "0")  # some tests let allocations fail
    os.environ["TIRAX_PROGRESS"] = "0"  # a slow machine's commands would tell of their stages


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--models` and `--rest`, files that cannot have such tests are not read."""
    if collection_path.suffix != ".py" or not (config.getoption("--models") or config.getoption("--rest")):
        return None
    can = packages.names_one if config.getoption("--models") else strength.names_one
    return not can(collection_path) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not asked for, or what has run before it, and says how many tests these are."""
    unstable = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if unstable:  # processes of pytest-xdist would collect different tests
        raise pytest.UsageError(f"names of tests contain addresses: {unstable[:3]}")
    left = strength.without_only_full(items)
    if config.getoption("--rest"):
        left = strength.without_quick_rows(left)
    if config.getoption("--models"):
        left = packages.needing_one(left)
    if len(left) < len(items):
        kept = set(left)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = left


def pytest_pycollect_makeitem(name: str, obj: object) -> list[pytest.Item] | None:
    """Only what is called so is a test: pytest would ask everything, and an `R` or a `T` looks for similar names."""
    return None if name.lower().startswith("test") or isinstance(obj, type) else []


def pytest_collection_finish() -> None:
    """What was collected lives until the end: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # programs are many small objects, few of them garbage


def compare_golden(name: str, text: str, update: bool, folder: Path = GOLDEN) -> None:
    """Compare `text` with the file `name` below `folder`, or write it there where `update`; fails with a diff."""
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ValueError(f"a golden file stands below {folder.name}, and '{name}' does not")
    text = text.rstrip("\n") + "\n"
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    if not path.is_file():
        pytest.fail(f"no golden file '{name}': `pytest --update-golden` writes it", pytrace=False)
    expected = path.read_text()
    if expected != text:
        diff = difflib.unified_diff(expected.splitlines(), text.splitlines(), f"golden/{name}", "found", lineterm="")
        pytest.fail("\n".join([*diff, "`pytest --update-golden` accepts what was found"]), pytrace=False)


@pytest.fixture(scope="module")
def programs_are_kept() -> Iterator[None]:
    """What a module builds again is read again: for tests of what is done with programs, not of how they are made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIRAX_CACHE", "1")
        yield


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("folder/name.txt", text)` compares text with tests/golden/folder/name.txt (see `--update-golden`)."""
    update = bool(request.config.getoption("--update-golden"))
    return lambda name, text: compare_golden(name, text, update)


@pytest.fixture
def parse() -> Callable[[str], ModuleOp]:
    """`parse(text)`: MLIR text as a module, not verified."""
    return lambda text: Parser(new_context(), text).parse_module()
