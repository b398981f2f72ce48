"""The commands of `tirax`."""

from __future__ import annotations

import io
import os
import platform
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diagnostics import TiraxError
from ..dialects.relax.data import printed_for
from ..ir.names import function_names
from ..runtime import Executable, ObjectCache, num_threads
from ..runtime.container import MAGIC
from ..runtime.errors import ArgumentError
from ..runtime.executable import SUFFIXES
from ..runtime.profiling.report import Report, form_of
from ..untrusted import open_file
from .arguments import Arguments
from .color import is_colored
from .compiling import compile_program, function_name, read_module
from .guard import OK, UsageError, as_usage, reading
from .options import named, sizes_of
from .outputs import folder_of, write_output
from .peers import Peer, arrays, chosen_peers, difference
from .progress import Progress
from .versions import version_of

if TYPE_CHECKING:
    from .models import ModelFormat

_SHOWN = 8
_PROFILED = 5
"""Calls to time, of which the fastest is reported."""
_WIDE = 200
"""Columns of a table that is written to a file."""


def run(options: Namespace) -> int:
    """Compile (or load) a function, call it on given or generated inputs, and print the results."""
    _form_of(options.profile)
    inputs, sizes = named(options.input, "--input"), sizes_of(options.sizes)
    peers = [] if options.compare is None else chosen_peers(options.compare, options.file)
    executable = _load(options.file) if _is_executable(options.file) else compile_program(options)
    name = function_name(options.func, executable)
    info = executable.functions[name]
    arguments = Arguments(info, inputs, sizes, options.seed)
    values = arguments.values()
    print(info)
    for symbol, size in sorted(arguments.sizes.items()):
        print(f"  {symbol} = {size}{' (assumed; --sizes says otherwise)' if symbol in arguments.assumed else ''}")
    result = executable[name](*values) if not options.check else _checked(options, executable, name, values)
    # A function that writes into its arguments returns nothing: those are its results.
    written = [v for p, v in zip(info.params, values, strict=True) if p.access != "read"]
    results = _flat(result) if result is not None else written
    for number, value in enumerate(results):
        print(f"result {number}: {_summary(value)}")
    for peer in peers:
        print(_compared(peer, options.file, values, results))
    if options.output is not None:
        _save(options.output, results)
    if options.time:
        print(f"time: {_time(executable, name, values)}")
    if options.profile is not None:
        _profile(options.profile, executable, name, values)
    return OK


_SAME = 1e-3
"""Largest relative difference from another runtime that counts as rounding."""


def _compared(peer: Peer, path: str, values: list[Any], results: list[Any]) -> str:
    """Run the model in another runtime and return a line about the results. Raises `TiraxError` if they differ."""
    others = peer.prepare(path, num_threads(), arrays(values))()
    relative = difference(results, others)
    if relative > _SAME:
        raise TiraxError(
            f"{peer.name} computes something else",
            expected=_summary(others[0]) if len(others) else "nothing",
            found=f"{_summary(results[0]) if results else 'nothing'}; largest relative difference {relative:.1e}",
            hint="tirax run --check compares with the interpreter, kernel by kernel",
        )
    return f"compare: {peer.name} computes the same, to {relative:.1e} of the largest value"


def _console(width: int | None = None, highlight: bool = True) -> Any:
    from rich.console import Console

    return Console(width=width, highlight=highlight, color_system="auto" if is_colored(sys.stdout) else None)


def _form_of(path: str | None) -> Callable[[Report], str] | None:
    """Return the writer of a profile by file extension, None for the terminal. Raises `UsageError` if unknown."""
    try:
        return None if path in (None, "-") else form_of(path)
    except ArgumentError as error:
        raise as_usage(error) from error


def _profile(path: str, executable: Executable, name: str, values: list[Any]) -> None:
    """Print a profile of a call, or write it to a file."""
    report, form = executable.profile(name, *values, repeat=_PROFILED), _form_of(path)
    if form is None:
        _console(None if sys.stdout.isatty() else _WIDE, highlight=False).print(report)
    else:
        write_output(path, (form(report).rstrip("\n") + "\n").encode())


