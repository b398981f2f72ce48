"""Building blocks of language models (TVM's `relax.frontend.nn.llm`): KV cache, rotary embedding, decoders."""

from . import kv_cache, position_embedding

__all__ = ["kv_cache", "position_embedding"]
