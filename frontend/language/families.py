"""The families of models: what their files do not say, since it is of the family."""

from __future__ import annotations

from dataclasses import dataclass

from .config import Activation, RopeOrder


@dataclass(frozen=True)
class Family:
    """A row of `FAMILIES`.

    `head_size` is what files of Hugging Face mean that say none (None: hidden size / heads); `norm_offset` is theirs,
    too: GGUF's norms have it added. `window_period` p: every p-th layer has no window (0: all have it, where there is
    one at all). `reference_layers`: a model of so many layers scales attention by hidden size / heads, though its heads
    are of another size, and its GGUF does not say so.
    """

    gguf_rope: RopeOrder = "halves"
    activation: Activation = "silu"
    head_size: int | None = None
    tied: bool = False
    post_norms: bool = False
    norm_offset: float = 0.0
    scaled_embedding: bool = False
    window: int | None = None
    window_period: int = 0
    local_theta: float | None = None
    attention_softcap: float | None = None
    logit_softcap: float | None = None
    reference_layers: int | None = None

    def embedding_scale(self, hidden_size: int) -> float:
        """What embeddings of so many numbers are multiplied by."""
        return hidden_size**0.5 if self.scaled_embedding else 1.0


_GEMMA = {"activation": "gelu_tanh", "head_size": 256, "tied": True, "norm_offset": 1.0, "scaled_embedding": True}

FAMILIES: dict[str, Family] = {
    "llama": Family(gguf_rope="pairs"),
    "mistral": Family(gguf_rope="pairs"),
    "qwen2": Family(),
    "qwen3": Family(head_size=128),
    "gemma": Family(**_GEMMA),  # type: ignore[arg-type]
    "gemma2": Family(
        **_GEMMA,  # type: ignore[arg-type]
        post_norms=True,
        window=4096,
        window_period=2,
        attention_softcap=50.0,
        logit_softcap=30.0,
        reference_layers=46,
    ),
    "gemma3": Family(
        **_GEMMA,  # type: ignore[arg-type]
        post_norms=True,
        window=1024,
        window_period=6,
        local_theta=10_000.0,
        reference_layers=62,
    ),
}


def sliding_layers(period: int, layers: int) -> tuple[bool, ...]:
    """Which layers have a window: all but every `period`-th, or all where it is 0."""
    return tuple(period == 0 or i % period < period - 1 for i in range(layers))
