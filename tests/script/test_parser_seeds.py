"""The listings of the tutorials (their indentation restored): they parse, verify and print as they are shown."""

from pathlib import Path

import numpy as np
import pytest

from tirax.script import ScriptError, parse_source, print_script

LISTINGS = Path(__file__).parent / "listings"
ALL = sorted(p.name for p in LISTINGS.glob("seed_*.txt"))
UNDEFINED = "seed_001_0.txt"
PRINTED = {"seed_000_0.txt", "seed_000_1.txt", "seed_000_2.txt", "seed_000_3.txt", "seed_003_5.txt"}
"""Those that a program printed, so that parsing and printing gives the text back."""
METADATA = {
    "relax.expr.Constant": [np.ones(shape, "float32") for shape in ((128, 784), (128,), (10, 128), (10,))],
}


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("# from")]


@pytest.mark.parametrize("name", [n for n in ALL if n != UNDEFINED])
def test_listing_parses_and_round_trips(name: str) -> None:
    text = (LISTINGS / name).read_text()
    module = parse_source(text, name, {"metadata": METADATA})
    module.verify()
    printed = print_script(module)
    again = parse_source(printed, extra_vars={"metadata": METADATA})
    assert print_script(again) == printed
    if name in PRINTED:
        assert lines(printed) == lines(text)


def test_all_listings_are_there() -> None:
    assert len(ALL) == 13
    assert set(ALL) >= PRINTED | {UNDEFINED}


def test_undefined_names_are_all_named() -> None:
    text = (LISTINGS / UNDEFINED).read_text()
    with pytest.raises(ScriptError) as info:
        parse_source(text, "seed.py")
    error = info.value
    assert error.message == "undefined names 'lv0', 'b'"
    assert error.location is not None
    assert (error.location.line, error.location.column) == (45, 41)
    shown = str(error).splitlines()
    caret = next(i for i, line in enumerate(shown) if set(line.strip()) <= {"|", " ", "^"} and "^" in line)
    assert shown[caret - 1][shown[caret].index("^") :].startswith("lv0")
    assert "'lv0': did you mean 'lv'" in str(error)
    assert "seed.py:46:77" in str(error)


FUNCTIONS = {
    "shapes of signature": """
@R.function
def relax_mlp(
    data: R.Tensor(("n", 784), dtype="float32"),
    w0: R.Tensor((784, 128), dtype="float32"),
    b0: R.Tensor((128,), dtype="float32"),
    w1: R.Tensor((128, 10), dtype="float32"),
    b1: R.Tensor((10,), dtype="float32"),
) -> R.Tensor(("n", 10), dtype="float32"):
    with R.dataflow():
        lv0 = R.matmul(data, w0) + b0
        lv1 = R.nn.relu(lv0)
        lv2 = R.matmul(lv1, w1) + b1
        R.output(lv2)
    return lv2
""",
    "unknown dtype": """
@R.function(private=True)
def before(
    x: R.Tensor((1024,)),
    y: R.Tensor((1024,)),
    z: R.Tensor((1024,)),
):
    with R.dataflow():
        a = R.add(x, y)
        b = R.add(a, z)
        out = R.multiply(b, R.const(5.0))
        R.output(out)
    return out
""",
    "attention": """
@R.function
def main(
    Q: R.Tensor((2, 4096, 8, 40), "float32"),
    K: R.Tensor((2, 4096, 8, 40), "float32"),
    V: R.Tensor((2, 4096, 8, 40), "float32"),
) -> R.Tensor((2, 4096, 8, 40), "float32"):
    with R.dataflow():
        lv58 = R.permute_dims(Q, axes=[0, 2, 1, 3])
        lv59 = R.reshape(lv58, R.shape([16, 4096, 40]))

        lv61 = R.permute_dims(K, axes=[0, 2, 1, 3])
        lv62 = R.reshape(lv61, R.shape([16, 4096, 40]))

        lv64 = R.permute_dims(V, axes=[0, 2, 1, 3])
        lv65 = R.reshape(lv64, R.shape([16, 4096, 40]))

        lv62_transposed = R.permute_dims(lv62, axes=[0, 2, 1])
        lv3_1 = R.matmul(lv59, lv62_transposed)
        lv68 = R.multiply(lv3_1, R.const(0.15811388194561005, "float32"))
        lv69 = R.nn.softmax(lv68, axis=-1)
        lv_3 = R.matmul(lv69, lv65)

        lv71 = R.reshape(lv_3, R.shape([2, 8, 4096, 40]))
        lv72 = R.permute_dims(lv71, axes=[0, 2, 1, 3])
        R.output(lv72)

    return lv72
""",
    "fused attention": """
@R.function
def main(Q: R.Tensor((2, 64, 8, 40), "float32"), K: R.Tensor((2, 64, 8, 40), "float32"), V: R.Tensor((2, 64, 8, 40), "float32")):
    with R.dataflow():
        lv72 = R.nn.attention(Q, V, K, scale=None, causal_mask=None, window_size=None)
        R.output(lv72)
    return lv72
""",  # noqa: E501
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_listing_round_trips(name: str) -> None:
    module = parse_source(FUNCTIONS[name])
    module.verify()
    printed = print_script(module)
    assert print_script(parse_source(printed)) == printed


def test_printed_function_of_seed_002() -> None:
    function = next(iter(parse_source(FUNCTIONS["unknown dtype"]).body.block.ops))
    assert print_script(function).split("\n\n", 1)[1].splitlines() == [
        "@R.function(private=True)",
        "def main(x: R.Tensor((1024,)), y: R.Tensor((1024,)), z: R.Tensor((1024,))) -> R.Tensor((1024,)):",
        "    with R.dataflow():",
        "        a: R.Tensor((1024,)) = R.add(x, y)",
        "        b: R.Tensor((1024,)) = R.add(a, z)",
        '        out: R.Tensor((1024,)) = R.multiply(b, R.const(5.0, "float32"))',
        "        R.output(out)",
        "    return out",
    ]
