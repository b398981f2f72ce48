"""Text is read in a time that grows with its length only, wherever it comes from."""

import math

import numpy as np
import pytest
from xdsl.utils.exceptions import ParseError

from tirax.diagnostics import TiraxError
from tirax.frontend.stablehlo.values import array_of
from tirax.ir.passes.transform import new_context
from tirax.ir.text import TextParser
from tirax.script import parse_mlir
from tirax.script.mlir_text import reading_context
from tirax.tvm_api.handles.relax_utils import load_json, save_json
from tirax.tvm_api.script import from_source

OPEN = 'x = "' + "a" * 4000


def test_a_string_that_is_not_closed_is_reported_at_once():
    with pytest.raises(ParseError, match="closing string literal"):
        TextParser(new_context(), f"builtin.module attributes {{{OPEN}}}").parse_module()


def test_a_stored_module_with_such_a_string_is_refused():
    module = from_source("from tvm.script import ir as I\n@I.ir_module\nclass Module:\n    pass")
    text = save_json(module).replace("builtin.module", "builtin.module attributes {" + OPEN.replace('"', '\\"') + "}")
    with pytest.raises(TiraxError, match="the stored text is no module"):
        load_json(text)


TYPES = ["!relax.tensor<[n, 4], f32>", "!relax.callable<() -> !relax.object>", "!relax.object"]
TYPES += ['!relax.tensor<[4], f32, vdevice = "a>b">', "!relax.shape<[n]>", "tuple<>"]


def test_types_that_come_again_are_what_they_are_alone():
    alone = [TextParser(new_context(), text).parse_type() for text in TYPES]
    for gap in (" ", "\n// >\n"):
        parser = TextParser(new_context(), gap.join(TYPES * 3))
        assert [parser.parse_type() for _ in TYPES * 3] == alone * 3


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("dense<[0x7F800000, 0xFF800000]> : tensor<2xf32>", (math.inf, -math.inf)),
        ("dense<0xFF80> : tensor<1xbf16>", (-math.inf,)),
        ("dense<0x3C00> : tensor<1xf16>", (1.0,)),
        ("dense<0x10> : tensor<1xi32>", (16,)),
        ("dense<(0x7FF0000000000000, -1.5)> : tensor<1xcomplex<f64>>", ((math.inf, -1.5),)),
    ],
)
def test_hexadecimal_elements_are_the_bits_of_floats(text, values):
    assert TextParser(new_context(), text).parse_attribute().get_values() == values


def test_elements_of_more_bits_than_the_type_has_are_refused():
    with pytest.raises(ParseError, match="more bits"):
        TextParser(new_context(), "dense<0x1FF80> : tensor<1xbf16>").parse_attribute()


def resources(kind, data, name="weights_1.x"):
    """Return a module with a constant whose bytes are at the end of the text, and another use of it."""
    text = (b"\x04\x00\x00\x00" + data).hex()
    constant = f"arith.constant dense_resource<{name}> : {kind}"
    end = f'{{-#\n  dialect_resources: {{\n    builtin: {{\n      {name}: "0x{text}"\n    }}\n  }}\n#-}}\n'
    return f"%a = {constant}\n%b = {constant}\n{end}"


@pytest.mark.parametrize("kind", ["f32", "f16", "i64", "i8"])
def test_resource(kind):
    """The bytes are those of the text each time that it is read: xDSL renames what it has read before."""
    dtype = {"f32": "float32", "f16": "float16", "i64": "int64", "i8": "int8"}[kind]
    data = np.arange(6).astype(dtype)
    for _ in range(2):
        module = parse_mlir(resources(f"tensor<2x3x{kind}>", data.tobytes()))
        for op in module.body.block.ops:
            assert array_of(op.properties["value"]).tolist() == data.reshape(2, 3).tolist()


def test_resource_of_other_size():
    with pytest.raises(TiraxError, match="8 bytes for a constant of type"):
        parse_mlir(resources("tensor<3xf32>", bytes(8)))


def test_resource_that_is_left_out():
    module = parse_mlir("%a = arith.constant dense_resource<__elided__> : tensor<3xf32>")
    assert "dense_resource<__elided__>" in str(module)


def test_a_type_that_is_called_type():
    assert str(TextParser(reading_context(), "!pdl.type").parse_type()) == "!pdl.type"
