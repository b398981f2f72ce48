"""docs/reference says what the code says, and every public name has a docstring."""

from pathlib import Path

import pytest

from tirax.tools import reference

FOLDER = Path(reference.__file__).parents[1] / "docs" / "reference"


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_page_is_up_to_date(name):
    if not FOLDER.is_dir():
        pytest.skip("the documents are in the repository, not in the installed package")
    assert (FOLDER / name).read_text() == reference.PAGES[name](), "run: python -m tirax.tools.reference"


def test_every_public_name_has_a_docstring():
    lines = [line for line in reference.api().splitlines() if line.startswith("- `")]
    bare = [line for line in lines if line.endswith(": ")]
    assert lines and not bare
