"""Passes on Relax: one program for each branch."""

from __future__ import annotations

import re
import textwrap

from ..rows import Row

_PARAMS = 'def main(x: R.Tensor(({0}, 4), "float32"), y: R.Tensor(({0}, 4), "float32")):\n'
_HEAD = {
    "": "@R.function\n" + _PARAMS.format(4),
    "impure": "@R.function(pure=False)\n" + _PARAMS.format(4),
    "symbolic": "@R.function\n" + _PARAMS.format('"n"') + "    n = T.int64()\n",
}


def _function(body: str, kind: str = "") -> str:
    return _HEAD[kind] + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n"


_BODIES = {
    "a binding that nothing uses": """
a = R.add(x, y)
b = R.multiply(x, y)
return a
""",
    "a binding that nothing uses, in a dataflow block": """
with R.dataflow():
    a = R.add(x, y)
    b = R.multiply(x, y)
    c = R.exp(a)
    R.output(c)
return c
""",
    "an output that nothing uses": """
with R.dataflow():
    a = R.add(x, y)
    b = R.multiply(x, y)
    R.output(a, b)
return a
""",
    "a call with effects": """
_ = R.print(x, format="{}")
a = R.add(x, y)
return a
""",
    "equal expressions": """
with R.dataflow():
    a = R.add(x, y)
    b = R.add(x, y)
    c = R.multiply(a, b)
    R.output(c)
return c
""",
    "equal expressions outside of dataflow": """
a = R.add(x, y)
b = R.add(x, y)
c = R.multiply(a, b)
return c
""",
    "equal expressions of equal expressions": """
with R.dataflow():
    a = R.add(x, y)
    b = R.exp(a)
    c = R.add(x, y)
    d = R.exp(c)
    e = R.multiply(b, d)
    R.output(e)
return e
""",
    "an alias": """
with R.dataflow():
    a = R.add(x, y)
    b = a
    c = R.exp(b)
    R.output(c)
return c
""",
    "an alias of a parameter": """
a = x
b = a
c = R.add(b, y)
return c
""",
    "an alias that is returned": """
a = R.add(x, y)
b = a
return b
""",
    "an alias of an output": """
with R.dataflow():
    a = R.add(x, y)
    b = a
    R.output(b)
return b
""",
    "a tuple and its fields": """
with R.dataflow():
    a = (x, y)
    b = a[0]
    c = a[1]
    d = R.add(b, c)
    R.output(d)
return d
""",
    "a tuple of its fields": """
a = R.split(x, indices_or_sections=2, axis=0)
b = a[0]
c = a[1]
d = (b, c)
return d
""",
    "a tuple that is returned": """
a = R.exp(x)
b = R.exp(y)
return (a, b)
""",
    "a nested tuple": """
a = ((x, y), x)
b = a[0]
c = b[1]
return c
""",
    "constants": """
with R.dataflow():
    a = R.add(R.const(1, "float32"), R.const(2, "float32"))
    b = R.multiply(x, a)
    R.output(b)
return b
""",
    "a cast that is known": """
a = R.add(x, y)
b = R.match_cast(a, R.Tensor((4, 4), "float32"))
c = R.exp(b)
return c
""",
    "two dataflow blocks": """
with R.dataflow():
    a = R.add(x, y)
    R.output(a)
with R.dataflow():
    b = R.exp(a)
    R.output(b)
return b
""",
    "a block between calls with effects": """
_ = R.print(x, format="{}")
a = R.add(x, y)
b = R.exp(a)
c = R.exp(b)
_1 = R.print(c, format="{}")
return c
""",
    "a single pure call": """
a = R.add(x, y)
return a
""",
    "nested calls": """
a = R.exp(R.add(R.multiply(x, y), y))
return a
""",
    "a nested call as the result": """
return R.exp(R.add(x, y))
""",
    "elementwise and a sum": """
with R.dataflow():
    a = R.add(x, y)
    b = R.exp(a)
    c = R.sum(b, axis=[1])
    R.output(c)
return c
""",
    "a product with an epilogue": """
with R.dataflow():
    a = R.matmul(x, y)
    b = R.add(a, x)
    c = R.nn.relu(b)
    R.output(c)
return c
""",
    "two consumers": """
with R.dataflow():
    a = R.add(x, y)
    b = R.exp(a)
    c = R.sqrt(a)
    d = R.multiply(b, c)
    R.output(d)
return d
""",
    "a transposed factor": """
with R.dataflow():
    a = R.permute_dims(y, axes=None)
    b = R.matmul(x, a)
    R.output(b)
return b
""",
    "a reshape to itself": """
with R.dataflow():
    a = R.reshape(x, R.shape([4, 4]))
    b = R.add(a, y)
    R.output(b)
return b
""",
    "a batch norm": """
with R.dataflow():
    a = R.nn.layer_norm(x, R.zeros(R.shape([4]), "float32"), R.zeros(R.shape([4]), "float32"), axes=[-1])
    R.output(a)
return a
""",
}
_SYMBOLIC = {
    "a symbolic shape": """
a = R.add(x, y)
b = R.exp(a)
return b
""",
    "a symbolic cast": """
a = R.add(x, y)
m = T.int64()
b = R.match_cast(a, R.Tensor((m, 4), "float32"))
c = R.exp(b)
return c
""",
    "a symbolic reshape": """
with R.dataflow():
    a = R.reshape(x, R.shape([n * 4]))
    b = R.exp(a)
    R.output(b)
return b
""",
}
_MERGED = "0.27 joins blocks that follow each other"
_REMOVED = "bindings that nothing uses are removed"
_KILLED = {"a tuple of its fields": "0.20 returns the tuple itself", "a nested tuple": "a tuple in a tuple has a name"}
_NOT_KILLED = ("a tuple and its fields", "an alias of an output", "an output that nothing uses")
_REASONS = (
    ("a symbolic cast", "CallTIRRewrite", "0.27 declares variables before anything else"),
    ("a symbolic shape", "StaticPlan", "0.27 puts constants first"),
    ("two dataflow blocks", "^(?!.*(ToDataflow|NonDataflow))", _MERGED),
    (
        "a tuple of its fields",
        "Canonicalize|ToDataflow|Expand|UnusedOutputs|Adjust|Reorder|Redundant|FuseTIR",
        "0.20 returns the tuple itself",
    ),
    ("constants", "CallTIRRewrite|FuseTIR", "0.27 gives the iterator of a scalar 64 bits"),
    ("a reshape to itself", "CallTIRRewrite|FuseTIR", "0.27 simplifies indices further"),
    ("a symbolic reshape", "CallTIRRewrite|FuseTIR", "0.27 simplifies indices further"),
    ("a batch norm", "CallTIRRewrite|FuseTIR", "0.27 divides by a constant"),
    ("", "FastMath", "other polynomials, with smaller errors"),
    ("", "LazySetOutput", "calls with effects leave dataflow blocks, of which TVM returns ill-formed ones"),
    ("", "KillAfterLastUse|LowerRuntime", "effects are not put into dataflow blocks, which would be ill-formed"),
    (
        "a nested tuple",
        r"^relax.CanonicalizeBindings\(\)$|ToDataflow\((min_size=1)?\)$",
        "a tuple in a tuple gets a name",
    ),
    ("a transposed factor", "FuseTransposeMatmul", "0.27 keeps the function of the pattern, and writes out_ty"),
    ("a binding that nothing uses", "FuseTransposeMatmul", _REMOVED),
    ("a binding that nothing uses, in a dataflow block", "FuseTransposeMatmul", _REMOVED),
    ("an output that nothing uses", "FuseTransposeMatmul", _REMOVED),
)
"""Why rows differ: the name, an expression for their passes, the reason."""


