"""`tvm.ir.instrument`: watching passes."""

from ...ir.passes.instrument import (
    DumpIR,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    WellFormedInstrument,
    pass_instrument,
)

__all__ = [
    "DumpIR",
    "PassInstrument",
    "PassPrintingInstrument",
    "PassTimingInstrument",
    "PrintAfterAll",
    "PrintBeforeAll",
    "WellFormedInstrument",
    "pass_instrument",
]
