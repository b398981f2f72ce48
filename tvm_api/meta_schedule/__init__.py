"""`tvm.meta_schedule`: tuning."""

from __future__ import annotations

from types import ModuleType

from ...tuning.builder import Builder
from ...tuning.cost_model import CostModel
from ...tuning.database import Database
from ...tuning.feature_extractors import FeatureExtractor
from ...tuning.mutators import Mutator
from ...tuning.postprocessors import Postproc
from ...tuning.profiler import Profiler
from ...tuning.relax_integration import ExtractedTask, compile_relax, extract_tasks
from ...tuning.runner import Runner
from ...tuning.schedule_rules import ScheduleRule
from ...tuning.search import SearchStrategy
from ...tuning.space import SpaceGenerator
from ...tuning.task_scheduler import MeasureCallback, TaskScheduler
from ...tuning.tir_integration import compile_tir
from ...tuning.tune import tune_tasks
from ...tuning.types import MeasureCandidate, TuningRecord
from .._names import provide, refusing
from . import device_kinds, scheduling
from .replay import TuneContext, tune_relax, tune_tir

arg_info: ModuleType
builder: ModuleType
cost_model: ModuleType
database: ModuleType
feature_extractor: ModuleType
measure_callback: ModuleType
mutator: ModuleType
postproc: ModuleType
profiler: ModuleType
relax_integration: ModuleType
runner: ModuleType
schedule_rule: ModuleType
search_strategy: ModuleType
space_generator: ModuleType
task_scheduler: ModuleType
testing: ModuleType
tir_integration: ModuleType
tune: ModuleType
tune_context: ModuleType
utils: ModuleType
provide(
    __name__,
    {
        "arg_info": {"tuning.types": "ArgInfo TensorInfo"},
        "builder": {
            "tuning.builder": "Builder LocalBuilder PyBuilder create=Builder.create",
            "tuning.types": "BuilderInput BuilderResult",
        },
        "cost_model": {
            "tuning.cost_model": """
                BoostingModel CostModel PyCostModel=CostModel RandomModel XGBModel create=CostModel.create
            """
        },
        "cost_model.xgb_model": {
            "tuning.cost_model": "XGBModel",
            "tvm_api._refused_functions": "PackSum _get_custom_call_back",
        },
        "database": {
            "tuning.database": """
                Database JSONDatabase MemoryDatabase OrderedUnionDatabase PyDatabase ScheduleFnDatabase SQLiteDatabase
                UnionDatabase create=Database.create
            """,
            "tuning.types": "TuningRecord Workload",
        },
        "feature_extractor": {
            "tuning.feature_extractors": """
                FeatureExtractor PerStoreFeature PyFeatureExtractor=FeatureExtractor RandomFeatureExtractor
            """
        },
        "measure_callback": {
            "tuning.task_scheduler": """
                AddToDatabase MeasureCallback PyMeasureCallback RemoveBuildArtifact TrialLog UpdateCostModel
                create=MeasureCallback.create
            """
        },
        "mutator": {
            "tuning.mutators": """
                MutateComputeLocation MutateParallel MutateTileSize MutateUnroll Mutator PyMutator=Mutator
            """,
            "tvm_api.meta_schedule.device_postprocs": "MutateThreadBinding",
        },
        "postproc": {
            "tuning.postprocessors": """
                DisallowDynamicLoop Postproc PyPostproc=Postproc RewriteParallelVectorizeUnroll RewriteReductionBlock
                RewriteTensorize VerifyOnCPU
            """,
            "tvm_api.meta_schedule.rewrite_layout": "RewriteLayout",
            "tvm_api.meta_schedule.device_postprocs": "RewriteCooperativeFetch RewriteUnboundBlock VerifyGPUCode",
        },
        "profiler": {"tuning.profiler": "Profiler"},
        "relax_integration": {
            "tuning.relax_integration": "ExtractedTask compile_relax extract_tasks",
            "tvm_api.meta_schedule.replay": "tune_relax",
        },
        "runner": {
            "tuning.runner": "EvaluatorConfig LocalRunner PyRunner Runner create=Runner.create",
            "tuning.types": "PyRunnerFuture RunnerFuture RunnerInput RunnerResult",
        },
        "schedule_rule": {
            "tuning.schedule_rules": """
                AddRFactor ApplyCustomRule AutoInline InlineConstantScalars MultiLevelTilingWithIntrin
                ParallelizeVectorizeUnroll PyScheduleRule=ScheduleRule RandomComputeLocation ReuseType ScheduleRule
            """,
            "tvm_api.meta_schedule.device_kinds": "MultiLevelTilingTensorCore",
            "tvm_api.meta_schedule.threads": "AutoBind CrossThreadReduction",
            "tvm_api.meta_schedule.tiling": "MultiLevelTiling MultiLevelTilingWideVector",
        },
        "search_strategy": {
            "tuning.search": "EvolutionarySearch PySearchStrategy=SearchStrategy SearchStrategy",
            "tvm_api.meta_schedule.replay": "ReplayFunc ReplayTrace create",
            "tuning.types": "MeasureCandidate",
        },
        "space_generator": {
            "tuning.space": """
                PostOrderApply PySpaceGenerator=SpaceGenerator ScheduleFn SpaceGenerator SpaceGeneratorUnion
                create=SpaceGenerator.create
            """
        },
        "task_scheduler": {
            "tuning.task_scheduler": "GradientBased RoundRobin TaskRecord TaskScheduler create=TaskScheduler.create",
            "tvm_api.meta_schedule.scheduling": "PyTaskScheduler",
        },
        "testing": {},
        "testing.dummy_object": {"tvm_api.testing.dummies": "DummyBuilder DummyMutator DummyRunner DummyRunnerFuture"},
        "testing.space_generation": {"tvm_api.testing.spaces": "check_sketches generate_design_space print_sketches"},
        "testing.te_workload": {
            "tuning.workloads": """
                CONFIGS=WORKLOADS batch_matmul_nkkm conv1d_nlc conv2d_capsule_nhwijc conv2d_nhwc conv2d_nhwc_bn_relu
                conv2d_transpose_nhwc conv3d_ndhwc create_te_workload=workload depthwise_conv2d_nhwc matmul matmul_relu
                norm_bmn softmax_mn transpose_batch_matmul
            """
        },
        "tir_integration": {"tuning.tir_integration": "compile_tir", "tvm_api.meta_schedule.replay": "tune_tir"},
        "tune": {"tuning.tune": "tune_tasks"},
        "tune_context": {"tvm_api.meta_schedule.replay": "TuneContext"},
        "utils": {"tvm_api.meta_schedule": "derived_object"},
    },
)

