"""A decoder that reads tokens: on the interpreter, or by what is given to call its functions."""

from __future__ import annotations

import numpy as np

from tirax.interpreter import interpret
from tirax.llm.cache import PagedKVCache
from tirax.llm.nn.decoder import Decoder, Formats, layout_of
from tirax.llm.weights import prepared

PAGE = 4


class Reader:
    """The weights are as a file has them; `call(function, *args)` runs `prefill` and `decode`."""

    def __init__(self, config, weights, call=None, dtype="float32", page=PAGE, formats=None):
        self.config = config
        formats = formats or Formats()
        self.decoder = Decoder(config, layout_of(config, page, dtype), formats)
        self.mod, params = self.decoder.export_tvm(self.decoder.specs())
        ready = prepared(config, weights, formats)
        self.args = [ready[name] for name, _ in params]
        self.call = call or (lambda name, *args: interpret(self.mod, name, args))
        self.cache = PagedKVCache.create(self.decoder.layout, 32 * page)
        self.cache.add_sequence(0)

    def read(self, tokens, sequence=0):
        """The logits behind the last of the tokens."""
        name = "decode" if len(tokens) == 1 else "prefill"
        cache = self.cache
        with cache.forward([sequence], [len(tokens)]) as step:
            args = tokens[None], cache.keys, cache.values, step.table, step.starts
            logits, keys, values = self.call(name, *args, *self.args)
        np.copyto(cache.keys, keys)
        np.copyto(cache.values, values)
        return logits[0]


def tokens_of(config, length, seed=1):
    """Random tokens of the model's vocabulary."""
    return np.random.default_rng(seed).integers(0, config.vocabulary_size, length).astype(np.int32)
