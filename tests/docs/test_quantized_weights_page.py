"""The Python blocks of docs/quantized_weights.md run, one after the other; its table has every format."""

import re

from pages import DOCS, python_blocks, run_blocks
from strength import only_full

from tirax.dialects.block_formats import BLOCK_FORMATS

PAGE = DOCS / "quantized_weights.md"


@only_full  # tests/transforms/operators/test_quantize_weights.py says the same in detail
def test_the_examples_of_the_page(tmp_path):
    blocks = python_blocks(PAGE)
    assert blocks
    run_blocks(blocks, "quantized_weights", tmp_path)


def test_the_table_has_all_formats():
    rows = re.findall(r"^\| (`.*?) \| ([\d to]+) \| ([\d. to]+) \|", PAGE.read_text(), re.MULTILINE)
    known = {name.strip("`"): row for row in rows for name in [row[0]] if "," not in name}
    for name, fmt in BLOCK_FORMATS.items():
        if name in known:
            assert known[name][1:] == (str(fmt.size), str(float(f"{fmt.block_bytes * 8 / fmt.size:.3g}")))
        else:
            assert any(name.partition("_g")[0] in text for text, *_ in rows)
