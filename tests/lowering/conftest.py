"""Modules written as MLIR text, lowered to objects, loaded by ORC and called through ctypes."""

import ctypes
import itertools

import ml_dtypes
import numpy as np
import pytest
from llvmlite import binding
from xdsl.context import Context
from xdsl.dialects import builtin, cf, llvm, math, memref, scf, vector
from xdsl.ir import Operation
from xdsl.parser import Parser

from tirax.dialects.xdsl_extras.extended import LLVM, Arith, Func
from tirax.lowering.convert_to_llvm import ConvertToLLVM
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import compile_object

_DIALECTS = (
    Arith, builtin.Builtin, cf.Cf, Func, LLVM, math.Math, memref.MemRef, scf.Scf, vector.Vector,
)  # fmt: skip
_SCALARS = {np.float32: ctypes.c_float, np.float64: ctypes.c_double, bool: ctypes.c_bool, int: ctypes.c_int64}
_RESULTS = {"i1": ctypes.c_bool, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float,
            "f64": ctypes.c_double, None: None}  # fmt: skip
_numbers = itertools.count()


class Backend:
    """What the tests of the way down use."""

    def __init__(self) -> None:
        self.parsed_back: set[tuple[str, ...]] = set()

    def context(self) -> Context:
        context = Context()
        for dialect in _DIALECTS:
            context.load_dialect(dialect)
        return context

    def parse(self, text: str) -> builtin.ModuleOp:
        module = Parser(self.context(), text).parse_module()
        module.verify()
        return module

    def lower(self, text: str) -> builtin.ModuleOp:
        """The module in the llvm dialect; verified, and parsed back from its own text."""
        module = self.parse(text)
        ConvertToLLVM().apply(self.context(), module)
        module.verify()
        new = {_kind(op) for op in module.walk()} - self.parsed_back
        if new:  # reading takes longer than all else: each operation with its properties is read once
            assert str(self.parse(str(module))) == str(module)
            self.parsed_back |= new
        return module

    def text(self, source: str) -> str:
        return print_llvm(self.lower(source))

    def load(self, source: str, **options):
        """name -> address of the functions of a module, and what keeps them alive."""
        return self.load_text(self.text(source), **options)

    def load_text(self, ll_text: str, **options):
        symbols = [
            line.split("@")[1].split("(")[0]
            for line in ll_text.splitlines()
            if line.startswith("define ") and "internal" not in line
        ]
        code = compile_object(ll_text, **options)
        jit = _jit()
        builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol in symbols:
            builder.export_symbol(symbol)
        return builder.link(jit, f"test{next(_numbers)}")

    def call(self, source: str, *arguments, result: str | None = None, name: str = "f", **options):
        """Compile `source` and call @f with arrays (by pointer), ints (i64), bools and numpy float scalars."""
        return self.call_loaded(self.load(source, **options), name, arguments, result)

    def call_loaded(self, loaded, name, arguments, result=None):
        values = [self._argument(a) for a in arguments]
        prototype = ctypes.CFUNCTYPE(_RESULTS[result], *(type(v) for v in values))
        return prototype(loaded[name])(*values)

    @staticmethod
    def _argument(value):
        if isinstance(value, np.ndarray):
            return ctypes.c_void_p(value.ctypes.data)
        return _SCALARS[type(value)](value)


def _jit():
    if not hasattr(_jit, "compiler"):
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        _jit.compiler = binding.create_lljit_compiler()
    return _jit.compiler


def _kind(op: Operation) -> tuple[str, ...]:
    """What the text of an operation depends on: its name and properties, of functions and constants their types."""
    kind = type if isinstance(op, llvm.FuncOp | llvm.ConstantOp) else str
    return op.name, *(f"{name} {kind(value)}" for name, value in op.properties.items())


@pytest.fixture(scope="session")
def backend() -> Backend:
    return Backend()


@pytest.fixture(scope="session")
def dtypes() -> dict[str, np.dtype]:
    """MLIR's name of an element type -> numpy's."""
    return {
        "f64": np.dtype("float64"), "f32": np.dtype("float32"), "f16": np.dtype("float16"),
        "bf16": np.dtype(ml_dtypes.bfloat16), "i64": np.dtype("int64"), "i32": np.dtype("int32"),
        "i16": np.dtype("int16"), "i8": np.dtype("int8"),
    }  # fmt: skip
