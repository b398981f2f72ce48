"""What a process may be refused (room on the disk, open files, a home, folders for caches and temporary files), and all
that writes files.

    python process_faults.py FAULT…    prints what went wrong, as JSON: neither done nor refused, or broken files

Each door writes over a file of other contents: afterwards that is there as it was, or what was written is whole.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pwd
import resource
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tirax.runtime as runtime
from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.driver.tracing import trace
from tirax.driver.tracing.file import records
from tirax.runtime.container import write_atomically
from tirax.runtime.param_dict import load_param_dict_from_file, save_param_dict_to_file
from tirax.runtime.safetensors import read_weights, write_weights
from tirax.script import parse_source
from tirax.target import Target
from tirax.tools import tirax_cli, tirax_opt
from tirax.tuning.cost_model import RandomModel
from tirax.tuning.database import Database
from tirax.tuning.types import TuningRecord
from tirax.tvm_api import ir, te, tir

OLD = b"what was here before"
MODULE = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        weights = R.tril(R.triu(R.ones((4, 4), "float32")))
        gv = R.add(R.matmul(x, weights), R.const({value}, "float32"))
        return gv
"""
"""Its result is x + value; it has weights."""
X = np.ones((3, 4), np.float32)
_numbers = iter(range(10**6))


class Broken(AssertionError):
    """A result or a file is not what it should be."""


def require(condition: object, what: str) -> None:
    """Raises `Broken` unless the condition holds."""
    if not condition:
        raise Broken(what)


# what is refused


@contextmanager
def limited(kind: int, limit: int) -> Generator[None]:
    """A resource of which there is no more than that."""
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


def few_files(more: int) -> AbstractContextManager[None]:
    """So many more files can be opened."""
    return limited(resource.RLIMIT_NOFILE, max(map(int, os.listdir("/proc/self/fd"))) + more)


@contextmanager
def environment(**values: str | None) -> Generator[None]:
    """Variables of the environment with other values; None: without."""
    before = dict(os.environ)
    for name, value in values.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    tempfile.tempdir = None  # tempfile chooses a folder again
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        tempfile.tempdir = None


@contextmanager
def home(value: str | None) -> Generator[None]:
    """A home, and no other folders for caches and settings; the system does not know the user. Nothing is made here."""
    before = set(os.listdir())
    with environment(HOME=value, XDG_CACHE_HOME=None, XDG_CONFIG_HOME=None):
        known, pwd.getpwuid = pwd.getpwuid, _unknown
        try:
            yield
        finally:
            pwd.getpwuid = known
    require(set(os.listdir()) == before, "a cache is in the working directory")


def _unknown(user: int) -> Any:
    raise KeyError(user)


@contextmanager
def removed_caches() -> Generator[None]:
    """Somebody who removes the caches all the time."""
    caches, stop = Path(os.environ["XDG_CACHE_HOME"]), threading.Event()

    def remove() -> None:
        while not stop.wait(0.002):
            shutil.rmtree(caches, ignore_errors=True)

    thread = threading.Thread(target=remove)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def a_file() -> Generator[str]:
    """The path of a file, where there should be a folder."""
    with tempfile.NamedTemporaryFile() as file:
        yield file.name


@contextmanager
def with_a_file(fault: Callable[[str], AbstractContextManager[None]]) -> Generator[None]:
    """A fault whose value is the path of a file."""
    with a_file() as path, fault(path):
        yield


NOWHERE = "/proc/tirax"
"""A folder that nobody can make."""
Fault = Callable[[], AbstractContextManager[object]]
DISKS: dict[str, Fault] = {
    "a full disk": lambda: limited(resource.RLIMIT_FSIZE, 0),
    "4 KB of disk": lambda: limited(resource.RLIMIT_FSIZE, 4096),
    "20 KB of disk": lambda: limited(resource.RLIMIT_FSIZE, 20_000),
}
FILES: dict[str, Fault] = {f"{more} more open files": partial(few_files, more) for more in (1, 2, 3, 5, 9)}
HOMES: dict[str, Fault] = {
    "no home": lambda: home(None),
    "an empty home": lambda: home(""),
    "a relative home": lambda: home("home"),
    "a home that is a file": lambda: with_a_file(home),
    "a home that nobody can make": lambda: home(NOWHERE),
}
FOLDERS: dict[str, Fault] = {
    "caches that are removed": removed_caches,
    "a folder of caches that is a file": lambda: with_a_file(lambda path: environment(XDG_CACHE_HOME=path)),
    "a relative folder of caches": lambda: environment(XDG_CACHE_HOME="caches"),
    "a folder of caches that nobody can make": lambda: environment(XDG_CACHE_HOME=NOWHERE),
    "a folder of settings that nobody can make": lambda: environment(XDG_CONFIG_HOME=NOWHERE),
    "no folder of temporary files": lambda: environment(TMPDIR=NOWHERE),
    "temporary files in a file": lambda: with_a_file(lambda path: environment(TMPDIR=path)),
}
NOTHING: dict[str, Fault] = {"nothing": contextlib.nullcontext}
FAULTS = {**NOTHING, **DISKS, **FILES, **HOMES, **FOLDERS}


