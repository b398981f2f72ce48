"""A default-schedule rule: tile sums over k into 4 rows and 16 columns."""

from tirax.extend import register_rule, rule_of_function


def row_tile(sch, block):
    """Tile matrix products; other blocks are left to the next rule."""
    loops = sch.get_loops(block)
    if len(loops) != 3:
        return
    i, j, k = loops
    j_0, j_1 = sch.split(j, [None, 16])
    i_0, i_1 = sch.split(i, [None, 4])
    sch.reorder(j_0, i_0, k, i_1, j_1)
    sch.vectorize(j_1)
    sch.unroll(i_1)
    for consumer in sch.get_consumers(block):
        sch.reverse_compute_at(consumer, i_0)
    sch.decompose_reduction(block, k)


register_rule(rule_of_function("acme row tile", row_tile), before="register_tiles")
