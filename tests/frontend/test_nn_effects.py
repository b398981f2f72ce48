"""Effects: caches that decoding fills step by step, which agrees with a pass over all positions; and printing."""

import numpy as np
import pytest
from strength import only_full, thinned
from xdsl.parser import Parser

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, TiraxError, VerifyError
from tirax.frontend import nn
from tirax.ir.passes.transform import new_context
from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import relax

HEADS, SIZE, HIDDEN, INNER, VOCAB = 2, 4, 8, 12, 11
Spec = nn.spec.Tensor


class Attention(nn.Module):
    """Attention to all earlier positions; with a cache, `x` is what is new."""

    def __init__(self, cached):
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN, bias=False)
        self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)
        if cached:
            self.keys = nn.KVCache(2, [HEADS, SIZE])
            self.values = nn.KVCache(2, [HEADS, SIZE])
        self.cached = cached

    def forward(self, x, mask, total):
        length = x.shape[0]
        q, k, v = (p.reshape(length, HEADS, SIZE) for p in nn.op.split(self.qkv(x), 3, axis=-1))
        if self.cached:
            self.keys.append(k)
            self.values.append(v)
            k, v = self.keys.view(total), self.values.view(total)
        q, k, v = (p.permute_dims(1, 0, 2) for p in (q, k, v))
        scores = q @ k.permute_dims(0, 2, 1) / SIZE**0.5 + mask
        result = nn.op.softmax(scores, axis=-1) @ v
        return self.out(result.permute_dims(1, 0, 2).reshape(length, HIDDEN))


class Block(nn.Module):
    def __init__(self, cached):
        self.norm1 = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.attention = Attention(cached)
        self.norm2 = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.gate_up = nn.Linear(HIDDEN, 2 * INNER, bias=False)
        self.down = nn.Linear(INNER, HIDDEN, bias=False)

    def forward(self, x, mask, total):
        x = x + self.attention(self.norm1(x), mask, total)
        gate, up = nn.op.split(self.gate_up(self.norm2(x)), 2, axis=-1)
        return x + self.down(nn.op.silu(gate) * up)


class Model(nn.Module):
    def __init__(self, cached=True):
        self.embed = nn.Embedding(VOCAB, HIDDEN)
        self.blocks = nn.ModuleList([Block(cached) for _ in range(2)])
        self.norm = nn.RMSNorm(HIDDEN, -1, bias=False)
        self.head = nn.Linear(HIDDEN, VOCAB, bias=False)

    def forward(self, ids, mask, total):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, mask, total)
        return self.head(self.norm(x))


def spec(total="total", **options):
    inputs = {"ids": Spec(("s",), "int32"), "mask": Spec(("s", total), "float32"), "total": int}
    return {"forward": inputs | ({"$": options} if options else {})}


def weights(model, seed=0):
    rng = np.random.default_rng(seed)
    return {n: rng.standard_normal(p.shape).astype("float32") / 2 for n, p in model.named_parameters()}


def causal(new, total):
    """0 where a new position may look, far below elsewhere."""
    places = np.arange(total)[None, :] <= np.arange(total - new, total)[:, None]
    return np.where(places, 0, -1e9).astype("float32")


def machine(mod):
    verify_module(mod.op)
    return relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())


@pytest.fixture(scope="module")
def uncached():
    """The logits of a sequence by a pass over all positions, without caches."""
    model = Model(cached=False)
    values = weights(model)
    mod, _ = model.export_tvm(spec("s"))
    vm = machine(mod)

    def run(ids):
        n = len(ids)
        return vm["forward"](np.array(ids, "int32"), causal(n, n), (n,), *values.values()).numpy()

    return run


IDS = [3, 1, 4, 1, 5, 9, 2, 6]


@pytest.fixture(scope="module")
def cached():
    """The model with caches: what makes empty ones, and a step from ids, the number of all positions and caches."""
    model = Model()
    values = weights(model)
    vm = machine(model.export_tvm(spec())[0])

    def step(ids, total, states):
        logits, states = vm["forward"](
            np.array(ids, "int32"), causal(len(ids), total), (total,), *states, *values.values()
        )
        return logits.numpy(), states

    return vm["_initialize_effect"], step


