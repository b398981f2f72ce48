"""bfloat16 on processors that do not know it: LLVM must not be led to call a library that no process has."""

from __future__ import annotations

from strength import crossed, only_full
from xdsl.parser import Parser

from tirax.driver.build import build
from tirax.ir.passes.transform import new_context
from tirax.target import Target

X, Y = "!relax.tensor<[n, 4], bf16>", "!relax.tensor<[4], bf16>"
Q = "!relax.tensor<[1, n, 2, 4], bf16>"
PROGRAMS = {
    "rounded": (f"%x: {X}", f"relax.floor %x : {X}", X),
    "chosen": (f"%x: {X}, %y: {Y}", f"relax.maximum %x, %y : {X}", X),
    "reduced": (f"%x: {X}", f"relax.nn.softmax %x : {X}", X),
    "carried": (f"%x: {Q}", f'relax.nn.attention %x, %x, %x {{causal_mask = "BottomRight"}} : {Q}', Q),
}


@only_full
@crossed("program, cpu", list(PROGRAMS), ["x86-64", "haswell", "skylake-avx512"])
def test_no_conversion_is_left_to_a_library(program: str, cpu: str) -> None:
    params, op, result = PROGRAMS[program]
    text = f"relax.func @main({params}) -> {result} {{ %lv = {op} relax.return %lv : {result} }}"
    module = Parser(new_context(), text).parse_module()
    code = build(module, Target(f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu={cpu}")).code
    assert b"entry_main" in code
    assert b"bf2\0" not in code, "a call of __truncsfbf2 or its like"