# what writes


def text_of(number: int) -> str:
    """A program that no cache has."""
    return MODULE.format(value=f"{number}.25")


def built(number: int) -> Any:
    """Its executable, whose result is right."""
    executable = build(parse_source(text_of(number)))
    check(executable, number)
    return executable


def check(executable: Any, number: int) -> None:
    """Raises `Broken` where it computes something else."""
    require(np.array_equal(np.asarray(executable["main"](X)), X + np.float32(number + 0.25)), "the result")


Check = Callable[[Path, int], object]
"""Raises where a file is not whole, or not what the program of a number makes."""


@dataclass(frozen=True)
class Door:
    """`work(folder, number)` writes files of these names; `database` is the name of one."""

    outputs: dict[str, Check]
    work: Callable[[Path, int], object]
    database: str = ""


def is_executable(path: Path, number: int) -> None:
    check(runtime.Executable.load(path), number)


def is_library(path: Path, number: int) -> None:
    check(runtime.load_module(path), number)


def begins(data: bytes) -> Check:
    return lambda path, _: require(path.read_bytes().startswith(data), f"the beginning of {path.name}")


def ends(text: str) -> Check:
    return lambda path, _: require(path.read_text().rstrip().endswith(text), f"the end of {path.name}")


def is_trace(path: Path, _number: int) -> None:
    """Which goes as far as it was written."""
    require("</head>\n<body>" in path.read_text(), "the beginning of the trace")
    records(path.read_text())


def is_json(path: Path, _number: int) -> None:
    json.loads(path.read_text())


def is_script(path: Path, _number: int) -> None:
    parse_source(path.read_text())


def has_results(path: Path, number: int) -> None:
    require(np.array_equal(np.load(path)["result0"], X + np.float32(number + 0.25)), "the results")


def has_tensors(read: Callable[[Path], Any]) -> Check:
    return lambda path, number: require(np.array_equal(np.asarray(read(path)["x"]), tensor(number)), "the tensors")


def tensor(number: int) -> np.ndarray[Any, Any]:
    return np.full((100, 100), number, np.float32)


def exporting(name: str, is_right: Check) -> Door:
    def work(folder: Path, number: int) -> None:
        built(number).export_library(folder / name, header=folder / "model.h", weights=folder / "model.weights")

    return Door({name: is_right, "model.h": ends("#endif"), "model.weights": begins(b"TIRAXWTS")}, work)


def traced(folder: Path, number: int) -> None:
    with trace(str(folder / "trace.html")):
        built(number)


def storing(kind: str) -> Door:
    """A record more in a database."""

    def work(folder: Path, number: int) -> None:
        a = te.placeholder((8 + number, 8), name="A")
        func = te.create_prim_func([a, te.compute(a.shape, lambda i, j: a[i, j] + 1.0, name="B")])
        mod, database = ir.IRModule({"main": func}), Database.create(kind, work_dir=folder / "work")
        workload = database.commit_workload(mod)
        database.commit_tuning_record(TuningRecord(tir.Schedule(mod).trace, workload, [1.0], Target("llvm")))
        require(Database.create(kind, work_dir=folder / "work").records_of(workload), "a record is lost")

    return Door({}, work, kind)


def line(output: str, is_right: Check, *arguments: str) -> Door:
    """A command line; P is replaced by the path of a program, O by that of the output."""

    def work(folder: Path, number: int) -> None:
        program = folder.with_name(f"{folder.name}.py")
        text = "from tvm.script import ir as I, relax as R\n" + text_of(number)
        write_atomically(program, [text.encode()], durable=False)  # which another process may be reading
        paths = {"P": str(program), "O": str(folder / output)}
        command(*[paths.get(argument, argument) for argument in arguments])

    return Door({output: is_right}, work)


def command(tool: str, *arguments: str) -> None:
    """Run a command line. Raises `TiraxError` where it refuses, `Broken` where it has no message."""
    with redirect_stderr(io.StringIO()) as errors, redirect_stdout(io.StringIO()):
        code = {"tirax": tirax_cli, "tirax-opt": tirax_opt}[tool].main(list(arguments))
    if code == 130:
        raise KeyboardInterrupt
    text = errors.getvalue()
    require("internal error" not in text and "Traceback" not in text and code in (0, 1), f"{code}: {text}")
    if code:
        require("error" in text, "a code without a message")
        raise TiraxError(text)


