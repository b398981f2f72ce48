"""Attention of one position to a cache in pages, compiled, beside numpy in float64: heads that share keys, no position
at all, one, and as many as end before, at and behind a page's end or a tile's."""

import numpy as np
import pytest
from strength import thinned
from xdsl.dialects.builtin import i64

from tirax.dialects.sym.expr import Const
from tirax.driver.build import build
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.frontend import nn
from tirax.frontend.nn import op
from tirax.ir.passes.transform import Sequential, module_op
from tirax.llm.cache import CacheLayout
from tirax.llm.nn.kv_cache import PagedKVCache, cache_specs
from tirax.runtime.errors import OutsideError, ShapeError
from tirax.target import Target

HEADS, EACH, SIZE, PAGES, LAYER = 2, 3, 24, 6, 1
LAYOUT = CacheLayout(layers=2, kv_heads=HEADS, head_size=SIZE, page_size=64)
LENGTHS = (0, 1, 2, 3, 4, 7, 63, 64, 65, 127, 128, 129, 300, 384)
OLDER = "llvm -mcpu=haswell"
TARGETS = ["llvm"] + ([OLDER] if {"avx2", "fma", "f16c"} <= Target().features else [])


class Attending(nn.Module):
    """Attention alone."""

    def attend(self, query, keys, values, table, starts):
        cache = PagedKVCache(LAYOUT, keys, values, table, starts)
        function = cache._attention_function(query, False, 0.2, None, None)
        args = [query, keys, values, table, starts, Const(LAYER, i64)]
        return op.tensor_ir_op(function, "attention", args, nn.Tensor.placeholder(query.shape, "float32"))


def module():
    query = nn.spec.Tensor((1, HEADS, EACH, SIZE), "float32")
    return Attending().export_tvm({"attend": {"query": query, **cache_specs(LAYOUT, 1)}})[0]


def expected(query, keys, values, table):
    """The same of rows (heads, positions, size) that stand where the table says."""
    pools = [pool[LAYER, table].astype(np.float64) for pool in (keys, values)]
    key, value = (pool.transpose(1, 0, 2, 3).reshape(HEADS, -1, SIZE) for pool in pools)

    def after_prefix(length):
        scores = np.einsum("hid,hjd->hij", query[0].astype(np.float64), key[:, :length]) * 0.2
        powers = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e30))
        total = powers.sum(-1, keepdims=True)
        return np.einsum("hij,hjd->hid", powers / np.where(total == 0, 1, total), value[:, :length])

    return after_prefix


@thinned("target", TARGETS, 1)
def test_positions_of_several_pages(target):
    """Nothing behind the last position is read: not a number, and pages that there are not."""
    rng = np.random.default_rng(3)
    attend = build(module(), target)["attend"]
    keys, values = (rng.normal(size=LAYOUT.shape(PAGES)).astype(np.float16) for _ in range(2))
    query = rng.normal(size=(1, HEADS, EACH, SIZE)).astype(np.float32)
    table = rng.permutation(PAGES).astype(np.int32)
    for length in LENGTHS:
        k, v, pages = keys.copy(), values.copy(), table.copy()
        used = np.arange(PAGES * 64).reshape(PAGES, 1, 64, 1) < length
        for pool in (k, v):
            pool[:, table] = np.where(used, pool[:, table], np.nan)
        pages[-(-length // 64) :] = 10**6
        actual = attend(query, k, v, pages[None], np.array([length - 1], np.int32)).numpy()
        np.testing.assert_allclose(actual[0], expected(query, keys, values, table)(length), rtol=0, atol=2e-6)


def test_heads_that_share_keys_are_rows_of_a_tile():
    """With 16 registers, too: keys are transposed and widened once for three rows of sums. Keys are prefetched while
    scores are computed and while values are summed, values before: of full pieces, and of the remainder."""
    upto = [*OPTIMIZE, *SCHEDULE[: SCHEDULE.index("default-schedule") + 1]]
    text = str(module_op(Sequential(make_passes(upto, OLDER))(module())))
    assert (
        '!tir.buffer<[16, 16], f16, scope = "local">' in text and '!tir.buffer<[3, 16], f32, scope = "local">' in text
    )
    assert text.count('"llvm.prefetch"') == 2 * 3


def test_pages_and_lengths_outside():
    """A page that there is not is an error; of positions after the last one nothing is read, before the first none."""
    rng = np.random.default_rng(3)
    attend = build(module())["attend"]
    keys, values = (rng.normal(size=LAYOUT.shape(PAGES)).astype(np.float16) for _ in range(2))
    query = rng.normal(size=(1, HEADS, EACH, SIZE)).astype(np.float32)
    table = np.arange(PAGES, dtype=np.int32)[None]
    for page in (PAGES, -1, 2**31 - 1, -(2**31)):
        wrong = table.copy()
        wrong[0, 1] = page
        with pytest.raises(OutsideError):
            attend(query, keys, values, wrong, np.array([100], np.int32))
    of_all = expected(query, keys, values, table[0])(PAGES * 64)
    for start, exact in ((PAGES * 64, of_all), (2**31 - 1, of_all), (-5, 0 * of_all), (-(2**31), 0 * of_all)):
        result = attend(query, keys, values, table, np.array([start], np.int32)).numpy()
        np.testing.assert_allclose(result[0], exact, rtol=0, atol=2e-6)
    assert not attend(query, keys, values, table[:, :0], np.zeros(1, np.int32)).numpy().any()
    for pool, starts in ((values[:, :3], 1), (values[:1], 1), (values, 2), (values, 0)):
        with pytest.raises(ShapeError):
            attend(query, keys, pool, table, np.zeros(starts, np.int32))
