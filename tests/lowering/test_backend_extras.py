"""What the operations of xdsl_extras refuse."""

import pytest
from xdsl.utils.exceptions import VerifyException

BAD = {
    "'arith_extras.extsi' needs a wider result": "arith_extras.extsi %v : vector<4xi32> to vector<4xi8>",
    "'arith_extras.extui' needs a wider": "arith_extras.extui %v : vector<4xi32> to vector<4xi32>",
    "'arith_extras.trunci' needs a narrower": "arith_extras.trunci %v : vector<4xi32> to vector<4xi64>",
    "'arith_extras.sitofp' changes the shape": "arith_extras.sitofp %v : vector<4xi32> to vector<8xf32>",
    "'arith_extras.uitofp' changes the shape": "arith_extras.uitofp %v : vector<4xi32> to f32",
    "'arith_extras.fptosi' cannot convert": "arith_extras.fptosi %v : vector<4xi32> to vector<4xi32>",
    "'arith_extras.index_cast' converts between index": "arith_extras.index_cast %v : vector<4xi32> to vector<4xi64>",
    "unknown predicate 'lt'": 'arith_extras.cmpi "lt" %v, %v : vector<4xi32>, vector<4xi32> -> vector<4xi1>',
    "unknown predicate 'slt'": 'arith_extras.cmpf "slt" %f, %f : vector<4xf32>, vector<4xf32> -> vector<4xi1>',
    "cannot compare values of": 'arith_extras.cmpf "olt" %v, %v : vector<4xi32>, vector<4xi32> -> vector<4xi1>',
    "compares two values of one type": 'arith_extras.cmpi "eq" %v, %v : vector<4xi32>, vector<4xi32> -> i1',
    "chooses between values of one type": "arith_extras.select %c, %v, %f : i1, vector<4xi32>, vector<4xf32> -> "
    "vector<4xi32>",
    "needs i1 or one i1 for each element": "arith_extras.select %m, %v, %v : vector<8xi1>, vector<4xi32>, "
    "vector<4xi32> -> vector<4xi32>",
    "an element of": "llvm_extras.extractelement %v[%i : i64] : vector<4xi32> -> f32",
    "a pointer for each index": "llvm_extras.getelementptr %p[%v], f32 : !llvm.ptr, vector<4xi32> -> "
    "vector<8x!llvm.ptr>",
    "one i1 for each element": "llvm_extras.select %c, %v, %v : i1, vector<4xi32>, vector<4xi32> -> vector<4xi32>",
    "unknown predicate 'eq'": 'llvm_extras.fcmp "eq" %f, %f : vector<4xf32>, vector<4xf32> -> vector<4xi1>',
}


@pytest.mark.parametrize("message", BAD)
def test_refused(backend, message):
    with pytest.raises(VerifyException) as error:
        backend.parse(f"""
        func.func @f(%v: vector<4xi32>, %f: vector<4xf32>, %c: i1, %m: vector<8xi1>, %i: i64, %p: !llvm.ptr) {{
          %r = {BAD[message]}
          func.return
        }}""")
    assert message in str(error.value)


def test_switch_must_fit(backend):
    with pytest.raises(VerifyException, match="do not fit together"):
        backend.parse("""
        llvm.func @f(%v: i64) {
          "llvm_extras.switch"(%v) [^bb1, ^bb1] <{cases = array<i64: 1, 2>, segments = array<i32: 0>,
            operandSegmentSizes = array<i32: 1, 0, 0>}> : (i64) -> ()
        ^bb1:
          llvm.return
        }""")
