"""A schedule rule: a tile of a matrix product stays in registers."""

from tirax.extend import ScheduleRule, needs_multi_level_tiling, tir


class RegisterTile(ScheduleRule):
    """Compute `rows` x `lanes` elements of a product at once; how many rows is left to the search."""

    def __init__(self, rows=(2, 4, 8), lanes=16):
        self.rows, self.lanes = rows, lanes

    def apply(self, sch, block):
        op = sch.operation(block)
        if not isinstance(op, tir.BlockOp) or not needs_multi_level_tiling(op):
            return [sch]
        i, j, k = sch.get_loops(block)[-3:]
        rows = sch.sample_categorical(self.rows, [1 / len(self.rows)] * len(self.rows))
        i_0, i_1 = sch.split(i, [None, rows])
        j_0, j_1 = sch.split(j, [None, self.lanes])
        sch.reorder(i_0, j_0, k, i_1, j_1)
        sch.unroll(i_1)
        sch.vectorize(j_1)
        return [sch]
