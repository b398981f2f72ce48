"""Operators that the importer of ONNX leaves out, with the reason of each; `operator_page.py` lists them."""

from __future__ import annotations

_MAPS = "maps are no tensors: what follows them in converted models takes their columns (`ZipMap`)"
_SEARCH = "a search with models as attributes: `tirax.llm` samples tokens"
_PACKED = "weights in a layout of one ONNX Runtime kernel"
_ONE_MODEL = "a part of few models: not converted yet"

REASONS = {
    "ai.onnx.ml.CastMap": _MAPS,
    "ai.onnx.ml.DictVectorizer": _MAPS,
    "ai.onnx.preview.training.Gradient": "the derivative of a graph: `relax.transform.Gradient` makes one",
}


def _of(reason: str, names: str) -> None:
    REASONS.update({f"com.microsoft.{name}": reason for name in names.split()})


_of(_SEARCH, "BeamSearch GreedySearch Sampling WhisperBeamSearch BifurcationDetector NGramRepeatBlock")
_of(_PACKED, "MatMulFpQ4 GatherPacked SparseToDenseMatMul")
_of(
    _ONE_MODEL,
    "VarlenCausalConvWithState VarlenNGramHashMapping AttnLSTM WordConvEmbedding SparseAttention",
)
_of("strings: ONNX's `StringSplit` and `RegexFullMatch` are converted", "Tokenizer")
_of("for ONNX Runtime's own tests", "SampleOp MaxpoolWithMask")