def _checked(options: Namespace, executable: Executable, name: str, values: list[Any]) -> Any:
    """Call the function, compare with the interpreter and return the result. Raises `UsageError` for executables."""
    if _is_executable(options.file):
        raise UsageError("an executable has no program to compare with", hint="tirax run model.py --check")
    from ..target import Target
    from .kernel_check import check_kernels

    target = Target(options.target) if options.target else Target.host()
    module = read_module(options)
    inputs = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
    result = executable[name](*values)
    print(check_kernels(module, options.pipeline, target, name, inputs, result, values))
    return result


def build(options: Namespace) -> int:
    """Compile to a file."""
    extra = {key: getattr(options, key) for key in ("header", "name", "weights")}
    if not options.output.endswith(SUFFIXES) and any(extra.values()):
        raise UsageError("--header, --name and --weights are for libraries", expected=f"-o FILE{', '.join(SUFFIXES)}")
    executable = compile_program(options)
    try:
        executable.export_library(options.output, **extra)
    except OSError as error:
        raise TiraxError(f"cannot write '{options.output}': {error.strerror}") from error
    print(f"{options.output}: {', '.join(executable.functions)}")
    return OK


def import_(options: Namespace) -> int:
    """Write a model as a program, with its weights in a separate file."""
    from .models import import_model, shapes_of, store_weights

    weights = options.weights or f"{os.path.splitext(options.output)[0]}.safetensors"
    folder = folder_of(options.output)
    if folder_of(weights) != folder:
        raise UsageError("a text and its weights must lie in one folder", expected=folder, found=weights)
    with Progress(options.file):
        module = import_model(options.file, shapes_of(options.shape))
        count = store_weights(module, weights)
        with printed_for(folder):
            text = str(module) + "\n"
    write_output(options.output, text.encode())
    print(
        f"{options.output}: {', '.join(function_names(module))}" + (f"; {count} weights in {weights}" if count else "")
    )
    return OK


def inspect(options: Namespace) -> int:
    """Print the contents of a model or an executable."""
    from .gguf_files import EXTENSION
    from .models import format_of

    if options.file.lower().endswith(EXTENSION) and not options.stubs:
        return _inspect_gguf(options.file)
    model = format_of(options.file)
    if model is not None:
        return _inspect_model(model, options)
    if options.stubs:
        raise UsageError("--stubs is for models", expected=".onnx or .pt2", found=options.file)
    return _inspect_executable(options)


def _inspect_gguf(path: str) -> int:
    from .gguf_files import gguf_text

    with reading(path):
        print(gguf_text(path))
    return OK


def _inspect_model(model: ModelFormat, options: Namespace) -> int:
    summary = model.summary(options.file)
    print(summary)
    _console().print(summary.coverage.table())
    for use in summary.coverage.unsupported if options.stubs else ():
        print(model.stub(use.operator))
    return OK


def _inspect_executable(options: Namespace) -> int:
    executable = _load(options.file)
    target = executable.target
    print(f"target: {target.text} ({target.triple}, {target.cpu})")
    print(f"code: {len(executable.code)} bytes")
    constants = executable.constants
    print(f"constants: {len(constants)}, {sum(c.nbytes for c in constants)} bytes")
    print(f"packed functions: {', '.join(executable.packed_functions) or '-'}")
    print("functions:")
    for info in executable.functions.values():
        print(f"  {info} -> {info.result}")
    return OK


def gui(options: Namespace) -> int:
    """Open xDSL's workbench."""
    from .gui import workbench

    workbench(options.file, options.passes).run()
    return OK


def new(options: Namespace) -> int:
    """Write the skeleton of a package."""
    from .new_plugin import new_plugin

    files = new_plugin(options.name, options.folder)
    print("\n".join(map(str, files)))
    print(f"cd {os.path.join(options.folder, options.name)} && pip install -e '.[test]' && pytest")
    return OK


def reduce(options: Namespace) -> int:
    """Reduce a failing program."""
    from .reduce.command import reduce as run_reduce

    return run_reduce(options)


def bisect(options: Namespace) -> int:
    """Find the first wrong pass."""
    from .bisect import bisect as run_bisect

    return run_bisect(options)


def prove(options: Namespace) -> int:
    """Prove that transformations keep what a program computes."""
    from .prove import prove as run_prove

    return run_prove(options)


def explain(options: Namespace) -> int:
    """Write a trace of lowering."""
    from .explain import explain as run_explain

    return run_explain(options)


