"""Which graphs are called without AOTAutograd's wrappers, and that nothing changes by it."""

from types import BuiltinFunctionType

import pytest

torch = pytest.importorskip("torch", reason="models are PyTorch's")

from torch import nn  # noqa: E402

from tirax.frontend.torch.compile import tirax  # noqa: E402


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


def calls(model, *inputs, **options):
    """What TorchDynamo calls in the place of each graph; results are compared with eager."""
    backends = []

    def backend(graph_module, example_inputs):
        backends.append(tirax(graph_module, example_inputs, options=options))
        return backends[-1]

    copies = [x.clone() for x in inputs]
    outputs = torch.compile(model, backend=backend, dynamic=False)(*copies)
    torch.testing.assert_close(outputs, model(*inputs))
    torch.testing.assert_close(copies, list(inputs))
    return backends


def is_direct(call):
    return isinstance(call, BuiltinFunctionType)


@pytest.mark.parametrize("freeze", [False, True])
def test_a_model_without_gradients_is_one_native_call(freeze):
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 10))
    with torch.no_grad():
        (call,) = calls(model, torch.randn(3, 20), freeze=freeze)
    assert is_direct(call)


def test_tensors_without_gradients_are_enough():
    (call,) = calls(lambda x, y: (x @ y, x + 1), torch.randn(3, 3), torch.randn(3, 3))
    assert is_direct(call)


def changes(x):
    x.mul_(2)
    return x + 1


@pytest.mark.parametrize(
    "function",
    [changes, lambda x: (x.view(-1), x + 1), lambda x: ((y := x + 1), y.t())],
    ids=["changes its input", "returns a view of its input", "returns a view of a result"],
)
def test_what_pytorch_has_to_do_around_a_call_is_done(function):
    (call,) = calls(function, torch.randn(2, 3))
    assert not is_direct(call)


def test_gradients_need_the_wrappers():
    model = nn.Linear(4, 4)
    x = torch.randn(2, 4)
    (call,) = calls(model, x)
    assert not is_direct(call)


def test_autocast_is_in_the_graph_itself():
    def cast(x, y):
        with torch.autocast("cpu", torch.bfloat16):
            return x @ y

    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        (call,) = calls(cast, torch.ones(2, 2), torch.ones(2, 2))
    assert is_direct(call)


def test_one_tensor_passed_twice():
    x = torch.randn(3, 3)
    compiled = torch.compile(lambda a, b: a @ b + a, backend="tirax")
    torch.testing.assert_close(compiled(x, x), x @ x + x)
    y = torch.randn(3, 3)
    torch.testing.assert_close(compiled(x, y), x @ y + x)
