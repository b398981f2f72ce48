"""Trees of outputs, regions and transforms of functions in exported programs; what is no program."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from torch_models import agree, exported

from tirax.diagnostics import ArgumentsError, NameLookupError, UnsupportedError
from tirax.driver.build import build
from tirax.frontend.importing.errors import ModelError

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.stub import converter_stub  # noqa: E402
from tirax.frontend.torch.tensors import array_of  # noqa: E402

Pair = namedtuple("Pair", "a b")


def outputs_of(program: Any, *args: Any) -> Any:
    return build(from_exported_program(program)).jit()["main"](*args)


def test_outputs_of_every_kind() -> None:
    def model(x: Any) -> Any:
        y = x + 1
        return {"t": y, "n": None, "s": 'a\n"b"'}, Pair(x, [y, (), (3, 2.5, True, -(2**40))]), x.shape[0] * 2, None

    program = exported(model, [torch.ones(3, 2)], dynamic_shapes=(({0: torch.export.Dim.AUTO},),))
    x = np.ones((5, 2), "float32")
    t, none, s, same, y, *numbers, size, last = outputs_of(program, x)
    assert (none, s, numbers, size, last) == (None, 'a\n"b"', [3, 2.5, True, -(2**40)], 10, None)
    for value, expected in ((t, x + 1), (same, x), (y, x + 1)):
        np.testing.assert_array_equal(value, expected)


def test_attention_without_its_weights() -> None:
    layer = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(2, 3, 8)
    program = torch.export.export(layer, (x, x, x), {"need_weights": False})
    result, weights = outputs_of(program, *[x.numpy()] * 3)
    assert weights is None
    np.testing.assert_allclose(result, layer(x, x, x)[0].detach(), rtol=1e-4, atol=1e-5)


class Changing(torch.nn.Module):
    """A buffer and an input that are changed, read before and after, and returned."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("b", torch.zeros(4))

    def forward(self, x: Any) -> Any:
        before = self.b.clone()
        self.b.add_(x.sum(0))
        x.mul_(2)
        return None, before, self.b, x, self.b.view(2, 2)


def test_what_is_changed_and_returned() -> None:
    x = torch.randn(3, 4)
    program = exported(Changing(), [x.clone()])
    none, before, b, doubled, view = outputs_of(program, x.numpy())
    assert none is None and not np.any(before)
    np.testing.assert_allclose(b, x.sum(0), rtol=1e-5)
    np.testing.assert_allclose(doubled, 2 * x)
    np.testing.assert_allclose(view, x.sum(0).reshape(2, 2), rtol=1e-5)


def autocast(**options: Any) -> Any:
    def model(x: Any) -> Any:
        with torch.autocast("cpu", **options):
            y = x @ x.T
        return y.float() + 1, {"softmax": torch.softmax(y.float(), -1)}

    return model


def nested(x: Any) -> Any:
    with torch.autocast("cpu"):
        y = x @ x
        with torch.autocast("cpu", enabled=False):
            z = y.float() @ x
    with torch.no_grad():
        w = z * 2
        with torch.enable_grad():
            w = w + 1
    return y.float(), z, w


def constant_in_branch(x: Any) -> Any:
    return torch.cond(x.sum() > 0, lambda x: x + torch.tensor(1.5), lambda x: x * 2, (x,))


def vmap_of_weights(x: Any) -> Any:
    return torch.func.vmap(lambda w, y: y @ w, in_dims=(0, None))(torch.stack([x, x * 2]), x)


REGIONS = {
    "autocast off": (autocast(enabled=False), 1e-5),
    "autocast": (autocast(), 0.1),
    "autocast float16": (autocast(dtype=torch.float16), 0.02),
    "nested": (nested, 0.1),
    "vmap": (vmap_of_weights, 1e-5),
    "vmap of vmap": (lambda x: torch.func.vmap(torch.func.vmap(lambda a: a.sin() * 2))(x), 1e-5),
    "associative scan": (lambda x: torch._higher_order_ops.associative_scan(
        lambda a, b: a + b, x, 0, combine_mode="generic"), 1e-5),
    "branch": (constant_in_branch, 1e-5),
    "inference": (torch.inference_mode()(lambda x: x * 2 + 1), 1e-5),
}  # fmt: skip


