"""LLVM text to machine code, through llvmlite (imported when first needed).

Objects are position independent, hold no address of this process, and can be stored and loaded by ORC.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..diagnostics import TiraxError
from ..target import Target

if TYPE_CHECKING:
    from llvmlite import binding as llvm_binding  # pyright: ignore[reportMissingTypeStubs]


PROCESSORS = ("x86_64", "amd64", "aarch64", "arm64", "riscv64", "loongarch64", "powerpc64le")
"""The first parts of the triples that code can be for: pointers of 64 bits, the least byte first."""


class LLVMError(TiraxError):
    """LLVM refused a module or a target; the notes are LLVM's own message."""


@lru_cache(maxsize=1)
def binding() -> Any:
    """llvmlite's binding, with the code generators initialised."""
    from llvmlite import binding as llvm_binding  # pyright: ignore[reportMissingTypeStubs]

    llvm_binding.initialize_all_targets()
    llvm_binding.initialize_all_asmprinters()
    llvm_binding.initialize_native_asmparser()
    return llvm_binding


@lru_cache(maxsize=32)
def target_machine(target: Target, codegen_level: int = 2) -> llvm_binding.TargetMachine:
    """LLVM's target machine for `target`; `codegen_level` 0 to 3. Raises `LLVMError` for a triple of no processor that
    there is code for: LLVM ends the process where another kind of target lacks what kernels and entry points need."""
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
    try:  # what LLVM knows of types and constants goes with its context, which the module keeps
        module = llvm.parse_assembly(header + ll_text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise LLVMError("LLVM refuses the module", notes=str(error).strip().splitlines()) from None
    return module


def verify(ll_text: str, target: Target | None = None) -> None:
    """Raise `LLVMError` with LLVM's message where `ll_text` is not a valid module."""
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
    """What makes LLVM's pass managers; llvmlite frees a part of one only, so few are made."""
    options = binding().create_pipeline_tuning_options(speed_level=opt_level)
    options.loop_vectorization = opt_level > 1
    options.slp_vectorization = opt_level > 1
    return binding().create_pass_builder(target_machine(target, codegen_level), options)


def _dispose(manager: Any) -> None:
    """Free a pass manager, of which llvmlite's own `close` only forgets the address."""
    from llvmlite.binding.newpassmanagers import NewPassManager  # pyright: ignore[reportMissingTypeStubs]

    dispose = vars(NewPassManager).get("_dispose")
    if dispose is None:
        manager.close()
    else:
        dispose(manager)
        manager.detach()


def optimise(ll_text: str, target: Target | None = None, opt_level: int = 3) -> str:
    """The module as text after LLVM's pass manager."""
    return str(_optimised(ll_text, target or Target.host(), opt_level, True, None)[1])


def compile_object(
    ll_text: str,
    target: Target | None = None,
    opt_level: int = 3,
    run_passes: bool = True,
    codegen_level: int | None = None,
) -> bytes:
    """The object file of a module.

    `run_passes=False` leaves LLVM's pass manager out: modules of explicit vectors need only code generation.
    `codegen_level` (0 to 3) is that of `opt_level` unless given, and never 0 by itself. Raises `LLVMError`.
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
    """The assembly text of a module; options as for `compile_object`."""
    machine, module = _optimised(ll_text, target or Target.host(), opt_level, run_passes, codegen_level)
    return machine.emit_assembly(module)
