"""Operations of MLIR that are not read: the error names the operation, its place and the reason."""

from __future__ import annotations

import pytest

from tirax.diagnostics import TiraxError
from tirax.dialects.xdsl_extras.refused import REASONS
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir
from tirax.script.mlir_text import MLIRSyntaxError, reading_context

KNOWN = [name for name in REASONS if reading_context().get_optional_op(name) is not None]
"""Operations that are parsed, since xDSL has them."""
WITHOUT_OPERANDS = ("func.constant", "bufferization.dealloc", "vector.vscale", "vector.type_cast")
PROGRAM = "func.func @main(%x: {kind}, %v: f32) -> {kind} {{\n{operation}\nreturn %x : {kind}\n}}"


@pytest.mark.parametrize("name", [name for name in REASONS if name not in KNOWN])
def test_the_parser_says_why(name: str) -> None:
    text = PROGRAM.format(kind="memref<4xf32>", operation=f'"{name}"() : () -> ()')
    with pytest.raises(MLIRSyntaxError, match=f"'{name}' of MLIR is not read") as caught:
        parse_mlir(text)
    assert REASONS[name] in str(caught.value)
    assert caught.value.location is not None and caught.value.location.line == 2


@pytest.mark.parametrize("kind", ["memref<4xf32>", "tensor<4xf32>"])
@pytest.mark.parametrize("name", [*WITHOUT_OPERANDS, "vector.print"])
def test_the_importer_says_why(name: str, kind: str) -> None:
    operands, types = ("%v", "f32") if name == "vector.print" else ("", "")
    text = PROGRAM.format(kind=kind, operation=f'"{name}"({operands}) : ({types}) -> ()')
    with pytest.raises(TiraxError) as caught:
        from_mlir(parse_mlir(text))
    assert REASONS[name] in str(caught.value)
