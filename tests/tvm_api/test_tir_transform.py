"""Every name of `tvm.tir.transform` is a pass here, or is left out with a reason."""

import pytest

from tirax.ir.passes.transform import Pass
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir import transform
from tirax.universe import TIRAX_UNIVERSE

# the passes of TVM 0.20
TEXT = """
    AnnotateDeviceRegions AnnotateEntryFunc BF16ComputeLegalize BF16StorageLegalize BindTarget CombineContextCall
    CommonSubexprElimTIR CompactBufferAllocation ConvertBlocksToOpaque ConvertForLoopsToSerial ConvertSSA
    DecorateDeviceScope DefaultGPUSchedule ExtractPrimFuncConstants FP8ComputeLegalize FP8StorageLegalize Filter
    FlattenBuffer ForceNarrowIndexToInt32 HoistExpression HoistIfThenElse InferFragment InjectDoubleBuffer
    InjectPTXAsyncCopy InjectPTXLDG32 InjectPermutedLayout InjectRollingBuffer InjectSoftwarePipeline
    InjectVirtualThread InlinePrivateFunctions InstrumentBoundCheckers InstrumentProfileIntrinsics LiftThreadBinding
    LoopPartition LowerAsyncDMA LowerAutoCopy LowerCrossThreadReduction LowerCustomDatatypes LowerDeviceKernelLaunch
    LowerDeviceStorageAccessInfo LowerInitBlock LowerIntrin LowerMatchBuffer LowerOpaqueBlock LowerTVMBuiltin
    LowerThreadAllreduce LowerVtcmAlloc LowerWarpMemory MakePackedAPI MakeUnpackedAPI ManifestSharedMemoryLocalStage
    MergeSharedMemoryAllocations NarrowDataType PlanAndUpdateBufferAllocationLocation PointerValueTypeRewrite
    ReduceBranchingThroughOvercompute RemoveAssume RemoveNoOp RemoveStoreUndef RemoveWeightLayoutRewriteBlock
    RenormalizeSplitPattern RewriteUnsafeSelect Simplify SkipAssert SplitHostDevice StorageRewrite TextureFlatten
    ThreadSync TransformMmaBufferLayout UnifyThreadBinding UnrollLoop UseAssumeToReduceBranches VectorizeLoop
    VerifyMemory VerifyVTCMLimit
"""
NAMES = TEXT.split()


@pytest.mark.parametrize("name", NAMES)
def test_each_name(name):
    if name in transform.LEFT_OUT:
        with pytest.raises(AttributeError, match=f"{name} is not provided: "):
            getattr(transform, name)
    else:
        assert issubclass(getattr(transform, name), Pass)


def test_nothing_is_both_and_nothing_is_forgotten():
    others = {"Apply", "HoistedConditionals", "HoistedLetBindings", "LEFT_OUT", "PrimFuncPass"}
    here = {n for n in dir(transform) if n[0].isupper()} - others
    assert not here & set(transform.LEFT_OUT)
    assert here | set(transform.LEFT_OUT) == set(NAMES)


def test_the_passes_have_names_in_pipelines():
    missing = {n for n in NAMES if n not in transform.LEFT_OUT and getattr(transform, n).name != "filter"}
    assert {getattr(transform, n).name for n in missing} <= set(TIRAX_UNIVERSE.all_passes)


def test_unknown_names_are_compared():
    with pytest.raises(AttributeError, match="UnrollLoop"):
        _ = transform.UnrolLoop


SOURCE = """from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), n: T.int32):
        assert n < 9, "n"
        for i in T.parallel(8):
            A[i] = T.float32(1)
"""


def test_passes_of_python():
    module = from_source(SOURCE)

    @transform.prim_func_pass(opt_level=1, name="mark")
    def mark(func, mod, ctx):
        return func.with_attr("marked", True)

    @transform.prim_func_pass(opt_level=1)
    class Mark:
        def __init__(self, value):
            self.value = value

        def transform_function(self, func, mod, ctx):
            return func.with_attr("marked", self.value)

    for each in (mark, Mark(True), transform.Apply(lambda f: f.with_attr("marked", True))):
        assert isinstance(each, transform.PrimFuncPass)
        assert each(module)["main"].attrs["marked"]
    assert mark.info.name == "mark" and mark.info.opt_level == 1
    assert "marked" not in (module["main"].attrs or {})


def test_assertions_and_parallel_loops_go():
    module = from_source(SOURCE)
    text = transform.ConvertForLoopsToSerial()(transform.SkipAssert()(module)).script()
    assert "assert" not in text and "parallel" not in text and "for i in range(8)" in text
    assert transform.HoistedConditionals.All == 15 and transform.HoistedLetBindings.All == 7