def _reason(passes: str, name: str, body: str) -> str:
    if "FastMath" in passes and "R.exp(" not in body:
        return ""
    in_block = "R.output" in body and "effects" not in name
    if re.search("LazySet|KillAfter|LowerRuntime", passes) and not in_block:
        return _KILLED.get(name, "") if "KillAfter" in passes else ""
    if (
        "LowerRuntime" in passes
        and "R.reshape" not in body
        and name != "two dataflow blocks"
        or "KillAfter" in passes
        and name in _NOT_KILLED
    ):
        return ""
    return next((why for row, where, why in _REASONS if row in ("", name) and re.search(where, passes)), "")


_PASSES = (
    "relax.Normalize()",
    "relax.CanonicalizeBindings()",
    "relax.DeadCodeElimination()",
    "relax.EliminateCommonSubexpr()",
    "relax.EliminateCommonSubexpr(call_only=True)",
    "relax.ConvertToDataflow()",
    "relax.ConvertToDataflow(min_size=1)",
    "relax.ToNonDataflow()",
    "relax.FoldConstant()",
    "relax.RemovePurityChecking()",
    "relax.FuseTransposeMatmul()",
    "relax.TopologicalSort()",
    "relax.DecomposeOpsForInference()",
    "relax.DecomposeOpsForTraining()",
    "relax.LambdaLift()",
    "relax.AttachGlobalSymbol()",
    "relax.RewriteDataflowReshape()",
    "relax.ExpandTupleArguments()",
    "relax.RemoveUnusedParameters()",
    "relax.RemoveUnusedOutputs()",
    "relax.InlinePrivateFunctions()",
    "relax.AdjustMatmulOrder()",
    "relax.ExpandMatmulOfSum()",
    "relax.CombineParallelMatmul()",
    "relax.ReorderPermuteDimsAfterConcat()",
    "relax.ReorderTakeAfterMatmul()",
    "relax.RemoveRedundantReshape()",
    "relax.FastMathTransform()",
    "relax.ComputePrimValue()",
    "relax.DataflowUseInplaceCalls()",
    "relax.RealizeVDevice()",
    "relax.LiftTransformParams()",
    "relax.LazyGetInput()",
    "relax.LazySetOutput()",
    "relax.BundleModelParams()",
    "relax.AllocateWorkspace()",
    "relax.KillAfterLastUse()",
    "relax.LowerRuntimeBuiltin()",
    "relax.SplitLayoutRewritePreproc()",
    "relax.LegalizeOps(); relax.AnnotateTIROpPattern(); relax.FuseOps(); relax.FuseTIR()",
    "relax.LegalizeOps(); relax.ToNonDataflow(); relax.RemovePurityChecking(); relax.CallTIRRewrite()",
    "relax.LegalizeOps(); relax.ToNonDataflow(); relax.RemovePurityChecking(); relax.CallTIRRewrite(); "
    "relax.StaticPlanBlockMemory()",
    "relax.ConvertToDataflow(); relax.DeadCodeElimination()",
    "relax.CanonicalizeBindings(); relax.EliminateCommonSubexpr(); relax.DeadCodeElimination()",
)
ROWS = [
    *(
        Row(each, name, _function(body, "impure" if "effects" in name else ""), reason=_reason(each, name, body))
        for each in _PASSES
        for name, body in _BODIES.items()
    ),
    *(
        Row(each, name, _function(body, "symbolic"), reason=_reason(each, name, body))
        for each in _PASSES
        for name, body in _SYMBOLIC.items()
    ),
]
