"""Several objects as one archive."""

import pytest

from tirax.runtime.engine import join_objects, split_objects
from tirax.runtime.errors import LoadError


def test_one_object_stays_as_it_is():
    assert join_objects([b"\x7fELF..."]) == b"\x7fELF..."
    assert split_objects(b"\x7fELF...") == [b"\x7fELF..."]


@pytest.mark.parametrize("sizes", [(1, 2), (8, 0, 3), (7,) * 14])
def test_what_is_joined_is_split(sizes):
    objects = [bytes([i]) * size for i, size in enumerate(sizes)]
    joined = join_objects(objects)
    assert split_objects(joined) == objects
    assert joined == join_objects(list(objects))


@pytest.mark.parametrize("damage", [lambda c: c[:-3], lambda c: c[:20], lambda c: c.replace(b"`\n", b"??", 1)])
def test_a_damaged_archive_is_refused(damage):
    with pytest.raises(LoadError, match="damaged"):
        split_objects(damage(join_objects([b"a" * 10, b"b" * 10])))
