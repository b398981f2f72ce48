"""Kernels that call packed functions: what arrives, what is given back, and exceptions."""

import numpy as np
import pytest

from tirax.diagnostics import UnsupportedError
from tirax.handles.module import IRModule
from tirax.interpreter import interpret
from tirax.script import parse_source
from tirax.tvm_api import cpu, nd, register_func, relax

MODULE = """@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4,), "int32")):
        C = T.alloc_buffer((2, 2), "float64")
        for i, j in T.grid(2, 2):
            C[i, j] = T.float64(1.5)
        T.call_packed("test.packed.see", A, 3, "text", T.float32(2.5), A.data, C, T.bool(True), T.max_value("uint64"))
        for i in range(4):
            B[i] = T.call_packed("test.packed.number", B[i], i)

    @R.function
    def main(A: R.Tensor((2, 4), "float32")) -> R.Tensor((4,), "int32"):
        with R.dataflow():
            out = R.call_tir(Module.g, (A,), out_sinfo=R.Tensor((4,), "int32"))
            R.output(out)
        return out

    @T.prim_func(private=True)
    def g(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = i + 11
        Module.h(A.data, B.data)

    @T.prim_func(private=True)
    def h(A: T.Buffer((2, 4), "float32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = T.call_packed("test.packed.number", B[i], i)
"""
SEEN: list[object] = []


@register_func("test.packed.see", override=True)
def see(*args):
    SEEN.append([np.array(a) if hasattr(a, "shape") and np.ndim(a) else a for a in args])
    np.asarray(args[0])[...] *= 2


@register_func("test.packed.number", override=True)
def number(value, i):
    SEEN.append((int(value), int(i)))
    if value == 13:
        raise ValueError("thirteen")
    return int(value) * 10


@pytest.fixture
def machine():
    SEEN.clear()
    return relax.VirtualMachine(relax.build(IRModule(parse_source(MODULE))), cpu())


def check_seen():
    tensor, *rest = SEEN[0]
    np.testing.assert_array_equal(tensor, np.ones((2, 4)))
    plain = [rest[i] for i in (0, 1, 2, 5, 6)]
    assert plain == [3, "text", 2.5, True, 2**64 - 1]
    np.testing.assert_array_equal(rest[3], np.ones(8))
    np.testing.assert_array_equal(rest[4], np.full((2, 2), 1.5))
    assert SEEN[1:] == [(0, 0), (5, 1), (6, 2), (7, 3)]


def test_arguments_and_results(machine):
    a, b = nd.array(np.ones((2, 4), "float32")), nd.array(np.array([0, 5, 6, 7], "int32"))
    machine["f"](a, b)
    check_seen()
    assert type(SEEN[0][6]) is bool
    np.testing.assert_array_equal(np.asarray(a), np.full((2, 4), 2))
    np.testing.assert_array_equal(np.asarray(b), [0, 50, 60, 70])


def test_the_interpreter_calls_with_the_same():
    SEEN.clear()
    a, b = np.ones((2, 4), "float32"), np.array([0, 5, 6, 7], "int32")
    interpret(parse_source(MODULE), "f", (a, b))
    check_seen()
    np.testing.assert_array_equal(b, [0, 50, 60, 70])


def test_an_exception_ends_the_kernel_and_arrives(machine):
    a, b = nd.array(np.ones((2, 4), "float32")), nd.array(np.array([1, 13, 6, 7], "int32"))
    with pytest.raises(ValueError, match="thirteen"):
        machine["f"](a, b)
    assert SEEN[1:] == [(1, 0), (13, 1)]
    np.testing.assert_array_equal(np.asarray(b), [10, 13, 6, 7])


def test_an_exception_in_a_function_that_a_kernel_calls(machine):
    with pytest.raises(ValueError, match="thirteen"):
        machine["main"](nd.array(np.ones((2, 4), "float32")))
    assert SEEN == [(11, 0), (12, 1), (13, 2)]


def test_arguments_that_no_packed_function_can_have():
    address = 'T.call_packed("test.packed.see", T.address_of(A[0, 0]))'
    text = MODULE.replace('B[i] = T.call_packed("test.packed.number", B[i], i)', address)
    with pytest.raises(UnsupportedError, match="for the packed function 'test.packed.see'"):
        relax.build(IRModule(parse_source(text)))
