"""Constant matrices in panels: what becomes so, how it is read, and that it means the same."""

import numpy as np
import pytest
from strength import crossed, thinned
from xdsl.dialects.builtin import f32

from tirax.dialects import relax as ops
from tirax.dialects.relax.data import TensorDataAttr
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import Sequential
from tirax.script import parse_source
from tirax.target import Target
from tirax.transforms.operators import pack_weights, te_calls
from tirax.transforms.operators.pack_weights import PackWeights
from tirax.transforms.operators.scale_after_product import ScaleAfterProduct
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import BindParams
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "{dtype}"), w: R.Tensor({w}, "{dtype}")):
        n = T.int64()
        with R.dataflow():
            m = {matrix}
            y = R.matmul(x, m{options})
            z = R.nn.relu(y)
            R.output(z)
        return z
"""
AVX512, AVX2 = "llvm -mcpu=skylake-avx512 -vector-width=512", "llvm -mcpu=haswell"
TARGETS = ["llvm"] + ([AVX2] if {"avx2", "fma"} <= Target().features else [])


def program(
    x='("n", 5)', w="(5, 128)", matrix="R.add(w, R.const(0, '{dtype}'))", dtype="float32", options="", bind=True
):
    matrix = matrix.format(dtype=dtype)
    mod = from_source(PROGRAM.format(x=x, w=w, matrix=matrix, dtype=dtype, options=options))
    values = np.random.default_rng(0).integers(-3, 4, tuple(map(int, w.strip("()").split(",")))).astype(dtype)
    return BindParams("main", {"w": values})(mod) if bind else mod


def packed(mod, target=AVX512, min_bytes=0):
    return PackWeights(target=target, min_bytes=min_bytes)(relax.transform.FoldConstant()(mod))


def panels(mod):
    """The shapes of the constants that products read."""
    calls = [c for c in mod.op.walk() if isinstance(c, ops.CallTIROp)]
    return [c.args[1].owner.value.data.shape for c in calls]


CASES = {
    "a matrix": ({}, AVX512, (2, 5, 64)),
    "narrow vectors": ({"w": "(5, 80)"}, AVX2, (5, 5, 16)),
    "double": ({"dtype": "float64"}, AVX512, (4, 5, 32)),
    "a vector": ({"x": "(5,)"}, AVX512, (2, 5, 64)),
    "batches": ({"x": '(2, "n", 5)'}, AVX512, (2, 5, 64)),
    "padded": ({"w": "(5, 257)"}, AVX512, (5, 5, 64)),
    "padded, narrow vectors": ({"w": "(5, 79)"}, AVX2, (5, 5, 16)),
    "padded, a vector": ({"x": "(5,)", "w": "(5, 300)"}, AVX512, (5, 5, 64)),
}


@pytest.mark.parametrize("case", CASES)
def test_packed(case):
    options, target, shape = CASES[case]
    before = program(**options)
    after = packed(before, target)
    assert panels(after) == [shape]
    assert_same_meaning(before.op, after.op)


def test_panels_are_called_what_the_matrix_was():
    for before in (program(), program(w="(128, 5)", matrix="R.permute_dims(w)")):
        (call,) = (c for c in packed(before).op.walk() if isinstance(c, ops.CallTIROp))
        assert call.args[1].owner.value.data.key == "w"


def test_a_transposed_matrix_is_packed_as_it_was_passed():
    before = program(w="(128, 5)", matrix="R.permute_dims(w)")
    after = PackWeights(AVX512, 0)(before)
    assert panels(after) == [(2, 5, 64)] and "permute_dims" not in after.script(show_meta=False)
    assert_same_meaning(before.op, after.op)


def dequantized(zero="", rows=5, columns=128):
    """A product with bytes that are converted and scaled by columns; where `zero`, less a zero point."""
    shifted = f'R.astype(w, "float32"){zero and ", z"}'
    text = PROGRAM.format(x=f'("n", {rows})', w="", matrix="", dtype="float32", options="")
    text = text.replace(
        'w: R.Tensor(, "float32")',
        f'w: R.Tensor(({rows}, {columns}), "int8"), z: R.Tensor((), "float32"), s: R.Tensor((1, {columns}), "float32")',
    ).replace("m = ", f"m = R.multiply({f'R.subtract({shifted})' if zero else shifted}, s)")
    rng = np.random.default_rng(0)
    scales = rng.integers(1, 4, (1, columns)).astype("float32")
    values = {"w": rng.integers(-128, 128, (rows, columns)).astype("int8"), "z": np.float32(3), "s": scales}
    return BindParams("main", {name: np.asarray(value) for name, value in values.items()})(from_source(text)), values


def test_dequantized_weights_are_packed():
    mod, _ = dequantized("less")
    after = PackWeights(target=AVX512, min_bytes=0)(ScaleAfterProduct()(mod))
    assert panels(after) == [(2, 5, 64)]
    assert_same_meaning(mod.op, after.op)


@pytest.mark.parametrize("columns", [128, 300])
def test_bytes_stay_bytes(columns):
    mod, values = dequantized(columns=columns)
    after = Sequential([ScaleAfterProduct(), PackWeights(target=AVX512)])(mod)
    (constant,) = (
        op.value for op in after.op.walk() if isinstance(op, ops.ConstantOp) and len(op.value.data.shape) > 2
    )
    assert constant.numpy().dtype == np.int8 and constant.data.shape == (-(-columns // 64), 5, 64)
    np.testing.assert_array_equal(constant.numpy()[1], values["w"][:, 64:128])
    assert_same_meaning(mod.op, after.op)


@crossed("columns, target", [128, 300], TARGETS)
def test_bytes_native(columns, target):
    """Few rows convert what they read, many convert panels."""
    mod, values = dequantized(rows=70, columns=columns)
    main = relax.build(mod, target=target)["main"]
    weights = values["w"].astype("float64") * values["s"]
    for rows in (0, 1, 2, 23, 24, 61):
        x = np.random.default_rng(rows).standard_normal((rows, 70), dtype=np.float32)
        expected = np.maximum(x @ weights, 0)
        np.testing.assert_allclose(main(x), expected, rtol=1e-5, atol=1e-5 * max(1, abs(expected).max(initial=0)))


def test_gelu_after_a_packed_product_is_recognised():
    body = PROGRAM.format(x='("n", 512)', w="(512, 512)", matrix="w", dtype="float32", options="").replace(
        "z = R.nn.relu(y)",
        "a = R.divide(y, R.const(1.4142135623730951, 'float32')); b = R.add(R.erf(a), R.const(1.0, 'float32'));"
        " z = R.multiply(y, R.multiply(R.const(0.5, 'float32'), b))",
    )
    mod = from_source(body.replace("R.matmul(x, m)", "R.matmul(x, w)"))
    mod = BindParams("main", {"w": np.ones((512, 512), "float32")})(mod)
    after = Sequential(make_passes(OPTIMIZE, AVX512))(mod)
    (call,) = (op for op in after.op.walk() if isinstance(op, ops.CallTIROp))
    assert call.callee_name == "fused_packed_matmul_gelu"


@thinned("transposed, columns, meanwhile", [(t, c, m) for t in (False, True) for c in (96, 100, 12) for m in (0, 1)], 4)
def test_panels_are_the_same_in_one_piece_and_in_several(monkeypatch, transposed, columns, meanwhile):
    rows, width = 37, 16
    matrix = np.random.default_rng(0).random((rows, columns)).astype("float32")
    array = np.asfortranarray(matrix) if transposed else matrix
    written = []
    monkeypatch.setattr(pack_weights, "_AT_ONCE", 4 * rows * width * 4 + 1)  # four panels, then two
    monkeypatch.setattr(TensorDataAttr, "written", lambda shape, dtype, write: written.append((shape, write)))
    pack_weights._packed(array, width, f32)
    ((shape, write),) = written
    out = np.full(shape, np.nan, "float32")
    write(out, bool(meanwhile))
    padded = np.zeros((rows, shape[0] * width), "float32")
    padded[:, :columns] = matrix
    assert (out == padded.reshape(rows, shape[0], width).swapaxes(0, 1)).all()


def test_the_contents_of_panels():
    before = program()
    (shape,) = panels(after := packed(before))
    (constant,) = (c.value.numpy() for c in after.op.walk() if isinstance(c, ops.ConstantOp))
    (matrix,) = (c.value.numpy() for c in before.op.walk() if isinstance(c, ops.ConstantOp) and c.value.data.shape)
    assert constant.shape == shape
    np.testing.assert_array_equal(constant[0], matrix[:, :64])
    np.testing.assert_array_equal(constant[1], matrix[:, 64:])


def test_the_last_panel_is_padded_with_zeros():
    after = packed(before := program(w="(5, 270)"))
    (constant,) = (c.value.numpy() for c in after.op.walk() if isinstance(c, ops.ConstantOp))
    (matrix,) = (c.value.numpy() for c in before.op.walk() if isinstance(c, ops.ConstantOp) and c.value.data.shape)
    np.testing.assert_array_equal(constant[4][:, :14], matrix[:, 256:])
    assert not constant[4][:, 14:].any()
    assert "reshape" not in after.script(show_meta=False)


LEFT = {
    "a parameter": ({"bind": False}, 0),
    "a small one": ({}, 5 * 128 * 4 + 1),
    "half a panel": ({"w": "(5, 96)"}, 0),
    "less than four panels": ({"w": "(5, 255)"}, 0),
    "integers": ({"dtype": "int32"}, 0),
    "another dtype of the result": ({"dtype": "float16", "options": ", out_dtype='float32'"}, 0),
    "several matrices": ({"x": "(2, 3, 5)", "w": "(2, 5, 128)"}, 0),
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case):
    options, least = LEFT[case]
    before = relax.transform.FoldConstant()(program(**options))
    assert PackWeights(AVX512, least)(before).script() == before.script()


def test_equal_products_share_a_function():
    text = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3, 5), "float32"), w: R.Tensor((5, 64), "float32"), v: R.Tensor((5, 64), "float32"), u: R.Tensor((5, 128), "float32")):
        with R.dataflow():
            y = (R.matmul(x, w), R.matmul(x, v), R.matmul(x, u))
            R.output(y)
        return y
"""  # noqa: E501
    rng = np.random.default_rng(1)
    weights = {name: rng.random((5, size), "float32") for name, size in (("w", 64), ("v", 64), ("u", 128))}
    before = BindParams("main", weights)(from_source(text))
    after = packed(before)
    assert len({c.callee_name for c in after.op.walk() if isinstance(c, ops.CallTIROp)}) == 2
    assert_same_meaning(before.op, after.op)


