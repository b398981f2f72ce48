"""The cases of ONNX's node tests that need not pass, by patterns of their names, with the reason of each.

A case that is listed and passes is as wrong as one that is not listed and does not: `node_tests.py` checks both.
"""

from __future__ import annotations

from fnmatch import fnmatch
from importlib.util import find_spec

RANDOM = "random numbers: those of another generator are expected"
_IMAGES = "decoding of image files needs the package pillow, which `make test-models` installs"
HALF = "one unit in the last place of float16, which is more than the tolerance: the order of sums, and of roundings"
_RUNNER = "ONNX's runner cannot compare a sequence of scalars: it takes them for sequences"

REASONS = {
    "test_bernoulli*": RANDOM,
    "test_training_dropout": RANDOM,
    "test_training_dropout_mask": RANDOM,
    "test_training_dropout_default": RANDOM,
    "test_training_dropout_default_mask": RANDOM,
    **({} if find_spec("PIL") else {"test_image_decoder_*": _IMAGES}),
    "test_loop16_seq_none": _RUNNER,
    "test_cast_e8m0_*": "float8_e8m0fnu, a scale without a sign, is no dtype of tensors here",
    "test_dft_inverse*": "the expected numbers are rounded to 2e-7 where 0 is right, and may differ by 1e-7",
    "test_attention_4d_fp16_expanded": HALF,
    "test_attention_4d_causal_fp16_expanded": HALF,
    "test_attention_4d_gqa_with_past_and_present_fp16_expanded": HALF,
    "test_attention_4d_gqa_causal_nonpad_decode_fp16_expanded": HALF,
    "test_causal_conv_with_state_silu_fp16*": HALF,
}

UNSPECIFIED = ("test_cast*_to_INT2*", "test_cast*_to_UINT2*", "test_cast*_to_INT4*", "test_cast*_to_UINT4*")
"""Cases with numbers that the type cannot hold. ONNX expects what ml_dtypes returns, as the interpreter does, and it
changed in 0.7; machine code may return others.
"""


def is_specified(name: str) -> bool:
    """Whether all numbers that a case expects have a meaning."""
    return not any(fnmatch(name, pattern) for pattern in UNSPECIFIED)


def reason_of(name: str) -> str | None:
    """Why a case need not pass, None where it has to."""
    return next((reason for pattern, reason in REASONS.items() if fnmatch(name, pattern)), None)
