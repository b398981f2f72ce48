"""The viewer in a real browser: what is shown of a trace, of one that is cut, and of texts that would break out."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tirax.driver.tracing.file import TraceFile, packed

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


def shown(path, tab: str) -> str:
    """The page as it stands after its scripts have run."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom"]
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
