"""The Python blocks of docs/quantized_weights.md run, one after the other; its table has every format."""

import importlib.util
import re
from pathlib import Path

from tirax.dialects.block_formats import BLOCK_FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "quantized_weights.md"


def test_the_examples_of_the_page(tmp_path):
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    path = tmp_path / "quantized_weights_page.py"
    path.write_text("\n".join(blocks))
    spec = importlib.util.spec_from_file_location("quantized_weights_page", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_the_table_has_all_formats():
    rows = re.findall(r"^\| (`.*?) \| ([\d to]+) \| ([\d. to]+) \|", PAGE.read_text(), re.MULTILINE)
    known = {name.strip("`"): row for row in rows for name in [row[0]] if "," not in name}
    for name, fmt in BLOCK_FORMATS.items():
        if name in known:
            assert known[name][1:] == (str(fmt.size), str(float(f"{fmt.block_bytes * 8 / fmt.size:.3g}")))
        else:
            assert any(name.partition("_g")[0] in text for text, *_ in rows)
