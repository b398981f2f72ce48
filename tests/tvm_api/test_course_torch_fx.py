"""The course's import by hand from torch.fx (seed 003) as it stands, but for the import of tvm.

Where torch is not installed, the same graphs come from a stand-in with the attributes of torch.fx that the program
reads; what is printed must be the same.
"""

from types import SimpleNamespace

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api import relax, te, topi


def te_matmul(A: te.Tensor, B: te.Tensor) -> te.Tensor:
    assert A.shape[1] == B.shape[0]
    n = A.shape[0]
    m = B.shape[1]
    k = te.reduce_axis((0, A.shape[1]), name="k")
    return te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")


def te_relu(A: te.Tensor) -> te.Tensor:
    return te.compute(A.shape, lambda i, j: te.max(A[i, j], 0), name="relu")


def map_param(param):
    return relax.const(
        param.data.cpu().numpy(), relax.TensorStructInfo(param.data.shape, "float32")
    )  # fmt: skip


def fetch_attr(fx_mod, target: str):
    """Helper function to fetch an attr"""
    target_atoms = target.split(".")
    attr_itr = fx_mod
    for i, atom in enumerate(target_atoms):
        if not hasattr(attr_itr, atom):
            raise RuntimeError(f"Node referenced nonexistant target {'.'.join(target_atoms[:i])}")
        attr_itr = getattr(attr_itr, atom)
    return attr_itr


def from_fx(fx_mod, input_shapes, call_function_map, call_module_map):
    input_index = 0
    node_map = {}
    named_modules = dict(fx_mod.named_modules())

    bb = relax.BlockBuilder()

    fn_inputs = []
    fn_output = None
    with bb.function("main"):
        with bb.dataflow():
            for node in fx_mod.graph.nodes:
                if node.op == "placeholder":
                    # create input placeholder
                    shape = input_shapes[input_index]
                    input_index += 1
                    input_var = relax.Var(node.target, relax.TensorStructInfo(shape, "float32"))
                    fn_inputs.append(input_var)
                    node_map[node] = input_var
                elif node.op == "get_attr":
                    node_map[node] = map_param(fetch_attr(fx_mod, node.target))
                elif node.op == "call_function":
                    node_map[node] = call_function_map[node.target](bb, node_map, node)
                elif node.op == "call_module":
                    named_module = named_modules[node.target]
                    node_map[node] = call_module_map[type(named_module)](bb, node_map, node, named_module)
                elif node.op == "output":
                    output = node_map[node.args[0]]
                    assert fn_output is None
                    fn_output = bb.emit_output(output)
        # output and finalize the function
        bb.emit_func_output(output, fn_inputs)
    return bb.get()


def map_matmul(bb, node_map, node):
    A = node_map[node.args[0]]
    B = node_map[node.args[1]]
    return bb.emit_te(te_matmul, A, B)


def map_relu(bb, node_map, node):
    A = node_map[node.args[0]]
    return bb.emit_te(te_relu, A)


def map_nn_linear(bb, node_map, node, nn_mod):
    x = node_map[node.args[0]]
    w = map_param(nn_mod.weight)
    if nn_mod.bias is not None:
        b = map_param(nn_mod.bias)
    y = bb.emit_te(topi.nn.dense, x, w)
    return bb.emit_te(topi.add, y, b)


def map_nn_relu(bb, node_map, node, nn_mod):
    return map_relu(bb, node_map, node)


# A stand-in for torch.fx.


class Data(np.ndarray):
    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self)


def parameter(*shape):
    values = np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)
    return SimpleNamespace(data=values.view(Data))


class Node:
    def __init__(self, op, target, *args):
        self.op, self.target, self.args = op, target, args


class Linear:
    def __init__(self, inputs, outputs):
        self.weight, self.bias = parameter(outputs, inputs), parameter(outputs)


class ReLU:
    pass


class GraphModule:
    """A graph whose nodes each take the one before, and what is named besides."""

    def __init__(self, nodes, **attributes):
        self.graph = SimpleNamespace(nodes=nodes)
        self._attributes = attributes
        vars(self).update(attributes)

    def named_modules(self):
        return self._attributes.items()


