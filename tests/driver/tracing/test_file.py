"""The file of a trace: what is written is read, wherever it ends, and no text gets out of its record."""

from __future__ import annotations

import json
import re

from tirax.driver.tracing.file import CLOSE, OPEN, TraceFile, packed, records, to_json, unpacked

NASTY = ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "\u2028\0\ud800", '"\\', "ü"]


def test_texts_do_not_leave_their_records(tmp_path):
    file = TraceFile(str(tmp_path / "t.html"))
    file.add("program", title=NASTY)
    file.close()
    text = (tmp_path / "t.html").read_text()
    assert records(text) == [{"t": "program", "title": NASTY}]
    body = text.partition("<body>")[2]
    assert body.count("<script") == body.count("</script") == 1
    assert "<" not in to_json(NASTY)


def test_packed():
    assert unpacked(packed(NASTY)) == NASTY
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", packed(NASTY))


def test_a_record_is_in_the_file_at_once(tmp_path):
    file = TraceFile(str(tmp_path / "t.html"))
    file.add("begin", name="fuse-ops")
    assert records((tmp_path / "t.html").read_text()) == [{"t": "begin", "name": "fuse-ops"}]
    file.close()


def test_a_file_that_ends_anywhere_has_the_records_before():
    text = "".join(f"{OPEN}{json.dumps({'n': n})}{CLOSE}" for n in range(3))
    for end in range(len(text)):
        events = [r["n"] for r in records(text[:end])]
        assert events == list(range(text[:end].count("</script>")))


def test_the_file_needs_nothing_else(small):
    head = small.html.partition("<body>")[0]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", head)
    assert not re.search(r"\b(src|href)=", head) and "@import" not in head
    assert "innerHTML" not in head and "document.write" not in head and "eval(" not in head
