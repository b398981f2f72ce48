"""Random numbers of PyTorch: each operator that draws is converted, or refused with an error that names it."""

import math
from contextlib import suppress

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="programs are PyTorch's")

from torch.nn import functional as F  # noqa: E402

from tirax.diagnostics import UnsupportedError  # noqa: E402
from tirax.driver.build import build  # noqa: E402
from tirax.frontend.importing.errors import InputError, UnsupportedOperators  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.table import lookup  # noqa: E402
from tirax.runtime import manual_seed  # noqa: E402
from tirax.runtime.errors import ArgumentError  # noqa: E402

COUNT = 50_000


class Several(torch.nn.Module):
    """The results of functions, as one program."""

    def __init__(self, functions):
        super().__init__()
        self.functions = functions

    def forward(self, *args):
        return tuple(f(*args) for f in self.functions)


def imported(functions, *args, **options):
    return from_exported_program(torch.export.export(Several(functions), args), **options)


def ones() -> torch.Tensor:
    return torch.ones(COUNT)


# A function that draws, the mean, the variance.
DRAWN = {
    "rand": (lambda x: torch.rand(COUNT), 1 / 2, 1 / 12),
    "rand of float64": (lambda x: torch.rand(COUNT, dtype=torch.float64), 1 / 2, 1 / 12),
    "rand of float16": (lambda x: torch.rand(COUNT, dtype=torch.float16), 1 / 2, 1 / 12),
    "rand_like": (lambda x: torch.rand_like(x), 1 / 2, 1 / 12),
    "randn": (lambda x: torch.randn(COUNT), 0, 1),
    "randn_like": (lambda x: torch.randn_like(x), 0, 1),
    "randint": (lambda x: torch.randint(10, (COUNT,)), 4.5, 99 / 12),
    "randint of int8": (lambda x: torch.randint(-3, 7, (COUNT,), dtype=torch.int8), 1.5, 99 / 12),
    "randint_like": (lambda x: torch.randint_like(x, 10), 4.5, 99 / 12),
    "randint_like, low": (lambda x: torch.randint_like(x, -3, 7), 1.5, 99 / 12),
    "randperm": (lambda x: torch.randperm(COUNT), (COUNT - 1) / 2, (COUNT**2 - 1) / 12),
    "normal": (lambda x: torch.normal(2.0, 3.0, (COUNT,)), 2, 9),
    "normal of a mean": (lambda x: torch.normal(2 * x, 3.0), 2, 9),
    "normal of a deviation": (lambda x: torch.normal(2.0, 3 * x), 2, 9),
    "normal of both": (lambda x: torch.normal(2 * x, 3 * x), 2, 9),
    "normal_": (lambda x: x.clone().normal_(2, 3), 2, 9),
    "uniform_": (lambda x: x.clone().uniform_(2, 5), 3.5, 9 / 12),
    "exponential_": (lambda x: x.clone().exponential_(2.0), 1 / 2, 1 / 4),
    "log_normal_": (lambda x: x.clone().log_normal_(0, 0.5), math.exp(1 / 8), math.expm1(1 / 4) * math.exp(1 / 4)),
    "geometric_": (lambda x: x.clone().geometric_(0.3), 1 / 0.3, 0.7 / 0.09),
    "cauchy_": (lambda x: x.clone().cauchy_(0, 2.0).div(2).atan(), 0, math.pi**2 / 12),
    "random_ of uint8": (lambda x: x.to(torch.uint8).random_(), 127.5, (256**2 - 1) / 12),
    "random_ of int32": (lambda x: x.to(torch.int32).random_() / 2**31, 1 / 2, 1 / 12),
    "random_ of int64": (lambda x: x.to(torch.int64).random_() / 2**63, 1 / 2, 1 / 12),
    "random_ of float32": (lambda x: x.clone().random_() / 2**24, 1 / 2, 1 / 12),
    "random_ below": (lambda x: x.clone().random_(10), 4.5, 99 / 12),
    "bernoulli": (lambda x: torch.bernoulli(0.3 * x), 0.3, 0.21),
    "bernoulli, p": (lambda x: torch.bernoulli(x, 0.3), 0.3, 0.21),
    "bernoulli_": (lambda x: x.clone().bernoulli_(0.3), 0.3, 0.21),
    "bernoulli_ of a tensor": (lambda x: x.clone().bernoulli_(torch.full((1,), 0.3)), 0.3, 0.21),
    "bernoulli_ of int32": (lambda x: x.to(torch.int32).bernoulli_(0.3), 0.3, 0.21),
    "multinomial": (lambda x: torch.multinomial(torch.tensor([1.0, 2.0, 0.0, 1.0]), COUNT, True), 1.25, 19 / 16),
    "dropout": (lambda x: F.dropout(x, 0.2), 1, 1 / 4),
    "dropout in place": (lambda x: F.dropout(x.clone(), 0.2, inplace=True), 1, 1 / 4),
    "dropout1d": (lambda x: F.dropout1d(x.reshape(1, COUNT, 1), 0.2), 1, 1 / 4),
    "dropout3d": (lambda x: F.dropout3d(x.reshape(1, COUNT, 1, 1, 1), 0.2), 1, 1 / 4),
    "native_dropout": (lambda x: torch.native_dropout(x, 0.2, True)[0], 1, 1 / 4),
    "alpha_dropout": (lambda x: F.alpha_dropout(0 * x, 0.2, True), 0, 0.3819),
    "feature_alpha_dropout": (lambda x: F.feature_alpha_dropout(0 * x.reshape(COUNT, 1), 0.2, True), 0, 0.3819),
    "rrelu": (lambda x: F.rrelu(-x, 0.1, 0.5, True), -0.3, 0.16 / 12),
}