def chain(*steps):
    nodes = [Node("placeholder", "x")]
    for op, target in steps:
        weights = [Node("get_attr", "weight")] if target == "matmul" else []
        nodes += [*weights, Node(op, target, nodes[-1], *weights)]
    return [*nodes, Node("output", "output", nodes[-1])]


def run(mod, x):
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    return vm["main"](tvm.nd.array(x)).numpy()


def image(*shape):
    return np.random.default_rng(1).standard_normal(shape, dtype=np.float32)


def test_a_model_of_functions(golden):
    nodes = chain(("call_function", "matmul"), ("call_function", "relu"))
    fx_module = GraphModule(nodes, weight=parameter(128, 128))
    mod = from_fx(fx_module, [(1, 128)], {"matmul": map_matmul, "relu": map_relu}, {})
    golden("seeds/003_fx.txt", mod.script())
    assert relax.analysis.well_formed(mod)
    expected = np.maximum(image(1, 128) @ np.asarray(fx_module.weight.data), 0)
    tvm.testing.assert_allclose(run(mod, image(1, 128)), expected, rtol=1e-4, atol=1e-4)


def test_a_model_of_modules(golden):
    nodes = chain(("call_module", "linear0"), ("call_module", "relu"), ("call_module", "linear1"))
    layers = {"linear0": Linear(784, 128), "relu": ReLU(), "linear1": Linear(128, 10)}
    mod = from_fx(GraphModule(nodes, **layers), [(1, 784)], {}, {Linear: map_nn_linear, ReLU: map_nn_relu})
    golden("seeds/003_fx_mlp.txt", mod.script())
    assert relax.analysis.well_formed(mod)
    w0, b0, w1, b1 = (np.asarray(p.data) for n in ("linear0", "linear1") for p in (layers[n].weight, layers[n].bias))
    expected = np.maximum(image(1, 784) @ w0.T + b0, 0) @ w1.T + b1
    tvm.testing.assert_allclose(run(mod, image(1, 784)), expected, rtol=1e-3, atol=1e-3)


def test_what_the_graph_does_not_have():
    with pytest.raises(RuntimeError, match="nonexistant target"):
        fetch_attr(GraphModule([]), "weight")


def test_a_torch_model_of_functions(torch, golden):
    from torch import fx, nn

    class MyModel(nn.Module):
        def __init__(self):
            super(MyModel, self).__init__()  # noqa: UP008 (as the course writes it)
            self.weight = nn.Parameter(torch.randn(128, 128))

        def forward(self, x):
            x = torch.matmul(x, self.weight)
            x = torch.relu(x)
            return x

    model = MyModel()
    fx_module = fx.symbolic_trace(model)
    MyModule = from_fx(
        fx_module,
        input_shapes=[(1, 128)],
        call_function_map={
            torch.matmul: map_matmul,
            torch.relu: map_relu,
        },
        call_module_map={},
    )
    golden("seeds/003_fx.txt", MyModule.script())
    expected = model(torch.from_numpy(image(1, 128))).detach().numpy()
    tvm.testing.assert_allclose(run(MyModule, image(1, 128)), expected, rtol=1e-4, atol=1e-4)


def test_a_torch_model_of_modules(torch, golden):
    from torch import fx, nn

    class MLP(nn.Module):
        def __init__(self):
            super(MLP, self).__init__()  # noqa: UP008 (as the course writes it)
            self.linear0 = nn.Linear(784, 128, bias=True)
            self.relu = nn.ReLU()
            self.linear1 = nn.Linear(128, 10, bias=True)

        def forward(self, x):
            x = self.linear0(x)
            x = self.relu(x)
            x = self.linear1(x)
            return x

    mlp_model = MLP()
    MLPModule = from_fx(
        fx.symbolic_trace(mlp_model),
        input_shapes=[(1, 784)],
        call_function_map={},
        call_module_map={
            torch.nn.Linear: map_nn_linear,
            torch.nn.ReLU: map_nn_relu,
        },
    )
    golden("seeds/003_fx_mlp.txt", MLPModule.script())
    expected = mlp_model(torch.from_numpy(image(1, 784))).detach().numpy()
    tvm.testing.assert_allclose(run(MLPModule, image(1, 784)), expected, rtol=1e-4, atol=1e-4)
