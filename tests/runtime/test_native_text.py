"""The runtime's own LLVM text: each file is sound by itself, and what is linked of it compiles for its machine."""

import llvmlite.binding as llvm
import pytest
from repository import native_files

from tirax.runtime import exchange, result_pool, stack, thread_pool

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()


@pytest.mark.parametrize("file", native_files(), ids=lambda file: file.stem)
def test_each_file_is_sound_by_itself(file):
    llvm.parse_assembly(file.read_text(encoding="utf-8")).verify()


@pytest.mark.parametrize(
    ("system", "machine", "triple"),
    [
        ("linux", "x86_64", "x86_64-unknown-linux-gnu"),
        ("linux", "aarch64", "aarch64-unknown-linux-gnu"),
        ("darwin", "arm64", "arm64-apple-darwin"),
    ],
)
def test_the_pools_compile_for(system, machine, triple):
    pools = thread_pool.pool_text(system, machine), result_pool.pool_text(system)
    for text in (*pools, stack.stack_text(system), exchange.exchange_text()):
        module = llvm.parse_assembly(text)
        module.verify()
        assert not [f.name for f in module.functions if f.is_declaration and f.name.startswith("tirax_")]
        assert llvm.Target.from_triple(triple).create_target_machine().emit_object(module)
