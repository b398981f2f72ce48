"""The entry points of pyproject.toml load."""

from tirax.extend import OPERATORS, full_universe


def test_entry_points_load():
    universe = full_universe()
    assert "relax.acme.shrink" in OPERATORS
    assert {"acme-cancel-negatives", "acme-double-by-adding", "lower-acme"} <= set(universe.all_passes)
    assert [op.name for op in universe.all_dialects["acme"]().operations] == ["acme.reverse", "acme.blend"]
