"""The viewer in a real browser: what is shown of a trace, of one that is cut, and of texts that would break out."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tirax.driver.tracing.file import TraceFile, packed

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


def shown(path, tab: str, *more: str) -> str:
    """The page as it stands after its scripts have run."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom", *more]
    done = subprocess.run([CHROMIUM, *options, f"file://{path}#{tab}"], capture_output=True, text=True, timeout=120)
    return re.sub(r"<script.*?</script>", "", done.stdout, flags=re.DOTALL)


def test_levels_mark_what_belongs_together(small):
    page = shown(small.path, "Levels")
    levels = re.findall(r'data-level="([^"]*)"', page)
    assert levels == ["source", "Relax", "TIR", "scheduled TIR", "scf", "LLVM", "assembly"]
    for part in page.split("data-level=")[1:]:
        assert re.search(r'class="row[^"]* (related|exact)"', part), part[:40]


def test_a_cut_trace_says_in_which_pass(small, tmp_path):
    text = small.path.read_text()
    path = tmp_path / "cut.html"
    path.write_text(text[: text.index('"name":"fuse-tir"') + 40])
    page = shown(path, "Passes")
    assert "the trace ends while fuse-tir ran" in page
    assert "fuse-tir: not over" in page and "legalize-ops" in page


def test_text_of_a_program_is_text(tmp_path):
    nasty = '</script><img src=x onerror="document.title=1"><b>bold</b>'
    file = TraceFile(str(tmp_path / "t.html"))
    file.add("program", title=nasty)
    file.add("text", p=0, i=0, z=packed({"s": nasty, "p": [None]}))
    file.add("texts", p=0, n=-1, texts={nasty: 0})
    file.add("error", p=0, message=nasty)
    file.close()
    page = shown(tmp_path / "t.html", "Passes")
    assert "<b>bold" not in page and "<img" not in page
    assert page.count("&lt;b&gt;bold&lt;/b&gt;") >= 3


def node(number, label, inputs, weights=(), kind="operator"):
    return {"i": number, "k": kind, "o": label, "v": "", "s": "", "in": list(inputs), "w": list(weights)}


SHARED = [
    node(0, "x", [], kind="parameter"),
    node(1, "matmul", [0], ["layers.0.self_attn.in_proj_weight"]),
    node(2, "norm", [1], ["layers.0.norm.weight"]),
    node(3, "matmul", [2], ["layers.1.self_attn.in_proj_weight"]),
    node(4, "norm", [3], ["layers.0.norm.weight"]),  # one weight for two layers
    *(node(i, "exp", [i - 1]) for i in range(5, 60)),  # enough that modules are closed
    node(60, "result", [59], kind="result"),
]


@pytest.mark.parametrize("width", [480, 900, 1440])
def test_boxes_of_modules_stand_after_what_they_take(tmp_path, width):
    file = TraceFile(str(tmp_path / "t.html"))
    file.add("program", title="t")
    file.add("graph", p=0, name="imported", f="main", z=packed(SHARED))
    file.add("end", p=0)
    file.close()
    page = shown(tmp_path / "t.html", "Graph", f"--window-size={width},800")
    boxes = re.findall(r'<rect[^>]* y="([\d.]+)"[^>]*></rect><text[^>]*>([^<]*)</text>', page)
    rows = {label: float(y) for y, label in boxes}
    names = [name for name in rows if name.startswith("layers")]
    assert names and all(name.count("_") <= 1 for name in names)
    for start, end in re.findall(r'<path d="M[-\d.]+ ([-\d.]+) C[-\d. ]+ ([-\d.]+)"', page):
        assert float(start) < float(end), "an edge goes up"
