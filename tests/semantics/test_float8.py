"""Conversions of floats of 8 bits beside ml_dtypes: all codes to each dtype, ties, limits and NaN back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arithmetic import FLOATS, INTEGERS, convertible, numpy_dtype, values
from strength import thinned

from tirax.dialects.dtypes import DTYPES
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source
from tirax.transforms.bindings.fold_constant import FoldConstant
from tirax.transforms.params.bind_params import BindParams

FLOAT8 = [name for name in DTYPES if name.startswith("float8")]
OTHERS = (*FLOATS, *INTEGERS, "bool")

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")


def numbers(source: str, target: str) -> Any:
    """All codes of 8 and 16 bits, else what is tried of every operator, with what lies between codes of 8 bits."""
    dtype = numpy_dtype(source)
    if source in FLOAT8 or source in ("float16", "bfloat16"):
        x = np.arange(1 << (8 * dtype.itemsize)).astype(f"u{dtype.itemsize}").view(dtype)
    elif source in FLOATS:
        codes = np.arange(256, dtype="u1").view(numpy_dtype(target if target in FLOAT8 else FLOAT8[0])).astype(dtype)
        finite = np.unique(codes[np.isfinite(codes)])
        ties = (finite[1:] + finite[:-1]) / 2
        x = np.concatenate([values(source), codes, ties, np.nextafter(ties, dtype.type(np.inf)),
                            np.nextafter(ties, dtype.type(-np.inf))])  # fmt: skip
    else:
        x = values(source)
    wide = x.astype("f8") if source in FLOAT8 else x
    return x[convertible(wide, target)]


@thinned("name", FLOAT8, 2)
def test_conversions(name: str) -> None:
    pairs = [(name, other) for other in [*OTHERS, *FLOAT8] if other != name] + [(other, name) for other in OTHERS]
    functions = [
        f"    @R.function\n    def {a}_{b}(x: R.Tensor(('n',), {a!r})):\n        return R.astype(x, {b!r})\n"
        for a, b in pairs
    ]
    head = "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n"
    module = parse_source(head + "".join(functions))
    executable = build(module, opt_level=1).jit()
    all_numbers = {pair: numbers(*pair) for pair in pairs}
    bound = module
    for (a, b), x in all_numbers.items():
        bound = BindParams(f"{a}_{b}", {"x": _few(x)})(bound)
    folded = FoldConstant()(bound)
    assert "relax.astype" in str(bound) and "relax.astype" not in str(folded)
    for (a, b), x in all_numbers.items():
        for how, args, got in (
            ("native", x, executable[f"{a}_{b}"](x).numpy()),
            ("interpreted", x, interpret(module, f"{a}_{b}", [x])),
            ("folded", _few(x), interpret(folded, f"{a}_{b}", [])),
        ):
            through = args.astype(np.float32) if a == "float64" and b in FLOAT8 else args
            result, expected = np.asarray(got), through.astype(numpy_dtype(b))
            wrong = differences(result, expected)
            assert not wrong.any(), (a, b, how, args[wrong][:5], result[wrong][:5], expected[wrong][:5])


def _few(x: Any) -> Any:
    return x[:: -(-len(x) // 256)]


def differences(got: Any, expected: Any) -> Any:
    """Of the bits, but for those of NaN."""
    assert got.dtype == expected.dtype
    bits = f"u{got.dtype.itemsize}"
    nan = np.isnan(got.astype("f4")) & np.isnan(expected.astype("f4"))
    return (got.view(bits) != expected.view(bits)) & ~nan
