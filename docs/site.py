"""What `make docs` does beside mkdocs: files of the repository that pages link to are pages of the site, too.

Pages link to sources, examples and pages outside of docs/ as they lie in the repository, so that the links work there.
In the site `CONTRIBUTING.md` is a page below `repository/`, and a source is a page that shows it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
LANGUAGES = {".py": "python", ".mlir": "text", ".toml": "toml", "": "text"}
SHOWN: dict[str, str] = {}
"""The pages that this adds, and the file of the repository that each shows."""


def on_files(files: Files, config: Any) -> Files:
    """Add a page for each file that a page links to and that is none of the site's own pages."""
    waiting = [(f"docs/{f.src_uri}", f.content_string) for f in files.documentation_pages()]
    while waiting:
        here, text = waiting.pop()
        for path in _links(here, text):
            place = _place(path)
            if place is not None and place not in SHOWN:
                SHOWN[place] = path
                content = (ROOT / path).read_text(encoding="utf-8")
                page = _page(path, content)
                files.append(File.generated(config, place, content=page, inclusion=InclusionLevel.NOT_IN_NAV))
                waiting += [(path, content)] if path.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Let links to these files lead to their pages."""
    uri = page.file.src_uri
    here = SHOWN.get(uri, f"docs/{uri}")

    def changed(link: re.Match[str]) -> str:
        path = _target(here, link[1])
        place = _place(path) or (path.removeprefix("docs/") if uri in SHOWN else None)
        return link[0] if place is None else posixpath.relpath(place, posixpath.dirname(uri) or ".") + (link[2] or "")

    return _outside_of_code(markdown, lambda text: LINK.sub(changed, text)) if here.endswith(".md") else markdown


def _links(here: str, text: str) -> list[str]:
    """The files of the repository that a page links to."""
    links: list[str] = []
    _outside_of_code(text, lambda part: "".join(links.extend(m[1] for m in LINK.finditer(part)) or part))
    return [_target(here, link) for link in links]


def _target(here: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(here), link))


def _place(path: str) -> str | None:
    """The page that shows a file of the repository; None for the site's own pages and for what is no file."""
    if not (ROOT / path).is_file():
        return None
    if Path(path).suffix in LANGUAGES:
        return f"repository/{path}.md"
    return f"repository/{path}" if path.endswith(".md") and not path.startswith("docs/") else None


def _page(path: str, text: str) -> str:
    if path.endswith(".md"):
        return text
    return f"# `{path}`\n\n````{LANGUAGES[Path(path).suffix]}\n{text}````\n"


def _outside_of_code(markdown: str, change: Callable[[str], str]) -> str:
    """A page with what is in no fenced block changed."""
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else change(part) for part in parts)
