"""Links of the documentation lead somewhere, to a heading too, and the site's navigation has each page once.

`make docs` has the site checked by mkdocs; this needs nothing installed.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tirax.dev.reference.markdown import anchor

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "benchmarks").glob("*.md"))]
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")


def prose(page: Path) -> str:
    """A page without its blocks and spans of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", "`code`", text)


@cache
def places(page: Path) -> frozenset[str]:
    """The anchors of a page's headings."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return frozenset(anchor(heading) for heading in re.findall(r"^#+ +(.*)$", text, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    for target, place in LINK.findall(prose(page)):
        file = page.parent / target if target else page
        assert file.exists(), f"{target} is not there"
        assert not place or file.suffix != ".md" or place in places(file), f"{target} has no heading #{place}"


def test_the_navigation_of_the_site_has_each_page_once():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"^ +- (?:.*: )?(\S+\.md)$", nav, re.MULTILINE)
    pages = [p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(pages), "nav: of mkdocs.yml"