@pytest.mark.parametrize("name", REGIONS)
def test_regions_and_transforms(name: str) -> None:
    model, tolerance = REGIONS[name]
    inputs = [[torch.rand(3, 3)], [torch.rand(3, 3) - 1]]
    agree(exported(model, inputs[0]), *inputs, tolerance=tolerance)


def test_padding_by_sizes() -> None:
    def model(x: Any) -> Any:
        amount = -x.shape[1] % 4
        modes = [torch.nn.functional.pad(x, (amount, 1), mode=m) for m in ("replicate", "reflect")]
        return torch.nn.functional.pad(x, (1, amount), value=2.5), torch.nn.functional.pad(x, (-1, amount)), *modes

    inputs = [[torch.randn(2, n)] for n in (5, 6, 8)]
    agree(exported(model, inputs[0], dynamic_shapes=(({1: torch.export.Dim.AUTO},),)), *inputs)


def test_inputs_that_share_memory() -> None:
    def model(x: Any, y: Any) -> Any:
        y.add_(1)
        return x + y

    base = torch.ones(3, 4)
    program = exported(model, [base, base[:]])
    with pytest.raises(UnsupportedError, match="the inputs inputs_0 and inputs_1 share memory"):
        from_exported_program(program)
    agree(exported(lambda x, y: x + y, [base, base]), [base, base * 2])
    compiled = torch.compile(model, backend="tirax")
    base, same = torch.ones(3, 4), torch.ones(3, 4)
    np.testing.assert_array_equal(compiled(base, base[1:2]), model(same, same[1:2]))
    np.testing.assert_array_equal(base, same)


VIEWS = {
    "of a result": lambda y: (y.T, [y], y.view(-1)),
    "twice": lambda y: (y.T, y.T),
    "of an input": lambda y: (y, y + 1),
    "of views": lambda y: (y[1:].T[2], y[:2], y.sum()),
    "none": lambda y: (y.T.clone(), y),
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_results_that_share_memory(name: str, grad: bool) -> None:
    """What changes one of them changes the others, as in eager PyTorch."""
    weight = torch.rand(4, 4, requires_grad=grad)

    def model(x: Any) -> Any:
        y = x if name == "of an input" else (x @ weight.detach()).sin()
        return VIEWS[name](y), (x @ weight).cos()

    def places(function: Any) -> list[int]:
        x = torch.ones(3, 4)
        result = [t.untyped_storage().data_ptr() for t in torch.utils._pytree.tree_leaves((x, function(x)))]
        return [result.index(place) for place in result]

    torch._dynamo.reset()
    assert places(torch.compile(model, backend="tirax")) == places(model)


@pytest.mark.parametrize("value", [torch.nn.Linear(2, 2), "model.pt2", None, 3, {}])
def test_what_is_no_program(value: Any) -> None:
    with pytest.raises(ArgumentsError, match="no exported program") as caught:
        from_exported_program(value)
    assert "torch.export.export" in str(caught.value)


@pytest.mark.parametrize("converters", [[], {"add.Tensor": 3}, {3: print}])
def test_what_are_no_converters(converters: Any) -> None:
    with pytest.raises(ArgumentsError, match="custom_convert_map"):
        from_exported_program(exported(lambda x: x + 1, [torch.ones(2)]), custom_convert_map=converters)


def test_a_stub_of_no_operator() -> None:
    for name in ("aten.geqrf", "aten.nothing.default", "nothing", ""):
        with pytest.raises(NameLookupError, match="unknown operator"):
            converter_stub(name)


def test_what_pytorch_cannot_write_out() -> None:
    program = exported(lambda x: torch.func.grad(lambda a: (a * a).sum())(x), [torch.ones(3)])
    with pytest.raises(ModelError, match="PyTorch cannot write out operators"):
        from_exported_program(program)


def test_tensors_without_contents() -> None:
    with pytest.raises(UnsupportedError, match="no contents"):
        array_of(torch.ones(2, device="meta"))
