"""The pages for newcomers name files and lines that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIFE, WHERE, GLOSSARY = (ROOT / "docs" / f"{name}.md" for name in ("life_of_a_matmul", "where_to_change", "glossary"))


def rows(page: Path) -> list[list[str]]:
    """The cells of the table of a page, its head left out."""
    lines = [line for line in page.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines[1:]]


def test_each_step_in_the_life_of_a_matmul_is_a_line_of_its_file():
    steps = re.findall(r"^\| \d+ \|.*\| `([\w/.]+)` \| `(.*)` \|$", LIFE.read_text(), re.MULTILINE)
    assert len(steps) == len(rows(LIFE)) == 12
    for file, line in steps:
        assert line in [text.strip() for text in (ROOT / file).read_text().splitlines()], (file, line)


def test_what_is_to_be_changed_is_where_the_page_says():
    paths = [path for row in rows(WHERE) for path in re.findall(r"`((?:[\w.]+/)*[\w.]+(?:\.\w+|/))`", " ".join(row))]
    paths += [path for row in rows(WHERE) for path in re.findall(r"`(tests/[\w/]+)`", " ".join(row))]
    assert len(rows(WHERE)) > 20 and len(paths) > 50
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_the_glossary_is_one_page_in_order():
    words = [row[0].strip("*").casefold() for row in rows(GLOSSARY)]
    assert len(words) > 30
    assert len(GLOSSARY.read_text().splitlines()) < 70
