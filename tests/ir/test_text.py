"""Text is read in a time that grows with its length only, wherever it comes from."""

import math

import pytest
from xdsl.utils.exceptions import ParseError

from tirax.diagnostics import TiraxError
from tirax.ir.passes.transform import new_context
from tirax.ir.text import TextParser
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