@only_full
@thinned("steps", [[3, 1, 1, 1, 2], [1] * 8, [8], [5, 3]], 1)
def test_decoding_step_by_step_gives_what_one_pass_returns(uncached, cached, steps):
    initial, step = cached
    states, results, done = initial(), [], 0
    assert len(states) == 4
    for new in steps:
        logits, states = step(IDS[done : done + new], done + new, states)
        done += new
        results.append(logits)
    np.testing.assert_allclose(np.concatenate(results), uncached(IDS), rtol=1e-4, atol=1e-5)


@only_full
def test_two_sequences_have_caches_of_their_own(uncached, cached):
    initial, step = cached
    first, second = initial(), initial()
    for i in range(3):
        a, first = step(IDS[i : i + 1], i + 1, first)
        b, second = step(IDS[i + 4 : i + 5], i + 1, second)
    np.testing.assert_allclose(a[0], uncached(IDS[:3])[-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(b[0], uncached(IDS[4:7])[-1], rtol=1e-4, atol=1e-5)


@only_full
@thinned("modes", [{"effect_mode": "packed"}, {"param_mode": "packed"}, {"param_mode": "none"}], 2)
def test_how_effects_and_parameters_are_passed(uncached, modes):
    model = Model()
    model.load_state_dict(weights(model))
    compiled = model.jit(spec(**modes), out_format="numpy")
    results = []
    for done in range(1, 5):
        results.append(compiled["forward"](np.array(IDS[done - 1 : done], "int32"), causal(1, done), done))
    np.testing.assert_allclose(np.concatenate(results), uncached(IDS[:4]), rtol=1e-4, atol=1e-5)


def test_equal_caches_are_not_one():
    mod = relax.transform.EliminateCommonSubexpr()(Model().export_tvm(spec())[0])
    assert mod.script().count("attention_kv_cache_create") == 4


class Cache(nn.Module):
    def __init__(self, room=2):
        self.cache = nn.KVCache(room, [3])

    def forward(self, x, total):
        self.cache.append(x)
        return self.cache.view(total)


CACHE = {"forward": {"x": Spec(("s", 3), "float32"), "total": int}}


def test_a_cache_grows_and_what_was_seen_of_it_stays():
    compiled = Cache().jit(CACHE, out_format="numpy")
    rng = np.random.default_rng(0)
    rows, seen = np.empty((0, 3), "float32"), []
    for count in (0, 1, 1, 5, 0, 3):
        new = rng.standard_normal((count, 3)).astype("float32")
        rows = np.concatenate([rows, new])
        seen.append((compiled(new, len(rows)), rows))
    for actual, expected in seen:
        np.testing.assert_array_equal(actual, expected)


@only_full
def test_taking_rows_back(uncached, cached):
    """A step that is taken back, and a sequence begun anew, leave no trace."""
    initial, step = cached
    states = initial()
    pop, clear = (tvm.get_global_func(f"vm.builtin.attention_kv_cache_array_{name}") for name in ("popn", "clear"))
    for ids in ([7], IDS[:3]):
        _, states = step(ids, len(ids), states)
        clear(states)
    _, states = step([*IDS[:2], 7, 7], 4, states)
    pop(states, 2)
    logits, states = step(IDS[2:4], 4, states)
    np.testing.assert_allclose(logits, uncached(IDS[:4])[2:], rtol=1e-4, atol=1e-5)
    with pytest.raises(TiraxError, match="fewer rows than are to go\n.*4\n.*5"):
        pop(states, 5)


def test_a_cache_that_begins_with_rows():
    create, view = (tvm.get_global_func(f"vm.builtin.attention_kv_cache_{name}") for name in ("create", "view"))
    rows = np.arange(6, dtype="float32").reshape(2, 3)
    for count, expected in ((-1, rows), (0, rows[:0]), (1, rows[:1])):
        cache = create(rows, (4, 3), count)
        np.testing.assert_array_equal(view(cache, expected.shape), expected)
        assert repr(cache) == f"AttentionKVCache({len(expected)} rows of (3,), float32)"
    with pytest.raises(TiraxError, match="more rows than it is given"):
        create(rows, (4, 3), 3)
    with pytest.raises(ValueError, match="a cache has rows"):
        create(rows, (), 0)
    with pytest.raises(ValueError, match="rows do not fit the cache"):
        create(rows, (4, 2), 2)


def test_the_interpreter_runs_caches_too():
    from tirax.interpreter import interpret

    mod, _ = Cache().export_tvm(CACHE)
    (state,) = interpret(mod.op, "_initialize_effect", [])
    x = np.ones((2, 3), "float32")
    result, (state,) = interpret(mod.op, "forward", [x, (2,), state])
    np.testing.assert_array_equal(result, x)
    result, _ = interpret(mod.op, "forward", [x * 2, (4,), state])
    np.testing.assert_array_equal(result, np.concatenate([x, x * 2]))


def test_what_a_cache_refuses():
    compiled = Cache().jit(CACHE, out_format="numpy")
    with pytest.raises(ValueError, match="rows in the cache have another shape"):
        compiled(np.zeros((2, 3), "float32"), 3)

    class Half(Cache):
        def forward(self, x, total):
            self.cache.append(x.astype("float16"))
            return self.cache.view(total)

    with pytest.raises(DTypeError, match="expected: float32\n.*found: float16"):
        Half().export_tvm(CACHE)
    without = {"forward": CACHE["forward"] | {"$": {"effect_mode": "none"}}}
    with pytest.raises(TiraxError, match="no state of KVCache here"):
        Cache().export_tvm(without)
    half = Half()
    half.to("float16")
    assert half.cache.dtype == "float16"
    half.export_tvm(CACHE)


class Prints(nn.Module):
    def forward(self, x):
        y = x + 1.0
        nn.op.print_(y)
        nn.op.debug_func("test_nn.watch", y, 3, 2.5, "text")
        return y * 2.0


def test_printing(capsys):
    seen = []
    tvm.register_func("test_nn.watch", lambda line, *args: seen.append((line, args)), override=True)
    x = {"forward": {"x": Spec(("n",), "float32")}}
    compiled = Prints().jit(x, out_format="numpy", debug=True)
    for n in (0, 1, 3):
        np.testing.assert_array_equal(compiled(np.zeros(n, "float32")), np.full(n, 2))
        printed = capsys.readouterr().out
        assert "test_nn_effects.py:" in printed and f"shape = ({n},), dtype = float32, data =" in printed
    line, (value, *rest) = seen[-1]
    assert "test_nn_effects.py:" in line and rest == [3, 2.5, "text"]
    np.testing.assert_array_equal(value, np.ones(3))
    with pytest.raises(TiraxError, match="hint: export_tvm\\(…, debug=True\\)"):
        Prints().export_tvm(x)


@pytest.mark.parametrize("modes", [("plain", "plain"), ("packed", "packed"), ("none", "plain")])
@pytest.mark.parametrize("debug", [False, True])
def test_texts(golden, modes, debug):
    inputs = CACHE["forward"] | {"$": {"param_mode": modes[0], "effect_mode": modes[1]}}
    mod, _ = Cache().export_tvm({"forward": inputs}, debug=debug)
    verify_module(mod.op)
    golden(f"nn/cache_{'_'.join(modes)}{'_debug' * debug}.txt", mod.script())
    again = tvm.script.from_source(mod.script())
    assert tvm.ir.structural_equal(again, mod)


def test_the_call_that_changes_its_arguments():
    args = "%x: !relax.object, %y: !relax.tensor<[n], f32>"
    text = f"""
    relax.func @f({args}) -> !relax.object {{
      %z = relax.call_inplace_packed "g"(%x, %y) attributes {{inplace_indices = [0]}} : !relax.object
      relax.return %z : !relax.object
    }}"""

    def parsed(text):
        mod = Parser(new_context(), text).parse_module()
        verify_module(mod)
        return mod

    assert str(parsed(str(parsed(text)))) == str(parsed(text))
    for old, new, message in (
        ("[0]", "[2]", "inplace index 2 of a call with 2 arguments"),
        ("[0]", "[]", "needs inplace_indices"),
        ("inplace_indices = ", "indices = ", "needs inplace_indices"),
    ):
        with pytest.raises(VerifyError, match=message):
            parsed(text.replace(old, new))
