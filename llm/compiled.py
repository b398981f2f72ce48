"""A compiled decoder with its weights."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..driver.build import build, build_described
from ..frontend.nn.spec import Tensor
from ..runtime import Executable
from ..runtime.result_pool import release_memory
from ..target import Target
from ..transforms.params.bind_params import BindParams
from .cache import PagedKVCache
from .checkpoints.config import TransformerConfig
from .nn.decoder import Decoder

Array = np.ndarray[Any, Any]
_ROOMS = ("frontend", "llm")
"""The packages whose sources determine a decoder's program, besides the compiler itself."""
_LARGE = 1 << 25
"""Bytes of weights from which a model is compiled in a subprocess."""


def _score(decoder: Decoder) -> dict[str, Any]:
    prefill = decoder.specs("sequences")["prefill"]
    return {"score": {**prefill, "tokens": Tensor(("sequences", "length"), "int32")}}


KINDS: dict[str, Callable[[Decoder], dict[str, Any]]] = {
    "single": Decoder.specs,
    "decode": lambda decoder: {"decode": decoder.specs("sequences")["decode"]},
    "score": _score,
}
"""The functions compiled together: those for one sequence, a step of several sequences, and the logits of all tokens.
"""


@dataclass(frozen=True)
class CompiledDecoder:
    """The steps of a model: any number of tokens of one sequence, one token of one sequence, or one token each
    of several.

    Each kind is compiled on first use, or loaded from the cache of executables. `weights` are the parameters of
    `decoder` by name. `compile_elsewhere` compiles a kind of a large model in a subprocess, outside of this
    process's memory.
    """

    decoder: Decoder
    weights: Mapping[str, Array]
    target: str | None = None
    compile_elsewhere: Callable[[str], None] | None = None

    @property
    def config(self) -> TransformerConfig:
        """The configuration of the model."""
        return self.decoder.config

    def step(self, cache: PagedKVCache, sequences: Sequence[int], tokens: Array) -> Array:
        """Append `tokens` (sequences, length), int32, and return the next logits, (sequences, vocabulary).

        Sequences of more than one token are processed one by one. Raises `CacheFullError`, `SequenceError`.
        """
        if tokens.shape[1] == 1:
            function = self._single["decode"] if len(sequences) == 1 else self._batch["decode"]
            return self._call(function, cache, sequences, tokens)
        parts = [
            self._call(self._single["prefill"], cache, [s], t[None]) for s, t in zip(sequences, tokens, strict=True)
        ]
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    def score(self, cache: PagedKVCache, sequences: Sequence[int], tokens: Array) -> Array:
        """As `step`, but return the logits after each token: (sequences, length, vocabulary)."""
        return self._call(self._scores["score"], cache, sequences, tokens)

    def prepare(self) -> None:
        """Compile the functions for one sequence now."""
        self._single.jit()

    def compiled(self, kind: str) -> Executable:
        """Return the executable of a kind (a row of `KINDS`); memory of the compilation is released."""
        target = Target.host() if self.target is None else Target(self.target)
        compile_elsewhere = self.compile_elsewhere if self._is_large else None
        executable = build_described(
            self._description(kind),
            _ROOMS,
            lambda: self._module(KINDS[kind](self.decoder)),
            target,
            in_subprocess=self._is_large,
            elsewhere=None if compile_elsewhere is None else lambda: compile_elsewhere(kind),
        )
        gc.collect()
        release_memory()
        return executable

    def bound(self) -> Executable:
        """Return `prefill` and `decode` of one sequence with the weights as constants."""
        mod = self._module(self.decoder.specs())
        weights = {name.replace(".", "_"): array for name, array in self.weights.items()}
        for function in ("prefill", "decode"):
            mod = BindParams(function, weights)(mod)
        return build(mod, self.target)

    def _call(self, function: Any, cache: PagedKVCache, sequences: Sequence[int], tokens: Array) -> Array:
        with cache.forward(sequences, [tokens.shape[1]] * len(sequences)) as step:
            logits, *_ = function(tokens, cache.keys, cache.values, step.table, step.starts, *self._weights)
            return np.asarray(logits)

    @cached_property
    def _weights(self) -> list[Array]:
        return [self.weights[name] for name, _ in self.decoder.named_parameters()]

    @cached_property
    def _single(self) -> Executable:
        return self.compiled("single")

    @cached_property
    def _batch(self) -> Executable:
        return self.compiled("decode")

    @cached_property
    def _scores(self) -> Executable:
        return self.compiled("score")

    def _description(self, kind: str) -> str | None:
        """Return a text that determines the functions of a kind, or None if the decoder's class is a user's."""
        decoder = self.decoder
        return repr((kind, decoder.config, decoder.layout, decoder.formats)) if type(decoder) is Decoder else None

    def _module(self, spec: Mapping[str, Any]) -> Any:
        return self.decoder.export_tvm(dict(spec))[0]

    @property
    def _is_large(self) -> bool:
        return sum(array.nbytes for array in self.weights.values()) >= _LARGE
