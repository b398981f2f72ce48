"""What is printed can be read, and prints the same again: the tutorials' listings, and one program of each language."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tirax.dialects.dtypes import dtype_of
from tirax.dialects.relax import TensorDataAttr
from tirax.script import parse_source
from tirax.script.metadata import CONSTANT_KEY, encode_metadata
from tirax.script.printer import print_script

GOLDEN = Path(__file__).parents[1] / "golden" / "script"
CONSTANTS: dict[str, list[tuple[int, ...]]] = {
    "mlp": [],
    "mlp_legalized": [],
    "mlp_fused": [],
    "mlp_bound": [(2, 2), (2,), (2, 2), (2,)],
    "params_bound": [(128, 784), (128,), (10, 128), (10,)],
    "te_matmul_relu": [],
    "torch_matmul_relu": [(128, 128)],
    "torch_mlp": [(128, 784), (128,), (10, 128), (10,)],
    "statements": [],
    "expressions": [],
    "structure": [],
}


def with_constants(text: str, shapes: list[tuple[int, ...]]) -> str:
    """The program with a table of constants of `shapes`, all different, in front."""
    constants = [TensorDataAttr.from_numpy(np.full(s, i + 1.0), dtype_of("float32")) for i, s in enumerate(shapes)]
    head, body = re.split(r"\n\n(?=@)", text, maxsplit=1)
    return f'{head}\nmetadata = tvm.ir.load_json("""{encode_metadata({CONSTANT_KEY: constants})}""")\n\n{body}'


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_listing_prints_as_it_was_read(name: str) -> None:
    text = (GOLDEN / f"{name}.txt").read_text().rstrip("\n")
    shapes = CONSTANTS[name]
    module = parse_source(with_constants(text, shapes) if shapes else text)
    module.verify()
    printed = print_script(module if "class Module" in text else next(iter(module.body.block.ops)))
    assert printed == text


@pytest.mark.parametrize("name", [n for n, shapes in CONSTANTS.items() if shapes])
def test_constants_survive_where_they_are_shown(name: str) -> None:
    text = (GOLDEN / f"{name}.txt").read_text()
    printed = print_script(parse_source(with_constants(text, CONSTANTS[name])), show_meta=True)
    assert print_script(parse_source(printed), show_meta=True) == printed
