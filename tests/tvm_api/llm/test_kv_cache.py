"""TVM's paged KV cache from the export to numbers, beside attention in numpy over all that a sequence has."""

import itertools

import numpy as np
import pytest
from strength import only_full, thinned

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.llm.cache import SequenceError
from tirax.tvm_api import relax, tir
from tirax.tvm_api.relax.frontend import nn
from tirax.tvm_api.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from tirax.tvm_api.runtime import ShapeTuple

pytestmark = pytest.mark.thinned
LAYERS, HEADS, KV_HEADS, SIZE, SCALE = 2, 4, 2, 8, 0.3
ALL = HEADS + 2 * KV_HEADS
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LONG = {"rope_type": "longrope", "max_position_embeddings": 64, "original_max_position_embeddings": 16}
FACTORS = np.array([1.0, 1.5, 2.0, 4.0], np.float32)


class Model(nn.Module):
    def __init__(self, mode=RopeMode.NORMAL, scaling=None, dtype="float32", rotary=SIZE, **others):
        self.mode, self.scaling, self.dtype, self.rotary, self.others = mode, scaling or {}, dtype, rotary, others

    def create(self, batch: tir.Var, total: tir.Var, chunk: tir.Var, page: tir.Var):
        long = self.scaling.get("rope_type") == "longrope"
        options = {
            "attn_kind": "mha", "max_batch_size": batch, "max_total_seq_len": total, "prefill_chunk_size": chunk,
            "page_size": page, "support_sliding_window": 0, "layer_partition": relax.ShapeExpr([0, LAYERS]),
            "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS,
            "qk_head_dim": SIZE, "v_head_dim": SIZE, "mla_original_qk_head_dim": 0, "mla_original_v_head_dim": 0,
            "rope_mode": self.mode, "rope_scale": 1, "rope_theta": 100, "rope_scaling": self.scaling,
            "rope_ext_factors": relax.const(FACTORS) if long else relax.PrimValue(0), "rotary_dim": self.rotary,
            "enable_disaggregation": False, "dtype": self.dtype, "target": tvm.target.Target("llvm"),
        }  # fmt: skip
        return TIRPagedKVCache(**{**options, **self.others})

    def attend(self, qkv: nn.Tensor, cache: PagedKVCache):
        b, s, _, _ = qkv.shape
        out = [cache.attention_with_fused_qkv(layer, qkv * (layer + 1.0), HEADS, SCALE) for layer in range(LAYERS)]
        return (*out, cache.get_query_positions(b * s))

    def built(self):
        plain = {"param_mode": "none", "effect_mode": "none"}
        qkv = nn.spec.Tensor(["b", "s", ALL, SIZE], self.dtype)
        mod, _ = self.export_tvm(
            {
                "create": {"batch": int, "total": int, "chunk": int, "page": int, "$": plain},
                "attend": {"qkv": qkv, "cache": nn.spec.Object(object_type=PagedKVCache), "$": plain},
            }
        )
        return relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())


def packed(name, *args):
    return tvm.get_global_func(f"vm.builtin.{name}")(*args)


def created(vm, batch=4, total=64, chunk=32, page=4):
    return vm["create"](*(ShapeTuple([n]) for n in (batch, total, chunk, page)))


def frequencies(scaling):
    plain = 100.0 ** -(np.arange(0, SIZE, 2) / SIZE)
    if scaling.get("rope_type") == "longrope":
        return plain / FACTORS
    if scaling.get("rope_type") == "llama3":
        turns = 32 / (2 * np.pi / plain)
        smooth = np.clip((turns - 1.0) / 3.0, 0, 1)
        return plain * ((1 - smooth) / 4.0 + smooth)
    return plain


