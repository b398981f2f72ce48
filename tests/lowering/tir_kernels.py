"""What the tests of kernels share: tir text to machine code, called with numpy arrays."""

import ctypes
import itertools

import numpy as np
from llvmlite import binding
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tirax.dialects import tir
from tirax.driver.pipelines import KERNELS, SCHEDULE, make_passes
from tirax.driver.run import run_passes
from tirax.ir.passes.transform import new_context
from tirax.lowering.convert_to_llvm import ConvertToLLVM
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import compile_object, emit_assembly
from tirax.lowering.tir_to_scf import kernel_signature
from tirax.runtime import thread_pool
from tirax.target import Target

_SCALARS = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i1": ctypes.c_bool, "i8": ctypes.c_int8,
            "i32": ctypes.c_int32, "i64": ctypes.c_int64}  # fmt: skip
_numbers = itertools.count()
_jit = []


def parse(text):
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def lower_tir(module, schedule=True):
    """The kernels of the tensor functions of `module`, as a build makes them; `module` is unchanged.

    `isolate-kernels` is left out: it makes them private, and no entry point is here to call them.
    """
    out = ModuleOp([op.clone() for op in module.body.block.ops if isinstance(op, tir.FuncOp)])
    passes = [*(SCHEDULE if schedule else ()), *(name for name in KERNELS if name != "isolate-kernels")]
    run_passes(make_passes(passes, Target.host().text), new_context(), out, verify_each=False)
    out.verify()
    return out


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
        builder.import_symbol(thread_pool.SYMBOL, thread_pool.parallel_for_address())
        builder.export_symbol(self.signature.name)
        self._library = builder.link(_jit[0], f"kernel{next(_numbers)}")
        result = self.signature.result
        self._types = []
        self.address = self._library[self.signature.name]
        self.result = None if result is None else _SCALARS[str(result)]

    def assembly(self):
        return emit_assembly(self.text)

    def bound(self, *args, **symbols):
        """A function without arguments that runs the kernel."""
        values = [self._argument(a, t) for a, t in zip(args, self.signature.params, strict=True)]
        values += [ctypes.c_int64(symbols[v]) for v in self.signature.symbolic_vars]
        place = None if self.result is None else self.result()
        values += [] if place is None else [ctypes.byref(place)]
        types = [ctypes.c_void_p if isinstance(v, type(ctypes.byref(ctypes.c_int()))) else type(v) for v in values]
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(self.address)

        def run():
            status = function(*values)
            return status if place is None else place.value

        return run

    def __call__(self, *args, **symbols):
        return self.bound(*args, **symbols)()

    @staticmethod
    def _argument(value, dtype):
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            return ctypes.c_void_p(value.ctypes.data)
        return _SCALARS[str(dtype)](value)


def nest(block, iters, body, init=None, kinds=None):
    """Loops and a block as text; `iters` is "i:n j:64 k:128r" (r: reduction), the block's iterators are vi, vj, vk."""
    rows = [(n, e.rstrip("r"), "reduce" if e.endswith("r") else "spatial") for n, e in
            (item.split(":") for item in iters.replace("*", " * ").replace(" * ", "*").split())]  # fmt: skip
    kinds = kinds or {}
    loops = " ".join(f"tir.for {kinds.get(n, '')} %{n} = 0 to {e} {{" for n, e, _ in rows)
    head = ", ".join(f"%v{n} = {k}(%{n}, {e})" for n, e, k in rows)
    start = "" if init is None else f"tir.init {{\n{init}\n}}\n"
    return f'{loops}\ntir.block "{block}" ({head}) {{\n{start}{body}\n}}\n' + "}" * len(rows) + "\n"


def function(params, *parts, attrs="tir.noalias = true", name="f"):
    """A tir function as text; `params` is "A:n,64:f32 x:i64": names, extents, dtypes; a scalar has no extents."""
    rows = []
    for item in params.split():
        pname, *shape, dtype = item.split(":")
        if not shape:
            rows.append(f"%{pname}: {dtype}")
            continue
        rows.append(f"%{pname}: !tir.buffer<[{shape[0].replace(',', ', ')}], {dtype}>")
    return f"tir.func @{name}({', '.join(rows)}) attributes {{{attrs}}} {{\n" + "\n".join(parts) + "\n}\n"


def alloc(name, shape, dtype="f32"):
    return f"%{name} = tir.alloc_buffer : !tir.buffer<[{shape}], {dtype}>"
