"""Tensors of PyTorch at every door: right values, or an error that says what the tensor is and what to do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the tensors are PyTorch's")

from tirax import tvm_api as tvm  # noqa: E402
from tirax.diagnostics import TiraxError, UnsupportedError  # noqa: E402
from tirax.driver.build import build  # noqa: E402
from tirax.frontend.torch.tensors import array_of  # noqa: E402
from tirax.runtime import array, empty, from_dlpack  # noqa: E402
from tirax.runtime.errors import ArgumentError, DeviceError  # noqa: E402
from tirax.tvm_api.script import from_source  # noqa: E402

PROGRAM = """
from tvm.script import ir as I, relax as R
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        return R.add(x, R.const(0.0))
"""
NUMBERS = torch.tensor([1 + 2j, 3 + 4j])


class Subclass(torch.Tensor):
    """A tensor that behaves as one."""


class Wrapper(torch.Tensor):
    """A tensor without elements in memory."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(func)


def fake() -> torch.Tensor:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(2)


def masked() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.masked import masked_tensor

        return masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))


def nested() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(1)])


def inference() -> torch.Tensor:
    with torch.inference_mode():
        return torch.tensor([1.0, 2.0])


def quantized() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)


# How a tensor is made, and its elements; or where there are none a part of the message.
KINDS = {
    "negative bit": (lambda: NUMBERS.conj().imag, [-2, -4]),
    "negative bit, expanded": (lambda: NUMBERS.conj().imag[:1].expand(3), [-2, -2, -2]),
    "negative bit, a slice": (lambda: torch._neg_view(torch.arange(6.0))[1::2], [-1, -3, -5]),
    "real part of conjugates": (lambda: NUMBERS.conj().real, [1, 3]),
    "plain subclass": (lambda: torch.tensor([1.0, 2.0]).as_subclass(Subclass), [1, 2]),
    "not contiguous": (lambda: torch.arange(6.0)[::2], [0, 2, 4]),
    "a column": (lambda: torch.arange(6.0).reshape(3, 2)[:, 1], [1, 3, 5]),
    "with an offset": (lambda: torch.arange(6.0)[2:5], [2, 3, 4]),
    "expanded": (lambda: torch.tensor([7.0]).expand(4), [7, 7, 7, 7]),
    "overlapping": (lambda: torch.arange(5.0).as_strided((2, 3), (1, 1)).reshape(6), [0, 1, 2, 1, 2, 3]),
    "strides of 0": (lambda: torch.arange(3.0).as_strided((3,), (0,), 2), [2, 2, 2]),
    "empty": (lambda: torch.ones(0), []),
    "of inference": (inference, [1, 2]),
    "conjugate bit": (lambda: NUMBERS.conj(), ""),
    "complex": (lambda: NUMBERS, ""),
    "meta": (lambda: torch.ones(2, device="meta"), "meta"),
    "sparse COO": (lambda: torch.tensor([1.0, 0.0]).to_sparse(), "not dense"),
    "sparse CSR": (lambda: torch.eye(2).to_sparse_csr(), "not dense"),
    "sparse CSC": (lambda: torch.eye(2).to_sparse_csc(), "not dense"),
    "sparse BSR": (lambda: torch.eye(2).to_sparse_bsr((1, 1)), "not dense"),
    "nested": (nested, "not dense"),
    "quantized": (quantized, "quantized"),
    "fake": (fake, "no memory"),
    "fake on another device": (lambda: fake().to("meta"), "meta"),
    "wrapper": (lambda: Wrapper(torch.ones(2)), ""),
    "masked": (masked, ""),
    "functional": (lambda: torch._to_functional_tensor(torch.ones(2)), "no memory"),
}
if torch.backends.mkldnn.is_available():
    KINDS["oneDNN"] = (lambda: torch.ones(2, 2).to_mkldnn(), "not dense")
DOORS = {
    "call": lambda f: f,
    "array": lambda _: array,
    "from_dlpack": lambda _: from_dlpack,
    "copyfrom": lambda _: lambda t: empty((2,) if t.is_nested else tuple(t.shape), "float32").copyfrom(t),
    "const": lambda _: lambda t: tvm.relax.const(t).data,
    "weights": lambda _: array_of,
}


@pytest.fixture(scope="module")
def function():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build(from_source(PROGRAM))["main"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_kinds_at_doors(kind, door, function):
    make, expected = KINDS[kind]
    enter, tensor = DOORS[door](function), make()
    if isinstance(expected, str):
        with pytest.raises(TiraxError) as caught:
            enter(tensor)
        assert expected in str(caught.value)
    else:
        np.testing.assert_array_equal(np.asarray(enter(tensor)), np.array(expected, np.float32))


# Dtypes: what the runtime has, and what it has not.
@pytest.mark.parametrize("door", ["array", "from_dlpack", "weights"])
@pytest.mark.parametrize("name", ["bool", "uint8", "uint16", "uint64", "int8", "float16", "bfloat16", "float64"])
def test_dtypes(name, door, function):
    tensor = torch.tensor([0, 1, 1]).to(getattr(torch, name))
    actual = DOORS[door](function)(tensor)
    assert str(actual.dtype) == name
    np.testing.assert_array_equal(np.asarray(actual).astype(np.float64), [0, 1, 1])
    if name in ("bfloat16", "float64", "int8"):
        negative = np.asarray(DOORS[door](function)(torch._neg_view(tensor)))
        np.testing.assert_array_equal(negative.astype(np.float64), [0, -1, -1])


@pytest.mark.parametrize("door", DOORS)
def test_gradients(door, function):
    """A call does not follow gradients, and says so; weights are read as they are."""
    for tensor in (
        torch.ones(2, requires_grad=True),
        2 * torch.ones(2, requires_grad=True),
        torch.nn.Parameter(torch.ones(2)),
    ):
        if door == "weights":
            assert array_of(tensor).shape == (2,)
        else:
            with pytest.raises(ArgumentError, match="detach"):
                DOORS[door](function)(tensor)


def test_a_resolved_tensor_is_not_written():
    """What is written into a copy would be lost."""
    view = from_dlpack(torch._neg_view(torch.ones(2)))
    assert not view.flags.writeable
    with pytest.raises(ArgumentError, match="read-only"):
        view.copyfrom(np.zeros(2, np.float32))
    plain = torch.ones(2)
    from_dlpack(plain).copyfrom(np.zeros(2, np.float32))
    assert plain.tolist() == [0, 0]


def test_results_outlive_their_arguments(function):
    results = [function(torch.full((1000,), float(i))[::2]) for i in range(20)]
    assert [float(r[-1]) for r in results] == list(range(20))


def test_messages_name_the_tensor(function):
    for kind in (DeviceError, ArgumentError):
        with pytest.raises(kind, match="argument 0 'x'"):
            function(torch.ones(2, device="meta"))
    with pytest.raises(UnsupportedError, match="the tensor 'layer.weight'"):
        array_of(torch.ones(2, device="meta"), "layer.weight")
