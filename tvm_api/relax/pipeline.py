"""`tvm.relax.pipeline`: passes by the name of their pipeline."""

from ..compilation import get_default_pipeline, get_pipeline, register_pipeline

__all__ = ["get_default_pipeline", "get_pipeline", "register_pipeline"]
