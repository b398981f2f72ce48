"""Operators without a converter run in PyTorch: results, symbolic sizes, complex numbers, files, refusals."""

from __future__ import annotations

import pickle
import warnings

import pytest

torch = pytest.importorskip("torch")

import tirax  # noqa: E402
from tirax.diagnostics import DTypeError, TiraxError  # noqa: E402
from tirax.frontend.importing.errors import ModelError, UnsupportedOperators  # noqa: E402
from tirax.frontend.importing.report import FallbackWarning  # noqa: E402
from tirax.frontend.torch.exported_program import coverage_of, from_exported_program  # noqa: E402
from tirax.frontend.torch.table import CONVERTERS  # noqa: E402
from tirax.runtime.errors import NameLookupError  # noqa: E402
from tirax.runtime.registry import get_global_func  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")


@torch.library.custom_op("tirax_tests::factors", mutates_args=())
def factors(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    h, tau = torch.geqrf(x)
    return h.contiguous(), tau


@factors.register_fake
def _(x):
    return torch.empty_like(x), x.new_empty(x.shape[:-1])


class Factor(torch.nn.Module):
    def forward(self, x):
        return factors(x)[0]


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("weight", torch.randn(5, dtype=torch.complex64))

    def forward(self, x):
        return self.function(x, self)


def spectrum(x, model):
    values, vectors = torch.linalg.eig(torch.complex(x, x.mT))
    return torch.view_as_real(vectors * (values * model.weight).exp() @ torch.linalg.inv(vectors)).sum(-1) + x


@torch.library.custom_op("tirax_tests::positive", mutates_args=())
def positive(x: torch.Tensor) -> torch.Tensor:
    if not (x > 0).any():
        raise RuntimeError("no number is positive")
    return x[x > 0]


@positive.register_fake
def _(x):
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


def rows(*shape, dtype=torch.float32):
    x = torch.linspace(-2, 3, int(torch.tensor(shape).prod())).reshape(shape) * 7 % 3
    return x.to(dtype)


CASES = {
    "an operator of ones own": (lambda x, _: factors(x), (4, 4), {"tirax_tests.factors.default"}),
    "a result that others use": (lambda x, _: factors(x)[0].relu() + 1, (4, 4), {"tirax_tests.factors.default"}),
    "complex results and arguments": (spectrum, (5, 5), {"aten.linalg_eig.default", "aten.linalg_inv.default"}),
    "a size that data says": (lambda x, _: positive(x) * 2, (20,), {"tirax_tests.positive.default"}),
    "constants of all kinds": (lambda x, _: torch.histogram(x, 5, range=(-1.0, 2.0)), (25,), None),
    "a list of tensors": (lambda x, _: torch.block_diag(x, x + 1), (2, 3), None),
}


def compiled(function, x, **options):
    with pytest.warns(FallbackWarning, match="run in PyTorch"):
        return tirax.compile(Model(function).eval(), x, **options)


@pytest.mark.parametrize("case", CASES)
def test_pytorch_computes_what_tirax_has_no_code_for(case):
    function, shape, operators = CASES[case]
    x = rows(*shape)
    model = Model(function).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        f = tirax.compile(model, x)
    if operators is not None:
        assert {name.removeprefix("torch.ops.") for name in f.fallbacks} == operators
    torch.testing.assert_close(f(x), model(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_sizes_stay_symbolic(count):
    model = Model(lambda x, _: torch.linalg.eig(torch.complex(x, x))[0].abs().sum(-1)[:, None, None] + x).eval()
    with pytest.warns(FallbackWarning):
        f = tirax.compile(model, rows(3, 5, 5), dynamic_shapes={"x": {0: "batch"}})
    assert f.outputs == {"": "float32[batch, 5, 5]"}
    x = rows(count, 5, 5)
    torch.testing.assert_close(f(x), model(x), rtol=1e-4, atol=1e-4)


def test_a_saved_model_finds_the_operators_again(tmp_path):
    f = compiled(lambda x, _: factors(x)[1], rows(4, 4))
    f.save(tmp_path / "f.tirax")
    for g in (tirax.load(tmp_path / "f.tirax"), pickle.loads(pickle.dumps(f))):  # noqa: S301
        assert g.fallbacks == ["torch.ops.tirax_tests.factors.default"]
        torch.testing.assert_close(g(rows(4, 4)), factors(rows(4, 4))[1])


def test_a_library_says_what_keeps_it_from_shipping(tmp_path):
    f = compiled(lambda x, _: factors(x)[1], rows(4, 4))
    with pytest.raises(TiraxError, match=r"tirax_tests\.factors\.default"):
        f.export_library(tmp_path / "f.so")


def test_the_profile_names_the_operator():
    f = compiled(lambda x, _: factors(x)[1], rows(4, 4))
    assert "factors" in str(f.profile(rows(4, 4)))


def test_purists_get_an_error():
    with pytest.raises(UnsupportedOperators, match="factors"):
        tirax.compile(Factor(), rows(4, 4), fallback="error")
    program = torch.export.export(Factor(), (rows(4, 4),))
    with pytest.raises(UnsupportedOperators):
        from_exported_program(program)
    with pytest.raises(TiraxError, match="unknown fallback 'numpy'"):
        from_exported_program(program, fallback="numpy")
    assert coverage_of(program).unsupported


def test_errors_of_pytorch_reach_the_caller():
    f = compiled(lambda x, _: positive(x), rows(4, 4))
    with pytest.raises(RuntimeError, match="no number is positive"):
        f(torch.zeros(4, 4))


def test_an_operator_that_this_version_lacks():
    with pytest.raises(NameLookupError, match=r"has no operator aten\.no_such\.default"):
        get_global_func('torch.ops.aten.no_such.default([{"tensor": 0}])')


def test_a_decomposition_that_cannot_be_traced_is_left_out(monkeypatch):
    def fails(*_):
        raise RuntimeError("cannot be traced")

    monkeypatch.setitem(torch._decomp.decomposition_table, torch.ops.tirax_tests.factors.default, fails)
    program = torch.export.export(Factor().eval(), (rows(4, 4),))
    with pytest.raises(UnsupportedOperators):
        from_exported_program(program)
    with pytest.warns(FallbackWarning):
        f = tirax.compile(program)
    torch.testing.assert_close(f(rows(4, 4)), factors(rows(4, 4))[0])


def test_what_a_converter_refuses_is_left_to_pytorch():
    def refuses(*_):
        raise DTypeError("no such dtype")

    with CONVERTERS.added("gelu", refuses):
        f = compiled(lambda x, _: torch.nn.functional.gelu(x) + 1, rows(3, 4))
        with pytest.raises(ModelError, match="no such dtype"):
            from_exported_program(torch.export.export(torch.nn.GELU(), (rows(3, 4),)))
    assert [name.removeprefix("torch.ops.") for name in f.fallbacks] == ["aten.gelu.default"]
    torch.testing.assert_close(f(rows(3, 4)), torch.nn.functional.gelu(rows(3, 4)) + 1)