def turned(x, scaling, rotary):
    """Rotate (positions, heads, size)."""
    angle = np.arange(len(x))[:, None, None] * frequencies(scaling)[: rotary // 2]
    if rotary != SIZE:
        angle = np.arange(len(x))[:, None, None] * 100.0 ** -(np.arange(0, rotary, 2) / rotary)
    planes = rotary // 2
    is_pairs = scaling.get("rope_type") == "gptj"
    magnitude = np.sqrt(1 + np.log(4) / np.log(16)) if scaling.get("rope_type") == "longrope" else 1.0
    first = slice(0, rotary, 2) if is_pairs else slice(0, planes)
    second = slice(1, rotary, 2) if is_pairs else slice(planes, rotary)
    out = x.copy()
    cosine, sine = np.cos(angle) * magnitude, np.sin(angle) * magnitude
    out[..., first] = x[..., first] * cosine - x[..., second] * sine
    out[..., second] = x[..., second] * cosine + x[..., first] * sine
    return out


def attention(rows, model):
    """The attention of each position of a sequence to those up to it."""
    x = rows.astype(np.float64)
    q, k, v = x[:, :HEADS], x[:, HEADS : HEADS + KV_HEADS], x[:, HEADS + KV_HEADS :]
    if model.mode != RopeMode.NONE:
        q, k = turned(q, model.scaling, model.rotary), turned(k, model.scaling, model.rotary)
    k, v = (np.repeat(part, HEADS // KV_HEADS, axis=1) for part in (k, v))
    scores = np.einsum("ihd,jhd->hij", q, k) * SCALE
    scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,jhd->ihd", weights / weights.sum(-1, keepdims=True), v)


class Beside:
    """A cache, and what its sequences have."""

    def __init__(self, model, seed=0):
        self.model, self.vm = model, model.built()
        self.cache, self.rows, self.random = created(self.vm), {}, np.random.default_rng(seed)

    def add(self, sequence):
        packed("kv_state_add_sequence", self.cache, sequence)
        self.rows[sequence] = np.zeros((0, ALL, SIZE), self.model.dtype)

    def fork(self, parent, child, position):
        packed("kv_state_fork_sequence", self.cache, parent, child, position)
        self.rows[child] = self.rows[parent][: len(self.rows[parent]) if position == -1 else position]

    def pop(self, sequence, count):
        packed("kv_state_popn", self.cache, sequence, count)
        self.rows[sequence] = self.rows[sequence][: len(self.rows[sequence]) - count]

    def step(self, lengths):
        """Append positions, and compare what they give in every layer."""
        new = {s: self.random.normal(size=(n, ALL, SIZE)).astype(self.model.dtype) for s, n in lengths.items()}
        starts = {s: len(self.rows[s]) for s in lengths}
        packed("kv_state_begin_forward", self.cache, ShapeTuple(list(lengths)), ShapeTuple(list(lengths.values())))
        qkv = np.concatenate([*new.values()])
        qkv = qkv[:, None] if set(lengths.values()) == {1} else qkv[None]
        *layers, positions = self.vm["attend"](tvm.nd.array(qkv), self.cache)
        packed("kv_state_end_forward", self.cache)
        expected = [np.arange(starts[s], starts[s] + n) for s, n in lengths.items()]
        np.testing.assert_array_equal(positions.numpy(), np.concatenate(expected))
        for sequence in lengths:
            self.rows[sequence] = np.concatenate([self.rows[sequence], new[sequence]])
        exact = {"rtol": 2e-5, "atol": 2e-5} if self.model.dtype == "float32" else {"rtol": 2e-2, "atol": 2e-2}
        for layer, found in enumerate(layers):
            every = [attention(self.rows[s] * (layer + 1), self.model)[starts[s] :] for s in lengths]
            np.testing.assert_allclose(found.numpy().reshape(-1, HEADS, SIZE), np.concatenate(every), **exact)


MODELS = {
    "plain": {"mode": RopeMode.NONE},
    "rotated": {},
    "inline": {"mode": RopeMode.INLINE},
    "partly": {"rotary": 4},
    "half": {"dtype": "float16"},
    "gptj": {"scaling": {"rope_type": "gptj"}},
    "llama3": {"scaling": LLAMA3},
    "longrope": {"scaling": LONG},
}


@thinned("name", MODELS, 1)
def test_life_of_a_cache(name):
    beside = Beside(Model(**MODELS[name]))
    beside.add(0)
    beside.step({0: 5})
    beside.step({0: 3})  # a prompt in chunks
    beside.step({0: 1})
    beside.add(7)
    beside.step({7: 6, 0: 1})  # of differing lengths
    beside.step({0: 1, 7: 1})
    beside.fork(0, 1, -1)
    beside.fork(7, 2, 3)
    beside.step({0: 1, 1: 1, 2: 1})
    beside.pop(0, 4)
    beside.step({0: 2, 7: 1})
    beside.step({1: 1})
    assert packed("attention_kv_cache_get_total_sequence_length", beside.cache) == sum(map(len, beside.rows.values()))
    packed("kv_state_remove_sequence", beside.cache, 7)
    beside.step({2: 2})
    packed("kv_state_clear", beside.cache)
    assert packed("attention_kv_cache_empty", beside.cache)
    assert packed("attention_kv_cache_get_num_available_pages", beside.cache) == 64 // 4 + 1


@pytest.mark.thinned
@only_full
@pytest.mark.parametrize("seed", range(4))
def test_random_lives(seed):
    beside = Beside(Model(), seed)
    random = np.random.default_rng(100 + seed)
    names = itertools.count(10)
    for _ in range(25):
        known = list(beside.rows)
        kind = random.integers(4)
        if not known or kind == 0 and len(known) < 3:
            beside.add(next(names))
        elif kind == 1 and len(known) < 3:
            parent = int(random.choice(known))
            beside.fork(parent, next(names), int(random.integers(0, len(beside.rows[parent]) + 1)))
        elif kind == 2:
            sequence = int(random.choice(known))
            beside.pop(sequence, int(random.integers(0, len(beside.rows[sequence]) + 1)))
        else:
            beside.step({int(s): int(random.integers(1, 4)) for s in random.permutation(known)})
        for sequence in [s for s, rows in beside.rows.items() if len(rows) > 12]:
            packed("kv_state_remove_sequence", beside.cache, sequence)
            del beside.rows[sequence]


@pytest.fixture(scope="module")
def vm():
    return Model(scaling={"rope_type": "gptj"}).built()


def test_keys_and_values_are_read_back(vm):
    cache = created(vm)
    packed("kv_state_add_sequence", cache, 3)
    packed("kv_state_begin_forward", cache, ShapeTuple([3]), ShapeTuple([6]))
    qkv = np.random.default_rng(1).normal(size=(1, 6, ALL, SIZE)).astype("float32")
    vm["attend"](tvm.nd.array(qkv), cache)
    keys, values = (tvm.nd.empty((LAYERS, 4, KV_HEADS, SIZE)) for _ in range(2))
    packed("attention_kv_cache_debug_get_kv", cache, 3, 1, 5, keys, values)
    key = turned(qkv[0, :, HEADS : HEADS + KV_HEADS], {"rope_type": "gptj"}, SIZE)[1:5]
    np.testing.assert_allclose(keys.numpy(), np.stack([key, 2 * key]), rtol=1e-5, atol=1e-6)
    value = qkv[0, 1:5, HEADS + KV_HEADS :]
    np.testing.assert_array_equal(values.numpy(), np.stack([value, 2 * value]))
    with pytest.raises(TiraxError, match="not positions of the sequence"):
        packed("attention_kv_cache_debug_get_kv", cache, 3, 1, 7, keys, values)


def test_mistakes_at_run_time(vm):
    cache = created(vm, batch=1, chunk=4)
    begin = "kv_state_begin_forward"
    qkv = tvm.nd.array(np.zeros((1, 2, ALL, SIZE), "float32"))
    with pytest.raises(TiraxError, match="no step is active"):
        vm["attend"](qkv, cache)
    with pytest.raises(SequenceError, match="no sequence 5"):
        packed(begin, cache, ShapeTuple([5]), ShapeTuple([1]))
    packed("kv_state_add_sequence", cache, 5)
    with pytest.raises(TiraxError, match="larger than the cache was created for"):
        packed(begin, cache, ShapeTuple([5]), ShapeTuple([5]))
    with pytest.raises(TiraxError, match="appends positions to each"):
        packed(begin, cache, ShapeTuple([5]), ShapeTuple([0]))
    with pytest.raises(UnsupportedError, match="trees"):
        packed(begin, cache, ShapeTuple([5]), ShapeTuple([1]), ShapeTuple([-1]))
    packed(begin, cache, ShapeTuple([5]), ShapeTuple([3]))
    with pytest.raises(TiraxError, match="qkv does not fit the cache"):
        vm["attend"](qkv, cache)
    with pytest.raises(TiraxError, match="needs a paged KV cache"):
        packed("kv_state_clear", [])


MISTAKES = {
    "latent attention": {"attn_kind": "mla"},
    "several machines": {"enable_disaggregation": True},
    "differ in size": {"v_head_dim": 4},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_at_export(message):
    with pytest.raises(TiraxError, match=message):
        Model(**MISTAKES[message]).built()


def test_windows_and_unknown_rotations_are_refused_when_a_cache_is_created():
    with pytest.raises(UnsupportedError, match="sliding window"):
        created(Model(support_sliding_window=1).built())
    with pytest.raises(TiraxError, match="unknown rope_type"):
        created(Model(scaling={"rope_type": "su"}).built())


def test_generic_creation():
    class Generic(nn.Module):
        def create(self, batch: tir.Var, total: tir.Var, chunk: tir.Var, page: tir.Var):
            return PagedKVCache.create_generic(
                attn_kind="mha", max_batch_size=batch, max_total_seq_len=total, prefill_chunk_size=chunk,
                page_size=page, support_sliding_window=0, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                num_key_value_heads=KV_HEADS, qk_head_dim=SIZE, v_head_dim=SIZE, rope_mode=RopeMode.NORMAL,
                rope_scale=1, rope_theta=100, dtype="float16",
            )  # fmt: skip

    mod, _ = Generic().export_tvm({"create": {"batch": int, "total": int, "chunk": int, "page": int}})
    cache = created(relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu()))
    assert "2 layers, 2 heads of 8 float16, 0 sequences, 68 free positions" in repr(cache)
