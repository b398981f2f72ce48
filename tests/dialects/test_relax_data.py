"""Contents of constants: compared by their bytes, read-only, aligned."""

import io

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, i32
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError

from tirax.dialects.relax.data import ALIGNMENT, TensorData, TensorDataAttr, printed_for
from tirax.ir.text import TextParser
from tirax.runtime.safetensors import write_weights
from tirax.script.mlir_text import reading_context


def test_equal_contents_are_equal_whoever_holds_them():
    values = np.arange(1000, dtype="float32").reshape(10, 100)
    one = TensorDataAttr.from_numpy(values, f32)
    other = TensorDataAttr(TensorData(f32, (10, 100), values.tobytes()))
    assert one == other and hash(one) == hash(other)


@pytest.mark.parametrize("place", [0, 499, 999])
def test_one_other_element_makes_them_different(place):
    values = np.zeros(1000, "float32")
    one = TensorDataAttr.from_numpy(values, f32)
    values[place] = 1
    assert one != TensorDataAttr.from_numpy(values, f32)


def test_dtype_and_shape_make_them_different():
    values = np.zeros(6, "float32")
    one = TensorDataAttr.from_numpy(values, f32)
    assert one != TensorDataAttr.from_numpy(values.reshape(2, 3), f32)
    assert one != TensorDataAttr.from_numpy(values, i32)
    assert one.data != values


def test_the_memory_is_aligned_and_nobody_writes_to_it():
    inputs = np.ones((3, 5), "float32").T
    attr = TensorDataAttr.from_numpy(inputs, f32)
    inputs[:] = 2
    array = attr.numpy()
    assert array.tolist() == np.ones((5, 3)).tolist()
    assert array.ctypes.data % ALIGNMENT == 0 and array.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 3
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True


def test_filled():
    attr = TensorDataAttr.filled((2, 2), i32, lambda contents: contents.fill(7))
    assert attr.numpy().tolist() == [[7, 7], [7, 7]]
    assert attr.data.shape == (2, 2)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_of_few_elements(shape):
    attr = TensorDataAttr.from_numpy(np.ones(shape), f32)
    assert attr.numpy().shape == shape and attr == TensorDataAttr.from_numpy(np.ones(shape), f32)
    assert hash(attr) == hash(TensorDataAttr.from_numpy(np.ones(shape), f32))


def stored(folder):
    """A file of weights with `fc.weight`, and the attribute that refers to it."""
    weights = np.arange(200, dtype="float32").reshape(10, 20)
    write_weights(folder / "m.safetensors", {"fc.weight": weights, "numbers": np.arange(3)})
    return weights, '#relax.data<f32 [10, 20] in "m.safetensors" : "fc.weight">'


def read(text, folder):
    return TextParser(reading_context(), text, str(folder / "m.mlir")).parse_attribute()


def test_contents_in_a_file_are_mapped_and_printed_as_a_reference(tmp_path, monkeypatch):
    weights, text = stored(tmp_path)
    attr = read(text, tmp_path)
    assert attr == TensorDataAttr.from_numpy(weights, f32)
    np.testing.assert_array_equal(attr.numpy(), weights)
    assert not attr.numpy().flags.writeable
    with printed_for(str(tmp_path)):
        assert str_of(attr) == text
    monkeypatch.chdir(tmp_path.parent)
    assert f'in "{tmp_path.name}/m.safetensors"' in str_of(attr)


def str_of(attr):
    stream = io.StringIO()
    Printer(stream).print_attribute(attr)
    return stream.getvalue()


def test_names_are_quoted(tmp_path):
    key = 'a "b" \\ c'
    write_weights(tmp_path / "m.safetensors", {key: np.ones(2, "float32")})
    attr = TensorDataAttr(TensorData(f32, (2,), np.ones(2, "float32").tobytes(), key, str(tmp_path / "m.safetensors")))
    with printed_for(str(tmp_path)):
        assert read(str_of(attr), tmp_path).data.key == key


@pytest.mark.parametrize(
    "text, message",
    [
        ('f32 [10, 20] in "m.safetensors" : "fc.bias"', "no weights 'fc.bias'"),
        ('f32 [10, 21] in "m.safetensors" : "fc.weight"', "do not fill"),
        ('i32 [10, 20] in "m.safetensors" : "fc.weight"', "is float32, not int32"),
        ('f32 [10, 20] in "other.safetensors" : "fc.weight"', "No such file"),
        ('f32 [10, 20] in "../m.safetensors" : "fc.weight"', "must lie in the folder"),
        ('f32 [10, 20] in "/m.safetensors" : "fc.weight"', "must lie in the folder"),
        ('f32 [10, 20] in "link" : "fc.weight"', "must lie in the folder"),
    ],
)
def test_references_that_lead_nowhere_or_out_of_the_folder(tmp_path, text, message):
    inside = tmp_path / "inside"
    inside.mkdir()
    stored(inside)
    stored(tmp_path)
    (inside / "link").symlink_to(tmp_path / "m.safetensors")
    with pytest.raises(ParseError, match=message):
        read(f"#relax.data<{text}>", inside)


def test_shared_memory_is_not_copied():
    values = np.ones((4, 4), "float32")
    attr = TensorDataAttr.sharing(values, f32, "w")
    assert np.shares_memory(attr.numpy(), values) and attr.data.key == "w"
    assert attr == TensorDataAttr.from_numpy(values, f32)
    turned = TensorDataAttr.sharing(np.arange(6, dtype="float32").reshape(2, 3).T, f32)
    assert turned.numpy().tolist() == [[0, 3], [1, 4], [2, 5]]