def chat(options: Namespace) -> int:
    """Talk with a language model."""
    from .chat import chat as run_chat

    return run_chat(options)


def bench(options: Namespace) -> int:
    """Measure a model beside other runtimes."""
    from .bench import bench as run_bench

    return run_bench(options)


def completion(options: Namespace) -> int:
    """Print the completion script of a shell."""
    from .completion import script
    from .tirax_opt import command_line

    print(script(options.shell, {"tirax": options.parser, "tirax-opt": command_line()}), end="")
    return OK


def env(_options: Namespace) -> int:
    """Print versions, the target and the cache."""
    from ..target import Target

    for package in ("tirax", "xdsl", "llvmlite", "numpy", "ml_dtypes"):
        print(f"{package} {version_of(package)}")
    print(f"python {platform.python_version()} on {platform.system()} {platform.machine()}")
    target = Target.host()
    print(f"target: {target} ({target.triple}, {target.cpu})")
    print(f"cache: {_cache_text()}")
    return OK


def cache(options: Namespace) -> int:
    """Show or clear the object cache."""
    if options.action == "clear":
        before = _cache_text()
        with suppress(RuntimeError):  # there is no home for one
            ObjectCache().clear()
        print(f"removed: {before}")
    else:
        print(_cache_text())
    return OK


def _cache_text() -> str:
    try:
        directory = ObjectCache().directory
    except RuntimeError as error:
        return f"none, {error}"
    sizes = [path.stat().st_size for path in directory.glob("*.o")]
    return f"{directory}, {len(sizes)} objects, {sum(sizes) / 2**20:.1f} MiB"


def _is_executable(path: str) -> bool:
    """Return whether a file begins like an executable; errors in reading it are left to its reader."""
    try:
        with open_file(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _load(path: str) -> Executable:
    with reading(path):
        return Executable.load(path)


def _flat(value: Any) -> list[Any]:
    return [leaf for each in value for leaf in _flat(each)] if isinstance(value, tuple | list) else [value]


def _summary(value: Any) -> str:
    """Return the type, shape and some contents of a result."""
    if not hasattr(value, "shape"):
        return repr(value)
    data = np.asarray(value)
    head = f"{data.dtype}{list(data.shape)}"
    if data.size == 0:
        return head
    wide = data.astype(np.float64)
    some = ", ".join(f"{x:.6g}" for x in wide.reshape(-1)[:_SHOWN])
    more = ", …" if data.size > _SHOWN else ""
    return f"{head} min {wide.min():.6g} mean {wide.mean():.6g} max {wide.max():.6g} [{some}{more}]"


def _save(path: str, results: list[Any]) -> None:
    arrays: dict[str, Any] = {f"result{i}": np.asarray(value) for i, value in enumerate(results)}
    archive = io.BytesIO()
    np.savez(archive, **arrays)
    write_output(path, archive.getvalue(), binary=True)


def _time(executable: Executable, name: str, values: list[Any]) -> str:
    result = executable.jit().time_evaluator(name, number=10, repeat=10)(*values)
    return f"median {result.median * 1e6:.2f} us, min {result.min * 1e6:.2f} us"


def graph(options: Namespace) -> int:
    """Write a program as a graph. Raises `UsageError` for another file extension."""
    from ..ir.graphs.dot import dot_text
    from ..ir.graphs.explorer import explorer_text
    from ..ir.graphs.nodes import graph_of

    name, extension = os.path.splitext(os.path.basename(options.output or "stdout.dot"))
    if extension not in (".dot", ".gv", ".json"):
        raise UsageError("the form of the graph is unknown", expected=".dot, .gv or .json", found=options.output)
    module = graph_of(read_module(options))
    text = explorer_text(module, name) if extension == ".json" else dot_text(module)
    write_output(options.output, text.encode())
    return OK


COMMANDS: dict[str, Callable[[Namespace], int]] = {
    "run": run,
    "bench": bench,
    "build": build,
    "compile": build,
    "import": import_,
    "inspect": inspect,
    "graph": graph,
    "gui": gui,
    "new": new,
    "reduce": reduce,
    "bisect": bisect,
    "prove": prove,
    "explain": explain,
    "chat": chat,
    "completion": completion,
    "env": env,
    "cache": cache,
}
"""The function of each command, by name."""
