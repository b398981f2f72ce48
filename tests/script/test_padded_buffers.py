"""A buffer that is larger on purpose says so in TVMScript, and is so when it is read again."""

import pytest

from tirax.diagnostics import TiraxError
from tirax.dialects import tir
from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.ir.equality import structural_equal
from tirax.ir.passes.transform import Sequential
from tirax.script import parse_source, print_script
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 40), "float32"), w: R.Tensor((40, 50), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            R.output(y)
        return y


def padded(module):
    return [op.padded for op in module.walk() if isinstance(op, tir.AllocBufferOp)]


def test_a_default_schedule_comes_back_as_it_was():
    scheduled = Sequential(make_passes([*OPTIMIZE, "default-schedule"]))(Module).op
    text = print_script(scheduled)
    assert 'scope="local", annotations={"tirax.padded": T.bool(True)})' in text
    again = parse_source(text)
    assert padded(again) == padded(scheduled) and all(padded(again))
    assert structural_equal(again, scheduled)
    assert print_script(again) == text


def test_other_annotations_are_refused():
    text = print_script(Sequential(make_passes([*OPTIMIZE, "default-schedule"]))(Module).op)
    with pytest.raises(TiraxError, match="unknown annotation"):
        parse_source(text.replace('"tirax.padded"', '"padded"'))