DOORS: dict[str, Door] = {
    "build": Door({}, lambda _, number: (built(number), built(number))),
    "save": Door({"model.tirax": is_executable}, lambda folder, n: built(n).save(folder / "model.tirax")),
    "export .so": exporting("libmodel.so", is_library),
    "export .a": exporting("libmodel.a", begins(b"!<arch>\n")),
    "export .o": exporting("model.o", begins(b"\x7fELF")),
    "safetensors": Door(
        {"x.safetensors": has_tensors(read_weights)},
        lambda folder, n: write_weights(folder / "x.safetensors", {"x": tensor(n)}),
    ),
    "parameters": Door(
        {"x.bin": has_tensors(load_param_dict_from_file)},
        lambda folder, n: save_param_dict_to_file({"x": tensor(n)}, folder / "x.bin"),
    ),
    "profile": Door({"p.json": is_json}, lambda folder, n: built(n).profile("main", X).save(folder / "p.json")),
    "trace": Door({"trace.html": is_trace}, traced),
    "cost model": Door(
        {"m.json": lambda path, _: RandomModel().load(path)},
        lambda folder, n: RandomModel(seed=n).save(folder / "m.json"),
    ),
    "records in SQLite": storing("sqlite"),
    "records in JSON": storing("json"),
    "tirax-opt": line("out.mlir", ends("}"), "tirax-opt", "P", "-p", "legalize-ops", "-o", "O"),
    "tirax-opt -t": line("out.py", is_script, "tirax-opt", "P", "-t", "tvmscript", "-o", "O"),
    "tirax build": line("out.tirax", is_executable, "tirax", "build", "P", "-o", "O"),
    "tirax compile": line("out.so", is_library, "tirax", "compile", "P", "-o", "O"),
    "tirax run": line(
        "out.npz", has_results, "tirax", "run", "P", "--sizes", "n=3", "--input", "x=ones", "--output", "O"
    ),
    "tirax run --profile": line("out.json", is_json, "tirax", "run", "P", "--sizes", "n=3", "--profile", "O"),
    "tirax graph": line("out.dot", ends("}"), "tirax", "graph", "P", "-o", "O"),
    "tirax explain": line("out.html", is_trace, "tirax", "explain", "P", "-o", "O"),
    "tirax env": Door({}, lambda *_: command("tirax", "env")),
    "tirax cache clear": Door({}, lambda *_: command("tirax", "cache", "clear")),
}


# both


def attempt(folder: Path, door: Door, fault: AbstractContextManager[object], refusable: bool) -> str | None:
    """What is wrong with how a door takes a fault, None where nothing is."""
    number = next(_numbers)
    folder.mkdir()
    for name in door.outputs:
        (folder / name).write_bytes(OLD)
    wrong, refused = list[str](), False
    try:
        with warnings.catch_warnings(), fault:
            warnings.simplefilter("ignore")  # that the cache cannot be written
            door.work(folder, number)
    except (TiraxError, OSError) as error:
        refused = True
        wrong += [] if refusable else [str(error)]
    except BaseException as error:  # noqa: BLE001 (whatever is none of these is looked for)
        wrong.append(f"{type(error).__name__}: {error}")
    for path in folder.iterdir():
        if path.name in door.outputs:
            wrong += faults_of(door, path, number, refused)
        elif not door.database:
            wrong.append(f"{path.name} is left")
    if refused and door.database:  # what is there can be gone on with
        door.work(folder, number)
    return "; ".join(wrong) or None


def faults_of(door: Door, path: Path, number: int, refused: bool) -> list[str]:
    """What is wrong with a file after the work."""
    if path.read_bytes() == OLD:
        return [] if refused else [f"{path.name} is not written"]
    try:
        door.outputs[path.name](path, number)
    except Exception as error:  # noqa: BLE001 (each reader has its own errors)
        return [f"{path.name}: {type(error).__name__}: {error}"]
    return []


ASKING = ("build", "export .so", "tirax build", "tirax-opt", "tirax env", "tirax cache clear")
"""Doors that ask the environment for folders."""


def main(names: Sequence[str]) -> None:
    """Print which doors take faults badly."""
    folders = {"XDG_CACHE_HOME": "caches", "XDG_CONFIG_HOME": "settings", "HOME": "user"}
    with (
        tempfile.TemporaryDirectory() as room,
        environment(
            TIRAX_CACHE="1", TIRAX_BUILD_THREADS="1", **{name: f"{room}/{folder}" for name, folder in folders.items()}
        ),
    ):
        here = Path(room, "here")
        here.mkdir()
        os.chdir(here)
        problems: dict[str, str] = {}
        for name in names:
            for which in ASKING if name in {**HOMES, **FOLDERS} else DOORS:
                folder = Path(room, f"{list(FAULTS).index(name)}-{list(DOORS).index(which)}")
                wrong = attempt(folder, DOORS[which], FAULTS[name](), name not in NOTHING)
                if wrong is not None:
                    problems[f"{which}, {name}"] = wrong
        os.chdir("/")
        print(json.dumps(problems))


if __name__ == "__main__":
    main(sys.argv[1:])
