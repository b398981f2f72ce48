"""How far proofs go: `python -m tirax.dev.proofs coverage|faults|alarms` (docs/proofs.md)."""
