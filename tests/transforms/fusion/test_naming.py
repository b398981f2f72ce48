"""Names that fusion makes."""

from tirax.ir.names import fresh_suffix


class Counting(set):
    """A set that counts how often it is asked."""

    lookups = 0

    def __contains__(self, name):
        self.lookups += 1
        return super().__contains__(name)


def test_suffixes_in_order():
    taken = {"y", "z_1"}
    actual = [fresh_suffix("x", taken) for _ in range(40)]
    assert actual == ["x", *(f"x_{i}" for i in range(1, 40))]
    assert [fresh_suffix("y", taken), fresh_suffix("z", taken), fresh_suffix("z", taken)] == ["y_1", "z", "z_2"]
    assert taken == {"y", "z_1", *actual, "y_1", "z", "z_2"}


def test_a_name_between_is_no_obstacle():
    taken = {"x", "x_1", "x_2", "x_4"}
    new = {fresh_suffix("x", taken) for _ in range(4)}
    assert len(new) == 4
    assert len(taken) == 8


def test_many_of_one_name():
    taken = Counting()
    for _ in range(4000):
        fresh_suffix("lv", taken)
    assert taken.lookups < 4000 * 40
