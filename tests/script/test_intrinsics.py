"""Calls of intrinsics come back from TVMScript, whatever their name, arguments and result are."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from xdsl.utils.exceptions import DiagnosticException

from tirax.dev.fuzz import checks
from tirax.diagnostics import TiraxError
from tirax.dialects import tir
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_mlir, print_script

TYPES = ("f32", "f16", "i32", "i64", "ui8", "i1", "vector<4xf32>", "vector<4xi1>", "vector<[4]xf32>", "vector<8xi32>")
HEAD = "tir.func @main(" + ", ".join(f"%x{i}: {t}" for i, t in enumerate(TYPES[:6])) + ", %A: !tir.buffer<[n], f32>) {"
VECTORS = [f"%x{i} = tir.broadcast %x{of} : {TYPES[of]} -> {TYPES[i]}" for i, of in ((6, 0), (7, 5), (8, 0), (9, 2))]
"""A value of each type."""


def _module(*lines: str):
    module = parse_mlir("\n".join((HEAD, *VECTORS, *lines, "}")))
    verify_module(module)
    return module


def _calls() -> Iterator[str]:
    """Each name of the tables, and some of none, with right and wrong numbers of arguments and results."""
    rng = random.Random(0)
    names = [*tir.INTRINSICS, "nonsense", "if_then_else", "call_extern", "tir.exp", "a.b", "max", "float32", "handle"]
    for name in names:
        count = tir.INTRINSICS[name].count if name in tir.INTRINSICS else 1
        for number in {count, count + 1, max(count - 1, 0)}:
            for i in range(0, len(TYPES), 2 if number == count else len(TYPES)):
                yield f'%0 = tir.call_intrin "{name}"({", ".join([f"%x{i}"] * number)}) : {TYPES[i]}'
            args = ", ".join(f"%x{rng.randrange(len(TYPES))}" for _ in range(number))
            yield f'%0 = tir.call_intrin "{name}"({args}) : {rng.choice((*TYPES, "!tir.handle", "none"))}'


def test_every_call_comes_back() -> None:
    calls = list(_calls())
    lines = [
        line.replace("%0", f"%r{i}") + f"\ntir.evaluate %r{i} : {line.rsplit(' : ')[-1]}"
        for i, line in enumerate(calls)
    ]
    checks.texts(_module(*lines))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ('"exp"(%x0) : f32', "T.exp(x0)"),
        ('"exp"(%x0) : f16', 'T.call_intrin("float16", "tir.exp", x0)'),
        ('"exp"(%x0, %x0) : f32', 'T.call_intrin("float32", "tir.exp", x0, x0)'),
        ('"exp"(%x0) : none', 'T.call_intrin("void", "tir.exp", x0)'),
        ('"exp"(%A) : f32', 'T.call_intrin("float32", "tir.exp", A)'),
        ('"floor"(%x0) : f32', "T.floor(x0)"),
        ('"floor"(%x2) : i32', 'T.call_intrin("int32", "tir.floor", x2)'),
        ('"isnan"(%x6) : vector<4xi1>', "T.isnan(T.Broadcast(x0, 4))"),
        ('"isnan"(%x6) : i1', 'T.call_intrin("bool", "tir.isnan", T.Broadcast(x0, 4))'),
        ('"bitwise_and"(%x2, %x2) : i32', "T.bitwise_and(x2, x2)"),
        ('"bitwise_and"(%x2, %x3) : i32', 'T.call_intrin("int32", "tir.bitwise_and", x2, x3)'),
        ('"pow"(%x0, %x0) : f32', "T.pow(x0, x0)"),
        ('"pow"(%two, %two) : i32', "T.pow(2, 2)"),
        ('"vectorlow"(%x6) : vector<2xf32>', 'T.vectorlow("float32x2", T.Broadcast(x0, 4))'),
        ('"vectorlow"(%x6) : f32', 'T.call_intrin("float32", "tir.vectorlow", T.Broadcast(x0, 4))'),
        (
            '"vectorcombine"(%x6, %x6) : vector<8xf32>',
            'T.vectorcombine("float32x8", T.Broadcast(x0, 4), T.Broadcast(x0, 4))',
        ),
        ('"type_annotation"() : f16', 'T.type_annotation("float16")'),
        ('"type_annotation"() : none', 'T.call_intrin("void", "tir.type_annotation")'),
        ('"undef"() : i32', "T.undef()"),
        ('"undef"() : i64', 'T.call_intrin("int64", "tir.undef")'),
        ('"assume"(%x5) : i1', "T.assume(x5)"),
        ('"address_of"(%a) : !tir.handle<f32>', "T.address_of(A[0])"),
        ('"nonsense"(%x0) : !tir.handle', 'T.call_intrin("handle", "tir.nonsense", x0)'),
    ],
)
def test_a_name_is_called_where_it_says_all(call: str, text: str) -> None:
    before = "%two = tir.const 2 : i32\n%zero = tir.const 0 : i32\n%a = tir.load %A[%zero] : f32"
    result = call.rsplit(" : ")[-1]
    module = _module(before, f"%0 = tir.call_intrin {call}", f"tir.evaluate %0 : {result}")
    assert print_script(module).splitlines()[-1].strip() == text
    checks.texts(module)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('tir.call_intrin "exp"(%x0) : index', "a call gives a data type, a handle or nothing, not index"),
        ('tir.call_intrin "exp"(%x0) : !tir.handle<f32>', "a call gives a data type, a handle or nothing"),
        ('tir.call_extern "f"(%x0) : tensor<4xf32>', "a call gives a data type, a handle or nothing"),
        ('tir.call_intrin "dp4a"(%x2, %x2, %x2) : i32', "'dp4a' is for other devices"),
        ('tir.device_call "dp4a"(%x2, %x2, %x2) : i64', "'dp4a' gives i32, not i64"),
        ('tir.device_call "exp"(%x0) : f32', "'exp' is no intrinsic of a device"),
    ],
)
def test_results_that_no_text_can_say_are_refused(call: str, message: str) -> None:
    with pytest.raises((TiraxError, DiagnosticException), match=message):
        _module(f"%0 = {call}")


def test_an_address_is_of_its_element() -> None:
    load = "%zero = tir.const 0 : i64\n%a = tir.load %A[%zero] : f32"
    with pytest.raises(TiraxError, match=r"the address is !tir\.handle<f32>, not !tir\.handle<i8>"):
        _module(load, '%0 = tir.call_intrin "address_of"(%a) : !tir.handle<i8>')


def test_the_first_argument_of_an_llvm_intrinsic_may_be_a_number_without_sign() -> None:
    checks.texts(
        _module("%n = tir.const 1 : ui32", '%0 = tir.call_llvm_intrin "llvm.ctpop"(%n) : i32', "tir.evaluate %0 : i32")
    )


@pytest.mark.parametrize(
    "lines",
    [
        "%0 = sym.value 3 : i64\n%1 = tir.const 1 : i64\n%2 = tir.add %0, %1 : i64\ntir.evaluate %2 : i64",
        "%0 = sym.value 0 : i32\ntir.evaluate %0 : i32",
        "%0 = sym.value 2 : i64\n%1 = sym.value n\n%2 = tir.mul %1, %0 : i64\ntir.evaluate %2 : i64",
    ],
)
def test_the_value_of_a_symbolic_constant_comes_back(lines: str) -> None:
    checks.texts(_module(lines))
