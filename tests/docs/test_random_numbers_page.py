"""The Python block of docs/random_numbers.md runs; its table has every operator."""

from pages import DOCS, python_blocks, run_blocks

from tirax.dialects.relax import OPERATORS

PAGE = DOCS / "random_numbers.md"


def test_the_example_of_the_page(tmp_path):
    blocks = python_blocks(PAGE)
    assert blocks
    run_blocks(blocks, "random_numbers", tmp_path)


def test_the_table_has_all_operators():
    names = [name.removeprefix("relax.") for name in OPERATORS if name.startswith("relax.random.")]
    table = "\n".join(line.split("|")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `random."))
    assert len(names) == 8 and all(f"`{name}`" in table for name in names)