def test_what_is_drawn_follows_its_law():
    """One program of all: mean and variance, the dtype and the shape that PyTorch's results have."""
    functions = [row[0] for row in DRAWN.values()]
    results = build(imported(functions, ones(), seed=11))["main"](ones())
    assert len(results) == len(DRAWN)
    for (name, (function, mean, variance)), actual in zip(DRAWN.items(), results, strict=True):
        own = function(ones())
        assert (actual.shape, actual.dtype.name) == (tuple(own.shape), str(own.dtype).removeprefix("torch.")), name
        values = np.asarray(actual, np.float64)
        assert abs(values.mean() - mean) < 5 * math.sqrt(variance / COUNT), name
        assert abs(values.var() / variance - 1) < 0.1, name


def test_features_are_dropped_entirely():
    def features(x):
        return F.dropout2d(x, 0.5), F.feature_alpha_dropout(x, 0.5, True)

    main = build(imported([features], torch.ones(8, 16, 3, 5), seed=1))["main"]
    for actual in main(torch.ones(8, 16, 3, 5)):
        rows = np.asarray(actual).reshape(8 * 16, -1)
        assert np.all(rows == rows[:, :1]) and 20 < np.sum(rows[:, 0] == rows[:, 0].max()) < 108


def test_dropout_off_is_the_identity():
    def off(x):
        return F.dropout(x, 0.5, False), F.dropout(x, 0.0, True), F.rrelu(x, training=False)

    mod = imported([off], torch.ones(6))
    assert mod["main"].is_pure and "random" not in str(mod)
    for actual in build(mod)["main"](torch.ones(6)):
        np.testing.assert_array_equal(actual, np.ones(6, np.float32))


def test_everything_is_dropped():
    main = build(imported([lambda x: F.dropout(x, 1.0, True)], torch.ones(6)))["main"]
    np.testing.assert_array_equal(main(torch.ones(6))[0], np.zeros(6))


def test_attention_with_dropout():
    """Weights are dropped after they add up to one: the mean of many calls is attention without dropout."""
    q, k, v = (torch.randn(1, 2, n, 4) for n in (5, 7, 7))
    main = build(imported([lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.25)], q, k, v))["main"]
    results = np.stack([np.asarray(main(q, k, v)[0]) for _ in range(400)])
    assert results.std(axis=0).min() > 0.01
    error = np.abs(results.mean(axis=0) - F.scaled_dot_product_attention(q, k, v).numpy())
    assert np.all(error < 6 * results.std(axis=0) / 20)


def test_recurrent_layers_with_dropout():
    lstm = torch.nn.LSTM(4, 5, 2, dropout=0.5).train()
    main = build(from_exported_program(torch.export.export(lstm, (torch.randn(6, 2, 4),))))["main"]
    x = torch.randn(6, 2, 4)
    (first, *_), (second, *_) = main(x), main(x)
    assert not np.array_equal(first, second)


# Seeds.


def drops(x):
    return F.dropout(x, 0.5), F.dropout(x, 0.5)


def test_calls_draw_from_the_state_of_the_runtime():
    """Each operator and each call has numbers of its own; a seed repeats them, also of another program."""
    mains = [build(imported([drops], torch.ones(64)))["main"] for _ in range(2)]
    manual_seed(7)
    first, second = mains[0](torch.ones(64)), mains[0](torch.ones(64))
    masks = [np.array(v) for v in (*first, *second)]
    assert len({m.tobytes() for m in masks}) == 4
    manual_seed(7)
    for mask, actual in zip(masks, (*mains[1](torch.ones(64)), *mains[1](torch.ones(64))), strict=True):
        np.testing.assert_array_equal(mask, actual)
    manual_seed(8)
    assert not np.array_equal(masks[0], mains[0](torch.ones(64))[0])


