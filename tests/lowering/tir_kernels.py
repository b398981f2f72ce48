"""What the tests of kernels share: tir text to machine code, called with numpy arrays."""

import ctypes
import itertools

import numpy as np
from llvmlite import binding
from tirax.dialects import tir
from tirax.ir.transform import new_context
from tirax.lowering.convert_to_llvm import ConvertToLLVM
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import compile_object, emit_assembly
from tirax.lowering.pipeline_tir import lower_tir
from tirax.lowering.tir_to_scf import kernel_signature
from xdsl.parser import Parser

_SCALARS = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i1": ctypes.c_bool, "i8": ctypes.c_int8,
            "i32": ctypes.c_int32, "i64": ctypes.c_int64}  # fmt: skip
_numbers = itertools.count()
_jit = []


def parse(text):
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def llvm_text(module):
    ConvertToLLVM().apply(new_context(), module)
    return print_llvm(module)


class Kernel:
    """One tir function, compiled: called with arrays and scalars, then the values of the symbolic variables by name."""

    def __init__(self, source, *, schedule=True, name=None):
        module = parse(source) if isinstance(source, str) else source
        functions = [op for op in module.body.block.ops if isinstance(op, tir.FuncOp)]
        func = next(f for f in functions if name in (None, f.sym_name.data))
        self.signature = kernel_signature(func)
        self.lowered = lower_tir(module, schedule=schedule)
        self.loops = str(self.lowered)
        self.text = llvm_text(self.lowered)
        if not _jit:
            binding.initialize_native_target()
            binding.initialize_native_asmprinter()
            _jit.append(binding.create_lljit_compiler())
        builder = binding.JITLibraryBuilder().add_object_img(compile_object(self.text)).add_current_process()
        builder.export_symbol(self.signature.name)
        self._library = builder.link(_jit[0], f"kernel{next(_numbers)}")
        result = self.signature.return_type
        self._types = []
        self.address = self._library[self.signature.name]
        self.result = None if result is None else _SCALARS[str(result)]

    def assembly(self):
        return emit_assembly(self.text)

    def bound(self, *args, **symbols):
        """A function without arguments that runs the kernel."""
        values = [self._argument(a, t) for a, t in zip(args, self.signature.params, strict=True)]
        values += [ctypes.c_int64(symbols[v]) for v in self.signature.symbolic_vars]
        prototype = ctypes.CFUNCTYPE(self.result, *(type(v) for v in values))
        function = prototype(self.address)
        return lambda: function(*values)

    def __call__(self, *args, **symbols):
        return self.bound(*args, **symbols)()

    @staticmethod
    def _argument(value, dtype):
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            return ctypes.c_void_p(value.ctypes.data)
        return _SCALARS[str(dtype)](value)
