"""What the operations of xdsl_extras refuse."""

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

BAD = {
    "'arith.extsi' needs a wider result": "arith.extsi %v : vector<4xi32> to vector<4xi8>",
    "'arith.extui' needs a wider": "arith.extui %v : vector<4xi32> to vector<4xi32>",
    "'arith.trunci' needs a narrower": "arith.trunci %v : vector<4xi32> to vector<4xi64>",
    "'arith.sitofp' changes the shape": "arith.sitofp %v : vector<4xi32> to vector<8xf32>",
    "'arith.uitofp' changes the shape": "arith.uitofp %v : vector<4xi32> to f32",
    "'arith.fptosi' cannot convert": "arith.fptosi %v : vector<4xi32> to vector<4xi32>",
    "'arith.index_cast' converts between index": "arith.index_cast %v : vector<4xi32> to vector<4xi64>",
    "cannot compare values of": "arith.cmpf olt, %v, %v : vector<4xi32>",
    "compares two values of one type": '"arith.cmpi"(%v, %v) <{predicate = 0 : i64}> : '
    "(vector<4xi32>, vector<4xi32>) -> i1",
    "unknown predicate 10": '"arith.cmpi"(%v, %v) <{predicate = 10 : i64}> : '
    "(vector<4xi32>, vector<4xi32>) -> vector<4xi1>",
    "chooses between values of one type": '"arith.select"(%c, %v, %f) : (i1, vector<4xi32>, vector<4xf32>) -> '
    "vector<4xi32>",
    "needs i1 or one i1 for each element": "arith.select %m, %v, %v : vector<8xi1>, vector<4xi32>",
    "an element of": '"llvm.extractelement"(%v, %i) : (vector<4xi32>, i64) -> f32',
    "a pointer for each index": "llvm.getelementptr %p[%v] : (!llvm.ptr, vector<4xi32>) -> vector<8x!llvm.ptr>, f32",
    "one i1 for each element": "llvm.select %m, %v, %v : vector<8xi1>, vector<4xi32>",
    "unknown predicate 16": '"llvm.fcmp"(%f, %f) <{predicate = 16 : i64, fastmathFlags = #llvm.fastmath<none>}> : '
    "(vector<4xf32>, vector<4xf32>) -> vector<4xi1>",
}
MISSPELT = {
    "unknown predicate 'lt'": "arith.cmpi lt, %v, %v : vector<4xi32>",
    "unknown predicate 'slt'": "arith.cmpf slt, %f, %f : vector<4xf32>",
    "unknown predicate 'eq'": 'llvm.fcmp "eq" %f, %f : vector<4xf32>',
}


def _text(operation):
    return f"""
        func.func @f(%v: vector<4xi32>, %f: vector<4xf32>, %c: i1, %m: vector<8xi1>, %i: i64, %p: !llvm.ptr) {{
          %r = {operation}
          func.return
        }}"""


@pytest.mark.parametrize("message", BAD)
def test_refused(backend, message):
    with pytest.raises(VerifyException) as error:
        backend.parse(_text(BAD[message]))
    assert message in str(error.value)


@pytest.mark.parametrize("message", MISSPELT)
def test_misspelt(backend, message):
    with pytest.raises(ParseError) as error:
        backend.parse(_text(MISSPELT[message]))
    assert message in str(error.value)


@pytest.mark.parametrize("hints", ["unroll = <full = true>", "mustProgress = true, vectorize = <width = 4 : i32>"])
def test_hints_are_read_back(backend, hints):
    text = f"#llvm.loop_annotation<{hints}>"
    module = backend.parse(f"builtin.module attributes {{hints = {text}}} {{}}")
    assert str(module.attributes["hints"]) == text


def test_switch_must_fit(backend):
    with pytest.raises(VerifyException, match="do not fit together"):
        backend.parse("""
        llvm.func @f(%v: i64) {
          "llvm.switch"(%v) [^bb1, ^bb1] <{case_values = dense<[1, 2]> : vector<2xi64>,
            case_operand_segments = array<i32: 0>,
            operandSegmentSizes = array<i32: 1, 0, 0>}> : (i64) -> ()
        ^bb1:
          llvm.return
        }""")
