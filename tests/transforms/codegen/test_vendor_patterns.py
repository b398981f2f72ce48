"""Products for cuBLAS and CUTLASS: which are taken, by which pattern, and that the program means what it meant."""

import pytest

from tirax.diagnostics import NameLookupError
from tirax.interpreter import assert_same_meaning
from tirax.tvm_api import relax
from tirax.tvm_api.relax.backend.cuda.cublas import partition_for_cublas
from tirax.tvm_api.relax.backend.cuda.cutlass import partition_for_cutlass
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n"


def function(params, *bindings, out=None):
    body = "\n".join(f"            {b}" for b in bindings)
    out = out or bindings[-1].split(" =")[0]
    text = (
        f"{HEAD}\n@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        with R.dataflow():\n"
        f"{body}\n            R.output({out})\n        return {out}\n"
    )
    return from_source(text)


def params(**shapes):
    return ", ".join(f'{name}: R.Tensor({shape}, "{dtype}")' for name, (shape, dtype) in shapes.items())


def composites(mod):
    """The names of the patterns that were found."""
    closures = (b.value for f in mod.functions.values() for block in f.body.blocks for b in block.bindings)
    return sorted(c.attrs["Composite"] for c in closures if isinstance(c, relax.Function))


PLAIN = params(x=("('n', 8)", "float32"), w=("(8, 4)", "float32"), b=("(4,)", "float32"), r=("('n', 4)", "float32"))
TRANSPOSED = params(x=("('n', 8)", "float32"), w=("(4, 8)", "float32"), b=("(4,)", "float32"))
DENSE = ("m = R.matmul(x, w)", "s = R.add(m, b)", "a = R.nn.relu(s)")
TAKEN = {
    "product": (partition_for_cublas, PLAIN, DENSE[:1], "cublas.matmul"),
    "bias": (partition_for_cublas, PLAIN, DENSE[:2], "cublas.matmul_bias"),
    "activation": (partition_for_cublas, PLAIN, DENSE, "cublas.matmul_bias_relu"),
    "transposed": (
        partition_for_cublas,
        TRANSPOSED,
        ("t = R.permute_dims(w)", "m = R.matmul(x, t)", "s = R.add(m, b)"),
        "cublas.matmul_transposed_bias",
    ),
    "cutlass": (partition_for_cutlass, PLAIN, DENSE, "cutlass.matmul_bias_relu"),
    "residual": (
        partition_for_cutlass,
        PLAIN,
        (*DENSE[:2], "o = R.multiply(r, s)", "p = R.nn.relu(o)"),
        "cutlass.matmul_bias_residual_multiply_relu",
    ),
}


@pytest.mark.parametrize("case", TAKEN)
def test_what_is_taken(case):
    partition, inputs, bindings, pattern = TAKEN[case]
    before = function(inputs, *bindings)
    after = partition(before)
    assert composites(after) == [pattern]
    assert [f.attrs["Codegen"] for f in after.functions.values() if "Codegen" in f.attrs] == [pattern.split(".")[0]]
    assert len(after["main"].body.blocks[0].bindings) == 1
    assert_same_meaning(before.op, after.op)


def test_a_residual_has_the_shape_of_the_result():
    parameters = params(x=("(2, 8)", "float32"), w=("(8, 4)", "float32"), b=("(4,)", "float32"), r=("(4,)", "float32"))
    mod = partition_for_cutlass(function(parameters, *DENSE[:2], "o = R.add(s, r)"))
    assert composites(mod) == ["cutlass.matmul_bias"]


def test_what_is_used_elsewhere_stays():
    mod = function(PLAIN, *DENSE[:2], "o = R.divide(s, m)")
    assert composites(partition_for_cublas(mod)) == ["cublas.matmul"]


LEFT = {
    "float64": params(x=("(2, 8)", "float64"), w=("(8, 4)", "float64")),
    "two dtypes": params(x=("(2, 8)", "float16"), w=("(8, 4)", "float32")),
    "summed over a symbolic size": params(x=("(2, 'k')", "float32"), w=("('k', 4)", "float32")),
    "a left side that is repeated": params(x=("(2, 8)", "float32"), w=("(3, 8, 4)", "float32")),
    "integers, not by fours": params(x=("(2, 6)", "int8"), w=("(6, 4)", "int8")),
    "unknown shape": 'x: R.Tensor(dtype="float32", ndim=2), w: R.Tensor((8, 4), "float32")',
}


@pytest.mark.parametrize("case", LEFT)
def test_what_is_left(case):
    out = 'out_dtype="float32"' if case == "two dtypes" else "out_dtype=None"
    mod = function(LEFT[case], f"m = R.matmul(x, w, {out})")
    assert composites(partition_for_cublas(mod)) == []
    assert composites(partition_for_cutlass(mod)) == []


@pytest.mark.parametrize(
    ("x", "w"), [("('n', 2, 8)", "('n', 8, 4)"), ("('n', 2, 8)", "(8, 4)"), ("(3, 2, 8)", "(1, 8, 4)")]
)
def test_batches(x, w):
    mod = function(params(x=(x, "float16"), w=(w, "float16")), "m = R.matmul(x, w)")
    assert composites(partition_for_cublas(mod)) == ["cublas.matmul"]


def test_scaled_products():
    parameters = params(x=("(2, 8)", "int8"), w=("(4, 8)", "int8"))
    steps = ("t = R.permute_dims(w)", "m = R.matmul(x, t)")
    for zero, actual in ((0, "cublas.matmul_transposed_dequantize"), (1, "cublas.matmul_transposed")):
        last = f"d = R.dequantize(m, R.const(0.5, 'float32'), R.const({zero}, 'int8'), axis=-1)"
        assert composites(partition_for_cublas(function(parameters, *steps, last))) == [actual]


def test_libraries_are_not_called():
    mod = partition_for_cublas(function(PLAIN, *DENSE))
    with pytest.raises(NameLookupError, match=r"relax\.ext\.cublas"):
        relax.transform.RunCodegen()(mod)
