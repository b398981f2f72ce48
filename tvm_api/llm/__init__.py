"""`tvm.relax.frontend.nn.llm`: TVM's paged KV cache and rotary embedding, over those of `tirax.llm`."""
