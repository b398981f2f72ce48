"""Parts of language models (TVM's `relax.frontend.nn.llm`): a cache of keys and values, rotary positions, decoders."""

from . import kv_cache, position_embedding

__all__ = ["kv_cache", "position_embedding"]