__getattr__ = refusing(__name__)
device_kinds.attach()
scheduling.attach()


def derived_object(cls: type) -> type:
    """Return the class itself: user-defined classes need no wrapper. Their objects print as in TVM."""
    if cls.__str__ is object.__str__:
        setattr(cls, "__str__", _shown)  # noqa: B010 (as an assignment it is one to `type` itself for checkers)
    return cls


def _shown(self: object) -> str:
    return f"meta_schedule.{type(self).__name__}({id(self):#x})"


__all__ = [
    "Builder", "CostModel", "Database", "ExtractedTask", "FeatureExtractor", "MeasureCallback",
    "MeasureCandidate", "Mutator", "Postproc", "Profiler", "Runner", "ScheduleRule", "SearchStrategy",
    "SpaceGenerator", "TaskScheduler",
    "TuneContext", "TuningRecord", "arg_info", "builder", "compile_relax", "compile_tir", "cost_model",
    "database", "derived_object", "extract_tasks", "feature_extractor", "measure_callback", "mutator", "postproc",
    "profiler", "relax_integration", "runner", "schedule_rule", "search_strategy", "space_generator",
    "task_scheduler", "testing", "tir_integration",
    "tune", "tune_context", "tune_relax", "tune_tasks", "tune_tir", "utils",
]  # fmt: skip
