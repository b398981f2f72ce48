"""`tirax`: compile and run programs, inspect models, executables and this machine."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from .color import add_color_option
from .guard import OK, ArgumentParser, run_guarded
from .options import sizes
from .tirax_opt import AddPasses, Version

_PROGRAMS = "a .py (TVMScript; file.py:NAME) or .mlir file, or a model (.onnx, .pt2)"

_EPILOG = """\
examples:
  tirax run model.py --sizes n=8
  tirax run model.mlir --input x=images.npy --input w=random --time
  tirax build model.py -o model.tirax && tirax run model.tirax
  tirax inspect model.onnx; tirax run model.onnx --input image=image.npy
  tirax bench model.onnx --against onnxruntime,openvino --threads 1,2
  tirax explain model.py -o model.html
  tirax import model.onnx -o model.mlir && tirax-opt model.mlir -p legalize
"""


def command_line() -> argparse.ArgumentParser:
    """Return the parser of `tirax` with its commands and options."""
    parser = ArgumentParser(
        prog="tirax",
        description="Compile and run programs of the relax and tir dialects.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser("run", help="compile a program, call a function and print the result")
    _add_compile_options(run, f"{_PROGRAMS}, or an executable")
    add = run.add_argument
    _add_arguments(add)
    add("--output", type="path", metavar="FILE.npz", help="save the results to a file")
    add("--check", action="store_true", help="compare with the interpreter, kernel by kernel")
    add("--compare", metavar="RUNTIME", help="compare with onnxruntime, openvino, torch or inductor; several: a,b")
    add("--time", action="store_true", help="measure the time of a call")
    add(
        "--profile",
        nargs="?",
        const="-",
        type="path",
        metavar="FILE",
        help="profile a call: print a table, or write .json, .trace.json (Chrome trace), .csv, .svg (roofline)",
    )

    _add_bench(commands)
    _add_build(commands)
    _add_model_commands(commands)
    gui = commands.add_parser("gui", help="explore passes in xDSL's workbench for the terminal")
    gui.add_argument("file", nargs="?", help="a .mlir or .py file")
    gui.add_argument("-p", "--passes", default="", metavar="PASSES", help="initial passes")
    new = commands.add_parser("new", help="create a package of tirax extensions, with tests")
    new.add_argument("kind", choices=["plugin"], help="the kind of package")
    new.add_argument("name", help="the name of the package")
    new.add_argument(
        "--in", dest="folder", type="path", default=".", metavar="FOLDER", help="the parent folder (default: .)"
    )
    _add_fault_commands(commands)
    _add_explain(commands)
    _add_chat(commands)
    commands.add_parser("env", help="show versions, this machine's target, and the object cache")
    cache = commands.add_parser("cache", help="manage the cache of compiled objects")
    cache.add_argument("action", choices=["show", "clear"], help="show its location and size, or remove all objects")
    completion = commands.add_parser("completion", help="print the completion script of a shell")
    completion.add_argument("shell", choices=["bash", "zsh", "fish"], help="the shell")
    completion.set_defaults(parser=parser)
    for each in dict.fromkeys((parser, *commands.choices.values())):
        each.add_argument(
            "-v", "--version", nargs=0, action=Version, help="print the versions of tirax and its dependencies"
        )
        add_color_option(each)
    return parser


def _add_model_commands(commands: Any) -> None:
    import_ = commands.add_parser("import", help="convert a model to MLIR text and a weights file")
    import_.add_argument("file", help="a model: .onnx, .pt2")
    import_.add_argument("-o", "--output", type="path", required=True, metavar="FILE.mlir", help="the output text")
    import_.add_argument(
        "--weights", type="path", metavar="FILE.safetensors", help="the weights file (default: named after the text)"
    )
    _add_shape_option(import_)

    inspect = commands.add_parser("inspect", help="show the contents of a model or an executable")
    inspect.add_argument(
        "file", help="a model (.onnx, .pt2, .gguf), or an executable saved by build or Executable.save"
    )
    inspect.add_argument("--stubs", action="store_true", help="print converters to fill in for unsupported operators")
    graph = commands.add_parser("graph", help="export a program as a graph for Graphviz or Model Explorer")
    graph.add_argument("file", help=_PROGRAMS)
    output = "a .dot file, or .json for Model Explorer (default: DOT on stdout)"
    graph.add_argument("-o", "--output", type="path", metavar="FILE", help=output)
    graph.add_argument("-p", "--passes", default="", metavar="PASSES", help="passes to run first")
    _add_shape_option(graph)


def _add_bench(commands: Any) -> None:
    bench = commands.add_parser("bench", help="compare the speed of a model with other runtimes")
    _add_compile_options(bench, _PROGRAMS)
    add = bench.add_argument
    add("--against", metavar="RUNTIMES", help="onnxruntime,openvino,torch,inductor (default: those that are installed)")
    add("--threads", metavar="N,M", help="numbers of threads, a table each (default: one per core)")
    add("--repeat", type="count", default=31, metavar="N", help="samples of each runtime (default: 31)")
    _add_arguments(add)


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
        help="the output: an executable, or a library (.so, .a, .o)",
    )
    add("--header", type="path", metavar="FILE.h", help="write the C header of a library")
    add("--name", metavar="NAME", help="prefix of a library's functions (default: the file name)")
    add(
        "--weights",
        type="path",
        metavar="FILE",
        help="put a library's weights in a memory-mapped file (default: embed)",
    )


def _add_explain(commands: Any) -> None:
    explain = commands.add_parser("explain", help="write an HTML page of every pass and level, down to assembly")
    explain.register("type", "sizes", sizes)
    _add_compile_options(explain, _PROGRAMS)
    add = explain.add_argument
    add("-o", "--output", type="path", required=True, metavar="FILE.html", help="the output page")
    _add_arguments(add)
    add("--no-run", dest="run", action="store_false", help="do not run the program (no times)")
    add("--check-each", action="store_true", help="compare results before and after every pass")
    add(
        "--check-sizes",
        type="sizes",
        default=(2, 5, 1, 0),
        metavar="N=2,M=3",
        help="symbolic sizes in these comparisons, by name, or values that all take (default: 2,5,1,0)",
    )


def _add_chat(commands: Any) -> None:
    chat = commands.add_parser("chat", help="chat with a language model")
    add = chat.add_argument
    add("model", help="a .gguf file, or a folder with config.json and *.safetensors")
    add("--prompt", metavar="TEXT", help="answer this prompt and exit (default: interactive)")
    add("--system", metavar="TEXT", help="system prompt")
    add("--raw", action="store_true", help="no chat template: complete the text as it is")
    add("--max-tokens", type=int, metavar="N", help="maximum tokens to generate (default: until the context is full)")
    add("--stop", action="append", default=[], metavar="TEXT", help="stop before this text; can be repeated")
    add("--temperature", type=float, default=0.0, metavar="T", help="sampling temperature; 0: greedy (default: 0)")
    add("--top-k", type=int, default=0, metavar="K", help="sample from the K most likely tokens; 0: all (default: 0)")
    add(
        "--top-p",
        type=float,
        default=1.0,
        metavar="P",
        help="nucleus sampling: smallest set of total probability P (default: 1)",
    )
    add("--seed", type=int, default=0, metavar="N", help="random seed of sampling (default: 0)")
    add("--threads", type=int, metavar="N", help="number of threads (default: one per core)")
    add("--context", type=int, metavar="N", help="context length (default: the model's, at most 8192)")
    add("--cache-dtype", default="float16", metavar="DTYPE", help="KV cache: float16 or float32 (default: float16)")
    add(
        "--activation",
        default="int8",
        metavar="DTYPE",
        help="type of activations multiplied by quantized weights: int8 or float32 (default: int8)",
    )
    add("--stats", action="store_true", help="print tokens per second on stderr")


def _add_arguments(add: Any) -> None:
    add("--func", "--entry", metavar="NAME", help="the function to call (default: main, or the only one)")
    add("--input", action="append", default=[], metavar="X=VALUE", help="FILE.npy, random, zeros, ones, random:4x784")
    add("--sizes", action="append", default=[], metavar="N=4,M=8", help="values of symbolic sizes (default: 4)")
    add("--seed", type="count", default=0, help="seed of random inputs (default: 0)")


def _add_fault_commands(commands: Any) -> None:
    reduce = commands.add_parser("reduce", help="shrink a failing program to a minimal one")
    _add_fault_options(reduce)
    add = reduce.add_argument
    add(
        "--predicate",
        metavar="NAME",
        help="the fault to preserve, with the passes (default: default-cpu): crash, verify-error, meaning-changes, "
        "native-differs, numpy-differs, slower",
    )
    add(
        "--command", dest="command_line", metavar="'CMD {}'", help="a command that exits with 0 if the fault is present"
    )
    add("-o", "--output", type="path", metavar="FILE", help="the .mlir or .py file to write (default: stdout)")
    add("--seconds", type=float, default=300.0, help="total time limit (default: 300)")
    add("--than", metavar="PASSES|TIME", help="for slower, the reference: pipelines or passes, or a time such as 200us")
    add("--ratio", type=float, default=2.0, help="for slower, the minimum slowdown (default: 2)")
    add("--tolerance", type=float, default=1e-3, help="for numpy-differs, relative and absolute (default: 0.001)")
    add("-j", "--jobs", type=int, metavar="N", help="parallel attempts (default: one per core)")
    add("--limit", type=float, default=60.0, metavar="SECONDS", help="time limit of each attempt (default: 60)")

    bisect = commands.add_parser("bisect", help="find the first pass that changes a program's results")
    _add_fault_options(bisect)

    prove = commands.add_parser("prove", help="prove that programs, or a program before and after passes, are equal")
    _add_fault_options(prove)
    prove.add_argument("after", nargs="?", help="the second program (default: the first one after passes)")
    prove.add_argument("--func", metavar="NAME", help="the function to compare (default: all public ones)")


def _add_fault_options(parser: argparse.ArgumentParser) -> None:
    parser.register("type", "sizes", sizes)
    passes: dict[str, Any] = {"action": AddPasses, "dest": "steps"}
    add = parser.add_argument
    add("file", help="a .mlir or .py (TVMScript) file; file.py:NAME; a model (.onnx, .pt2)")
    add("-f", "--format", choices=["mlir", "py", "tvmscript"], help="input language (default: by extension)")
    add("-p", "--passes", metavar="PASSES", help="passes to run, in the syntax of tirax-opt", **passes)
    add("--pipeline", metavar="NAME", help="run a named pipeline", **passes)
    add(
        "--sizes",
        type="sizes",
        default=(2, 5, 1, 0),
        metavar="N=2,M=3",
        help="symbolic sizes by name, or values that all of them take (default: 2,5,1,0)",
    )


def _add_compile_options(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("file", help=what)
    parser.add_argument("--target", metavar="TARGET", help="the target (default: this machine)")
    parser.add_argument("-p", "--passes", default="", metavar="PASSES", help="passes to run before the pipeline")
    parser.add_argument("--pipeline", default="default-cpu", metavar="NAME", help="see tirax-opt --list-pipelines")
    parser.add_argument(
        "--allow-extern", action="append", default=[], metavar="NAME", help="a C function that the program may call"
    )
    parser.add_argument("--timing", action="store_true", help="print the time of each stage")
    _add_shape_option(parser)


def _add_shape_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape", action="append", default=[], metavar="X=1,3,h,w", help="override the shape of a model's input"
    )


def main(args: Sequence[str] | None = None) -> int:
    """Run `tirax` and return its exit code."""

    def program() -> int:
        parser = command_line()
        options: Any = parser.parse_args(args)
        if options.command is None:
            print(parser.format_help())
            return OK
        from .commands import COMMANDS

        return COMMANDS[options.command](options)

    return run_guarded(program)
