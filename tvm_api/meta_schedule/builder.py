"""`tvm.meta_schedule.builder`."""

from ...tuning.builder import Builder, LocalBuilder, PyBuilder
from ...tuning.types import BuilderInput, BuilderResult

create = Builder.create

__all__ = ["Builder", "BuilderInput", "BuilderResult", "LocalBuilder", "PyBuilder", "create"]
