"""`tirax`: compiles programs, runs them, and says what is in an executable and on this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .guard import OK, ArgumentParser, run_guarded
from .tirax_opt import AddPasses, sizes

_PROGRAMS = "a .py (TVMScript; file.py:NAME) or .mlir file, a model (.onnx, .pt2)"

_EPILOG = """\
examples:
  tirax run model.py --sizes n=8
  tirax run model.mlir --input x=images.npy --input w=random --time
  tirax build model.py -o model.tirax && tirax run model.tirax
  tirax inspect model.onnx; tirax run model.onnx --input image=image.npy
  tirax explain model.py -o model.html
  tirax import model.onnx -o model.mlir && tirax-opt model.mlir -p legalize
"""


def command_line() -> argparse.ArgumentParser:
    """The commands of `tirax` and their options."""
    parser = ArgumentParser(
        prog="tirax",
        description="Compile and run programs of the relax and tir dialects.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-v", "--version", action="store_true", help="versions of tirax and of what it stands on")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser("run", help="compile a program, call a function and show the result")
    _add_compile_options(run, f"{_PROGRAMS}, or an executable")
    add = run.add_argument
    _add_arguments(add)
    add("--output", type="path", metavar="FILE.npz", help="write the results to a file")
    add("--check", action="store_true", help="compare with the interpreter, kernel by kernel")
    add("--time", action="store_true", help="measure how long a call takes")
    add(
        "--profile",
        nargs="?",
        const="-",
        type="path",
        metavar="FILE",
        help="where a call's time goes: a table, or a file .json, .trace.json (Chrome trace), .csv, .svg (roofline)",
    )

    _add_build(commands)
    import_ = commands.add_parser("import", help="a model as a program: MLIR text beside a file of its weights")
    import_.add_argument("file", help="a model: .onnx, .pt2")
    import_.add_argument("-o", "--output", type="path", required=True, metavar="FILE.mlir", help="the text to write")
    import_.add_argument(
        "--weights", type="path", metavar="FILE.safetensors", help="the file of weights (named after the text)"
    )
    _add_shape_option(import_)

    inspect = commands.add_parser("inspect", help="what is in a model or an executable")
    inspect.add_argument(
        "file", help="a model (.onnx, .pt2, .gguf), or an executable that build or Executable.save wrote"
    )
    inspect.add_argument("--stubs", action="store_true", help="print converters to fill in for what has none")
    graph = commands.add_parser("graph", help="a program as a graph, for Graphviz or Model Explorer")
    graph.add_argument("file", help=_PROGRAMS)
    output = "a .dot file, or .json for Model Explorer (DOT on stdout)"
    graph.add_argument("-o", "--output", type="path", metavar="FILE", help=output)
    graph.add_argument("-p", "--passes", default="", metavar="PASSES", help="passes to run before")
    _add_shape_option(graph)
    gui = commands.add_parser("gui", help="look at a program between passes: xDSL's workbench for the terminal")
    gui.add_argument("file", nargs="?", help="a .mlir or .py file")
    gui.add_argument("-p", "--passes", default="", metavar="PASSES", help="passes to begin with")
    new = commands.add_parser("new", help="a package to start from: extensions of tirax, with tests")
    new.add_argument("kind", choices=["plugin"], help="what to write")
    new.add_argument("name", help="the name of the package")
    new.add_argument("--in", dest="folder", type="path", default=".", metavar="FOLDER", help="where to write it (here)")
    _add_fault_commands(commands)
    _add_explain(commands)
    _add_chat(commands)
    commands.add_parser("env", help="versions, the target of this machine, the object cache")
    cache = commands.add_parser("cache", help="the cache of compiled objects")
    cache.add_argument("action", choices=["show", "clear"], help="where it is and its size; or remove all objects")
    return parser


def _add_build(commands: Any) -> None:
    build = commands.add_parser("build", aliases=["compile"], help="compile a program to a file")
    _add_compile_options(build, _PROGRAMS)
    add = build.add_argument
    add(
        "-o",
        "--output",
        type="path",
        required=True,
        metavar="FILE",
        help="what to write: an executable, or a library .so, .a, .o",
    )
    add("--header", type="path", metavar="FILE.h", help="the C header of a library, to write")
    add("--name", metavar="NAME", help="what the functions of a library are called after (the file)")
    add(
        "--weights", type="path", metavar="FILE", help="the file of a library's weights, to be mapped (they are inside)"
    )


def _add_explain(commands: Any) -> None:
    explain = commands.add_parser("explain", help="an HTML of what every pass makes of a program, down to assembly")
    explain.register("type", "sizes", sizes)
    _add_compile_options(explain, _PROGRAMS)
    add = explain.add_argument
    add("-o", "--output", type="path", required=True, metavar="FILE.html", help="the HTML to write")
    _add_arguments(add)
    add("--no-run", dest="run", action="store_false", help="do not call the program, so that there are no times")
    add("--check-each", action="store_true", help="compare what is computed before and after every pass")
    add(
        "--check-sizes",
        type="sizes",
        default=(2, 5, 1, 0),
        metavar="N,N",
        help="what symbolic sizes are then (2,5,1,0)",
    )


def _add_chat(commands: Any) -> None:
    chat = commands.add_parser("chat", help="talk with a language model")
    add = chat.add_argument
    add("model", help="a .gguf file, or a folder with config.json and *.safetensors")
    add("--prompt", metavar="TEXT", help="answer this, and end (what is typed is answered)")
    add("--system", metavar="TEXT", help="what the model is told before the conversation")
    add("--raw", action="store_true", help="no chat template: the model goes on with the text as it is")
    add("--max-tokens", type=int, metavar="N", help="end an answer behind so many tokens (with the context)")
    add(
        "--stop", action="append", default=[], metavar="TEXT", help="end an answer before this text, too; several times"
    )
    add("--temperature", type=float, default=0.0, metavar="T", help="draw tokens by logits / T; 0: the likeliest (0)")
    add("--top-k", type=int, default=0, metavar="K", help="draw from the K likeliest tokens; 0: from all (0)")
    add("--top-p", type=float, default=1.0, metavar="P", help="draw from the fewest with probability P together (1)")
    add("--seed", type=int, default=0, metavar="N", help="the same number draws the same tokens (0)")
    add("--threads", type=int, metavar="N", help="threads of kernels (one a core)")
    add("--context", type=int, metavar="N", help="positions of the conversation (the model's, 8192 at most)")
    add("--cache-dtype", default="float16", metavar="DTYPE", help="of keys and values: float16 or float32 (float16)")
    add(
        "--activation",
        default="int8",
        metavar="DTYPE",
        help="float32: do not round what is multiplied by blocks (int8)",
    )
    add("--stats", action="store_true", help="print tokens a second on stderr")


def _add_arguments(add: Any) -> None:
    add("--func", metavar="NAME", help="the function to call (main, or the only one)")
    add("--input", action="append", default=[], metavar="X=VALUE", help="FILE.npy, random, zeros, ones, random:4x784")
    add("--sizes", action="append", default=[], metavar="N=4,M=8", help="what symbolic sizes are (4)")
    add("--seed", type="count", default=0, help="of random inputs (0)")


def _add_fault_commands(commands: Any) -> None:
    reduce = commands.add_parser("reduce", help="a small program with the fault that a large one has")
    _add_fault_options(reduce)
    add = reduce.add_argument
    add(
        "--predicate",
        metavar="NAME",
        help="the fault that passes (default-cpu) have with it: crash, verify-error, meaning-changes, native-differs, "
        "numpy-differs, slower",
    )
    add(
        "--command", dest="command_line", metavar="'CMD {}'", help="a command that ends with 0 where the fault is there"
    )
    add("-o", "--output", type="path", metavar="FILE", help="the .mlir or .py file to write (stdout)")
    add("--seconds", type=float, default=300.0, help="time for all of it (300)")
    add("--than", metavar="PASSES|TIME", help="slower than what: pipelines or passes, or a time such as 200us")
    add("--ratio", type=float, default=2.0, help="how many times as slow as that (2)")
    add("--tolerance", type=float, default=1e-3, help="of numpy-differs, relative and absolute (0.001)")
    add("-j", "--jobs", type=int, metavar="N", help="how many programs to try at once (one a core)")
    add("--limit", type=float, default=60.0, metavar="SECONDS", help="time for one program (60)")

    bisect = commands.add_parser("bisect", help="the first pass after which a program computes something else")
    _add_fault_options(bisect)


def _add_fault_options(parser: argparse.ArgumentParser) -> None:
    parser.register("type", "sizes", sizes)
    passes: dict[str, Any] = {"action": AddPasses, "dest": "steps"}
    add = parser.add_argument
    add("file", help="a .mlir or .py (TVMScript) file; file.py:NAME; a model (.onnx, .pt2)")
    add("-f", "--format", choices=["mlir", "py", "tvmscript"], help="language of the input (by its extension)")
    add("-p", "--passes", metavar="PASSES", help="passes to run, as for tirax-opt", **passes)
    add("--pipeline", metavar="NAME", help="a pipeline to run", **passes)
    add("--sizes", type="sizes", default=(2, 5, 1, 0), metavar="N,N", help="what symbolic sizes are (2,5,1,0)")


def _add_compile_options(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("file", help=what)
    parser.add_argument("--target", metavar="TARGET", help="what to compile for (this machine)")
    parser.add_argument("-p", "--passes", default="", metavar="PASSES", help="passes to run before the pipeline")
    parser.add_argument("--pipeline", default="default-cpu", metavar="NAME", help="see tirax-opt --list-pipelines")
    parser.add_argument(
        "--allow-extern", action="append", default=[], metavar="NAME", help="a C function that the program may call"
    )
    parser.add_argument("--timing", action="store_true", help="print how long each stage took")
    _add_shape_option(parser)


def _add_shape_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape", action="append", default=[], metavar="X=1,3,h,w", help="another shape of a model's input"
    )


def _versions() -> str:
    from .versions import version_line

    return version_line()


def main(args: Sequence[str] | None = None) -> int:
    """Run `tirax` and return its exit code."""

    def program() -> int:
        parser = command_line()
        options: Any = parser.parse_args(args)
        if options.command is None:
            print(_versions() if options.version else parser.format_help())
            return OK
        from .commands import COMMANDS

        return COMMANDS[options.command](options)

    return run_guarded(program)
