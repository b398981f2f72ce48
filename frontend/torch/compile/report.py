"""What became of a graph: which of its operators are compiled, which stay with PyTorch, and why."""

from __future__ import annotations

from dataclasses import dataclass

from ...importing.report import Coverage


@dataclass(frozen=True)
class GraphReport:
    """`kind` is `inference`, `forward` or `backward`; `parts` the number of compiled functions, 0 where all stays."""

    kind: str
    coverage: Coverage
    parts: int

    @property
    def fallback_reasons(self) -> dict[str, str]:
        """The operators that PyTorch runs, with the reasons."""
        return {use.operator: use.reason for use in self.coverage.unsupported}


def print_report(report: GraphReport) -> None:
    """Write a report to the standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    console.print(f"{report.kind}: {report.parts} compiled part{'s' * (report.parts != 1)}")
    console.print(report.coverage.table())
