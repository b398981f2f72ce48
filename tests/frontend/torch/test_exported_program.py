"""`from_exported_program`: its IR, its results beside PyTorch's, its parameters, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from torch_models import agree, exported

from tirax.driver.build import build
from tirax.frontend.importing.errors import UnsupportedOperators
from tirax.frontend.params import detach_params

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.stub import converter_stub  # noqa: E402


class Changing(torch.nn.Module):
    """Relu in place, a buffer that is added to, a dictionary in, nested results out."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: Any, scale: Any) -> Any:
        y = self.norm(torch.relu_(self.linear(x))) + scale["a"] * x.shape[0]
        self.count.add_(1)
        return {"flat": y.view(x.shape[0] * 3), "tail": x[:-1]}, torch.ones(3) * 2.0


def test_a_small_program_is_what_tvm_writes() -> None:
    program = exported(torch.nn.Linear(4, 3), [torch.ones(2, 4)])
    text = from_exported_program(program).script(show_meta=False)
    assert [line.split(" = ")[1] for line in text.splitlines() if " = R." in line] == [
        'R.permute_dims(metadata["relax.expr.Constant"][0], axes=None)',
        'R.matmul(input, lv, out_dtype="float32")',
        'R.add(lv1, metadata["relax.expr.Constant"][1])',
    ]


def test_sizes_stay_symbolic_with_their_ranges() -> None:
    inputs = [(torch.randn(n, 4), {"a": torch.randn(1)}) for n in (5, 3, 7)]
    shapes = ({0: torch.export.Dim("n", min=3, max=64)}, {"a": None})
    program = exported(Changing(), inputs[0], dynamic_shapes=shapes)
    main = from_exported_program(program)["main"]
    (symbol,) = [str(d) for d in main.params[0].struct_info.shape.values if not isinstance(d, int)]
    assert main.script().count(f'"tir_var_upper_bound": {{"{symbol}": 64}}') == 1
    assert main.script().count(f'"tir_var_lower_bound": {{"{symbol}": 3}}') == 1
    run = build(from_exported_program(program)).jit()["main"]
    for x, scale in inputs:
        flat, tail, twos, count = run(x.numpy(), scale["a"].numpy())
        expected, twos_expected = program.module()(x, scale)
        np.testing.assert_allclose(flat, expected["flat"].detach(), rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(tail, expected["tail"])
        np.testing.assert_array_equal(twos, twos_expected)
        np.testing.assert_array_equal(count, np.ones(3, "float32"))


def test_a_size_that_only_occurs_in_an_expression() -> None:
    shapes = ({0: 2 * torch.export.Dim("n")}, None)
    inputs = [(torch.randn(n), torch.randn(3)) for n in (6, 8)]
    agree(exported(lambda x, y: x.reshape(-1, 2) + y.sum(), inputs[0], dynamic_shapes=(shapes,)), *inputs)


def test_weights_as_parameters() -> None:
    layer = torch.nn.Linear(4, 3)
    mod = from_exported_program(exported(layer, [torch.ones(2, 4)]), keep_params_as_input=True)
    mod, params = detach_params(mod)
    assert [p.name_hint for p in mod["main"].params] == ["input", "p_weight", "p_bias"]
    assert mod["main"].attrs["num_input"] == 1
    for value, weight in zip(params["main"], (layer.weight, layer.bias), strict=True):
        np.testing.assert_array_equal(value, weight.detach())


def test_outputs_alone_or_created_after_the_block() -> None:
    program = exported(lambda x: (x + 1,), [torch.ones(2)])
    one = from_exported_program(program, unwrap_unit_return_tuple=True)["main"]
    assert str(one.ret_struct_info) == "!relax.tensor<[2], f32>"
    outputs = from_exported_program(program, no_bind_return_tuple=True)["main"].body.blocks[0].bindings
    assert [b.var.name_hint for b in outputs] == ["lv", "gv"]


def test_all_unsupported_operators_at_once_with_their_places() -> None:
    class Decomposed(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.hash_tensor(x), torch._add_relu(x, x)

    program = exported(Decomposed(), [torch.ones(3, 3)])
    with pytest.raises(UnsupportedOperators) as caught:
        from_exported_program(program)
    assert caught.value.operators == ("aten._add_relu.Tensor", "aten.hash_tensor.default")
    assert all(f"{__file__}:" in note for note in caught.value.notes)


def test_a_stub_of_a_converter() -> None:
    text = converter_stub("aten.geqrf.default")
    assert text.startswith("def convert_geqrf(node, reader):")
    assert "    x, = reader.retrieve_args(node)" in text
    assert 'custom_convert_map={"geqrf.default": convert_geqrf}' in text


def test_a_converter_of_ones_own() -> None:
    def convert(node: Any, reader: Any) -> Any:
        x, _ = reader.retrieve_args(node)
        return reader.block_builder.emit(x + 1.0)

    program = exported(lambda x: torch._add_relu(x, x).relu(), [torch.ones(3, 3)])
    mod = from_exported_program(program, custom_convert_map={"_add_relu.Tensor": convert})
    np.testing.assert_array_equal(build(mod).jit()["main"](np.ones((3, 3), "float32"))[0], np.full((3, 3), 2.0))


def test_complex_numbers_are_refused_with_the_reason() -> None:
    class Spectrum(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.linalg.inv(torch.complex(x, x)).abs()

    with pytest.raises(UnsupportedOperators, match=r"no converter is there for complex numbers"):
        from_exported_program(exported(Spectrum(), [torch.ones(4, 4)]))


def test_one_memory_for_weights() -> None:
    layer = torch.nn.Linear(4, 3)
    mod = from_exported_program(exported(layer, [torch.ones(2, 4)]))
    constants = [b.value.args[0] for b in mod["main"].body.blocks[0].bindings[:1]]
    with torch.no_grad():
        layer.weight.fill_(7.0)
    assert np.all(constants[0].data.numpy() == 7.0)


def test_sizes_that_data_says() -> None:
    inputs = [(torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]),), (torch.zeros(2, 3),)]
    agree(exported(lambda x: (x.nonzero(), torch.masked_select(x, x > 1)), inputs[0]), *inputs)
