"""Found by the fuzzer of rewriting."""

from tirax.dev.fuzz.kinds import KINDS

MESSAGE = "failed: StructuralInequalityError: error: the programs are not structurally equal: the kind of op differ"
CASE = """\
# tir-simplify
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), F: T.Buffer((8,), "float32"), c: T.handle):
        n = T.int32()
        C = T.match_buffer(c, (n,), "int32")
        if (T.Select((n < n), 8, n) <= T.Cast("int32", T.Cast("int8", n))):
            for i1 in range(1):
                if (T.max(i1, n) >= T.Cast("int32", T.Cast("uint8", B[2]))):
                    A[T.truncmod(i1, 8) % 16] = (i1 // 2)
                    if n > 0:
                        C[i1 % n] = ((i1 + n) + (n + n))
                    A[n % 16] = n
                else:
                    A[n % 16] = n
                A[n % 16] = n
        else:
            A[n % 16] = n
        A[n % 16] = n
"""


def test_rewriting_1a8cab26() -> None:
    KINDS["rewriting"].check(CASE)
