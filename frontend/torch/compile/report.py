"""Reports of compiled graphs: the operators that are compiled, those that PyTorch runs, and why."""

from __future__ import annotations

from dataclasses import dataclass

from ...importing.report import Coverage


@dataclass(frozen=True)
class GraphReport:
    """`kind` is `inference`, `forward` or `backward`; `parts` is the number of compiled functions, 0 for a full
    fallback.
    """

    kind: str
    coverage: Coverage
    parts: int

    @property
    def fallback_reasons(self) -> dict[str, str]:
        """The operators that PyTorch runs, with the reasons."""
        return {use.operator: use.reason for use in self.coverage.unsupported}


def print_report(report: GraphReport) -> None:
    """Print a report to standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    console.print(f"{report.kind}: {report.parts} compiled part{'s' * (report.parts != 1)}")
    console.print(report.coverage.table())