def test_native():
    before = program()
    after = PackWeights(min_bytes=0)(relax.transform.FoldConstant()(before))
    result, expected = (relax.build(mod)["main"] for mod in (after, before))
    for rows in (0, 1, 2, 7, 30):
        x = np.random.default_rng(rows).standard_normal((rows, 5), dtype=np.float32)
        np.testing.assert_allclose(result(x), expected(x), rtol=1e-5, atol=1e-6)


@thinned("columns, target", [(columns, target) for columns in (257, 319) for target in TARGETS], 1)
def test_padded_native(columns, target):
    """One row and many, all of them with a relu behind."""
    before = program(w=f"(5, {columns})")
    after = PackWeights(target=target, min_bytes=0)(relax.transform.FoldConstant()(before))
    assert "padded_matmul" in after.script(show_meta=False)
    result, expected = (relax.build(mod, target=target)["main"] for mod in (after, before))
    for rows in (0, 1, 2, 7, 30):
        x = np.random.default_rng(rows).standard_normal((rows, 5), dtype=np.float32)
        np.testing.assert_allclose(result(x), expected(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", [AVX512, "llvm -mcpu=skylake-avx512 -vector-width=256", AVX2])
def test_tiles_read_full_vectors_of_a_panel(target):
    """What stands in the panel of a tile is found without a division; panels for other vectors still mean the same."""
    after = packed(program(x="(30, 5)", w="(5, 270)"), AVX512)
    scheduled = Sequential(make_passes([*OPTIMIZE, *SCHEDULE], target))(after.op)
    assert ("tir.floormod" not in str(scheduled)) == (target == AVX512)
    assert_same_meaning(after.op, scheduled)


def test_a_module_without_products_is_not_gone_through(monkeypatch: pytest.MonkeyPatch):
    applied: list[object] = []
    monkeypatch.setattr(te_calls, "LegalizeOps", lambda *args: applied.append(args))
    source = "@R.function\ndef main(x: R.Tensor((4,), 'float32')):\n    y = R.exp(x)\n    return y\n"
    PackWeights()(parse_source(source))
    assert not applied
