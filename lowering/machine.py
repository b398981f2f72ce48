"""Compile LLVM text to machine code, through llvmlite (imported on first use).

Objects are position independent, contain no addresses of this process, and can be stored and loaded by ORC.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..diagnostics import TiraxError
from ..target import Target

if TYPE_CHECKING:
    from llvmlite import binding as llvm_binding  # pyright: ignore[reportMissingTypeStubs]


PROCESSORS = ("x86_64", "amd64", "aarch64", "arm64", "riscv64", "loongarch64", "powerpc64le")
"""The architectures of supported triples: 64-bit pointers, little endian."""


class LLVMError(TiraxError):
    """LLVM rejected a module or a target; the notes are LLVM's own message."""


@lru_cache(maxsize=1)
def binding() -> Any:
    """Return llvmlite's binding, with the code generators initialized."""
    from llvmlite import binding as llvm_binding  # pyright: ignore[reportMissingTypeStubs]

    llvm_binding.initialize_all_targets()
    llvm_binding.initialize_all_asmprinters()
    llvm_binding.initialize_native_asmparser()
    return llvm_binding


@lru_cache(maxsize=32)
def target_machine(target: Target, codegen_level: int = 2) -> llvm_binding.TargetMachine:
    """Return LLVM's target machine for `target`; `codegen_level` is 0 to 3.

    Raises `LLVMError` for an unsupported architecture: LLVM would abort if another kind of target lacked something that
    kernels and entry points need.
    """
    if target.triple.split("-", 1)[0] not in PROCESSORS:
        raise LLVMError(
            f"tirax cannot generate code for '{target}'",
            expected=f"-mtriple of a CPU with 64 bits: {', '.join(PROCESSORS)}",
            found=target.triple,
        )
    try:
        base = binding().Target.from_triple(target.triple)
        return base.create_target_machine(
            cpu=target.cpu, features=target.feature_string, opt=codegen_level, reloc="pic", codemodel="default"
        )
    except RuntimeError as error:
        raise LLVMError(f"LLVM cannot generate code for '{target}'", notes=[str(error).strip()]) from None


def _parse(ll_text: str, target: Target, machine: llvm_binding.TargetMachine) -> llvm_binding.ModuleRef:
    header = f'target datalayout = "{machine.target_data}"\ntarget triple = "{target.triple}"\n'
    llvm = binding()
    try:  # LLVM's types and constants belong to the context, which the module keeps alive
        module = llvm.parse_assembly(header + ll_text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise LLVMError("LLVM refuses the module", notes=str(error).strip().splitlines()) from None
    return module


def verify(ll_text: str, target: Target | None = None) -> None:
    """Raise `LLVMError` with LLVM's message if `ll_text` is not a valid module."""
    target = target or Target.host()
    _parse(ll_text, target, target_machine(target))


def _optimised(ll_text: str, target: Target, opt_level: int, run_passes: bool, codegen_level: int | None) -> Any:
    if opt_level not in range(4):
        raise LLVMError(f"optimisation level {opt_level}", expected="0, 1, 2 or 3")
    level = codegen_level if codegen_level is not None else max(opt_level, 1)
    machine = target_machine(target, level)
    module = _parse(ll_text, target, machine)
    if run_passes and opt_level > 0:
        builder = _pass_builder(target, level, opt_level)
        manager = builder.getModulePassManager()
        try:
            manager.run(module, builder)
        finally:
            _dispose(manager)
    return machine, module


@lru_cache(maxsize=32)
def _pass_builder(target: Target, codegen_level: int, opt_level: int) -> Any:
    """Return the builder of LLVM's pass managers; llvmlite frees only a part of one, so they are cached."""
    options = binding().create_pipeline_tuning_options(speed_level=opt_level)
    options.loop_vectorization = opt_level > 1
    options.slp_vectorization = opt_level > 1
    return binding().create_pass_builder(target_machine(target, codegen_level), options)


def _dispose(manager: Any) -> None:
    """Free a pass manager: llvmlite's own `close` only drops its address."""
    from llvmlite.binding.newpassmanagers import NewPassManager  # pyright: ignore[reportMissingTypeStubs]

    dispose = vars(NewPassManager).get("_dispose")
    if dispose is None:
        manager.close()
    else:
        dispose(manager)
        manager.detach()


def optimise(ll_text: str, target: Target | None = None, opt_level: int = 3) -> str:
    """Return the module as text after LLVM's pass manager has run."""
    return str(_optimised(ll_text, target or Target.host(), opt_level, True, None)[1])


def compile_object(
    ll_text: str,
    target: Target | None = None,
    opt_level: int = 3,
    run_passes: bool = True,
    codegen_level: int | None = None,
) -> bytes:
    """Return the object file of a module.

    `run_passes=False` skips LLVM's pass manager: modules of explicit vectors need only code generation. `codegen_level`
    (0 to 3) defaults to `opt_level`, but at least 1. Raises `LLVMError`.
    """
    machine, module = _optimised(ll_text, target or Target.host(), opt_level, run_passes, codegen_level)
    return machine.emit_object(module)


def emit_assembly(
    ll_text: str,
    target: Target | None = None,
    opt_level: int = 3,
    run_passes: bool = True,
    codegen_level: int | None = None,
) -> str:
    """Return the assembly text of a module; options as for `compile_object`."""
    machine, module = _optimised(ll_text, target or Target.host(), opt_level, run_passes, codegen_level)
    return machine.emit_assembly(module)