def test_a_fixed_seed():
    main, other = (build(imported([drops], torch.ones(64), seed=s))["main"] for s in (1, 2))
    first, again = main(torch.ones(64)), main(torch.ones(64))
    assert not np.array_equal(first[0], first[1])
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other(torch.ones(64))[0])


def test_a_seed_that_is_an_input():
    mod = imported([drops], torch.ones(64), seed="input")
    assert [p.name_hint for p in mod["main"].params][1:] == ["seed", "offset"] and mod["main"].is_pure
    main = build(mod)["main"]

    def call(seed, offset):
        return np.array(main(torch.ones(64), np.array(seed, np.int64), np.array(offset, np.int64))[0])

    np.testing.assert_array_equal(call(1, 5), call(1, 5))
    assert not np.array_equal(call(1, 5), call(2, 5)) and not np.array_equal(call(1, 5), call(1, 7))


@pytest.mark.parametrize("seed", [1.5, True, "inputs", 2**63])
def test_wrong_seeds(seed):
    with pytest.raises(InputError, match="integer of 64 bits"):
        imported([drops], torch.ones(4), seed=seed)


def test_wrong_seeds_of_the_runtime():
    for seed in (0.5, True, None, 2**63):
        with pytest.raises(ArgumentError, match="integer of 64 bits"):
            manual_seed(seed)


def test_a_library_needs_a_seed(tmp_path):
    with pytest.raises(UnsupportedError, match="relax.run.random_state") as caught:
        build(imported([drops], torch.ones(4))).export_library(tmp_path / "lib.so")
    assert 'seed="input"' in str(caught.value.hint)


# What is refused.

REFUSED = {
    "poisson": lambda x: torch.poisson(x),
    "binomial": lambda x: torch.binomial(x, x / 2),
    "_standard_gamma": lambda x: torch._standard_gamma(x),
    "_sample_dirichlet": lambda x: torch._sample_dirichlet(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_by_name(name):
    with pytest.raises(UnsupportedOperators, match=f"aten.{name}"):
        imported([REFUSED[name]], torch.ones(4))


def test_refused_in_loops():
    def loop(x):
        from torch._higher_order_ops import while_loop

        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, F.dropout(x, 0.5)), (torch.tensor(0), x))

    with pytest.raises(UnsupportedOperators, match="random numbers in a loop"):
        imported([loop], torch.ones(4))


# Operators that PyTorch tags as random and that have no row: of these an import says that they have no converter, or
# they are kernels of other devices, which no exported program of the CPU has, or what PyTorch writes out in others.
WITHOUT_ROW = """
    _cudnn_attention_backward _cudnn_attention_forward _cudnn_init_dropout_state _cudnn_rnn _efficient_attention_forward
    _fill_mem_eff_dropout_mask_ _flash_attention_forward _flash_attention_forward_no_dropout_inplace _fused_dropout
    _fused_sdp_choice _lstm_mps _nested_tensor_softmax_with_shape _scaled_dot_product_attention_math
    _scaled_dot_product_attention_math_for_mps _scaled_dot_product_cudnn_attention
    _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention
    _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention
    _scaled_dot_product_fused_attention_overrideable _triton_scaled_dot_attention miopen_rnn
    _sample_dirichlet _standard_gamma binomial poisson
"""


def random_operators():
    """The names in `aten` that PyTorch tags as random, those that change their operand by the names of the others."""
    for full in torch._C._dispatch_get_all_op_names():
        space, _, name = full.partition("::")
        operator, _, overload = name.partition(".")
        if space == "aten":
            with suppress(AttributeError, RuntimeError):
                target = getattr(getattr(torch.ops.aten, operator), overload or "default")
                if torch.Tag.nondeterministic_seeded in target.tags:
                    yield operator, overload or "default"


def test_every_random_operator_is_known():
    values = set(random_operators())
    assert len(values) > 80
    unknown = {
        f"{operator}.{overload}"
        for operator, overload in values
        if operator not in WITHOUT_ROW.split()
        and "out" not in overload.split("_")
        and not any(lookup(operator.rstrip("_") + tail, overload) for tail in ("", "_functional"))
    }
    assert unknown <= {"gru.data", "lstm.data", "rnn_relu.data", "rnn_tanh.data"}, unknown
